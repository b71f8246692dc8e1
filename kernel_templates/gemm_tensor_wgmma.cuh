// gemm_tensor with METHOD wgmma, for compute capability 9.0. The last warp, the producer, copies tiles
// of A and B into a ring of STAGES stages with bulk tensor copies. WARPGROUPS warpgroups, the
// consumers, multiply them. Two barriers per stage hand it over:
//
//   full    completes when all bytes of the stage have arrived, which the producer announces;
//   empty   completes when every consumer warp, of all blocks of the cluster, has used the stage.
//
// Rows of tiles in shared memory have 64 elements, 128 bytes, whose 16-byte chunks the tensor map
// rearranges (swizzle(128)) in the way that wgmma expects. A deeper TILE_K has several such tiles.
//
// A block may compute several tiles of C, one after the other. While the consumers store one, the
// producer loads the first stages of the next.
//
// In a cluster, each block loads 1 / CLUSTER_M of the tile of B and multicasts it to all blocks, into
// the same place, and the copy reports to each block's own `full`.
#define ROW_ELEMENTS 64 // of a tile in shared memory
#define ROW_BYTES (2 * ROW_ELEMENTS)
#define SUBTILES (TILE_K / ROW_ELEMENTS)
#define A_BYTES (TILE_M * ROW_BYTES) // of a subtile
#define B_BYTES (TILE_N * ROW_BYTES)
#define STAGE_BYTES (SUBTILES * (A_BYTES + B_BYTES))
#define B_PART (TILE_N / CLUSTER_M) // rows that a block loads

#define CONSUMER_WARPS (4 * WARPGROUPS)
#define THREADS (32 * CONSUMER_WARPS + 32)
#define WARPGROUP_M (TILE_M / WARPGROUPS) // rows of a warpgroup
#define MULTIPLIES (WARPGROUP_M / 64)     // wgmma instructions that cover them
#define SUMS (TILE_N / 2)             // of a thread, in one of them

static_assert(TILE_K % ROW_ELEMENTS == 0, "TILE_K is a multiple of 64");
static_assert(WARPGROUP_M % 64 == 0, "a warpgroup has a multiple of 64 rows");
static_assert(B_PART % 8 == 0, "parts of B begin where the swizzle's pattern does");

// A CUtensorMap.
struct alignas(64) TensorMap {
    uint64 opaque[16];
};

struct Barriers {
    uint64 full[STAGES];
    uint64 empty[STAGES];
};

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

// ---- Barriers -----------------------------------------------------------------------------------

__device__ __forceinline__ void barrier_init(uint64 *barrier, uint32 arrivals)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;"
                 :
                 : "r"(shared_address(barrier)), "r"(arrivals)
                 : "memory");
}

// Arrives, and makes the phase wait for so many bytes.
__device__ __forceinline__ void barrier_expect(uint64 *barrier, uint32 bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                 :
                 : "r"(shared_address(barrier)), "r"(bytes)
                 : "memory");
}

// Arrives at the barrier of block `rank` of the cluster that is where `barrier` is in this one. There
// is nothing to publish, as consumers only read: a release at the scope of the cluster would wait for
// all memory of the GPU.
__device__ __forceinline__ void barrier_arrive(uint64 *barrier, uint32 rank)
{
#if CLUSTER_M > 1
    asm volatile("{\n\t.reg .b32 remote;\n\t"
                 "mapa.shared::cluster.u32 remote, %0, %1;\n\t"
                 "mbarrier.arrive.shared::cluster.b64 _, [remote];\n\t}"
                 :
                 : "r"(shared_address(barrier)), "r"(rank)
                 : "memory");
#else
    (void)rank;
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];"
                 :
                 : "r"(shared_address(barrier))
                 : "memory");
#endif
}

// Waits for the end of the phase of this parity; the phase before the first has parity 1.
__device__ __forceinline__ void barrier_wait(uint64 *barrier, uint32 parity)
{
    uint32 done;
    do {
        asm volatile("{\n\t.reg .pred done;\n\t"
                     "mbarrier.try_wait.parity.shared::cta.b64 done, [%1], %2;\n\t"
                     "selp.u32 %0, 1, 0, done;\n\t}"
                     : "=r"(done)
                     : "r"(shared_address(barrier)), "r"(parity)
                     : "memory");
    } while (done == 0);
}

