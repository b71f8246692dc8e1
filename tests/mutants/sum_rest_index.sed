# The elements behind the last whole group are read one too low.
# Seen: element 4999 is added twice and 5002 never, and they differ.
#: template = reduce_sum
#: file = reduce.cu
#: n = 5003
s/return widen(in\[n - rest + threadIdx.x\]);/return widen(in[n - rest + threadIdx.x - 1]);/
