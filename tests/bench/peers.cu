// Times tuned kernels against their counterparts in the CUDA toolkit, in one run with alternating
// samples. peers.py builds it and writes its input.
//
// Reads one benchmark per line from standard input and writes one line of CSV per result:
//   benchmark,type,n,ours_us,peer,peer_us,ratio
// where ratio = peer_us / ours_us: above 1, ours is faster. The input lines are
//   reduce_sum   TYPE N CUBIN BLOCK ELEMENTS_PER_BLOCK BLOCKS_PER_SM GRID_FACTOR SHARED_BYTES
//   filter       TYPE N CUBIN BLOCK ELEMENTS_PER_BLOCK SHARED_BYTES (0: not a streamed method)
//   atomics      TYPE N CUBIN BLOCK ELEMENTS_PER_BLOCK GRID_FACTOR
//   histogram    OPERATION ORDER N ADDRESSES CUBIN BLOCK ELEMENTS_PER_BLOCK GRID_FACTOR SHARED_BYTES
//   grid_barrier CUBIN BLOCK GRID
//   sgemm        M N K CUBIN METHOD BLOCK_X BLOCK_Y TILE_M TILE_N SHARED_BYTES SPLIT_K GROUP_M
//   gemm_tensor  TYPE M N K CUBIN METHOD GRID BLOCK TILE_M TILE_N SHARED_BYTES CLUSTER GROUP_M
//   softmax      TYPE ROWS COLUMNS CUBIN METHOD BLOCK ROWS_PER_BLOCK CLUSTER SHARED_BYTES CHUNKS
// cuBLAS, the peer of sgemm and gemm_tensor, and cuDNN, that of softmax, are opened at run time; without
// cuBLAS, gemm_tensor is left out.
//
// Before every sample, a read fills the L2 with other data, so that no write-back falls into the
// sample. _hidden: the launches are queued behind that read. _included: the GPU is idle when the
// host launches, and the events include the launch latency.
#include <cooperative_groups.h>
#include <cub/cub.cuh>
#include <cuda.h>
#include <cuda_fp16.h>
#include <dlfcn.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

static void check(cudaError_t status, const char *what)
{
    if (status != cudaSuccess) {
        fprintf(stderr, "peers: %s: %s\n", what, cudaGetErrorString(status));
        exit(3);
    }
}

static void check(CUresult status, const char *what)
{
    if (status != CUDA_SUCCESS) {
        const char *name = "unknown error";
        cuGetErrorName(status, &name);
        fprintf(stderr, "peers: %s: %s\n", what, name);
        exit(3);
    }
}

#define CHECK(call) check(call, #call)

static std::vector<void *> allocated; // by the benchmark of the current line

template <typename T> static T *allocate(size_t count)
{
    void *pointer = nullptr;
    CHECK(cudaMalloc(&pointer, std::max<size_t>(count * sizeof(T), 256)));
    allocated.push_back(pointer);
    return static_cast<T *>(pointer);
}

static void free_allocated()
{
    for (void *pointer : allocated) {
        CHECK(cudaFree(pointer));
    }
    allocated.clear();
}

// --- kernels of the benchmark itself ---

static __global__ void read_all(const float4 *from, size_t count, float *sink)
{
    float sum = 0;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < count;
         i += (size_t)gridDim.x * blockDim.x) {
        const float4 four = from[i];
        sum += four.x + four.y + four.z + four.w;
    }
    if (sum == 0.125f) {
        *sink = sum;
    }
}

// Integers from -8 to 8, whose sum is exact in any order.
template <typename T> static __global__ void fill(T *to, size_t count)
{
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < count;
         i += (size_t)gridDim.x * blockDim.x) {
        uint64_t bits = i * 0x9e3779b97f4a7c15u;
        bits ^= bits >> 29;
        bits *= 0xbf58476d1ce4e5b9u;
        to[i] = T((float)(int)((bits >> 40) % 17) - 8.0f);
    }
}

template <typename T> static __global__ void sum_exactly(const T *from, size_t count, double *sum)
{
    double mine = 0;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < count;
         i += (size_t)gridDim.x * blockDim.x) {
        mine += (double)(float)from[i];
    }
    atomicAdd(sum, mine);
}

