/* What a compilation yields: a cubin, the compiler's log, and figures of each kernel in the cubin. */
#ifndef AUTOTUNE_COMPILATION_H
#define AUTOTUNE_COMPILATION_H

#include <stddef.h>

/* Figures of one kernel, as the assembler (ptxas) gives them for its own code: what a __noinline__
 * function spills is not in them. */
struct compiled_kernel {
    char *entry;
    int registers;
    long spill_store_bytes;
    long spill_load_bytes;
    long stack_bytes;          /* with the functions it calls, where ptxas adds them up */
    long shared_bytes;         /* static */
    long constant_bytes;       /* parameters and literals; 0 where ptxas does not say (sm_90 on) */
    int barriers;              /* of a block; 0 for none or where ptxas does not say (NVRTC 12.0) */
    int max_threads_per_block; /* of launch bounds; 0 where not bounded. From the cubin, not the log
                                */
};

struct compilation {
    void *cubin; /* NULL where the compiler refused */
    size_t cubin_bytes;
    char *log;                       /* errors and warnings; "" where there is nothing to say */
    struct compiled_kernel *kernels; /* none without a cubin */
    size_t kernel_count;
};

/* Frees what it holds and empties it. */
void compilation_release(struct compilation *compilation);

#endif
