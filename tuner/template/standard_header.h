/*
 * The standard headers that kernels include out of habit, for a compiler that has none. Those of C,
 * and the short ones of C++, are the files in standard/. The rest is CCCL's <cuda/std/NAME>, which
 * costs a second for each compilation.
 *
 * A header in an include folder of the template comes first: only what source_load() has not found
 * is looked up here. To add one, add a line to `headers` in standard_header.c, and a file in
 * standard/ to the list in CMakeLists.txt.
 */
#ifndef AUTOTUNE_STANDARD_HEADER_H
#define AUTOTUNE_STANDARD_HEADER_H

#include <stddef.h>

struct standard_header {
    const char *name; /* "cstdint" */
    const char *text;
};

/* The header called by the first `length` characters of `name`; NULL if there is none. */
const struct standard_header *standard_header_find(const char *name, size_t length);

/* The compiler option (compiler_option.h) that provides the header, with a hash of its text, which
 * thus becomes part of the cubin's key; a new string. NULL if there is no such header. */
char *standard_header_option(const char *name);

#endif
