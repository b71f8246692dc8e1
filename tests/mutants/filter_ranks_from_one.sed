# A lane counts itself among those below it: every place is one too high.
# Seen: the elements are the right ones, but the first place is left unwritten, and one behind the last is
# not.
#: template = filter
#: file = filter.cu
#: n = 2^18
#: method = warp_aggregated
s/return __popc(ballot & ((1u << threadIdx.x % WARP_SIZE) - 1));/return __popc(ballot \& ((2u << threadIdx.x % WARP_SIZE) - 1));/
