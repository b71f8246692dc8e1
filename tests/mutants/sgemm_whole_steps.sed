# The rest of k that is not a whole step is left out.
# Seen: the rest are 4 of 36 products of small integers, whose sum is not 0 for some of 16,384 elements.
#: template = sgemm
#: file = sgemm_overlapped.cuh
#: m = 128
#: n = 128
#: k = 36
#: method = overlapped
s/for (; step < last; step/for (; step < whole; step/
