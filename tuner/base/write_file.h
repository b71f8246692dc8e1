/*
 * Files that are whole or not there: written beside their target under a name of their own, flushed
 * to disk, then renamed over it. Readers, and a crash at any moment, meet the old file or the new
 * one. Several processes may write the same target at once; the last to commit wins, and nobody's
 * halves mix.
 *
 * Calling sequence:
 *     struct write_file file;
 *     if (write_file_begin(&file, path, error) == 0) {
 *         fprintf(file.stream, …);                      (failed writes need no check, see below)
 *         result = write_file_commit(&file, WRITE_FILE_DURABLE, error);
 *     }
 * and write_file_abandon() instead of the commit where the contents turn out to be no good. Either
 * ends the use of `file`. Every function returns 0 or ERROR_RECORD naming the file.
 *
 * A process that is killed in between leaves a file TARGET.<16 hexadecimal digits>.tmp behind,
 * which nobody reads.
 */
#ifndef AUTOTUNE_WRITE_FILE_H
#define AUTOTUNE_WRITE_FILE_H

#include "base/error.h"

#include <stdio.h>

struct write_file {
    FILE *stream;    /* buffered; the caller writes here and does not close it */
    char *path;      /* the target, symbolic links followed */
    char *temporary; /* the file beside it */
};

/*
 * Starts a new content for `path`, making the folders above it. The file will have the permissions
 * of the one it replaces, or those of the umask. Refuses a target that is there and is no regular
 * file (renaming over /dev/null would be a surprise). On failure there is nothing to end.
 */
int write_file_begin(struct write_file *file, const char *path, struct error *error);

enum write_file_durability {
    WRITE_FILE_DURABLE, /* on disk, with its folder's entry, when the commit returns */
    WRITE_FILE_CACHED,  /* no waiting for the disk: for what a checksum guards and can be made again
                         */
};

/* Puts the content in place; a target that already holds it is left alone, with its date. A write that failed since the beginning is reported here; `path` then
 * holds what it held before, and the file beside it is gone. */
int write_file_commit(struct write_file *file, enum write_file_durability durability,
                      struct error *error);

/* Removes the file beside; `path` stays as it is. */
void write_file_abandon(struct write_file *file);

/* Makes every folder above the file `path` that is not there. */
int write_file_make_folders(const char *path, struct error *error);

#endif
