# The first step takes more of k than is left over by whole steps.
# Seen: 12 of 36 products of small integers count twice, and their sum is not 0 for most of 16,384 elements.
#: template = sgemm
#: file = sgemm_overlapped.cuh
#: m = 128
#: n = 128
#: k = 36
#: method = overlapped
s/load_part(a, m, k, steps.second/load_part(a, m, k, k/
s/load_part(b, steps.second/load_part(b, k/
