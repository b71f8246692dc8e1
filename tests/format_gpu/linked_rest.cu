/* The other unit of linked.cu. */
#include "linked.cuh"

__constant__ int linked_offset = 7;

__device__ int linked_add(int a, int b)
{
    return a + b + linked_offset;
}

__device__ int linked_next(int value)
{
    __shared__ int values[BLOCK_SIZE];
    const int lane = threadIdx.x % GROUP;
    values[threadIdx.x] = value;
    __syncthreads();
    return values[threadIdx.x - lane + (lane + 1) % GROUP];
}

extern "C" __global__ void linked_reference(const int *in, int *reference, unsigned long long n)
{
    for (unsigned long long i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        const unsigned long long lane = i % GROUP;
        reference[i] = in[i ^ (GROUP - 1)] + in[i - lane + (lane + 1) % GROUP] + 7;
    }
}
