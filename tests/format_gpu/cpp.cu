/* Templates, namespaces and standard headers: each thread scales some elements of a type that is tuned. */
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#ifndef PER_THREAD
#define PER_THREAD 1
#endif
#ifndef SIZE
#define SIZE 1024
#endif

namespace cpp
{
template <typename T, int COUNT> __global__ void clamp_some(const T *in, T *out)
{
    static_assert(std::is_floating_point_v<T>, "a type of the sweep");
    const std::uint64_t first = (std::uint64_t)blockIdx.x * blockDim.x * COUNT + threadIdx.x;
    for (int i = 0; i < COUNT; i++) {
        const std::uint64_t at = first + (std::uint64_t)i * blockDim.x;
        if (at < SIZE)
            out[at] = std::min(std::abs(in[at]), T(50)) + T(std::numeric_limits<std::int8_t>::max());
    }
}

/* The same number of elements in another order: of the same code, another kernel. */
template __global__ void clamp_some<float, 1>(const float *, float *);
template __global__ void clamp_some<float, 2>(const float *, float *);

template <typename T> __global__ void clamp_reference(const T *in, T *reference)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < SIZE; i += gridDim.x * blockDim.x) {
        const T x = in[i] < 0 ? -in[i] : in[i];
        reference[i] = (x < 50 ? x : 50) + 127;
    }
}
} // namespace cpp
