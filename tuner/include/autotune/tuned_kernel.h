/*
 * libtuned_kernel provides tuned kernels that are ready to launch. It looks up the configuration
 * with libtuned, takes the binary from the bundle, from the cache or, if neither has it, from
 * NVRTC, loads it into the current CUDA context, and evaluates the launches for the caller's
 * problem.
 *
 *     struct tuned_kernels *kernels;                  (a CUDA context is current, of either API)
 *     tuned_kernels_open(&kernels, "bundle", NULL, &error);
 *     struct tuned_value problem[] = {tuned_integer("n", n), tuned_word("value_type", "float")};
 *     struct tuned_query query = {0};
 *     query.kernel = "reduce_sum", query.problem = problem, query.problem_count = 2;
 *     struct tuned_kernel *kernel;
 *     tuned_kernel_get(kernels, &query, &kernel, &error);
 *     struct tuned_buffer buffers[] = {{"in", in}, {"out", out}};
 *     tuned_kernel_launch(kernel, buffers, 2, NULL, 0, stream, &error); (as often as wanted)
 *     tuned_kernel_free(kernel);
 *     tuned_kernels_close(kernels);
 *
 * Hazards:
 * - A kernel is for one problem: another n needs another tuned_kernel_get(). A scalar can be given
 *   at each launch only if nothing but arguments depends on it.
 * - A kernel has its own scratch buffers, so it must not run on two streams at once.
 * - Every call needs the context that was current at tuned_kernels_open().
 * - tuned_kernel_launch() encodes a kernel's tensor maps anew for the caller's buffers each time,
 *   and needs addresses that are multiples of 16. A caller that runs `launches` itself must encode
 *   them with cuTensorMapEncodeTiled(). Kernels with textures or arrays of pointers are refused:
 *   load your source with tuned_module_get(), and create the textures or arrays yourself.
 * - What was compiled is kept in the cache, and used as long as the configuration is of the same tuning: another
 *   NVRTC or other CUDA headers make nothing compile again, and a binary that was compiled here may be of others
 *   than the tuning's. The binary that was tuned is used if the cache has it.
 * - A template is read once, and NVRTC reads its headers when it compiles: if a file has changed meanwhile, that
 *   is TUNED_COMPILER, until the kernels are opened again.
 * - A template is code: open only bundles that you trust as you trust a library. A bundle that is
 *   merely damaged is refused, and a damaged binary in it is compiled again.
 * - Unlike libtuned, this library ends the process when host memory runs out.
 *
 * Several threads may call tuned_kernel_get() and tuned_module_get(), which then take turns, and
 * tuned_kernel_launch() for different kernels. Of several `tuned_kernels`, one compiles at a time.
 *
 * While a process compiles for the first time, NVRTC handles SIGINT and SIGTERM for some tens of
 * milliseconds by ending the process. The thread that compiles blocks them meanwhile; unless all other
 * threads block them, too, a signal during that time ends the process instead of reaching your handlers.
 */
#ifndef AUTOTUNE_LIBTUNED_KERNEL_H
#define AUTOTUNE_LIBTUNED_KERNEL_H

#include <autotune/tuned.h>

