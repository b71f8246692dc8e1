// Sum of n numbers.
//
// Every thread accumulates a share of the input in registers, a block combines its threads' sums,
// and a finish combines the blocks' sums. The parameters are independent of each other:
//
// BLOCK_SIZE    threads a block, whole warps. Large blocks leave fewer partial sums to combine;
// small
//               ones start and end more smoothly.
// NUM_LOAD      loads that each thread has in flight before it uses the first, and as many
// accumulators.
//               Little's law: bytes in flight an SM = latency × bandwidth / SMs, some 28 KB on an
//               H200.
// VECTOR_WIDTH  elements a load. 16 bytes a load need the fewest instructions for the same bytes.
// MIN_BLOCKS    blocks that shall fit on an SM: the second launch bound, which caps registers. 0
// leaves
//               it out.
// LOAD          cached: an ordinary load; once: around L1, since nothing is read twice.
// FINISH        two_pass: a second launch of one block adds the blocks' sums.
//               atomic: every block adds its sum to the result, which a launch before has cleared.
//               last_block: the block that arrives last adds the blocks' sums; one launch in all.
#include "primitives.cuh"

#define FINISH_TWO_PASS 0
#define FINISH_ATOMIC 1
#define FINISH_LAST_BLOCK 2
#define LOAD_CACHED 0
#define LOAD_ONCE 1
#define VALUE_TYPE_FLOAT 0
#define VALUE_TYPE_INT32 1
#define VALUE_TYPE_DOUBLE 2
#define VALUE_TYPE_INT64 3

#ifndef BLOCK_SIZE
#define BLOCK_SIZE 256
#endif
#ifndef NUM_LOAD
#define NUM_LOAD 4
#endif
#ifndef VECTOR_WIDTH
#define VECTOR_WIDTH 4
#endif
#ifndef MIN_BLOCKS
#define MIN_BLOCKS 0
#endif
#ifndef LOAD
#define LOAD LOAD_CACHED
#endif
#ifndef FINISH
#define FINISH FINISH_TWO_PASS
#endif
#ifndef VALUE_TYPE
#define VALUE_TYPE VALUE_TYPE_FLOAT
#endif

#if VALUE_TYPE == VALUE_TYPE_FLOAT
typedef float Value;
typedef double Exact; // what the reference computes in
#elif VALUE_TYPE == VALUE_TYPE_DOUBLE
typedef double Value;
typedef double Exact;
#elif VALUE_TYPE == VALUE_TYPE_INT32
typedef int Value;
typedef int Exact;
#else
typedef int64 Value;
typedef int64 Exact;
#endif

#if MIN_BLOCKS > 0
#define LAUNCH_BOUNDS __launch_bounds__(BLOCK_SIZE, MIN_BLOCKS)
#else
#define LAUNCH_BOUNDS __launch_bounds__(BLOCK_SIZE)
#endif

typedef Vector<Value, VECTOR_WIDTH> Group;

struct Sum {
    template <typename T> static __device__ T combine(T a, T b)
    {
        return a + b;
    }
    static __device__ Value identity()
    {
        return 0;
    }
};

__device__ Group load_group(const Group *from)
{
#if LOAD == LOAD_ONCE
    return load_once(from);
#else
    return load_cached(from);
#endif
}

__device__ Value combine_group(Value sum, const Group &group)
{
#pragma unroll
    for (int i = 0; i < VECTOR_WIDTH; i++) {
        sum = Sum::combine(sum, group.element[i]);
    }
    return sum;
}

