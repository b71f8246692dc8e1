// gemm_tensor with METHOD mma, from compute capability 8.0 on: cp.async copies the tiles of the next
// steps into shared memory while mma.sync multiplies those of this one. 16-byte chunks of rows are
// rearranged, so that neither the copies nor ldmatrix have bank conflicts.
#define ROW_BYTES (2 * TILE_K)
#define ROW_CHUNKS (TILE_K / 8)
#define STAGE_BYTES ((TILE_M + TILE_N) * ROW_BYTES)
#define THREADS (32 * WARPS_M * WARPS_N)
#define WARP_M (TILE_M / WARPS_M) // rows and columns of a warp
#define WARP_N (TILE_N / WARPS_N)

static_assert(WARP_M % 16 == 0 && WARP_N % 16 == 0, "a warp has multiples of 16 rows and columns");

// Chunk c of row r of 128 bytes is at place c ^ r % 8; shorter rows share 128 bytes.
__device__ __forceinline__ uint32 rearranged(uint32 offset)
{
    return offset ^ (offset >> 3 & 0x70);
}

// ---- Copies -------------------------------------------------------------------------------------

// Begins to copy ROWS rows; elements beyond the edges are 0.
template <int ROWS>
__device__ __forceinline__ void copy_tile(uint32 to, const uint16 *matrix, int rows, int k, int row,
                                          int column)
{
    static_assert(ROWS * ROW_CHUNKS % THREADS == 0, "every thread copies as many chunks");
#pragma unroll
    for (int i = 0; i < ROWS * ROW_CHUNKS / THREADS; i++) {
        const int chunk = i * THREADS + threadIdx.x;
        const int y = row + chunk / ROW_CHUNKS;
        const int x = column + chunk % ROW_CHUNKS * 8;
        const bool inside = y < rows && x < k;
        const uint16 *from = matrix + (inside ? (int64)y * k + x : 0);
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                     :
                     : "r"(to + rearranged(chunk * 16)), "l"(from), "r"(inside ? 16 : 0)
                     : "memory");
    }
}

__device__ __forceinline__ void copy_stage(uint32 to, const uint16 *a, const uint16 *b, int m, int n,
                                           int k, Place place, int step)
{
    copy_tile<TILE_M>(to, a, m, k, place.row, step * TILE_K);
    copy_tile<TILE_N>(to + TILE_M * ROW_BYTES, b, n, k, place.column, step * TILE_K);
}

__device__ __forceinline__ void copy_commit()
{
    asm volatile("cp.async.commit_group;" : : : "memory");
}

template <int PENDING> __device__ __forceinline__ void copy_wait()
{
    asm volatile("cp.async.wait_group %0;" : : "n"(PENDING) : "memory");
}

// ---- Multiplying --------------------------------------------------------------------------------

// Four matrices of 8 x 8; lane 8 i + j gives the address of row j of matrix i.
__device__ __forceinline__ void load_matrices(uint32 (&matrices)[4], uint32 tile, int row, int chunk)
{
    const uint32 from = tile + rearranged(row * ROW_BYTES + chunk * 16);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(matrices[0]), "=r"(matrices[1]), "=r"(matrices[2]), "=r"(matrices[3])
                 : "r"(from)
                 : "memory");
}

// sums += A * B^T, for 16 rows of A, 8 rows of B and a depth of 16.
__device__ __forceinline__ void multiply(float *sums, const uint32 (&a)[4], const uint32 *b)
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, "
                 "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// 16 rows each; of 8 columns, a thread has 4 sums.
typedef float Sums[WARP_M / 16][WARP_N / 8 * 4];

__device__ __forceinline__ int warp_row()
{
    return (int)threadIdx.x / 32 / WARPS_N * WARP_M;
}

__device__ __forceinline__ int warp_column()
{
    return (int)threadIdx.x / 32 % WARPS_N * WARP_N;
}

__device__ __forceinline__ void multiply_stage(Sums &sums, uint32 a_tile)
{
    const uint32 b_tile = a_tile + TILE_M * ROW_BYTES;
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int k = 0; k < TILE_K / 16; k++) {
        uint32 a[WARP_M / 16][4];
        uint32 b[WARP_N / 16][4];
#pragma unroll
        for (int i = 0; i < WARP_M / 16; i++) {
            load_matrices(a[i], a_tile, warp_row() + i * 16 + lane % 16, k * 2 + lane / 16);
        }
#pragma unroll
        for (int j = 0; j < WARP_N / 16; j++) {
            load_matrices(b[j], b_tile, warp_column() + j * 16 + lane / 16 * 8 + lane % 8,
                          k * 2 + lane / 8 % 2);
        }
#pragma unroll
        for (int i = 0; i < WARP_M / 16; i++) {
#pragma unroll
            for (int j = 0; j < WARP_N / 8; j++) {
                multiply(sums[i] + 4 * j, a[i], &b[j / 2][j % 2 * 2]);
            }
        }
    }
}

// Lanes 4 i to 4 i + 3 have rows i and i + 8, of 16.
__device__ __forceinline__ void store_sums(const Sums &sums, Output *c, int m, int n, Place place)
{
    const int row = place.row + warp_row() + (int)threadIdx.x % 32 / 4;
    const int column = place.column + warp_column();
#pragma unroll
    for (int i = 0; i < WARP_M / 16; i++) {
        store_row<WARP_N / 8>(c, m, n, row + i * 16, column, sums[i], 0);
        store_row<WARP_N / 8>(c, m, n, row + i * 16 + 8, column, sums[i], 2);
    }
}

// ---- Together -----------------------------------------------------------------------------------

extern "C" __global__ void __launch_bounds__(THREADS, MIN_BLOCKS)
    gemm_mma(const uint16 *__restrict__ a, const uint16 *__restrict__ b, Output *__restrict__ c,
             int m, int n, int k, int group_m)
{
    extern __shared__ unsigned char memory[];
    const uint32 tiles = shared_address(memory);
    const Place place = place_of_tile((int)blockIdx.x, m, n, group_m);
    const int steps = (k + TILE_K - 1) / TILE_K;
    Sums sums = {};
#pragma unroll
    for (int step = 0; step < STAGES - 1; step++) {
        copy_stage(tiles + step * STAGE_BYTES, a, b, m, n, k, place, step);
        copy_commit();
    }
    for (int step = 0; step < steps; step++) {
        const int next = step + STAGES - 1;
        copy_wait<STAGES - 2>();
        __syncthreads(); // the copies of all threads are here, and the stage of `next` is used
        copy_stage(tiles + next % STAGES * STAGE_BYTES, a, b, m, n, k, place, next);
        copy_commit();
        multiply_stage(sums, tiles + step % STAGES * STAGE_BYTES);
    }
    copy_wait<0>();
    store_sums(sums, c, m, n, place);
}