#ifdef __cplusplus
extern "C" {
#endif

struct CUmod_st; /* CUmodule, CUfunction and CUstream are pointers to these */
struct CUfunc_st;
struct CUstream_st;

struct tuned_kernels;

/*
 * Opens a bundle, or a tuned INI whose templates are in the folder `templates`, with their defaults. Returns 0,
 * TUNED_NO_GPU, TUNED_BAD_FILE, or TUNED_CUDA if the driver is too old.
 */
int tuned_kernels_open(struct tuned_kernels **kernels, const char *path, const char *templates,
                       struct tuned_error *error);
void tuned_kernels_close(struct tuned_kernels *kernels); /* free its kernels first; may be NULL */

/* The context's GPU, and the loaded table, for tuned_find(). */
const struct tuned_gpu *tuned_kernels_gpu(const struct tuned_kernels *kernels);
const struct tuned_table *tuned_kernels_table(const struct tuned_kernels *kernels);

/* Where a binary came from. */
enum tuned_origin { TUNED_FROM_BUNDLE, TUNED_FROM_CACHE, TUNED_FROM_COMPILER };

/* "bundle", "cache", "compiler". */
const char *tuned_origin_text(enum tuned_origin origin);

enum tuned_access { TUNED_READ, TUNED_WRITE, TUNED_READ_WRITE, TUNED_SCRATCH };

/*
 * A buffer of the kernel. The caller passes every buffer that is not TUNED_SCRATCH and has no
 * address. A buffer with an address is a variable of the loaded module (`symbol` in the template):
 * the caller copies to it before a launch and from it afterwards, as its access says.
 */
struct tuned_kernel_buffer {
    const char *name;
    const char *type; /* "float", "int64", … */
    uint64_t length;  /* elements */
    uint64_t bytes;
    enum tuned_access access;
    uint64_t address; /* of a variable on the GPU; 0 for all others */
};

/* One launch of a run, for callers that launch it themselves. */
struct tuned_launch {
    const char *entry; /* as in the template: "scale", "ns::scale<float, TILE>" */
    struct CUfunc_st *function;
    unsigned grid[3], block[3];
    unsigned shared_bytes; /* dynamic; more than 48 KB has been allowed */
    int cooperative;
    unsigned cluster[3];    /* blocks; 1, 1, 1 without clusters */
    int programmatic;       /* 1: may begin before the previous launch has ended */
    int cluster_scheduling; /* a CUclusterSchedulingPolicy */
    int shared_carveout;    /* per cent of the SM's memory for shared memory; -1: no preference */
};

struct tuned_kernel {
    struct tuned_match match; /* the rule that applied; valid until tuned_kernels_close() */
    enum tuned_origin origin;
    struct CUmod_st *module;
    const struct tuned_launch *launches; /* of one run, in order */
    size_t launch_count;
    const struct tuned_kernel_buffer *buffers;
    size_t buffer_count;
    /* The problem's numbers that only arguments depend on, such as the alpha of a GEMM. A launch
     * may change them; their values here are the query's, or else the template's defaults. */
    const struct tuned_value *scalars;
    size_t scalar_count;
};

/*
 * Looks up `query`, loads the binary, evaluates the launches and makes the scratch buffers. If the
 * query's GPU is NULL, the context's GPU is used. If its template_hash is NULL, the template's is
 * used, so that configurations of other versions are refused. Returns 0; an error of
 * tuned_find(); TUNED_INVALID if the configuration, tuned for another problem or GPU, violates a
 * constraint of the template here; TUNED_BAD_FILE for an error in the template; TUNED_COMPILER if
 * NVRTC is needed but missing, or refuses the kernel; or TUNED_CUDA if the driver refuses it, or if
 * its blocks must all be resident and do not fit.
 */
int tuned_kernel_get(struct tuned_kernels *kernels, const struct tuned_query *query,
                     struct tuned_kernel **kernel, struct tuned_error *error);
void tuned_kernel_free(struct tuned_kernel *kernel); /* must not be running; may be NULL */

/* The buffer called `name`; NULL if there is none. */
const struct tuned_kernel_buffer *tuned_kernel_buffer(const struct tuned_kernel *kernel,
                                                      const char *name);

/* A buffer of the caller: its name in the template, and device memory of at least `bytes`. */
struct tuned_buffer {
    const char *name;
    uint64_t address; /* CUdeviceptr */
};

/*
 * Queues one run of all launches on `stream` (NULL: the default stream). `scalars` replaces any of
 * kernel->scalars for this run; NULL and 0 for none. Does not allocate. Returns 0; TUNED_INVALID,
 * and nothing is launched, if a buffer is missing, unknown or scratch, or if a scalar is not one of
 * kernel->scalars (the message says what else depends on it) or does not fit an argument's type; or
 * TUNED_CUDA naming the launch that the driver refused.
 */
int tuned_kernel_launch(const struct tuned_kernel *kernel, const struct tuned_buffer *buffers,
                        size_t buffer_count, const struct tuned_value *scalars, size_t scalar_count,
                        struct CUstream_st *stream, struct tuned_error *error);

/*
 * Compiles the caller's own source with the tuned parameters of a kernel: an application's kernel
 * that includes "barriers.cuh", say, with the parameters of grid_barrier. The source can include
 * the files in the bundle's templates folder. If `autotune bundle --source SOURCE=KERNEL` has
 * packed this very source, its binary is loaded and nothing is compiled. Configurations of another
 * version of the kernel's template are refused. `module` is loaded into the context; unload it with
 * cuModuleUnload(). `match` and `origin` may be NULL. Errors are those of tuned_kernel_get().
 */
int tuned_module_get(struct tuned_kernels *kernels, const struct tuned_query *query,
                     const char *source, struct CUmod_st **module, struct tuned_match *match,
                     enum tuned_origin *origin, struct tuned_error *error);

#ifdef __cplusplus
}
#endif

#endif
