/* Opens a file that is to be read whole. */
#ifndef AUTOTUNE_OPEN_REGULAR_H
#define AUTOTUNE_OPEN_REGULAR_H

#include <stdbool.h>
#include <stdio.h>

/*
 * fopen() for reading that never waits. A pipe or a device, which may have no end or no writer,
 * fails with EINVAL; a folder opens, and reading it fails. Returns NULL with errno set.
 */
FILE *open_regular(const char *path);

/* Whether it fails so: for a file that dlopen() is to open, which would wait. */
bool open_regular_refuses(const char *path);

#endif
