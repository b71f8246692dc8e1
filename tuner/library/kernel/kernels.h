/* What libtuned_kernel's files share. Unlike libtuned, it is built from the tuner's own modules. */
#ifndef TUNED_LIBRARY_KERNELS_H
#define TUNED_LIBRARY_KERNELS_H

#include "base/error.h"
#include "compile/application.h"
#include "gpu/driver.h"
#include "template/launch_plan.h"
#include "template/template.h"

#include <autotune/tuned_kernel.h>
#include <pthread.h>
#include <stdbool.h>

struct tuned_kernels {
    struct tuned_table *table;
    struct tuned_gpu gpu;
    struct device_context device; /* the driver and the GPU; the context is the caller's */
    struct application_compiler compiler;
    char *templates; /* folder */
    struct template **loaded;
    size_t loaded_count;
    pthread_mutex_t mutex; /* for everything that changes after opening */
};

/* CUDA() with `error` as an argument. */
#define CUDA_CALL(device, error, function, ...)                                                    \
    device_check((device), (device)->driver.function(__VA_ARGS__), #function, (error))

/* Passes on an error of the tuner, with the code `stated` or, if that is 0, the closest one. */
int kernels_fail(const struct error *inner, int stated, struct tuned_error *error);

/* Reports an error of this library. */
int kernels_refuse(struct tuned_error *error, enum tuned_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/*
 * Loads the binary at `path`, in the bundle, if it is whole and was compiled from `binary`; otherwise,
 * or if `path` is NULL, compiles that for the context's GPU. `origin` says which. If compiling fails,
 * the message begins with the reason why it was necessary, and `*code` is TUNED_COMPILER. Release
 * `compilation` in any case.
 */
int kernels_load(struct tuned_kernels *kernels, const char *path, const struct cubin_origin *binary,
                 const struct tuned_match *match, struct CUmod_st **module,
                 struct compilation *compilation, enum tuned_origin *origin, int *code,
                 struct error *error);

/* The query, with the context's GPU if it has none. */
struct tuned_query kernels_query(const struct tuned_kernels *kernels,
                                 const struct tuned_query *query);

/*
 * tuned_find() with an error. If the query has no template hash, it gets that of the kernel's
 * template, which is loaded once, so that configurations of other versions are refused. `template`
 * is valid until tuned_kernels_close().
 */
int kernels_find(struct tuned_kernels *kernels, struct tuned_query *query,
                 const struct template **template, struct tuned_match *match,
                 struct tuned_error *error);

#endif
