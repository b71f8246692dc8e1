/*
 * The cubin cache's size: a limit, kept by removing the entries that were used longest ago. A run says
 * when it begins and ends to use the cache, and nothing is removed while a run uses it: the last one
 * to end does that. How large the cache is stands in a file beside the entries, so that the entries
 * are looked through only when the limit may have been passed, and after a day.
 *
 * Calling sequence of a run:
 *     struct cubin_cache_use use;
 *     cubin_cache_use_begin(&use, folder);
 *     …
 *     cubin_cache_use_end(&use, folder, written_bytes, limit_bytes, error);
 *
 * Only files named like entries and their temporaries are ever removed, and symbolic links among
 * them are not followed. Applications and single compilations (single_compile.h) use the cache
 * without this: to them an entry that is gone is one to be compiled.
 */
#ifndef AUTOTUNE_CUBIN_CACHE_LIMIT_H
#define AUTOTUNE_CUBIN_CACHE_LIMIT_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

/* $AUTOTUNE_CACHE_MB in bytes, otherwise 2 GiB. Returns 0 or ERROR_USAGE. */
int cubin_cache_limit(uint64_t *bytes, struct error *error);

struct cubin_cache_use {
    int file; /* -1: none */
};

/* If the folder cannot be written, nothing is held: then nothing can be removed either. */
void cubin_cache_use_begin(struct cubin_cache_use *use, const char *folder);

/*
 * Ends the use of the cache, to which the run has added `written_bytes`. If there are any, and no other
 * run uses the cache: above the limit, removes entries until it is 10 % below; and removes temporaries
 * older than a day, which killed processes left. Returns 0 or ERROR_RECORD.
 */
int cubin_cache_use_end(struct cubin_cache_use *use, const char *folder, uint64_t written_bytes,
                        uint64_t limit_bytes, struct error *error);

struct cubin_cache_contents {
    size_t entries;
    uint64_t bytes;   /* of the entries */
    int64_t oldest_s; /* when the entry used longest ago was used, in seconds since 1970 */
};

/* Looks through the cache; a missing folder is an empty cache. Returns 0 or ERROR_RECORD. */
int cubin_cache_measure(const char *folder, struct cubin_cache_contents *contents,
                        struct error *error);

/* Removes every entry and temporary; `*removed` is what went. Returns 0, or ERROR_RECORD also if a
 * run uses the cache. */
int cubin_cache_clear(const char *folder, struct cubin_cache_contents *removed,
                      struct error *error);

#endif
