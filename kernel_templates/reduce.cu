// Reduction of n numbers to one: sum, minimum, maximum, product, or a bitwise operation.
//
// Every thread accumulates a part of the input in registers, each block combines the results of its
// threads, and FINISH says how the results of the blocks are combined. The parameters are
// independent of each other:
//
// BLOCK_SIZE    threads per block, a multiple of the warp size. Large blocks leave fewer partial
//               results to combine; small ones start and end more smoothly.
// NUM_LOAD      loads that each thread has in flight before it uses the first, and the number of
//               its accumulators. Little's law: bytes in flight per SM = latency * bandwidth / SMs,
//               about 28 KB on an H200.
// VECTOR_WIDTH  elements per load. Loads of 16 bytes need the fewest instructions.
// MIN_BLOCKS    minimum resident blocks per SM: the second launch bound, which caps registers.
//               0 leaves it out.
// LOAD          cached: an ordinary load.
//               once: bypasses L1, since nothing is read twice.
//               bulk: the copy engine of compute capability 9.0 fills STAGES buffers of STAGE_BYTES
//               in shared memory: bytes in flight need no registers and few instructions.
// ORDER         grid_stride: neighbouring blocks read neighbouring memory at the same time.
//               chunked: each block reads one contiguous part, which opens fewer DRAM pages per
//               block.
// FINISH        two_pass: a second launch, of one block, combines the partial results.
//               atomic: every block adds to the result, which an earlier launch clears (sums only).
//               last_block: the block that arrives last combines the partial results, in the same
//               launch.
//               gather: block 0 waits for the result of each block, which arrives in one word with
//               a valid flag, without fences or atomics. Blocks must be co-resident.
//               grid_barrier: a barrier over all blocks (BARRIER, see barriers.cuh), then block 0
//               combines.
// PREFETCH      gather: 1 brings the lines through which blocks hand over their results into L2 while
//               the input is read. Otherwise block 0 waits for DRAM, because a sector of which the
//               other blocks have written 8 bytes cannot be read before the rest has been fetched:
//               2.50 µs instead of 2.38 for 2^16 floats on an H200, where reading them (roof_copy)
//               takes 2.36.
// VALUE_TYPE and OPERATION (part of the problem): see value_types.cuh.
#include "bulk_copy.cuh"
#include "reduce_reference.cuh"
#include "value_types.cuh"

#define LOAD_CACHED 0
#define LOAD_ONCE 1
#define LOAD_BULK 2
#define ORDER_GRID_STRIDE 0
#define ORDER_CHUNKED 1
#define FINISH_TWO_PASS 0
#define FINISH_ATOMIC 1
#define FINISH_LAST_BLOCK 2
#define FINISH_GATHER 3
#define FINISH_GRID_BARRIER 4

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
#ifndef STAGES
#define STAGES 3
#endif
#ifndef STAGE_BYTES
#define STAGE_BYTES 16384
#endif
#ifndef ORDER
#define ORDER ORDER_GRID_STRIDE
#endif
#ifndef PREFETCH
#define PREFETCH 0
#endif
#ifndef FINISH
#define FINISH FINISH_TWO_PASS
#endif

#if FINISH == FINISH_GRID_BARRIER
#include "barriers.cuh"
#endif

#if MIN_BLOCKS > 0
#define LAUNCH_BOUNDS __launch_bounds__(BLOCK_SIZE, MIN_BLOCKS)
#else
#define LAUNCH_BOUNDS __launch_bounds__(BLOCK_SIZE)
#endif

// The elements of one load; a bulk copy is read in pieces of 16 bytes.
#if LOAD == LOAD_BULK
#define GROUP_SIZE (16 / (int)sizeof(Value))
#else
#define GROUP_SIZE VECTOR_WIDTH
#endif
typedef Vector<Value, GROUP_SIZE> Group;

__device__ __forceinline__ Accumulator combine_group(Accumulator result, const Group &group)
{
#pragma unroll
    for (int i = 0; i < GROUP_SIZE; i++) {
        result = Operation::combine(result, widen(group.element[i]));
    }
    return result;
}

// ---- Accumulation in each thread ----------------------------------------------------------------

#if LOAD == LOAD_BULK

__device__ __forceinline__ Accumulator combine_stage(Accumulator result, const Group *stage,
                                                     uint32 groups)
{
    constexpr uint32 WHOLE = STAGE_BYTES / 16;
    if (groups == WHOLE) {
#pragma unroll 8
        for (uint32 i = threadIdx.x; i < WHOLE; i += BLOCK_SIZE) {
            result = combine_group(result, stage[i]);
        }
    } else {
        for (uint32 i = threadIdx.x; i < groups; i += BLOCK_SIZE) {
            result = combine_group(result, stage[i]);
        }
    }
    return result;
}

