# The ticket counter is not back at zero after a launch: it does not wrap around.
# Seen: from the second run on, no block draws the last ticket, and nobody adds up.
#: template = reduce_sum
#: file = reduce.cu
#: n = 2^20
#: finish = last_block
s/last = increment_acquire_release(ticket, gridDim.x - 1)/last = atomicAdd(ticket, 1u)/
