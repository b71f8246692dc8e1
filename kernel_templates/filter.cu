// Stream compaction: writes the elements above a threshold without gaps, and counts them.
//
// METHOD      how an element that passes gets its index in the output.
//             atomic: each element takes the next index with an atomic add.
//             warp_aggregated: one atomic add per warp; ranks come from a ballot.
//             block_aggregated: one atomic add per tile; ranks come from a scan over the block.
//             ordered: like block_aggregated, but a tile starts behind all elements that pass in
//             earlier tiles, which keeps the input order (decoupled look-back, Merrill and Garland
//             2016).
//             streamed, ordered_streamed: the same two orders, but a block keeps reading while it
//             waits for its place, see filter_streamed.cuh (compute capability 9.0).
//             The others write in any order.
// BLOCK_SIZE  threads per block, a multiple of the warp size.
// NUM_LOAD    elements that a thread holds at once; a tile has BLOCK_SIZE * NUM_LOAD.
// LOOK_BACK   ordered, ordered_streamed: a tile polls LOOK_BACK * 32 earlier tiles at a time. If it is
//             too small, a tile polls repeatedly; if too large, it polls tiles that have not started.
// POLL_DELAY  ordered: cycles before a tile that had nothing to report is polled again. Polling
//             delays the answers.
// STAGES      streamed, ordered_streamed: tiles that a block has in shared memory.
// VECTOR_WIDTH  streamed, ordered_streamed: elements per access to shared memory.
// INPUT       streamed, ordered_streamed: evict_first makes L2 drop the input before the output.
// VALUE_TYPE (part of the problem): see value_types.cuh.
#include "bulk_copy.cuh"
#include "value_types.cuh"

#define METHOD_ATOMIC 0
#define METHOD_WARP_AGGREGATED 1
#define METHOD_BLOCK_AGGREGATED 2
#define METHOD_ORDERED 3
#define METHOD_STREAMED 4
#define METHOD_ORDERED_STREAMED 5
#define INPUT_EVICT_NORMAL 0
#define INPUT_EVICT_FIRST 1

#ifndef METHOD
#define METHOD METHOD_ATOMIC
#endif
#ifndef BLOCK_SIZE
#define BLOCK_SIZE 256
#endif
#ifndef NUM_LOAD
#define NUM_LOAD 4
#endif
#ifndef LOOK_BACK
#define LOOK_BACK 1
#endif
#ifndef POLL_DELAY
#define POLL_DELAY 0
#endif
#ifndef STAGES
#define STAGES 4
#endif
#ifndef VECTOR_WIDTH
#define VECTOR_WIDTH 1
#endif
#ifndef INPUT
#define INPUT INPUT_EVICT_NORMAL
#endif

#define WARPS (BLOCK_SIZE / WARP_SIZE)
#define TILE_SIZE (BLOCK_SIZE * NUM_LOAD)

__device__ __forceinline__ bool passes(Value value, float threshold)
{
    return widen(value) > (Accumulator)threshold;
}

// The number of lanes below this one that are set in `ballot`.
__device__ __forceinline__ uint32 rank_in(uint32 ballot)
{
    return __popc(ballot & ((1u << threadIdx.x % WARP_SIZE) - 1));
}

__device__ __forceinline__ uint64 take_places(uint64 *count, uint32 places)
{
    return atomicAdd(count, (uint64)places);
}

#if METHOD == METHOD_STREAMED || METHOD == METHOD_ORDERED_STREAMED

#include "filter_streamed.cuh"

#else

#if METHOD == METHOD_ATOMIC

__device__ void write_passing(const Value *loaded, const bool *pass, uint64, Value *out,
                              uint64 *count, uint64 *)
{
#pragma unroll
    for (int j = 0; j < NUM_LOAD; j++) {
        if (pass[j]) {
            out[take_places(count, 1)] = loaded[j];
        }
    }
}

#elif METHOD == METHOD_WARP_AGGREGATED

__device__ void write_passing(const Value *loaded, const bool *pass, uint64, Value *out,
                              uint64 *count, uint64 *)
{
    uint32 ballots[NUM_LOAD];
    uint32 total = 0;
#pragma unroll
    for (int j = 0; j < NUM_LOAD; j++) {
        ballots[j] = __ballot_sync(FULL_WARP, pass[j]);
        total += __popc(ballots[j]);
    }
    uint64 place = 0;
    if (threadIdx.x % WARP_SIZE == 0 && total > 0) {
        place = take_places(count, total);
    }
    place = __shfl_sync(FULL_WARP, place, 0);
#pragma unroll
    for (int j = 0; j < NUM_LOAD; j++) {
        if (pass[j]) {
            out[place + rank_in(ballots[j])] = loaded[j];
        }
        place += __popc(ballots[j]);
    }
}

