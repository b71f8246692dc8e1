// C = A * B^T with half inputs and float sums on the tensor cores: A is m by k, B is n by k, C is m by
// n, all row-major. k and n are multiples of 8.
//
// METHOD              wgmma: one warp copies tiles with tensor maps, warpgroups multiply them
//                     (compute capability 9.0; more in gemm_tensor_wgmma.cuh).
//                     mma: all warps do both, with cp.async and mma.sync (from 8.0 on; more in
//                     gemm_tensor_mma.cuh).
// OUTPUT_TYPE         half or float: the type of C.
// TILE_M, TILE_N      rows and columns of a block's tile of C.
// TILE_K              depth of a step. Deeper steps need fewer barriers, and more shared memory.
// STAGES              steps whose tiles shared memory holds. All but one are being loaded.
// MIN_BLOCKS          minimum resident blocks per SM, the second launch bound: it caps registers.
// WARPGROUPS          wgmma: how many warpgroups share a tile, each with TILE_M / WARPGROUPS rows.
// CLUSTER_M           wgmma: blocks of a cluster. They have the same columns of C, so each loads a part
//                     of the tile of B for all of them.
// WARPS_M, WARPS_N    mma: how many warps share the rows and the columns of a tile.
#include "primitives.cuh"

#define METHOD_MMA 0
#define METHOD_WGMMA 1

#define OUTPUT_TYPE_HALF 0
#define OUTPUT_TYPE_FLOAT 1

#ifndef METHOD
#define METHOD METHOD_MMA
#endif
#ifndef OUTPUT_TYPE
#define OUTPUT_TYPE OUTPUT_TYPE_HALF
#endif
#ifndef TILE_M
#define TILE_M 128
#endif
#ifndef TILE_N
#define TILE_N 128
#endif
#ifndef TILE_K
#define TILE_K 64
#endif
#ifndef STAGES
#define STAGES 3
#endif
#ifndef MIN_BLOCKS
#define MIN_BLOCKS 1
#endif
#ifndef WARPGROUPS
#define WARPGROUPS 2
#endif
#ifndef CLUSTER_M
#define CLUSTER_M 1
#endif
#ifndef WARPS_M
#define WARPS_M 2
#endif
#ifndef WARPS_N
#define WARPS_N 4
#endif

#if OUTPUT_TYPE == OUTPUT_TYPE_HALF
typedef uint16 Output; // a half's bits
#else
typedef float Output;
#endif

__device__ __forceinline__ uint32 shared_address(const void *pointer)
{
    return (uint32)__cvta_generic_to_shared(pointer);
}

// ---- Which tile ---------------------------------------------------------------------------------

struct Place {
    int row, column; // of the tile's first element
};

__device__ __forceinline__ int tile_count(int m, int n)
{
    return (m + TILE_M - 1) / TILE_M * ((n + TILE_N - 1) / TILE_N);
}

// Tiles that are computed at the same time should need the same rows and columns: `group_m` rows of
// tiles are worked through column by column.
__device__ __forceinline__ Place place_of_tile(int tile, int m, int n, int group_m)
{
    const int rows_of_tiles = (m + TILE_M - 1) / TILE_M;
    const int columns_of_tiles = (n + TILE_N - 1) / TILE_N;
    const int group = tile / (group_m * columns_of_tiles);
    const int in_group = tile % (group_m * columns_of_tiles);
    const int rows = min(rows_of_tiles - group * group_m, group_m);
    return {(group * group_m + in_group % rows) * TILE_M, in_group / rows * TILE_N};
}

// ---- C ------------------------------------------------------------------------------------------

