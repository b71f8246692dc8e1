/*
 * NVRTC, opened at run time: any version from 12.0 on. It needs neither a GPU nor a driver. NVRTC
 * serialises the threads of a process, so a sweep calls it in several compile worker processes.
 */
#ifndef AUTOTUNE_NVRTC_H
#define AUTOTUNE_NVRTC_H

#include "base/error.h"
#include "compile/compilation.h"

#include <stdbool.h>
#include <stddef.h>

struct nvrtc;

/*
 * Opens the library. If $AUTOTUNE_NVRTC is set, opens that file only. Otherwise searches, in this
 * order, the dynamic linker's path, $CUDA_HOME, /usr/local/cuda and the CUDA root of the build
 * (AUTOTUNE_CUDA_ROOT). Also looks for the matching CUDA and CCCL headers, in the toolkit or in
 * NVIDIA's Python packages; they are optional. The folder `cache` remembers nvrtc_build(), which
 * otherwise takes 50 ms; it may be NULL. Returns 0, or ERROR_DEVICE with a message that says where it
 * searched and how to install NVRTC.
 */
int nvrtc_open(struct nvrtc **nvrtc, const char *cache, struct error *error);
void nvrtc_close(struct nvrtc *nvrtc);

/* What decides which cubin a source becomes, for example "13.0.88+1a2b3c4d": the compiler's version, and
 * the beginning of a hash of NVRTC's own headers, of nvJitLink if it is there, and of all files in the
 * folders of the CUDA and CCCL headers. */
const char *nvrtc_build(const struct nvrtc *nvrtc);

/* The path of the loaded library. */
const char *nvrtc_path(const struct nvrtc *nvrtc);

/* The compute capabilities that it compiles for, ascending (75, 80, …); owned by nvrtc. */
const int *nvrtc_architectures(const struct nvrtc *nvrtc, size_t *count);

struct nvrtc_job {
    const char *name; /* of the source, in messages */
    const char *text;
    const char *arch;           /* "sm_90", "sm_90a" */
    const char *const *options; /* ours (template/compiler_option.h) included */
    size_t option_count;
    size_t definition_count; /* so many of the last ones are -DNAME=VALUE */
    const char *const
        *headers; /* that may be precompiled (precompiler.h); the source begins with them */
    size_t header_count;
};

/*
 * Compiles a source, and links the units that its options name. Adds the options for the architecture, C++17
 * (unless one of `options` starts with -std), the toolkit's header folders (searched after the caller's) and
 * --ptxas-options=-v.
 *
 * Returns 0 with a cubin. If the source or an option is wrong, returns 0 with a log and no cubin.
 * Returns ERROR_USAGE if NVRTC does not support the architecture (the message lists those it
 * supports), ERROR_CONFIG if a unit cannot be read, ERROR_DEVICE if several units need a linker and
 * there is none, and ERROR_WORKER if NVRTC or the linker itself fails. Release `compilation` in any case.
 * Threads that compile at once wait for each other.
 */
int nvrtc_compile(struct nvrtc *nvrtc, const struct nvrtc_job *job, struct compilation *compilation,
                  struct error *error);

/* The source's files, of which the compiler knows the paths, lie below the folder `root`, which stays the
 * caller's; messages leave it out. `names` are those of absolute paths in #includes; they are copied. */
void nvrtc_set_root(struct nvrtc *nvrtc, const char *root, const char *const *names, size_t count);

/* Whether the files of NVRTC and the toolkit's headers are as they were when it was opened: otherwise what it
 * compiles is not of nvrtc_build(). */
bool nvrtc_stands(const struct nvrtc *nvrtc);

/* Whether one of the `names`, each followed by a line feed, is a word of any of the toolkit's headers.
 * Reads all of them, which takes 0.1 s. */
bool nvrtc_headers_name(const struct nvrtc *nvrtc, const char *names);

/* Gives the compiler a heap of `bytes` for precompiled headers and discards the headers in the old
 * one. Returns false if NVRTC does not support this (before 12.8). */
bool nvrtc_reserve_precompiled(struct nvrtc *nvrtc, size_t bytes);

/* Parses the kernels' resource usage from a log, one struct per entry function, in the log's order.
 * Free them as compilation_release() does. */
void nvrtc_parse_log(const char *log, struct compiled_kernel **kernels, size_t *count);

/* Removes the lines with resource usage, and trailing newlines, from `log`; cuts it after 64 KiB;
 * and replaces control characters by '?'. */
void nvrtc_strip_log(char *log);

/* Whether a log says that the compiler ran out of memory. Of ptxas, it says only that it stopped, without
 * the error that would be the source's. */
bool nvrtc_log_lacks_memory(const char *log);

#endif
