/* Sums of 64 products, on sm_90a behind an instruction that sm_90 does not have. */
#ifndef FEATURES
#define FEATURES FEATURES_PORTABLE
#endif
#define FEATURES_PORTABLE 0
#define FEATURES_ARCHITECTURE 1

typedef unsigned long long u64;

#define FIRST ((u64)blockIdx.x * blockDim.x + threadIdx.x)
#define STEP ((u64)gridDim.x * blockDim.x)

extern "C" __global__ void features_run(const int *in, int *out, u64 n)
{
#if FEATURES == FEATURES_ARCHITECTURE && defined(__CUDA_ARCH_FEAT_SM90_ALL)
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#elif FEATURES == FEATURES_ARCHITECTURE && __CUDA_ARCH__ == 900
#error compiled without the features of the architecture
#endif
    for (u64 i = FIRST; i < n; i += STEP) {
        int sum = 0;
#pragma unroll
        for (u64 k = 0; k < 64; k++)
            sum += in[(i + k * 17) % n] * in[(i + k * 31) % n];
        out[i] = sum;
    }
}

extern "C" __global__ void features_reference(const int *in, int *reference, u64 n)
{
    for (u64 i = FIRST; i < n; i += STEP) {
        int sum = 0;
        for (u64 k = 0; k < 64; k++)
            sum += in[(i + k * 17) % n] * in[(i + k * 31) % n];
        reference[i] = sum;
    }
}
