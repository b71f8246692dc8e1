// Layer normalisation of rows, with the statistics that the backward pass needs: one block per row.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace layers
{

template <typename T> struct params {
    const T *x;
    const T *weight; // gamma
    const T *bias;   // beta, or a null pointer
    T *y;
    float *mean;
    float *rstd;
    int rows;
    int columns;
    float epsilon;
};

inline __device__ float as_float(float x) { return x; }
inline __device__ float as_float(__half x) { return __half2float(x); }
inline __device__ float as_float(__nv_bfloat16 x) { return __bfloat162float(x); }
inline __device__ void store(float *to, float x) { *to = x; }
inline __device__ void store(__half *to, float x) { *to = __float2half(x); }
inline __device__ void store(__nv_bfloat16 *to, float x) { *to = __float2bfloat16(x); }

template <int THREADS> __device__ float block_sum(float value)
{
    __shared__ float partial[32];
    for (int offset = 16; offset > 0; offset /= 2)
        value += __shfl_down_sync(0xffffffff, value, offset);
    if (threadIdx.x % 32 == 0)
        partial[threadIdx.x / 32] = value;
    __syncthreads();
    if (threadIdx.x < 32) {
        value = threadIdx.x < THREADS / 32 ? partial[threadIdx.x] : 0;
        for (int offset = 16; offset > 0; offset /= 2)
            value += __shfl_down_sync(0xffffffff, value, offset);
        if (threadIdx.x == 0)
            partial[0] = value;
    }
    __syncthreads();
    value = partial[0];
    __syncthreads();
    return value;
}

template <typename T, int THREADS, int CACHED>
__global__ void __launch_bounds__(THREADS) layer_norm(const __grid_constant__ params<T> p)
{
    const size_t row = blockIdx.x;
    const T *x = p.x + row * p.columns;
    float cached[CACHED > 0 ? CACHED : 1];
    float sum = 0;
#pragma unroll
    for (int i = 0; i < CACHED; i++) {
        const int column = threadIdx.x + i * THREADS;
        cached[i] = column < p.columns ? as_float(x[column]) : 0;
        sum += cached[i];
    }
    for (int column = threadIdx.x + CACHED * THREADS; column < p.columns; column += THREADS)
        sum += as_float(x[column]);
    const float mean = block_sum<THREADS>(sum) / p.columns;
    float squares = 0;
#pragma unroll
    for (int i = 0; i < CACHED; i++) {
        const float difference = cached[i] - mean;
        squares += threadIdx.x + i * THREADS < p.columns ? difference * difference : 0;
    }
    for (int column = threadIdx.x + CACHED * THREADS; column < p.columns; column += THREADS) {
        const float difference = as_float(x[column]) - mean;
        squares += difference * difference;
    }
    const float rstd = rsqrtf(block_sum<THREADS>(squares) / p.columns + p.epsilon);
    auto finish = [&](int column, float value) {
        const float shift = p.bias != nullptr ? as_float(p.bias[column]) : 0;
        store(p.y + row * p.columns + column, (value - mean) * rstd * as_float(p.weight[column]) + shift);
    };
#pragma unroll
    for (int i = 0; i < CACHED; i++)
        if (threadIdx.x + i * THREADS < p.columns)
            finish(threadIdx.x + i * THREADS, cached[i]);
    for (int column = threadIdx.x + CACHED * THREADS; column < p.columns; column += THREADS)
        finish(column, as_float(x[column]));
    if (threadIdx.x == 0) {
        p.mean[row] = mean;
        p.rstd[row] = rstd;
    }
}

// What is right, in double precision: a thread per row. `what` is 0 for y, 1 for the mean, 2 for 1 / deviation.
template <typename T> __global__ void reference(params<T> p, double *out, int what)
{
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= p.rows)
        return;
    const T *x = p.x + (size_t)row * p.columns;
    double mean = 0, squares = 0;
    for (int i = 0; i < p.columns; i++)
        mean += as_float(x[i]);
    mean /= p.columns;
    for (int i = 0; i < p.columns; i++)
        squares += (as_float(x[i]) - mean) * (as_float(x[i]) - mean);
    const double rstd = 1 / sqrt(squares / p.columns + p.epsilon);
    if (what > 0)
        out[row] = what == 1 ? mean : rstd;
    for (int i = 0; i < p.columns && what == 0; i++)
        out[(size_t)row * p.columns + i] = (as_float(x[i]) - mean) * rstd * as_float(p.weight[i]) +
                                           (p.bias != nullptr ? as_float(p.bias[i]) : 0);
}

} // namespace layers