static __global__ void grid_sync(int rounds)
{
    for (int i = 0; i < rounds; i++) {
        cooperative_groups::this_grid().sync();
    }
}

static __global__ void empty_kernel()
{
}

// --- timing ---

class Clock
{
  public:
    Clock()
    {
        CHECK(cudaEventCreate(&start));
        CHECK(cudaEventCreate(&stop));
        flushed = allocate<float>(FLUSH_BYTES / sizeof(float));
        CHECK(cudaMemset(flushed, 0, FLUSH_BYTES));
    }
    float hidden(const std::function<void()> &run)
    {
        flush();
        return measure(run);
    }
    float included(const std::function<void()> &run)
    {
        flush();
        CHECK(cudaDeviceSynchronize());
        return measure(run);
    }

  private:
    static constexpr size_t FLUSH_BYTES = 256 << 20; // several times any L2
    cudaEvent_t start, stop;
    float *flushed;

    void flush()
    {
        read_all<<<1024, 512>>>((const float4 *)flushed, FLUSH_BYTES / sizeof(float4), flushed);
    }
    float measure(const std::function<void()> &run)
    {
        CHECK(cudaEventRecord(start));
        run();
        CHECK(cudaEventRecord(stop));
        CHECK(cudaEventSynchronize(stop));
        float ms = 0;
        CHECK(cudaEventElapsedTime(&ms, start, stop));
        return ms * 1000;
    }
};

static float median(std::vector<float> samples)
{
    std::nth_element(samples.begin(), samples.begin() + samples.size() / 2, samples.end());
    return samples[samples.size() / 2];
}

typedef float (Clock::*Way)(const std::function<void()> &);

static void report(const std::string &benchmark, const std::string &type, size_t n, float ours,
                   const char *peer, float peer_us)
{
    printf("%s,%s,%zu,%.3f,%s,%.3f,%.3f\n", benchmark.c_str(), type.c_str(), n, ours, peer, peer_us,
           peer_us / ours);
    fflush(stdout);
}

// Times both ways, hidden and included, alternating between ours and the peer.
static void compare(Clock &clock, const std::string &benchmark, const std::string &type, size_t n,
                    const std::function<void()> &ours, const char *peer,
                    const std::function<void()> &theirs)
{
    static const struct {
        const char *suffix;
        Way way;
    } ways[] = {{"_hidden", &Clock::hidden}, {"_included", &Clock::included}};
    const int samples = n >= 1u << 28 ? 51 : 201;
    for (const auto &way : ways) {
        std::vector<float> a, b;
        for (int i = 0; i < samples; i++) {
            a.push_back((clock.*way.way)(ours));
            b.push_back((clock.*way.way)(theirs));
        }
        report(benchmark + way.suffix, type, n, median(a), peer, median(b));
    }
}

static void fail(const std::string &benchmark, const std::string &type, size_t n)
{
    fprintf(stderr, "peers: %s of %zu %s gave a wrong result\n", benchmark.c_str(), n,
            type.c_str());
    exit(1);
}

template <typename T>
static __global__ void count_different(const T *a, const T *b, size_t count, unsigned *different)
{
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < count;
         i += (size_t)gridDim.x * blockDim.x) {
        if (!((float)a[i] == (float)b[i])) {
            atomicAdd(different, 1);
        }
    }
}

template <typename T> static bool all_equal(const T *a, const T *b, size_t count)
{
    unsigned *different = allocate<unsigned>(1), found = 0;
    CHECK(cudaMemset(different, 0, sizeof *different));
    count_different<<<1024, 256>>>(a, b, count, different);
    CHECK(cudaMemcpy(&found, different, sizeof found, cudaMemcpyDeviceToHost));
    return found == 0;
}

// --- our kernels ---

struct Kernel {
    CUmodule module = nullptr;
    CUfunction function = nullptr;

