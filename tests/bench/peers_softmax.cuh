// peers.cu's softmax, of rows whose lengths are n in the results: against cuDNN, and against a copy of the
// same matrix, which nothing that reads and writes it once can beat by much.

// What is used of cuDNN, which is opened at run time, since a machine need not have it.
class Cudnn
{
  public:
    enum Mode { INSTANCE, CHANNEL }; // over all but the batch, and over the channels

    Cudnn()
    {
        void *library = dlopen("libcudnn.so.9", RTLD_NOW);
        if (library == nullptr) {
            return;
        }
        auto create = (int (*)(void **))dlsym(library, "cudnnCreate");
        create_descriptor = (Create)dlsym(library, "cudnnCreateTensorDescriptor");
        set_descriptor = (Set)dlsym(library, "cudnnSetTensor4dDescriptor");
        forward = (Forward)dlsym(library, "cudnnSoftmaxForward");
        if (create == nullptr || create_descriptor == nullptr || set_descriptor == nullptr ||
            create(&handle) != 0) {
            forward = nullptr;
        }
    }
    bool is_there() const
    {
        return forward != nullptr;
    }
    // A descriptor, which is never freed, of a batch of `rows` images with `columns` channels of 1 x 1.
    template <typename T> void *describe(int rows, int columns) const
    {
        void *descriptor = nullptr;
        check(create_descriptor(&descriptor));
        check(set_descriptor(descriptor, NCHW, sizeof(T) == 2 ? HALF : FLOAT, rows, columns, 1, 1));
        return descriptor;
    }
    void softmax(Mode mode, void *descriptor, const void *in, void *out) const
    {
        const float one = 1, zero = 0;
        check(forward(handle, ACCURATE, mode, &one, descriptor, in, &zero, descriptor, out));
    }

  private:
    enum { NCHW = 0, FLOAT = 0, HALF = 2, ACCURATE = 1 };
    typedef int (*Create)(void **);
    typedef int (*Set)(void *, int, int, int, int, int, int);
    typedef int (*Forward)(void *, int, int, const void *, void *, const void *, const void *,
                           void *, void *);
    void *handle = nullptr;
    Create create_descriptor = nullptr;
    Set set_descriptor = nullptr;
    Forward forward = nullptr;

    static void check(int status)
    {
        if (status != 0) {
            fprintf(stderr, "peers: cuDNN: status %d\n", status);
            exit(3);
        }
    }
};

template <typename T>
static __global__ void count_far(const T *a, const T *b, size_t count, float relative,
                                 unsigned *far)
{
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < count;
         i += (size_t)gridDim.x * blockDim.x) {
        if (!(fabsf((float)a[i] - (float)b[i]) <= 1e-7f + relative * (float)b[i])) {
            atomicAdd(far, 1);
        }
    }
}

// The launches of a tuned softmax, as its template describes them.
struct Softmax {
    unsigned rows = 0, columns = 0, block = 0, rows_per_block = 0, cluster = 0, chunks = 0;
    size_t shared_bytes = 0; // of bulk copies
    std::string cubin, method;

    void read(std::istream &line)
    {
        line >> rows >> columns >> cubin >> method >> block >> rows_per_block >> cluster >>
            shared_bytes >> chunks;
    }
    const char *entry() const
    {
        return method == "registers" ? "softmax_registers"
               : method == "reread"  ? "softmax_reread"
                                     : "softmax_parts";
    }
    unsigned grid(const Kernel &kernel) const
    {
        if (method != "registers") {
            return method == "split" ? rows * chunks : rows;
        }
        const unsigned tiles = (rows + rows_per_block - 1) / rows_per_block;
        if (shared_bytes == 0) {
            return tiles * cluster;
        }
        const int resident = kernel.blocks_per_sm((int)block, shared_bytes) * sm_count();
        return std::min(tiles, (unsigned)resident);
    }
};

template <typename T>
static void bench_softmax(Clock &clock, const std::string &, const std::string &type, std::istream &line)
{
    static const Cudnn cudnn;
    Softmax softmax;
    softmax.read(line);
    const Kernel kernel(softmax.cubin, softmax.entry());
    const bool split = softmax.method == "split";
    const CUfunction write = split ? kernel.get("softmax_write") : nullptr;
    const unsigned grid = softmax.grid(kernel);
    const size_t count = (size_t)softmax.rows * softmax.columns;
    T *in = allocate<T>(count), *ours = allocate<T>(count), *theirs = allocate<T>(count);
    float *parts = allocate<float>(2 * (size_t)softmax.rows * softmax.chunks);
    unsigned *far = allocate<unsigned>(1), found = 0;
    fill<<<1024, 256>>>(in, count);
    CHECK(cudaMemset(far, 0, sizeof *far));

    const auto run = [&] {
        if (split) {
            launch(kernel.function, grid, softmax.block, 0,
                   {&in, &parts, &softmax.rows, &softmax.columns, &softmax.chunks});
            launch(write, grid, softmax.block, 0,
                   {&in, &ours, &parts, &softmax.rows, &softmax.columns, &softmax.chunks});
        } else {
            launch_cluster(kernel.function, grid, softmax.block, softmax.shared_bytes,
                           softmax.cluster, {&in, &ours, &softmax.rows, &softmax.columns});
        }
    };
    const auto copy = [&] {
        CHECK(cudaMemcpyAsync(theirs, in, count * sizeof(T), cudaMemcpyDeviceToDevice));
    };
    compare(clock, "softmax", type, softmax.columns, run, "cudaMemcpyAsync", copy);
    if (cudnn.is_there()) {
        void *descriptor = cudnn.describe<T>((int)softmax.rows, (int)softmax.columns);
        Cudnn::Mode mode = Cudnn::INSTANCE;
        const auto run_peer = [&] { cudnn.softmax(mode, descriptor, in, theirs); };
        run();
        run_peer();
        count_far<<<1024, 256>>>(ours, theirs, count, sizeof(T) == 2 ? 2e-3f : 1e-5f, far);
        CHECK(cudaMemcpy(&found, far, sizeof found, cudaMemcpyDeviceToHost));
        if (found != 0) {
            fail("softmax", type, softmax.columns);
        }
        const float instance_us = clock.hidden(run_peer);
        mode = Cudnn::CHANNEL; // the same for images of 1 x 1; the faster one is the peer
        run_peer();
        mode = clock.hidden(run_peer) < instance_us ? Cudnn::CHANNEL : Cudnn::INSTANCE;
        compare(clock, "softmax", type, softmax.columns, run, "cudnnSoftmaxForward", run_peer);
    } else {
        fprintf(stderr, "peers: no cuDNN, so softmax has no peer but a copy\n");
    }
}
