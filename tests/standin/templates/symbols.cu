/* A filter whose weights, offsets and results are variables of the source. */
#ifndef BLOCK_SIZE
#define BLOCK_SIZE 256
#endif

typedef unsigned long long u64;

#define TAPS 4
#define FIRST ((u64)blockIdx.x * blockDim.x + threadIdx.x)
#define STEP ((u64)gridDim.x * blockDim.x)

__constant__ float weights[TAPS];
__device__ int offsets[TAPS];
__device__ unsigned total[2]; /* an output: the length, and the runs so far by `state` */
__device__ unsigned state[1]; /* one more after each run */

__device__ float filtered(const float *in, u64 i, u64 n)
{
    float sum = 0;
    for (int k = 0; k < TAPS; k++)
        sum += weights[k] * in[(i + offsets[k]) % n];
    return sum;
}

/* `wrong` forgets the second part of its output; `spoil` changes what it may only read */
extern "C" __global__ void __launch_bounds__(BLOCK_SIZE)
    symbols_apply(const float *in, float *out, u64 n, bool wrong, bool spoil)
{
    for (u64 i = FIRST; i < n; i += STEP)
        out[i] = filtered(in, i, n);
    if (FIRST == 0) {
        total[0] = (unsigned)n;
        state[0] = state[0] + 1;
        if (!wrong)
            total[1] = state[0];
        offsets[0] += spoil;
    }
}

extern "C" __global__ void symbols_reference(const float *in, double *reference, u64 n)
{
    for (u64 i = FIRST; i < n; i += STEP) {
        double sum = 0;
        for (int k = 0; k < TAPS; k++)
            sum += (double)weights[k] * (double)in[(i + offsets[k]) % n];
        reference[i] = sum;
    }
}

/* the variables as arguments: the problem's own copies of them */
extern "C" __global__ void symbols_total(const unsigned *before, unsigned *reference, u64 n)
{
    reference[0] = (unsigned)n;
    reference[1] = before[0] + 1;
}
