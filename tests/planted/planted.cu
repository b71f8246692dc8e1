// out = 2 * in + 1, and in as many ways as a search finds in which a kernel does not do that. The
// test (tests/gpu.sh) plants them among good variants.
//
// FAULT       none: the good kernel; the others say what is wrong with them below.
// BLOCK_SIZE  threads a block, a power of two from 64 on. The grid has one block an SM, so that
//             larger blocks are faster by far and the winner is never in doubt.
#define FAULT_NONE 0
#define FAULT_ENDLESS_LOOP 1
#define FAULT_ENDLESS_BARRIER 2
#define FAULT_WRITE_PAST 3
#define FAULT_WRITE_FAR 4
#define FAULT_MISALIGNED 5
#define FAULT_TRAP 6
#define FAULT_ASSERTS 7
#define FAULT_STACK_OVERFLOW 8
#define FAULT_WRONG 9
#define FAULT_UNWRITTEN 10
#define FAULT_FLAKY_RACE 11
#define FAULT_UNROLL 12

#ifndef FAULT
#define FAULT FAULT_NONE
#endif
#ifndef BLOCK_SIZE
#define BLOCK_SIZE 256
#endif

typedef unsigned long long u64;

#define FIRST ((u64)blockIdx.x * blockDim.x + threadIdx.x)
#define STEP ((u64)gridDim.x * blockDim.x)

__device__ int result_of(int x)
{
    return 2 * x + 1;
}

extern "C" __global__ void __launch_bounds__(BLOCK_SIZE)
    planted_none(const int *in, int *out, u64 n, unsigned *, int)
{
    for (u64 i = FIRST; i < n; i += STEP) {
        out[i] = result_of(in[i]);
    }
}

// Waits for an input to change, which nothing does.
extern "C" __global__ void __launch_bounds__(BLOCK_SIZE)
    planted_endless_loop(const int *in, int *out, u64 n, unsigned *, int)
{
    while (*(const volatile int *)in < 1000000) {
    }
    out[n - 1] = 0;
}

// A barrier over a grid of twice the blocks that the GPU holds: those that are resident wait for
// those that get no place until the others leave.
extern "C" __global__ void __launch_bounds__(BLOCK_SIZE)
    planted_endless_barrier(const int *in, int *out, u64 n, unsigned *arrived, int)
{
    if (threadIdx.x == 0) {
        atomicAdd(arrived, 1u);
        while (*(volatile unsigned *)arrived < gridDim.x) {
        }
    }
    __syncthreads();
    for (u64 i = FIRST; i < n; i += STEP) {
        out[i] = result_of(in[i]);
    }
}

// One element too many: into the guard region.
extern "C" __global__ void __launch_bounds__(BLOCK_SIZE)
    planted_write_past(const int *in, int *out, u64 n, unsigned *, int)
{
    for (u64 i = FIRST; i <= n; i += STEP) {
        out[i] = i < n ? result_of(in[i]) : 1;
    }
}

// A terabyte below: into nothing.
extern "C" __global__ void __launch_bounds__(BLOCK_SIZE)
    planted_write_far(const int *in, int *out, u64 n, unsigned *, int)
{
    for (u64 i = FIRST; i < n; i += STEP) {
        out[i - (1ull << 38)] = result_of(in[i]);
    }
}

extern "C" __global__ void __launch_bounds__(BLOCK_SIZE)
    planted_wrong(const int *in, int *out, u64 n, unsigned *, int)
{
    for (u64 i = FIRST; i < n; i += STEP) {
        out[i] = result_of(in[i]) + (i == n / 2);
    }
}

// All but the last element.
extern "C" __global__ void __launch_bounds__(BLOCK_SIZE)
    planted_unwritten(const int *in, int *out, u64 n, unsigned *, int)
{
    for (u64 i = FIRST; i + 1 < n; i += STEP) {
        out[i] = result_of(in[i]);
    }
}

extern "C" __global__ void __launch_bounds__(BLOCK_SIZE)
    planted_trap(const int *in, int *out, u64 n, unsigned *, int)
{
    if (in[0] < 1000000) {
        __trap();
    }
    out[n - 1] = 0;
}

extern "C" __global__ void __launch_bounds__(BLOCK_SIZE)
    planted_misaligned(const int *in, int *out, u64 n, unsigned *, int)
{
    for (u64 i = FIRST; i + 1 < n; i += STEP) {
        out[i] = *(const volatile int *)((const char *)(in + i) + 1);
    }
}

// What assert() of the toolkit's headers calls; one thread says so on stderr.
extern "C" __device__ void __assertfail(const char *message, const char *file, unsigned line,
                                        const char *function, size_t char_bytes);

extern "C" __global__ void __launch_bounds__(BLOCK_SIZE)
    planted_asserts(const int *in, int *out, u64 n, unsigned *, int)
{
    for (u64 i = FIRST; i < n; i += STEP) {
        out[i] = result_of(in[i]);
        if (i == n / 2) {
            __assertfail("planted", "planted.cu", __LINE__, "planted_asserts", 1);
        }
    }
}

// A frame of 256 bytes a call, for as many calls as there are elements.
__device__ __noinline__ int descend(const int *in, u64 n, u64 depth)
{
    volatile int frame[64];
    frame[depth % 64] = in[depth];
    const int below = depth + 1 < n ? descend(in, n, depth + 1) : 0;
    return below + frame[(depth + 1) % 64] + frame[depth % 64];
}

extern "C" __global__ void __launch_bounds__(BLOCK_SIZE)
    planted_stack_overflow(const int *in, int *out, u64 n, unsigned *, int)
{
    out[FIRST] = descend(in, n, 0);
}

// Warps hand each other their elements through shared memory, and no barrier tells them when: an
// element is right where the other warp was first. Which ones are wrong is another matter in every
// run; with so many elements it is never none.
extern "C" __global__ void __launch_bounds__(BLOCK_SIZE)
    planted_flaky_race(const int *in, int *out, u64 n, unsigned *, int)
{
    __shared__ volatile int handed[BLOCK_SIZE];
    const unsigned other = threadIdx.x ^ 32; // the same lane of the warp beside
    for (u64 first = (u64)blockIdx.x * BLOCK_SIZE; first < n; first += STEP) {
        handed[other] = result_of(in[first + other]);
        out[first + threadIdx.x] = handed[threadIdx.x];
    }
}

#if FAULT == FAULT_UNROLL
// As many loads under way as no thread has registers for: the compiler is busy with it for minutes.
extern "C" __global__ void __launch_bounds__(BLOCK_SIZE)
    planted_unroll(const int *in, int *out, u64 n, unsigned *, int)
{
    constexpr int LOADS = 4096;
    for (u64 first = FIRST; first < n; first += LOADS * STEP) {
        int loaded[LOADS];
#pragma unroll
        for (int i = 0; i < LOADS; i++) {
            loaded[i] = first + i * STEP < n ? in[first + i * STEP] : 0;
        }
#pragma unroll
        for (int i = 0; i < LOADS; i++) {
            if (first + i * STEP < n) {
                out[first + i * STEP] = result_of(loaded[i]);
            }
        }
    }
}
#endif

extern "C" __global__ void planted_reference(const int *in, int *reference, u64 n)
{
    for (u64 i = FIRST; i < n; i += STEP) {
        reference[i] = result_of(in[i]);
    }
}
