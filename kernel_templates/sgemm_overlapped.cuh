// sgemm with METHOD overlapped or overlapped_split: two sets of tiles and two sets of fragments alternate.
//
// A scheduler issues one instruction per cycle, a multiply-add or another, so every other instruction costs
// as much as a multiply-add. Hence pointers that move on: with addresses and bounds computed anew in every
// step, 69 % of the cycles had a multiply-add; now 74 % have (3139 and 2888 us, measured as for multiply(),
// in rows). The part of k that is not a whole step comes first, so that no step of the loop needs bounds. There are
// two loops, because rows that are not aligned to 16 bytes need four loads instead of one.
#ifndef SGEMM_OVERLAPPED_CUH
#define SGEMM_OVERLAPPED_CUH

#include "sgemm_tiles.cuh"
#if METHOD == METHOD_OVERLAPPED_SPLIT
#include "sgemm_parts.cuh"
#endif

// Transfers tile after tile along k.
template <int ROWS, int COLUMNS> struct Transfers : Transfer<ROWS, COLUMNS> {
    Groups<ROWS, COLUMNS> from;

    // A tile of which all rows and columns along k are in the matrix. The following one is `step` elements further.
    // ALIGNED: the rows of the matrix are aligned to 16 bytes.
    // WITHIN: no row ends within a group of four.
    template <bool ALIGNED, bool WITHIN> __device__ __forceinline__ void load_next(int64 step)
    {
#pragma unroll
        for (int i = 0; i < from.COUNT; i++) {
            this->groups[i] = ALIGNED ? *(const float4 *)from.next[i]
                                      : load_some(from.next[i], WITHIN ? 4 : from.inside[i]);
            from.next[i] += step;
        }
    }
};

// Where a thread's rows and columns are in the block's tile.
struct Place {
    static constexpr int ROWS_APART = 4;
    int row;
    int column;

    __device__ __forceinline__ Place()
    {
        find_thread(row, column);
    }
    __device__ __forceinline__ int row_of(int y) const
    {
        return place_of<TILE_M, THREAD_M>(row, y);
    }
    __device__ __forceinline__ int column_of(int x) const
    {
        return place_of<TILE_N, THREAD_N>(column, x);
    }
};

// The product of a part of A and B, of which the thread has THREAD_M by THREAD_N sums.
struct Product {
    TileA *tiles_a; // two sets
    TileB *tiles_b;
    int set = 0; // the one that is multiplied
    Place place;
    Transfers<TILE_M, TILE_K> next_a;
    Transfers<TILE_K, TILE_N> next_b;
    Fragments fragments[2];
    float sums[THREAD_M][THREAD_N] = {};

    template <bool ALIGNED> __device__ __forceinline__ void load_next(int n)
    {
        next_a.template load_next<ALIGNED, true>(TILE_K);
        next_b.template load_next<ALIGNED, false>((int64)TILE_K * n);
    }
    __device__ __forceinline__ void store(int to)
    {
        next_a.store_transposed(tiles_a[to]);
        next_b.store(tiles_b[to]);
        __syncthreads();
        fragments[0].load(tiles_a[to][0], tiles_b[to][0], place.row, place.column);
    }
    // column i of A's tile times row i of B's, while those that follow are read
    __device__ __forceinline__ void multiply_one(int i)
    {
        fragments[(i + 1) % 2].load(tiles_a[set][i + 1], tiles_b[set][i + 1], place.row,
                                    place.column);
        multiply(sums, fragments[i % 2].of_a, fragments[i % 2].of_b);
    }
    // All steps but the last. The loop has neither bounds nor branches, so that the compiler can move its loads
    // and stores among the products. While a thread multiplies the last fragments of a tile, it reads the first
    // of the next one, which all threads have stored by then. Whoever passes that barrier has read all of this
    // tile, so the next step may overwrite it.
    template <bool ALIGNED> __device__ __forceinline__ void multiply_steps(int steps, int n)
    {
#pragma unroll 1
        for (; steps > 1; steps--) {
            load_next<ALIGNED>(n);
#pragma unroll
            for (int i = 0; i < TILE_K - 1; i++) {
                multiply_one(i);
            }
            store(set ^ 1);
            multiply(sums, fragments[1].of_a, fragments[1].of_b);
            set ^= 1;
        }
    }
    __device__ __forceinline__ void multiply_last_step()
    {
#pragma unroll 2
        for (int i = 0; i < TILE_K - 1; i++) {
            multiply_one(i);
        }
        multiply(sums, fragments[1].of_a, fragments[1].of_b);
    }
};

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
    Product product;
    int tile_row, tile_column;
    find_tile(group_m, tile_row, tile_column);
    product.tiles_a = tiles_a;
    product.tiles_b = tiles_b;
    const int row = tile_row * TILE_M;
    const int column = tile_column * TILE_N;
    const TileOfC tile = {c, m, n, alpha, beta, row, column};
#if METHOD == METHOD_OVERLAPPED_SPLIT
    int first, last;
    find_part(k, first, last);
#else
    const int first = 0;
    const int last = k;
#endif
    const bool aligned = n % 4 == 0 && k % 4 == 0;
    const Steps steps(first, last);
    const bool whole = aligned && steps.second - first == TILE_K;

    product.next_a.from.start(a, m, k, row, whole ? first : steps.second);
    product.next_b.from.start(b, k, n, whole ? first : steps.second, column);
    if (whole) {
        product.load_next<true>(n);
    } else {
        product.next_a.load_part(a, m, k, steps.second, row, first);
        product.next_b.load_part(b, steps.second, n, n, first, column);
    }
    if (blockIdx.z == 0) {
        prefetch_tile(tile);
    }
    product.store(0);
    if (aligned) {
        product.multiply_steps<true>(steps.count, n);
    } else {
        product.multiply_steps<false>(steps.count, n);
    }
    product.multiply_last_step();

#if METHOD == METHOD_OVERLAPPED_SPLIT
    if (gridDim.z > 1 && !add_other_parts(product.sums, partials, tickets)) {
        return;
    }
#endif
    store_sums(product.sums, tile, product.place, tiles_a[0][0]);
}

#endif
