/*
 * Compiling with precompiled headers: what a heavy header costs (cooperative_groups.h: most of a
 * second) is paid once by each compile worker instead of by each variant. Needs NVRTC 12.8; with an
 * older one, and wherever something stands in the way, variants are compiled as without.
 *
 * NVRTC's precompiled header is an image of the compiler's heap at one address, so it belongs to the
 * process that has made it; and it holds only while the options are the same. So the headers are put
 * before the source, and the variant's definitions behind them: what is precompiled has not seen
 * them. Lines of the source keep their numbers.
 */
#ifndef AUTOTUNE_PRECOMPILER_H
#define AUTOTUNE_PRECOMPILER_H

#include "base/error.h"
#include "compile/nvrtc.h"

#include <stdbool.h>
#include <stddef.h>

/* It keeps one precompiled header, the latest: 100 MB for cooperative_groups.h. */
struct precompiler {
    struct nvrtc *nvrtc; /* borrowed */
    char *key;           /* of the one it has, or has failed to make; NULL: none */
    int descriptor;      /* its file, which has no name; -1: it could not be made */
    bool reserved;       /* the heap is */
};

struct precompilation {
    const char *name, *text, *arch;
    const char *const *options;
    size_t option_count;
    size_t definition_count; /* of the options, the last ones: -DNAME=VALUE */
    const char *const *headers;
    size_t header_count;
    bool more;        /* more of the kind will come, so that precompiling pays */
    const char *file; /* where the header can be written for a moment; it is removed at once */
};

void precompiler_init(struct precompiler *precompiler, struct nvrtc *nvrtc);
void precompiler_release(struct precompiler *precompiler);

/* As nvrtc_compile(). A refusal, with its log, is always the one of a compilation without
 * precompiled headers. */
int precompiler_compile(struct precompiler *precompiler, const struct precompilation *job,
                        struct compilation *compilation, struct error *error);

#endif
