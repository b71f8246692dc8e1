# The gathering block does not clear the slots for the next launch.
# Seen: on other data, it takes the results of an earlier launch for those of this one.
#: template = reduce_sum
#: file = reduce.cu
#: n = 2^20
#: finish = gather
/^        \*from = 0;$/ d
