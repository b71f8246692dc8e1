/*
 * A kernel source with everything of the user's that it includes, and one hash over all of it, so
 * that a cubin or a measurement is known to be of this text and no other.
 */
#ifndef AUTOTUNE_SOURCE_H
#define AUTOTUNE_SOURCE_H

#include "error.h"

#include <stddef.h>

#define HASH_BYTES 33 /* 32 hexadecimal digits of XXH3-128 and the final zero */

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

/* Reads a whole file (at most 64 MiB) into a new zero-terminated string; `length` may be NULL.
 * Returns 0, or ERROR_CONFIG naming the file, with `*text` NULL. */
int source_read_file(const char *path, char **text, size_t *length, struct error *error);

/* 128-bit hash of texts in sequence: start, add any number, finish. */
struct hash;
struct hash *hash_new(void);
void hash_add(struct hash *hash, const void *bytes, size_t count);
/* With its length, so that "ab", "c" differs from "a", "bc". */
void hash_add_text(struct hash *hash, const char *text);
void hash_finish(struct hash *hash, char digits[HASH_BYTES]); /* frees it */

#endif
