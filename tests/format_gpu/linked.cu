/* A kernel whose inner functions, shared memory and reference are in another translation unit. */
#include "linked.cuh"

extern "C" __global__ void linked_mix(const int *in, int *out, unsigned long long n)
{
    __shared__ int own[BLOCK_SIZE];
    for (unsigned long long first = (unsigned long long)blockIdx.x * BLOCK_SIZE; first < n;
         first += (unsigned long long)gridDim.x * BLOCK_SIZE) {
        own[threadIdx.x] = in[first + threadIdx.x];
        __syncthreads();
        out[first + threadIdx.x] = linked_add(own[threadIdx.x ^ (GROUP - 1)], linked_next(own[threadIdx.x]));
        __syncthreads();
    }
}
