# The warps that a block lacks count as 0, which is the identity of sums, not of minima.
# Seen: all elements are above 0, so the minimum is.
#: template = reduce_operator
#: file = primitives.cuh
#: n = 2^20
#: operation = min
#: value_type = int32
s/of_warp\[threadIdx.x\] : Operation::identity();/of_warp[threadIdx.x] : T(0);/
