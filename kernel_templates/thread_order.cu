// The order in which threads run: every thread draws the next number and writes its own index at
// that position. The order of blocks and warps is not fixed; the lanes of a warp draw consecutive
// numbers because the hardware combines their additions. Verification checks only that each thread
// appears exactly once.
//
// UNIT        what draws a number: thread, warp (its first lane) or block (its first thread).
// BLOCK_SIZE  threads per block.
#include "primitives.cuh"

#define UNIT_THREAD 0
#define UNIT_WARP 1
#define UNIT_BLOCK 2

#ifndef UNIT
#define UNIT UNIT_THREAD
#endif
#ifndef BLOCK_SIZE
#define BLOCK_SIZE 256
#endif

extern "C" __global__ void thread_order_clear(uint32 *drawn)
{
    *drawn = 0;
}

extern "C" __global__ void __launch_bounds__(BLOCK_SIZE)
    thread_order(uint64 n, uint32 *drawn, uint32 *order)
{
    constexpr uint32 THREADS = UNIT == UNIT_THREAD ? 1 : UNIT == UNIT_WARP ? WARP_SIZE : BLOCK_SIZE;
    const uint64 thread = (uint64)blockIdx.x * BLOCK_SIZE + threadIdx.x;
    if (thread % THREADS == 0 && thread / THREADS < n) {
        order[atomicAdd(drawn, 1)] = (uint32)(thread / THREADS);
    }
}

extern "C" __global__ void thread_order_reference(uint64 n, uint32 *order)
{
    for (uint64 i = threadIdx.x; i < n; i += blockDim.x) {
        order[i] = (uint32)i;
    }
}
