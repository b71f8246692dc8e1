# No __syncthreads between loading the image and using it.
# Seen: a warp reads what others have not yet loaded from memory.
#: template = convolution
#: file = convolution.cu
#: width = 512
#: height = 512
/^    __syncthreads();$/ d
