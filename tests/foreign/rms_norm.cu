// RMS norm for a PyTorch extension, with its launcher, its bindings and a program that times it: host code and all.
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <cuda_runtime.h>
#include <chrono>
#include <iostream>
#include <vector>

#define CUDA_CHECK(call)                                                                           \
    do {                                                                                           \
        cudaError_t status = (call);                                                               \
        if (status != cudaSuccess) {                                                               \
            std::cerr << __FILE__ << ":" << __LINE__ << ": " << cudaGetErrorString(status) << "\n"; \
            std::exit(EXIT_FAILURE);                                                               \
        }                                                                                          \
    } while (0)

constexpr int ceil_div(int a, int b) { return (a + b - 1) / b; }

struct Options {
    std::string device = "cuda:0";
    std::vector<int> rows{1024, 4096};
};

template <typename T> struct Sum {
    __device__ __forceinline__ T operator()(T a, T b) const { return a + b; }
};

template <typename T, int THREADS, typename Op>
__device__ __forceinline__ T block_reduce(T value, Op op)
{
    __shared__ T partial[ceil_div(THREADS, 32)];
    for (int offset = 16; offset > 0; offset /= 2)
        value = op(value, __shfl_xor_sync(0xffffffff, value, offset));
    if (threadIdx.x % 32 == 0)
        partial[threadIdx.x / 32] = value;
    __syncthreads();
    value = partial[0];
    for (int warp = 1; warp < ceil_div(THREADS, 32); warp++)
        value = op(value, partial[warp]);
    return value;
}

// One block per row.
template <typename T, int THREADS, int UNROLL>
__global__ void __launch_bounds__(THREADS)
    rms_norm(const T *__restrict__ x, const T *__restrict__ weight, T *__restrict__ y, int columns, float epsilon)
{
    const T *row = x + (size_t)blockIdx.x * columns;
    float sum = 0;
#pragma unroll UNROLL
    for (int i = threadIdx.x; i < columns; i += THREADS)
        sum += float(row[i]) * float(row[i]);
    float scale = rsqrtf(block_reduce<float, THREADS>(sum, Sum<float>()) / columns + epsilon);
#pragma unroll UNROLL
    for (int i = threadIdx.x; i < columns; i += THREADS)
        y[(size_t)blockIdx.x * columns + i] = T(float(row[i]) * scale * float(weight[i]));
}

template <typename T> void launch(const T *x, const T *weight, T *y, int rows, int columns, float epsilon, cudaStream_t stream)
{
    if (columns >= 4096)
        rms_norm<T, 512, 4><<<rows, 512, 0, stream>>>(x, weight, y, columns, epsilon);
    else
        rms_norm<T, 128, 2><<<rows, 128, 0, stream>>>(x, weight, y, columns, epsilon);
}

torch::Tensor rms_norm(torch::Tensor x, torch::Tensor weight, double epsilon)
{
    TORCH_CHECK(x.is_cuda() && x.is_contiguous(), "rms_norm: x must be contiguous and on the GPU");
    auto y = torch::empty_like(x);
    AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "rms_norm", ([&] {
        launch<scalar_t>(x.data_ptr<scalar_t>(), weight.data_ptr<scalar_t>(), y.data_ptr<scalar_t>(),
                         x.numel() / x.size(-1), x.size(-1), epsilon, at::cuda::getCurrentCUDAStream());
    }));
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m)
{
    m.def("rms_norm", static_cast<torch::Tensor (*)(torch::Tensor, torch::Tensor, double)>(&rms_norm));
}

int main(int argc, char **argv)
{
    Options options;
    float *x = nullptr;
    CUDA_CHECK(cudaMalloc(&x, sizeof(float) << 24));
    for (int rows : options.rows) {
        auto start = std::chrono::steady_clock::now();
        launch(x, x, x, rows, 4096, 1e-6f, 0);
        CUDA_CHECK(cudaDeviceSynchronize());
        std::cout << rows << " rows: " << (std::chrono::steady_clock::now() - start).count() << " ns\n";
    }
    CUDA_CHECK(cudaFree(x));
    return argc > 1 && argv[1][0] == '{';
}
