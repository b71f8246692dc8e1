# A block that shares a tile multiplies the rest of k, beyond the end of its part.
# Seen: the parts of 16 tiles, each of a quarter of k, have products in common, whose sum is not 0.
#: template = sgemm
#: file = sgemm_overlapped.cuh
#: m = 256
#: n = 256
#: k = 512
#: method = overlapped_split
#: split_k = 4
s/const Steps steps(first, last);/const Steps steps(first, k);/