#else

// Exclusive prefix sum, in place, of the COUNT `values` that the whole block has filled; returns
// the total to every thread. The first warp computes it: each lane sums neighbouring values, then
// the warp scans the sums of its lanes.
template <int COUNT> __device__ uint32 scan_exclusive(uint32 *values)
{
    constexpr int EACH = (COUNT + WARP_SIZE - 1) / WARP_SIZE;
    __shared__ uint32 total;
    __syncthreads();
    if (threadIdx.x < WARP_SIZE) {
        const int first = threadIdx.x * EACH;
        uint32 mine[EACH];
        uint32 own = 0;
#pragma unroll
        for (int i = 0; i < EACH; i++) {
            mine[i] = first + i < COUNT ? values[first + i] : 0;
            own += mine[i];
        }
        uint32 sum = own;
        for (int distance = 1; distance < WARP_SIZE; distance *= 2) {
            const uint32 below = __shfl_up_sync(FULL_WARP, sum, distance);
            sum += (int)threadIdx.x >= distance ? below : 0;
        }
        uint32 before = sum - own;
#pragma unroll
        for (int i = 0; i < EACH; i++) {
            if (first + i < COUNT) {
                values[first + i] = before;
            }
            before += mine[i];
        }
        if (threadIdx.x == WARP_SIZE - 1) {
            total = sum;
        }
    }
    __syncthreads();
    return total;
}

#if METHOD == METHOD_ORDERED

// The status that a tile publishes: a count and, in the lowest two bits, what it counts. Both move
// in one 64-bit access and no other data depends on it, so relaxed order is enough.
#define STATUS_NOTHING 0
#define STATUS_OWN 1    // elements that pass in this tile
#define STATUS_PREFIX 2 // elements that pass in this tile and all before it

// Polls the status of `tile` until the tile has published one. Blocks draw tiles in the order in
// which they start, so every earlier tile belongs to a block that is running or done, and the wait
// ends. Before the first tile, the prefix is 0.
__device__ uint64 status_of(const uint64 *status, int64 tile, uint64 word)
{
    while (tile >= 0 && (word & 3) == STATUS_NOTHING) {
        pause(POLL_DELAY);
        word = load_relaxed(status + tile);
    }
    return tile >= 0 ? word : STATUS_PREFIX;
}

// The number of elements that pass in all tiles before `tile`. The first warp walks back through
// the tiles, LOOK_BACK * 32 at a time, and sums their counts until it reaches a prefix.
__device__ uint64 look_back(uint64 *status, uint64 tile, uint32 own)
{
    const uint32 lane = threadIdx.x;
    if (lane == 0 && tile > 0) {
        store_relaxed(status + tile, (uint64)own << 2 | STATUS_OWN);
    }
    uint64 before = 0;
    bool done = tile == 0;
    for (int64 last = (int64)tile - 1; !done; last -= LOOK_BACK * WARP_SIZE) {
        const int64 mine = last - (int64)lane;
        uint64 words[LOOK_BACK];
#pragma unroll
        for (int j = 0; j < LOOK_BACK; j++) {
            const int64 i = mine - j * WARP_SIZE;
            words[j] = i >= 0 ? load_relaxed(status + i) : STATUS_PREFIX;
        }
#pragma unroll
        for (int j = 0; j < LOOK_BACK && !done; j++) {
            const uint64 word = status_of(status, mine - j * WARP_SIZE, words[j]);
            const uint32 prefixes = __ballot_sync(FULL_WARP, (word & 3) == STATUS_PREFIX);
            const uint32 nearest = prefixes == 0 ? WARP_SIZE - 1 : __ffs(prefixes) - 1;
            uint64 sum = lane <= nearest ? word >> 2 : 0;
            for (int distance = WARP_SIZE / 2; distance > 0; distance /= 2) {
                sum += __shfl_xor_sync(FULL_WARP, sum, distance);
            }
            before += sum;
            done = prefixes != 0;
        }
    }
    if (lane == 0) {
        store_relaxed(status + tile, (before + own) << 2 | STATUS_PREFIX);
    }
    return before;
}

#endif

// Returns the first output index of this tile to every thread.
__device__ uint64 place_of_tile(uint64 tile, uint32 own, uint64 *count, uint64 *status)
{
    __shared__ uint64 first;
    if (threadIdx.x < WARP_SIZE) {
#if METHOD == METHOD_ORDERED
        const uint64 before = look_back(status, tile, own);
        if (threadIdx.x == 0) {
            first = before;
            if (tile == gridDim.x - 1) {
                *count = before + own;
            }
        }
#else
        if (threadIdx.x == 0) {
            first = take_places(count, own);
        }
#endif
    }
    __syncthreads();
    return first;
}

