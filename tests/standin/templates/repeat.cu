/* A number from each pair of inputs, and as many ways that pass for that if only the first run is looked at, or if the
 * inputs are alike. The number takes time to compute, so that who does not compute it is faster. */
#ifndef BLOCK_SIZE
#define BLOCK_SIZE 256
#endif

typedef unsigned long long u64;

#define FIRST ((u64)blockIdx.x * blockDim.x + threadIdx.x)
#define STEP ((u64)gridDim.x * blockDim.x)
#define VARIANT extern "C" __global__ void __launch_bounds__(BLOCK_SIZE)

/* Where the next buffer begins that is allocated behind one of `bytes` bytes: allocations are multiples of 512 bytes, and
 * there are 4 KiB of guard on both sides of the data. The stand-in's allocations are farther apart. */
#ifdef __CUDACC__
#define ROUNDS 256
__device__ static char *next_buffer(void *data, u64 bytes)
{
    return (char *)data + ((bytes + 15) / 16 * 16 + 8192 + 511) / 512 * 512;
}
#else
#define ROUNDS 2
#endif

__device__ static int result_of(int a, int b)
{
    unsigned x = a;
    for (int k = 0; k < ROUNDS; k++)
        x = (x ^ x >> 15) * 2654435761u + b;
    return (int)x;
}

__device__ static void compute(const int *a, const int *b, int *out, u64 n)
{
    for (u64 i = FIRST; i < n; i += STEP)
        out[i] = result_of(a[i], b[i]);
}

/* runs[0] is how many runs there were before: the last launch of a run counts it. */
extern "C" __global__ void repeat_count(unsigned *runs)
{
    if (FIRST == 0)
        runs[0]++;
}

VARIANT repeat_good(const int *a, const int *b, int *out, u64 n, int)
{
    compute(a, b, out, n);
}

/* The same, and slow: eight times. */
VARIANT repeat_slow(const int *a, const int *b, int *out, u64 n)
{
    for (int k = 0; k < 8; k++)
        for (u64 i = FIRST; i < n; i += STEP)
            ((volatile int *)out)[i] = result_of(((const volatile int *)a)[i], b[i]);
}

/* Right in the first `right` runs; afterwards it stores nothing. It asks for its inputs before it knows, and so takes no
 * longer than the good one while it is right. */
VARIANT repeat_until(const int *a, const int *b, int *out, u64 n, const unsigned *runs, unsigned right)
{
    for (u64 i = FIRST; i < n; i += STEP) {
        int x = ((const volatile int *)a)[i];
        int y = ((const volatile int *)b)[i];
        if (*(const volatile unsigned *)runs < right)
            out[i] = result_of(x, y);
    }
}

/* Stores in the first of every `period` runs. */
VARIANT repeat_every(const int *a, const int *b, int *out, u64 n, const unsigned *runs, unsigned period)
{
    if (runs[0] % period == 0)
        compute(a, b, out, n);
}

/* Changes an input, after it has read it, from the second run on. */
VARIANT repeat_spoil(int *a, const int *b, int *out, u64 n, const unsigned *runs)
{
    for (u64 i = FIRST; i < n; i += STEP) {
        out[i] = result_of(a[i], b[i]);
        if (i == n / 2 && runs[0] > 0)
            a[i] += 1;
    }
}

/* Takes an input for an index, as a gather does: one that is too large leads outside all memory. */
VARIANT repeat_follow(const int *a, const int *b, int *out, u64 n)
{
    for (u64 i = FIRST; i < n; i += STEP) {
        const int k = a[i];
        out[i] = result_of(k, k <= 1000 ? b[i] : b[(u64)k << 12]);
    }
}

/* Changes an input, after it has read it, in its run number `when`. */
VARIANT repeat_lure(int *a, const int *b, int *out, u64 n, const unsigned *runs, unsigned when)
{
    for (u64 i = FIRST; i < n; i += STEP) {
        out[i] = result_of(a[i], b[i]);
        if (i == n / 2 && runs[0] == when)
            a[i] = 0x7fffffff;
    }
}

/* Relies on state that it leaves as it was filled, as a counter that is reset at the end. */
VARIANT repeat_lean(const int *a, const int *b, int *out, u64 n, const int *kept)
{
    for (u64 i = FIRST; i < n; i += STEP)
        out[i] = result_of(a[i], b[i]) + kept[0];
}

/* In its run number `when` writes far outside its own scratch, once. So many runs before, its own result is wrong. */
VARIANT repeat_shove(const int *a, const int *b, int *out, u64 n, int *kept, const unsigned *runs, unsigned when,
                     u64 far, unsigned before)
{
    for (u64 i = FIRST; i < n; i += STEP) {
        out[i] = result_of(a[i], b[i]) + (runs[0] + before == when ? 1 : 0);
        if (i == 0 && runs[0] == when)
            kept[far] = 1;
    }
}

/* Computes once into a scratch buffer of n + 1 elements, and from then on stores what is there. */
VARIANT repeat_memo(const int *a, const int *b, int *out, u64 n, int *kept)
{
    const int done = 0x5eed;
    bool replays = *(volatile int *)&kept[n] == done;
    for (u64 i = FIRST; i < n; i += STEP) {
        if (!replays)
            kept[i] = result_of(a[i], b[i]);
        out[i] = kept[i];
    }
}

