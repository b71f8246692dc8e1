// What rms_norm.cu, which stays as it is, must compute.
#include "rms_norm.cu"

extern "C" __global__ void rms_norm_reference(const float *x, const float *weight, double *reference, int columns,
                                              float epsilon)
{
    const float *row = x + (long long)blockIdx.x * columns;
    double sum = 0;
    for (int i = 0; i < columns; i++)
        sum += (double)row[i] * row[i];
    for (int i = threadIdx.x; i < columns; i += blockDim.x)
        reference[(long long)blockIdx.x * columns + i] = row[i] * weight[i] / sqrt(sum / columns + epsilon);
}
