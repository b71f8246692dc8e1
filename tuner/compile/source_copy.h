/*
 * Copies of a source's files in a folder of their own, for NVRTC, which opens by itself what the text includes: each lies at
 * its whole path below the folder, and messages name the original.
 */
#ifndef AUTOTUNE_SOURCE_COPY_H
#define AUTOTUNE_SOURCE_COPY_H

#include "base/error.h"
#include "template/source.h"

#include <stddef.h>

/* Writes the copy of the file `path`, which is not there yet. Returns 0 or ERROR_RECORD. */
int source_copy_file(const char *folder, const char *path, const char *bytes, size_t count,
                     struct error *error);

/* The path of the copy of a folder or link that an #include goes through, a new string; NULL: the way is no file. */
char *source_copy_way_path(const char *folder, enum source_way_kind kind, const char *path);

/* Makes that copy; `target` is a link's, otherwise "". Returns 0 or ERROR_RECORD. */
int source_copy_way(const char *folder, enum source_way_kind kind, const char *path,
                    const char *target, struct error *error);

#endif
