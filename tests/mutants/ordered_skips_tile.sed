# The look-back begins one tile too early in the input and skips the one right before its own.
# Seen: every tile but the first writes over places of the one before it.
#: template = filter_ordered
#: file = filter.cu
#: n = 2^20
s/for (int64 last = (int64)tile - 1; !done;/for (int64 last = (int64)tile - 2; !done;/
