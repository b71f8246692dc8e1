// C = A * B^T with half inputs and float sums on the tensor cores: A is m by k, B is n by k, C is m by
// n, all row-major. k is a multiple of 8, n of 2.
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

// Blocks that run at the same time should need the same rows and columns: `group_m` rows of tiles are
// worked through column by column.
__device__ __forceinline__ Place place_of_block(int m, int n, int group_m)
{
    const int rows_of_tiles = (m + TILE_M - 1) / TILE_M;
    const int columns_of_tiles = (n + TILE_N - 1) / TILE_N;
    const int group = (int)blockIdx.x / (group_m * columns_of_tiles);
    const int in_group = (int)blockIdx.x % (group_m * columns_of_tiles);
    const int rows = min(rows_of_tiles - group * group_m, group_m);
    return {(group * group_m + in_group % rows) * TILE_M, in_group / rows * TILE_N};
}

// ---- C ------------------------------------------------------------------------------------------

// Two neighbouring elements; n and `column` are even.
__device__ __forceinline__ void store_pair(Output *c, int m, int n, int row, int column, float first,
                                           float second)
{
    if (row >= m || column >= n) {
        return;
    }
    Output *to = c + (int64)row * n + column;
#if OUTPUT_TYPE == OUTPUT_TYPE_HALF
    uint32 pair;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(second), "f"(first));
    *(uint32 *)to = pair;
#else
    *(float2 *)to = make_float2(first, second);
#endif
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
    for (int i = 0; i < k; i++) {
        sum += (double)(widen_half(row[i]) * widen_half(column[i]));
    }
    reference[at] = sum;
}
