// The application's own kernels. two_phase has the tuned grid barrier between its two phases: every
// block sums a share, and after the barrier every block adds up all the shares.
#include "barriers.cuh"

static __device__ double sum_of_block(double value)
{
    __shared__ double shares[BLOCK_SIZE];
    shares[threadIdx.x] = value;
    __syncthreads();
    for (unsigned stride = BLOCK_SIZE / 2; stride > 0; stride /= 2) {
        if (threadIdx.x < stride) {
            shares[threadIdx.x] += shares[threadIdx.x + stride];
        }
        __syncthreads();
    }
    const double sum = shares[0];
    __syncthreads();
    return sum;
}

extern "C" __global__ BARRIER_CLUSTERS void __launch_bounds__(BLOCK_SIZE)
two_phase(const float *in, unsigned long long n, double *partials, unsigned *state, double *out)
{
    GridBarrier barrier(state);
    double sum = 0;
    for (unsigned long long i = blockIdx.x * (unsigned long long)BLOCK_SIZE + threadIdx.x; i < n;
         i += (unsigned long long)gridDim.x * BLOCK_SIZE) {
        sum += in[i];
    }
    sum = sum_of_block(sum);
    if (threadIdx.x == 0) {
        partials[blockIdx.x] = sum;
    }
    barrier.wait();
    sum = 0;
    for (unsigned i = threadIdx.x; i < gridDim.x; i += BLOCK_SIZE) {
        sum += partials[i];
    }
    sum = sum_of_block(sum);
    if (threadIdx.x == 0) {
        out[blockIdx.x] = sum;
    }
}

// Fills the L2 with clean lines of `words`. `sink` is never written, but the compiler cannot know.
extern "C" __global__ void read_all(const uint4 *words, unsigned long long count, unsigned *sink)
{
    unsigned all = 0;
    for (unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
         i < count; i += (unsigned long long)gridDim.x * blockDim.x) {
        const uint4 word = words[i];
        all |= word.x ^ word.y ^ word.z ^ word.w;
    }
    if (all == 0x9e3779b9u) {
        *sink = all;
    }
}
