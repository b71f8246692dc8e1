// Peak floating-point throughput of the SMs: the flat part of the roofline.
//
// Each of n numbers goes through a chain of `steps` fused multiply-adds x = x * factor + addend.
// Factor and addend are arguments, so the compiler does not know that they are 1 and keeps every
// step. The result, the initial number plus `steps`, is exact below 2^24, so a missing step shows.
//
// Since Volta, a step waits 4 cycles for the previous one, and each of the 4 warp schedulers of an
// SM can issue one step in every cycle. A scheduler therefore needs at least 4 chains to stay busy:
// several CHAINS per thread, several warps, or both.
//
// BLOCK_SIZE  threads per block.
// CHAINS      numbers that a thread works on at once.
// UNROLL      steps per iteration of the loop. A higher value lowers the loop overhead, but takes
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

// A small number that differs from those of neighbouring indices.
__device__ __forceinline__ float first_number(uint64 i)
{
    return (float)(uint32)(i % 1000);
}

extern "C" __global__ void __launch_bounds__(BLOCK_SIZE)
    roof_fma(float *__restrict__ out, uint64 n, uint32 steps, float factor, float addend)
{
    const uint64 threads = (uint64)gridDim.x * BLOCK_SIZE;
    const uint64 thread = (uint64)blockIdx.x * BLOCK_SIZE + threadIdx.x;
    // keeps both in ordinary registers; the compiler would otherwise choose uniform ones
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
