/* Each element with its left and upper neighbours; beyond the edge is the edge. */
#ifndef BLOCK_SIZE
#define BLOCK_SIZE 256
#endif

typedef unsigned long long u64;

#define THREAD ((int)(blockIdx.x * blockDim.x + threadIdx.x))
#define THREADS ((int)(gridDim.x * blockDim.x))

#define EACH_ELEMENT                                                                               \
    for (int i = THREAD, x = i % width, y = i / width; i < width * height;                          \
         i += THREADS, x = i % width, y = i / width)

extern "C" __global__ void __launch_bounds__(BLOCK_SIZE)
    blur_memory(const float *in, float *out, int width, int height)
{
    EACH_ELEMENT {
        int left = x > 0 ? x - 1 : 0;
        int above = y > 0 ? y - 1 : 0;
        out[i] = 0.25f * ((in[above * width + left] + in[above * width + x]) +
                          (in[y * width + left] + in[i]));
    }
}

extern "C" __global__ void __launch_bounds__(BLOCK_SIZE)
    blur_fetch(cudaTextureObject_t in, float *out, int width, int height)
{
    EACH_ELEMENT {
        int left = x > 0 ? x - 1 : 0;
        int above = y > 0 ? y - 1 : 0;
        out[i] =
            0.25f * ((tex1Dfetch<float>(in, above * width + left) +
                      tex1Dfetch<float>(in, above * width + x)) +
                     (tex1Dfetch<float>(in, y * width + left) + tex1Dfetch<float>(in, i)));
    }
}

/* the texture clamps */
extern "C" __global__ void __launch_bounds__(BLOCK_SIZE)
    blur_point(cudaTextureObject_t in, float *out, int width, int height)
{
    EACH_ELEMENT {
        float u = x + 0.5f, v = y + 0.5f;
        out[i] = 0.25f * ((tex2D<float>(in, u - 1, v - 1) + tex2D<float>(in, u, v - 1)) +
                          (tex2D<float>(in, u - 1, v) + tex2D<float>(in, u, v)));
    }
}

/* the texture interpolates: in the middle of four elements it has their mean */
extern "C" __global__ void __launch_bounds__(BLOCK_SIZE)
    blur_linear(cudaTextureObject_t in, float *out, int width, int height)
{
    EACH_ELEMENT
        out[i] = tex2D<float>(in, (float)x, (float)y);
}

extern "C" __global__ void blur_reference(const float *in, double *reference, int width, int height)
{
    EACH_ELEMENT {
        int left = x > 0 ? x - 1 : 0;
        int above = y > 0 ? y - 1 : 0;
        reference[i] = ((double)in[above * width + left] + in[above * width + x] +
                        in[y * width + left] + in[i]) / 4;
    }
}
