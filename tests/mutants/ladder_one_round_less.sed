# The last round of each block is left out: an end off by one doubling.
# Seen: half of every block's elements are missing from an exact sum.
#: template = reduce_ladder
#: file = reduce_ladder.cu
#: n = 2^20
#: scheme = divergent
/^#if SCHEME == SCHEME_DIVERGENT$/,/^#elif/ s/stride < BLOCK_SIZE; stride \*= 2/stride < BLOCK_SIZE \/ 2; stride *= 2/
