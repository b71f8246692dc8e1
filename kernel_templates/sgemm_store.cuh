// How a block stores its tile of C, after its last product, when it has nothing else to do while it waits for memory.
// So C is fetched into the L2 cache early, and a thread reads several groups of elements before it stores the first.
// Times on an H200, beta = 0.5, method = overlapped_split, tiles of 64 x 64 x 16, 4 x 8 per thread, compared with
// threads that read and store one group after another (geometric means of 15 sizes whose rows are aligned to 16 bytes,
// and of 12 others):
//                                                      aligned   others
//     four groups together; others in order of rows       0.83     0.92
//     C is fetched early, too                             0.79     0.79
#ifndef SGEMM_STORE_CUH
#define SGEMM_STORE_CUH

// A tile of C, which begins at (row, column).
struct TileOfC {
    float *c;
    int m;
    int n;
    float alpha;
    float beta;
    int row;
    int column;
};

// Fetches the tile into the L2 cache, 32 bytes at a time, if it is going to be read.
__device__ __forceinline__ void prefetch_tile(const TileOfC &to)
{
    if (to.beta == 0) {
        return;
    }
#pragma unroll 4
    for (int i = 0; i < THREAD_M * THREAD_N / 8; i++) {
        const int at = i * THREADS + threadIdx.x;
        const int y = to.row + at / (TILE_N / 8);
        const int x = to.column + at % (TILE_N / 8) * 8;
        if (y < to.m && x < to.n) {
            asm volatile("prefetch.global.L2 [%0];" : : "l"(to.c + (int64)y * to.n + x));
        }
    }
}

// Groups of four neighbours that a thread has. Its Place says where they are in the tile; the rows of a warp's threads
// are Place::ROWS_APART from each other.
constexpr int GROUPS = THREAD_M * THREAD_N / 4;

template <typename Place>
__device__ __forceinline__ int row_of_group(int group, const TileOfC &to, const Place &place)
{
    return to.row + place.row_of(group / (THREAD_N / 4));
}

template <typename Place>
__device__ __forceinline__ int column_of_group(int group, const TileOfC &to, const Place &place)
{
    return to.column + place.column_of(group % (THREAD_N / 4) * 4);
}

// Stores four groups, from `group` on. Rows are aligned to 16 bytes. What is outside of C reads any element of it, so
// that no read needs a branch.
template <typename Place>
__device__ __forceinline__ void store_aligned(const float (*sums)[4], int group, const TileOfC &to,
                                              const Place &place)
{
    float4 *at[4];
    bool inside[4];
    float4 old[4] = {};
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const int y = row_of_group(group + i, to, place);
        const int x = column_of_group(group + i, to, place);
        inside[i] = y < to.m && x < to.n;
        at[i] = (float4 *)(to.c + (int64)min(y, to.m - 1) * to.n + (x < to.n ? x : 0));
    }
    if (to.beta != 0) {
#pragma unroll
        for (int i = 0; i < 4; i++) {
            old[i] = *at[i];
        }
    }
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const float4 sum = make_float4(
            to.alpha * sums[i][0] + to.beta * old[i].x, to.alpha * sums[i][1] + to.beta * old[i].y,
            to.alpha * sums[i][2] + to.beta * old[i].z, to.alpha * sums[i][3] + to.beta * old[i].w);
        if (inside[i]) {
            *at[i] = sum;
        }
    }
}

// The same for two groups, and rows that are not aligned. The threads of a warp exchange their groups, so that
// neighbours store neighbouring elements. `exchange` has four floats for each thread of the block.
template <typename Place>
__device__ __forceinline__ void store_unaligned(const float (*sums)[4], int group,
                                                const TileOfC &to, const Place &place,
                                                float *exchange)
{
    const int lane = threadIdx.x % WARP_SIZE;
    float *of_warp = exchange + (threadIdx.x - lane) * 4;
    float *at[2][4];
    bool inside[2][4];
    float old[2][4] = {};
#pragma unroll
    for (int i = 0; i < 2; i++) {
        // the group of the whole warp has LANES_M rows of 4 * LANES_N elements
        const int row = row_of_group(group + i, to, place) - lane / LANES_N * Place::ROWS_APART;
        const int column = column_of_group(group + i, to, place) - lane % LANES_N * 4;
#pragma unroll
        for (int j = 0; j < 4; j++) {
            const int y = row + (j * WARP_SIZE + lane) / (4 * LANES_N) * Place::ROWS_APART;
            const int x = column + (j * WARP_SIZE + lane) % (4 * LANES_N);
            inside[i][j] = y < to.m && x < to.n;
            at[i][j] = to.c + (int64)min(y, to.m - 1) * to.n + min(x, to.n - 1);
        }
    }
    if (to.beta != 0) {
#pragma unroll
        for (int i = 0; i < 2; i++) {
#pragma unroll
            for (int j = 0; j < 4; j++) {
                old[i][j] = *at[i][j];
            }
        }
    }
#pragma unroll
    for (int i = 0; i < 2; i++) {
        *(float4 *)&of_warp[4 * lane] =
            make_float4(sums[i][0], sums[i][1], sums[i][2], sums[i][3]);
        __syncwarp();
#pragma unroll
        for (int j = 0; j < 4; j++) {
            const float sum = to.alpha * of_warp[j * WARP_SIZE + lane] + to.beta * old[i][j];
            if (inside[i][j]) {
                *at[i][j] = sum;
            }
        }
        __syncwarp();
    }
}

// C = alpha * sums + beta * C for all sums of the block. It may overwrite `exchange`, which has four floats for each
// thread in shared memory.
template <typename Place>
__device__ __forceinline__ void store_sums(const float (*sums)[THREAD_N], const TileOfC &to,
                                           const Place &place, float *exchange)
{
    const float(*groups)[4] = (const float(*)[4])sums;
    if (to.n % 4 == 0) {
#pragma unroll
        for (int i = 0; i < GROUPS; i += 4) {
            store_aligned(groups + i, i, to, place);
        }
    } else {
        __syncthreads();
#pragma unroll
        for (int i = 0; i < GROUPS; i += 2) {
            store_unaligned(groups + i, i, to, place, exchange);
        }
    }
}

#endif
