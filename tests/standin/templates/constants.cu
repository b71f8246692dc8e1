/* Sums of vectors, of which lists in constant memory have the addresses. */
#ifndef BLOCK_SIZE
#define BLOCK_SIZE 64
#endif

typedef unsigned long long u64;

struct list {
    const float *vectors[2];
    float *out;
    int weight;
};

__constant__ list lists[2];
__device__ int used[1]; /* which list is written first */

/* `spoil` changes what is set before each run; `swap` writes to the wrong list's output */
extern "C" __global__ void __launch_bounds__(BLOCK_SIZE) constants_sum(u64 n, bool swap, bool spoil)
{
    for (int l = 0; l < 2; l++) {
        const int from = (l + used[0] + swap) % 2;
        for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (u64)gridDim.x * blockDim.x)
            lists[l].out[i] = lists[from].weight * lists[from].vectors[0][i] +
                              (lists[from].vectors[1] != nullptr ? lists[from].vectors[1][i] : 0);
    }
    if (spoil)
        used[0] = 1;
}

extern "C" __global__ void constants_reference(double *reference, u64 n, int l)
{
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (u64)gridDim.x * blockDim.x)
        reference[i] = (double)lists[l].weight * lists[l].vectors[0][i] +
                       (lists[l].vectors[1] != nullptr ? lists[l].vectors[1][i] : 0);
}
