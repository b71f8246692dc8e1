#include "compile/cubin_cache_limit.h"

#include "base/alloc.h"
#include "base/environment.h"
#include "base/file_system.h"
#include "base/write_file.h"
#include "template/source.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    DEFAULT_LIMIT_MB = 2048,
    KEY_DIGITS = HASH_BYTES - 1,
    DAY_S = 24 * 60 * 60,
    MOMENT_MS = 200
};

int cubin_cache_limit(uint64_t *bytes, struct error *error)
{
    static const char variable[] = "AUTOTUNE_CACHE_MB";
    int64_t megabytes = DEFAULT_LIMIT_MB;
    bool good = environment_number(variable, INT64_MAX >> 20, &megabytes);
    *bytes = (uint64_t)megabytes << 20;
    return good ? 0
                : error_set(error, ERROR_USAGE,
                            "%s is '%s'; give the cubin cache's limit in MiB, from 1", variable,
                            getenv(variable));
}

/* --- scanning --- */

struct entry {
    char *path;
    int64_t used_s;
    uint64_t bytes;
};

struct scan {
    struct entry *entries;
    size_t count;
    uint64_t bytes;
};

static const char hex_digits[] = "0123456789abcdef";

/* Whether `suffix` follows the key in the name of a file that a killed process may leave: KEY.<16 digits>.tmp. */
static bool is_temporary(const char *suffix)
{
    return suffix[0] == '.' && strspn(suffix + 1, hex_digits) == 16 &&
           strcmp(suffix + 17, ".tmp") == 0;
}

static void scan_file(struct scan *scan, const FTSENT *file, int64_t temporaries_before_s)
{
    const char *suffix = file->fts_name + KEY_DIGITS;
    int64_t used_s = file->fts_statp->st_mtim.tv_sec;
    if (strspn(file->fts_name, hex_digits) != KEY_DIGITS ||
        strncmp(file->fts_name, file->fts_parent->fts_name, 2) != 0)
        return;
    if (suffix[0] == '\0') {
        struct entry *entry = ARRAY_APPEND(scan->entries, scan->count);
        entry->path = alloc_string(file->fts_path);
        entry->used_s = used_s;
        entry->bytes = (uint64_t)file->fts_statp->st_size;
        scan->bytes += entry->bytes;
    } else if (is_temporary(suffix) && used_s < temporaries_before_s) {
        (void)unlink(file->fts_path);
    }
}

static int scan_next(struct scan *scan, FTS *tree, FTSENT *file, int64_t temporaries_before_s,
                     struct error *error)
{
    bool missing = file->fts_errno == ENOENT || file->fts_errno == ENOTDIR;
    errno = file->fts_errno;
    if (file->fts_info == FTS_DNR || file->fts_info == FTS_ERR ||
        (file->fts_info == FTS_NS && !missing))
        return error_set_errno(error, ERROR_RECORD, "cannot read '%s'", file->fts_path);
    if (file->fts_info == FTS_D && file->fts_level == 1 &&
        (file->fts_namelen != 2 || strspn(file->fts_name, hex_digits) != 2))
        (void)fts_set(tree, file, FTS_SKIP);
    if (file->fts_info == FTS_F && file->fts_level == 2)
        scan_file(scan, file, temporaries_before_s);
    return 0;
}

static void scan_release(struct scan *scan)
{
    for (size_t i = 0; i < scan->count; i++)
        free(scan->entries[i].path);
    free(scan->entries);
}

/* Removes temporaries older than `temporaries_before_s`. Release `scan` also after an error. */
static int scan_cache(struct scan *scan, const char *folder, int64_t temporaries_before_s,
                      struct error *error)
{
    char *root = alloc_format("%s/cubin", folder);
    char *const roots[] = {root, NULL};
    int status = 0;
    *scan = (struct scan){0};
    FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, NULL);
    if (tree == NULL)
        status = error_set_errno(error, ERROR_RECORD, "cannot read '%s'", root);
    FTSENT *file;
    while (status == 0 && (file = fts_read(tree)) != NULL)
        status = scan_next(scan, tree, file, temporaries_before_s, error);
    if (tree != NULL)
        (void)fts_close(tree);
    free(root);
    return status;
}

