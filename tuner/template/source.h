/*
 * A kernel source with everything of the user's that it includes, and one hash over all of it, so
 * that a cubin or a measurement is known to be of this text and no other.
 */
#ifndef AUTOTUNE_SOURCE_H
#define AUTOTUNE_SOURCE_H

#include "base/error.h"
#include "base/hash.h"

#include <stddef.h>

struct source {
    char *path; /* absolute */
    char *text;
    char **include_folders; /* absolute: the source's own folder first, then as given */
    size_t include_count;
    char **headers; /* absolute: the included files found there, nested ones too */
    size_t header_count;
    char **toolkit_headers; /* names of included files found nowhere */
    size_t toolkit_count;
    char hash[HASH_BYTES]; /* of the text, the headers' texts and their names as included */
};

/*
 * Reads `path` and its headers, each once, by following #include "…" (first in the including file's
 * folder) and #include <…> through the source's folder and `folders`, as the compiler does. Headers
 * found nowhere are left to the compiler: they are the toolkit's, which the NVRTC version stands
 * for. An include whose name is a macro is not followed. Relative `folders` are relative to the
 * source's folder.
 * Returns 0, or ERROR_CONFIG naming the file or folder that cannot be read; `source` is then empty.
 */
int source_load(struct source *source, const char *path, const char *const *folders,
                size_t folder_count, struct error *error);

void source_release(struct source *source);

#endif
