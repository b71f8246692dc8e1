#ifndef BLOCK_SIZE
#define BLOCK_SIZE 256
#endif

extern "C" __global__ void saxpy(float a, const float *x, float *y, int n)
{
    for (int i = blockIdx.x * BLOCK_SIZE + threadIdx.x; i < n; i += gridDim.x * BLOCK_SIZE)
        y[i] += a * x[i];
}

// Slow and obviously right.
extern "C" __global__ void saxpy_reference(float a, const float *x, const float *y, double *reference, int n)
{
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        reference[i] = (double)a * x[i] + y[i];
}
