// Counting the elements above a threshold under a lock, compared with atomics.
//
// METHOD      block_mutex: a spin lock that one thread per block takes to add the block's count.
//             thread_mutex: every thread with a passing element takes the lock. One pass of a loop
//             locks, runs the critical section and unlocks, so that a lane that fails to lock does
//             not keep the lane that holds the lock from unlocking.
//             spin_mutex: the same with a spin before the critical section, as on a CPU. Before
//             compute capability 7.0 the spinning lanes stop the holder of the lock, and the kernel
//             never ends; since then lanes progress independently. It is here so that people
//             recognise the bug.
//             ticket: blocks are served in the order in which they drew their tickets.
//             atomic: no lock, one atomic add per passing element.
//             ballot: no lock, one atomic add per warp.
// BLOCK_SIZE  threads per block, a multiple of the warp size.
//
// Memory order: locking acquires and unlocking releases, so a holder sees the count that the
// previous holder wrote; ordinary loads and stores are enough between them. A read-modify-write
// with acquire only and a store with release only are the weakest correct pair; fences on both
// sides would give the same order and cost two fences more.
#include "primitives.cuh"

#define METHOD_BLOCK_MUTEX 0
#define METHOD_THREAD_MUTEX 1
#define METHOD_SPIN_MUTEX 2
#define METHOD_TICKET 3
#define METHOD_ATOMIC 4
#define METHOD_BALLOT 5

#ifndef METHOD
#define METHOD METHOD_BLOCK_MUTEX
#endif
#ifndef BLOCK_SIZE
#define BLOCK_SIZE 256
#endif

// A mutex has one word: 0 is free, 1 is taken. A ticket lock has two: the next ticket to draw, and
// the ticket being served.
struct Lock {
    uint32 taken;
    uint32 next_ticket;
    uint32 served;
};

struct Sum {
    template <typename T> static __device__ T combine(T a, T b)
    {
        return a + b;
    }
    static __device__ uint32 identity()
    {
        return 0;
    }
};

__device__ bool try_lock(Lock *lock)
{
    uint32 old;
    asm volatile("atom.acquire.gpu.global.cas.b32 %0, [%1], 0, 1;"
                 : "=r"(old)
                 : "l"(&lock->taken)
                 : "memory");
    return old == 0;
}

__device__ void unlock(Lock *lock)
{
    store_release(&lock->taken, 0);
}

__device__ void ticket_lock(Lock *lock)
{
    const uint32 mine = atomicAdd(&lock->next_ticket, 1);
    while (load_acquire(&lock->served) != mine) {
    }
}

// Only the holder writes `served`, so the value that it read is still current.
__device__ void ticket_unlock(Lock *lock)
{
    store_release(&lock->served, lock->served + 1);
}

// The critical section: an update that is not atomic.
__device__ void add_unprotected(uint64 *count, uint64 value)
{
    *count = *count + value;
}

__device__ void count_element(bool pass, Lock *lock, uint64 *count)
{
#if METHOD == METHOD_THREAD_MUTEX
    for (bool done = !pass; !done;) {
        if (try_lock(lock)) {
            add_unprotected(count, 1);
            unlock(lock);
            done = true;
        }
    }
#elif METHOD == METHOD_SPIN_MUTEX
    if (pass) {
        while (!try_lock(lock)) {
        }
        add_unprotected(count, 1);
        unlock(lock);
    }
#elif METHOD == METHOD_ATOMIC
    if (pass) {
        atomicAdd(count, (uint64)1);
    }
#elif METHOD == METHOD_BALLOT
    const uint32 ballot = __ballot_sync(FULL_WARP, pass);
    if (threadIdx.x % WARP_SIZE == 0 && ballot != 0) {
        atomicAdd(count, (uint64)__popc(ballot));
    }
#else
    const uint32 passing = block_reduce<Sum, BLOCK_SIZE>((uint32)pass);
    if (threadIdx.x == 0) {
#if METHOD == METHOD_TICKET
        ticket_lock(lock);
        add_unprotected(count, passing);
        ticket_unlock(lock);
#else
        while (!try_lock(lock)) {
        }
        add_unprotected(count, passing);
        unlock(lock);
#endif
    }
#endif
}

extern "C" __global__ void lock_clear(Lock *lock, uint64 *count)
{
    *lock = {0, 0, 0};
    *count = 0;
}

// One thread per element.
extern "C" __global__ void __launch_bounds__(BLOCK_SIZE)
    count_above(const int *in, uint64 n, int threshold, Lock *lock, uint64 *count)
{
    const uint64 i = (uint64)blockIdx.x * BLOCK_SIZE + threadIdx.x;
    count_element(i < n && in[i] > threshold, lock, count);
}

extern "C" __global__ void count_above_reference(const int *in, uint64 n, int threshold,
                                                 uint64 *count)
{
    uint64 passing = 0;
    for (uint64 i = 0; i < n; i++) {
        passing += in[i] > threshold;
    }
    *count = passing;
}
