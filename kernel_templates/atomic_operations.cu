// Every atomic operation, including the old value that it returns.
//
// Thread i applies the operation once to word i % addresses and stores the change: the new value
// minus the old, modulo 2^32. If every update was atomic and every returned value correct, the
// changes of all threads add up to the final state minus the initial one, in any order.
//
// ATOMIC      (part of the problem) add, sub, bit_and, bit_or, bit_xor, max, min, exch, or cas,
//             which increments.
// BLOCK_SIZE  threads per block.
#include "primitives.cuh"

#define ATOMIC_ADD 0
#define ATOMIC_SUB 1
#define ATOMIC_BIT_AND 2
#define ATOMIC_BIT_OR 3
#define ATOMIC_BIT_XOR 4
#define ATOMIC_MAX 5
#define ATOMIC_MIN 6
#define ATOMIC_EXCH 7
#define ATOMIC_CAS 8

#ifndef ATOMIC
#define ATOMIC ATOMIC_ADD
#endif
#ifndef BLOCK_SIZE
#define BLOCK_SIZE 256
#endif

// A number that differs from thread to thread (multiplicative hashing, Knuth's constant).
__device__ uint32 number(uint64 i)
{
    return (uint32)i * 2654435761u >> 1;
}

__device__ uint32 operand(uint64 i)
{
    switch (ATOMIC) {
    case ATOMIC_ADD:
    case ATOMIC_SUB:
        return 1 + (uint32)(i % 7);
    case ATOMIC_BIT_AND:
        return ~(1u << i / 3 % 32);
    case ATOMIC_BIT_OR:
    case ATOMIC_BIT_XOR:
        return 1u << i / 3 % 32;
    default:
        return number(i);
    }
}

__device__ uint32 first_state()
{
    return ATOMIC == ATOMIC_BIT_AND || ATOMIC == ATOMIC_MIN ? 0xffffffffu : 0;
}

// The new value of a word that held `old`.
__device__ uint32 apply(uint32 old, uint32 value)
{
    switch (ATOMIC) {
    case ATOMIC_ADD:
        return old + value;
    case ATOMIC_SUB:
        return old - value;
    case ATOMIC_BIT_AND:
        return old & value;
    case ATOMIC_BIT_OR:
        return old | value;
    case ATOMIC_BIT_XOR:
        return old ^ value;
    case ATOMIC_MAX:
        return max(old, value);
    case ATOMIC_MIN:
        return min(old, value);
    case ATOMIC_EXCH:
        return value;
    default:
        return old + 1;
    }
}

__device__ uint32 increment_by_cas(uint32 *word)
{
    uint32 expected = *(volatile uint32 *)word;
    for (;;) {
        const uint32 found = atomicCAS(word, expected, expected + 1);
        if (found == expected) {
            return found;
        }
        expected = found;
    }
}

// Returns the old value.
__device__ uint32 apply_atomically(uint32 *word, uint32 value)
{
    switch (ATOMIC) {
    case ATOMIC_ADD:
        return atomicAdd(word, value);
    case ATOMIC_SUB:
        return atomicSub(word, value);
    case ATOMIC_BIT_AND:
        return atomicAnd(word, value);
    case ATOMIC_BIT_OR:
        return atomicOr(word, value);
    case ATOMIC_BIT_XOR:
        return atomicXor(word, value);
    case ATOMIC_MAX:
        return atomicMax(word, value);
    case ATOMIC_MIN:
        return atomicMin(word, value);
    case ATOMIC_EXCH:
        return atomicExch(word, value);
    default:
        return increment_by_cas(word);
    }
}

extern "C" __global__ void atomic_clear(uint32 *words, uint64 addresses)
{
    for (uint64 i = threadIdx.x; i < addresses; i += blockDim.x) {
        words[i] = first_state();
    }
}

extern "C" __global__ void __launch_bounds__(BLOCK_SIZE)
    atomic_operations(uint32 *words, uint64 addresses, uint64 n, uint32 *changes)
{
    const uint64 i = (uint64)blockIdx.x * BLOCK_SIZE + threadIdx.x;
    if (i < n) {
        const uint32 value = operand(i);
        const uint32 old = apply_atomically(words + i % addresses, value);
        changes[i] = apply(old, value) - old;
    }
}

// out[0]: the changes that the threads report minus those that the words show; must be 0. out[1]:
// the changes that the words show; must equal the reference, except for exch, where the final value
// depends on the order of the threads.
extern "C" __global__ void atomic_account(const uint32 *words, uint64 addresses, uint64 n,
                                          const uint32 *changes, uint32 *out)
{
    __shared__ uint32 by_account;
    __shared__ uint32 by_words;
    if (threadIdx.x == 0) {
        by_account = 0;
        by_words = 0;
    }
    __syncthreads();
    for (uint64 i = threadIdx.x; i < n; i += blockDim.x) {
        atomicAdd(&by_account, changes[i]);
    }
    for (uint64 i = threadIdx.x; i < addresses; i += blockDim.x) {
        atomicAdd(&by_words, words[i] - first_state());
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        out[0] = by_account - by_words;
        out[1] = ATOMIC == ATOMIC_EXCH ? 0 : by_words;
    }
}

// One thread applies all updates in turn.
extern "C" __global__ void atomic_reference(uint64 addresses, uint64 n, uint32 *out)
{
    uint32 change = 0;
    for (uint64 address = 0; address < addresses; address++) {
        uint32 word = first_state();
        for (uint64 i = address; i < n; i += addresses) {
            word = apply(word, operand(i));
        }
        change += word - first_state();
    }
    out[0] = 0;
    out[1] = ATOMIC == ATOMIC_EXCH ? 0 : change;
}
