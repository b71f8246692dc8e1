/*
 * Reads what a cubin (an ELF file), but not the compiler's log, says about its kernels. NVIDIA
 * does not document the layout of the .nv.info sections; it is the same for compute capabilities
 * 5.0 to 12.1. Safe for damaged cubins: never reads outside the given bytes.
 */
#ifndef AUTOTUNE_CUBIN_ELF_H
#define AUTOTUNE_CUBIN_ELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The maximum threads per block that `entry` declares with __launch_bounds__ or __block_size__; 0
 * if it declares none, does not exist, or the cubin is damaged.
 */
int cubin_elf_max_threads(const void *cubin, size_t cubin_bytes, const char *entry);

/* The name of a function or variable that both define with external linkage; NULL if there is none.
 * It points into `first`. */
const char *cubin_elf_common_symbol(const void *first, size_t first_bytes, const void *second,
                                    size_t second_bytes);

enum { CUBIN_PARAMETERS = 128 };

/* The parameters of an entry, and the size of each of the first CUBIN_PARAMETERS. */
struct cubin_parameters {
    size_t count;
    uint16_t bytes[CUBIN_PARAMETERS];
};

/* False if the cubin does not tell: it is damaged, has no such entry, or is of an unknown format. */
bool cubin_elf_parameters(const void *cubin, size_t cubin_bytes, const char *entry,
                          struct cubin_parameters *parameters);

#endif
