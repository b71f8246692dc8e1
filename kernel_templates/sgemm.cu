// C = alpha * A * B + beta * C in float32, row-major: A is m by k, B is k by n, C is m by n.
// The worked example of the trade between registers and occupancy, and of launch bounds.
//
// METHOD              naive: one thread per element of C, which reads A and B from global memory.
//                     tiled: a block computes a tile of C from tiles of A and B in shared memory,
//                     and each thread a smaller tile of it in registers.
//                     pipelined: the same with asynchronous copies; more in sgemm_pipelined.cuh.
// BLOCK_DIM           naive: threads per block in each direction.
// TILE_M, TILE_N      rows and columns of a block's tile. Larger tiles read A and B less often.
// TILE_K              depth of a step. Deeper steps need fewer barriers.
// THREAD_M, THREAD_N  rows and columns of a thread's tile, multiples of 4. Each value from
//                     shared memory is used THREAD_N or THREAD_M times; the sums need
//                     THREAD_M * THREAD_N registers.
// MIN_BLOCKS          minimum resident blocks per SM: the second launch bound. It caps registers;
//                     values that do not fit are spilled. 0 leaves it out.
#include "primitives.cuh"

#define METHOD_NAIVE 0
#define METHOD_TILED 1
#define METHOD_PIPELINED 2

#ifndef METHOD
#define METHOD METHOD_NAIVE
#endif
#ifndef BLOCK_DIM
#define BLOCK_DIM 16
#endif
#ifndef TILE_M
#define TILE_M 64
#endif
#ifndef TILE_N
#define TILE_N 64
#endif
#ifndef TILE_K
#define TILE_K 16
#endif
#ifndef THREAD_M
#define THREAD_M 4
#endif
#ifndef THREAD_N
#define THREAD_N 4
#endif
#ifndef MIN_BLOCKS
#define MIN_BLOCKS 0
#endif

#if METHOD == METHOD_NAIVE
#define THREADS (BLOCK_DIM * BLOCK_DIM)
#else
#define THREADS (TILE_M / THREAD_M * (TILE_N / THREAD_N))
#endif
#if MIN_BLOCKS > 0
#define LAUNCH_BOUNDS __launch_bounds__(THREADS, MIN_BLOCKS)
#else
#define LAUNCH_BOUNDS __launch_bounds__(THREADS)
#endif

#if METHOD == METHOD_NAIVE

extern "C" __global__ void LAUNCH_BOUNDS sgemm(int m, int n, int k, float alpha,
                                               const float *__restrict__ a,
                                               const float *__restrict__ b, float beta, float *c)
{
    const int row = blockIdx.y * BLOCK_DIM + threadIdx.y;
    const int column = blockIdx.x * BLOCK_DIM + threadIdx.x;
    if (row >= m || column >= n) {
        return;
    }
    float sum = 0;
    for (int i = 0; i < k; i++) {
        sum += a[(int64)row * k + i] * b[(int64)i * n + column];
    }
    const int64 at = (int64)row * n + column;
    c[at] = alpha * sum + beta * c[at];
}

#elif METHOD == METHOD_TILED

// Four neighbouring elements of a row. The first `inside` are in the matrix; the others become 0.
__device__ __forceinline__ float4 load_some(const float *from, int inside)
{
    return make_float4(inside > 0 ? from[0] : 0, inside > 1 ? from[1] : 0, inside > 2 ? from[2] : 0,
                       inside > 3 ? from[3] : 0);
}

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
    __device__ __forceinline__ void load(const float *matrix, int rows, int columns, int row,
                                         int column)
    {
        const bool whole = columns % 4 == 0 && row + ROWS <= rows && column + COLUMNS <= columns;
#pragma unroll
        for (int i = 0; i < COUNT; i++) {
            const int y = row + row_of(i);
            const int x = column + column_of(i);
            const float *from = matrix + (int64)y * columns + x;
            if (whole) {
                groups[i] = *(const float4 *)from;
            } else {
                groups[i] = load_some(from, y < rows ? columns - x : 0);
            }
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

// Adds the product of the two tiles to the thread's part of C.
__device__ __forceinline__ void multiply_tiles(float (*sums)[THREAD_N], const TileA &tile_a,
                                               const TileB &tile_b, int thread_row,
                                               int thread_column)
{
#pragma unroll
    for (int i = 0; i < TILE_K; i++) {
        float of_a[THREAD_M];
        float of_b[THREAD_N];
        load_fragment<TILE_M, THREAD_M>(of_a, tile_a[i], thread_row);
        load_fragment<TILE_N, THREAD_N>(of_b, tile_b[i], thread_column);
#pragma unroll
        for (int y = 0; y < THREAD_M; y++) {
#pragma unroll
            for (int x = 0; x < THREAD_N; x++) {
                sums[y][x] += of_a[y] * of_b[x];
            }
        }
    }
}

// Two sets of tiles alternate, so one barrier per step is enough: a thread fills a set only after a
// barrier that all threads reach after reading that set.
extern "C" __global__ void LAUNCH_BOUNDS sgemm(int m, int n, int k, float alpha,
                                               const float *__restrict__ a,
                                               const float *__restrict__ b, float beta, float *c)
{
    __shared__ __align__(16) TileA tiles_a[2];
    __shared__ __align__(16) TileB tiles_b[2];
    const int row = blockIdx.y * TILE_M;
    const int column = blockIdx.x * TILE_N;
    const int thread_row = threadIdx.x / (TILE_N / THREAD_N);
    const int thread_column = threadIdx.x % (TILE_N / THREAD_N);
    Transfer<TILE_M, TILE_K> next_a;
    Transfer<TILE_K, TILE_N> next_b;
    float sums[THREAD_M][THREAD_N] = {};

    next_a.load(a, m, k, row, 0);
    next_b.load(b, k, n, 0, column);
    for (int step = 0, set = 0; step < k; step += TILE_K, set ^= 1) {
        next_a.store_transposed(tiles_a[set]);
        next_b.store(tiles_b[set]);
        __syncthreads();
        if (step + TILE_K < k) {
            next_a.load(a, m, k, row, step + TILE_K);
            next_b.load(b, k, n, step + TILE_K, column);
        }
        multiply_tiles(sums, tiles_a[set], tiles_b[set], thread_row, thread_column);
    }

#pragma unroll
    for (int y = 0; y < THREAD_M; y++) {
        const int to_row = row + place_of<TILE_M, THREAD_M>(thread_row, y);
#pragma unroll
        for (int x = 0; x < THREAD_N; x++) {
            const int to_column = column + place_of<TILE_N, THREAD_N>(thread_column, x);
            if (to_row < m && to_column < n) {
                const int64 at = (int64)to_row * n + to_column;
                c[at] = alpha * sums[y][x] + beta * c[at];
            }
        }
    }
}

#else

#include "sgemm_pipelined.cuh"

#endif

// One thread per element, in double.
extern "C" __global__ void sgemm_reference(int m, int n, int k, float alpha, const float *a,
                                           const float *b, float beta, const float *c, double *out)
{
    const int64 at = (int64)blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= (int64)m * n) {
        return;
    }
    double sum = 0;
    for (int i = 0; i < k; i++) {
        sum += (double)a[at / n * k + i] * b[(int64)i * n + at % n];
    }
    out[at] = alpha * sum + beta * c[at];
}
