// C = alpha * A * B + beta * C in float32, row-major: A is m by k, B is k by n, C is m by n.
// The worked example of the trade between registers and occupancy, and of launch bounds.
//
// METHOD              naive: one thread per element of C, which reads A and B from global memory.
//                     tiled: a block computes a tile of C from tiles of A and B in shared memory,
//                     and each thread a smaller tile of it in registers.
//                     overlapped: tiled, and a thread reads the next values from shared memory
//                     while it multiplies these, also from one tile to the next.
//                     pipelined: tiled with asynchronous copies; more in sgemm_pipelined.cuh.
// BLOCK_DIM           naive: threads per block in each direction.
// TILE_M, TILE_N      rows and columns of a block's tile. Larger tiles read A and B less often.
// TILE_K              depth of a step. Deeper steps need fewer barriers.
// THREAD_M, THREAD_N  rows and columns of a thread's tile, multiples of 4. Each value from
//                     shared memory is used THREAD_N or THREAD_M times; the sums need
//                     THREAD_M * THREAD_N registers.
// MIN_BLOCKS          minimum resident blocks per SM: the second launch bound. It caps registers;
//                     values that do not fit are spilled. 0 leaves it out.
// LANES_N             overlapped, pipelined: threads of a warp side by side in n; the other
//                     32 / LANES_N are below each other in m.
//
// group_m, known at run time only, is how many rows of tiles are worked on together, column by column,
// so that blocks that run at the same time find more of A and B in the L2 cache.
#include "primitives.cuh"

#define METHOD_NAIVE 0
#define METHOD_TILED 1
#define METHOD_PIPELINED 2
#define METHOD_OVERLAPPED 3

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

#if METHOD == METHOD_OVERLAPPED || METHOD == METHOD_PIPELINED

#define THREADS_N (TILE_N / THREAD_N)
#define THREADS_M (TILE_M / THREAD_M)
#define LANES_M (WARP_SIZE / LANES_N)

static_assert(THREADS_N % LANES_N == 0 && THREADS_M % LANES_M == 0, "a block is made of whole warps");

// c[0 … 3] = alpha * sums + beta * c, for the first `inside` of them.
__device__ __forceinline__ void store_four(float *c, const float *sums, int inside, bool aligned,
                                           float alpha, float beta)
{
    if (aligned && inside >= 4) {
        float4 four = beta != 0 ? *(const float4 *)c : make_float4(0, 0, 0, 0);
        four.x = alpha * sums[0] + beta * four.x;
        four.y = alpha * sums[1] + beta * four.y;
        four.z = alpha * sums[2] + beta * four.z;
        four.w = alpha * sums[3] + beta * four.w;
        *(float4 *)c = four;
        return;
    }
    for (int i = 0; i < 4; i++) {
        if (i < inside) {
            c[i] = alpha * sums[i] + (beta != 0 ? beta * c[i] : 0);
        }
    }
}

// The tile of C that this block computes.
__device__ __forceinline__ void find_tile(int group_m, int &tile_row, int &tile_column)
{
    const int linear = blockIdx.y * gridDim.x + blockIdx.x;
    const int in_group = linear % (group_m * gridDim.x);
    const int first = linear / (group_m * gridDim.x) * group_m;
    const int rows = min((int)gridDim.y - first, group_m);
    tile_row = first + in_group % rows;
    tile_column = in_group / rows;
}

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

#elif METHOD == METHOD_TILED || METHOD == METHOD_OVERLAPPED

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

#if METHOD == METHOD_TILED

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
    __device__ __forceinline__ void multiply(float (*sums)[THREAD_N]) const
    {
#pragma unroll
        for (int y = 0; y < THREAD_M; y++) {
#pragma unroll
            for (int x = 0; x < THREAD_N; x++) {
                sums[y][x] += of_a[y] * of_b[x];
            }
        }
    }
};

// Two sets of tiles alternate, and two sets of fragments. While a thread multiplies the last fragments
// of a tile, it reads the first of the next one, which all threads have stored by then. Whoever passes
// that barrier has read all of this tile, so the next step may overwrite it.
extern "C" __global__ void LAUNCH_BOUNDS sgemm(int m, int n, int k, float alpha,
                                               const float *__restrict__ a,
                                               const float *__restrict__ b, float beta, float *c,
                                               int group_m)
{
    __shared__ __align__(16) TileA tiles_a[2];
    __shared__ __align__(16) TileB tiles_b[2];
    int tile_row;
    int tile_column;
    find_tile(group_m, tile_row, tile_column);
    const int row = tile_row * TILE_M;
    const int column = tile_column * TILE_N;
    const int lane = threadIdx.x % WARP_SIZE;
    const int warp = threadIdx.x / WARP_SIZE;
    const int thread_row = warp / (THREADS_N / LANES_N) * LANES_M + lane / LANES_N;
    const int thread_column = warp % (THREADS_N / LANES_N) * LANES_N + lane % LANES_N;
    Transfer<TILE_M, TILE_K> next_a;
    Transfer<TILE_K, TILE_N> next_b;
    Fragments fragments[2];
    float sums[THREAD_M][THREAD_N] = {};

    next_a.load(a, m, k, row, 0);
    next_b.load(b, k, n, 0, column);
    next_a.store_transposed(tiles_a[0]);
    next_b.store(tiles_b[0]);
    __syncthreads();
    fragments[0].load(tiles_a[0][0], tiles_b[0][0], thread_row, thread_column);
    for (int step = 0, set = 0; step < k; step += TILE_K, set ^= 1) {
        const bool another = step + TILE_K < k;
        if (another) {
            next_a.load(a, m, k, row, step + TILE_K);
            next_b.load(b, k, n, step + TILE_K, column);
        }
#pragma unroll
        for (int i = 0; i < TILE_K - 1; i++) {
            fragments[(i + 1) % 2].load(tiles_a[set][i + 1], tiles_b[set][i + 1], thread_row,
                                        thread_column);
            fragments[i % 2].multiply(sums);
        }
        if (another) {
            next_a.store_transposed(tiles_a[set ^ 1]);
            next_b.store(tiles_b[set ^ 1]);
            __syncthreads();
            fragments[0].load(tiles_a[set ^ 1][0], tiles_b[set ^ 1][0], thread_row, thread_column);
        }
        fragments[1].multiply(sums);
    }

#pragma unroll
    for (int y = 0; y < THREAD_M; y++) {
        const int to_row = row + place_of<TILE_M, THREAD_M>(thread_row, y);
#pragma unroll
        for (int x = 0; x < THREAD_N; x += 4) {
            const int to_column = column + place_of<TILE_N, THREAD_N>(thread_column, x);
            if (to_row < m && to_column < n) {
                store_four(c + (int64)to_row * n + to_column, &sums[y][x], n - to_column, n % 4 == 0,
                           alpha, beta);
            }
        }
    }
}

#endif

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
