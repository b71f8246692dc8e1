# The last pass strides by one more than the block has threads.
# Seen: of 1024 partial results every 65th is left out, and the sum is another one.
#: template = reduce_sum
#: file = reduce.cu
#: n = 2^20
#: block_size = 64
#: finish = two_pass
s/for (uint32 i = threadIdx.x; i < count; i += BLOCK_SIZE) {/for (uint32 i = threadIdx.x; i < count; i += BLOCK_SIZE + 1) {/
