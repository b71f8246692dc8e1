/* What an entry of the cubin cache contains (tuner/FORMATS.md): a compilation as bytes, and back. */
#ifndef AUTOTUNE_CUBIN_ENTRY_H
#define AUTOTUNE_CUBIN_ENTRY_H

#include "compile/compilation.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Change the number whenever the meaning of an entry changes. */
#define CUBIN_ENTRY_FORMAT "5"

/* Reads the bytes of an entry whose file has that name, which may be a path, and overwrites some of them.
 * The cubin is only copied if `whole`. False, with nothing to release, if a byte is not as written. */
bool cubin_entry_parse(const char *name, char *bytes, size_t count, bool whole,
                       struct compilation *compilation);

/* Writes them; whether that fails, the stream says. */
void cubin_entry_print(FILE *stream, const char *name, const struct compilation *compilation);

#endif
