// The expected result of every reduction.
#ifndef REDUCE_REFERENCE_CUH
#define REDUCE_REFERENCE_CUH

#include "value_types.cuh"

// Slow and obviously right: one block, one accumulator per thread, in a type exact for the inputs.
extern "C" __global__ void reduce_reference(const Value *in, Exact *out, uint64 n)
{
    __shared__ Exact results[1024];
    Exact result = Operation::identity();
#pragma unroll 8 // loads in flight: 2^24 floats take 1 ms instead of 6
    for (uint64 i = threadIdx.x; i < n; i += blockDim.x) {
        result = Operation::combine(result, (Exact)widen(in[i]));
    }
    results[threadIdx.x] = result;
    __syncthreads();
    if (threadIdx.x == 0) {
#pragma unroll 1
        for (uint32 i = 1; i < blockDim.x; i++) {
            result = Operation::combine(result, results[i]);
        }
        *out = widen(narrow((Accumulator)result)); // rounded to the type of the result
    }
}

#endif
