// Sums and histograms with atomics against CUB. Part of peers.cu.

// Each sum begins by clearing the result.
template <typename T>
static void bench_atomics(Clock &clock, const std::string &, const std::string &type, std::istream &line)
{
    size_t n = 0;
    int block = 0, elements_per_block = 0;
    double grid_factor = 1;
    std::string cubin;
    line >> n >> cubin >> block >> elements_per_block >> grid_factor;
    const Kernel kernel(cubin, "atomics");
    const CUfunction clear = kernel.get("atomics_clear");
    const double resident = kernel.blocks_per_sm(block, 0) * (double)sm_count();
    const double work = std::ceil((double)n / elements_per_block);
    const unsigned grid =
        (unsigned)std::max(1.0, std::min(work, std::floor(resident * grid_factor)));

    T *in = allocate<T>(n), *ours = allocate<T>(1), *theirs = allocate<T>(1);
    fill<<<1024, 256>>>(in, n);
    uint64_t count = n;
    const auto run = [&] {
        launch(clear, 1, 1, 0, {&ours});
        launch(kernel.function, grid, block, 0, {&in, &count, &ours});
    };
    const auto run_peer = with_temporary([=](void *temporary, size_t &bytes) {
        return cub::DeviceReduce::Sum(temporary, bytes, in, theirs, (int)n);
    });
    run();
    run_peer();
    if (!all_equal(ours, theirs, 1)) {
        fail("atomics", type, n);
    }
    compare(clock, "atomics_sum", type, n, run, "cub::DeviceReduce::Sum", run_peer);
}

// Keys from 0 to addresses - 1, each of which occurs.
static __global__ void fill_keys(unsigned *keys, size_t n, size_t addresses, bool sorted)
{
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n;
         i += (size_t)gridDim.x * blockDim.x) {
        size_t hash = i * 0x9e3779b97f4a7c15u;
        hash = (hash ^ hash >> 29) * 0xbf58476d1ce4e5b9u;
        keys[i] = (unsigned)(sorted ? i * addresses / n : (hash >> 32) % addresses);
    }
}

// Counts are compared with cub::DeviceHistogram. cub::DeviceReduce::ReduceByKey sums runs of equal
// keys, so it is the peer of sums by sorted keys; sums by keys in any order have none.
static void bench_histogram(Clock &clock, const std::string &, const std::string &operation,
                            std::istream &line)
{
    size_t n = 0, addresses = 0, shared_bytes = 0;
    int block = 0, elements_per_block = 0;
    double grid_factor = 1;
    std::string order, cubin;
    line >> order >> n >> addresses >> cubin >> block >> elements_per_block >> grid_factor >>
        shared_bytes;
    const bool sums = operation == "sum";
    const Kernel kernel(cubin, "histogram");
    const CUfunction clear = kernel.get("histogram_clear");
    const double resident = kernel.blocks_per_sm(block, shared_bytes) * (double)sm_count();
    const double work = std::ceil((double)n / elements_per_block);
    const unsigned grid =
        (unsigned)std::max(1.0, std::min(work, std::floor(resident * grid_factor)));

    unsigned *keys = allocate<unsigned>(n), *values = allocate<unsigned>(n);
    unsigned *ours = allocate<unsigned>(addresses), *theirs = allocate<unsigned>(addresses);
    unsigned *unique = allocate<unsigned>(addresses), *runs = allocate<unsigned>(1);
    fill_keys<<<1024, 256>>>(keys, n, addresses, order == "sorted");
    fill_keys<<<1024, 256>>>(values, n, 1000, false);
    uint64_t count = n, words = addresses;
    unsigned last = (unsigned)addresses;
    const auto run = [&] {
        launch(clear, (unsigned)((addresses + 255) / 256), 256, 0, {&ours, &words});
        launch(kernel.function, grid, block, shared_bytes, {&keys, &values, &count, &last, &ours});
    };
    const auto run_peer = with_temporary([=](void *temporary, size_t &bytes) {
        return sums ? cub::DeviceReduce::ReduceByKey(temporary, bytes, keys, unique, values, theirs, runs,
                                                     cuda::std::plus<unsigned>{}, (int)n)
                    : cub::DeviceHistogram::HistogramEven(temporary, bytes, keys, theirs, (int)addresses + 1,
                                                          0u, last, (int)n);
    });
    run();
    run_peer();
    if (!all_equal(ours, theirs, addresses)) {
        fail("histogram", operation, n);
    }
    const std::string benchmark =
        (sums ? "sum_by_key_" : "histogram_") + order + "_" + std::to_string(addresses);
    compare(clock, benchmark, "uint32", n, run,
            sums ? "cub::DeviceReduce::ReduceByKey" : "cub::DeviceHistogram::HistogramEven",
            run_peer);
}
