// C = alpha * A * B + beta * C in float32, row-major: A is m by k, B is k by n, C is m by n.
// The worked example of the trade between registers and occupancy, and of launch bounds.
//
// METHOD              naive: one thread per element of C, which reads A and B from global memory.
//                     tiled: a block computes a tile of C from tiles of A and B in shared memory,
//                     and each thread a smaller tile of it in registers.
//                     overlapped: tiled, and a thread reads the next values from shared memory
//                     while it multiplies these; more in sgemm_overlapped.cuh.
//                     overlapped_split: overlapped, and blocks can share a tile of C, each with a
//                     part of k.
//                     pipelined: tiled with asynchronous copies, and blocks can share a tile; more in
//                     sgemm_pipelined.cuh.
//                     streamed: pipelined, with an equal share of all work for each block.
// BLOCK_DIM           naive: threads per block in each direction.
// TILE_M, TILE_N      rows and columns of a block's tile. Larger tiles read A and B less often.
// TILE_K              depth of a step. Deeper steps need fewer barriers.
// THREAD_M, THREAD_N  rows and columns of a thread's tile, multiples of 4. Each value from
//                     shared memory is used THREAD_N or THREAD_M times; the sums need
//                     THREAD_M * THREAD_N registers.
// MIN_BLOCKS          minimum resident blocks per SM: the second launch bound. It caps registers;
//                     values that do not fit are spilled. 0 leaves it out.
// LANES_N             but for naive and tiled: threads of a warp side by side in n; the other 32 / LANES_N
//                     are below each other in m.
// ORDER               rows, squares, serpentine: in which order a thread multiplies; more at
//                     multiply().
//
// group_m, known at run time only, is how many rows of tiles are worked on together, column by column,
// so that blocks that run at the same time find more of A and B in the L2 cache.
#include "primitives.cuh"

#define METHOD_NAIVE 0
#define METHOD_TILED 1
#define METHOD_PIPELINED 2
#define METHOD_OVERLAPPED 3
#define METHOD_STREAMED 4
#define METHOD_OVERLAPPED_SPLIT 5

#define ORDER_ROWS 0
#define ORDER_SQUARES 1
#define ORDER_SERPENTINE 2

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
#ifndef LANES_N
#define LANES_N 8
#endif
#ifndef ORDER
#define ORDER ORDER_ROWS
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

#if METHOD != METHOD_NAIVE

// Adds the products of one column of A's tile and one row of B's to the thread's sums.
//
// Registers lie in banks, and operands from the same bank are read one after the other. A factor that the
// multiply-add before has read, too, need not be read again. So products that follow each other should
// share factors: in rows they share one, except at the end of a row; in squares and in a serpentine always.
// The compiler reorders them, but what it is given still counts. ncu on an H200, 4096 x 4096 x 4096,
// method = overlapped, tiles of 128 x 128 x 8, 8 x 16 per thread, lanes_n = 4:
//                                           rows   squares  serpentine  cuBLAS
//     warps waiting for registers           0.20      0.15        0.11    0.10
//     warps waiting for shared memory       0.25      0.12        0.24    0.21
//     cycles with a multiply-add            74 %      79 %        76 %    79 %
//     time in us                            2888      2674        2829    2683
// (warps per issued instruction: stalls named dispatch and short scoreboard)
__device__ __forceinline__ void multiply(float (*sums)[THREAD_N], const float *of_a,
                                         const float *of_b)
{
#if ORDER == ORDER_ROWS
#pragma unroll
    for (int y = 0; y < THREAD_M; y++) {
#pragma unroll
        for (int x = 0; x < THREAD_N; x++) {
            sums[y][x] += of_a[y] * of_b[x];
        }
    }
#elif ORDER == ORDER_SQUARES
#pragma unroll
    for (int x = 0; x < THREAD_N; x += 2) {
#pragma unroll
        for (int i = 0; i < THREAD_M; i += 2) {
            const int y = x % 4 != 0 ? THREAD_M - 2 - i : i; // down two columns, up the next two
            sums[y][x] += of_a[y] * of_b[x];
            sums[y + 1][x] += of_a[y + 1] * of_b[x];
            sums[y + 1][x + 1] += of_a[y + 1] * of_b[x + 1];
            sums[y][x + 1] += of_a[y] * of_b[x + 1];
        }
    }
#else
#pragma unroll
    for (int x = 0; x < THREAD_N; x++) {
#pragma unroll
        for (int i = 0; i < THREAD_M; i++) {
            const int y = x % 2 != 0 ? THREAD_M - 1 - i : i; // down a column, up the next
            sums[y][x] += of_a[y] * of_b[x];
        }
    }
#endif
}

