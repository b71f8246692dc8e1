#ifndef BLOCK_SIZE
#define BLOCK_SIZE 256
#endif

extern "C" __global__ void __launch_bounds__(BLOCK_SIZE)
saxpy(float a, const float *x, float *y, int n)
{
    for (int i = blockIdx.x * BLOCK_SIZE + threadIdx.x; i < n; i += gridDim.x * BLOCK_SIZE)
        y[i] = a * x[i] + y[i];
}

/* Slow and obviously right. */
extern "C" __global__ void
saxpy_reference(float a, const float *x, const float *y, double *result, int n)
{
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        result[i] = (double)a * x[i] + y[i];
}