// This thread's share: groups `first`, `first + stride`, … NUM_LOAD of them in flight at a time.
__device__ Value accumulate_groups(const Group *groups, uint64 count)
{
    const uint64 stride = (uint64)gridDim.x * BLOCK_SIZE;
    uint64 first = (uint64)blockIdx.x * BLOCK_SIZE + threadIdx.x;
    Value sums[NUM_LOAD];
#pragma unroll
    for (int j = 0; j < NUM_LOAD; j++) {
        sums[j] = Sum::identity();
    }
    for (; first + (NUM_LOAD - 1) * stride < count; first += NUM_LOAD * stride) {
        Group loaded[NUM_LOAD];
#pragma unroll
        for (int j = 0; j < NUM_LOAD; j++) {
            loaded[j] = load_group(groups + first + j * stride);
        }
#pragma unroll
        for (int j = 0; j < NUM_LOAD; j++) {
            sums[j] = combine_group(sums[j], loaded[j]);
        }
    }
    // Fewer than NUM_LOAD are left; they too are all in flight at once.
#pragma unroll
    for (int j = 0; j < NUM_LOAD - 1; j++) {
        if (first + j * stride < count) {
            sums[j] = combine_group(sums[j], load_group(groups + first + j * stride));
        }
    }
#pragma unroll
    for (int j = 1; j < NUM_LOAD; j++) {
        sums[0] = Sum::combine(sums[0], sums[j]);
    }
    return sums[0];
}

// The elements behind the last whole group, fewer than VECTOR_WIDTH: one each for the first
// threads.
__device__ Value accumulate_rest(const Value *in, uint64 n)
{
    const uint64 rest = n % VECTOR_WIDTH;
    if (blockIdx.x == 0 && threadIdx.x < rest) {
        return in[n - rest + threadIdx.x];
    }
    return Sum::identity();
}

// One block adds the blocks' sums.
__device__ void finish_partials(const Value *partials, uint32 count, Value *out)
{
    Value sum = Sum::identity();
    for (uint32 i = threadIdx.x; i < count; i += BLOCK_SIZE) {
        sum = Sum::combine(sum, partials[i]);
    }
    sum = block_reduce<Sum, BLOCK_SIZE>(sum);
    if (threadIdx.x == 0) {
        *out = sum;
    }
}

// True in every thread of the block that arrives last. Thread 0 releases its block's partial sum
// with the ticket and, holding the last ticket, has acquired all the others': each increment
// continues the release sequence of those before it. The barrier hands that on to the other
// threads.
__device__ bool arrives_last(uint32 *ticket)
{
    __shared__ bool last;
    if (threadIdx.x == 0) {
        last = increment_acquire_release(ticket, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    return last;
}

#if VALUE_TYPE == VALUE_TYPE_INT64
__device__ void add_to_result(int64 *out, int64 sum)
{
    atomicAdd((uint64 *)out, (uint64)sum); // two's complement: the same bits
}
#else
__device__ void add_to_result(Value *out, Value sum)
{
    atomicAdd(out, sum);
}
#endif

extern "C" __global__ void LAUNCH_BOUNDS reduce(const Value *__restrict__ in, uint64 n,
                                                Value *partials, uint32 *ticket, Value *out)
{
    Value sum = accumulate_groups((const Group *)in, n / VECTOR_WIDTH);
    sum = Sum::combine(sum, accumulate_rest(in, n));
    sum = block_reduce<Sum, BLOCK_SIZE>(sum);
#if FINISH == FINISH_ATOMIC
    if (threadIdx.x == 0) {
        add_to_result(out, sum);
    }
#else
    if (threadIdx.x == 0) {
        partials[blockIdx.x] = sum;
    }
#endif
#if FINISH == FINISH_LAST_BLOCK
    if (arrives_last(ticket)) {
        finish_partials(partials, gridDim.x, out);
    }
#endif
}

#if FINISH == FINISH_TWO_PASS
extern "C" __global__ void LAUNCH_BOUNDS reduce_finish(const Value *__restrict__ partials,
                                                       uint32 count, Value *out)
{
    finish_partials(partials, count, out);
}
#endif

#if FINISH == FINISH_ATOMIC
extern "C" __global__ void reduce_clear(Value *out)
{
    *out = Sum::identity();
}
#endif

// Slow and obviously right: one block, one accumulator a thread, in a type that is exact for the
// inputs.
extern "C" __global__ void reduce_reference(const Value *in, Exact *out, uint64 n)
{
    __shared__ Exact sums[1024];
    Exact sum = 0;
    for (uint64 i = threadIdx.x; i < n; i += blockDim.x) {
        sum += in[i];
    }
    sums[threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (uint32 i = 1; i < blockDim.x; i++) {
            sum += sums[i];
        }
        *out = sum;
    }
}