// All threads of all blocks of the cluster, or of the block.
__device__ __forceinline__ void cluster_sync()
{
#if CLUSTER_M > 1
    asm volatile("barrier.cluster.arrive.release;\n\tbarrier.cluster.wait.acquire;" : : : "memory");
#else
    __syncthreads();
#endif
}

__device__ __forceinline__ uint32 cluster_rank()
{
    uint32 rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}

// The stage of a step, and the parity of its phase.
struct Ring {
    int stage = 0;
    uint32 parity = 0;
    __device__ __forceinline__ void advance()
    {
        if (++stage == STAGES) {
            stage = 0;
            parity ^= 1;
        }
    }
};

// ---- Producer -----------------------------------------------------------------------------------

__device__ __forceinline__ void copy_box(uint32 to, const TensorMap *map, int x, int y, uint64 *full)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%2, %3}], [%4];"
                 :
                 : "r"(to), "l"(map), "r"(x), "r"(y), "r"(shared_address(full))
                 : "memory");
}

// The same into all blocks of the cluster.
__device__ __forceinline__ void multicast_box(uint32 to, const TensorMap *map, int x, int y,
                                              uint64 *full)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
                 ".multicast::cluster [%0], [%1, {%2, %3}], [%4], %5;"
                 :
                 : "r"(to), "l"(map), "r"(x), "r"(y), "r"(shared_address(full)),
                   "h"((uint16)((1 << CLUSTER_M) - 1))
                 : "memory");
}

// One thread: all copies for a tile of C. Elements beyond the edges of A and B are 0, and count as
// bytes.
__device__ __forceinline__ void produce(const TensorMap *a, const TensorMap *b, uint32 tiles,
                                        Barriers *barriers, Ring &ring, Place place, int steps)
{
    const int part = CLUSTER_M > 1 ? (int)cluster_rank() * B_PART : 0;
    for (int step = 0; step < steps; step++, ring.advance()) {
        uint64 *full = &barriers->full[ring.stage];
        const uint32 a_tile = tiles + ring.stage * STAGE_BYTES;
        const uint32 b_tile = a_tile + SUBTILES * A_BYTES + part * ROW_BYTES;
        barrier_wait(&barriers->empty[ring.stage], ring.parity ^ 1);
        barrier_expect(full, STAGE_BYTES);
#pragma unroll
        for (int i = 0; i < SUBTILES; i++) {
            const int x = step * TILE_K + i * ROW_ELEMENTS;
            copy_box(a_tile + i * A_BYTES, a, x, place.row, full);
            if (CLUSTER_M > 1) {
                multicast_box(b_tile + i * B_BYTES, b, x, place.column + part, full);
            } else {
                copy_box(b_tile + i * B_BYTES, b, x, place.column, full);
            }
        }
    }
}

// ---- Consumers ----------------------------------------------------------------------------------

// Where a matrix begins in shared memory, for wgmma: rows of 128 bytes with the swizzle of 128 bytes
// (1 in bits 62 and 63), groups of 8 rows 1024 bytes apart (bits 32 to 45); the offset in bits 16 to 29
// is not used with a swizzle. Addresses and offsets are in units of 16 bytes.
__device__ __forceinline__ uint64 describe_matrix(uint32 address)
{
    return (uint64)((address & 0x3ffff) >> 4) | (uint64)1 << 16 | (uint64)(1024 >> 4) << 32 |
           (uint64)1 << 62;
}

// The text "%0, %1, ... %9" of ten operands, with the tens in front.
#define TEN(tens)                                                                                  \
    "%" #tens "0, %" #tens "1, %" #tens "2, %" #tens "3, %" #tens "4, %" #tens "5, %" #tens        \
    "6, %" #tens "7, %" #tens "8, %" #tens "9, "
#define FOUR(sums, i) "+f"(sums[i]), "+f"(sums[i + 1]), "+f"(sums[i + 2]), "+f"(sums[i + 3])
#define SIXTEEN(sums, i)                                                                           \
    FOUR(sums, i), FOUR(sums, i + 4), FOUR(sums, i + 8), FOUR(sums, i + 12)
