// Adds vectors. As Kernel Tuner's users write kernels: no extern "C", and parameters in lower case.
#ifndef block_size_x
#define block_size_x 32
#endif

__global__ void vector_add(float *c, const float *a, const float *b, int n)
{
    for (int k = 0; k < N; k++) {
        int i = (blockIdx.x * N + k) * block_size_x + threadIdx.x;
        vector x = a[i < n ? i : 0] + b[i < n ? i : 0];
        if (i < n)
            c[i] = x * (scale / scale);
    }
}
