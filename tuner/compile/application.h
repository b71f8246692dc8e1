/*
 * What an application compiles in its own process (libtuned_kernel): tuned variants that its bundle does not
 * have, and its own sources with a kernel's tuned parameters. For example, a source includes "barriers.cuh"
 * and gets the definitions of the tuned grid_barrier. `autotune bundle --source` compiles it in advance;
 * libtuned_kernel loads that binary, or compiles the source itself.
 */
#ifndef AUTOTUNE_APPLICATION_H
#define AUTOTUNE_APPLICATION_H

#include "base/error.h"
#include "compile/build.h"
#include "compile/compilation.h"
#include "template/source.h"
#include "template/variant.h"

#include <stdbool.h>
#include <stddef.h>

/* Initialise to zero; release with application_compiler_release(). */
struct application_compiler {
    struct nvrtc *nvrtc; /* opened when it is first needed */
    char *cache;         /* folder, owned; NULL: the default */
};

/* The cubin that the NVRTC of this nvrtc_build() has made, from the cache (its folder; NULL: the default). False, with
 * nothing to release, if it is not there. */
bool application_cached(const char *cache, const struct source *source,
                        const struct options *options, const char *arch, const char *build,
                        struct compilation *compilation);

/*
 * Takes the cubin from the cache or runs NVRTC. `tuned_with` is the nvrtc_build() of the tuning, "" if it is not
 * known: its cubin comes first, then the one that an application has compiled before for this tuning, with
 * whichever NVRTC there was. So a new toolkit makes no application compile, and a new tuning does not get an
 * older one's code. Returns 0 with a cubin in `compilation`, ERROR_CONFIG if the source does not compile, with
 * the compiler's first error, or if it has changed since it was read, or ERROR_DEVICE if there is no NVRTC.
 * Failing to write the cache is not an error. Release `compilation` in any
 * case.
 */
int application_compile_source(struct application_compiler *compiler, const struct source *source,
                               const struct options *options, const char *arch,
                               const char *tuned_with, struct compilation *compilation,
                               bool *compiled, struct error *error);
void application_compiler_release(struct application_compiler *compiler);

/* Reads the source and its headers, which are looked up in its own folder and in `templates`.
 * Returns what source_load() does. */
int application_source_load(struct source *source, const char *path, const char *templates,
                            struct error *error);

/* The NVRTC options for it: include folders and `definitions`, each "-DNAME=VALUE". Release
 * them. */
void application_source_options(const struct source *source, const char *const *definitions,
                                size_t count, struct options *options);

/*
 * The path of its binary in a bundle. The configuration's own binary is BUNDLE/cubin/NAME.cubin;
 * this one is BUNDLE/cubin/NAME-DIGITS.cubin. The digits are a hash of the source, its headers and
 * the definitions; the order of the definitions does not matter. Free the string.
 */
char *application_source_binary(const struct source *source, const char *const *definitions,
                                size_t count, const char *configuration_cubin);

/* --- cubins in a bundle --- */

/*
 * A cubin in a bundle, with a hash in a file beside it (PATH.hash). The hash is of the cubin, of
 * what it was compiled from, and of the symbols of its kernels with C++ names, which follow it in
 * that file. This detects a damaged cubin, or one of another variant.
 */
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
