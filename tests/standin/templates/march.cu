/* Steps in time, in place and padded: what is expected depends on the number of steps and the padding. */
#ifndef BLOCK_SIZE
#define BLOCK_SIZE 64
#endif

typedef unsigned long long u64;

#define FIRST ((u64)blockIdx.x * blockDim.x + threadIdx.x)
#define STEP ((u64)gridDim.x * blockDim.x)

/* Steps of the inside of a row of `n` elements with `pad` zeros at both ends; `spoil` changes what a verifier could read */
extern "C" __global__ void __launch_bounds__(BLOCK_SIZE)
    march_run(float *state, float *weights, u64 n, int pad, int steps, bool fixed, bool fault, bool overrun,
              bool spoil)
{
    if (spoil)
        weights[0] = 0;
    state += fault ? 1ull << 38 : 0;
    for (u64 i = FIRST; i < n; i += STEP)
        for (int k = 0; k < (fixed ? 1 : steps); k++)
            state[i + pad] = weights[0] * state[i + pad] + 1;
    if (overrun && FIRST == 0)
        state[n + 2 * pad] = 1;
}

__device__ static void expect(const float *state, const float *weights, double *reference, u64 n, int pad, int steps)
{
    for (u64 i = FIRST; i < n + 2 * pad; i += STEP) {
        double x = state[i];
        for (int k = 0; k < steps && i >= (u64)pad && i < n + pad; k++)
            x = weights[0] * x + 1;
        reference[i] = x;
    }
}

extern "C" __global__ void march_reference(const float *state, const float *weights, double *reference, u64 n, int pad,
                                           int steps)
{
    expect(state, weights, reference, n, pad, steps);
}

/* The same, half a second later. */
extern "C" __global__ void march_slow_reference(const float *state, const float *weights, double *reference, u64 n,
                                                int pad, int steps)
{
    for (unsigned i = 0; i < 500; i++)
        __nanosleep(1000000);
    expect(state, weights, reference, n, pad, steps);
}

extern "C" __global__ void march_faulty_reference(const float *, const float *, double *reference, u64, int, int)
{
    reference[1ull << 38] = 1;
}

extern "C" __global__ void march_hanging_reference(const float *state, const float *, double *reference, u64, int, int)
{
    while (*(volatile const float *)state < 1e30f)
        ;
    reference[0] = 1;
}

/* fills nothing */
extern "C" __global__ void march_lazy(float *)
{
}

/* what only a kernel of the source can fill */
extern "C" __global__ void march_fill(float *state, const float *weights, u64 n)
{
    for (u64 i = FIRST; i < n; i += STEP)
        state[i] = weights[0] * (float)(i % 7) - 1;
}

extern "C" __global__ void march_weights(float *weights, float weight)
{
    weights[0] = weight;
}

extern "C" __global__ void march_faulty_count(const float *, const double *, u64 *wrong, u64, double)
{
    wrong[1ull << 38] = 1;
}

/* A verifier that changes an input. */
extern "C" __global__ void march_spoiling_count(float *weights, u64 *)
{
    weights[0] = 0;
}

/* A verifier: a comparison that NaN fails. */
extern "C" __global__ void march_count(const float *state, const double *reference, u64 *wrong, u64 n, double limit)
{
    for (u64 i = FIRST; i < n; i += STEP)
        if (!(fabs(state[i] - reference[i]) <= limit))
            atomicAdd(wrong, 1ull);
}
