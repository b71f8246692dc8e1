// <stdbool.h>, <initializer_list>, <cuda_runtime.h> and the like: the compiler has what they declare.
