/* A sum of two non-square matrices by tiles: two-dimensional blocks and grids, dynamic shared memory. */
#ifndef TILE_X
#define TILE_X 32
#endif
#ifndef TILE_Y
#define TILE_Y 8
#endif

typedef unsigned int u32;

extern "C" __global__ void tile_add(const int *a, const int *b, int *sum, u32 rows, u32 columns)
{
    for (u32 y = blockIdx.y * blockDim.y + threadIdx.y; y < rows; y += gridDim.y * blockDim.y)
        for (u32 x = blockIdx.x * blockDim.x + threadIdx.x; x < columns; x += gridDim.x * blockDim.x)
            sum[y * columns + x] = a[y * columns + x] + b[y * columns + x];
}

extern "C" __global__ void tile_reference(const int *a, const int *b, int *reference, u32 count)
{
    for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
        reference[i] = b[i] + a[i];
}
