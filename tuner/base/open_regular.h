/* Opens a file that is to be read whole. */
#ifndef AUTOTUNE_OPEN_REGULAR_H
#define AUTOTUNE_OPEN_REGULAR_H

#include <stdio.h>

/*
 * fopen() for reading that never waits. A pipe or a device, which may have no end or no writer,
 * fails with EINVAL; a folder opens, and reading it fails. Returns NULL with errno set.
 */
FILE *open_regular(const char *path);

#endif
