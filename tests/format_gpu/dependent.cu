/* Two launches, of which the second may begin early: it waits for the first before it reads. */
#ifndef BLOCK_SIZE
#define BLOCK_SIZE 256
#endif

typedef unsigned long long u64;

#define FIRST ((u64)blockIdx.x * blockDim.x + threadIdx.x)
#define STEP ((u64)gridDim.x * blockDim.x)

extern "C" __global__ void __launch_bounds__(BLOCK_SIZE)
    dependent_first(const float *in, float *between, u64 n)
{
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
    for (u64 i = FIRST; i < n; i += STEP)
        between[i] = in[i] + 1.0f;
}

extern "C" __global__ void __launch_bounds__(BLOCK_SIZE)
    dependent_second(const float *between, float *out, u64 n)
{
    asm volatile("griddepcontrol.wait;" ::: "memory");
    for (u64 i = FIRST; i < n; i += STEP)
        out[i] = 3.0f * between[i];
}

extern "C" __global__ void dependent_reference(const float *in, float *reference, u64 n)
{
    for (u64 i = FIRST; i < n; i += STEP)
        reference[i] = 3.0f * (in[i] + 1.0f);
}
