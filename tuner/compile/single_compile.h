/*
 * Compiles single variants outside a sweep, one after the other: through a compile pool of its own, which
 * it starts when it first needs it.
 */
#ifndef AUTOTUNE_SINGLE_COMPILE_H
#define AUTOTUNE_SINGLE_COMPILE_H

#include "base/error.h"
#include "base/event_loop.h"
#include "compile/build.h"
#include "compile/compile_pool.h"

#include <stdbool.h>

/* Initialise to zero; release with single_compile_release(). */
struct single_compile {
    struct event_loop loop;
    struct compile_pool *pool;
    char *cache; /* folder, owned; NULL: the default */
    char *path;  /* of the latest result's entry in the cache */
};

/*
 * Returns 0 with a cubin in `compilation`, ERROR_CONFIG with the compiler's first error if the variant does
 * not compile, ERROR_DEVICE if there is no NVRTC, ERROR_WORKER if the compiler ends its worker, or
 * ERROR_INTERRUPTED. Failing to write the cache is not an error. Sets `*compiled` unless the cubin was in the
 * cache; it may be NULL. Release `compilation` in any case.
 */
int single_compile_cubin(struct single_compile *compiler, const struct build *build,
                         struct compilation *compilation, bool *compiled, struct error *error);

/* The same for any source and NVRTC options. */
int single_compile_source_cubin(struct single_compile *compiler, const struct source *source,
                                const struct options *options, const char *arch,
                                struct compilation *compilation, bool *compiled,
                                struct error *error);

void single_compile_release(struct single_compile *compiler);

#endif
