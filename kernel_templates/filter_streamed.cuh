// The methods `streamed` and `ordered_streamed` of filter.cu, for compute capability 9.0.
//
// What limited the other methods is waiting: block_aggregated needs 484 µs for 2^28 floats on an H200,
// and `ordered`, which differs only in the look-back, 862 µs; in cub::DeviceSelect (587 µs), warps spend
// 13 of 25 cycles between two instructions at a barrier and DRAM is 55 % busy (Nsight Compute). Here it
// is 86 % busy in any order, and 78 % in input order.
//
// Each block has the tiles blockIdx.x, blockIdx.x + gridDim.x, … and a warp more than BLOCK_SIZE
// threads. That warp keeps STAGES tiles in flight into shared memory and finds out where the output
// of a tile begins, while the other warps work on the next tile: they compact it within its stage,
// and write the tile before it, whose place is known by then, in whole lines. So a block waits for
// neither memory nor other blocks, as long as these are no more than one tile behind.
//
// There is no launch to clear anything: `state` and `status` start as zeros, and what a launch leaves in
// them is what the next one needs.

constexpr uint32 STEPS = NUM_LOAD / VECTOR_WIDTH;
constexpr uint32 LINE_ELEMENTS = 128 / (uint32)sizeof(Value);
static_assert(STEPS * VECTOR_WIDTH == NUM_LOAD && NUM_LOAD <= 32,
              "whole vectors, and a bit for each");
static_assert(STAGES >= 3, "a tile to compact, one to write, and one or more in flight");

typedef Vector<Value, VECTOR_WIDTH> Group;

// What the warps of a block tell each other.
struct Exchange {
    uint64 full[STAGES];
    uint64 first;       // where the output of the tile that is written next begins
    uint32 count[2];    // elements of a tile that pass, for even and odd rounds
    uint32 warp[WARPS]; // the same of each warp
};

// The elements of a tile; only the last tile may have fewer than TILE_SIZE.
__device__ __forceinline__ uint32 elements_of(uint64 tile, uint64 n)
{
    const uint64 left = n - tile * TILE_SIZE;
    return left < TILE_SIZE ? (uint32)left : TILE_SIZE;
}

// Fills a stage. The copy engine moves multiples of 16 bytes; this thread copies the rest.
__device__ void start_tile(Exchange &exchange, Value *stages, uint32 stage, const Value *in,
                           uint64 tile, uint64 n)
{
    const uint32 count = elements_of(tile, n);
    constexpr uint32 UNIT = 16 / (uint32)sizeof(Value);
    const uint32 whole = count / UNIT * UNIT;
    const Value *from = in + tile * TILE_SIZE;
    Value *to = stages + stage * TILE_SIZE;
#pragma unroll 1
    for (uint32 i = whole; i < count; i++) {
        to[i] = from[i];
    }
    start_copy<INPUT == INPUT_EVICT_FIRST>(exchange.full + stage, to, from,
                                           whole * (uint32)sizeof(Value));
}

// ---- The warps that work on elements ------------------------------------------------------------

// A thread's elements of a tile: of each step of its warp, VECTOR_WIDTH neighbours.
struct Elements {
    Group loaded[STEPS];
    uint32 pass;         // a bit for each
    uint32 place[STEPS]; // of the first that passes, among those of the warp
};

__device__ __forceinline__ uint32 first_of_warp()
{
    return threadIdx.x / WARP_SIZE * WARP_SIZE * NUM_LOAD;
}

// Returns how many pass in the whole warp.
template <bool WHOLE>
__device__ __forceinline__ uint32 take_elements(Elements &mine, const Value *stage, uint32 count,
                                                float threshold)
{
    const uint32 lane = threadIdx.x % WARP_SIZE;
    uint32 passed = 0;
    mine.pass = 0;
#pragma unroll
    for (uint32 step = 0; step < STEPS; step++) {
        const uint32 first = first_of_warp() + (step * WARP_SIZE + lane) * VECTOR_WIDTH;
        mine.loaded[step] = *(const Group *)(stage + first);
        mine.place[step] = passed;
#pragma unroll
        for (uint32 i = 0; i < VECTOR_WIDTH; i++) {
            const bool pass =
                (WHOLE || first + i < count) && passes(mine.loaded[step].element[i], threshold);
            const uint32 ballot = __ballot_sync(FULL_WARP, pass);
            mine.pass |= (uint32)pass << (step * VECTOR_WIDTH + i);
            mine.place[step] += rank_in(ballot);
            passed += __popc(ballot);
        }
    }
    return passed;
}

__device__ __forceinline__ void compact(const Elements &mine, Value *stage, uint32 before)
{
#pragma unroll
    for (uint32 step = 0; step < STEPS; step++) {
        uint32 place = before + mine.place[step];
#pragma unroll
        for (uint32 i = 0; i < VECTOR_WIDTH; i++) {
            if (mine.pass >> (step * VECTOR_WIDTH + i) & 1) {
                stage[place++] = mine.loaded[step].element[i];
            }
        }
    }
}

