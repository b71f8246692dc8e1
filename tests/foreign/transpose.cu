/* out[c][r] = in[r][c], by square tiles in shared memory, whose rows are padded against bank conflicts. */
#ifndef TILE
#define TILE 32
#endif
#ifndef TILE_ROWS
#define TILE_ROWS 8
#endif
#ifndef PADDING
#define PADDING 1
#endif

/* A block of TILE x TILE_ROWS threads moves one tile. */
extern "C" __global__ void __launch_bounds__(TILE *TILE_ROWS)
    transpose(const float *in, float *out, int rows, int columns)
{
    __shared__ float tile[TILE][TILE + PADDING];
    int column = blockIdx.x * TILE + threadIdx.x;
    int first_row = blockIdx.y * TILE;
    for (int y = threadIdx.y; y < TILE; y += TILE_ROWS)
        if (first_row + y < rows && column < columns)
            tile[y][threadIdx.x] = in[(long long)(first_row + y) * columns + column];
    __syncthreads();
    int row = first_row + threadIdx.x;
    int first_column = blockIdx.x * TILE;
    for (int y = threadIdx.y; y < TILE; y += TILE_ROWS)
        if (first_column + y < columns && row < rows)
            out[(long long)(first_column + y) * rows + row] = tile[threadIdx.x][y];
}

extern "C" __global__ void transpose_reference(const float *in, double *reference, int rows,
                                               int columns)
{
    for (int r = blockIdx.x; r < rows; r += gridDim.x)
        for (int c = threadIdx.x; c < columns; c += blockDim.x)
            reference[(long long)c * rows + r] = in[(long long)r * columns + c];
}