#define THIRTY_TWO(sums, i) SIXTEEN(sums, i), SIXTEEN(sums, i + 16)

#if TILE_N == 64
#define SHAPE "m64n64k16"
#define SUM_OPERANDS TEN() TEN(1) TEN(2) "%30, %31"
#define MATRIX_OPERANDS "%32, %33"
#define SUM_LIST(sums) THIRTY_TWO(sums, 0)
#elif TILE_N == 128
#define SHAPE "m64n128k16"
#define SUM_OPERANDS TEN() TEN(1) TEN(2) TEN(3) TEN(4) TEN(5) "%60, %61, %62, %63"
#define MATRIX_OPERANDS "%64, %65"
#define SUM_LIST(sums) THIRTY_TWO(sums, 0), THIRTY_TWO(sums, 32)
#elif TILE_N == 192
#define SHAPE "m64n192k16"
#define SUM_OPERANDS                                                                               \
    TEN() TEN(1) TEN(2) TEN(3) TEN(4) TEN(5) TEN(6) TEN(7) TEN(8) "%90, %91, %92, %93, %94, %95"
#define MATRIX_OPERANDS "%96, %97"
#define SUM_LIST(sums) THIRTY_TWO(sums, 0), THIRTY_TWO(sums, 32), THIRTY_TWO(sums, 64)
#elif TILE_N == 256
#define SHAPE "m64n256k16"
#define SUM_OPERANDS                                                                               \
    TEN() TEN(1) TEN(2) TEN(3) TEN(4) TEN(5) TEN(6) TEN(7) TEN(8) TEN(9) TEN(10) TEN(11)           \
    "%120, %121, %122, %123, %124, %125, %126, %127"
#define MATRIX_OPERANDS "%128, %129"
#define SUM_LIST(sums)                                                                             \
    THIRTY_TWO(sums, 0), THIRTY_TWO(sums, 32), THIRTY_TWO(sums, 64), THIRTY_TWO(sums, 96)
#else
#error TILE_N must be 64, 128, 192 or 256
#endif

// Begins sums += A * B^T, for 64 rows of A, TILE_N rows of B and a depth of 16.
__device__ __forceinline__ void multiply(float (&sums)[SUMS], uint64 a, uint64 b)
{
    asm volatile("wgmma.mma_async.sync.aligned." SHAPE ".f32.f16.f16 {" SUM_OPERANDS
                 "}, " MATRIX_OPERANDS ", 1, 1, 1, 0, 0;"
                 : SUM_LIST(sums)
                 : "l"(a), "l"(b)
                 : "memory");
}

__device__ __forceinline__ void multiply_fence()
{
    asm volatile("wgmma.fence.sync.aligned;" : : : "memory");
}

__device__ __forceinline__ void multiply_commit()
{
    asm volatile("wgmma.commit_group.sync.aligned;" : : : "memory");
}

// Waits until at most PENDING steps are not complete.
template <int PENDING> __device__ __forceinline__ void multiply_wait()
{
    asm volatile("wgmma.wait_group.sync.aligned %0;" : : "n"(PENDING) : "memory");
}

// The compiler must not move accesses to the sums over this.
__device__ __forceinline__ void hold(float (&sums)[MULTIPLIES][SUMS])
{
#pragma unroll
    for (int i = 0; i < MULTIPLIES; i++) {
#pragma unroll
        for (int j = 0; j < SUMS; j++) {
            asm volatile("" : "+f"(sums[i][j]) : : "memory");
        }
    }
}

__device__ __forceinline__ void multiply_stage(float (&sums)[MULTIPLIES][SUMS], uint32 a_tile,
                                               uint32 b_tile)
{
    const uint64 a = describe_matrix(a_tile);
    const uint64 b = describe_matrix(b_tile);
#pragma unroll
    for (int k = 0; k < TILE_K / 16; k++) {
        const int subtile = k / 4;
        const uint32 depth = k % 4 * 32; // bytes within a row
#pragma unroll
        for (int i = 0; i < MULTIPLIES; i++) {
            multiply(sums[i], a + (subtile * A_BYTES + i * 64 * ROW_BYTES + depth) / 16,
                     b + (subtile * B_BYTES + depth) / 16);
        }
    }
}