// A warp writes whole lines of 128 bytes, except at both ends.
__device__ __forceinline__ void write_tile(Value *to, const Value *stage, uint32 count)
{
    int i = (int)threadIdx.x - (int)((uint64)to / sizeof(Value) % LINE_ELEMENTS);
    while (i < 0) {
        i += BLOCK_SIZE;
    }
#pragma unroll 4
    for (; i < (int)count; i += BLOCK_SIZE) {
        to[i] = stage[i];
    }
}

// ---- The warp that keeps everything moving ------------------------------------------------------

#if METHOD == METHOD_ORDERED_STREAMED

// The status of a tile: how many of its elements pass and, above COUNT_BITS, in which launch. It
// moves in one 64-bit access and no other data depends on it, so relaxed order is enough.
#define COUNT_BITS 24

// `state` counts launches and, in its lowest 16 bits, the blocks that have read it.
struct Places {
    uint64 *status;
    uint64 launch;
    uint64 prefix; // elements that pass before the block's current tile

    __device__ Places(uint64 *state, uint64 *all) : status(all), prefix(0)
    {
        if (threadIdx.x % WARP_SIZE == 0) {
            // The first access brings the line into L2, where the others then find it.
            asm volatile("prefetch.global.L2 [%0];" : : "l"(status + blockIdx.x));
            const uint64 word = atomicAdd(state, 1);
            launch = (word >> 16) + 1;
            if ((word & 0xffff) == gridDim.x - 1) {
                store_relaxed(state, launch << 16);
            }
        }
        launch = __shfl_sync(FULL_WARP, launch, 0);
    }

    __device__ void publish(uint64 tile, uint32 count, bool)
    {
        if (threadIdx.x % WARP_SIZE == 0) {
            store_relaxed(status + tile, launch << COUNT_BITS | count);
        }
    }

    // To the prefix of the block's tile before this one adds what passes in the tiles between, all
    // of other blocks. None of them waits for this one: the earliest tile without a status belongs
    // to a block that waits for nothing but earlier ones.
    __device__ uint64 first_of(uint64 tile, uint32 own_before)
    {
        const int64 begin = (int64)tile - (int64)gridDim.x;
        const int64 lane = threadIdx.x % WARP_SIZE;
        uint32 sum = 0;
        for (int64 from = (int64)tile - 1 - lane; __any_sync(FULL_WARP, from > begin && from >= 0);
             from -= LOOK_BACK * WARP_SIZE) {
            uint64 words[LOOK_BACK];
#pragma unroll
            for (int j = 0; j < LOOK_BACK; j++) {
                const int64 i = from - j * WARP_SIZE;
                words[j] = i > begin && i >= 0 ? load_relaxed(status + i) : launch << COUNT_BITS;
            }
#pragma unroll
            for (int j = 0; j < LOOK_BACK; j++) {
                while (words[j] >> COUNT_BITS != launch) {
                    words[j] = load_relaxed(status + (from - j * WARP_SIZE));
                }
                sum += (uint32)words[j] & ((1u << COUNT_BITS) - 1);
            }
        }
        prefix += own_before + __reduce_add_sync(FULL_WARP, sum);
        return prefix;
    }

    __device__ void finish(uint64 total, uint64 *count, bool last_tile)
    {
        if (last_tile && threadIdx.x % WARP_SIZE == 0) {
            *count = total;
        }
    }
};

#else

// `state` counts the elements that pass and, above PLACE_BITS, the blocks that are done.
#define PLACE_BITS 40

struct Places {
    uint64 *state;
    uint64 word; // what `state` held before this tile was added
    bool done;

    __device__ Places(uint64 *all, uint64 *) : state(all), word(0), done(false)
    {
        if (threadIdx.x % WARP_SIZE == 0) {
            asm volatile("prefetch.global.L2 [%0];" : : "l"(state));
        }
    }

    __device__ void publish(uint64, uint32 count, bool last)
    {
        done = last;
        if (threadIdx.x % WARP_SIZE == 0) {
            word = atomicAdd(state, (uint64)last << PLACE_BITS | count);
        }
    }

    __device__ uint64 first_of(uint64, uint32)
    {
        return word & ((1ULL << PLACE_BITS) - 1);
    }

    __device__ void finish(uint64 total, uint64 *count, bool)
    {
        if (done && threadIdx.x % WARP_SIZE == 0 && word >> PLACE_BITS == gridDim.x - 1) {
            *count = total;
            *state = 0;
        }
    }
};

#endif

