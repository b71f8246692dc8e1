/* What libtuned_kernel's files share. Unlike libtuned it is made of the tuner's own modules. */
#ifndef TUNED_LIBRARY_KERNELS_H
#define TUNED_LIBRARY_KERNELS_H

#include "base/error.h"
#include "compile/single_compile.h"
#include "gpu/device_context.h"
#include "template/launch_plan.h"
#include "template/template.h"

#include <autotune/tuned_kernel.h>
#include <pthread.h>

struct tuned_kernels {
    struct tuned_table *table;
    struct tuned_gpu gpu;
    struct device_context device; /* its driver and GPU; no context of its own */
    struct single_compile builder;
    char *templates; /* folder */
    struct template **loaded;
    size_t loaded_count;
    pthread_mutex_t mutex; /* of everything that is not fixed at the opening */
};

/* CUDA() for errors of any name. */
#define CUDA_CALL(device, error, function, ...)                                                    \
    device_check((device), (device)->driver.function(__VA_ARGS__), #function, (error))

/* Hands an error of the tuner's on, under the code `stated` or, where that is 0, one like it. */
int kernels_fail(const struct error *inner, int stated, struct tuned_error *error);

/* An error of this library's own. */
int kernels_refuse(struct tuned_error *error, enum tuned_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The query as it is asked: the context's GPU where there is none. */
struct tuned_query kernels_query(const struct tuned_kernels *kernels,
                                 const struct tuned_query *query);

/*
 * tuned_find() with an error. A query without a template's hash gets that of the kernel's template,
 * which is loaded when it is first asked for, so that configurations of other versions are refused.
 * `template` is good until tuned_kernels_close().
 */
int kernels_find(struct tuned_kernels *kernels, struct tuned_query *query,
                 const struct template **template, struct tuned_match *match,
                 struct tuned_error *error);

#endif
