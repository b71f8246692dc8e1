/*
 * NVRTC, opened at run time. Any version from 12.0 on; needs no GPU and no driver. NVRTC serialises
 * the threads of a process, so only compile workers call it, one a process.
 */
#ifndef AUTOTUNE_NVRTC_H
#define AUTOTUNE_NVRTC_H

#include "base/error.h"
#include "compile/compilation.h"

#include <stdbool.h>
#include <stddef.h>

struct nvrtc;

/*
 * Opens the library: $AUTOTUNE_NVRTC (a file) and nothing else where that is set, or, in this
 * order, the linker's cache, $CUDA_HOME, /usr/local/cuda, the folder that the build found
 * (AUTOTUNE_CUDA_ROOT). Also finds the folders of the CUDA and CCCL headers that belong to it: the
 * toolkit's or those of NVIDIA's Python packages; it opens without them, too.
 * Returns 0, or ERROR_DEVICE saying where it looked and how to install it.
 */
int nvrtc_open(struct nvrtc **nvrtc, struct error *error);
void nvrtc_close(struct nvrtc *nvrtc);

/* "13.0". */
const char *nvrtc_version(const struct nvrtc *nvrtc);

/* The path it was loaded from. */
const char *nvrtc_path(const struct nvrtc *nvrtc);

/* Compute capabilities that it compiles for, ascending (75, 80, …); owned by nvrtc. */
const int *nvrtc_architectures(const struct nvrtc *nvrtc, size_t *count);

/*
 * Compiles `text` (called `name` in messages) for `arch` ("sm_90", "sm_90a") with `options` on top
 * of its own: the architecture, C++17 (unless an option begins with -std), the header folders and
 * --ptxas-options=-v. The caller's -I come before the toolkit's.
 * Returns 0 with a cubin, or with cubin NULL and a log where the program or an option is at fault;
 * ERROR_USAGE where NVRTC does not know the architecture, naming those it knows; ERROR_WORKER where
 * NVRTC itself failed. `compilation` is to be released in any case.
 */
int nvrtc_compile(struct nvrtc *nvrtc, const char *name, const char *text, const char *arch,
                  const char *const *options, size_t option_count, struct compilation *compilation,
                  struct error *error);

/* Gives the compiler a heap of `bytes` for precompiled headers; those made before are lost. False
 * where NVRTC has none: before 12.8. */
bool nvrtc_reserve_precompiled(struct nvrtc *nvrtc, size_t bytes);

/* The PTX of the same, for people to read: a new string. A program at fault is ERROR_WORKER with
 * the log. */
int nvrtc_compile_ptx(struct nvrtc *nvrtc, const char *name, const char *text, const char *arch,
                      const char *const *options, size_t option_count, char **ptx,
                      struct error *error);

/* Reads the kernels' figures out of a log (the part of nvrtc_compile that needs no library): one
 * for each entry function, in the log's order. The caller frees them as compilation_release() does.
 */
void nvrtc_parse_log(const char *log, struct compiled_kernel **kernels, size_t *count);

/* Takes the lines with figures out of `log`, and the line ends after what is left. */
void nvrtc_strip_log(char *log);

#endif
