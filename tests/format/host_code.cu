// Host code in many shapes. Without the lines between the marks HOST and END, the file is the same to the compiler.
// HOST
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <thrust/device_vector.h>
#include <torch/extension.h>
#include <vector>
#include "helper_cuda.h"
// END
#include <cuda_runtime.h>

#ifndef BLOCK_SIZE
#define BLOCK_SIZE 128
#endif
#define DEVICE_INLINE __device__ __forceinline__
#define KERNEL(name) extern "C" __global__ void name
#define UNARY(name, expression)                                                                    \
    DEVICE_INLINE float name(float x) { return expression; }
#define CHECK(call)                                                                                \
    do {                                                                                           \
        if ((call) != cudaSuccess)                                                                 \
            std::exit(1);                                                                          \
    } while (0)
#define LAUNCHER(type)                                                                             \
    void launch_##type(const type *in, type *out, int n) { plain<<<n, 1>>>(in, out, n); }
#define BEGIN_SPACE namespace space {
#define END_SPACE }

UNARY(twice, 2 * x)
UNARY(thrice, 3 * x)

// HOST
using namespace std;
using Tensor = torch::Tensor;
typedef std::vector<std::pair<int, float>> pairs;
namespace py = pybind11;
static std::vector<int> sizes{1, 2, 3};
std::string name = "a } brace";
static cudaStream_t streams[4], other;
auto log_line = [](const std::string &text) { std::cout << text << '\n'; };
class Timer {
  public:
    Timer() : start_(nullptr), stop_{nullptr} { cudaEventCreate(&start_); }
    ~Timer();
    float elapsed() const;

  private:
    cudaEvent_t start_, stop_;
};
Timer::~Timer() { cudaEventDestroy(start_); }
float Timer::elapsed() const
{
    return R"x(not a brace: { )" )x"[0] + '}' + '"'; /* } */ // }
}
std::ostream &operator<<(std::ostream &stream, const Timer &timer);
template <typename T> struct Buffer { std::unique_ptr<T> data; };
template <> struct Buffer<float> { std::string text; };
enum { UNUSED_ANYWHERE = 3 };
// END
constexpr int width(int n) { return n + 1; }
const float scale = 0.5f;
struct Sum {
    alignas(sizeof(float)) float identity;
    // HOST
    std::vector<float> values() const { return {identity}; }
    static Sum load(const std::string &path) { std::ifstream file(path); return Sum(); }
    friend std::ostream &operator<<(std::ostream &stream, const Sum &sum) { return stream; }
    template <typename T> void fill(T value) { for (auto &v : values()) v = value; }
    // END
    __host__ __device__ float operator()(float a, float b) const { return a + b + identity; }
};

BEGIN_SPACE
namespace inner
{
// HOST
void host_in_namespace(Tensor x) { CHECK(cudaMemset(x.data_ptr(), 0, 1)); }
__host__ inline int annotated_host(int n) { return n / 2; }
template <typename T, int N = (3 > 2)> std::enable_if_t<(N > 0), T> host_template(T x) { return x; }
// END
DEVICE_INLINE float inside(float x) { return x + scale; }
} // namespace inner
END_SPACE

template <typename T, int N> __global__ void __launch_bounds__(N) templated(const T *in, T *out, int n)
{
    int i = blockIdx.x * N + threadIdx.x;
    auto half_of = [=](T x) { return x / 2; };
    if (i < n)
        out[i] = half_of(in[i]);
}

extern "C" {
// HOST
int host_c(void);
void saxpy_host(int n, float a, const float *x, float *y)
{
    if (n > 0) {
        templated<float, 64><<<(n + 63) / 64, 64>>>(x, y, n);
    }
}
// END
__global__ void plain(const float *in, float *out, int n)
{
    int i = blockIdx.x * BLOCK_SIZE + threadIdx.x;
    if (i < n)
        out[i] = Sum{1}(twice(in[i]), space::inner::inside(thrice(in[i]))) + width(2);
}
}

// HOST
LAUNCHER(float)
LAUNCHER(double)
template void host_template<float>(float);
#ifdef WITH_DOUBLE
void many(double x) {
#else
void many(float x) {
#endif
#pragma omp parallel for
    for (int i = 0; i < 4; i++)
        plain<<<dim3(1), dim3(BLOCK_SIZE), 0, streams[i]>>>(nullptr, nullptr, 0);
#if 0
    unbalanced { ' here
#endif
}
auto trailing(int n) noexcept(true) -> std::string { return std::to_string(n); }
Tensor plain(Tensor x)
{
    TORCH_CHECK(x.is_cuda(), "x must be on the GPU }");
    AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "plain", ([&] { templated<scalar_t, 32><<<1, 32>>>(0, 0, 0); }));
    thrust::device_vector<float> v(3);
    thrust::transform(v.begin(), v.end(), v.begin(), [] __device__(float a) { return a + 1; });
    return x;
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m)
{
    m.def("plain", &plain, py::arg("x"));
}
TORCH_LIBRARY(mine, m) { m.def("plain(Tensor x) -> Tensor"); }
// END
KERNEL(checked)(const float *in, double *out, int n)
{
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        out[i] = 5 * (double)in[i] + 4.5 + (sizeof(width(1)) - 4);
}
// HOST
int main(int argc, char *argv[]) try {
    auto timer = std::make_unique<Timer>();
    std::cerr << "line one \
        line two }" << argv[argc - 1];
    return host_c();
} catch (...) { return 1; }
// END
