/*
 * An application's own source, compiled with a kernel's tuned parameters. For example, it includes
 * "barriers.cuh" and gets the definitions of the tuned grid_barrier. `autotune bundle --source`
 * compiles it in advance; libtuned_kernel loads that binary, or compiles the source itself.
 */
#ifndef AUTOTUNE_APPLICATION_SOURCE_H
#define AUTOTUNE_APPLICATION_SOURCE_H

#include "base/error.h"
#include "compile/nvrtc.h"
#include "template/source.h"
#include "template/variant.h"

#include <stddef.h>

/* Reads the source and its headers, which are looked up in its own folder and in `templates`.
 * Returns what source_load() does. */
int application_source_load(struct source *source, const char *path, const char *templates,
                            struct error *error);

/* The NVRTC options for it: include folders and `definitions`, each "-DNAME=VALUE". Release
 * them in any case. Returns 0, or ERROR_CONFIG if a definition decides which file an #include of a
 * macro reads, so that it is unknown whether it has changed. */
int application_source_options(const struct source *source, const char *const *definitions,
                               size_t count, struct options *options, struct error *error);

/*
 * The path of its binary in a bundle. The configuration's own binary is BUNDLE/cubin/NAME.cubin;
 * this one is BUNDLE/cubin/NAME-DIGITS.cubin. The digits are a hash of the source, its headers and
 * the definitions; the order of the definitions does not matter. Free the string.
 */
char *application_source_binary(const struct source *source, const char *const *definitions,
                                size_t count, const char *configuration_cubin);

#endif
