// Code that the kernel templates share: loads, warp and block reductions, and the PTX instructions
// for memory order. It includes no toolkit header, so variants compile quickly.
//
// Memory order in one paragraph: a release makes everything that its thread wrote, or acquired from
// another release, visible to any thread that acquires from it. bar.sync (__syncthreads) orders the
// threads of a block, and causality is transitive: one thread can release for its whole block after
// a __syncthreads, and acquire for it before one. All operations below have GPU scope and act on
// global memory.
#ifndef PRIMITIVES_CUH
#define PRIMITIVES_CUH

typedef unsigned char uint8;
typedef unsigned short uint16;
typedef unsigned int uint32;
typedef long long int64;
typedef unsigned long long uint64;

#define WARP_SIZE 32
#define FULL_WARP 0xffffffffu

// ---- Memory order -------------------------------------------------------------------------------

__device__ __forceinline__ uint32 load_relaxed(const uint32 *from)
{
    uint32 value;
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(from) : "memory");
    return value;
}

__device__ __forceinline__ uint64 load_relaxed(const uint64 *from)
{
    uint64 value;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(value) : "l"(from) : "memory");
    return value;
}

__device__ __forceinline__ uint32 load_acquire(const uint32 *from)
{
    uint32 value;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(from) : "memory");
    return value;
}

__device__ __forceinline__ uint64 load_acquire(const uint64 *from)
{
    uint64 value;
    asm volatile("ld.acquire.gpu.global.u64 %0, [%1];" : "=l"(value) : "l"(from) : "memory");
    return value;
}

__device__ __forceinline__ void store_relaxed(uint32 *to, uint32 value)
{
    asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" : : "l"(to), "r"(value) : "memory");
}

__device__ __forceinline__ void store_relaxed(uint64 *to, uint64 value)
{
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" : : "l"(to), "l"(value) : "memory");
}

__device__ __forceinline__ void store_release(uint32 *to, uint32 value)
{
    asm volatile("st.release.gpu.global.u32 [%0], %1;" : : "l"(to), "r"(value) : "memory");
}

__device__ __forceinline__ void store_release(uint64 *to, uint64 value)
{
    asm volatile("st.release.gpu.global.u64 [%0], %1;" : : "l"(to), "l"(value) : "memory");
}

// Adds and returns the old value.
__device__ __forceinline__ uint64 add_acquire_release(uint64 *to, uint64 value)
{
    uint64 old;
    asm volatile("atom.acq_rel.gpu.global.add.u64 %0, [%1], %2;"
                 : "=l"(old)
                 : "l"(to), "l"(value)
                 : "memory");
    return old;
}

// Adds without returning the old value.
__device__ __forceinline__ void add_release(uint64 *to, uint64 value)
{
    asm volatile("red.release.gpu.global.add.u64 [%0], %1;" : : "l"(to), "l"(value) : "memory");
}

// Counts 0, 1, … limit, 0, 1, … and returns the old value: a counter that resets itself.
__device__ __forceinline__ uint32 increment_acquire_release(uint32 *to, uint32 limit)
{
    uint32 old;
    asm volatile("atom.acq_rel.gpu.global.inc.u32 %0, [%1], %2;"
                 : "=r"(old)
                 : "l"(to), "r"(limit)
                 : "memory");
    return old;
}

// Waits for `cycles` of the SM's clock, without any memory order.
__device__ __forceinline__ void pause(uint32 cycles)
{
    uint32 start, now;
    asm volatile("mov.u32 %0, %%clock;" : "=r"(start) : : "memory");
    do {
        asm volatile("mov.u32 %0, %%clock;" : "=r"(now) : : "memory");
    } while (now - start < cycles);
}

// ---- Vector loads -------------------------------------------------------------------------------

// WIDTH neighbouring elements, aligned so that the compiler moves them in pieces of up to 16 bytes.
template <typename T, int WIDTH>
struct alignas(sizeof(T) * WIDTH > 16 ? 16 : sizeof(T) * WIDTH) Vector {
    T element[WIDTH];
};

template <typename T> __device__ __forceinline__ T load_cached(const T *from)
{
    return *from;
}

// Loads memory that no thread writes during the launch and that is read only once: through the
// read-only path, bypassing L1.
template <typename T> __device__ __forceinline__ T load_once(const T *from)
{
    union {
        T value;
        uint16 half;
        uint32 word[sizeof(T) >= 4 ? sizeof(T) / 4 : 1];
    } bits;
    if constexpr (sizeof(T) == 2) {
        asm("ld.global.nc.L1::no_allocate.u16 %0, [%1];" : "=h"(bits.half) : "l"(from));
    } else if constexpr (sizeof(T) == 4) {
        asm("ld.global.nc.L1::no_allocate.u32 %0, [%1];" : "=r"(bits.word[0]) : "l"(from));
    } else if constexpr (sizeof(T) == 8) {
        asm("ld.global.nc.L1::no_allocate.v2.u32 {%0, %1}, [%2];"
            : "=r"(bits.word[0]), "=r"(bits.word[1])
            : "l"(from));
    } else {
        static_assert(sizeof(T) % 16 == 0, "a vector of 2, 4, 8 or a multiple of 16 bytes");
#pragma unroll
        for (int i = 0; i < (int)sizeof(T) / 4; i += 4) {
            asm("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
                : "=r"(bits.word[i]), "=r"(bits.word[i + 1]), "=r"(bits.word[i + 2]),
                  "=r"(bits.word[i + 3])
                : "l"((const uint32 *)from + i));
        }
    }
    return bits.value;
}

// ---- Warp and block -----------------------------------------------------------------------------

// OPERATION has a static combine(a, b), associative and commutative, and a static identity().
template <typename Operation, typename T> __device__ __forceinline__ T warp_reduce(T value)
{
#pragma unroll
    for (int distance = WARP_SIZE / 2; distance > 0; distance /= 2) {
        value = Operation::combine(value, __shfl_xor_sync(FULL_WARP, value, distance));
    }
    return value; // in every lane
}

// Returns the result to the first warp only. Every thread of the block must call it; a second call
// needs a __syncthreads in between.
template <typename Operation, int THREADS, typename T>
__device__ __forceinline__ T block_reduce(T value)
{
    static_assert(THREADS % WARP_SIZE == 0, "whole warps");
    constexpr int WARPS = THREADS / WARP_SIZE;
    __shared__ T of_warp[WARPS];
    value = warp_reduce<Operation>(value);
    if constexpr (WARPS > 1) {
        if (threadIdx.x % WARP_SIZE == 0) {
            of_warp[threadIdx.x / WARP_SIZE] = value;
        }
        __syncthreads();
        if (threadIdx.x < WARP_SIZE) {
            value = threadIdx.x < WARPS ? of_warp[threadIdx.x] : Operation::identity();
            value = warp_reduce<Operation>(value);
        }
    }
    return value;
}

#endif
