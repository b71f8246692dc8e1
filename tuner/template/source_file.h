/* The files of a source on disk: finding one, and noticing that one has changed. */
#ifndef AUTOTUNE_SOURCE_FILE_H
#define AUTOTUNE_SOURCE_FILE_H

#include "base/error.h"

#include <stddef.h>

/* The path of FOLDER/NAME if that is a file, otherwise NULL; free it. Links to folders are followed; one to
 * the file is not, because the compiler looks for what the file includes beside the link. Pipes and devices
 * count as files here, so that reading one fails: the compiler would wait for a pipe. */
char *source_find_file(const char *folder, const char *name);

/* "HASH PATH", which stands for the file at `path` with this text; free it. */
char *source_stamp_new(const char *path, const char *text);

/*
 * Call after a compilation, which reads the headers again, and before its result is kept under the
 * source's hash. Returns 0 if the `count` files are as they were when source_load() read them, or
 * ERROR_CONFIG naming one that has changed.
 */
int source_check(const char *const *stamps, size_t count, struct error *error);

#endif
