// Bulk copies from global to shared memory, by the copy engine of compute capability 9.0. Addresses
// and sizes are multiples of 16 bytes.
#ifndef BULK_COPY_CUH
#define BULK_COPY_CUH

#include "primitives.cuh"

__device__ __forceinline__ uint32 shared_address(const void *pointer)
{
    return (uint32)__cvta_generic_to_shared(pointer);
}

// Orders what the thread did in shared memory before copies that start after a later barrier.
__device__ __forceinline__ void fence_for_copies()
{
    asm volatile("fence.proxy.async.shared::cta;" : : : "memory");
}

// Makes `count` barriers ready for start_copy(). One thread calls it; the others may wait for a
// barrier after a __syncthreads.
__device__ __forceinline__ void init_copies(uint64 *full, uint32 count)
{
    for (uint32 i = 0; i < count; i++) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;"
                     :
                     : "r"(shared_address(full + i))
                     : "memory");
    }
    fence_for_copies();
}

// Starts the copy of `bytes` to `to`; the barrier `full` opens when all of them have arrived, and
// then also shows what the calling thread wrote before. EVICT_FIRST: L2 drops these lines before
// others.
template <bool EVICT_FIRST = false>
__device__ __forceinline__ void start_copy(uint64 *full, void *to, const void *from, uint32 bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                 :
                 : "r"(shared_address(full)), "r"(bytes)
                 : "memory");
    if (EVICT_FIRST) {
        uint64 policy;
        asm("createpolicy.fractional.L2::evict_first.b64 %0;" : "=l"(policy));
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
                     ".L2::cache_hint [%0], [%1], %2, [%3], %4;"
                     :
                     : "r"(shared_address(to)), "l"(from), "r"(bytes), "r"(shared_address(full)),
                       "l"(policy)
                     : "memory");
    } else {
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
                     "[%0], [%1], %2, [%3];"
                     :
                     : "r"(shared_address(to)), "l"(from), "r"(bytes), "r"(shared_address(full))
                     : "memory");
    }
}

// Waits until the barrier's phase of this parity has ended: 0 for the first copy, then 1, 0, …
__device__ __forceinline__ void wait_full(uint64 *full, uint32 parity)
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

#endif