// Block t % gridDim.x reads tile t of STAGE_BYTES. Thread 0 keeps STAGES copies in flight; the
// __syncthreads ensures that all threads have read a stage before it is filled again.
__device__ Accumulator accumulate_groups(const Group *groups, uint64 count)
{
    extern __shared__ __align__(128) char stages[];
    __shared__ uint64 full[STAGES];
    constexpr uint64 TILE = STAGE_BYTES / 16;
    const uint64 tiles = (count + TILE - 1) / TILE;

    auto groups_of = [&](uint64 tile) {
        return (uint32)(count - tile * TILE < TILE ? count - tile * TILE : TILE);
    };
    auto start = [&](uint64 tile, uint32 stage) {
        start_copy(full + stage, stages + stage * STAGE_BYTES, groups + tile * TILE,
                   groups_of(tile) * 16);
    };

    if (threadIdx.x == 0) {
        init_copies(full, STAGES);
        for (uint32 stage = 0; stage < STAGES; stage++) {
            const uint64 tile = blockIdx.x + (uint64)stage * gridDim.x;
            if (tile < tiles) {
                start(tile, stage);
            }
        }
    }
    __syncthreads();

    Accumulator result = Operation::identity();
    uint32 stage = 0;
    uint32 parity = 0;
    for (uint64 tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        wait_full(full + stage, parity);
        result =
            combine_stage(result, (const Group *)(stages + stage * STAGE_BYTES), groups_of(tile));
        __syncthreads();
        const uint64 next = tile + (uint64)STAGES * gridDim.x;
        if (threadIdx.x == 0 && next < tiles) {
            start(next, stage);
        }
        if (++stage == STAGES) {
            stage = 0;
            parity ^= 1;
        }
    }
    return result;
}

#else

__device__ __forceinline__ Group load_group(const Group *from)
{
#if LOAD == LOAD_ONCE
    return load_once(from);
#else
    return load_cached(from);
#endif
}

// Groups `first`, `first + stride`, … below `end`, NUM_LOAD of them in flight at a time.
__device__ __forceinline__ Accumulator accumulate_share(const Group *groups, uint64 first,
                                                        uint64 stride, uint64 end)
{
    Accumulator results[NUM_LOAD];
#pragma unroll
    for (int j = 0; j < NUM_LOAD; j++) {
        results[j] = Operation::identity();
    }
    for (; first + (NUM_LOAD - 1) * stride < end; first += NUM_LOAD * stride) {
        Group loaded[NUM_LOAD];
#pragma unroll
        for (int j = 0; j < NUM_LOAD; j++) {
            loaded[j] = load_group(groups + first + j * stride);
        }
#pragma unroll
        for (int j = 0; j < NUM_LOAD; j++) {
            results[j] = combine_group(results[j], loaded[j]);
        }
    }
    // Fewer than NUM_LOAD groups are left; their loads too are all in flight at once.
#pragma unroll
    for (int j = 0; j < NUM_LOAD - 1; j++) {
        if (first + j * stride < end) {
            results[j] = combine_group(results[j], load_group(groups + first + j * stride));
        }
    }
#pragma unroll
    for (int j = 1; j < NUM_LOAD; j++) {
        results[0] = Operation::combine(results[0], results[j]);
    }
    return results[0];
}

__device__ __forceinline__ Accumulator accumulate_groups(const Group *groups, uint64 count)
{
#if ORDER == ORDER_CHUNKED
    // Whole lines of 128 bytes, so that no two blocks share one.
    constexpr uint64 LINE = sizeof(Group) < 128 ? 128 / sizeof(Group) : 1;
    const uint64 chunk = ((count + gridDim.x - 1) / gridDim.x + LINE - 1) / LINE * LINE;
    const uint64 begin = blockIdx.x * chunk;
    const uint64 end = begin + chunk < count ? begin + chunk : count;
    return accumulate_share(groups, begin + threadIdx.x, BLOCK_SIZE, end);
#else
    return accumulate_share(groups, (uint64)blockIdx.x * BLOCK_SIZE + threadIdx.x,
                            (uint64)gridDim.x * BLOCK_SIZE, count);
#endif
}

#endif

// The elements behind the last whole group: each of the first threads takes one.
__device__ __forceinline__ Accumulator accumulate_rest(const Value *in, uint64 n)
{
    const uint64 rest = n % GROUP_SIZE;
    if (blockIdx.x == 0 && threadIdx.x < rest) {
        return widen(in[n - rest + threadIdx.x]);
    }
    return Operation::identity();
}

// ---- Combination of the blocks ------------------------------------------------------------------

// One block combines the results of all blocks.
__device__ void combine_partials(const Accumulator *partials, uint32 count, Value *out)
{
    Accumulator result = Operation::identity();
    for (uint32 i = threadIdx.x; i < count; i += BLOCK_SIZE) {
        result = Operation::combine(result, partials[i]);
    }
    result = block_reduce<Operation, BLOCK_SIZE>(result);
    if (threadIdx.x == 0) {
        *out = narrow(result);
    }
}

#if FINISH == FINISH_TWO_PASS

