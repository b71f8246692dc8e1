/* The kinds of machine instructions (SASS) that sass.c counts and the reports show. */
#ifndef AUTOTUNE_INSTRUCTION_KINDS_H
#define AUTOTUNE_INSTRUCTION_KINDS_H

/* The version of the counts in the cubin cache: raise it if the kinds change, or the instructions
 * that count as each. */
#define SASS_KINDS_VERSION 1

/* X(constant, name, description) */
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
    X(SHUFFLE, "shuffle", "warp shuffle, vote or reduction")                                       \
    X(BRANCH, "branch", "branch or call")                                                          \
    X(HALF, "half", "half-precision arithmetic")                                                   \
    X(FLOAT, "float", "single-precision arithmetic")                                               \
    X(DOUBLE, "double", "double-precision arithmetic")                                             \
    X(TENSOR, "tensor", "tensor core")                                                             \
    X(OTHER, "other", "integers, moves, constants, everything else")

enum sass_kind {
#define X(constant, name, text) SASS_##constant,
    SASS_KINDS(X)
#undef X
        SASS_KIND_COUNT
};

/* A kind's name ("load_128") and description. */
const char *sass_kind_name(enum sass_kind kind);
const char *sass_kind_text(enum sass_kind kind);

#endif
