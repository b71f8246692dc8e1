/*
 * A kernel source with the user's headers that it includes, and one hash over all of them. The hash
 * ties a cubin or a measurement to the exact text.
 */
#ifndef AUTOTUNE_SOURCE_H
#define AUTOTUNE_SOURCE_H

#include "base/error.h"
#include "base/hash.h"

#include <stddef.h>

struct source {
    char *path; /* absolute */
    char *text;
    char **include_folders; /* absolute: the source's own folder, then the caller's */
    size_t include_count;
    char **headers; /* absolute: the included files found in those, and files they include */
    size_t header_count;
    char **toolkit_headers; /* names of the included files not found */
    size_t toolkit_count;
    char hash[HASH_BYTES]; /* of the source, the headers and the names they are included by */
};

/*
 * Reads `path` and each header once. It searches like the compiler: #include "…" in the including
 * file's folder first, then both kinds in the source's folder and `folders`, which are relative to
 * the source's folder. A header that is not found is taken to be the toolkit's; the NVRTC version
 * identifies its content. An include whose name is a macro is ignored.
 *
 * Returns 0, or ERROR_CONFIG with the name of the file or folder that cannot be read; `source` is
 * then empty.
 */
int source_load(struct source *source, const char *path, const char *const *folders,
                size_t folder_count, struct error *error);

void source_release(struct source *source);

#endif
