/* The sum of vectors that an array of pointers names, and where each sum belongs. */
#ifndef BLOCK_SIZE
#define BLOCK_SIZE 64
#endif

typedef unsigned long long u64;

/* `overrun`: beyond the end of the vector that the pointer names */
extern "C" __global__ void __launch_bounds__(BLOCK_SIZE)
    gather_sum(const float *const *in, float *const *out, int count, u64 n, bool overrun)
{
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < n + overrun; i += (u64)gridDim.x * blockDim.x) {
        float sum = 0;
        for (int k = 0; k < count && i < n; k++)
            sum += in[k][i];
        out[0][i] = sum;
    }
}

extern "C" __global__ void gather_reference(const float *const *in, double *reference, int count, u64 n)
{
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (u64)gridDim.x * blockDim.x) {
        double sum = 0;
        for (int k = 0; k < count; k++)
            sum += in[k][i];
        reference[i] = sum;
    }
}
