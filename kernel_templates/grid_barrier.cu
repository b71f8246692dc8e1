// A barrier over all blocks, thousands of times in one launch.
//
// BARRIER     lock: one counter, to which each block adds 1 and then spins until it reaches a
//             multiple of the grid size.
//             lock_free: one flag per block; thread 0 of each block polls all flags in turn.
//             lock_free_parallel: each thread polls one flag.
//             gather: block 0 polls all flags and releases the others with one word.
//             sense: a counter that resets itself, and a word that the last arrival changes.
//             tree: groups of FAN_IN blocks count, and the last of each group counts at the root.
//             cluster: clusters of FAN_IN blocks synchronise in hardware, and one block per cluster
//             counts.
//             cooperative: grid.sync() of cooperative groups.
//             none: no barrier at all. The outcome is always wrong_result.
// ARRIVE, POLL, POLL_DELAY: details of waiting, explained in barriers.cuh.
// BLOCK_SIZE  threads per block. The barrier itself needs one; the others wait at bar.sync. `total`
//             needs exactly so many; for the other tests a block may have fewer.
//
// TEST (part of the problem) says what happens between barriers:
//   latency   nothing, so that time / rounds is the cost of a barrier; a few checked rounds follow.
//   stamps    every block writes the number of the round and, after the barrier, checks the numbers
//             of all other blocks.
//   total     every block sums its slice of the input and, after the barrier, adds up all slices.
// In each checked round a different block is late, so that without a barrier the others certainly
// read what it has not written yet.
#include "barriers.cuh"

#define TEST_LATENCY 0
#define TEST_STAMPS 1
#define TEST_TOTAL 2

#ifndef BLOCK_SIZE
#define BLOCK_SIZE 256
#endif
#ifndef TEST
#define TEST TEST_LATENCY
#endif

#define CHECKED_ROUNDS 8 // after the timed rounds of `latency`
#define LATE_CYCLES 4000 // about 2 µs, as long as several barriers

struct Sum {
    template <typename T> static __device__ T combine(T a, T b)
    {
        return a + b;
    }
    static __device__ int64 identity()
    {
        return 0;
    }
};

__device__ void come_late(uint64 round)
{
    if (round % gridDim.x == blockIdx.x) {
        pause(LATE_CYCLES);
    }
}

// One slot per block, in two alternating sets: a block that is one barrier ahead writes the other
// set.
__device__ uint32 *slots_of(uint32 *slots, uint64 round)
{
    return slots + round % 2 * gridDim.x;
}

// 1 if every block has written this round's stamp, else 0.
__device__ uint64 stamp_round(GridBarrier &barrier, uint32 *slots, uint64 round)
{
    uint32 *stamps = slots_of(slots, round);
    const uint32 stamp = (uint32)round + 1;
    come_late(round);
    if (threadIdx.x == 0) {
        stamps[blockIdx.x] = stamp;
    }
    barrier.wait();
    bool right = true;
    for (uint32 block = threadIdx.x; block < gridDim.x; block += blockDim.x) {
        right = right && load_relaxed(stamps + block) == stamp;
    }
    return __syncthreads_and(right);
}

// The sum of the input plus n times the round: each block sums a slice, and then all slices.
__device__ uint64 total_round(GridBarrier &barrier, const int *in, uint64 n, uint32 *slots,
                              uint64 round)
{
    int *sums = (int *)slots_of(slots, round);
    come_late(round);
    int slice = 0;
    for (uint64 i = (uint64)blockIdx.x * BLOCK_SIZE + threadIdx.x; i < n;
         i += (uint64)gridDim.x * BLOCK_SIZE) {
        slice += in[i] + (int)round;
    }
    slice = block_reduce<Sum, BLOCK_SIZE>(slice);
    if (threadIdx.x == 0) {
        sums[blockIdx.x] = slice;
    }
    barrier.wait();
    int64 total = 0;
    for (uint32 block = threadIdx.x; block < gridDim.x; block += BLOCK_SIZE) {
        total += (int)load_relaxed((uint32 *)sums + block);
    }
    return (uint64)block_reduce<Sum, BLOCK_SIZE>(total);
}

// out[0] becomes the largest result of all blocks, out[1] the complement of the smallest.
extern "C" __global__ void BARRIER_CLUSTERS __launch_bounds__(BLOCK_SIZE)
    grid_barrier(const int *in, uint64 n, uint64 rounds, uint32 *slots, uint32 *state, uint64 *out)
{
    GridBarrier barrier(state);
    uint64 result = 0;
#if TEST == TEST_LATENCY
    for (uint64 round = 0; round < rounds; round++) {
        barrier.wait();
    }
    rounds = CHECKED_ROUNDS;
#endif
    for (uint64 round = 0; round < rounds; round++) {
#if TEST == TEST_TOTAL
        result += total_round(barrier, in, n, slots, round);
#else
        result += stamp_round(barrier, slots, round);
#endif
    }
    if (threadIdx.x == 0) {
        atomicMax(out, result);
        atomicMax(out + 1, ~result);
    }
}

extern "C" __global__ void grid_barrier_reference(const int *in, uint64 n, uint64 rounds,
                                                  uint64 *out)
{
    uint64 result = 0;
#if TEST == TEST_LATENCY
    result = CHECKED_ROUNDS;
#elif TEST == TEST_STAMPS
    result = rounds;
#else
    int64 sum = 0;
    for (uint64 i = 0; i < n; i++) {
        sum += in[i];
    }
    result = rounds * (uint64)sum + n * (rounds * (rounds - 1) / 2);
#endif
    out[0] = result;
    out[1] = ~result;
}
