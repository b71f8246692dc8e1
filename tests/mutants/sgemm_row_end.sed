# Of the last group of four in a row of B, the element after the first is not loaded.
# Seen: the second of the last three columns has products with elements of another step or with 0.
#: template = sgemm
#: file = sgemm_overlapped.cuh
#: m = 128
#: n = 131
#: k = 64
#: method = overlapped
s/WITHIN ? 4 : from.inside\[i\]/WITHIN ? 4 : from.inside[i] > 3 ? 4 : 1/
