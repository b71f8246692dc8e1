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

/* AT(i): element i */
#define BLUR(AT)                                                                                   \
    EACH_ELEMENT {                                                                                 \
        int left = x > 0 ? x - 1 : 0;                                                              \
        int above = y > 0 ? y - 1 : 0;                                                             \
        out[i] = 0.25f * ((AT(above * width + left) + AT(above * width + x)) +                     \
                          (AT(y * width + left) + AT(i)));                                         \
    }

#define IN_MEMORY(i) in[i]
#define IN_TEXTURE(i) tex1Dfetch<float>(in, i)

extern "C" __global__ void __launch_bounds__(BLOCK_SIZE)
    blur_memory(const float *in, float *out, int width, int height)
{
    BLUR(IN_MEMORY)
}

extern "C" __global__ void __launch_bounds__(BLOCK_SIZE)
    blur_fetch(cudaTextureObject_t in, float *out, int width, int height)
{
    BLUR(IN_TEXTURE)
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

extern "C" __global__ void blur_reference(const float *in, double *out, int width, int height)
{
#define IN_DOUBLE(i) (double)in[i]
    BLUR(IN_DOUBLE)
}