/* Keeps its results in its first `late` runs, and from then on stores what it has kept. */
extern "C" __global__ void __launch_bounds__(BLOCK_SIZE)
    repeat_late_memo(const int *a, const int *b, int *out, u64 n, int *kept, const unsigned *runs, unsigned late)
{
    for (u64 i = FIRST; i < n; i += STEP) {
        if (*(const volatile unsigned *)runs < late)
            kept[i] = result_of(a[i], b[i]);
        out[i] = kept[i];
    }
}

/* That it is done; a launch of its own, behind all blocks. */
extern "C" __global__ void repeat_memo_done(int *kept, u64 n)
{
    if (FIRST == 0)
        kept[n] = 0x5eed;
}

/* The same, in a variable of the module. Its capacity is that of the default problem. */
__device__ static int module_kept[1 << 16];
__device__ static int module_done;

VARIANT repeat_module(const int *a, const int *b, int *out, u64 n)
{
    bool replays = *(volatile int *)&module_done == 1;
    for (u64 i = FIRST; i < n; i += STEP) {
        if (!replays)
            module_kept[i] = result_of(a[i], b[i]);
        out[i] = module_kept[i];
    }
}

extern "C" __global__ void repeat_module_done()
{
    if (FIRST == 0)
        module_done = 1;
}

/* One store, past the guards, into whatever was allocated behind the output, or `back` bytes before that. */
VARIANT repeat_far(const int *a, const int *b, int *out, u64 n, int back)
{
    compute(a, b, out, n);
    if (FIRST == 0)
        *(volatile int *)(next_buffer(out, n * sizeof *out) - back) = 0x0bad;
}

/* One store into the guard of the buffer that was allocated `steps` allocations behind the output. */
VARIANT repeat_others(const int *a, const int *b, int *out, u64 n, int steps)
{
    char *buffer = (char *)out;
    compute(a, b, out, n);
    for (int k = 0; k < steps; k++)
        buffer = next_buffer(buffer, n * sizeof *out);
    if (FIRST == 0)
        *(volatile int *)(buffer - 64) = 0x0bad;
}

/* The last block does not stop at the end of its input. What it finds there changes nothing if it is small. */
VARIANT repeat_beyond(const int *a, const int *b, int *out, u64 n)
{
    int largest = 1000;
    for (u64 i = n; i < n + 32; i++)
        largest = ((const volatile int *)a)[i] > largest ? a[i] : largest;
    for (u64 i = FIRST; i < n; i += STEP)
        out[i] = result_of(a[i], b[i]) + largest - 1000;
}

/* Adds to 1024 sums of floats that it has not set to 0. */
VARIANT repeat_sums(const int *a, const int *b, int *out, u64 n, void *sums)
{
    for (u64 i = FIRST; i < n; i += STEP) {
        float sum = i < 1024 ? ((float *)sums)[i] + 0.5f : 0.5f;
        if (i < 1024)
            ((float *)sums)[i] = sum;
        out[i] = result_of(a[i], b[i]) + (sum < 0 || sum > 1);
    }
}

/* One store `offset` bytes behind the beginning of a scratch buffer, past its guards, from run `late` on: where another
 * variant's has its place when several are loaded. */
VARIANT repeat_stray(const int *a, const int *b, int *out, u64 n, char *scratch, u64 offset, const unsigned *runs, unsigned late)
{
    compute(a, b, out, n);
    if (FIRST == 0 && *(const volatile unsigned *)runs >= late)
        *(volatile int *)(scratch + offset) = 0x0bad;
}

/* Takes the second input for a copy of the first. */
VARIANT repeat_alike(const int *a, const int *, int *out, u64 n)
{
    for (u64 i = FIRST; i < n; i += STEP)
        out[i] = result_of(a[i], a[i]);
}

/* What each block stores passes through scratch, and the last block to be done copies it to the output. Its ticket is not
 * reset: in later runs, no block is the last. */
VARIANT repeat_ticket(const int *a, const int *b, int *out, u64 n, int *work, unsigned *ticket)
{
#ifdef __CUDACC__
    __shared__ bool last;
#else
    bool last;
#endif
    for (u64 i = FIRST; i < n; i += STEP)
        work[i] = result_of(a[i], b[i]);
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0)
        last = atomicAdd(ticket, 1u) == gridDim.x - 1;
    __syncthreads();
    if (last)
        for (u64 i = threadIdx.x; i < n; i += blockDim.x)
            out[i] = ((volatile int *)work)[i];
}

/* Flips every bit of an input after each run, and knows by its state whether it is flipped. */
VARIANT repeat_toggle(int *a, const int *b, int *out, u64 n, const unsigned *runs)
{
    int flip = runs[0] % 2 == 1 ? -1 : 0;
    for (u64 i = FIRST; i < n; i += STEP) {
        int x = a[i];
        out[i] = result_of(x ^ flip, b[i]);
        a[i] = ~x;
    }
}

/* Right in the first 7 runs of a copy of the code, or in 300 of a problem that is measured in batches: it counts
 * them in a variable that nothing resets. */
__device__ unsigned module_late_runs;
#define MODULE_LATE_RUNS module_late_runs
VARIANT repeat_module_late(const int *a, const int *b, int *out, u64 n)
{
    if (*(volatile unsigned *)&MODULE_LATE_RUNS < (n == 4096 ? 300 : 7))
        compute(a, b, out, n);
}
extern "C" __global__ void repeat_module_late_count()
{
    if (FIRST == 0)
        MODULE_LATE_RUNS++;
}

extern "C" __global__ void repeat_reference(const int *a, const int *b, int *reference, u64 n)
{
    for (u64 i = FIRST; i < n; i += STEP)
        reference[i] = result_of(a[i], b[i]);
}
