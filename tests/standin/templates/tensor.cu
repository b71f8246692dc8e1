/* A matrix in tiles of 32 x 32 that a tensor map loads; beyond the edges they have zeros. */
#ifndef BLOCK_SIZE
#define BLOCK_SIZE 128
#endif
#define TILE 32

struct alignas(64) tensor_map {
    unsigned long long opaque[16];
};

#ifdef __CUDA_ARCH__
__device__ unsigned shared_address(const void *at)
{
    return (unsigned)__cvta_generic_to_shared(at);
}

/* All threads call: one starts the copy, all wait for it. `phase` changes from call to call. */
__device__ void load_box(float *to, const tensor_map *map, int x, int y, unsigned long long *barrier,
                         unsigned phase)
{
#if __CUDA_ARCH__ >= 900
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)),
                     "r"(TILE * TILE * 4)
                     : "memory");
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
                     " [%0], [%1, {%2, %3}], [%4];" ::"r"(shared_address(to)),
                     "l"(map), "r"(x), "r"(y), "r"(shared_address(barrier))
                     : "memory");
    }
    asm volatile("{\n\t.reg .pred done;\n\t"
                 "WAIT:\n\t"
                 "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n\t"
                 "@!done bra WAIT;\n\t}" ::"r"(shared_address(barrier)),
                 "r"(phase)
                 : "memory");
#else
    __trap();
#endif
}

__device__ void make_barrier(unsigned long long *barrier)
{
#if __CUDA_ARCH__ >= 900
    if (threadIdx.x == 0)
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;\n\t"
                     "fence.mbarrier_init.release.cluster;" ::"r"(shared_address(barrier))
                     : "memory");
#endif
    __syncthreads();
}
#else /* the stand-in has its own load_box() */
#define make_barrier(barrier) (void)(barrier)
#endif

/* `SWIZZLED`: 16-byte chunk c of row r is at place c ^ r % 8 of the row. */
#define COPY_TILES(SWIZZLED)                                                                       \
    alignas(1024) __shared__ float tile[TILE * TILE];                                              \
    __shared__ unsigned long long barrier;                                                         \
    int columns = (width + TILE - 1) / TILE;                                                       \
    int rows = (height + TILE - 1) / TILE;                                                         \
    unsigned phase = 0;                                                                            \
    make_barrier(&barrier);                                                                        \
    for (int t = blockIdx.x; t < columns * rows; t += gridDim.x, phase ^= 1) {                     \
        int x = t % columns * TILE, y = t / columns * TILE;                                        \
        load_box(tile, &in, x, y, &barrier, phase);                                                \
        for (int i = threadIdx.x; i < TILE * TILE; i += blockDim.x) {                              \
            int column = i % TILE, row = i / TILE;                                                 \
            int place = SWIZZLED ? (column / 4 ^ row % 8) * 4 + column % 4 : column;               \
            out[(y + row) * columns * TILE + x + column] = tile[row * TILE + place];               \
        }                                                                                          \
        __syncthreads();                                                                           \
    }

extern "C" __global__ void __launch_bounds__(BLOCK_SIZE)
    tensor_plain(const __grid_constant__ tensor_map in, float *out, int width, int height)
{
    COPY_TILES(false)
}

extern "C" __global__ void __launch_bounds__(BLOCK_SIZE)
    tensor_swizzled(const __grid_constant__ tensor_map in, float *out, int width, int height)
{
    COPY_TILES(true)
}

extern "C" __global__ void tensor_reference(const float *in, float *reference, int width, int height, int pitch)
{
    int columns = (width + TILE - 1) / TILE * TILE;
    int rows = (height + TILE - 1) / TILE * TILE;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < columns * rows; i += gridDim.x * blockDim.x) {
        int x = i % columns, y = i / columns;
        reference[i] = x < width && y < height ? in[y * pitch + x] : 0;
    }
}
