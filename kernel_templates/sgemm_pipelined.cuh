// sgemm with METHOD pipelined or streamed: cp.async copies the tiles of the next steps into shared memory
// while the threads multiply those of this one, and blocks can share a tile.
//
// STAGES    sets of tiles in shared memory. STAGES - 1 steps are on their way at a time.
// VECTOR_K  elements of a row of A that a thread reads from shared memory at once: 1, 2 or 4. Wider
//           reads are fewer, but hold THREAD_M * VECTOR_K registers.
// A warp reads LANES_N groups of four columns of B, and 32 / LANES_N rows of A, at once.
//
// pipelined: gridDim.z (split_k, split_waves), known at run time only, is the number of blocks that share a
// tile of C, each with a part of k. For matrices with few tiles.
// streamed: the steps of all tiles, one tile after another, are shared equally by all blocks, whatever their
// number, so that no SM waits for another (stream-K: Osama et al. 2023). A block's share may begin and end
// within a tile.
// The last block of a tile to end adds up what the others left in `partials`.
#ifndef SGEMM_PIPELINED_CUH
#define SGEMM_PIPELINED_CUH

#ifndef STAGES
#define STAGES 3
#endif
#ifndef VECTOR_K
#define VECTOR_K 4
#endif
// Rows of A in shared memory: neighbouring rows start in different banks, all aligned to 16 bytes.
#define ROW_OF_A (TILE_K + 4)
#define STAGE_FLOATS (TILE_M * ROW_OF_A + TILE_K * TILE_N)

#include "sgemm_parts.cuh"

static_assert(TILE_K % VECTOR_K == 0, "a step is made of whole reads");

struct __align__(4 * VECTOR_K) Depth {
    float at[VECTOR_K];
};

// Starts copying BYTES bytes to shared memory. Those after the first `inside` become 0. Unless it is `wanted`, nothing is
// copied, and shared memory stays as it is; a branch around it would take up to 50 registers more.
template <int BYTES>
__device__ __forceinline__ void copy_async(bool wanted, float *to, const float *from, int inside)
{
    const uint32 shared = (uint32)__cvta_generic_to_shared(to);
    if (BYTES == 16) {
        asm volatile("{\n"
                     ".reg .pred wanted;\n"
                     "setp.ne.s32 wanted, %2, 0;\n"
                     "@wanted cp.async.cg.shared.global [%0], [%1], 16, %3;\n"
                     "}"
                     :
                     : "r"(shared), "l"(from), "r"((int)wanted), "r"(inside)
                     : "memory");
    } else {
        asm volatile("{\n"
                     ".reg .pred wanted;\n"
                     "setp.ne.s32 wanted, %2, 0;\n"
                     "@wanted cp.async.ca.shared.global [%0], [%1], 4, %3;\n"
                     "}"
                     :
                     : "r"(shared), "l"(from), "r"((int)wanted), "r"(inside)
                     : "memory");
    }
}

__device__ __forceinline__ void end_stage()
{
    asm volatile("cp.async.commit_group;" : : : "memory");
}

// Waits until at most PENDING of the latest stages are on their way.
template <int PENDING> __device__ __forceinline__ void wait_for_stages()
{
    asm volatile("cp.async.wait_group %0;" : : "n"(PENDING) : "memory");
}

