/* Jacobi's iteration with a five-point stencil: DEPTH steps at a time in shared memory. Points on the edges stay. */
#ifndef BLOCK_X
#define BLOCK_X 32
#endif
#ifndef BLOCK_Y
#define BLOCK_Y 8
#endif
#ifndef DEPTH
#define DEPTH 1
#endif
#define WIDTH (BLOCK_X + 2 * DEPTH)
#define HEIGHT (BLOCK_Y + 2 * DEPTH)

__device__ static bool on_edge(int x, int y, int nx, int ny)
{
    return x == 0 || y == 0 || x == nx - 1 || y == ny - 1;
}

__device__ static bool is_inside(int x, int y, int nx, int ny)
{
    return x >= 0 && y >= 0 && x < nx && y < ny;
}

/* A block computes BLOCK_X * BLOCK_Y points, from DEPTH points more on each side, of which every step loses one. */
extern "C" __global__ void __launch_bounds__(BLOCK_X *BLOCK_Y)
    stencil(const float *from, float *to, int nx, int ny, int steps)
{
    __shared__ float tile[2][HEIGHT][WIDTH];
    int left = (int)blockIdx.x * BLOCK_X - DEPTH;
    int top = (int)blockIdx.y * BLOCK_Y - DEPTH;
    int thread = threadIdx.y * BLOCK_X + threadIdx.x;
    for (int i = thread; i < HEIGHT * WIDTH; i += BLOCK_X * BLOCK_Y) {
        int x = left + i % WIDTH, y = top + i / WIDTH;
        tile[0][i / WIDTH][i % WIDTH] = is_inside(x, y, nx, ny) ? from[(long long)y * nx + x] : 0;
    }
    __syncthreads();
    for (int step = 0; step < steps; step++) {
        float(*now)[WIDTH] = tile[step % 2], (*next)[WIDTH] = tile[1 - step % 2];
        for (int i = thread; i < HEIGHT * WIDTH; i += BLOCK_X * BLOCK_Y) {
            int u = i % WIDTH, v = i / WIDTH;
            if (u <= step || v <= step || u >= WIDTH - 1 - step || v >= HEIGHT - 1 - step)
                continue;
            next[v][u] = on_edge(left + u, top + v, nx, ny)
                             ? now[v][u]
                             : 0.25f * (now[v - 1][u] + now[v + 1][u] + now[v][u - 1] + now[v][u + 1]);
        }
        __syncthreads();
    }
    int x = left + DEPTH + threadIdx.x, y = top + DEPTH + threadIdx.y;
    if (is_inside(x, y, nx, ny))
        to[(long long)y * nx + x] = tile[steps % 2][threadIdx.y + DEPTH][threadIdx.x + DEPTH];
}

/* --- the reference, in double precision --- */

extern "C" __global__ void widen(const float *from, double *to, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        to[i] = from[i];
}

extern "C" __global__ void stencil_reference(const double *from, double *to, int nx, int ny)
{
    for (int y = blockIdx.x; y < ny; y += gridDim.x)
        for (int x = threadIdx.x; x < nx; x += blockDim.x) {
            long long i = (long long)y * nx + x;
            to[i] = on_edge(x, y, nx, ny) ? from[i] : 0.25 * (from[i - nx] + from[i + nx] + from[i - 1] + from[i + 1]);
        }
}

extern "C" __global__ void copy_both(const double *from, double *a, double *b, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        double value = from[i];
        a[i] = b[i] = value;
    }
}
