// Counts how often each key from 0 to addresses - 1 occurs, or sums the values of each key.
//
// METHOD      global: an atomic on the result in global memory.
//             shared: each block counts in shared memory, and adds what it found to the result.
// AGGREGATE   none: an atomic for each element.
//             runs: while all elements that a warp reads have the same key, its threads add them in
//             registers; one atomic follows when the key changes. For sorted keys, or few of them.
// BLOCK_SIZE  threads per block.
// NUM_LOAD    loads of 16 bytes that a thread has in flight.
// COPIES      shared: histograms of a block, among which its warps are distributed. With few keys,
//             fewer threads then contend for a word.
//
// Relaxed order is enough: each update is atomic by itself, and the end of the kernel publishes the
// result.
//
// OPERATION (part of the problem): count; or sum, of 32-bit integers, which may wrap around.
// ORDER (part of the problem): of the keys: random, or sorted.
#include "primitives.cuh"

#define METHOD_GLOBAL 0
#define METHOD_SHARED 1
#define AGGREGATE_NONE 0
#define AGGREGATE_RUNS 1
#define OPERATION_COUNT 0
#define OPERATION_SUM 1

#ifndef METHOD
#define METHOD METHOD_GLOBAL
#endif
#ifndef AGGREGATE
#define AGGREGATE AGGREGATE_NONE
#endif
#ifndef BLOCK_SIZE
#define BLOCK_SIZE 256
#endif
#ifndef NUM_LOAD
#define NUM_LOAD 2
#endif
#ifndef COPIES
#define COPIES 1
#endif
#ifndef OPERATION
#define OPERATION OPERATION_COUNT
#endif

#define WARPS (BLOCK_SIZE / WARP_SIZE)

struct Add {
    static __device__ __forceinline__ uint32 combine(uint32 a, uint32 b)
    {
        return a + b;
    }
};

// The elements that a thread reads at a time: NUM_LOAD groups of four neighbours.
typedef Vector<uint32, 4> Group;
struct Elements {
    Group keys[NUM_LOAD];
    Group values[NUM_LOAD];
};

// Group j is at groups + j * stride.
__device__ __forceinline__ void load_elements(Elements &elements, const uint32 *keys,
                                              const uint32 *values, uint64 first, uint64 stride)
{
#pragma unroll
    for (int j = 0; j < NUM_LOAD; j++) {
        elements.keys[j] = load_once((const Group *)keys + first + j * stride);
        if (OPERATION == OPERATION_SUM) {
            elements.values[j] = load_once((const Group *)values + first + j * stride);
        } else {
            elements.values[j] = {{1, 1, 1, 1}};
        }
    }
}

// What a warp has added up for one key.
struct Run {
    uint32 key;
    uint32 sum; // of this thread

    __device__ __forceinline__ void end(uint32 *counts)
    {
        const uint32 all = warp_reduce<Add>(sum);
        if (threadIdx.x % WARP_SIZE == 0 && all != 0) {
            atomicAdd(counts + key, all);
        }
        sum = 0;
    }
};

// Whether all keys of the warp are those of its first lane.
__device__ __forceinline__ bool all_equal(const Elements &elements, uint32 *key)
{
    *key = __shfl_sync(FULL_WARP, elements.keys[0].element[0], 0);
    bool equal = true;
#pragma unroll
    for (int j = 0; j < NUM_LOAD; j++) {
#pragma unroll
        for (int i = 0; i < 4; i++) {
            equal = equal && elements.keys[j].element[i] == *key;
        }
    }
    return __all_sync(FULL_WARP, equal);
}

__device__ __forceinline__ void add_elements(uint32 *counts, const Elements &elements, Run &run)
{
    uint32 key = 0;
    const bool is_run = AGGREGATE == AGGREGATE_RUNS && all_equal(elements, &key);
    if (is_run && key != run.key) {
        run.end(counts);
        run.key = key;
    }
#pragma unroll
    for (int j = 0; j < NUM_LOAD; j++) {
#pragma unroll
        for (int i = 0; i < 4; i++) {
            if (is_run) {
                run.sum += elements.values[j].element[i];
            } else {
                atomicAdd(counts + elements.keys[j].element[i], elements.values[j].element[i]);
            }
        }
    }
}

