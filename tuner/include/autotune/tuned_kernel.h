/*
 * libtuned_kernel: a tuned kernel ready to launch: the look-up of libtuned, its binary from the
 * bundle, from the cache or, where neither has it, from NVRTC, loaded into the current CUDA context,
 * with the launches evaluated for the caller's problem.
 *
 *     struct tuned_kernels *kernels;                  (a CUDA context is current, of either API)
 *     tuned_kernels_open(&kernels, "bundle", NULL, &error);
 *     struct tuned_value problem[] = {tuned_integer("n", n), tuned_word("value_type", "float")};
 *     struct tuned_query query = {0};
 *     query.kernel = "reduce_sum", query.problem = problem, query.problem_count = 2;
 *     struct tuned_kernel *kernel;
 *     tuned_kernel_get(kernels, &query, &kernel, &error);
 *     struct tuned_buffer buffers[] = {{"in", in}, {"out", out}};
 *     tuned_kernel_launch(kernel, buffers, 2, stream, &error);          (as often as wanted)
 *     tuned_kernel_free(kernel);
 *     tuned_kernels_close(kernels);
 *
 * Hazards. A kernel is for one problem: another n needs another tuned_kernel_get(). Its scratch
 * buffers are its own, so one kernel must not run on two streams at once. Every call wants the
 * context that was current at tuned_kernels_open(). A template is code: open bundles that you trust
 * as you trust a library; a bundle that is merely damaged is refused. When host memory runs out this
 * library, unlike libtuned, ends the process.
 *
 * tuned_kernel_get() and tuned_module_get() may be called from several threads (they take turns),
 * and so may tuned_kernel_launch() for different kernels.
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
 * Opens a bundle (a folder that `autotune bundle` wrote); or a tuned INI, whose templates are then
 * looked for in the folder `templates`. Returns 0; TUNED_NO_GPU; TUNED_BAD_FILE; TUNED_CUDA for a
 * driver that is too old.
 */
int tuned_kernels_open(struct tuned_kernels **kernels, const char *path, const char *templates,
                       struct tuned_error *error);
void tuned_kernels_close(struct tuned_kernels *kernels); /* NULL is allowed; after its kernels */

/* The GPU of the context, and what was loaded, for tuned_find(). */
const struct tuned_gpu *tuned_kernels_gpu(const struct tuned_kernels *kernels);
const struct tuned_table *tuned_kernels_table(const struct tuned_kernels *kernels);

/* Where a binary came from. */
enum tuned_origin { TUNED_FROM_BUNDLE, TUNED_FROM_CACHE, TUNED_FROM_COMPILER };

/* "bundle", "cache", "compiler". */
const char *tuned_origin_text(enum tuned_origin origin);

enum tuned_access { TUNED_READ, TUNED_WRITE, TUNED_READ_WRITE, TUNED_SCRATCH };

/* A buffer of the kernel; the caller gives those that are not TUNED_SCRATCH. */
struct tuned_kernel_buffer {
    const char *name;
    const char *type; /* "float", "int64", … */
    uint64_t length;  /* elements */
    uint64_t bytes;
    enum tuned_access access;
};

/* One launch of a run, for callers that launch it themselves. */
struct tuned_launch {
    const char *entry;
    struct CUfunc_st *function;
    unsigned grid[3], block[3];
    unsigned shared_bytes; /* dynamic; what is over 48 KB has been asked for */
    int cooperative;
};

struct tuned_kernel {
    struct tuned_match match; /* the rule that applied; valid until tuned_kernels_close() */
    enum tuned_origin origin;
    struct CUmod_st *module;
    const struct tuned_launch *launches; /* of one run, in order */
    size_t launch_count;
    const struct tuned_kernel_buffer *buffers;
    size_t buffer_count;
};

/*
 * Looks `query` up (its GPU, where that is NULL, is the context's; its template_hash, where that is
 * NULL, is the template's own, so that configurations of other versions are refused), loads the
 * binary, evaluates the launches and makes the scratch buffers.
 * Returns 0; what tuned_find() returns; TUNED_BAD_FILE for a template's fault; TUNED_COMPILER where
 * NVRTC is needed and not there, or refuses; TUNED_CUDA where the driver does, or where the launches
 * must all be resident and do not fit.
 */
int tuned_kernel_get(struct tuned_kernels *kernels, const struct tuned_query *query,
                     struct tuned_kernel **kernel, struct tuned_error *error);
void tuned_kernel_free(struct tuned_kernel *kernel); /* NULL is allowed; when it is not running */

/* The buffer called `name`; NULL where there is none. */
const struct tuned_kernel_buffer *tuned_kernel_buffer(const struct tuned_kernel *kernel,
                                                      const char *name);

/* A buffer of the caller's: its name in the template, and device memory of at least its bytes. */
struct tuned_buffer {
    const char *name;
    uint64_t address; /* CUdeviceptr */
};

/*
 * Queues one run of all launches on `stream` (NULL: the default stream); allocates nothing. Returns
 * 0; TUNED_INVALID for a buffer that is missing, unknown or scratch; TUNED_CUDA with the launch that
 * the driver refused.
 */
int tuned_kernel_launch(const struct tuned_kernel *kernel, const struct tuned_buffer *buffers,
                        size_t count, struct CUstream_st *stream, struct tuned_error *error);

/*
 * The caller's own source, compiled with the tuned parameters of another kernel: a kernel of the
 * application that includes "barriers.cuh", say, with the parameters of grid_barrier. It finds the
 * bundle's templates as headers. Where `autotune bundle --source SOURCE=KERNEL` has packed this very
 * source, its binary is taken and nothing is compiled. Configurations of another version of the
 * kernel's template are refused, as above. `module` is loaded into the context: unload it with cuModuleUnload.
 * `match` and `origin` (NULL: not wanted) as above. Errors as of tuned_kernel_get().
 */
int tuned_module_get(struct tuned_kernels *kernels, const struct tuned_query *query,
                     const char *source, struct CUmod_st **module, struct tuned_match *match,
                     enum tuned_origin *origin, struct tuned_error *error);

#ifdef __cplusplus
}
#endif

#endif