    Kernel(const std::string &cubin, const char *entry)
    {
        CHECK(cuModuleLoad(&module, cubin.c_str()));
        function = get(entry);
    }
    ~Kernel()
    {
        cuModuleUnload(module);
    }
    CUfunction get(const char *entry) const
    {
        CUfunction found = nullptr;
        CHECK(cuModuleGetFunction(&found, module, entry));
        return found;
    }
    // Also allows the kernel its dynamic shared memory.
    int blocks_per_sm(int block, size_t shared_bytes) const
    {
        if (shared_bytes > 0) {
            CHECK(cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                     (int)shared_bytes));
        }
        int blocks = 0;
        CHECK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, block, shared_bytes));
        return blocks;
    }
};

static void launch(CUfunction function, dim3 grid, dim3 block, size_t shared_bytes,
                   std::vector<void *> arguments)
{
    CHECK(cuLaunchKernel(function, grid.x, grid.y, grid.z, block.x, block.y, block.z,
                         (unsigned)shared_bytes, nullptr, arguments.data(), nullptr));
}

// A call of CUB, which has its temporary storage allocated now.
template <typename Call> static std::function<void()> with_temporary(Call call)
{
    size_t bytes = 0;
    CHECK(call(nullptr, bytes));
    void *temporary = allocate<char>(bytes);
    return [=]() mutable { call(temporary, bytes); };
}

static int sm_count()
{
    int count = 0;
    CHECK(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, 0));
    return count;
}

template <typename T>
static void bench_reduce(Clock &clock, const std::string &, const std::string &type, std::istream &line)
{
    size_t n = 0, shared_bytes = 0;
    long long elements_per_block = 0;
    int block = 0;
    double blocks_per_sm = 0, grid_factor = 0;
    std::string cubin;
    line >> n >> cubin >> block >> elements_per_block >> blocks_per_sm >> grid_factor >>
        shared_bytes;

    const Kernel kernel(cubin, "reduce");
    const int resident_per_sm = kernel.blocks_per_sm(block, shared_bytes);
    if (blocks_per_sm == 0) {
        blocks_per_sm = resident_per_sm * grid_factor;
    }
    const long long work = ((long long)n + elements_per_block - 1) / elements_per_block;
    const int grid =
        std::max(1, (int)std::min((double)work, std::floor(blocks_per_sm * sm_count())));

    T *in = allocate<T>(n);
    T *out = allocate<T>(2);
    uint64_t *partials = allocate<uint64_t>(2 * grid);
    uint32_t *state = allocate<uint32_t>(32 * (1 + grid));
    double *exact = allocate<double>(1);
    CHECK(cudaMemset(partials, 0, 16 * (size_t)grid));
    CHECK(cudaMemset(state, 0, 128 * (1 + (size_t)grid)));
    CHECK(cudaMemset(exact, 0, sizeof *exact));
    fill<<<1024, 256>>>(in, n);
    sum_exactly<<<1024, 256>>>(in, n, exact);

    uint64_t count = n;
    const std::function<void()> ours = [&] {
        launch(kernel.function, grid, block, shared_bytes, {&in, &count, &partials, &state, &out});
    };
    const auto theirs = with_temporary([=](void *temporary, size_t &bytes) {
        return cub::DeviceReduce::Sum(temporary, bytes, in, out + 1, (int)n);
    });

    for (int i = 0; i < 3; i++) {
        CHECK(cudaMemset(out, 0xff, sizeof *out));
        ours();
        theirs();
        T got;
        double wanted;
        CHECK(cudaMemcpy(&got, out, sizeof got, cudaMemcpyDeviceToHost));
        CHECK(cudaMemcpy(&wanted, exact, sizeof wanted, cudaMemcpyDeviceToHost));
        if ((double)(float)got != (double)(float)T((float)wanted)) {
            fail("reduce_sum", type, n);
        }
    }
    compare(clock, "reduce_sum", type, n, ours, "cub::DeviceReduce::Sum", theirs);
}

struct Above {
    float threshold;
    template <typename T> __device__ bool operator()(T value) const
    {
        return (float)value > threshold;
    }
};

