/* Rounds of increments with a grid barrier between them, under a cooperative launch. */
#ifndef BLOCK_SIZE
#define BLOCK_SIZE 128
#endif
#ifndef ROUNDS
#define ROUNDS 4
#endif

typedef unsigned int u32;

/* The counter only grows: the blocks of a round wait for it to pass the next multiple of the grid's size. */
__device__ static void rounds_wait(u32 *counter)
{
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        u32 target = (atomicAdd(counter, 1u) / gridDim.x + 1) * gridDim.x;
        while (*(volatile u32 *)counter < target)
            ;
        __threadfence();
    }
    __syncthreads();
}

/* Each round every block adds one for every element of its neighbour's share. */
extern "C" __global__ void rounds_run(u32 *counter, u32 *out, u32 count, u32 rounds)
{
    for (u32 round = 0; round < rounds; round++) {
        u32 share = (blockIdx.x + round) % gridDim.x;
        for (u32 i = share * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
            out[i] = (round == 0 ? 0 : out[i]) + 1;
        rounds_wait(counter);
    }
}