// Starts copying a tile; what is outside the matrix becomes 0. Groups of four neighbours are copied
// at once if the rows of the matrix are aligned to 16 bytes.
template <int ROWS, int COLUMNS, int STRIDE>
__device__ __forceinline__ void copy_tile(float *tile, const float *matrix, int rows, int columns,
                                          int last_column, int row, int column)
{
    static_assert(ROWS * COLUMNS % (4 * THREADS) == 0, "every thread copies as many");
    const bool aligned = columns % 4 == 0;
#pragma unroll
    for (int i = 0; i < ROWS * COLUMNS / 4 / THREADS; i++) {
        const int group = i * THREADS + threadIdx.x;
        const int y = group / (COLUMNS / 4);
        const int x = group % (COLUMNS / 4) * 4;
        const int inside = row + y < rows ? max(0, min(4, last_column - column - x)) : 0;
        const float *from = inside > 0 ? matrix + (int64)(row + y) * columns + column + x : matrix;
        float *to = tile + y * STRIDE + x;
        if (aligned) {
            copy_async<16>(true, to, from, 4 * inside);
        } else {
#pragma unroll
            for (int j = 0; j < 4; j++) {
                copy_async<4>(true, to + j, j < inside ? from + j : matrix, j < inside ? 4 : 0);
            }
        }
    }
}

// Where a thread's rows and columns are in the block's tile. Rows are THREADS_M apart; columns are
// groups of four, 4 * THREADS_N apart.
struct Place {
    static constexpr int ROWS_APART = 1;
    int row;
    int column;

    __device__ __forceinline__ Place()
    {
        find_thread(row, column);
        column *= 4;
    }
    __device__ __forceinline__ int row_of(int y) const
    {
        return row + y * THREADS_M;
    }
    __device__ __forceinline__ int column_of(int x) const
    {
        return column + x * THREADS_N;
    }
};

// Adds the product of a stage's tiles to the thread's sums.
__device__ __forceinline__ void multiply_stage(float (*sums)[THREAD_N], const float *stage,
                                               const Place &place)
{
    const float *tile_b = stage + TILE_M * ROW_OF_A;
#pragma unroll
    for (int k = 0; k < TILE_K; k += VECTOR_K) {
        Depth of_a[THREAD_M];
#pragma unroll
        for (int y = 0; y < THREAD_M; y++) {
            of_a[y] = *(const Depth *)(stage + place.row_of(y) * ROW_OF_A + k);
        }
#pragma unroll
        for (int i = 0; i < VECTOR_K; i++) {
            float column_of_a[THREAD_M];
            float row_of_b[THREAD_N];
#pragma unroll
            for (int y = 0; y < THREAD_M; y++) {
                column_of_a[y] = of_a[y].at[i];
            }
#pragma unroll
            for (int x = 0; x < THREAD_N; x += 4) {
                const float4 four =
                    *(const float4 *)(tile_b + (k + i) * TILE_N + place.column_of(x));
                row_of_b[x] = four.x;
                row_of_b[x + 1] = four.y;
                row_of_b[x + 2] = four.z;
                row_of_b[x + 3] = four.w;
            }
            multiply(sums, column_of_a, row_of_b);
        }
    }
}

