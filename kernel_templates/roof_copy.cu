// Peak memory bandwidth: the slope of the roofline.
//
// TRAFFIC       (part of the problem) copy: reads and writes every word. read: reads every word and
//               returns the sum modulo 2^32. Reading alone is a little faster.
// BLOCK_SIZE    threads per block.
// NUM_LOAD      independent loads per thread in each step.
// VECTOR_WIDTH  words of 4 bytes per load.
// LOAD          cached: an ordinary load. once: bypasses L1.
// STORE         cached: an ordinary store. streaming: L2 evicts the line first.
#include "primitives.cuh"

#define TRAFFIC_COPY 0
#define TRAFFIC_READ 1
#define LOAD_CACHED 0
#define LOAD_ONCE 1
#define STORE_CACHED 0
#define STORE_STREAMING 1

#ifndef TRAFFIC
#define TRAFFIC TRAFFIC_COPY
#endif
#ifndef BLOCK_SIZE
#define BLOCK_SIZE 256
#endif
#ifndef NUM_LOAD
#define NUM_LOAD 4
#endif
#ifndef VECTOR_WIDTH
#define VECTOR_WIDTH 4
#endif
#ifndef LOAD
#define LOAD LOAD_CACHED
#endif
#ifndef STORE
#define STORE STORE_CACHED
#endif

#define STEP_WORDS (BLOCK_SIZE * NUM_LOAD * VECTOR_WIDTH)

typedef Vector<uint32, VECTOR_WIDTH> Words;

__device__ __forceinline__ Words load_words(const Words *from)
{
#if LOAD == LOAD_ONCE
    return load_once(from);
#else
    return load_cached(from);
#endif
}

__device__ __forceinline__ void store_words(Words *to, const Words &words)
{
#if STORE == STORE_STREAMING && VECTOR_WIDTH == 4
    asm volatile("st.global.cs.v4.u32 [%0], {%1, %2, %3, %4};"
                 :
                 : "l"(to), "r"(words.element[0]), "r"(words.element[1]), "r"(words.element[2]),
                   "r"(words.element[3])
                 : "memory");
#elif STORE == STORE_STREAMING && VECTOR_WIDTH == 2
    asm volatile("st.global.cs.v2.u32 [%0], {%1, %2};"
                 :
                 : "l"(to), "r"(words.element[0]), "r"(words.element[1])
                 : "memory");
#elif STORE == STORE_STREAMING
    asm volatile("st.global.cs.u32 [%0], %1;" : : "l"(to), "r"(words.element[0]) : "memory");
#else
    *to = words;
#endif
}

// The upper half of one word adds up the sums of the blocks, the lower half counts them. Each block
// does one atomic add; the last one finds the whole sum and resets the word.
__device__ __forceinline__ void add_to_total(uint32 sum, uint64 *total, uint32 *out)
{
    const uint64 old = add_acquire_release(total, (uint64)sum << 32 | 1);
    if ((uint32)old == gridDim.x - 1) {
        *out = (uint32)(old >> 32) + sum;
        *total = 0;
    }
}

struct Sum {
    static __device__ __forceinline__ uint32 combine(uint32 a, uint32 b)
    {
        return a + b;
    }
    static __device__ __forceinline__ uint32 identity()
    {
        return 0;
    }
};

extern "C" __global__ void __launch_bounds__(BLOCK_SIZE)
    roof_copy(const uint32 *__restrict__ in, uint64 n, uint64 *total, uint32 *__restrict__ out)
{
    uint32 sum = 0;
    for (uint64 at = (uint64)blockIdx.x * STEP_WORDS; at < n; at += (uint64)gridDim.x * STEP_WORDS) {
        if (n - at >= STEP_WORDS) {
            const Words *from = (const Words *)(in + at) + threadIdx.x;
            Words words[NUM_LOAD];
#pragma unroll
            for (int i = 0; i < NUM_LOAD; i++) {
                words[i] = load_words(from + i * BLOCK_SIZE);
            }
#pragma unroll
            for (int i = 0; i < NUM_LOAD; i++) {
#if TRAFFIC == TRAFFIC_COPY
                store_words((Words *)(out + at) + threadIdx.x + i * BLOCK_SIZE, words[i]);
#else
#pragma unroll
                for (int j = 0; j < VECTOR_WIDTH; j++) {
                    sum += words[i].element[j];
                }
#endif
            }
        } else {
            for (uint64 i = at + threadIdx.x; i < n; i += BLOCK_SIZE) {
#if TRAFFIC == TRAFFIC_COPY
                out[i] = in[i];
#else
                sum += in[i];
#endif
            }
        }
    }
#if TRAFFIC == TRAFFIC_READ
    sum = block_reduce<Sum, BLOCK_SIZE>(sum);
    if (threadIdx.x == 0) {
        add_to_total(sum, total, out);
    }
#endif
}

// For copies one thread per word, for the sum one block.
extern "C" __global__ void roof_copy_reference(const uint32 *in, uint64 n, uint32 *out)
{
#if TRAFFIC == TRAFFIC_COPY
    const uint64 i = (uint64)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        out[i] = in[i];
    }
#else
    __shared__ uint32 total;
    if (threadIdx.x == 0) {
        total = 0;
    }
    __syncthreads();
    uint32 sum = 0;
    for (uint64 i = threadIdx.x; i < n; i += blockDim.x) {
        sum += in[i];
    }
    atomicAdd(&total, sum);
    __syncthreads();
    if (threadIdx.x == 0) {
        *out = total;
    }
#endif
}
