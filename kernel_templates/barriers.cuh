// Barriers over all blocks of a grid. Every block must be resident, or those that wait hold the
// place of those that have not started: the launch must be refused where the grid does not fit.
//
// BARRIER picks the algorithm (see grid_barrier.cu). All keep their state in global memory between
// launches: it starts as zeros, belongs to one launch at a time and to one size of grid for ever.
#ifndef BARRIERS_CUH
#define BARRIERS_CUH

#include "primitives.cuh"

#define BARRIER_LOCK 0
#define BARRIER_LOCK_FREE 1
#define BARRIER_COOPERATIVE 2
#define BARRIER_NONE 3

#ifndef BARRIER
#define BARRIER BARRIER_LOCK
#endif

#if BARRIER == BARRIER_COOPERATIVE
#include <cooperative_groups.h>
#endif

// Words of 32 bits that the state takes for a grid of `blocks`: a line for the counter, and the
// flags.
#define BARRIER_LINE_WORDS 32

// One counter of arrivals, which only grows (64 bits: it does not wrap in a lifetime). Each block
// adds one and waits until the count reaches the next multiple of the grid's size. Order: bar.sync
// hands the block's writes to thread 0, whose add releases them; each add continues the release
// sequence of the earlier ones, so the load that sees the full count acquires from every block, and
// so does the add that completes it. The second bar.sync hands that on to the block.
struct LockBarrier {
    uint64 *count;
    uint64 target;

    __device__ explicit LockBarrier(uint32 *state) : count((uint64 *)state), target(0)
    {
    }
    __device__ void wait()
    {
        __syncthreads();
        if (threadIdx.x == 0) {
            uint64 arrived = add_acquire_release(count, 1) + 1;
            target = target == 0 ? (arrived + gridDim.x - 1) / gridDim.x * gridDim.x
                                 : target + gridDim.x;
            while (arrived < target) {
                arrived = load_acquire(count);
            }
        }
        __syncthreads();
    }
};

// A flag a block, which holds the number of barriers the block has reached; thread 0 of each block
// waits for one flag after the other. A block may be one barrier ahead, never more, so flags are
// compared by their difference, which survives wrapping. Order: thread 0 releases its block's
// writes with its flag, and acquires each other block's with theirs.
struct LockFreeBarrier {
    uint32 *flags;
    uint32 reached;

    __device__ explicit LockFreeBarrier(uint32 *state)
        : flags(state + BARRIER_LINE_WORDS), reached(load_relaxed(flags + blockIdx.x))
    {
    }
    __device__ void wait()
    {
        reached++;
        __syncthreads();
        if (threadIdx.x == 0) {
            store_release(flags + blockIdx.x, reached);
            for (uint32 block = 0; block < gridDim.x; block++) {
                while ((int)(load_acquire(flags + block) - reached) < 0) {
                }
            }
        }
        __syncthreads();
    }
};

#if BARRIER == BARRIER_COOPERATIVE
// The toolkit's own, under a cooperative launch.
struct CooperativeBarrier {
    __device__ explicit CooperativeBarrier(uint32 *)
    {
    }
    __device__ void wait()
    {
        cooperative_groups::this_grid().sync();
    }
};
#endif

// No barrier between blocks: wrong, and there to be caught.
struct NoBarrier {
    __device__ explicit NoBarrier(uint32 *)
    {
    }
    __device__ void wait()
    {
        __syncthreads();
    }
};

#if BARRIER == BARRIER_LOCK
typedef LockBarrier GridBarrier;
#elif BARRIER == BARRIER_LOCK_FREE
typedef LockFreeBarrier GridBarrier;
#elif BARRIER == BARRIER_COOPERATIVE
typedef CooperativeBarrier GridBarrier;
#else
typedef NoBarrier GridBarrier;
#endif

#endif
