// The first steps of the well-known series of reductions: one element per thread, launched
// repeatedly until one value is left. They serve as a baseline; reduce.cu has the faster ones.
//
// SCHEME      naive: every launch adds to each element the one that follows `stride` elements
//             later, in global memory; log2(n) launches, each of which reads and writes everything.
//             divergent: a block reduces its elements in shared memory; only threads whose index is
//             a multiple of 2 * stride are active, so every warp runs with few active lanes.
//             interleaved: the active threads are adjacent, but their accesses conflict in shared
//             memory banks.
//             sequential: the stride halves each time, and adjacent threads use adjacent elements.
//             shuffle: warps reduce with shuffles; shared memory only between warps.
// BLOCK_SIZE  threads per block, a power of two; each launch leaves one value per block.
#include "reduce_reference.cuh"
#include "value_types.cuh"

#define SCHEME_NAIVE 0
#define SCHEME_DIVERGENT 1
#define SCHEME_INTERLEAVED 2
#define SCHEME_SEQUENTIAL 3
#define SCHEME_SHUFFLE 4

#ifndef SCHEME
#define SCHEME SCHEME_NAIVE
#endif
#ifndef BLOCK_SIZE
#define BLOCK_SIZE 256
#endif

#if SCHEME == SCHEME_NAIVE

// After this launch, element i holds the result of elements i to i + 2 * stride - 1. Two buffers
// alternate, because other threads still read the element that this thread would overwrite.
extern "C" __global__ void __launch_bounds__(BLOCK_SIZE)
    reduce_neighbours(const Value *from, Value *to, uint64 n, uint64 stride, Value *out)
{
    const uint64 i = (uint64)blockIdx.x * BLOCK_SIZE + threadIdx.x;
    Value result = i < n ? from[i] : Operation::identity();
    if (i + stride < n) {
        result = Operation::combine(result, from[i + stride]);
    }
    if (i < n) {
        to[i] = result;
    }
    if (i == 0 && 2 * stride >= n) {
        *out = result;
    }
}

#else

#if SCHEME == SCHEME_SHUFFLE

__device__ Value reduce_elements(Value value)
{
    return block_reduce<Operation, BLOCK_SIZE>(value);
}

#else

__device__ Value reduce_elements(Value value)
{
    __shared__ Value values[BLOCK_SIZE];
    const uint32 thread = threadIdx.x;
    values[thread] = value;
    __syncthreads();
#if SCHEME == SCHEME_DIVERGENT
    for (uint32 stride = 1; stride < BLOCK_SIZE; stride *= 2) {
        if (thread % (2 * stride) == 0) {
            values[thread] = Operation::combine(values[thread], values[thread + stride]);
        }
        __syncthreads();
    }
#elif SCHEME == SCHEME_INTERLEAVED
    for (uint32 stride = 1; stride < BLOCK_SIZE; stride *= 2) {
        const uint32 index = 2 * stride * thread;
        if (index < BLOCK_SIZE) {
            values[index] = Operation::combine(values[index], values[index + stride]);
        }
        __syncthreads();
    }
#else
    for (uint32 stride = BLOCK_SIZE / 2; stride > 0; stride /= 2) {
        if (thread < stride) {
            values[thread] = Operation::combine(values[thread], values[thread + stride]);
        }
        __syncthreads();
    }
#endif
    return values[0];
}

#endif

// Reduces `count` elements to one per block.
extern "C" __global__ void __launch_bounds__(BLOCK_SIZE)
    reduce_blocks(const Value *from, Value *to, uint64 count)
{
    const uint64 i = (uint64)blockIdx.x * BLOCK_SIZE + threadIdx.x;
    const Value result = reduce_elements(i < count ? from[i] : Operation::identity());
    if (threadIdx.x == 0) {
        to[blockIdx.x] = result;
    }
}

#endif
