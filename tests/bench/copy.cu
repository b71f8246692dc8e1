// A copy kernel for flush.c, because it reads and writes the same amount.
#ifndef BLOCK_SIZE
#define BLOCK_SIZE 256
#endif

extern "C" __global__ void __launch_bounds__(BLOCK_SIZE) copy(const float4 *in, float4 *out, unsigned long long count)
{
    for (unsigned long long i = (unsigned long long)blockIdx.x * BLOCK_SIZE + threadIdx.x; i < count;
         i += (unsigned long long)gridDim.x * BLOCK_SIZE)
        out[i] = in[i];
}

extern "C" __global__ void copy_reference(const float *in, float *result, unsigned long long count)
{
    for (unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x; i < count;
         i += (unsigned long long)gridDim.x * blockDim.x)
        result[i] = in[i];
}
