/* One run of NVRTC over one translation unit. Private to nvrtc.c. */
#ifndef AUTOTUNE_NVRTC_PROGRAM_H
#define AUTOTUNE_NVRTC_PROGRAM_H

#include "base/error.h"
#include "compile/compilation.h"
#include "compile/nvrtc_library.h"

#include <stdbool.h>
#include <stddef.h>

/* What is the same for every unit of a source. */
struct program_options {
    struct nvrtc *nvrtc;
    const char *arch;           /* with its suffix, "sm_90a" */
    const char *const *options; /* with those of template/compiler_option.h */
    size_t option_count;
    bool relocatable; /* to be linked */
    bool ptx;         /* the result is not a cubin, but PTX with a null character behind it */
    bool quiet;       /* no resource usage in the log */
};

/* A translation unit. Its texts are borrowed. */
struct unit {
    const char *name; /* in messages */
    const char *text;
    const char **entries; /* the C++ names of the kernels that it has, to be instantiated */
    size_t entry_count;
};

/*
 * Compiles without the kernels that the options say are not launched, and without the parts of
 * CUDA C++ that --minimal leaves out; if the front end refuses that, compiles the whole unit.
 * Returns 0 with a log, and if the unit compiled, with the cubin or PTX and with the entries'
 * symbols, as kernels without figures. Returns ERROR_WORKER if NVRTC itself fails.
 */
int program_run(const struct program_options *options, const struct unit *unit,
                struct compilation *compilation, struct error *error);

/* Whether a log says that the compiler ran out of memory. Of ptxas, it says only that it stopped, without
 * the error that would be the source's. */
bool program_log_lacks_memory(const char *log);

#endif
