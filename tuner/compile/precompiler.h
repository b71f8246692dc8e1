/*
 * Compiles with precompiled headers, so that each compile worker parses an expensive header once and not
 * for every variant: a kernel that includes cuda/atomic takes 1.2 s less. Needs NVRTC 12.8; with an older
 * one, or if anything goes wrong, compiles without.
 *
 * A precompiled header is an image of the compiler's heap: only the process that made it can use it, and
 * only with the same options. Therefore the variant's definitions go behind the includes. A source that does
 * not begin with these is compiled without, and so is one with a definition that a header of the toolkit names:
 * the result must be that of the source as it is.
 */
#ifndef AUTOTUNE_PRECOMPILER_H
#define AUTOTUNE_PRECOMPILER_H

#include "base/error.h"
#include "compile/nvrtc.h"

#include <stddef.h>

struct precompiler {
    struct nvrtc *nvrtc; /* these two are borrowed */
    const char *folder;  /* for the header's file, which is unlinked at once */
    char *key;           /* of the header that it made or failed to make; NULL: none */
    int descriptor;      /* the header's file; -1: none, or making it failed */
    size_t uses;         /* compilations that used one */
};

void precompiler_init(struct precompiler *precompiler, struct nvrtc *nvrtc, const char *folder);
void precompiler_release(struct precompiler *precompiler);

/* Like nvrtc_compile(). If the source does not compile, the log is that without precompiled headers. */
int precompiler_compile(struct precompiler *precompiler, const struct nvrtc_job *job,
                        struct compilation *compilation, struct error *error);

#endif
