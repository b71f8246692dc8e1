/*
 * Compiles with precompiled headers, so that each compile worker parses an expensive header
 * (cuda/atomic takes a second) once and not for every variant. Needs NVRTC 12.8;
 * with an older one, or if anything goes wrong, compiles without.
 *
 * NVRTC's precompiled header is an image of the compiler's heap at a fixed address. Only the
 * process that made it can use it, and only with the same options. Therefore the includes are put
 * before the source and the variant's definitions after the includes, so that the precompiled part
 * does not depend on the variant. A #line keeps the source's line numbers. A source that does not
 * begin with these includes is compiled without, and so is one with a definition that a header of the
 * toolkit names: the result must be that of the source as it is.
 */
#ifndef AUTOTUNE_PRECOMPILER_H
#define AUTOTUNE_PRECOMPILER_H

#include "base/error.h"
#include "compile/nvrtc.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Keeps the latest precompiled header only: cooperative_groups.h takes 100 MB. */
struct precompiler {
    struct nvrtc *nvrtc; /* borrowed */
    char *key;           /* identifies the header it made or failed to make; NULL: none */
    int descriptor;      /* the header's unlinked file; -1: none, or making it failed */
    bool reserved;       /* NVRTC's heap for precompiled headers is reserved */
    off_t least_bytes;   /* of a precompiled header: a smaller one is not worth loading */
};

struct precompilation {
    const char *name, *text, *arch;
    const char *const *options;
    size_t option_count;
    size_t definition_count; /* how many of the last options are -DNAME=VALUE */
    const char *const *headers;
    size_t header_count;
    bool more;        /* more jobs like this will follow, so precompiling pays */
    const char *file; /* path for the header's file, which is unlinked at once */
};

void precompiler_init(struct precompiler *precompiler, struct nvrtc *nvrtc);
void precompiler_release(struct precompiler *precompiler);

/* Like nvrtc_compile(). If the source does not compile, the log is that of a compilation without
 * precompiled headers. */
int precompiler_compile(struct precompiler *precompiler, const struct precompilation *job,
                        struct compilation *compilation, struct error *error);

#endif
