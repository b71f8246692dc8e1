# The elements behind the last whole group are added, whatever the operation is.
# Seen: odd factors become even ones, and the product of odd numbers is odd.
#: template = reduce_operator
#: file = reduce.cu
#: n = 5003
#: operation = product
#: value_type = int32
s/result = Operation::combine(result, accumulate_rest(in, n));/result = result + accumulate_rest(in, n);/
