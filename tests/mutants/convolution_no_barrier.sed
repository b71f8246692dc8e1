# No __syncthreads between loading the image and using it. All warps but the first load their part 0.1 ms later.
# Seen: the first warp uses what the others have not loaded yet.
#: template = convolution
#: file = convolution.cu
#: width = 512
#: height = 512
/^    load_image(image, in/ i\
    if (threadIdx.y * BLOCK_X + threadIdx.x >= 32) {\
        for (const long long begin = clock64(); clock64() - begin < 200000;) {\
        }\
    }
/^    __syncthreads();$/ d
