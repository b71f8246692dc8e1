# A warp writes every group of 32 elements to the places of its first one.
# Seen: fewer places are written than elements pass.
#: template = filter
#: file = filter.cu
#: n = 2^18
#: method = warp_aggregated
/^        place += __popc(ballots\[j\]);$/ d
