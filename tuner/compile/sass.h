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
 * To count another kind: a line in SASS_KINDS (record/instruction_kinds.h), and the mnemonics that belong to it in sass.c.
 */
#ifndef AUTOTUNE_SASS_H
#define AUTOTUNE_SASS_H

#include "base/error.h"
#include "record/instruction_kinds.h"

#include <stddef.h>
#include <stdio.h>

struct sass_kernel {
    char *entry;
    size_t counts[SASS_KIND_COUNT];
    size_t instructions; /* the sum of the counts */
};

struct sass {
    struct sass_kernel *kernels; /* in the listing's order */
    size_t count;
};

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
