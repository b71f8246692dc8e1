/*
 * Reads a whole file into memory.
 *
 * libtuned contains this module: it never aborts or prints.
 */
#ifndef AUTOTUNE_READ_FILE_H
#define AUTOTUNE_READ_FILE_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/*
 * fopen() for reading that never waits. A pipe or a device, which may have no end or no writer,
 * fails with EINVAL; a folder opens, and reading it fails. Returns NULL with errno set.
 */
FILE *open_regular(const char *path);

/* Whether it fails so: for a file that dlopen() is to open, which would wait. */
bool open_regular_refuses(const char *path);

/* Reads the rest of `file`, of at most `most` bytes, into a new null-terminated string. Returns 0, or with
 * `*text` NULL the errno of what failed: EFBIG, it is larger; ENOMEM. */
int read_stream(FILE *file, size_t most, char **text, size_t *length);

/*
 * Reads a regular file of at most 64 MiB into a new null-terminated string; `length` may be NULL.
 * Returns 0, or ERROR_CONFIG with the file's name in the message and `*text` set to NULL.
 */
int read_file(const char *path, char **text, size_t *length, struct error *error);

#endif
