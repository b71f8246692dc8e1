// The sum or product of n numbers with atomics in global memory.
//
// METHOD      racy: read, combine, write, without an atomic. Loses updates, so that the outcome is
//             always wrong_result.
//             atomic: one atomic add per element (sums only).
//             cas: a compare-and-swap loop per element, which works for any operation: read,
//             combine, and retry if another thread was faster.
//             thread_local: a thread combines its elements in a register; one atomic per thread.
//             warp_aggregated: the warp also combines its threads; one atomic per warp.
//             block_aggregated: the block also combines its warps; one atomic per block.
// BLOCK_SIZE  threads per block.
// VECTOR_WIDTH, NUM_LOAD  elements per load, and loads in flight per thread, for the last three.
// A smaller grid, with more elements per thread, makes the last three cheaper still.
//
// Relaxed order is enough: each update is atomic by itself, and the end of the kernel publishes the
// result.
//
// OPERATION (part of the problem): sum; or product of 2x + 1, whose factors are odd so that it is
// never zero.
#include "value_types.cuh"

#define METHOD_RACY 0
#define METHOD_ATOMIC 1
#define METHOD_CAS 2
#define METHOD_THREAD_LOCAL 3
#define METHOD_WARP_AGGREGATED 4
#define METHOD_BLOCK_AGGREGATED 5

#ifndef METHOD
#define METHOD METHOD_ATOMIC
#endif
#ifndef BLOCK_SIZE
#define BLOCK_SIZE 256
#endif

#ifndef VECTOR_WIDTH
#define VECTOR_WIDTH 1
#endif
#ifndef NUM_LOAD
#define NUM_LOAD 1
#endif

template <typename T> __device__ T contribution(T value)
{
    return OPERATION == OPERATION_PRODUCT ? 2 * value + 1 : value;
}

// The word that compare-and-swap works on.
template <int BYTES> struct Word;
template <> struct Word<4> {
    typedef uint32 type;
};
template <> struct Word<8> {
    typedef uint64 type;
};

// Compares bits, not numbers: a NaN does not equal itself, so the loop would never end.
__device__ void combine_by_cas(Value *to, Value value)
{
    typedef Word<sizeof(Value)>::type Bits;
    union Both {
        Value value;
        Bits bits;
    };
    Both expected;
    expected.value = *(volatile Value *)to;
    for (;;) {
        Both wanted;
        wanted.value = Operation::combine(expected.value, value);
        Both found;
        found.bits = atomicCAS((Bits *)to, expected.bits, wanted.bits);
        if (found.bits == expected.bits) {
            return;
        }
        expected = found;
    }
}

__device__ void combine_atomically(Value *to, Value value)
{
#if OPERATION != OPERATION_SUM || METHOD == METHOD_CAS
    combine_by_cas(to, value);
#elif VALUE_TYPE == VALUE_TYPE_INT64
    atomicAdd((uint64 *)to, (uint64)value); // two's complement: the same bits
#else
    atomicAdd(to, value);
#endif
}

__device__ void combine_racily(Value *to, Value value)
{
    volatile Value *shared_by_all = to;
    *shared_by_all = Operation::combine(*shared_by_all, value);
}

// The groups `group`, `group + stride`, … and, of the elements behind the last one, at most one.
__device__ __forceinline__ Value combine_share(const Value *in, uint64 n, uint64 group,
                                               uint64 stride)
{
    typedef Vector<Value, VECTOR_WIDTH> Group;
    const uint64 groups = n / VECTOR_WIDTH;
    const uint64 rest = groups * VECTOR_WIDTH + group;
    Value mine = rest < n ? contribution(in[rest]) : (Value)Operation::identity();
    for (; group < groups; group += NUM_LOAD * stride) {
        Group loaded[NUM_LOAD];
#pragma unroll
        for (int j = 0; j < NUM_LOAD; j++) {
            if (group + j * stride < groups) {
                loaded[j] = load_cached((const Group *)in + group + j * stride);
            }
        }
#pragma unroll
        for (int j = 0; j < NUM_LOAD; j++) {
#pragma unroll
            for (int k = 0; k < VECTOR_WIDTH && group + j * stride < groups; k++) {
                mine = Operation::combine(mine, contribution(loaded[j].element[k]));
            }
        }
    }
    return mine;
}

extern "C" __global__ void atomics_clear(Value *out)
{
    *out = Operation::identity();
}

extern "C" __global__ void __launch_bounds__(BLOCK_SIZE)
    atomics(const Value *__restrict__ in, uint64 n, Value *out)
{
    const uint64 stride = (uint64)gridDim.x * BLOCK_SIZE;
    uint64 i = (uint64)blockIdx.x * BLOCK_SIZE + threadIdx.x;
#if METHOD == METHOD_RACY
    for (; i < n; i += stride) {
        combine_racily(out, contribution(in[i]));
    }
#elif METHOD == METHOD_ATOMIC || METHOD == METHOD_CAS
    for (; i < n; i += stride) {
        combine_atomically(out, contribution(in[i]));
    }
#else
    Value mine = combine_share(in, n, i, stride);
#endif
#if METHOD == METHOD_THREAD_LOCAL
    combine_atomically(out, mine);
#elif METHOD == METHOD_WARP_AGGREGATED
    mine = warp_reduce<Operation>(mine);
    if (threadIdx.x % WARP_SIZE == 0) {
        combine_atomically(out, mine);
    }
#elif METHOD == METHOD_BLOCK_AGGREGATED
    mine = block_reduce<Operation, BLOCK_SIZE>(mine);
    if (threadIdx.x == 0) {
        combine_atomically(out, mine);
    }
#endif
}

extern "C" __global__ void atomics_reference(const Value *in, Exact *out, uint64 n)
{
    __shared__ Exact results[1024];
    Exact result = Operation::identity();
    for (uint64 i = threadIdx.x; i < n; i += blockDim.x) {
        result = Operation::combine(result, contribution((Exact)in[i]));
    }
    results[threadIdx.x] = result;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (uint32 i = 1; i < blockDim.x; i++) {
            result = Operation::combine(result, results[i]);
        }
        *out = result;
    }
}