static struct cubin_cache_contents contents_of(const struct scan *scan)
{
    struct cubin_cache_contents contents = {.entries = scan->count, .bytes = scan->bytes};
    for (size_t i = 0; i < scan->count; i++)
        if (i == 0 || scan->entries[i].used_s < contents.oldest_s)
            contents.oldest_s = scan->entries[i].used_s;
    return contents;
}

bool cubin_cache_is_new(const char *folder)
{
    char *path = alloc_format("%s/cubin", folder);
    DIR *directory = opendir(path);
    bool new = directory != NULL || errno == ENOENT;
    const struct dirent *entry;
    while (new &&directory != NULL && (entry = readdir(directory)) != NULL)
        new = strlen(entry->d_name) != 2 || strspn(entry->d_name, hex_digits) != 2;
    if (directory != NULL)
        (void)closedir(directory);
    free(path);
    return new;
}

int cubin_cache_measure(const char *folder, struct cubin_cache_contents *contents,
                        struct error *error)
{
    struct scan scan;
    int status = scan_cache(&scan, folder, INT64_MIN, error);
    *contents = contents_of(&scan);
    scan_release(&scan);
    return status;
}

/* --- removing --- */

static int compare_uses(const void *a, const void *b)
{
    const struct entry *first = a;
    const struct entry *second = b;
    if (first->used_s != second->used_s)
        return first->used_s < second->used_s ? -1 : 1;
    return strcmp(first->path, second->path);
}

/* Removes the first `count` entries; one that is already gone is removed. */
static int remove_entries(struct scan *scan, size_t count, struct error *error)
{
    for (size_t i = 0; i < count; i++) {
        if (unlink(scan->entries[i].path) != 0 && errno != ENOENT)
            return error_set_errno(error, ERROR_RECORD, "cannot remove '%s'",
                                   scan->entries[i].path);
        scan->bytes -= scan->entries[i].bytes;
    }
    return 0;
}

/* Sorts the entries by their last use. Returns how many of the first to remove, so that at most
 * `most_bytes` are left. */
static size_t count_surplus(struct scan *scan, uint64_t most_bytes)
{
    size_t count = 0;
    if (scan->count > 0)
        qsort(scan->entries, scan->count, sizeof *scan->entries, compare_uses);
    for (uint64_t bytes = scan->bytes; bytes > most_bytes; count++)
        bytes -= scan->entries[count].bytes;
    return count;
}

static int trim(struct scan *scan, uint64_t limit_bytes, struct error *error)
{
    if (scan->bytes <= limit_bytes)
        return 0;
    return remove_entries(scan, count_surplus(scan, limit_bytes - limit_bytes / 10), error);
}

/* --- the size file --- */

/*
 * FOLDER/cubin/size has one number per line: "@SECONDS" since 1970, when the cache was last
 * scanned; "+BYTES", what the scan found; and "+BYTES" for each run that has added entries since. A
 * run holds a shared lock on it; whoever removes entries holds an exclusive one.
 *
 */
static int open_size(const char *folder, int flags)
{
    char *path = alloc_format("%s/cubin/size", folder);
    int file = -1;
    if ((flags & O_CREAT) == 0 || write_file_make_folders(path, NULL) == 0)
        file = open(path, O_RDWR | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | flags, 0666);
    free(path);
    return file;
}

/* If the line is lost, the next scan comes later than it should. */
static void add_line(int file, char sign, uint64_t number)
{
    char line[32];
    int length = snprintf(line, sizeof line, "%c%" PRIu64 "\n", sign, number);
    (void)!write(file, line, (size_t)length);
}

