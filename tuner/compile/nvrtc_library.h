/*
 * NVRTC's shared library: its functions, and the folders of the headers that belong to it. Private to nvrtc.c, which
 * compiles, and nvrtc_library.c, which opens it; all others include nvrtc.h.
 */
#ifndef AUTOTUNE_NVRTC_LIBRARY_H
#define AUTOTUNE_NVRTC_LIBRARY_H

#include "base/error.h"
#include "base/hash.h"

#include <nvrtc.h>
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

#endif
