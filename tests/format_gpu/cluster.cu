/* out = 2 * in, through the shared memory of the next block in the cluster. */
#ifndef BLOCK_SIZE
#define BLOCK_SIZE 256
#endif
#ifndef CLUSTER_SIZE
#define CLUSTER_SIZE 2
#endif

typedef unsigned long long u64;

__device__ unsigned cluster_rank()
{
    unsigned rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}

__device__ unsigned cluster_blocks()
{
    unsigned blocks;
    asm volatile("mov.u32 %0, %%cluster_nctarank;" : "=r"(blocks));
    return blocks;
}

__device__ void cluster_sync()
{
    asm volatile("barrier.cluster.arrive.release;\n\tbarrier.cluster.wait.acquire;" ::: "memory");
}

/* Writes to the place of `local` in block `rank` of the cluster. */
__device__ void store_in_block(float *local, unsigned rank, float value)
{
    unsigned address = (unsigned)__cvta_generic_to_shared(local);
    asm volatile("{\n\t.reg .b32 remote;\n\t"
                 "mapa.shared::cluster.u32 remote, %0, %1;\n\t"
                 "st.shared::cluster.f32 [remote], %2;\n\t}" ::"r"(address),
                 "r"(rank), "f"(value)
                 : "memory");
}

extern "C" __global__ void __launch_bounds__(BLOCK_SIZE) pass_on(const float *in, float *out)
{
    __shared__ float tile[BLOCK_SIZE];
    unsigned rank = cluster_rank();
    unsigned next = (rank + 1) % CLUSTER_SIZE;
    unsigned before = (rank + CLUSTER_SIZE - 1) % CLUSTER_SIZE;
    u64 first = (u64)(blockIdx.x - rank) * BLOCK_SIZE; /* of the cluster */
    cluster_sync();                                    /* all of its blocks run */
    store_in_block(&tile[threadIdx.x], next, in[first + rank * BLOCK_SIZE + threadIdx.x]);
    cluster_sync();
    if (cluster_blocks() == CLUSTER_SIZE)
        out[first + before * BLOCK_SIZE + threadIdx.x] = 2.0f * tile[threadIdx.x];
}

extern "C" __global__ void pass_on_reference(const float *in, float *reference, u64 n)
{
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (u64)gridDim.x * blockDim.x)
        reference[i] = 2.0f * in[i];
}