// One lane of each consumer warp and for each block: the stage can be loaded again.
__device__ __forceinline__ void free_stage(Barriers *barriers, int stage)
{
    const uint32 lane = threadIdx.x % 32;
    if (lane < CLUSTER_M) {
        barrier_arrive(&barriers->empty[stage], lane);
    }
}

// A tile of C. Always one step is being multiplied, while the stage of the step before it is given
// back. At the end, all stages are.
__device__ __forceinline__ void consume(float (&sums)[MULTIPLIES][SUMS], uint32 tiles,
                                        Barriers *barriers, Ring &ring, int steps)
{
    // the same for the whole warp, which the compiler cannot know
    const uint32 warpgroup = __shfl_sync(FULL_WARP, threadIdx.x / 128, 0);
    const uint32 rows = warpgroup * WARPGROUP_M * ROW_BYTES; // in front of the warpgroup's
    int before = 0;                                              // the stage of the step before
    hold(sums);
    for (int step = 0; step < steps; step++, ring.advance()) {
        const uint32 a_tile = tiles + ring.stage * STAGE_BYTES;
        barrier_wait(&barriers->full[ring.stage], ring.parity);
        multiply_fence();
        multiply_stage(sums, a_tile + rows, a_tile + SUBTILES * A_BYTES);
        multiply_commit();
        if (step > 0) {
            multiply_wait<1>();
            free_stage(barriers, before);
        }
        before = ring.stage;
    }
    multiply_wait<0>();
    hold(sums);
    free_stage(barriers, before);
}

// Lanes 4 i to 4 i + 3 of a warp have its rows i and i + 8, of 16.
__device__ __forceinline__ void store_sums(const float (&sums)[MULTIPLIES][SUMS], Output *c, int m,
                                           int n, Place place)
{
    const int warp_row = threadIdx.x / 128 * WARPGROUP_M + threadIdx.x / 32 % 4 * 16;
    const int row = place.row + warp_row + threadIdx.x % 32 / 4;
#pragma unroll
    for (int i = 0; i < MULTIPLIES; i++) {
        store_row<TILE_N / 8>(c, m, n, row + i * 64, place.column, sums[i], 0);
        store_row<TILE_N / 8>(c, m, n, row + i * 64 + 8, place.column, sums[i], 2);
    }
}

#endif

// ---- Together -----------------------------------------------------------------------------------

extern "C" __global__ void __launch_bounds__(THREADS, MIN_BLOCKS)
    gemm_wgmma(const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b, Output *c,
               int m, int n, int k, int group_m)
{
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
    extern __shared__ unsigned char memory[];
    __shared__ Barriers barriers;
    const uint32 tiles = (shared_address(memory) + 1023) / 1024 * 1024; // as the swizzle needs it
    const int count = tile_count(m, n);
    const int steps = (k + TILE_K - 1) / TILE_K;
    Ring ring;
    if (threadIdx.x == 0) {
        for (int stage = 0; stage < STAGES; stage++) {
            barrier_init(&barriers.full[stage], 1);
            barrier_init(&barriers.empty[stage], CONSUMER_WARPS * CLUSTER_M);
        }
        asm volatile("fence.mbarrier_init.release.cluster;\n\tfence.proxy.async;" : : : "memory");
    }
    cluster_sync();
    if (threadIdx.x < 32 * CONSUMER_WARPS) {
        for (int tile = blockIdx.x; tile < count; tile += gridDim.x) {
            float sums[MULTIPLIES][SUMS] = {};
            consume(sums, tiles, &barriers, ring, steps);
            store_sums(sums, c, m, n, place_of_tile(tile, m, n, group_m));
        }
    } else {
        if (threadIdx.x == 32 * CONSUMER_WARPS) {
            for (int tile = blockIdx.x; tile < count; tile += gridDim.x) {
                produce(&a, &b, tiles, &barriers, ring, place_of_tile(tile, m, n, group_m), steps);
            }
        }
        __syncwarp();
    }
#if CLUSTER_M > 1
    cluster_sync(); // other blocks may still arrive at this one's barriers
#endif
#else
#error METHOD wgmma needs the features of sm_90a
#endif
}
