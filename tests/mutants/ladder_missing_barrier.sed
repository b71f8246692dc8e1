# No __syncthreads between the steps of a reduction in shared memory.
# Seen: warps of a block of 1024 run ahead of those whose sums they need, in some of 4096 blocks for sure.
#: template = reduce_ladder
#: file = reduce_ladder.cu
#: n = 2^22
#: block_size = 1024
#: scheme = sequential
/for (uint32 stride = BLOCK_SIZE \/ 2; stride > 0; stride \/= 2) {/,/^    }$/ {
    /__syncthreads();/ d
}
