// Barriers over all blocks of a grid. Every block must be resident; otherwise waiting blocks keep
// the others from starting. The launch must fail if the grid does not fit.
//
// BARRIER     the algorithm; each has a struct below.
// ARRIVE      how a block arrives at a barrier that counts.
//             returning: the add returns the count, so that the last block need not poll.
//             silent: the add returns nothing and polling starts sooner, which is faster if the
//             first poll already finds the barrier complete.
// POLL        acquire: every poll is an acquire.
//             relaxed: polls are relaxed and one acquire follows the last; this avoids invalidating
//             L1 after each poll.
//             overlapped: like relaxed, with two polls in flight, half a round trip apart.
// POLL_DELAY  cycles before the first poll. A poll that comes too early delays the arrivals at the
//             same word, and the next poll comes a round trip later.
// FAN_IN      blocks per group, for tree and cluster.
//
// All keep their state in global memory between launches: it starts as zeros, and is used by one
// launch at a time, always with the same grid size. Counts only grow and have 64 bits, so they
// never wrap in practice. A block reads from the count how many barriers have completed so far: no
// later barrier can complete before the block has arrived there.
//
// What limits them: 132 blocks of 256 threads on an H200 need 0.75 µs with BARRIER lock, and 0.49 µs
// without the release, which compiles to MEMBAR.ALL.GPU in all its forms. The acquire costs 1 ns.
//
// Why they are correct: the first __syncthreads orders the writes of the block before the arrival
// of thread 0, which releases them. Arrivals are read-modify-writes, each of which continues the
// release sequences of the earlier ones, so acquiring the complete count acquires from every block.
// The second __syncthreads extends that to the whole block. Anything weaker is wrong: without the
// release, an arrival may be seen before the writes of the block; without the acquire, a block may
// read stale data from its L1.
#ifndef BARRIERS_CUH
#define BARRIERS_CUH

#include "primitives.cuh"

#define BARRIER_LOCK 0
#define BARRIER_LOCK_FREE 1
#define BARRIER_LOCK_FREE_PARALLEL 2
#define BARRIER_GATHER 3
#define BARRIER_SENSE 4
#define BARRIER_TREE 5
#define BARRIER_CLUSTER 6
#define BARRIER_COOPERATIVE 7
#define BARRIER_NONE 8
#define ARRIVE_RETURNING 0
#define ARRIVE_SILENT 1
#define POLL_ACQUIRE 0
#define POLL_RELAXED 1
#define POLL_OVERLAPPED 2

#ifndef BARRIER
#define BARRIER BARRIER_LOCK
#endif
#ifndef ARRIVE
#define ARRIVE ARRIVE_RETURNING
#endif
#ifndef POLL
#define POLL POLL_ACQUIRE
#endif
#ifndef POLL_DELAY
#define POLL_DELAY 0
#endif
#ifndef FAN_IN
#define FAN_IN 4
#endif

// An attribute for the declaration of a kernel that waits at a barrier.
#if BARRIER == BARRIER_CLUSTER
#define BARRIER_CLUSTERS __cluster_dims__(FAN_IN, 1, 1)
#else
#define BARRIER_CLUSTERS
#endif

#if BARRIER == BARRIER_COOPERATIVE
#include <cooperative_groups.h>
#endif

#define POLL_SPACING 128 // cycles, about half of a round trip to L2 and back
#define LINE_WORDS 32    // of 32 bits: every polled word has its own line of 128 bytes

template <typename Word> __device__ void poll_overlapped(const Word *word, Word target)
{
    Word first = load_relaxed(word);
    pause(POLL_SPACING);
    Word second = load_relaxed(word);
    while (first < target) {
        first = load_relaxed(word);
        if (second >= target) {
            return;
        }
        second = load_relaxed(word);
    }
}

// Waits until *word has reached `target`, and acquires. The relaxed polls and the acquire after
// them read the same location in program order, so the acquire reads the same value or a newer one.
template <typename Word> __device__ void wait_for(const Word *word, Word target)
{
    if (POLL_DELAY > 0) {
        pause(POLL_DELAY);
    }
#if POLL == POLL_OVERLAPPED
    poll_overlapped(word, target);
    load_acquire(word);
#elif POLL == POLL_RELAXED
    while (load_relaxed(word) < target) {
    }
    load_acquire(word);
#else
    while (load_acquire(word) < target) {
    }
#endif
}

// Adds an arrival to *count and waits until there are `target`.
__device__ inline void arrive_and_wait(uint64 *count, uint64 target)
{
#if ARRIVE == ARRIVE_SILENT
    add_release(count, 1);
    wait_for(count, target);
#else
    if (add_acquire_release(count, 1) + 1 < target) {
        wait_for(count, target);
    }
#endif
}

#if BARRIER == BARRIER_LOCK
// One counter of arrivals. Each block adds one and waits for the next multiple of the grid's size.
struct GridBarrier {
    uint64 *count;
    uint64 target;

    __device__ explicit GridBarrier(uint32 *state) : count((uint64 *)state)
    {
        target = load_relaxed(count) / gridDim.x * gridDim.x;
    }
    __device__ void wait()
    {
        target += gridDim.x;
        __syncthreads();
        if (threadIdx.x == 0) {
            arrive_and_wait(count, target);
        }
        __syncthreads();
    }
};

#elif BARRIER == BARRIER_LOCK_FREE
// One flag per block, which holds the number of barriers that the block has reached; thread 0 of
// each block waits for one flag after the other. Each flag has its own release and acquire.
struct GridBarrier {
    uint64 *flags;
    uint64 reached;

