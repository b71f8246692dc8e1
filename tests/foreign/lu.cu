/* LU decomposition without pivoting, in place, by tiles: the diagonal tile, the tiles beside and below it, the rest. */
#ifndef TILE
#define TILE 16
#endif
#ifndef ROWS_PER_THREAD
#define ROWS_PER_THREAD 1
#endif

extern "C" __global__ void __launch_bounds__(TILE) lu_diagonal(float *a, int n, int first)
{
    __shared__ float tile[TILE][TILE + 1];
    int own = threadIdx.x;
    float *corner = a + (long long)first * n + first;
    for (int r = 0; r < TILE; r++)
        tile[r][own] = corner[(long long)r * n + own];
    __syncthreads();
    for (int k = 0; k < TILE - 1; k++) {
        if (own > k) {
            tile[own][k] /= tile[k][k];
            for (int j = k + 1; j < TILE; j++)
                tile[own][j] -= tile[own][k] * tile[k][j];
        }
        __syncthreads();
    }
    for (int r = 0; r < TILE; r++)
        corner[(long long)r * n + own] = tile[r][own];
}

/* Block i solves the tile i + 1 to the right of the diagonal one by half of its threads, and the one below by the others. */
extern "C" __global__ void __launch_bounds__(2 * TILE) lu_perimeter(float *a, int n, int first)
{
    __shared__ float diagonal[TILE][TILE + 1], right[TILE][TILE + 1], below[TILE][TILE + 1];
    int own = threadIdx.x % TILE;
    int half = threadIdx.x / TILE;
    int other = first + ((int)blockIdx.x + 1) * TILE;
    for (int r = half; r < TILE; r += 2) {
        diagonal[r][own] = a[(long long)(first + r) * n + first + own];
        right[r][own] = a[(long long)(first + r) * n + other + own];
        below[r][own] = a[(long long)(other + r) * n + first + own];
    }
    __syncthreads();
    for (int i = 0; i < TILE; i++) {
        float sum = half == 0 ? right[i][own] : below[own][i];
        for (int k = 0; k < i; k++)
            sum -= half == 0 ? diagonal[i][k] * right[k][own] : below[own][k] * diagonal[k][i];
        if (half == 0)
            right[i][own] = sum;
        else
            below[own][i] = sum / diagonal[i][i];
    }
    __syncthreads();
    for (int r = half; r < TILE; r += 2) {
        a[(long long)(first + r) * n + other + own] = right[r][own];
        a[(long long)(other + r) * n + first + own] = below[r][own];
    }
}

extern "C" __global__ void __launch_bounds__(TILE *TILE / ROWS_PER_THREAD) lu_internal(float *a, int n, int first)
{
    __shared__ float right[TILE][TILE + 1], below[TILE][TILE + 1];
    int x = threadIdx.x;
    int other_x = first + ((int)blockIdx.x + 1) * TILE;
    int other_y = first + ((int)blockIdx.y + 1) * TILE;
    for (int y = threadIdx.y; y < TILE; y += TILE / ROWS_PER_THREAD) {
        right[y][x] = a[(long long)(first + y) * n + other_x + x];
        below[y][x] = a[(long long)(other_y + y) * n + first + x];
    }
    __syncthreads();
    for (int y = threadIdx.y; y < TILE; y += TILE / ROWS_PER_THREAD) {
        float sum = 0;
        for (int k = 0; k < TILE; k++)
            sum += below[y][k] * right[k][x];
        a[(long long)(other_y + y) * n + other_x + x] -= sum;
    }
}

/* A matrix that needs no pivots. */
extern "C" __global__ void lu_fill(float *a, const float *random, int n)
{
    for (int r = blockIdx.x; r < n; r += gridDim.x)
        for (int c = threadIdx.x; c < n; c += blockDim.x)
            a[(long long)r * n + c] = random[(long long)r * n + c] + (r == c ? n : 0);
}

/* --- the reference, in double precision: column by column --- */

extern "C" __global__ void lu_widen(const float *a, double *to, int n)
{
    for (int r = blockIdx.x; r < n; r += gridDim.x)
        for (int c = threadIdx.x; c < n; c += blockDim.x)
            to[(long long)r * n + c] = a[(long long)r * n + c];
}

extern "C" __global__ void lu_column(double *a, int n, int k)
{
    for (int r = k + 1 + blockIdx.x * blockDim.x + threadIdx.x; r < n; r += gridDim.x * blockDim.x)
        a[(long long)r * n + k] /= a[(long long)k * n + k];
}

extern "C" __global__ void lu_update(double *a, int n, int k)
{
    for (int r = k + 1 + blockIdx.x; r < n; r += gridDim.x)
        for (int c = k + 1 + threadIdx.x; c < n; c += blockDim.x)
            a[(long long)r * n + c] -= a[(long long)r * n + k] * a[(long long)k * n + c];
}
