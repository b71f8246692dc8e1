/*
 * The shared libraries: NVRTC's functions, with the folders of the headers that belong to it, and nvJitLink, which
 * links the translation units of a source. Private to nvrtc.c, which compiles, nvrtc_library.c, which opens NVRTC, and
 * linker.c; all others include nvrtc.h.
 */
#ifndef AUTOTUNE_NVRTC_LIBRARY_H
#define AUTOTUNE_NVRTC_LIBRARY_H

#include "base/error.h"
#include "base/hash.h"
#include "compile/compilation.h"

#include <nvrtc.h>
#include <stdbool.h>
#include <stddef.h>

/* The required functions; NVRTC 12.0 has all of them. */
#define NVRTC_FUNCTIONS(X)                                                                         \
    X(GetErrorString)                                                                              \
    X(Version)                                                                                     \
    X(GetNumSupportedArchs)                                                                        \
    X(GetSupportedArchs)                                                                           \
    X(CreateProgram)                                                                               \
    X(DestroyProgram)                                                                              \
    X(AddNameExpression)                                                                           \
    X(GetLoweredName)                                                                              \
    X(CompileProgram)                                                                              \
    X(GetCUBINSize)                                                                                \
    X(GetCUBIN)                                                                                    \
    X(GetPTXSize)                                                                                  \
    X(GetPTX)                                                                                      \
    X(GetProgramLogSize)                                                                           \
    X(GetProgramLog)

struct text_list {
    char **items;
    size_t count;
};

void text_list_release(struct text_list *list);

/* The library of NVRTC's own headers; of a version such as "13.0". */
#define NVRTC_BUILTINS_FORMAT "libnvrtc-builtins.so.%s"

enum { NVRTC_BUILD_BYTES = 32 };

struct nvrtc {
    void *library;
#define X(function) __typeof__(nvrtc##function) *function;
    NVRTC_FUNCTIONS(X)
#undef X
    nvrtcResult (*SetPCHHeapSize)(size_t size); /* NULL before 12.8 */
    nvrtcResult (*SetFlowCallback)(nvrtcProgram program, int (*callback)(void *, void *),
                                   void *payload); /* NULL in older versions */
    int major;
    char version[16];              /* "13.0" */
    char build[NVRTC_BUILD_BYTES]; /* nvrtc_build() */
    char listing[HASH_BYTES];      /* of the files that it is of, when they were read */
    char *path;
    int *architectures;
    size_t architecture_count;
    struct text_list include_options; /* -I… of the CUDA and CCCL headers */
    struct linker *linker;            /* NULL: not opened yet */
    char *whole;                      /* the latest unit that compiles only as a whole; NULL */
    const char *root;                 /* nvrtc_set_root() */
    struct text_list absolute;        /* names of #includes of absolute paths below it */
};

/* --- nvJitLink, looked for beside NVRTC, whose version it must match --- */

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
