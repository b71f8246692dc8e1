/*
 * Reads what a cubin (an ELF file) says about its kernels and the compiler's log does not. NVIDIA
 * does not document the layout of the .nv.info sections; it is the same for compute capabilities
 * 5.0 to 12.1. Safe for damaged cubins: never reads outside the given bytes.
 */
#ifndef AUTOTUNE_CUBIN_ELF_H
#define AUTOTUNE_CUBIN_ELF_H

#include <stddef.h>

/*
 * The maximum threads per block that `entry` declares with __launch_bounds__ or __block_size__; 0
 * if it declares none, does not exist, or the cubin is damaged.
 */
int cubin_elf_max_threads(const void *cubin, size_t cubin_bytes, const char *entry);

#endif
