/*
 * nvJitLink, opened at run time: links the translation units of a source. It is looked for beside
 * NVRTC, whose version it must match.
 */
#ifndef AUTOTUNE_LINKER_H
#define AUTOTUNE_LINKER_H

#include "base/error.h"
#include "compile/compilation.h"

#include <stdbool.h>
#include <stddef.h>

struct linker;

/* The path of the nvJitLink that belongs to that NVRTC, or NULL if there is none; free it. */
char *linker_find(const char *nvrtc_path, const char *version);

/* Opens the library that belongs to the NVRTC at `nvrtc_path`, of `version` ("13.0"). Returns 0, or
 * ERROR_DEVICE with the places where it looked. */
int linker_open(struct linker **linker, const char *nvrtc_path, const char *version,
                struct error *error);
void linker_close(struct linker *linker);

/* Whether it counts the 1 KB of shared memory that the system reserves in each block as the kernel's: version
 * 13.0 does, for compute capability 9.0. NULL is allowed. */
bool linker_counts_reserved(const struct linker *linker);

/* A unit's relocatable cubin. */
struct linker_input {
    const char *name; /* in messages */
    const void *cubin;
    size_t bytes;
};

/*
 * Links for `arch` ("sm_90a"). Returns 0, with the cubin unless the linker refuses the units, and
 * appends its messages and the kernels' resource usage to `compilation->log`. Returns ERROR_WORKER
 * if the linker itself fails.
 */
int linker_link(struct linker *linker, const char *arch, const struct linker_input *inputs,
                size_t count, struct compilation *compilation, struct error *error);

#endif
