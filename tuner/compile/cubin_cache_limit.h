/*
 * The size limit of the cubin cache: the least recently used entries are removed. Nothing is
 * removed while a run uses the cache; the last run to end removes them. A file beside the entries
 * has the cache's size, so that the cache is scanned only if it may be above its limit, or once a
 * day.
 *
 * Calling sequence of a run:
 *     struct cubin_cache_use use;
 *     if (!cubin_cache_use_begin(&use, folder))
 *         cubin_cache_use_wait(&use, error);
 *     ...
 *     cubin_cache_use_end(&use, folder, written_bytes, limit_bytes, error);
 *
 * Only entries and their temporary files are removed, and no symbolic link below FOLDER/cubin is
 * followed. Applications and commands that compile a single variant (single_compile.h) do not
 * lock the cache: if an entry is gone, they compile it.
 */
#ifndef AUTOTUNE_CUBIN_CACHE_LIMIT_H
#define AUTOTUNE_CUBIN_CACHE_LIMIT_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* $AUTOTUNE_CACHE_MB in bytes, otherwise 2 GiB. Returns 0 or ERROR_USAGE. */
int cubin_cache_limit(uint64_t *bytes, struct error *error);

struct cubin_cache_use {
    int file; /* -1: none */
};

/* Does nothing if the folder cannot be written, because nothing can be removed then. Returns false if
 * another process is removing entries: then call cubin_cache_use_wait(). */
bool cubin_cache_use_begin(struct cubin_cache_use *use, const char *folder);

/* Waits until it has removed them. Returns 0 or ERROR_INTERRUPTED. */
int cubin_cache_use_wait(const struct cubin_cache_use *use, struct error *error);

/*
 * Ends the use of the cache. If the run has written entries and no other run uses the cache,
 * removes temporary files older than a day, which killed processes have left; and, if the cache is
 * above its limit, entries until it is 10 % below. Returns 0 or ERROR_RECORD.
 */
int cubin_cache_use_end(struct cubin_cache_use *use, const char *folder, uint64_t written_bytes,
                        uint64_t limit_bytes, struct error *error);

struct cubin_cache_contents {
    size_t entries;
    uint64_t bytes;   /* of the entries */
    int64_t oldest_s; /* last use of the least recently used entry, in seconds since 1970 */
};

/* Whether nothing was ever put into the cache; false if it cannot be read. */
bool cubin_cache_is_new(const char *folder);

/* Scans the cache; a missing folder is an empty cache. Returns 0 or ERROR_RECORD. */
int cubin_cache_measure(const char *folder, struct cubin_cache_contents *contents,
                        struct error *error);

/* Removes all entries and temporary files; `*removed` counts the entries. Returns 0 or
 * ERROR_RECORD, also if a run is using the cache. */
int cubin_cache_clear(const char *folder, struct cubin_cache_contents *removed,
                      struct error *error);

#endif
