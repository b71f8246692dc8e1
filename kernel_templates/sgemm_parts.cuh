// How blocks share a tile of C: each adds up its part of k, and the last to arrive adds what the others left in
// `partials`. There is a ticket for each tile, which is 0 again afterwards.
#ifndef SGEMM_PARTS_CUH
#define SGEMM_PARTS_CUH

// Where a block's sums of a tile are in `partials`, as its threads hold them.
__device__ __forceinline__ float4 *partial_of(float4 *partials, int64 place)
{
    return partials + place * (THREAD_M * THREAD_N / 4) * THREADS + threadIdx.x;
}

__device__ __forceinline__ void store_partial(float4 *to, const float (*sums)[THREAD_N])
{
#pragma unroll
    for (int i = 0; i < THREAD_M * THREAD_N / 4; i++) {
        to[i * THREADS] = ((const float4 *)sums)[i];
    }
}

__device__ __forceinline__ void add_four(float *sums, float4 four)
{
    sums[0] += four.x;
    sums[1] += four.y;
    sums[2] += four.z;
    sums[3] += four.w;
}

__device__ __forceinline__ void add_partial(float (*sums)[THREAD_N], const float4 *from)
{
#pragma unroll
    for (int i = 0; i < THREAD_M * THREAD_N / 4; i++) {
        add_four(&sums[0][0] + 4 * i, __ldcg(from + i * THREADS));
    }
}

// Whether this block is the last of `parts` to arrive, so that it sees what all others have stored.
__device__ __forceinline__ bool is_last_of(uint32 parts, uint32 *ticket_of_tile)
{
    __shared__ uint32 ticket;
    __syncthreads();
    if (threadIdx.x == 0) {
        ticket = increment_acquire_release(ticket_of_tile, parts - 1);
    }
    __syncthreads();
    return ticket == parts - 1;
}

#if METHOD != METHOD_STREAMED

// The part of k, from `first` to `last` - 1, of this one of the gridDim.z blocks that share a tile. Parts
// begin with a whole step, and are as equal as whole steps allow.
__device__ __forceinline__ void find_part(int k, int &first, int &last)
{
    const int steps = (k + TILE_K - 1) / TILE_K;
    const int share = steps / gridDim.z;
    const int longer = steps % gridDim.z; // so many parts have a step more
    const int begin = blockIdx.z * share + min((int)blockIdx.z, longer);
    first = min(k, begin * TILE_K);
    last = min(k, (begin + share + ((int)blockIdx.z < longer)) * TILE_K);
}

// Groups that the last block of a tile adds up at a time, and parts of them that it reads at once, so that they do not
// wait for each other.
constexpr int GROUPS_AT_ONCE = GROUPS % 8 == 0 ? 8 : 4;
constexpr int PARTS_AT_ONCE = GROUPS > 8 ? 2 : 8 / GROUPS;

// Adds the sums of all blocks that share this tile, in the order of the parts. Returns whether this block has the total:
// the last to arrive does.
__device__ __forceinline__ bool add_other_parts(float (*sums)[THREAD_N], float4 *partials,
                                                uint32 *tickets)
{
    const int tiles = gridDim.x * gridDim.y;
    const int tile = blockIdx.y * gridDim.x + blockIdx.x;
    store_partial(partial_of(partials, (int64)blockIdx.z * tiles + tile), sums);
    if (!is_last_of(gridDim.z, &tickets[tile])) {
        return false;
    }
#pragma unroll
    for (int group = 0; group < GROUPS; group += GROUPS_AT_ONCE) {
        float *total = &sums[0][0] + 4 * group;
#pragma unroll
        for (int i = 0; i < 4 * GROUPS_AT_ONCE; i++) {
            total[i] = 0;
        }
#pragma unroll PARTS_AT_ONCE
        for (int part = 0; part < (int)gridDim.z; part++) {
            const float4 *from = partial_of(partials, (int64)part * tiles + tile) + group * THREADS;
#pragma unroll
            for (int i = 0; i < GROUPS_AT_ONCE; i++) {
                add_four(total + 4 * i, __ldcg(from + i * THREADS));
            }
        }
    }
    return true;
}

#endif

#endif