    __device__ explicit GridBarrier(uint32 *state)
        : flags((uint64 *)state), reached(load_relaxed(flags + blockIdx.x))
    {
    }
    __device__ void wait()
    {
        reached++;
        __syncthreads();
        if (threadIdx.x == 0) {
            store_release(flags + blockIdx.x, reached);
            for (uint32 block = 0; block < gridDim.x; block++) {
                wait_for(flags + block, reached);
            }
        }
        __syncthreads();
    }
};

#elif BARRIER == BARRIER_LOCK_FREE_PARALLEL
// The same flags, but each thread waits for one of them (or for every blockDim.x-th); the second
// __syncthreads combines what the threads have acquired.
struct GridBarrier {
    uint64 *flags;
    uint64 reached;

    __device__ explicit GridBarrier(uint32 *state)
        : flags((uint64 *)state), reached(load_relaxed(flags + blockIdx.x))
    {
    }
    __device__ void wait()
    {
        reached++;
        __syncthreads();
        if (threadIdx.x == 0) {
            store_release(flags + blockIdx.x, reached);
        }
        for (uint32 block = threadIdx.x; block < gridDim.x; block += blockDim.x) {
            wait_for(flags + block, reached);
        }
        __syncthreads();
    }
};

#elif BARRIER == BARRIER_GATHER
// Flags as above, but only block 0 waits for them, with all its threads, and then releases the
// other blocks with one word. A __syncthreads orders what its threads acquired before that release.
struct GridBarrier {
    uint64 *go;
    uint64 *flags;
    uint64 reached;

    __device__ explicit GridBarrier(uint32 *state)
        : go((uint64 *)state), flags((uint64 *)(state + LINE_WORDS)), reached(load_relaxed(go))
    {
    }
    __device__ void wait()
    {
        reached++;
        __syncthreads();
        if (blockIdx.x == 0) {
            gather();
        } else if (threadIdx.x == 0) {
            store_release(flags + blockIdx.x, reached);
            wait_for(go, reached);
        }
        __syncthreads();
    }
    __device__ void gather()
    {
        for (uint32 block = threadIdx.x; block < gridDim.x; block += blockDim.x) {
            if (block > 0) {
                wait_for(flags + block, reached);
            }
        }
        __syncthreads();
        if (threadIdx.x == 0) {
            store_release(go, reached);
        }
    }
};

#elif BARRIER == BARRIER_SENSE
// Sense-reversing: a counter that resets itself, and a word that the last arrival changes while the
// others poll it. Arrivals and polls use different words, but it needs one more release.
struct GridBarrier {
    uint32 *count;
    uint64 *sense;
    uint64 reached;

    __device__ explicit GridBarrier(uint32 *state)
        : count(state), sense((uint64 *)(state + LINE_WORDS)), reached(load_relaxed(sense))
    {
    }
    __device__ void wait()
    {
        reached++;
        __syncthreads();
        if (threadIdx.x == 0) {
            if (increment_acquire_release(count, gridDim.x - 1) == gridDim.x - 1) {
                store_release(sense, reached);
            } else {
                wait_for(sense, reached);
            }
        }
        __syncthreads();
    }
};

#elif BARRIER == BARRIER_TREE
// Two levels: FAN_IN blocks count at their own word, and the last of them counts at the root, where
// all blocks wait. Fewer arrivals per word, but one more round trip.
struct GridBarrier {
    uint64 *root;
    uint64 *group;
    uint64 members;
    uint64 groups;
    uint64 reached;

    __device__ explicit GridBarrier(uint32 *state)
    {
        const uint32 index = blockIdx.x / FAN_IN;
        groups = (gridDim.x + FAN_IN - 1) / FAN_IN;
        members = min(FAN_IN, (int)(gridDim.x - index * FAN_IN));
        root = (uint64 *)state;
        group = (uint64 *)(state + (1 + index) * LINE_WORDS);
        reached = load_relaxed(root) / groups;
    }
    __device__ void wait()
    {
        reached++;
        __syncthreads();
        if (threadIdx.x == 0) {
            if (add_acquire_release(group, 1) + 1 == reached * members) {
                arrive_and_wait(root, reached * groups);
            } else {
                wait_for(root, reached * groups);
            }
        }
        __syncthreads();
    }
};

#elif BARRIER == BARRIER_CLUSTER
// The blocks of a cluster use the hardware barrier, which orders memory among them; the first block
// counts for all. Needs compute capability 9.0 and a grid of whole clusters.
struct GridBarrier {
    uint64 *count;
    uint64 clusters;
    uint64 target;

    __device__ explicit GridBarrier(uint32 *state)
        : count((uint64 *)state), clusters(gridDim.x / FAN_IN)
    {
        target = load_relaxed(count) / clusters * clusters;
    }
    __device__ void wait()
    {
        target += clusters;
        cluster_sync();
        if (blockIdx.x % FAN_IN == 0 && threadIdx.x == 0) {
            arrive_and_wait(count, target);
        }
        cluster_sync();
    }
    static __device__ void cluster_sync()
    {
        asm volatile("barrier.cluster.arrive.release;\n\tbarrier.cluster.wait.acquire;"
                     :
                     :
                     : "memory");
    }
};

#elif BARRIER == BARRIER_COOPERATIVE
// grid.sync() of the CUDA Toolkit, which needs a cooperative launch.
struct GridBarrier {
    __device__ explicit GridBarrier(uint32 *)
    {
    }
    __device__ void wait()
    {
        cooperative_groups::this_grid().sync();
    }
};

#else
// No barrier between blocks: wrong on purpose, to test verification.
struct GridBarrier {
    __device__ explicit GridBarrier(uint32 *)
    {
    }
    __device__ void wait()
    {
        __syncthreads();
    }
};
#endif

#endif
