/* The result of a compilation: the cubin, the compiler's log, and each kernel's resource usage. */
#ifndef AUTOTUNE_COMPILATION_H
#define AUTOTUNE_COMPILATION_H

#include "base/hash.h"

#include <stddef.h>

/* Resource usage of one kernel as ptxas reports it. Spills of the __noinline__ functions that it
 * calls are not included. */
struct compiled_kernel {
    char *entry;  /* as the template names it: "scale", "ns::scale<float, TILE>" */
    char *symbol; /* its name in the cubin, if that is another; otherwise NULL */
    int registers;
    long spill_store_bytes;
    long spill_load_bytes;
    long stack_bytes;          /* includes called functions if ptxas adds them up */
    long shared_bytes;         /* static */
    int barriers;              /* per block; 0 if not reported (NVRTC 12.0) */
    int max_threads_per_block; /* launch bounds, read from the cubin; 0: none */
};

/* If the compiler refused an entry, the log begins with this, followed by the C++ name, "': " and
 * the reason. */
#define COMPILATION_ENTRY_REFUSED "error: entry '"

struct compilation {
    void *cubin; /* NULL if the source did not compile */
    size_t cubin_bytes;
    char cubin_hash[HASH_BYTES];     /* of what was read from the cache; "" otherwise */
    char *log;                       /* errors and warnings; may be "" */
    struct compiled_kernel *kernels; /* NULL if there is no cubin */
    size_t kernel_count;
};

/* The kernel called `entry`; NULL if there is none. */
const struct compiled_kernel *compilation_kernel(const struct compilation *compilation,
                                                 const char *entry);

/* The name that `entry` has in the cubin. `compilation` may be NULL, and need not know the entry. */
const char *compilation_symbol(const struct compilation *compilation, const char *entry);

/* The line of the log's first error, from which others may follow, and the header that defines a name that it says is
 * undefined; a new string. NULL: there is no error. */
char *compilation_cause(const char *log);

/* Frees the members and zeroes the struct. */
void compilation_release(struct compilation *compilation);

#endif