__device__ void finish(Accumulator result, Accumulator *partials, uint32 *, Value *)
{
    if (threadIdx.x == 0) {
        partials[blockIdx.x] = result;
    }
}

#elif FINISH == FINISH_ATOMIC

__device__ void finish(Accumulator result, Accumulator *, uint32 *, Value *out)
{
    if (threadIdx.x == 0) {
#if VALUE_TYPE == VALUE_TYPE_INT64
        atomicAdd((uint64 *)out, (uint64)result); // two's complement: the same bits
#else
        atomicAdd(out, result);
#endif
    }
}

#elif FINISH == FINISH_LAST_BLOCK

// Drawing a ticket releases the result of the block, and drawing the last one acquires the results
// of all others: each increment continues the release sequence of the earlier ones. __syncthreads
// extends that from thread 0 to its block. The ticket counter is back at zero for the next launch.
__device__ void finish(Accumulator result, Accumulator *partials, uint32 *ticket, Value *out)
{
    __shared__ bool last;
    if (threadIdx.x == 0) {
        partials[blockIdx.x] = result;
        last = increment_acquire_release(ticket, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last) {
        combine_partials(partials, gridDim.x, out);
    }
}

#elif FINISH == FINISH_GATHER

// 32 bits of a result and, above them, a flag that they are valid. One 64-bit access moves both, so
// relaxed accesses are enough. A slot starts as zero; its reader clears it for the next launch.
constexpr int SLOT_WORDS = sizeof(Accumulator) / 4;
union Slot {
    Accumulator result;
    uint32 word[SLOT_WORDS];
};

__device__ __forceinline__ void put(uint64 *slots, uint32 index, Accumulator result)
{
    Slot slot;
    slot.result = result;
#pragma unroll
    for (int i = 0; i < SLOT_WORDS; i++) {
        store_relaxed(slots + index * SLOT_WORDS + i, 1ULL << 32 | slot.word[i]);
    }
}

__device__ __forceinline__ Accumulator take(uint64 *slots, uint32 index)
{
    Slot slot;
#pragma unroll
    for (int i = 0; i < SLOT_WORDS; i++) {
        uint64 *from = slots + index * SLOT_WORDS + i;
        uint64 word;
        do {
            word = load_relaxed(from);
        } while (word >> 32 == 0);
        slot.word[i] = (uint32)word;
        *from = 0;
    }
    return slot.result;
}

__device__ void finish(Accumulator result, Accumulator *, uint32 *state, Value *out)
{
    uint64 *slots = (uint64 *)state;
    if (blockIdx.x > 0) {
        if (threadIdx.x == 0) {
            put(slots, blockIdx.x, result);
        }
        return;
    }
    if (threadIdx.x > 0) {
        result = Operation::identity();
    }
    for (uint32 i = threadIdx.x; i < gridDim.x; i += BLOCK_SIZE) {
        if (i > 0) {
            result = Operation::combine(result, take(slots, i));
        }
    }
    __syncthreads(); // before block_reduce uses its shared memory again
    result = block_reduce<Operation, BLOCK_SIZE>(result);
    if (threadIdx.x == 0) {
        *out = narrow(result);
    }
}

#else

__device__ void finish(Accumulator result, Accumulator *partials, uint32 *state, Value *out)
{
    GridBarrier barrier(state);
    if (threadIdx.x == 0) {
        partials[blockIdx.x] = result;
    }
    barrier.wait();
    if (blockIdx.x == 0) {
        combine_partials(partials, gridDim.x, out);
    }
}

#endif

// Begins to fetch the slots of FINISH gather: those in as many sectors as block 0 has threads.
__device__ __forceinline__ void prefetch_slots(const uint32 *state)
{
    constexpr uint32 SLOT_BYTES = 2 * sizeof(Accumulator);
    const uint32 at = threadIdx.x * 32; // a sector
    if (blockIdx.x == 0 && at < gridDim.x * SLOT_BYTES) {
        asm volatile("prefetch.global.L2 [%0];" : : "l"((const char *)state + at));
    }
}

// `partials` has 8 bytes per block. `state` holds a ticket, a barrier or slots, and starts as zeros.
extern "C" __global__ void LAUNCH_BOUNDS reduce(const Value *__restrict__ in, uint64 n,
                                                Accumulator *partials, uint32 *state, Value *out)
{
#if PREFETCH
    prefetch_slots(state);
#endif
    Accumulator result = accumulate_groups((const Group *)in, n / GROUP_SIZE);
    result = Operation::combine(result, accumulate_rest(in, n));
    result = block_reduce<Operation, BLOCK_SIZE>(result);
    finish(result, partials, state, out);
}

#if FINISH == FINISH_TWO_PASS
extern "C" __global__ void LAUNCH_BOUNDS reduce_finish(const Accumulator *__restrict__ partials,
                                                       uint32 count, Value *out)
{
    combine_partials(partials, count, out);
}
#endif

#if FINISH == FINISH_ATOMIC
extern "C" __global__ void reduce_clear(Value *out)
{
    *out = 0;
}
#endif