// Exchanges values among the four lanes of a quad: lane i gets every lane's values[i].
__device__ __forceinline__ void transpose_quad(uint32 (&values)[4])
{
    const bool odd = threadIdx.x % 2 == 1;
    const bool upper = threadIdx.x % 4 >= 2;
#pragma unroll
    for (int i = 0; i < 4; i += 2) {
        const uint32 other = __shfl_xor_sync(FULL_WARP, odd ? values[i] : values[i + 1], 1);
        values[i] = odd ? other : values[i];
        values[i + 1] = odd ? values[i + 1] : other;
    }
#pragma unroll
    for (int i = 0; i < 2; i++) {
        const uint32 other = __shfl_xor_sync(FULL_WARP, upper ? values[i] : values[i + 2], 2);
        values[i] = upper ? other : values[i];
        values[i + 2] = upper ? values[i + 2] : other;
    }
}

__device__ __forceinline__ uint32 pack_halves(float first, float second)
{
    uint32 pair;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(second), "f"(first));
    return pair;
}

__device__ __forceinline__ void store_pair(uint16 *to, const float *pair)
{
    *(uint32 *)to = pack_halves(pair[0], pair[1]);
}

__device__ __forceinline__ void store_pair(float *to, const float *pair)
{
    *(float2 *)to = make_float2(pair[0], pair[1]);
}

// A row of GROUPS groups of 8 columns, from `column` on. The tensor cores leave two neighbouring
// elements of each group to each lane of a quad: sums[4 * group + first] and the next. All lanes call;
// n is a multiple of 8.
template <int GROUPS>
__device__ __forceinline__ void store_pairs(Output *c, int m, int n, int row, int column,
                                            const float (&sums)[4 * GROUPS], int first)
{
#pragma unroll
    for (int group = 0; group < GROUPS; group++) {
        const int at = column + group * 8 + threadIdx.x % 4 * 2;
        if (row < m && at < n) {
            store_pair(c + (int64)row * n + at, sums + group * 4 + first);
        }
    }
}

// The same with fewer stores: each lane stores the 16 bytes of one group of four.
template <int GROUPS>
__device__ __forceinline__ void store_groups(uint16 *c, int m, int n, int row, int column,
                                             const float (&sums)[4 * GROUPS], int first)
{
#pragma unroll
    for (int group = 0; group < GROUPS; group += 4) {
        uint32 pairs[4];
        const int at = column + (group + threadIdx.x % 4) * 8;
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const float *pair = sums + (group + i) * 4 + first;
            pairs[i] = pack_halves(pair[0], pair[1]);
        }
        transpose_quad(pairs);
        if (row < m && at < n) {
            *(uint4 *)(c + (int64)row * n + at) = make_uint4(pairs[0], pairs[1], pairs[2], pairs[3]);
        }
    }
}

template <int GROUPS>
__device__ __forceinline__ void store_row(Output *c, int m, int n, int row, int column,
                                          const float (&sums)[4 * GROUPS], int first)
{
#if OUTPUT_TYPE == OUTPUT_TYPE_HALF
    if constexpr (GROUPS % 4 == 0) {
        store_groups<GROUPS>(c, m, n, row, column, sums, first);
    } else
#endif
    {
        store_pairs<GROUPS>(c, m, n, row, column, sums, first);
    }
}

#if METHOD == METHOD_WGMMA
#include "gemm_tensor_wgmma.cuh"
#else
#include "gemm_tensor_mma.cuh"
#endif

// ---- Reference ----------------------------------------------------------------------------------

__device__ __forceinline__ float widen_half(uint16 half)
{
    float wide;
    asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(half));
    return wide;
}

// One thread per element of C.
extern "C" __global__ void gemm_reference(const uint16 *a, const uint16 *b, double *reference, int m,
                                          int n, int k)
{
    const int64 at = (int64)blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= (int64)m * n) {
        return;
    }
    const uint16 *row = a + at / n * k;
    const uint16 *column = b + at % n * k;
    double sum = 0;
    for (int i = 0; i < k; i += 8) {
        alignas(16) uint16 x[8];
        alignas(16) uint16 y[8];
        *(uint4 *)x = *(const uint4 *)(row + i);
        *(uint4 *)y = *(const uint4 *)(column + i);
        for (int j = 0; j < 8; j++) {
            sum += (double)(widen_half(x[j]) * widen_half(y[j]));
        }
    }
    reference[at] = sum;
}
