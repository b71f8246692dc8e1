/* A sum in place by a launch for each stride, in a buffer that is read and written. */
#ifndef BLOCK_SIZE
#define BLOCK_SIZE 256
#endif

typedef unsigned long long u64;

extern "C" __global__ void tree_step(int *data, u64 stride, u64 n)
{
    u64 first = ((u64)blockIdx.x * blockDim.x + threadIdx.x) * 2 * stride;
    for (u64 i = first; i + stride < n; i += (u64)gridDim.x * blockDim.x * 2 * stride)
        data[i] += data[i + stride];
}

extern "C" __global__ void tree_store(const int *data, int *out)
{
    if (blockIdx.x * blockDim.x + threadIdx.x == 0)
        out[0] = data[0];
}
