/* The larger of two inputs: what a kernel reads from an output that it has not written may be no larger, or not a number. */
#ifndef BLOCK_SIZE
#define BLOCK_SIZE 256
#endif
typedef unsigned long long u64;
#define FIRST ((u64)blockIdx.x * blockDim.x + threadIdx.x)
#define STEP ((u64)gridDim.x * blockDim.x)

extern "C" __global__ void __launch_bounds__(BLOCK_SIZE)
    larger_good(const int *a, const int *b, int *out, const float *f, float *most, u64 n)
{
    for (u64 i = FIRST; i < n; i += STEP) {
        out[i] = a[i] > b[i] ? a[i] : b[i];
        most[i] = f[i];
    }
}

/* Reads the output, which it has not initialised: right if it holds less. */
extern "C" __global__ void __launch_bounds__(BLOCK_SIZE)
    larger_kept(const int *a, const int *b, int *out, const float *f, float *most, u64 n)
{
    for (u64 i = FIRST; i < n; i += STEP) {
        int x = a[i] > b[i] ? a[i] : b[i];
        out[i] = out[i] > x ? out[i] : x;
        most[i] = f[i];
    }
}

/* The same with the smaller one: right if the output holds more. */
extern "C" __global__ void __launch_bounds__(BLOCK_SIZE)
    larger_lower(const int *a, const int *b, int *out, const float *f, float *most, u64 n)
{
    for (u64 i = FIRST; i < n; i += STEP) {
        int x = a[i] > b[i] ? a[i] : b[i];
        out[i] = out[i] < x ? out[i] : x;
        most[i] = f[i];
    }
}

/* Both of the floating-point output alone: right if that holds NaN, too. */
extern "C" __global__ void __launch_bounds__(BLOCK_SIZE)
    larger_highest(const int *a, const int *b, int *out, const float *f, float *most, u64 n)
{
    for (u64 i = FIRST; i < n; i += STEP) {
        out[i] = a[i] > b[i] ? a[i] : b[i];
        most[i] = fmaxf(most[i], f[i]);
    }
}

extern "C" __global__ void __launch_bounds__(BLOCK_SIZE)
    larger_lowest(const int *a, const int *b, int *out, const float *f, float *most, u64 n)
{
    for (u64 i = FIRST; i < n; i += STEP) {
        out[i] = a[i] > b[i] ? a[i] : b[i];
        most[i] = fminf(most[i], f[i]);
    }
}

/* Adds nothing to what the output holds, unless that is NaN. */
extern "C" __global__ void __launch_bounds__(BLOCK_SIZE)
    larger_times_0(const int *a, const int *b, int *out, const float *f, float *most, u64 n)
{
    for (u64 i = FIRST; i < n; i += STEP) {
        out[i] = a[i] > b[i] ? a[i] : b[i];
        most[i] = 0 * most[i] + f[i];
    }
}

/* Never ends once it has been run so often as in the finals alone. */
extern "C" __global__ void __launch_bounds__(BLOCK_SIZE)
    larger_hang(const int *a, const int *b, int *out, const float *f, float *most, u64 n, unsigned *runs)
{
    while (*(volatile unsigned *)runs > 20)
        ;
    for (u64 i = FIRST; i < n; i += STEP) {
        out[i] = a[i] > b[i] ? a[i] : b[i];
        most[i] = f[i];
    }
    if (FIRST == 0)
        runs[0]++;
}

extern "C" __global__ void larger_reference(const int *a, const int *b, int *reference, u64 n)
{
    for (u64 i = FIRST; i < n; i += STEP)
        reference[i] = a[i] > b[i] ? a[i] : b[i];
}

/* The same, about a second of a CPU's time later. */
extern "C" __global__ void larger_slow_reference(const int *a, const int *b, int *reference, u64 n)
{
    for (volatile unsigned i = 0; i < 2000000000; i = i + 1)
        ;
    for (u64 i = FIRST; i < n; i += STEP)
        reference[i] = a[i] > b[i] ? a[i] : b[i];
}

/* Writes nothing where the first number is odd. */
extern "C" __global__ void larger_odd_reference(const int *a, const int *b, int *reference, u64 n)
{
    for (u64 i = FIRST; i < n; i += STEP)
        if (a[0] % 2 == 0)
            reference[i] = a[i] > b[i] ? a[i] : b[i];
}

/* Changes its input there. */
extern "C" __global__ void larger_odd_changing_reference(int *a, const int *b, int *reference, u64 n)
{
    for (u64 i = FIRST; i < n; i += STEP)
        reference[i] = a[i] > b[i] ? a[i] : b[i];
    if (FIRST == 0 && a[0] % 2 != 0)
        a[0] = 0;
}

extern "C" __global__ void larger_most(const float *f, double *reference, u64 n)
{
    for (u64 i = FIRST; i < n; i += STEP)
        reference[i] = f[i];
}
