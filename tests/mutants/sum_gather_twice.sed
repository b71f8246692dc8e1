# The gathering block does not empty its threads' accumulators before it gathers.
# Seen: the block's own share is added once for each of its threads that still holds it.
#: template = reduce_sum
#: file = reduce.cu
#: n = 2^20
#: finish = gather
/^    if (threadIdx.x > 0) {$/,/^    }$/ d
