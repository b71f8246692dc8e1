// y = a x + y with a kernel that nvcc compiles ahead of time, with the configuration of the GPU that it is built for:
//     autotune export --header --kernel saxpy --gpu "NVIDIA H200" --n 2^24 --output saxpy_tuned.h
//     nvcc -arch=sm_90 -o saxpy saxpy_app.cu
#include "saxpy_tuned.h" // BLOCK_SIZE and WAVES: before the kernel, which has defaults of its own

#include "../kernels/saxpy.cu"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

static void check(cudaError_t code, const char *what)
{
    if (code == cudaSuccess)
        return;
    fprintf(stderr, "saxpy: %s: %s\n", what, cudaGetErrorString(code));
    exit(1);
}

int main()
{
    const int n = 1 << 24;
    const float a = 3;
    float *x, *y;
    std::vector<float> host(n);
    for (int i = 0; i < n; i++)
        host[i] = float(i % 1000);
    check(cudaMalloc(&x, n * sizeof *x), "x");
    check(cudaMalloc(&y, n * sizeof *y), "y");
    check(cudaMemcpy(x, host.data(), n * sizeof *x, cudaMemcpyHostToDevice), "x");
    check(cudaMemcpy(y, host.data(), n * sizeof *y, cudaMemcpyHostToDevice), "y");

    // the grid of saxpy.ini
    int sm_count, blocks_per_sm;
    check(cudaDeviceGetAttribute(&sm_count, cudaDevAttrMultiProcessorCount, 0), "SMs");
    check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks_per_sm, saxpy, BLOCK_SIZE, 0), "occupancy");
    int grid = std::min((n + BLOCK_SIZE - 1) / BLOCK_SIZE, sm_count * blocks_per_sm * WAVES);
    saxpy<<<grid, BLOCK_SIZE>>>(a, x, y, n);
    check(cudaGetLastError(), "saxpy");
    check(cudaMemcpy(host.data(), y, n * sizeof *y, cudaMemcpyDeviceToHost), "y");

    int wrong = 0;
    for (int i = 0; i < n; i++)
        wrong += host[i] != (a + 1) * float(i % 1000);
    printf("n = %d: %d blocks of %d threads, %d elements wrong\n", n, grid, BLOCK_SIZE, wrong);
    return wrong != 0;
}