// The sum of what the first `warps` warps found, in every lane.
__device__ __forceinline__ uint32 sum_of_warps(const Exchange &exchange, uint32 warps)
{
    const uint32 lane = threadIdx.x % WARP_SIZE;
    return __reduce_add_sync(FULL_WARP, lane < warps ? exchange.warp[lane] : 0);
}

// The tiles of a block: one in each of its rounds.
struct Tiles {
    uint32 count; // of all blocks
    uint32 rounds;

    __device__ __forceinline__ explicit Tiles(uint64 n)
        : count((uint32)((n + TILE_SIZE - 1) / TILE_SIZE)),
          rounds(count > blockIdx.x ? (count - blockIdx.x - 1) / gridDim.x + 1 : 0)
    {
    }
    __device__ __forceinline__ uint64 of(uint32 round) const
    {
        return blockIdx.x + (uint64)round * gridDim.x;
    }
};

// Waits for all warps. The last one does so elsewhere than the others; __syncthreads() and bar.sync would
// want all of them in the same place.
__device__ __forceinline__ void await_block()
{
    asm volatile("barrier.sync 1, %0;" : : "n"(BLOCK_SIZE + WARP_SIZE) : "memory");
}

// The last warp. Each round has two barriers: before the first, all elements of the round's tile are
// counted, and the place of the tile before it is known; before the second, that tile is written.
__device__ __forceinline__ void keep_moving(Exchange &exchange, Value *stages, const Tiles &tiles,
                                            const Value *in, uint64 n, uint64 *count, uint64 *state,
                                            uint64 *status)
{
    const bool first_lane = threadIdx.x == BLOCK_SIZE;
    if (first_lane) {
        init_copies(exchange.full, STAGES);
        for (uint32 stage = 0; stage < STAGES && stage < tiles.rounds; stage++) {
            start_tile(exchange, stages, stage, in, tiles.of(stage), n);
        }
    }
    await_block();
    Places places(state, status);
    for (uint32 round = 0; round <= tiles.rounds; round++) {
        if (round > 0) {
            const uint64 tile = tiles.of(round - 1);
            const uint64 first = places.first_of(tile, round > 1 ? exchange.count[round % 2] : 0);
            places.finish(first + exchange.count[(round - 1) % 2], count, tile == tiles.count - 1);
            if (first_lane) {
                exchange.first = first;
            }
        }
        await_block();
        if (round < tiles.rounds) {
            const uint32 own = sum_of_warps(exchange, WARPS);
            places.publish(tiles.of(round), own, round == tiles.rounds - 1);
            if (first_lane) {
                exchange.count[round % 2] = own;
            }
        }
        await_block();
        if (first_lane && round > 0 && round - 1 + STAGES < tiles.rounds) {
            start_tile(exchange, stages, (round - 1) % STAGES, in, tiles.of(round - 1 + STAGES), n);
        }
    }
    if (tiles.count == 0 && first_lane) {
        *count = 0;
    }
}

// The other warps.
__device__ __forceinline__ void work_on_tiles(Exchange &exchange, Value *stages, const Tiles &tiles,
                                              uint64 n, float threshold, Value *out)
{
    await_block();
    uint32 stage = 0;
    uint32 parity = 0;
    Value *compacted = nullptr;
    for (uint32 round = 0; round <= tiles.rounds; round++) {
        Value *here = stages + stage * TILE_SIZE;
        Elements mine;
        if (round < tiles.rounds) {
            const uint32 elements = elements_of(tiles.of(round), n);
            wait_full(exchange.full + stage, parity);
            const uint32 passed = elements == TILE_SIZE
                                      ? take_elements<true>(mine, here, elements, threshold)
                                      : take_elements<false>(mine, here, elements, threshold);
            if (threadIdx.x % WARP_SIZE == 0) {
                exchange.warp[threadIdx.x / WARP_SIZE] = passed;
            }
        }
        await_block();
        if (round < tiles.rounds) {
            compact(mine, here, sum_of_warps(exchange, threadIdx.x / WARP_SIZE));
            fence_for_copies(); // the stage is filled again after the next round
        }
        if (round > 0) {
            write_tile(out + exchange.first, compacted, exchange.count[(round - 1) % 2]);
        }
        await_block();
        compacted = here;
        if (++stage == STAGES) {
            stage = 0;
            parity ^= 1;
        }
    }
}

extern "C" __global__ void __launch_bounds__(BLOCK_SIZE + WARP_SIZE)
    filter_streamed(const Value *__restrict__ in, uint64 n, float threshold, Value *out,
                    uint64 *count, uint64 *state, uint64 *status)
{
    extern __shared__ __align__(128) char memory[];
    __shared__ Exchange exchange;
    Value *stages = (Value *)memory;
    const Tiles tiles(n);
    if (threadIdx.x >= BLOCK_SIZE) {
        keep_moving(exchange, stages, tiles, in, n, count, state, status);
    } else {
        work_on_tiles(exchange, stages, tiles, n, threshold, out);
    }
}
