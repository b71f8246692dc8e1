// What sgemm's methods tiled and overlapped share: tiles of A and B in shared memory, which threads fill from
// registers, and the parts of C that the threads compute.
#ifndef SGEMM_TILES_CUH
#define SGEMM_TILES_CUH

// A tile of A or B on its way from global to shared memory, spread over the threads of the block in
// groups of four neighbours. Held in registers, the loads of the next step overlap the arithmetic
// of this one. Matrices must be aligned to 16 bytes.
template <int ROWS, int COLUMNS> struct Transfer {
    static_assert(ROWS * COLUMNS % (4 * THREADS) == 0, "every thread moves as many");
    static constexpr int COUNT = ROWS * COLUMNS / 4 / THREADS;
    float4 groups[COUNT];

    static __device__ __forceinline__ int row_of(int i)
    {
        return (i * THREADS + threadIdx.x) / (COLUMNS / 4);
    }
    static __device__ __forceinline__ int column_of(int i)
    {
        return (i * THREADS + threadIdx.x) % (COLUMNS / 4) * 4;
    }
    // The tile from (row, column) on. What is outside the matrix, or from `last_column` on, becomes 0.
    __device__ __forceinline__ void load_part(const float *matrix, int rows, int columns,
                                              int last_column, int row, int column)
    {
#pragma unroll
        for (int i = 0; i < COUNT; i++) {
            const int y = row + row_of(i);
            const int x = column + column_of(i);
            groups[i] = load_some(matrix + (int64)y * columns + x, y < rows ? last_column - x : 0);
        }
    }
    __device__ __forceinline__ void load(const float *matrix, int rows, int columns, int row,
                                         int column)
    {
        if (columns % 4 == 0 && row + ROWS <= rows && column + COLUMNS <= columns) {
#pragma unroll
            for (int i = 0; i < COUNT; i++) {
                groups[i] = *(const float4 *)(matrix + (int64)(row + row_of(i)) * columns + column +
                                              column_of(i));
            }
        } else {
            load_part(matrix, rows, columns, columns, row, column);
        }
    }
    template <int STRIDE> __device__ __forceinline__ void store(float (*tile)[STRIDE])
    {
#pragma unroll
        for (int i = 0; i < COUNT; i++) {
            *(float4 *)&tile[row_of(i)][column_of(i)] = groups[i];
        }
    }
    template <int STRIDE> __device__ __forceinline__ void store_transposed(float (*tile)[STRIDE])
    {
#pragma unroll
        for (int i = 0; i < COUNT; i++) {
            const int y = row_of(i);
            const int x = column_of(i);
            tile[x][y] = groups[i].x;
            tile[x + 1][y] = groups[i].y;
            tile[x + 2][y] = groups[i].z;
            tile[x + 3][y] = groups[i].w;
        }
    }
};

// The position in a tile of SIZE rows (or columns) of index i of the COUNT that `thread` has. They
// are groups of 4 neighbours, spread over the tile so that neighbouring threads read neighbouring
// groups.
template <int SIZE, int COUNT> __device__ __forceinline__ int place_of(int thread, int i)
{
    return i / 4 * (SIZE / (COUNT / 4)) + thread * 4 + i % 4;
}

template <int SIZE, int COUNT>
__device__ __forceinline__ void load_fragment(float *fragment, const float *line, int thread)
{
#pragma unroll
    for (int i = 0; i < COUNT; i += 4) {
        const float4 four = *(const float4 *)(line + place_of<SIZE, COUNT>(thread, i));
        fragment[i] = four.x;
        fragment[i + 1] = four.y;
        fragment[i + 2] = four.z;
        fragment[i + 3] = four.w;
    }
}

// Keeps the columns of the transposed tile in different banks and aligned to 16 bytes.
#define PADDING 4

typedef float TileA[TILE_K][TILE_M + PADDING]; // transposed: k first
typedef float TileB[TILE_K][TILE_N];

// What a thread needs of one column of A's tile and one row of B's.
struct Fragments {
    float of_a[THREAD_M];
    float of_b[THREAD_N];

    __device__ __forceinline__ void load(const float *line_a, const float *line_b, int thread_row,
                                         int thread_column)
    {
        load_fragment<TILE_M, THREAD_M>(of_a, line_a, thread_row);
        load_fragment<TILE_N, THREAD_N>(of_b, line_b, thread_column);
    }
};

#endif