template <typename T>
static void bench_filter(Clock &clock, const std::string &benchmark, const std::string &type,
                         std::istream &line)
{
    size_t n = 0, elements_per_block = 0, shared_bytes = 0;
    int block = 0;
    std::string cubin;
    line >> n >> cubin >> block >> elements_per_block >> shared_bytes;
    const bool streamed = shared_bytes > 0;
    const Kernel kernel(cubin, streamed ? "filter_streamed" : "filter");
    const CUfunction clear = streamed ? nullptr : kernel.get("filter_clear");
    uint64_t tiles = (n + elements_per_block - 1) / elements_per_block;
    const uint64_t resident = sm_count() * (uint64_t)kernel.blocks_per_sm(block, shared_bytes);

    T *in = allocate<T>(n);
    T *out = allocate<T>(n), *their_out = allocate<T>(n);
    uint64_t *count = allocate<uint64_t>(1);
    int *their_count = allocate<int>(1);
    uint32_t *ticket = allocate<uint32_t>(1);
    uint64_t *state = allocate<uint64_t>(1);
    uint64_t *status = allocate<uint64_t>(tiles);
    CHECK(cudaMemset(state, 0, sizeof *state));
    CHECK(cudaMemset(status, 0, tiles * sizeof *status));
    fill<<<1024, 256>>>(in, n);

    uint64_t elements = n;
    float threshold = 0;
    const std::function<void()> ours = [&] {
        if (streamed) {
            launch(kernel.function, (unsigned)std::min(tiles, resident), block, shared_bytes,
                   {&in, &elements, &threshold, &out, &count, &state, &status});
            return;
        }
        launch(clear, (unsigned)std::max<uint64_t>(1, (tiles + 255) / 256), 256, 0,
               {&count, &ticket, &status, &tiles});
        launch(kernel.function, (unsigned)tiles, block, 0,
               {&in, &elements, &threshold, &out, &count, &ticket, &status});
    };
    const Above above = {threshold};
    const auto theirs = with_temporary([=](void *temporary, size_t &bytes) {
        return cub::DeviceSelect::If(temporary, bytes, in, their_out, their_count, (int)n, above);
    });

    ours();
    theirs();
    uint64_t got = 0;
    int wanted = 0;
    CHECK(cudaMemcpy(&got, count, sizeof got, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(&wanted, their_count, sizeof wanted, cudaMemcpyDeviceToHost));
    if (got != (uint64_t)wanted ||
        (benchmark == "filter_ordered" && !all_equal(out, their_out, got))) {
        fail(benchmark, type, n);
    }
    compare(clock, benchmark, type, n, ours, "cub::DeviceSelect::If", theirs);
}

// The time of one barrier is the slope between two numbers of rounds, which cancels the launch and
// the verified rounds at the end of the kernel.
static void bench_barrier(Clock &clock, const std::string &, const std::string &, std::istream &line)
{
    static const int ROUNDS = 2000;
    int block = 0, grid = 0;
    std::string cubin;
    line >> cubin >> block >> grid;
    const Kernel kernel(cubin, "grid_barrier");
    int *in = allocate<int>(1);
    uint32_t *slots = allocate<uint32_t>(2 * grid);
    uint32_t *state = allocate<uint32_t>(32 * (1 + grid));
    uint64_t *out = allocate<uint64_t>(2);
    CHECK(cudaMemset(state, 0, 128 * (1 + (size_t)grid)));

    const auto ours = [&](uint64_t rounds) {
        CHECK(cudaMemset(slots, 0, 8 * (size_t)grid));
        CHECK(cudaMemset(out, 0, 16));
        return clock.hidden([&] {
            uint64_t n = 0;
            std::vector<void *> arguments = {&in, &n, &rounds, &slots, &state, &out};
            CHECK(cuLaunchCooperativeKernel(kernel.function, grid, 1, 1, block, 1, 1, 0, nullptr,
                                            arguments.data()));
        });
    };
    const auto theirs = [&](int rounds) {
        return clock.hidden([&] {
            void *arguments[] = {&rounds};
            CHECK(
                cudaLaunchCooperativeKernel((void *)grid_sync, grid, block, arguments, 0, nullptr));
        });
    };
    std::vector<float> a, b;
    for (int i = 0; i < 31; i++) {
        a.push_back((ours(2 * ROUNDS) - ours(ROUNDS)) / ROUNDS);
        b.push_back((theirs(2 * ROUNDS) - theirs(ROUNDS)) / ROUNDS);
    }
    uint64_t result[2];
    CHECK(cudaMemcpy(result, out, sizeof result, cudaMemcpyDeviceToHost));
    if (result[0] != ~result[1]) {
        fail("grid_barrier", "", (size_t)grid * block);
    }
    report("grid_barrier", "", (size_t)grid * block, median(a), "cooperative_groups::grid::sync",
           median(b));
}

// --- matrix products ---

// What is used of cuBLAS, whose headers a machine need not have. Matrices are column-major there.
class Cublas
{
  public:
    Cublas()
    {
        for (const char *name : {"libcublas.so.13", "libcublas.so.12", "libcublas.so"}) {
            library = library != nullptr ? library : dlopen(name, RTLD_NOW);
        }
        if (library == nullptr) {
            return;
        }
        auto create = (int (*)(void **))dlsym(library, "cublasCreate_v2");
        gemm = (Gemm)dlsym(library, "cublasGemmEx");
        if (create == nullptr || create(&handle) != 0) {
            gemm = nullptr;
        }
    }
    bool is_there() const
    {
        return gemm != nullptr;
    }
    // C = A B^T for row-major matrices of m by k, n by k and m by n.
    template <typename T>
    void multiply(const __half *a, const __half *b, T *c, int m, int n, int k) const
    {
        const float one = 1, zero = 0;
        check_status(gemm(handle, TRANSPOSED, AS_IT_IS, n, m, k, &one, b, CUDA_R_16F, k, a,
                          CUDA_R_16F, k, &zero, c, sizeof(T) == 2 ? CUDA_R_16F : CUDA_R_32F, n,
                          COMPUTE_32F, DEFAULT));
    }
    // C = A B for row-major matrices of m by k, k by n and m by n, without tensor cores.
    void multiply(const float *a, const float *b, float *c, int m, int n, int k) const
    {
        const float one = 1, zero = 0;
        check_status(gemm(handle, AS_IT_IS, AS_IT_IS, n, m, k, &one, b, CUDA_R_32F, n, a, CUDA_R_32F,
                          k, &zero, c, CUDA_R_32F, n, COMPUTE_32F, DEFAULT));
    }

  private:
    static void check_status(int status)
    {
        if (status != 0) {
            fprintf(stderr, "peers: cublasGemmEx: status %d\n", status);
            exit(3);
        }
    }
    enum { AS_IT_IS = 0, TRANSPOSED = 1, COMPUTE_32F = 68, DEFAULT = -1 };
    typedef int (*Gemm)(void *, int, int, int, int, int, const void *, const void *, cudaDataType,
                        int, const void *, cudaDataType, int, const void *, void *, cudaDataType,
                        int, int, int);
    void *library = nullptr;
    void *handle = nullptr;
    Gemm gemm = nullptr;
};

static const Cublas &cublas()
{
    static const Cublas library;
    return library;
}

// Compares with cuBLAS, and with the arithmetic roof: 2 operations per cycle on each of the 128 float
// lanes of an SM.
static void bench_sgemm(Clock &clock, const std::string &, const std::string &, std::istream &line)
{
    int m = 0, n = 0, k = 0, tile_m = 0, tile_n = 0, split_k = 1, group_m = 1, clock_khz = 0;
    dim3 block;
    size_t shared_bytes = 0;
    std::string cubin, method;
    line >> m >> n >> k >> cubin >> method >> block.x >> block.y >> tile_m >> tile_n >> shared_bytes >>
        split_k >> group_m;
    const Kernel kernel(cubin, "sgemm");
    kernel.blocks_per_sm((int)(block.x * block.y), shared_bytes);
    const size_t count = (size_t)m * n;
    float *a = allocate<float>((size_t)m * k), *b = allocate<float>((size_t)k * n);
    float *ours = allocate<float>(count), *theirs = allocate<float>(count);
    fill<<<1024, 256>>>(a, (size_t)m * k);
    fill<<<1024, 256>>>(b, (size_t)k * n);
    fill<<<1024, 256>>>(ours, count);
    float alpha = 1, beta = 0;
    const dim3 grid((n + tile_n - 1) / tile_n, (m + tile_m - 1) / tile_m, split_k);
    const size_t tiles = (size_t)grid.x * grid.y;
    float *partials = allocate<float>(split_k * tiles * tile_m * tile_n);
    unsigned *tickets = allocate<unsigned>(tiles);
    CHECK(cudaMemset(tickets, 0, tiles * sizeof *tickets));
    std::vector<void *> arguments = {&m, &n, &k, &alpha, &a, &b, &beta, &ours};
    if (method == "pipelined" || method == "overlapped") {
        arguments.push_back(&group_m);
    }
    if (method == "pipelined") {
        arguments.insert(arguments.end(), {&partials, &tickets});
    }
    const auto run = [&] { launch(kernel.function, grid, block, shared_bytes, arguments); };
    const auto run_peer = [&] { cublas().multiply(a, b, theirs, m, n, k); };
    if (cublas().is_there()) {
        run();
        run_peer();
        if (!all_equal(ours, theirs, count)) {
            fail("sgemm", "float", count);
        }
        compare(clock, "sgemm", "float", count * k, run, "cuBLAS", run_peer);
    }
    std::vector<float> samples;
    for (int i = 0; i < 51; i++) {
        samples.push_back(clock.hidden(run));
    }
    CHECK(cudaDeviceGetAttribute(&clock_khz, cudaDevAttrClockRate, 0));
    const double flop_per_us = 2.0 * 128 * sm_count() * clock_khz / 1e3;
    report("sgemm_hidden", "float", count * k, median(samples), "arithmetic roof",
           (float)(2.0 * m * n * k / flop_per_us));
}

// --- matrix products on tensor cores ---

// Rows of `inner` halfs, of which a box has 64, as gemm_tensor's template says.
static CUtensorMap tensor_map(const __half *matrix, int inner, int rows, int box_rows)
{
    CUtensorMap map;
    const cuuint64_t dimensions[] = {(cuuint64_t)inner, (cuuint64_t)rows};
    const cuuint64_t strides[] = {(cuuint64_t)inner * sizeof(__half)};
    const cuuint32_t box[] = {64, (cuuint32_t)box_rows}, steps[] = {1, 1};
    CHECK(cuTensorMapEncodeTiled(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, (void *)matrix, dimensions,
                                 strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
                                 CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
                                 CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
    return map;
}

static void launch_cluster(CUfunction function, unsigned grid, unsigned block, size_t shared_bytes,
                           unsigned cluster, std::vector<void *> arguments)
{
    CUlaunchAttribute attribute = {};
    attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    attribute.value.clusterDim = {cluster, 1, 1};
    CUlaunchConfig config = {};
    config.gridDimX = grid;
    config.gridDimY = config.gridDimZ = 1;
    config.blockDimX = block;
    config.blockDimY = config.blockDimZ = 1;
    config.sharedMemBytes = (unsigned)shared_bytes;
    config.attrs = &attribute;
    config.numAttrs = cluster > 1;
    CHECK(cuLaunchKernelEx(&config, function, arguments.data(), nullptr));
}

template <typename T>
static void bench_gemm(Clock &clock, const std::string &, const std::string &type, std::istream &line)
{
    int m = 0, n = 0, k = 0, tile_m = 0, tile_n = 0, group_m = 0;
    unsigned grid = 0, block = 0, cluster = 1;
    size_t shared_bytes = 0;
    std::string cubin, method;
    line >> m >> n >> k >> cubin >> method >> grid >> block >> tile_m >> tile_n >> shared_bytes >>
        cluster >> group_m;
    if (!cublas().is_there()) {
        fprintf(stderr, "peers: no cuBLAS, so gemm_tensor has no peer\n");
        return;
    }
    const bool wgmma = method == "wgmma";
    const Kernel kernel(cubin, wgmma ? "gemm_wgmma" : "gemm_mma");
    kernel.blocks_per_sm((int)block, shared_bytes);
    const size_t count = (size_t)m * n;
    __half *a = allocate<__half>((size_t)m * k), *b = allocate<__half>((size_t)n * k);
    T *ours = allocate<T>(count), *theirs = allocate<T>(count);
    fill<<<1024, 256>>>(a, (size_t)m * k);
    fill<<<1024, 256>>>(b, (size_t)n * k);
    CUtensorMap a_map, b_map;
    std::vector<void *> arguments = {&a, &b, &ours, &m, &n, &k, &group_m};
    if (wgmma) {
        a_map = tensor_map(a, k, m, tile_m);
        b_map = tensor_map(b, k, n, tile_n / (int)cluster);
        arguments[0] = &a_map;
        arguments[1] = &b_map;
    }
    const auto run = [&] {
        launch_cluster(kernel.function, grid, block, shared_bytes, cluster, arguments);
    };
    const auto run_peer = [&] { cublas().multiply(a, b, theirs, m, n, k); };
    run();
    run_peer();
    if (!all_equal(ours, theirs, count)) {
        fail("gemm_tensor", type, count);
    }
    compare(clock, "gemm_tensor", type, count * k, run, "cuBLAS", run_peer);
}

#include "peers_atomics.cuh"
#include "peers_softmax.cuh"

struct Benchmark {
    const char *name, *type; // "": any; other types have no peer
    void (*run)(Clock &clock, const std::string &benchmark, const std::string &type, std::istream &line);
};

static const Benchmark benchmarks[] = {
    {"grid_barrier", "", bench_barrier},
    {"sgemm", "", bench_sgemm},
    {"gemm_tensor", "half", bench_gemm<__half>},
    {"gemm_tensor", "float", bench_gemm<float>},
    {"softmax", "half", bench_softmax<__half>},
    {"softmax", "float", bench_softmax<float>},
    {"reduce_sum", "float", bench_reduce<float>},
    {"reduce_sum", "int32", bench_reduce<int>},
    {"reduce_sum", "double", bench_reduce<double>},
    {"reduce_sum", "half", bench_reduce<__half>},
    {"atomics", "float", bench_atomics<float>},
    {"atomics", "int32", bench_atomics<int>},
    {"atomics", "double", bench_atomics<double>},
    {"histogram", "", bench_histogram},
    {"filter", "float", bench_filter<float>},
    {"filter", "int32", bench_filter<int>},
    {"filter", "double", bench_filter<double>},
    {"filter", "half", bench_filter<__half>},
    {"filter_ordered", "float", bench_filter<float>},
    {"filter_ordered", "int32", bench_filter<int>},
    {"filter_ordered", "double", bench_filter<double>},
    {"filter_ordered", "half", bench_filter<__half>},
};

int main()
{
    CHECK(cudaFree(nullptr)); // creates the context that the driver's calls use
    Clock clock;
    std::vector<float> hidden, included;
    for (int i = 0; i < 201; i++) {
        hidden.push_back(clock.hidden([] { empty_kernel<<<1, 32>>>(); }));
        included.push_back(clock.included([] { empty_kernel<<<1, 32>>>(); }));
    }
    fprintf(stderr, "peers: an empty kernel: %.2f us hidden, %.2f us included\n", median(hidden),
            median(included));

    allocated.clear(); // the clock's memory stays
    std::string text;
    while (std::getline(std::cin, text)) {
        std::istringstream line(text);
        std::string benchmark, type;
        line >> benchmark;
        if (benchmark != "grid_barrier" && benchmark != "sgemm") {
            line >> type;
        }
        bool known = false;
        for (const Benchmark &one : benchmarks) {
            known |= benchmark == one.name;
            if (benchmark == one.name && (type == one.type || one.type[0] == '\0')) {
                one.run(clock, benchmark, type, line);
                free_allocated();
            }
        }
        if (!known) {
            fprintf(stderr, "peers: unknown benchmark '%s'\n", benchmark.c_str());
            return 2;
        }
    }
    return 0;
}
