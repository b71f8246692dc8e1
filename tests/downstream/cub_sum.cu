// CUB's sum behind a C function, so that the application needs neither nvcc nor the runtime API: it
// opens this library where there is one. The first call, without `temporary`, asks for its bytes.
#include <cub/device/device_reduce.cuh>

extern "C" int cub_sum(void *temporary, size_t *temporary_bytes, const float *in, float *out, int n,
                       cudaStream_t stream)
{
    return cub::DeviceReduce::Sum(temporary, *temporary_bytes, in, out, n, stream);
}
