/*
 * Programs that are not ours, such as nvdisasm, run without a shell. Input and output are files in
 * memory, so neither side waits for the other, and a program may read its input twice.
 */
#ifndef AUTOTUNE_SUBPROCESS_H
#define AUTOTUNE_SUBPROCESS_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

/* The path of `name` in the folders of the PATH, a new string; NULL where it is in none. */
char *subprocess_find(const char *name);

/*
 * Runs `arguments[0]`, sought on the PATH, with `input` as its standard input (and as the file
 * /dev/stdin). `*output` becomes what it wrote, a new string.
 *
 * Returns 0, or ERROR_RECORD where it cannot be started, ends with a failure (the message has what
 * it said on its standard error), or takes more than a minute.
 */
int subprocess_run(char *const arguments[], const void *input, size_t input_bytes, char **output,
                   struct error *error);

#endif
