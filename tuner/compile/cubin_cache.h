/*
 * The cubin cache: compiled variants on disk, each under a key that depends on everything that went
 * into it. An entry is one file: a line with a checksum, a line of JSON (the kernels' figures, the compiler's
 * log), then the cubin itself. Entries are written atomically, so readers in other processes see a whole entry or
 * none; a damaged entry is removed and counts as missing. If the compiler refuses a source, its
 * entry has no cubin, so that it is not tried again. An entry's file has the date of its last use,
 * to the hour, for the size limit.
 */
#ifndef AUTOTUNE_CUBIN_CACHE_H
#define AUTOTUNE_CUBIN_CACHE_H

#include "base/error.h"
#include "compile/nvrtc.h"
#include "template/source.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The key: hash of the source's text_hash, the options (definitions included, in order), the
 * architecture, nvrtc_build() and this format's version. The folders of headers (-I) are left out,
 * since text_hash has the headers themselves: a copy of a project finds what the project compiled. */
void cubin_cache_key(const char *source_hash, const char *const *options, size_t option_count,
                     const char *arch, const char *build, char key[HASH_BYTES]);

/* $AUTOTUNE_CACHE, else $XDG_CACHE_HOME/autotune, else ~/.cache/autotune; a new string. */
char *cubin_cache_default_folder(void);

/* Returns 0, or ERROR_CONFIG for a name that is not UTF-8, since requests name entries by their paths. */
int cubin_cache_check_folder(const char *folder, struct error *error);

/* The file of an entry, FOLDER/cubin/ab/abcd…; a new string. */
char *cubin_cache_path(const char *folder, const char *key);

/* Reads an entry; without `whole`, the cubin is only checked, and compilation->cubin is NULL. False if it is
 * missing or damaged; it is then out of the way of the next one. */
bool cubin_cache_read(const char *path, bool whole, struct compilation *compilation);

/* Writes an entry, making its folders. Returns 0 or ERROR_RECORD. */
int cubin_cache_write(const char *path, const struct compilation *compilation, struct error *error);

/* The same in memory: what an entry of the file `name` contains, `*count` bytes that the caller frees. */
char *cubin_cache_entry(const char *name, const struct compilation *compilation, size_t *count);

/* Reads them; with `whole`, copies the cubin. False, with nothing to release, if they are damaged. `name` may be
 * a path. */
bool cubin_cache_parse(const char *name, const char *bytes, size_t count, bool whole,
                       struct compilation *compilation);

/* --- the size limit --- */

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

/* Scans the cache; a missing folder is an empty cache. Returns 0 or ERROR_RECORD. */
int cubin_cache_measure(const char *folder, struct cubin_cache_contents *contents,
                        struct error *error);

/* Removes all entries and temporary files; `*removed` counts the entries. Returns 0 or
 * ERROR_RECORD, also if a run is using the cache. */
int cubin_cache_clear(const char *folder, struct cubin_cache_contents *removed,
                      struct error *error);

#endif
