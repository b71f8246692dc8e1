// The element types, chosen by VALUE_TYPE, and the operations that reduce them.
//
// Value        the type in memory. half and bfloat16 are plain bits here, which single instructions
//              convert: the toolkit's headers would take longer to compile than the kernel.
// Accumulator  the type in which threads compute.
// Exact        the type in which a reference computes, and in which autotune compares.
#ifndef VALUE_TYPES_CUH
#define VALUE_TYPES_CUH

#include "primitives.cuh"

#define VALUE_TYPE_FLOAT 0
#define VALUE_TYPE_INT32 1
#define VALUE_TYPE_DOUBLE 2
#define VALUE_TYPE_INT64 3
#define VALUE_TYPE_HALF 4
#define VALUE_TYPE_BFLOAT16 5

#define OPERATION_SUM 0
#define OPERATION_MIN 1
#define OPERATION_MAX 2
#define OPERATION_PRODUCT 3
#define OPERATION_BIT_AND 4
#define OPERATION_BIT_OR 5
#define OPERATION_BIT_XOR 6

#ifndef VALUE_TYPE
#define VALUE_TYPE VALUE_TYPE_FLOAT
#endif
#ifndef OPERATION
#define OPERATION OPERATION_SUM
#endif

struct Half {
    uint16 bits;
};

struct Bfloat16 {
    uint16 bits;
};

#if VALUE_TYPE == VALUE_TYPE_FLOAT
typedef float Value;
typedef float Accumulator;
typedef double Exact;
#elif VALUE_TYPE == VALUE_TYPE_INT32
typedef int Value;
typedef int Accumulator;
typedef int Exact;
#elif VALUE_TYPE == VALUE_TYPE_DOUBLE
typedef double Value;
typedef double Accumulator;
typedef double Exact;
#elif VALUE_TYPE == VALUE_TYPE_INT64
typedef int64 Value;
typedef int64 Accumulator;
typedef int64 Exact;
#elif VALUE_TYPE == VALUE_TYPE_HALF
typedef Half Value;
typedef float Accumulator;
typedef double Exact;
#else
typedef Bfloat16 Value;
typedef float Accumulator;
typedef double Exact;
#endif

template <typename T> __device__ __forceinline__ T widen(T value)
{
    return value;
}

__device__ __forceinline__ float widen(Half value)
{
    float wide;
    asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(value.bits));
    return wide;
}

__device__ __forceinline__ float widen(Bfloat16 value)
{
    return __uint_as_float((uint32)value.bits << 16); // the upper half of a float
}

// Rounds to nearest, ties to even.
__device__ __forceinline__ Value narrow(Accumulator value)
{
#if VALUE_TYPE == VALUE_TYPE_HALF
    Half narrowed;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(narrowed.bits) : "f"(value));
    return narrowed;
#elif VALUE_TYPE == VALUE_TYPE_BFLOAT16
    Bfloat16 narrowed;
#if __CUDA_ARCH__ >= 800
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(narrowed.bits) : "f"(value));
#else
    uint32 bits = __float_as_uint(value);
    bool nan = (bits & 0x7fffffff) > 0x7f800000; // adding to it could carry into the sign
    bits = nan ? bits | 0x400000 : bits + 0x7fff + (bits >> 16 & 1);
    narrowed.bits = (uint16)(bits >> 16);
#endif
    return narrowed;
#else
    return value;
#endif
}

// Integers wrap around: computed as unsigned, where overflow is defined.
template <typename T> struct Wrapping {
    typedef T type;
};
template <> struct Wrapping<int> {
    typedef uint32 type;
};
template <> struct Wrapping<int64> {
    typedef uint64 type;
};

// The operation, on Accumulator or, in a reference, on Exact.
struct Operation {
    template <typename T> static __device__ __forceinline__ T combine(T a, T b)
    {
        typedef typename Wrapping<T>::type Bits;
#if OPERATION == OPERATION_SUM
        return (T)((Bits)a + (Bits)b);
#elif OPERATION == OPERATION_MIN
        return a < b ? a : b;
#elif OPERATION == OPERATION_MAX
        return a > b ? a : b;
#elif OPERATION == OPERATION_PRODUCT
        return (T)((Bits)a * (Bits)b);
#elif OPERATION == OPERATION_BIT_AND
        return a & b;
#elif OPERATION == OPERATION_BIT_OR
        return a | b;
#else
        return a ^ b;
#endif
    }

    // combine(identity(), x) == x
    static __device__ __forceinline__ Accumulator identity()
    {
#if OPERATION == OPERATION_MIN
        return highest();
#elif OPERATION == OPERATION_MAX
        return -highest() - integer();
#elif OPERATION == OPERATION_PRODUCT
        return 1;
#elif OPERATION == OPERATION_BIT_AND
        return ~(Accumulator)0;
#else
        return 0;
#endif
    }

    // The largest value, infinity for floats. The smallest integer is -highest() - 1.
    static __device__ __forceinline__ Accumulator highest()
    {
#if VALUE_TYPE == VALUE_TYPE_INT32
        return 0x7fffffff;
#elif VALUE_TYPE == VALUE_TYPE_INT64
        return 0x7fffffffffffffffLL;
#else
        return __int_as_float(0x7f800000);
#endif
    }

    static __device__ __forceinline__ int integer()
    {
        return VALUE_TYPE == VALUE_TYPE_INT32 || VALUE_TYPE == VALUE_TYPE_INT64;
    }
};

#endif
