// softmax with METHOD registers. A block has a tile of TILE_ROWS rows, or a cluster has one row. Thread
// i of a row's threads in a block has the groups i, i + ROW_THREADS, ... of the block's part of the row.
static_assert(BLOCK_SIZE % ROW_THREADS == 0, "whole rows in a block");
static_assert((ROW_THREADS & (ROW_THREADS - 1)) == 0, "a power of two");
static_assert(CLUSTER == 1 || ROW_THREADS == BLOCK_SIZE, "a cluster has one row");

__device__ __forceinline__ void softmax_of(Elements &x, uint32 round)
{
    float largest = largest_of(x);
#if REDUCTION == REDUCTION_TWO_STEPS
    largest = row_reduce<Max>(largest, round);
    const float sum = row_reduce<Sum>(exps_of(x, largest), round);
    scale(x, reciprocal(sum));
#else
    const Part mine = {largest, exps_of(x, largest)};
    const Part all = row_reduce<Join>(mine, round);
    scale(x, exp_of(largest - all.largest) * reciprocal(all.sum));
#endif
}

#if LOAD == LOAD_BULK
static_assert(CLUSTER == 1, "a bulk copy has whole rows");

// Starts the copy of `bytes` into a stage; the barrier `full` opens when all of them have arrived.
__device__ void start_copy(uint64 *full, void *stage, const void *from, uint32 bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                 :
                 : "r"(shared_address(full)), "r"(bytes)
                 : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
                 "[%0], [%1], %2, [%3];"
                 :
                 : "r"(shared_address(stage)), "l"(from), "r"(bytes), "r"(shared_address(full))
                 : "memory");
}

__device__ void wait_full(uint64 *full, uint32 parity)
{
    uint32 done;
    do {
        asm volatile("{\n\t.reg .pred done;\n\t"
                     "mbarrier.try_wait.parity.shared::cta.b64 done, [%1], %2;\n\t"
                     "selp.u32 %0, 1, 0, done;\n\t}"
                     : "=r"(done)
                     : "r"(shared_address(full)), "r"(parity)
                     : "memory");
    } while (!done);
}

// Block t % gridDim.x has tile t. Thread 0 keeps STAGES copies in flight. It fills a stage again after
// a __syncthreads, which ensures that all threads have its elements in registers.
extern "C" __global__ void LAUNCH_BOUNDS softmax_registers(const Value *__restrict__ in,
                                                           Value *__restrict__ out, uint32 rows,
                                                           uint32 columns)
{
    extern __shared__ __align__(128) char stages[];
    __shared__ uint64 full[STAGES];
    const uint32 row_bytes = columns * (uint32)sizeof(Value);
    const uint32 tiles = (rows + TILE_ROWS - 1) / TILE_ROWS;
    const uint32 row_of_tile = threadIdx.x / ROW_THREADS;
    const uint32 first = threadIdx.x % ROW_THREADS;

    auto stage_at = [&](uint32 stage) { return stages + stage * TILE_ROWS * row_bytes; };
    auto start = [&](uint32 tile, uint32 stage) {
        const uint32 first_row = tile * TILE_ROWS;
        const uint32 count = rows - first_row < TILE_ROWS ? rows - first_row : TILE_ROWS;
        start_copy(full + stage, stage_at(stage), in + (uint64)first_row * columns,
                   count * row_bytes);
    };

    if (threadIdx.x == 0) {
        for (uint32 stage = 0; stage < STAGES; stage++) {
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;"
                         :
                         : "r"(shared_address(full + stage))
                         : "memory");
        }
        asm volatile("fence.proxy.async.shared::cta;" : : : "memory"); // for the copy engine
        for (uint32 stage = 0; stage < STAGES; stage++) {
            const uint64 tile = blockIdx.x + (uint64)stage * gridDim.x;
            if (tile < tiles) {
                start((uint32)tile, stage);
            }
        }
    }
    __syncthreads();

    uint32 stage = 0;
    uint32 parity = 0;
    uint32 round = 0;
    for (uint64 tile = blockIdx.x; tile < tiles; tile += gridDim.x, round++) {
        const uint64 row = tile * TILE_ROWS + row_of_tile;
        const uint32 groups = row < rows ? columns / VECTOR_WIDTH : 0;
        Elements x;
        wait_full(full + stage, parity);
        load_elements(x, (const Group *)(stage_at(stage) + row_of_tile * row_bytes), first,
                      ROW_THREADS, groups);
        if constexpr (SHARES == 1) {
            __syncthreads(); // softmax_of() has another one
        }
        softmax_of(x, round);
        const uint64 next = tile + (uint64)STAGES * gridDim.x;
        if (threadIdx.x == 0 && next < tiles) {
            start((uint32)next, stage);
        }
        store_elements(x, (Group *)(out + row * columns), first, ROW_THREADS, groups);
        if (++stage == STAGES) {
            stage = 0;
            parity ^= 1;
        }
    }
}

#else

extern "C" __global__ void LAUNCH_BOUNDS softmax_registers(const Value *__restrict__ in,
                                                           Value *__restrict__ out, uint32 rows,
                                                           uint32 columns)
{
#if CLUSTER > 1
    asm volatile("barrier.cluster.arrive.relaxed;" : : : "memory");
#endif
    const uint64 row = (uint64)(blockIdx.x / CLUSTER) * TILE_ROWS + threadIdx.x / ROW_THREADS;
    const uint32 groups = row < rows ? columns / VECTOR_WIDTH : 0;
    const uint32 first = cluster_rank() * ROW_THREADS * LOADS + threadIdx.x % ROW_THREADS;
    Elements x;
    load_elements(x, (const Group *)(in + row * columns), first, ROW_THREADS, groups);
#if CLUSTER > 1
    // only blocks that have begun have shared memory
    asm volatile("barrier.cluster.wait.acquire;" : : : "memory");
#endif
    softmax_of(x, 0);
    store_elements(x, (Group *)(out + row * columns), first, ROW_THREADS, groups);
}

#endif
