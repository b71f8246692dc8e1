/* Several steps in time of a stencil over a line that goes on with zeros: each block loads its elements and as many
 * on both sides as there are steps. */
#ifndef BLOCK_SIZE
#define BLOCK_SIZE 256
#endif
#ifndef STEPS
#define STEPS 1
#endif

typedef unsigned long long u64;

extern "C" __global__ void __launch_bounds__(BLOCK_SIZE) stencil_run(const float *in, float *out, u64 n)
{
    __shared__ float line[2][BLOCK_SIZE + 2 * STEPS];
    u64 first = (u64)blockIdx.x * BLOCK_SIZE;
    for (unsigned i = threadIdx.x; i < BLOCK_SIZE + 2 * STEPS; i += BLOCK_SIZE)
        line[0][i] = first + i < n + 2 * STEPS ? in[first + i] : 0;
    __syncthreads();
    for (int step = 0; step < STEPS; step++) {
        for (unsigned i = threadIdx.x + 1; i + 1 < BLOCK_SIZE + 2 * STEPS; i += BLOCK_SIZE)
            line[(step + 1) % 2][i] =
                0.25f * line[step % 2][i - 1] + 0.5f * line[step % 2][i] + 0.25f * line[step % 2][i + 1];
        __syncthreads();
    }
    if (first + threadIdx.x < n)
        out[first + threadIdx.x] = line[STEPS % 2][threadIdx.x + STEPS];
}

extern "C" __global__ void stencil_fill(float *in, u64 n)
{
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (u64)gridDim.x * blockDim.x)
        in[i] = (float)(i * 2654435761u % 1024) / 512 - 1;
}

/* So many steps at once: the weights are binomial coefficients of 2 * steps, over 4^steps. */
extern "C" __global__ void stencil_reference(const float *in, double *reference, u64 n, int steps)
{
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (u64)gridDim.x * blockDim.x) {
        double weight = 1, sum = 0;
        for (int k = 0; k < steps; k++)
            weight /= 4;
        for (int k = 0; k <= 2 * steps; k++) {
            sum += weight * (double)in[i + k];
            weight = weight * (2 * steps - k) / (k + 1);
        }
        reference[i] = sum;
    }
}

/* A verifier, compiled with the parameters' defaults: otherwise it counts what is right. */
extern "C" __global__ void stencil_count(const float *out, const double *reference, u64 *wrong, u64 n, double limit)
{
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (u64)gridDim.x * blockDim.x)
        if (STEPS != 1 || BLOCK_SIZE != 256 || !(fabs((double)out[i] - reference[i]) <= limit))
            atomicAdd(wrong, 1ull);
}