// Copies tile after tile along k, of which all rows and columns along k are in the matrix. Rows and columns of C
// outside the matrix are never stored, so nothing is copied for them. If the last row of A were copied in their place,
// without the L1 cache, all blocks would read the same lines of the L2 cache, one after the other: on an H200,
// 192 x 5120 x 128 took 54 us with tiles of 128 x 32 x 16, instead of 21 us, and 96 x 6144 x 448 took 68 us with tiles
// of 64 x 32 x 16, instead of 32 us.
template <int ROWS, int COLUMNS, int STRIDE> struct Copies {
    Groups<ROWS, COLUMNS> groups;
    const float *next; // where the tile begins
    int last_row;      // of the matrix, counted from there
    int last_column;

    __device__ __forceinline__ void start(const float *matrix, int rows, int columns, int row,
                                          int column)
    {
        groups.start(matrix, rows, columns, row, column);
        next = matrix + (int64)row * columns + column;
        last_row = rows - 1 - row;
        last_column = columns - 1 - column;
    }
    // Starts copying a tile. The following one is `step` elements further. If the rows of the matrix are aligned to 16
    // bytes, threads copy groups of four neighbours. Else neighbouring threads copy neighbouring elements.
    __device__ __forceinline__ void copy_next(float *tile, int64 step, int columns)
    {
        if (columns % 4 == 0) {
#pragma unroll
            for (int i = 0; i < groups.COUNT; i++) {
                const int group = i * THREADS + threadIdx.x;
                copy_async<16>(groups.within[i],
                               tile + group / (COLUMNS / 4) * STRIDE + group % (COLUMNS / 4) * 4,
                               groups.next[i], 16);
                groups.next[i] += step;
            }
        } else {
#pragma unroll
            for (int i = 0; i < 4 * groups.COUNT; i++) {
                const int y = row_of(i);
                const int x = column_of(i);
                copy_async<4>(y <= last_row && x <= last_column, tile + y * STRIDE + x,
                              next + (int64)y * columns + x, 4);
            }
            next += step;
        }
    }
    // of the thread's element i, written so that the compiler needs no division for each
    static __device__ __forceinline__ int row_of(int i)
    {
        return THREADS % COLUMNS == 0 ? i * (THREADS / COLUMNS) + threadIdx.x / COLUMNS
                                      : (i * THREADS + threadIdx.x) / COLUMNS;
    }
    static __device__ __forceinline__ int column_of(int i)
    {
        return THREADS % COLUMNS == 0 ? threadIdx.x % COLUMNS
                                      : (i * THREADS + threadIdx.x) % COLUMNS;
    }
};

// Adds the product of A's columns and B's rows from `first` to `last` - 1 to the sums of the tile at
// (row, column).
__device__ __forceinline__ void multiply_part(float (*sums)[THREAD_N], float *stages,
                                              const float *__restrict__ a,
                                              const float *__restrict__ b, int m, int n, int k,
                                              int row, int column, int first, int last,
                                              const Place &place)
{
    const Steps steps(first, last);
    Copies<TILE_M, TILE_K, ROW_OF_A> copies_a;
    Copies<TILE_K, TILE_N, TILE_N> copies_b;
    int fetched = 1; // set of tiles that is filled next

    copies_a.start(a, m, k, row, steps.second);
    copies_b.start(b, k, n, steps.second, column);
    auto fetch = [&](int step) {
        if (step < steps.count) {
            float *stage = stages + fetched * STAGE_FLOATS;
            copies_a.copy_next(stage, TILE_K, k);
            copies_b.copy_next(stage + TILE_M * ROW_OF_A, (int64)TILE_K * n, n);
        }
        fetched = fetched + 1 < STAGES ? fetched + 1 : 0;
        end_stage(); // also an empty one, so that counting them tells which has arrived
    };

    copy_tile<TILE_M, TILE_K, ROW_OF_A>(stages, a, m, k, steps.second, row, first);
    copy_tile<TILE_K, TILE_N, TILE_N>(stages + TILE_M * ROW_OF_A, b, steps.second, n, n, first,
                                      column);
    end_stage();
#pragma unroll
    for (int step = 1; step < STAGES - 1; step++) {
        fetch(step);
    }
    int set = 0;
    for (int step = 0; step < steps.count; step++) {
        wait_for_stages<STAGES - 2>();
        // This step's tiles are here, and everyone has read the set that is filled next.
        __syncthreads();
        fetch(step + STAGES - 1);
        multiply_stage(sums, stages + set * STAGE_FLOATS, place);
        set = set + 1 < STAGES ? set + 1 : 0;
    }
    wait_for_stages<0>();
}

#if METHOD == METHOD_PIPELINED