__device__ __forceinline__ void add_element(uint32 *counts, const uint32 *keys,
                                            const uint32 *values, uint64 i)
{
    atomicAdd(counts + keys[i], OPERATION == OPERATION_SUM ? values[i] : 1);
}

// All elements of this block, to `counts`.
__device__ __forceinline__ void add_all(uint32 *counts, const uint32 *keys, const uint32 *values,
                                        uint64 n)
{
    const uint64 groups = n / 4;
    const uint64 stride = (uint64)gridDim.x * BLOCK_SIZE;
    Run run = {0, 0};
    uint64 first = (uint64)blockIdx.x * BLOCK_SIZE;
    for (; first + (NUM_LOAD - 1) * stride + BLOCK_SIZE <= groups; first += NUM_LOAD * stride) {
        Elements elements;
        load_elements(elements, keys, values, first + threadIdx.x, stride);
        add_elements(counts, elements, run);
    }
    if (AGGREGATE == AGGREGATE_RUNS) {
        run.end(counts);
    }
    // Less than NUM_LOAD groups per thread are left, and then less than one group.
    for (uint64 group = first + threadIdx.x; group < groups; group += stride) {
        for (uint64 i = 4 * group; i < 4 * group + 4; i++) {
            add_element(counts, keys, values, i);
        }
    }
    const uint64 last = 4 * groups + threadIdx.x;
    if (blockIdx.x == 0 && last < n) {
        add_element(counts, keys, values, last);
    }
}

extern "C" __global__ void histogram_clear(uint32 *out, uint64 addresses)
{
    const uint64 i = (uint64)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < addresses) {
        out[i] = 0;
    }
}

extern "C" __global__ void __launch_bounds__(BLOCK_SIZE)
    histogram(const uint32 *__restrict__ keys, const uint32 *__restrict__ values, uint64 n,
              uint32 addresses, uint32 *out)
{
#if METHOD == METHOD_SHARED
    extern __shared__ uint32 counts[]; // COPIES times `addresses`
    for (uint32 i = threadIdx.x; i < COPIES * addresses; i += BLOCK_SIZE) {
        counts[i] = 0;
    }
    __syncthreads();
    add_all(counts + threadIdx.x / WARP_SIZE % COPIES * addresses, keys, values, n);
    __syncthreads();
    for (uint32 i = threadIdx.x; i < addresses; i += BLOCK_SIZE) {
        uint32 sum = 0;
        for (uint32 copy = 0; copy < COPIES; copy++) {
            sum += counts[copy * addresses + i];
        }
        if (sum != 0) {
            atomicAdd(out + i, sum);
        }
    }
#else
    add_all(out, keys, values, n);
#endif
}

// The keys: sorted, so that neighbours are equal, or in an order that looks random.
extern "C" __global__ void histogram_keys(uint32 *keys, uint64 n, uint32 addresses, bool sorted)
{
    for (uint64 i = (uint64)blockIdx.x * blockDim.x + threadIdx.x; i < n;
         i += (uint64)gridDim.x * blockDim.x) {
        uint64 hash = i * 0x9e3779b97f4a7c15ULL;
        hash = (hash ^ hash >> 29) * 0xbf58476d1ce4e5b9ULL;
        keys[i] = (uint32)(sorted ? i * addresses / n : (hash >> 32) % addresses);
    }
}

// One block: thread t computes the addresses t, t + blockDim.x, …
extern "C" __global__ void histogram_reference(const uint32 *keys, const uint32 *values, uint64 n,
                                               uint32 addresses, uint32 *out)
{
    for (uint64 address = threadIdx.x; address < addresses; address += blockDim.x) {
        out[address] = 0;
    }
    __syncthreads();
    for (uint64 i = threadIdx.x; i < n; i += blockDim.x) {
        atomicAdd(out + keys[i], OPERATION == OPERATION_SUM ? values[i] : 1);
    }
}