// Element j of thread t has index j * BLOCK_SIZE + t in the tile: by j, then warp, then lane.
__device__ void write_passing(const Value *loaded, const bool *pass, uint64 tile, Value *out,
                              uint64 *count, uint64 *status)
{
    __shared__ uint32 places[NUM_LOAD * WARPS];
    const uint32 warp = threadIdx.x / WARP_SIZE;
    uint32 ballots[NUM_LOAD];
#pragma unroll
    for (int j = 0; j < NUM_LOAD; j++) {
        ballots[j] = __ballot_sync(FULL_WARP, pass[j]);
        if (threadIdx.x % WARP_SIZE == 0) {
            places[j * WARPS + warp] = __popc(ballots[j]);
        }
    }
    const uint32 own = scan_exclusive<NUM_LOAD * WARPS>(places);
    const uint64 first = place_of_tile(tile, own, count, status);
#pragma unroll
    for (int j = 0; j < NUM_LOAD; j++) {
        if (pass[j]) {
            out[first + places[j * WARPS + warp] + rank_in(ballots[j])] = loaded[j];
        }
    }
}

#endif

// Returns the tile that this block works on to every thread.
__device__ uint64 tile_of_block(uint32 *ticket)
{
#if METHOD == METHOD_ORDERED
    __shared__ uint32 taken;
    if (threadIdx.x == 0) {
        taken = atomicAdd(ticket, 1);
    }
    __syncthreads();
    return taken;
#else
    return blockIdx.x;
#endif
}

// Before each run: resets the count, the ticket and the status of every tile.
extern "C" __global__ void filter_clear(uint64 *count, uint32 *ticket, uint64 *status, uint64 tiles)
{
    const uint64 i = (uint64)blockIdx.x * blockDim.x + threadIdx.x;
    if (i == 0) {
        *count = 0;
        *ticket = 0;
    }
    if (METHOD == METHOD_ORDERED && i < tiles) {
        status[i] = 0;
    }
}

// One block per tile.
extern "C" __global__ void __launch_bounds__(BLOCK_SIZE)
    filter(const Value *__restrict__ in, uint64 n, float threshold, Value *out, uint64 *count,
           uint32 *ticket, uint64 *status)
{
    const uint64 tile = tile_of_block(ticket);
    const uint64 first = tile * TILE_SIZE + threadIdx.x;
    Value loaded[NUM_LOAD];
    bool pass[NUM_LOAD];
#pragma unroll
    for (int j = 0; j < NUM_LOAD; j++) {
        const uint64 i = first + j * BLOCK_SIZE;
        if (i < n) {
            loaded[j] = load_once(in + i);
        }
    }
#pragma unroll
    for (int j = 0; j < NUM_LOAD; j++) {
        pass[j] = first + j * BLOCK_SIZE < n && passes(loaded[j], threshold);
    }
    write_passing(loaded, pass, tile, out, count, status);
}

#endif

// One block: every thread counts in its own part of the input, then writes behind the elements of
// the threads before it.
extern "C" __global__ void filter_reference(const Value *in, uint64 n, float threshold, Value *out)
{
    __shared__ uint64 counts[1024];
    const uint64 stretch = (n + blockDim.x - 1) / blockDim.x;
    const uint64 begin = threadIdx.x * stretch < n ? threadIdx.x * stretch : n;
    const uint64 end = begin + stretch < n ? begin + stretch : n;
    uint64 place = 0;
    for (uint64 i = begin; i < end; i++) {
        place += passes(in[i], threshold);
    }
    counts[threadIdx.x] = place;
    __syncthreads();
    place = 0;
    for (uint32 i = 0; i < threadIdx.x; i++) {
        place += counts[i];
    }
    for (uint64 i = begin; i < end; i++) {
        if (passes(in[i], threshold)) {
            out[place++] = in[i];
        }
    }
}

extern "C" __global__ void filter_count_reference(const Value *in, uint64 n, float threshold,
                                                  uint64 *count)
{
    __shared__ uint64 total;
    if (threadIdx.x == 0) {
        total = 0;
    }
    __syncthreads();
    uint64 mine = 0;
    for (uint64 i = threadIdx.x; i < n; i += blockDim.x) {
        mine += passes(in[i], threshold);
    }
    atomicAdd(&total, mine);
    __syncthreads();
    if (threadIdx.x == 0) {
        *count = total;
    }
}
