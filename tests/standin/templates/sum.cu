/* A sum in two launches with partial sums in scratch memory, whose length depends on the parameters. */
#ifndef BLOCK_SIZE
#define BLOCK_SIZE 256
#endif

typedef unsigned long long u64;

/* Each thread leaves its own sum: partials has as many elements as the grid has threads. */
extern "C" __global__ void sum_partial(const double *in, double *partials, u64 n)
{
    u64 thread = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    double sum = 0;
    for (u64 i = thread; i < n; i += (u64)gridDim.x * blockDim.x)
        sum += in[i];
    partials[thread] = sum;
}

extern "C" __global__ void sum_finish(const double *partials, double *out, u64 count)
{
    if (blockIdx.x * blockDim.x + threadIdx.x == 0) {
        double sum = 0;
        for (u64 i = 0; i < count; i++)
            sum += partials[i];
        out[0] = sum;
    }
}

extern "C" __global__ void sum_reference(const double *in, double *reference, u64 n)
{
    if (blockIdx.x * blockDim.x + threadIdx.x == 0) {
        double sum = 0;
        for (u64 i = 0; i < n; i++)
            sum += in[i];
        reference[0] = sum;
    }
}