static void set_size(int file, uint64_t bytes)
{
    if (ftruncate(file, 0) != 0)
        return;
    add_line(file, '@', (uint64_t)time(NULL));
    add_line(file, '+', bytes);
}

/* Returns false if the cache must be scanned, because the last scan was more than a day ago or the
 * file is damaged or long. */
static bool read_size(int file, uint64_t *bytes)
{
    char text[4096];
    ssize_t length = pread(file, text, sizeof text - 1, 0);
    uint64_t scanned_s = 0;
    uint64_t now_s = (uint64_t)time(NULL);
    *bytes = 0;
    if (length <= 0 || (size_t)length == sizeof text - 1)
        return false;
    text[length] = '\0';
    for (char *at = text; *at != '\0'; at++) {
        uint64_t *number = *at == '@' ? &scanned_s : bytes;
        if ((*at != '@' && *at != '+') || at[1] < '0' || at[1] > '9')
            return false;
        *number += strtoull(at + 1, &at, 10);
        if (*at != '\n')
            return false;
    }
    return scanned_s <= now_s && now_s - scanned_s < DAY_S;
}

bool cubin_cache_use_begin(struct cubin_cache_use *use, const char *folder)
{
    use->file = open_size(folder, O_CREAT);
    return use->file < 0 || file_lock_take(use->file, LOCK_SH, MOMENT_MS);
}

int cubin_cache_use_wait(const struct cubin_cache_use *use, struct error *error)
{
    return file_lock_take(use->file, LOCK_SH, -1)
               ? 0
               : error_set(error, ERROR_INTERRUPTED,
                           "interrupted while another process was removing entries of the cubin "
                           "cache");
}

static int keep_limit(int file, const char *folder, uint64_t limit_bytes, struct error *error)
{
    uint64_t bytes;
    if (read_size(file, &bytes) && bytes <= limit_bytes)
        return 0;
    struct scan scan;
    int status = scan_cache(&scan, folder, time(NULL) - DAY_S, error);
    if (status == 0)
        status = trim(&scan, limit_bytes, error);
    if (status == 0)
        set_size(file, scan.bytes);
    scan_release(&scan);
    return status;
}

int cubin_cache_use_end(struct cubin_cache_use *use, const char *folder, uint64_t written_bytes,
                        uint64_t limit_bytes, struct error *error)
{
    int status = 0;
    if (use->file < 0)
        return 0;
    if (written_bytes > 0) {
        add_line(use->file, '+', written_bytes);
        if (file_lock_take(use->file, LOCK_EX, 0))
            status = keep_limit(use->file, folder, limit_bytes, error);
    }
    (void)close(use->file);
    use->file = -1;
    return status;
}

/* --- clearing --- */

static int remove_all(const char *folder, struct cubin_cache_contents *removed, struct error *error)
{
    struct scan scan;
    int status = scan_cache(&scan, folder, INT64_MAX, error);
    *removed = contents_of(&scan);
    if (status == 0)
        status = remove_entries(&scan, scan.count, error);
    for (unsigned i = 0; i < 256 && status == 0; i++) {
        char *path = alloc_format("%s/cubin/%02x", folder, i);
        (void)rmdir(path); /* fails if it holds anything else */
        free(path);
    }
    scan_release(&scan);
    return status;
}

int cubin_cache_clear(const char *folder, struct cubin_cache_contents *removed, struct error *error)
{
    int status = 0;
    int file = open_size(folder, 0); /* if there is no such file, no run uses the cache */
    *removed = (struct cubin_cache_contents){0};
    if (file >= 0 && !file_lock_take(file, LOCK_EX, 0))
        status = error_set(error, ERROR_RECORD,
                           "a run is using the cubin cache '%s'; clear it after the run", folder);
    if (status == 0)
        status = remove_all(folder, removed, error);
    if (status == 0 && file >= 0)
        set_size(file, 0);
    if (file >= 0)
        (void)close(file);
    return status;
}
