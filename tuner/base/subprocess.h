/*
 * Runs another program (nvdisasm, for example) without a shell. Input and output are in-memory
 * files, so neither side waits for the other and the program can read its input twice.
 */
#ifndef AUTOTUNE_SUBPROCESS_H
#define AUTOTUNE_SUBPROCESS_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

/* The path of `name` on the PATH, or NULL; free it. */
char *subprocess_find(const char *name);

/*
 * Runs `arguments[0]`, looked up on the PATH, with `input` as its standard input, which it can also
 * open as /dev/stdin. `*output` becomes its standard output, a new string.
 *
 * Returns 0, or ERROR_RECORD if the program cannot start, fails (the message includes its standard
 * error), or takes more than a minute.
 */
int subprocess_run(char *const arguments[], const void *input, size_t input_bytes, char **output,
                   struct error *error);

#endif
