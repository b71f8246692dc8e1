/*
 * Counts the instructions of each kind in a cubin's kernels, to show whether loads are as wide as
 * intended, registers spill, or there are unexpected atomics. The counts are static: each
 * instruction in the code counts once, however often it runs. Padding (NOP) is not counted.
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
 * To count another kind, add a line to SASS_KINDS.
 */
#ifndef AUTOTUNE_SASS_H
#define AUTOTUNE_SASS_H

#include "base/error.h"

#include <stddef.h>
#include <stdio.h>

/* X(constant, description, mnemonics up to the first dot). Of loads and stores, the narrow kind has them. */
/* clang-format off */
#define SASS_KINDS(X) \
    X(LOAD_NARROW, "global load, 8 or 16 bits", "LDG LD") \
    X(LOAD_32, "global load, 32 bits", "") \
    X(LOAD_64, "global load, 64 bits", "") \
    X(LOAD_128, "global load, 128 bits", "") \
    X(LOAD_256, "global load, 256 bits", "") \
    X(STORE_NARROW, "global store, 8 or 16 bits", "STG ST") \
    X(STORE_32, "global store, 32 bits", "") \
    X(STORE_64, "global store, 64 bits", "") \
    X(STORE_128, "global store, 128 bits", "") \
    X(STORE_256, "global store, 256 bits", "") \
    X(COPY, "asynchronous copy to shared memory", "LDGSTS UBLKCP UTMALDG") \
    X(SHARED_LOAD, "shared load", "LDS LDSM") \
    X(SHARED_STORE, "shared store", "STS STSM") \
    X(LOCAL, "local load or store: spills, arrays", "LDL STL") \
    X(ATOMIC, "global atomic", "ATOM ATOMG RED REDG") \
    X(SHARED_ATOMIC, "shared atomic", "ATOMS REDS") \
    X(BARRIER, "block or cluster barrier", "BAR UCGABAR_ARV UCGABAR_WAIT SYNCS") \
    X(FENCE, "memory fence", "MEMBAR FENCE ERRBAR") \
    X(SHUFFLE, "warp shuffle, vote or reduction", "SHFL VOTE VOTEU REDUX CREDUX MATCH") \
    X(BRANCH, "branch or call", "BRA BRX JMP CALL RET EXIT") \
    X(HALF, "half-precision arithmetic", "HADD2 HMUL2 HFMA2 HMNMX2") \
    X(FLOAT, "single-precision arithmetic", "FADD FMUL FFMA FADD2 FMUL2 FFMA2 FMNMX FSETP MUFU") \
    X(DOUBLE, "double-precision arithmetic", "DADD DMUL DFMA DSETP DMNMX") \
    X(TENSOR, "tensor core", "HMMA IMMA DMMA BMMA QMMA HGMMA IGMMA QGMMA UTCHMMA") \
    X(OTHER, "integers, moves, constants, everything else", "")
/* clang-format on */

enum sass_kind {
#define X(constant, text, mnemonics) SASS_##constant,
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

/* Looks for a disassembler. Returns 0, or ERROR_DEVICE with what to install. */
int sass_available(struct error *error);

/*
 * Disassembles a cubin with nvdisasm, or with cuobjdump if nvdisasm is not installed. Looks on the
 * PATH and in the CUDA Toolkit ($CUDA_HOME, /usr/local/cuda, the one autotune was built with). Free
 * `*listing`. Returns 0, ERROR_DEVICE like sass_available(), or ERROR_RECORD with the program's
 * message.
 */
int sass_disassemble(const void *cubin, size_t cubin_bytes, char **listing, struct error *error);

/* Counts the instructions in a listing of either program. */
void sass_count(const char *listing, struct sass *sass);
void sass_release(struct sass *sass);

/* Prints a table with a row for each kind that occurs and a column for each kernel. */
void sass_print(FILE *stream, const struct sass *sass);

#endif
