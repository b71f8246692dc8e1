/*
 * An application's own source, compiled with the tuned parameters of another kernel: it includes
 * "barriers.cuh", say, and gets the definitions of the tuned grid_barrier. `autotune bundle
 * --source` compiles it ahead, and libtuned_kernel finds the binary, or compiles it itself.
 */
#ifndef AUTOTUNE_APPLICATION_SOURCE_H
#define AUTOTUNE_APPLICATION_SOURCE_H

#include "base/error.h"
#include "compile/nvrtc.h"
#include "template/source.h"
#include "template/variant.h"

#include <stddef.h>

/* Reads the source; it finds headers in its own folder and in `templates`. Errors as of
 * source_load(). */
int application_source_load(struct source *source, const char *path, const char *templates,
                            struct error *error);

/* NVRTC's options for it with these "-DNAME=VALUE"; to be released. */
void application_source_options(const struct source *source, const char *const *definitions,
                                size_t count, struct options *options);

/*
 * Where a bundle has it compiled for the configuration whose own binary is BUNDLE/cubin/NAME.cubin:
 * BUNDLE/cubin/NAME-DIGITS.cubin, the digits standing for the source with all its headers and for
 * the definitions in any order. A new string.
 */
char *application_source_binary(const struct source *source, const char *const *definitions,
                                size_t count, const char *configuration_cubin);

#endif
