// The Euclidean norm of each row: a block for a row.
#ifndef BLOCK_SIZE
#define BLOCK_SIZE 256
#endif
#ifndef NUM_LOAD
#define NUM_LOAD 1
#endif

extern "C" __global__ void __launch_bounds__(BLOCK_SIZE)
    row_norm(const float *x, float *out, unsigned columns)
{
    __shared__ float sums[BLOCK_SIZE / 32];
    const float *row = x + (size_t)blockIdx.x * columns;
    float sum = 0;
    for (unsigned i = threadIdx.x; i < columns; i += NUM_LOAD * BLOCK_SIZE)
#pragma unroll
        for (unsigned j = 0; j < NUM_LOAD; j++) {
            float value = i + j * BLOCK_SIZE < columns ? row[i + j * BLOCK_SIZE] : 0;
            sum += value * value;
        }
    for (int offset = 16; offset > 0; offset /= 2)
        sum += __shfl_down_sync(~0u, sum, offset);
    if (threadIdx.x % 32 == 0)
        sums[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int i = 1; i < BLOCK_SIZE / 32; i++)
            sum += sums[i];
        out[blockIdx.x] = sqrtf(sum);
    }
}

extern "C" __global__ void row_norm_reference(const float *x, double *out, unsigned rows, unsigned columns)
{
    for (unsigned row = blockIdx.x * blockDim.x + threadIdx.x; row < rows; row += gridDim.x * blockDim.x) {
        double sum = 0;
        for (unsigned i = 0; i < columns; i++)
            sum += (double)x[(size_t)row * columns + i] * x[(size_t)row * columns + i];
        out[row] = sqrt(sum);
    }
}
