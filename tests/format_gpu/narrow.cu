/* Whether narrow() of the shipped kernels rounds as IEEE 754 says: out[i] is i if case i does, and -1 if not. */
#include "../../kernel_templates/value_types.cuh"

#define NOT_A_NUMBER 0xffffu /* whichever */

struct Case {
    uint32 from; /* the bits of a float */
    uint32 to;
};

#if VALUE_TYPE == VALUE_TYPE_HALF
#define INFINITY_BITS 0x7c00u
__device__ const Case cases[] = {
    {0x00000000, 0x0000},       {0x80000000, 0x8000},       {0x3f800000, 0x3c00},
    {0x3f801000, 0x3c00}, /* tie: to even */
    {0x3f803000, 0x3c02},       {0x3f801001, 0x3c01},       {0x477fe000, 0x7bff},
    {0x477ff000, 0x7c00}, /* tie: overflows */
    {0x33800000, 0x0001},       {0x33000000, 0x0000},       {0x7f800000, 0x7c00},
    {0xff800000, 0xfc00},       {0x7f800001, NOT_A_NUMBER}, {0x7fffffff, NOT_A_NUMBER},
    {0xffffffff, NOT_A_NUMBER}, {0xffffc000, NOT_A_NUMBER},
};
#else
#define INFINITY_BITS 0x7f80u
__device__ const Case cases[] = {
    {0x00000000, 0x0000},       {0x80000000, 0x8000},       {0x3f800000, 0x3f80},
    {0x3f808000, 0x3f80}, /* tie: to even */
    {0x3f818000, 0x3f82},       {0x3f808001, 0x3f81},       {0x7f7f7fff, 0x7f7f},
    {0x7f7f8000, 0x7f80}, /* tie: overflows */
    {0x00010000, 0x0001},       {0x00008000, 0x0000},       {0x7f800000, 0x7f80},
    {0xff800000, 0xff80},       {0x7f800001, NOT_A_NUMBER}, {0x7fffffff, NOT_A_NUMBER},
    {0xffffffff, NOT_A_NUMBER}, {0xffffc000, NOT_A_NUMBER},
};
#endif

extern "C" __global__ void check_narrow(int *out, int count)
{
    int i = blockIdx.x * BLOCK_SIZE + threadIdx.x;
    if (i >= count)
        return;
    Case each = cases[i % 16];
    uint32 bits = narrow(__uint_as_float(each.from)).bits;
    bool right = each.to == NOT_A_NUMBER ? (bits & 0x7fff) > INFINITY_BITS : bits == each.to;
    out[i] = right ? i : -1;
}

extern "C" __global__ void count_up(int *out, int count)
{
    for (int i = threadIdx.x; i < count; i += blockDim.x)
        out[i] = i;
}
