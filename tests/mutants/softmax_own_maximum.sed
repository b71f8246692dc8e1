# Each warp takes its own maximum for that of the row.
# Seen: sums of exps with different maxima are added, and each warp divides its own exps by the total.
#: template = softmax
#: file = softmax_registers.cuh
#: rows = 64
#: columns = 4096
#: method = registers
#: vector_width = 4
#: loads = 4
s/largest = row_reduce<Max>(largest, round);/largest = lanes_reduce<Max, ROW_LANES>(largest);/
