/*
 * What a cubin's machine code is made of: how many instructions of each kind its kernels have, so
 * that one sees whether loads are as wide as meant, registers spill, or atomics are where they were
 * not expected. Counted as they stand in the code, not as often as they run; padding is left out.
 *
 * Calling sequence:
 *     char *listing;
 *     if (sass_disassemble(cubin, cubin_bytes, &listing, error) == 0) {
 *         struct sass sass;
 *         sass_count(listing, &sass);
 *         sass_print(stdout, &sass);
 *         sass_release(&sass);
 *         free(listing);
 *     }
 * To count another kind: a line in SASS_KINDS, and the mnemonics that belong to it in sass.c.
 */
#ifndef AUTOTUNE_SASS_H
#define AUTOTUNE_SASS_H

#include "error.h"

#include <stddef.h>
#include <stdio.h>

/* X(name, what it is) */
#define SASS_KINDS(X)                                                                              \
    X(LOAD_NARROW, "global load, 8 or 16 bits")                                                    \
    X(LOAD_32, "global load, 32 bits")                                                             \
    X(LOAD_64, "global load, 64 bits")                                                             \
    X(LOAD_128, "global load, 128 bits")                                                           \
    X(LOAD_256, "global load, 256 bits")                                                           \
    X(STORE_NARROW, "global store, 8 or 16 bits")                                                  \
    X(STORE_32, "global store, 32 bits")                                                           \
    X(STORE_64, "global store, 64 bits")                                                           \
    X(STORE_128, "global store, 128 bits")                                                         \
    X(STORE_256, "global store, 256 bits")                                                         \
    X(COPY, "asynchronous copy to shared memory")                                                  \
    X(SHARED_LOAD, "shared load")                                                                  \
    X(SHARED_STORE, "shared store")                                                                \
    X(LOCAL, "local load or store: spills, arrays")                                                \
    X(ATOMIC, "global atomic")                                                                     \
    X(SHARED_ATOMIC, "shared atomic")                                                              \
    X(BARRIER, "block or cluster barrier")                                                         \
    X(FENCE, "memory fence")                                                                       \
    X(SHUFFLE, "shuffle, vote or reduction of a warp")                                             \
    X(BRANCH, "branch or call")                                                                    \
    X(HALF, "half-precision arithmetic")                                                           \
    X(FLOAT, "single-precision arithmetic")                                                        \
    X(DOUBLE, "double-precision arithmetic")                                                       \
    X(TENSOR, "tensor core")                                                                       \
    X(OTHER, "integers, moves, constants, all else")

enum sass_kind {
#define X(name, text) SASS_##name,
    SASS_KINDS(X)
#undef X
        SASS_KIND_COUNT
};

struct sass_kernel {
    char *entry;
    size_t counts[SASS_KIND_COUNT];
    size_t instructions; /* the sum of the counts */
};

struct sass {
    struct sass_kernel *kernels; /* in the listing's order */
    size_t count;
};

/*
 * The listing of a cubin by nvdisasm, or cuobjdump where there is none: on the PATH, or in the CUDA
 * Toolkit ($CUDA_HOME, /usr/local/cuda, the one autotune was built with). `*listing` is a new
 * string. Returns 0, or ERROR_RECORD that says what to install, or what the program said.
 */
int sass_disassemble(const void *cubin, size_t cubin_bytes, char **listing, struct error *error);

/* Counts the instructions of a listing of either program. */
void sass_count(const char *listing, struct sass *sass);
void sass_release(struct sass *sass);

/* A table with a line for each kind that there is and a column for each kernel. */
void sass_print(FILE *stream, const struct sass *sass);

#endif
