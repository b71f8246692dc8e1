// How many floating-point operations a second the SMs do at most: the flat part of the roofline.
//
// Each of n numbers goes through a chain of `steps` fused multiply-adds x = x * factor + addend.
// Factor and addend are arguments, so the compiler cannot know that they are 1: it has to do every
// step. The result, the first number plus `steps`, is exact as long as it is below 2^24, and tells
// whether one is missing.
//
// A step waits for the one before, 4 cycles from the Volta architecture on, and a quarter of an SM
// can begin one for a warp in every cycle: 4 chains for each of its warp schedulers are the least
// that keeps it busy, as CHAINS of a thread or as warps.
//
// BLOCK_SIZE  threads a block.
// CHAINS      numbers that a thread works on at once.
// UNROLL      steps in the body of the loop. More make its own instructions count less, and take
//             more of the instruction cache.
#include "primitives.cuh"

#ifndef BLOCK_SIZE
#define BLOCK_SIZE 256
#endif
#ifndef CHAINS
#define CHAINS 4
#endif
#ifndef UNROLL
#define UNROLL 16
#endif

// Small and different from its neighbours.
__device__ __forceinline__ float first_number(uint64 i)
{
    return (float)(uint32)(i % 1000);
}

extern "C" __global__ void __launch_bounds__(BLOCK_SIZE)
    roof_fma(float *__restrict__ out, uint64 n, uint32 steps, float factor, float addend)
{
    const uint64 threads = (uint64)gridDim.x * BLOCK_SIZE;
    const uint64 thread = (uint64)blockIdx.x * BLOCK_SIZE + threadIdx.x;
    // in registers of each thread, where the compiler would take uniform ones
    factor = __shfl_sync(FULL_WARP, factor, 0);
    addend = __shfl_sync(FULL_WARP, addend, 0);
    for (uint64 at = thread; at < n; at += threads * CHAINS) {
        float numbers[CHAINS];
#pragma unroll
        for (int i = 0; i < CHAINS; i++) {
            numbers[i] = first_number(at + i * threads);
        }
#pragma unroll UNROLL
        for (uint32 step = 0; step < steps; step++) {
#pragma unroll
            for (int i = 0; i < CHAINS; i++) {
                numbers[i] = __fmaf_rn(numbers[i], factor, addend);
            }
        }
#pragma unroll
        for (int i = 0; i < CHAINS; i++) {
            if (at + i * threads < n) {
                out[at + i * threads] = numbers[i];
            }
        }
    }
}

extern "C" __global__ void roof_fma_reference(double *out, uint64 n, uint32 steps)
{
    const uint64 i = (uint64)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        out[i] = (double)(i % 1000) + steps;
    }
}
