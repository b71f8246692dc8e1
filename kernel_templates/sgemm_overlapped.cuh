// sgemm with METHOD overlapped or overlapped_split: two sets of tiles and two sets of fragments alternate.
//
// A scheduler issues one instruction per cycle, a multiply-add or another, so every other instruction costs
// as much as a multiply-add. Hence pointers that move on: with addresses and bounds computed anew in every
// step, 69 % of the cycles had a multiply-add; now 74 % have (3139 and 2888 us, measured as for multiply(),
// in rows).
#ifndef SGEMM_OVERLAPPED_CUH
#define SGEMM_OVERLAPPED_CUH

#include "sgemm_tiles.cuh"
#if METHOD == METHOD_OVERLAPPED_SPLIT
#include "sgemm_parts.cuh"
#endif

// Transfers tile after tile along k. Rows and columns of C outside the matrix are never stored, so any
// values will do for them: those of the last row or column of A or B are loaded, without looking further.
template <int ROWS, int COLUMNS> struct Transfers : Transfer<ROWS, COLUMNS> {
    typedef Transfer<ROWS, COLUMNS> Base;
    const float *next[Base::COUNT];

    __device__ __forceinline__ void start(const float *matrix, int rows, int columns, int row,
                                          int column)
    {
#pragma unroll
        for (int i = 0; i < Base::COUNT; i++) {
            const int y = min(row + Base::row_of(i), rows - 1);
            const int x = min(column + Base::column_of(i), columns - 4);
            next[i] = matrix + (int64)y * columns + x;
        }
    }
    // The following tile is `step` elements further. Only for whole steps of matrices whose rows are
    // aligned to 16 bytes.
    __device__ __forceinline__ void load_next(int64 step)
    {
#pragma unroll
        for (int i = 0; i < Base::COUNT; i++) {
            Base::groups[i] = *(const float4 *)next[i];
            next[i] += step;
        }
    }
};

// While a thread multiplies the last fragments of a tile, it reads the first of the next one, which all
// threads have stored by then. Whoever passes that barrier has read all of this tile, so the next step
// may overwrite it. The first of the two loops has neither bounds nor branches, so that the compiler can
// move its loads and stores among the products; the second is for the rest of k, and for rows that are
// not aligned to 16 bytes.
extern "C" __global__ void LAUNCH_BOUNDS sgemm(int m, int n, int k, float alpha,
                                               const float *__restrict__ a,
                                               const float *__restrict__ b, float beta, float *c,
                                               int group_m
#if METHOD == METHOD_OVERLAPPED_SPLIT
                                               ,
                                               float4 *partials, uint32 *tickets
#endif
)
{
    __shared__ __align__(16) TileA tiles_a[2];
    __shared__ __align__(16) TileB tiles_b[2];
    int tile_row, tile_column, thread_row, thread_column;
    find_tile(group_m, tile_row, tile_column);
    find_thread(thread_row, thread_column);
    const int row = tile_row * TILE_M;
    const int column = tile_column * TILE_N;
#if METHOD == METHOD_OVERLAPPED_SPLIT
    int first, last;
    find_part(k, first, last);
#else
    const int first = 0;
    const int last = k;
#endif
    const int whole = n % 4 == 0 && k % 4 == 0 ? last / TILE_K * TILE_K : 0;
    Transfers<TILE_M, TILE_K> next_a;
    Transfers<TILE_K, TILE_N> next_b;
    Fragments fragments[2];
    float sums[THREAD_M][THREAD_N] = {};
    int step = first;
    int set = 0;

    const auto load_next = [&] {
        next_a.load_next(TILE_K);
        next_b.load_next((int64)TILE_K * n);
    };
    const auto load_part = [&](int from) {
        next_a.load_part(a, m, k, row, from);
        next_b.load_part(b, k, n, from, column);
    };
    const auto store = [&](int to) {
        next_a.store_transposed(tiles_a[to]);
        next_b.store(tiles_b[to]);
        __syncthreads();
        fragments[0].load(tiles_a[to][0], tiles_b[to][0], thread_row, thread_column);
    };
    // column i of A's tile times row i of B's, while those that follow are read
    const auto multiply_one = [&](int i) {
        fragments[(i + 1) % 2].load(tiles_a[set][i + 1], tiles_b[set][i + 1], thread_row,
                                    thread_column);
        multiply(sums, fragments[i % 2].of_a, fragments[i % 2].of_b);
    };

    if (whole > first) {
        next_a.start(a, m, k, row, first);
        next_b.start(b, k, n, first, column);
        load_next();
    } else {
        load_part(first);
    }
    store(0);
#pragma unroll 1
    for (; step + TILE_K < whole; step += TILE_K, set ^= 1) {
        load_next();
#pragma unroll
        for (int i = 0; i < TILE_K - 1; i++) {
            multiply_one(i);
        }
        store(set ^ 1);
        multiply(sums, fragments[1].of_a, fragments[1].of_b);
    }
#pragma unroll 1
    for (; step < last; step += TILE_K, set ^= 1) {
        const bool another = step + TILE_K < last;
        if (another) {
            load_part(step + TILE_K);
        }
#pragma unroll 2
        for (int i = 0; i < TILE_K - 1; i++) {
            multiply_one(i);
        }
        if (another) {
            store(set ^ 1);
        }
        multiply(sums, fragments[1].of_a, fragments[1].of_b);
    }

#if METHOD == METHOD_OVERLAPPED_SPLIT
    if (gridDim.z > 1 && !add_other_parts(sums, partials, tickets)) {
        return;
    }
#endif
    store_tile(sums, c, m, n, alpha, beta, row, column, thread_row, thread_column);
}

#endif