// Four neighbouring elements of a row. The first `inside` are in the matrix; the others become 0.
__device__ __forceinline__ float4 load_some(const float *from, int inside)
{
    return make_float4(inside > 0 ? from[0] : 0, inside > 1 ? from[1] : 0, inside > 2 ? from[2] : 0,
                       inside > 3 ? from[3] : 0);
}

#endif

#if METHOD != METHOD_NAIVE && METHOD != METHOD_TILED

#define THREADS_N (TILE_N / THREAD_N)
#define THREADS_M (TILE_M / THREAD_M)
#define LANES_M (WARP_SIZE / LANES_N)

static_assert(THREADS_N % LANES_N == 0 && THREADS_M % LANES_M == 0, "a block is made of whole warps");

// The row and the column of a tile of C, among tiles_m by tiles_n.
__device__ __forceinline__ void find_tile(int tile, int tiles_m, int tiles_n, int group_m,
                                          int &tile_row, int &tile_column)
{
    const int in_group = tile % (group_m * tiles_n);
    const int first = tile / (group_m * tiles_n) * group_m;
    const int rows = min(tiles_m - first, group_m);
    tile_row = first + in_group % rows;
    tile_column = in_group / rows;
}

// The tile of C that this block computes.
__device__ __forceinline__ void find_tile(int group_m, int &tile_row, int &tile_column)
{
    find_tile(blockIdx.y * gridDim.x + blockIdx.x, gridDim.y, gridDim.x, group_m, tile_row,
              tile_column);
}

// The thread's place among the THREADS_M by THREADS_N of its block.
__device__ __forceinline__ void find_thread(int &row, int &column)
{
    const int lane = threadIdx.x % WARP_SIZE;
    const int warp = threadIdx.x / WARP_SIZE;
    row = warp / (THREADS_N / LANES_N) * LANES_M + lane / LANES_N;
    column = warp % (THREADS_N / LANES_N) * LANES_N + lane % LANES_N;
}

// Where tile after tile of A or B along k begins for a thread, in groups of four neighbours. Rows and columns of C
// outside the matrix are never stored, so any values will do for them. The pointers of groups outside point to the last
// row or the first column of A or B, so that they may be read.
template <int ROWS, int COLUMNS> struct Groups {
    static_assert(ROWS * COLUMNS % (4 * THREADS) == 0, "every thread moves as many");
    static constexpr int COUNT = ROWS * COLUMNS / 4 / THREADS;
    const float *next[COUNT];
    int inside[COUNT];  // elements from there to the end of the row
    bool within[COUNT]; // whether the group's first element is in the matrix

    __device__ __forceinline__ void start(const float *matrix, int rows, int columns, int row,
                                          int column)
    {
#pragma unroll
        for (int i = 0; i < COUNT; i++) {
            const int group = i * THREADS + threadIdx.x;
            const int y = row + group / (COLUMNS / 4);
            const int x = column + group % (COLUMNS / 4) * 4;
            const int from = x < columns ? x : 0;
            next[i] = matrix + (int64)min(y, rows - 1) * columns + from;
            inside[i] = columns - from;
            within[i] = y < rows && x < columns;
        }
    }
};

// A part of k in steps of TILE_K, of which the first is the one that may be shorter. So all that follow are loaded
// without bounds.
struct Steps {
    int count;  // 1 or more
    int second; // where the second begins

    __device__ __forceinline__ Steps(int first, int last)
    {
        count = max(1, (last - first + TILE_K - 1) / TILE_K);
        second = last - (count - 1) * TILE_K;
    }
};

#include "sgemm_store.cuh"

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

#include "sgemm_tiles.cuh"

// c[0 … 3] = alpha * sums + beta * c, for the first `inside` of them.
__device__ __forceinline__ void store_four(float *c, const float *sums, int inside, float alpha,
                                           float beta)
{
#pragma unroll
    for (int i = 0; i < 4; i++) {
        if (i < inside) {
            c[i] = alpha * sums[i] + (beta != 0 ? beta * c[i] : 0);
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
#pragma unroll
        for (int i = 0; i < TILE_K; i++) {
            Fragments fragments;
            fragments.load(tiles_a[set][i], tiles_b[set][i], thread_row, thread_column);
            multiply(sums, fragments.of_a, fragments.of_b);
        }
    }

#pragma unroll
    for (int y = 0; y < THREAD_M; y++) {
#pragma unroll
        for (int x = 0; x < THREAD_N; x += 4) {
            const int at_m = row + place_of<TILE_M, THREAD_M>(thread_row, y);
            const int at_n = column + place_of<TILE_N, THREAD_N>(thread_column, x);
            if (at_m < m && at_n < n) {
                store_four(c + (int64)at_m * n + at_n, &sums[y][x], n - at_n, alpha, beta);
            }
        }
    }
}

#elif METHOD == METHOD_OVERLAPPED || METHOD == METHOD_OVERLAPPED_SPLIT

#include "sgemm_overlapped.cuh"

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
