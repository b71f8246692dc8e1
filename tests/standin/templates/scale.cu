/* out = factor * in, and in as many broken ways as verification must catch. */
#ifndef BLOCK_SIZE
#define BLOCK_SIZE 256
#endif
#ifndef NUM_LOAD
#define NUM_LOAD 1
#endif
#ifndef MODE
#define MODE MODE_GOOD
#endif
#define MODE_GOOD 0
#define MODE_BROKEN 1
#define MODE_WRONG 2
#define MODE_PARTIAL 3
#define MODE_OVERRUN 4
#define MODE_UNDERRUN 5
#define MODE_MODIFY_INPUT 6
#define MODE_HANG 7
#define MODE_FAULT 8
#define MODE_TRAP 9
#define MODE_TOO_LARGE 10
#define MODE_TOO_MANY 11
#define MODE_CONSTRAINED 12

#if MODE == MODE_BROKEN
#error this variant does not compile
#endif

/* A variant has the kernel of its mode alone, since each takes its time to compile; the host has all of them. */
#ifdef __CUDACC__
#define HAS(mode) (MODE == (mode))
#else
#define HAS(mode) 1
#endif

typedef unsigned long long u64;

#define FIRST ((u64)blockIdx.x * blockDim.x + threadIdx.x)
#define STEP ((u64)gridDim.x * blockDim.x)

extern "C" __global__ void __launch_bounds__(BLOCK_SIZE)
    scale_good(const float *in, float *out, float factor, u64 n)
{
    for (u64 first = FIRST; first < n; first += STEP * NUM_LOAD) {
#ifdef __CUDACC__
#pragma unroll
#endif
        for (int k = 0; k < NUM_LOAD; k++)
            if (first + k * STEP < n)
                out[first + k * STEP] = factor * in[first + k * STEP];
    }
}

/* One element in the middle is off by one part in a thousand; or the last one is left unwritten, all are written a terabyte
 * away, or nothing is. */
#if HAS(MODE_WRONG) || HAS(MODE_PARTIAL) || HAS(MODE_FAULT) || HAS(MODE_TRAP)
extern "C" __global__ void __launch_bounds__(BLOCK_SIZE)
    scale_wrong(const float *in, float *out, float factor, u64 n, bool partial, bool fault, bool trap)
{
    if (trap && in[0] < 1e30f)
        __trap();
    for (u64 i = FIRST; i + partial < n; i += STEP)
        out[i + (fault ? 1ull << 38 : 0)] = factor * in[i] * (i == n / 2 && !partial ? 1.001f : 1.0f);
}
#endif

/* one element too many */
#if HAS(MODE_OVERRUN)
extern "C" __global__ void __launch_bounds__(BLOCK_SIZE)
    scale_overrun(const float *in, float *out, float factor, u64 n)
{
    for (u64 i = FIRST; i <= n; i += STEP)
        out[i] = factor * (i < n ? in[i] : 1.0f);
}
#endif

/* one element before the first */
#if HAS(MODE_UNDERRUN)
extern "C" __global__ void __launch_bounds__(BLOCK_SIZE)
    scale_underrun(const float *in, float *out, float factor, u64 n)
{
    for (u64 i = FIRST; i <= n; i += STEP)
        out[(long long)i - 1] = factor * (i > 0 ? in[i - 1] : 1.0f);
}
#endif

#if HAS(MODE_MODIFY_INPUT)
extern "C" __global__ void __launch_bounds__(BLOCK_SIZE)
    scale_modify_input(float *in, float *out, float factor, u64 n)
{
    for (u64 i = FIRST; i < n; i += STEP) {
        out[i] = factor * in[i];
        if (i == n - 1)
            in[i] += 1.0f;
    }
}
#endif

#if HAS(MODE_HANG)
extern "C" __global__ void __launch_bounds__(BLOCK_SIZE)
    scale_hang(const float *in, float *out, float factor, u64 n)
{
    while (*(volatile const float *)in < 1e30f)
        ;
    out[n - 1] = factor;
}
#endif

extern "C" __global__ void scale_reference(const float *in, double *reference, float factor, u64 n)
{
    for (u64 i = FIRST; i < n; i += STEP)
        reference[i] = (double)factor * in[i];
}

/* The same, half a second later. */
#if !defined __CUDACC__ || defined SLOW_REFERENCE
extern "C" __global__ void scale_slow_reference(const float *in, double *reference, float factor, u64 n)
{
    for (unsigned i = 0; i < 500; i++)
        __nanosleep(1000000);
    for (u64 i = FIRST; i < n; i += STEP)
        reference[i] = (double)factor * in[i];
}
#endif
