/* The larger of two inputs: what a kernel reads from an output that it has not written may be no larger, or not a number. */
#ifndef BLOCK_SIZE
#define BLOCK_SIZE 256
#endif
typedef unsigned long long u64;
#define FIRST ((u64)blockIdx.x * blockDim.x + threadIdx.x)
#define STEP ((u64)gridDim.x * blockDim.x)

/* OUT is made of x, the larger of the two. */
#define LARGER(name, OUT, MOST)                                                                                            \
    extern "C" __global__ void __launch_bounds__(BLOCK_SIZE)                                                               \
        name(const int *a, const int *b, int *out, const float *f, float *most, u64 n)                                     \
    {                                                                                                                      \
        for (u64 i = FIRST; i < n; i += STEP) {                                                                            \
            int x = a[i] > b[i] ? a[i] : b[i];                                                                             \
            out[i] = OUT;                                                                                                  \
            most[i] = MOST;                                                                                                \
        }                                                                                                                  \
    }

LARGER(larger_good, x, f[i])

/* Reads the output, which it has not initialised: right if it holds less. */
LARGER(larger_kept, out[i] > x ? out[i] : x, f[i])

/* The same with the smaller one: right if the output holds more. */
LARGER(larger_lower, out[i] < x ? out[i] : x, f[i])

/* Both of the floating-point output alone: right if that holds NaN, too. */
LARGER(larger_highest, x, fmaxf(most[i], f[i]))
LARGER(larger_lowest, x, fminf(most[i], f[i]))

/* Adds nothing to what the output holds, unless that is NaN. */
LARGER(larger_times_0, x, 0 * most[i] + f[i])

/* Never ends once it has been run so often as in the finals alone. */
extern "C" __global__ void __launch_bounds__(BLOCK_SIZE)
    larger_hang(const int *a, const int *b, int *out, const float *f, float *most, u64 n, unsigned *runs)
{
    while (*(volatile unsigned *)runs > 20)
        __nanosleep(1000000);
    for (u64 i = FIRST; i < n; i += STEP) {
        out[i] = a[i] > b[i] ? a[i] : b[i];
        most[i] = f[i];
    }
    if (FIRST == 0)
        runs[0]++;
}

__device__ static void expect(const int *a, const int *b, int *reference, u64 n)
{
    for (u64 i = FIRST; i < n; i += STEP)
        reference[i] = a[i] > b[i] ? a[i] : b[i];
}

extern "C" __global__ void larger_reference(const int *a, const int *b, int *reference, u64 n)
{
    expect(a, b, reference, n);
}

/* The same, more than a second later. */
extern "C" __global__ void larger_slow_reference(const int *a, const int *b, int *reference, u64 n)
{
    for (unsigned i = 0; i < 1500; i++)
        __nanosleep(1000000);
    expect(a, b, reference, n);
}

/* Writes nothing where the first number is odd. */
extern "C" __global__ void larger_odd_reference(const int *a, const int *b, int *reference, u64 n)
{
    if (a[0] % 2 == 0)
        expect(a, b, reference, n);
}

/* Changes its input there. */
extern "C" __global__ void larger_odd_changing_reference(int *a, const int *b, int *reference, u64 n)
{
    expect(a, b, reference, n);
    if (FIRST == 0 && a[0] % 2 != 0)
        a[0] = 0;
}

extern "C" __global__ void larger_most(const float *f, double *reference, u64 n)
{
    for (u64 i = FIRST; i < n; i += STEP)
        reference[i] = f[i];
}
