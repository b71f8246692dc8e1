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

/* X(constant, name, what it is) */
#define SASS_KINDS(X)                                                                              \
    X(LOAD_NARROW, "load_narrow", "global load, 8 or 16 bits")                                     \
    X(LOAD_32, "load_32", "global load, 32 bits")                                                  \
    X(LOAD_64, "load_64", "global load, 64 bits")                                                  \
    X(LOAD_128, "load_128", "global load, 128 bits")                                               \
    X(LOAD_256, "load_256", "global load, 256 bits")                                               \
    X(STORE_NARROW, "store_narrow", "global store, 8 or 16 bits")                                  \
    X(STORE_32, "store_32", "global store, 32 bits")                                               \
    X(STORE_64, "store_64", "global store, 64 bits")                                               \
    X(STORE_128, "store_128", "global store, 128 bits")                                            \
    X(STORE_256, "store_256", "global store, 256 bits")                                            \
    X(COPY, "copy", "asynchronous copy to shared memory")                                          \
    X(SHARED_LOAD, "shared_load", "shared load")                                                   \
    X(SHARED_STORE, "shared_store", "shared store")                                                \
    X(LOCAL, "local", "local load or store: spills, arrays")                                       \
    X(ATOMIC, "atomic", "global atomic")                                                           \
    X(SHARED_ATOMIC, "shared_atomic", "shared atomic")                                             \
    X(BARRIER, "barrier", "block or cluster barrier")                                              \
    X(FENCE, "fence", "memory fence")                                                              \
    X(SHUFFLE, "shuffle", "shuffle, vote or reduction of a warp")                                  \
    X(BRANCH, "branch", "branch or call")                                                          \
    X(HALF, "half", "half-precision arithmetic")                                                   \
    X(FLOAT, "float", "single-precision arithmetic")                                               \
    X(DOUBLE, "double", "double-precision arithmetic")                                             \
    X(TENSOR, "tensor", "tensor core")                                                             \
    X(OTHER, "other", "integers, moves, constants, all else")

enum sass_kind {
#define X(constant, name, text) SASS_##constant,
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

/* "load_128", and what it is. */
const char *sass_kind_name(enum sass_kind kind);
const char *sass_kind_text(enum sass_kind kind);

/* Whether there is a disassembler: 0, or ERROR_DEVICE that says what to install. */
int sass_available(struct error *error);

/*
 * The listing of a cubin by nvdisasm, or cuobjdump where there is none: on the PATH, or in the CUDA
 * Toolkit ($CUDA_HOME, /usr/local/cuda, the one autotune was built with). `*listing` is a new
 * string. Returns 0, ERROR_DEVICE as sass_available(), or ERROR_RECORD with what the program said.
 */
int sass_disassemble(const void *cubin, size_t cubin_bytes, char **listing, struct error *error);

/* Counts the instructions of a listing of either program. */
void sass_count(const char *listing, struct sass *sass);
void sass_release(struct sass *sass);

/* A table with a line for each kind that there is and a column for each kernel. */
void sass_print(FILE *stream, const struct sass *sass);

#endif
