/*
 * Writes a file atomically: collects its content in memory, writes it to a temporary file beside
 * the target, flushes that to disk and renames it over the target. Readers see either the old file or
 * the new one, even after a crash. Several processes may write the same target at once; the last to
 * commit wins.
 *
 * Calling sequence:
 *     struct write_file file;
 *     if (write_file_begin(&file, path, error) == 0) {
 *         fprintf(file.stream, …);                      (the commit writes)
 *         result = write_file_commit(&file, WRITE_FILE_DURABLE, error);
 *     }
 * To discard the file, call write_file_abandon() instead of write_file_commit(). Both release
 * `file`. Functions return 0, or ERROR_RECORD with the file's name in the message.
 *
 * A process that is killed before the commit leaves TARGET.<16 hexadecimal digits>.tmp behind,
 * which nothing reads.
 */
#ifndef AUTOTUNE_WRITE_FILE_H
#define AUTOTUNE_WRITE_FILE_H

#include "base/error.h"

#include <stdio.h>

struct write_file {
    FILE *stream; /* write to it, but do not close it; it has no fileno() */

    /* private; do not copy it: the stream keeps its address */
    char *path;      /* the target, with symbolic links resolved */
    char *temporary; /* path of the temporary file */
    int descriptor;  /* of the temporary file */
    char *text;
    size_t length;
};

/*
 * Creates the temporary file for `path`, and missing folders. The file gets the permissions of the
 * one it replaces, or those of the umask. Fails if the target exists and is not a regular file
 * (renaming over /dev/null would be a surprise). On failure there is nothing to release.
 */
int write_file_begin(struct write_file *file, const char *path, struct error *error);

enum write_file_durability {
    WRITE_FILE_DURABLE, /* the commit waits until the file and its folder entry are on disk */
    WRITE_FILE_CACHED,  /* it does not wait; for files that have a checksum and can be remade */
};

/* Replaces the target by the temporary file. A target with the same content is not touched and
 * keeps its date. If writing fails, the target keeps its old content, and the temporary file is removed. */
int write_file_commit(struct write_file *file, enum write_file_durability durability,
                      struct error *error);

/* Removes the temporary file; the target stays as it is. */
void write_file_abandon(struct write_file *file);

/* Commits as WRITE_FILE_DURABLE if `status` is 0; otherwise abandons and returns `status`. */
int write_file_finish(struct write_file *file, int status, struct error *error);

/* Creates the missing parent folders of the file `path`. */
int write_file_make_folders(const char *path, struct error *error);

/* Removes a folder with all that is in it, if it exists. */
void write_file_remove_folder(const char *path);

/* Begins, writes `count` bytes and commits as WRITE_FILE_CACHED. */
int write_file_bytes(const char *path, const void *bytes, size_t count, struct error *error);

#endif
