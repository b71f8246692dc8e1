/* Negation of elements of every size, and a launch with a scalar of every type. */
#define VALUE_TYPE_HALF 0
#define VALUE_TYPE_BFLOAT16 1
#define VALUE_TYPE_FLOAT 2
#define VALUE_TYPE_DOUBLE 3
#define VALUE_TYPE_INT64 4
#define VALUE_TYPE_INT8 5
#ifndef VALUE_TYPE
#define VALUE_TYPE VALUE_TYPE_FLOAT
#endif
#ifndef BLOCK_SIZE
#define BLOCK_SIZE 256
#endif

typedef unsigned long long u64;

#define NEGATE(name, type, expression)                                                             \
    extern "C" __global__ void name(const type *in, type *out, u64 n)                              \
    {                                                                                              \
        for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < n;                            \
             i += (u64)gridDim.x * blockDim.x) {                                                   \
            type x = in[i];                                                                        \
            out[i] = (type)(expression);                                                           \
        }                                                                                          \
    }

/* half and bfloat16 alike: the sign is the highest bit */
NEGATE(types_negate_16, unsigned short, x ^ 0x8000)
NEGATE(types_negate_float, float, -x)
NEGATE(types_negate_double, double, -x)
NEGATE(types_negate_int64, long long, -x)
NEGATE(types_negate_int8, signed char, -x)

/* the buffer counts up from `first`: no need to read it */
extern "C" __global__ void types_reference(double *reference, double first, u64 n)
{
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (u64)gridDim.x * blockDim.x)
        reference[i] = -(first + (double)i);
}

extern "C" __global__ void types_scalars(double *out, signed char a, short b, int c, long long d,
                                         unsigned char e, unsigned short f, unsigned int g, u64 h,
                                         unsigned short half_bits, unsigned short bfloat16_bits,
                                         float i, double j)
{
    if (blockIdx.x * blockDim.x + threadIdx.x == 0) {
        double values[12] = {(double)a, (double)b, (double)c, (double)d,         (double)e,
                             (double)f, (double)g, (double)h, (double)half_bits, (double)bfloat16_bits,
                             (double)i, j};
        for (int k = 0; k < 12; k++)
            out[k] = values[k];
    }
}

extern "C" __global__ void types_scalars_reference(double *reference)
{
    if (blockIdx.x * blockDim.x + threadIdx.x == 0) {
        double values[12] = {-100,       -30000,        -2000000000, -9007199254740991.0,
                             200,        60000,         4000000000.0, 9007199254740992.0,
                             0x3e00 /* half of 1.5 */,  0x3fc0 /* bfloat16 of 1.5 */,
                             0.5,        1e300};
        for (int k = 0; k < 12; k++)
            reference[k] = values[k];
    }
}
