/*
 * A cubin in a bundle, with a hash in a file beside it (PATH.hash). The hash is of the cubin, of
 * what it was compiled from, and of the symbols of its kernels with C++ names, which follow it in
 * that file. This detects a damaged cubin, or one of another variant.
 */
#ifndef AUTOTUNE_BUNDLED_CUBIN_H
#define AUTOTUNE_BUNDLED_CUBIN_H

#include "base/error.h"
#include "compile/compilation.h"
#include "template/source.h"
#include "template/variant.h"

#include <stddef.h>

/* What a cubin is compiled from. Include folders, the paths of further units and the order of
 * options do not matter. */
struct cubin_origin {
    const struct source *source;
    const struct options *options;
    int compute_capability; /* 90 for sm_90 */
};

/* Writes the cubin and its hash. Returns 0 or ERROR_RECORD. */
int bundled_cubin_write(const char *path, const struct cubin_origin *origin,
                        const struct compilation *compilation, struct error *error);

/* Reads a cubin that is undamaged and was compiled from `origin`, and those of its kernels that
 * have C++ names, without their figures. Otherwise returns ERROR_RECORD with the reason and leaves
 * `compilation` empty. */
int bundled_cubin_read(const char *path, const struct cubin_origin *origin,
                       struct compilation *compilation, struct error *error);

#endif
