/*
 * What a cubin, which is an ELF file, says of its kernels and the compiler's log does not. The
 * layout of its .nv.info sections is not documented by NVIDIA; it has been the same from compute
 * capability 5.0 to 12.1. Reads nothing outside the given bytes, whatever they hold.
 */
#ifndef AUTOTUNE_CUBIN_ELF_H
#define AUTOTUNE_CUBIN_ELF_H

#include <stddef.h>

/*
 * Threads of a block that `entry` was compiled for, by __launch_bounds__ or __block_size__; 0 where
 * it is not bounded, not there, or the file is damaged.
 */
int cubin_elf_max_threads(const void *cubin, size_t cubin_bytes, const char *entry);

#endif