extern "C" __global__ void LAUNCH_BOUNDS sgemm(int m, int n, int k, float alpha,
                                               const float *__restrict__ a,
                                               const float *__restrict__ b, float beta, float *c,
                                               int group_m, float4 *partials, uint32 *tickets)
{
    extern __shared__ __align__(16) float stages[];
    int tile_row;
    int tile_column;
    find_tile(group_m, tile_row, tile_column);
    const int row = tile_row * TILE_M;
    const int column = tile_column * TILE_N;
    int first, last;
    find_part(k, first, last);
    const Place place;
    const TileOfC tile = {c, m, n, alpha, beta, row, column};
    float sums[THREAD_M][THREAD_N] = {};

    if (blockIdx.z == 0) {
        prefetch_tile(tile);
    }
    multiply_part(sums, stages, a, b, m, n, k, row, column, first, last, place);
    if (gridDim.z > 1 && !add_other_parts(sums, partials, tickets)) {
        return;
    }
    store_sums(sums, tile, place, stages);
}

#else

// The first step of a block's share of `all` steps. Shares are as equal as whole steps allow.
__device__ __forceinline__ int64 share_begin(int block, int64 all)
{
    return all * block / (gridDim.x * gridDim.y);
}

// The block whose share has step `at`.
__device__ __forceinline__ int block_of(int64 at, int64 all)
{
    return (int)(((at + 1) * (gridDim.x * gridDim.y) - 1) / all);
}

// A block leaves at most two parts of tiles: of the one that its share begins in, and of the one that
// it ends in.
__device__ __forceinline__ int64 place_of_part(int block, int64 tile_begin, int64 all)
{
    return 2 * (int64)block + (share_begin(block, all) < tile_begin);
}

// Adds the sums of all blocks that share the tile of steps `begin` to `end` - 1. Returns whether this
// block has the total: the last to arrive does.
__device__ __forceinline__ bool add_other_parts(float (*sums)[THREAD_N], float4 *partials,
                                                uint32 *ticket, int64 begin, int64 end, int64 all)
{
    const int own = blockIdx.y * gridDim.x + blockIdx.x;
    const int first = block_of(begin, all);
    const int last = block_of(end - 1, all);
    store_partial(partial_of(partials, place_of_part(own, begin, all)), sums);
    if (!is_last_of(last - first + 1, ticket)) {
        return false;
    }
    for (int block = first; block <= last; block++) {
        if (block != own) {
            add_partial(sums, partial_of(partials, place_of_part(block, begin, all)));
        }
    }
    return true;
}

extern "C" __global__ void LAUNCH_BOUNDS sgemm(int m, int n, int k, float alpha,
                                               const float *__restrict__ a,
                                               const float *__restrict__ b, float beta, float *c,
                                               int group_m, float4 *partials, uint32 *tickets)
{
    extern __shared__ __align__(16) float stages[];
    const int tiles_m = (m + TILE_M - 1) / TILE_M;
    const int tiles_n = (n + TILE_N - 1) / TILE_N;
    const int tile_steps = (k + TILE_K - 1) / TILE_K;
    const int64 all = (int64)tiles_m * tiles_n * tile_steps;
    const int block = blockIdx.y * gridDim.x + blockIdx.x;
    const int64 end = share_begin(block + 1, all);
    const Place place;

    for (int64 at = share_begin(block, all); at < end;) {
        const int tile = (int)(at / tile_steps);
        const int64 tile_begin = (int64)tile * tile_steps;
        const int64 tile_end = tile_begin + tile_steps;
        const int64 part_end = min(end, tile_end);
        int tile_row;
        int tile_column;
        find_tile(tile, tiles_m, tiles_n, group_m, tile_row, tile_column);
        const TileOfC to = {c, m, n, alpha, beta, tile_row * TILE_M, tile_column * TILE_N};
        float sums[THREAD_M][THREAD_N] = {};

        __syncthreads(); // everyone has read the sets of the tile before
        multiply_part(sums, stages, a, b, m, n, k, to.row, to.column,
                      (int)(at - tile_begin) * TILE_K,
                      min(k, (int)(part_end - tile_begin) * TILE_K), place);
        if (part_end - at == tile_steps ||
            add_other_parts(sums, partials, &tickets[tile], tile_begin, tile_end, all)) {
            store_sums(sums, to, place, stages);
        }
        at = part_end;
    }
}

#endif

#endif
