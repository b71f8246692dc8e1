// y = a x + y, and norm = the sum of y's squares: a step of conjugate gradients
#ifndef BLOCK_SIZE
#define BLOCK_SIZE 256
#endif
#define FINISH_TWO_PASS 0
#define FINISH_ATOMIC 1
#ifndef FINISH
#define FINISH FINISH_TWO_PASS
#endif

/* The sum of a block's values, in its first thread. */
template <typename T> __device__ T block_sum(T value)
{
    __shared__ T of_warp[32];
    for (int offset = 16; offset > 0; offset /= 2)
        value += __shfl_down_sync(0xffffffff, value, offset);
    if (threadIdx.x % 32 == 0)
        of_warp[threadIdx.x / 32] = value;
    __syncthreads();
    for (int i = 1; threadIdx.x == 0 && i < blockDim.x / 32; i++)
        value += of_warp[i];
    return value;
}

extern "C" __global__ void clear(float *norm)
{
    *norm = 0;
}

extern "C" __global__ void __launch_bounds__(BLOCK_SIZE)
update(float a, const float *x, float *y, float *partials, float *norm, int n)
{
    float sum = 0;
    for (int i = blockIdx.x * BLOCK_SIZE + threadIdx.x; i < n; i += gridDim.x * BLOCK_SIZE) {
        y[i] = a * x[i] + y[i];
        sum += y[i] * y[i];
    }
    sum = block_sum(sum);
    if (threadIdx.x == 0 && FINISH == FINISH_ATOMIC)
        atomicAdd(norm, sum);
    if (threadIdx.x == 0 && FINISH == FINISH_TWO_PASS)
        partials[blockIdx.x] = sum;
}

extern "C" __global__ void add_partials(const float *partials, float *norm, int count)
{
    float sum = 0;
    for (int i = threadIdx.x; i < count; i += blockDim.x)
        sum += partials[i];
    sum = block_sum(sum);
    if (threadIdx.x == 0)
        *norm = sum;
}

/* Slow and obviously right. */
extern "C" __global__ void update_reference(float a, const float *x, const float *y, double *result, int n)
{
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        result[i] = (double)a * x[i] + y[i];
}

extern "C" __global__ void norm_reference(float a, const float *x, const float *y, double *result, int n)
{
    double sum = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        sum += ((double)a * x[i] + y[i]) * ((double)a * x[i] + y[i]);
    sum = block_sum(sum);
    if (threadIdx.x == 0)
        *result = sum;
}
