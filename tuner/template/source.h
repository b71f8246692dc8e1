/*
 * A kernel source with the user's headers that it includes, and two hashes over all of them. The
 * hash of the text ties a cubin in the cache to every byte. The hash of the tokens ties a measurement
 * to what is compiled. It does not change with comments, white space and line numbers, so __LINE__
 * and the line in the message of an assert() may differ between two sources of the same hash.
 */
#ifndef AUTOTUNE_SOURCE_H
#define AUTOTUNE_SOURCE_H

#include "base/error.h"
#include "base/hash.h"

#include <stdbool.h>
#include <stddef.h>

struct source {
    char *path; /* absolute */
    char *text;
    char **include_folders; /* absolute: the source's own folder, then the caller's */
    size_t include_count;
    char **headers; /* absolute: the included files found in those, and files they include */
    size_t header_count;
    char **stamps; /* of each header: source_check() */
    size_t stamp_count;
    char **toolkit_headers; /* names of the included files not found */
    size_t toolkit_count;
    bool computed;              /* an #include names a macro */
    char text_hash[HASH_BYTES]; /* of every byte of the source and its headers */
    char hash[HASH_BYTES];      /* of their tokens: comments and layout do not change it */
};

/*
 * Reads `path` and each header once. It searches like the compiler: #include "…" in the including
 * file's folder first, then both kinds in the source's folder and `folders`, which are relative to
 * the source's folder. A header that is not found is taken to be the toolkit's; the NVRTC version
 * identifies its content. The folders are searched for __has_include and #include_next as well.
 * If an #include names a macro, every header that the macro can expand to is read.
 *
 * Returns 0, or ERROR_CONFIG with the file or folder that cannot be read, or with the #include whose
 * file cannot be determined; `source` is then empty.
 */
int source_load(struct source *source, const char *path, const char *const *folders,
                size_t folder_count, struct error *error);

void source_release(struct source *source);

/*
 * Call after a compilation, which reads the headers again, and before its result is kept under the
 * source's hash. Returns 0 if the `count` headers are as they were when source_load() read them, or
 * ERROR_CONFIG with the one that is not.
 */
int source_check(const char *const *stamps, size_t count, struct error *error);

#endif
