#include "compile/cubin_cache_limit.h"

#include "base/alloc.h"
#include "base/write_file.h"
#include "compile/compile_worker.h"
#include "template/source.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { DEFAULT_LIMIT_MB = 2048, KEY_DIGITS = HASH_BYTES - 1, DAY_S = 24 * 60 * 60 };

int cubin_cache_limit(uint64_t *bytes, struct error *error)
{
    const char *text = getenv("AUTOTUNE_CACHE_MB");
    *bytes = (uint64_t)DEFAULT_LIMIT_MB << 20;
    if (text == NULL || text[0] == '\0')
        return 0;
    char *end;
    errno = 0;
    long long megabytes = strtoll(text, &end, 10);
    if (*end != '\0' || errno != 0 || megabytes < 1 || megabytes > INT64_MAX >> 20)
        return error_set(error, ERROR_USAGE,
                         "AUTOTUNE_CACHE_MB is '%s'; give the cubin cache's limit in MiB, from 1",
                         text);
    *bytes = (uint64_t)megabytes << 20;
    return 0;
}

/* -- looking through the cache -- */

struct entry {
    char path[KEY_DIGITS + 4]; /* "ab/abcd…" */
    int64_t used_s;
    uint64_t bytes;
};

struct scan {
    const char *name; /* of the folder of all */
    int folder;       /* open */
    int64_t temporaries_before_s;
    struct entry *entries;
    size_t count;
    uint64_t bytes;
};

/* Whether `name` begins with the key of an entry that belongs below `prefix`. */
static bool has_key(const char *name, const char *prefix)
{
    return strspn(name, "0123456789abcdef") == KEY_DIGITS && strncmp(name, prefix, 2) == 0;
}

/* What may be left of an entry that was being made: KEY.pch, KEY.<16 digits>.tmp. */
static bool is_temporary(const char *suffix)
{
    return strcmp(suffix, COMPILE_WORKER_TEMPORARY) == 0 ||
           (suffix[0] == '.' && strspn(suffix + 1, "0123456789abcdef") == 16 &&
            strcmp(suffix + 17, ".tmp") == 0);
}

static void scan_file(struct scan *scan, int folder, const char *prefix, const char *name)
{
    struct stat information;
    if (!has_key(name, prefix) || fstatat(folder, name, &information, AT_SYMLINK_NOFOLLOW) != 0 ||
        !S_ISREG(information.st_mode))
        return;
    const char *suffix = name + KEY_DIGITS;
    if (suffix[0] == '\0') {
        struct entry *entry = ARRAY_APPEND(scan->entries, scan->count);
        (void)snprintf(entry->path, sizeof entry->path, "%.2s/%.32s", prefix, name);
        entry->used_s = information.st_mtim.tv_sec;
        entry->bytes = (uint64_t)information.st_size;
        scan->bytes += entry->bytes;
    } else if (is_temporary(suffix) && information.st_mtim.tv_sec < scan->temporaries_before_s) {
        (void)unlinkat(folder, name, 0);
    }
}

/* A folder that is missing has no entries. */
static int scan_folder(struct scan *scan, const char *prefix, struct error *error)
{
    int folder = openat(scan->folder, prefix, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder < 0 && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP))
        return 0;
    DIR *stream = folder >= 0 ? fdopendir(folder) : NULL;
    if (stream == NULL) {
        int status =
            error_set_errno(error, ERROR_RECORD, "cannot open '%s/%s'", scan->name, prefix);
        if (folder >= 0)
            (void)close(folder);
        return status;
    }
    const struct dirent *file;
    while ((file = readdir(stream)) != NULL)
        scan_file(scan, folder, prefix, file->d_name);
    (void)closedir(stream);
    return 0;
}

static char *folder_of_all(const char *folder)
{
    return alloc_format("%s/cubin", folder);
}

/* Fills `scan`, also where it fails; temporaries from before `temporaries_before_s` go. */
static int scan_cache(struct scan *scan, const char *name, int64_t temporaries_before_s,
                      struct error *error)
{
    *scan = (struct scan){.name = name, .temporaries_before_s = temporaries_before_s};
    scan->folder = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (scan->folder < 0 && (errno == ENOENT || errno == ENOTDIR))
        return 0;
    if (scan->folder < 0)
        return error_set_errno(error, ERROR_RECORD, "cannot open '%s'", name);
    int status = 0;
    for (unsigned i = 0; i < 256 && status == 0; i++) {
        char prefix[4];
        (void)snprintf(prefix, sizeof prefix, "%02x", i);
        status = scan_folder(scan, prefix, error);
    }
    return status;
}

static void scan_release(struct scan *scan)
{
    free(scan->entries);
    if (scan->folder >= 0)
        (void)close(scan->folder);
}

static struct cubin_cache_contents contents_of(const struct scan *scan)
{
    struct cubin_cache_contents contents = {.entries = scan->count, .bytes = scan->bytes};
    for (size_t i = 0; i < scan->count; i++)
        if (i == 0 || scan->entries[i].used_s < contents.oldest_s)
            contents.oldest_s = scan->entries[i].used_s;
    return contents;
}

int cubin_cache_measure(const char *folder, struct cubin_cache_contents *contents,
                        struct error *error)
{
    struct scan scan;
    char *name = folder_of_all(folder);
    int status = scan_cache(&scan, name, INT64_MIN, error);
    *contents = contents_of(&scan);
    scan_release(&scan);
    free(name);
    return status;
}

/* -- removing -- */

static int compare_uses(const void *a, const void *b)
{
    const struct entry *first = a;
    const struct entry *second = b;
    if (first->used_s != second->used_s)
        return first->used_s < second->used_s ? -1 : 1;
    return strcmp(first->path, second->path);
}

/* Removes the `count` entries that were used longest ago. */
static int remove_entries(struct scan *scan, size_t count, struct error *error)
{
    for (size_t i = 0; i < count; i++) {
        if (unlinkat(scan->folder, scan->entries[i].path, 0) != 0 && errno != ENOENT)
            return error_set_errno(error, ERROR_RECORD, "cannot remove '%s/%s'", scan->name,
                                   scan->entries[i].path);
        scan->bytes -= scan->entries[i].bytes;
    }
    return 0;
}

/* Sorts the entries, and returns how many of the first must go for `most_bytes` to be left. */
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

/* -- the file beside the entries -- */

/*
 * FOLDER/cubin/size says when the cache was last looked through, "@SECONDS" since 1970, how many bytes
 * that found, "+BYTES", and how many each run has added since, "+BYTES"; a line each. Runs hold a
 * shared lock on it, and who removes entries an exclusive one.
 */
static int open_size(const char *folder, int flags)
{
    char *path = alloc_format("%s/cubin/size", folder);
    int file = -1;
    if ((flags & O_CREAT) == 0 || write_file_make_folders(path, NULL) == 0)
        file = open(path, O_RDWR | O_APPEND | O_CLOEXEC | flags, 0666);
    free(path);
    return file;
}

/* Whether the lock is held now, or the file system has none. */
static bool lock(int file, int how)
{
    int status;
    while ((status = flock(file, how)) != 0 && errno == EINTR)
        continue;
    return status == 0 || errno != EWOULDBLOCK;
}

/* A line that gets lost makes the cache be looked through later than it could. */
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

/* False if the cache should be looked through: the last look was more than a day ago, or the file does
 * not say, or has grown long. */
static bool read_size(int file, uint64_t *bytes)
{
    char text[4096];
    ssize_t length = pread(file, text, sizeof text - 1, 0);
    uint64_t looked_s = 0;
    uint64_t now_s = (uint64_t)time(NULL);
    *bytes = 0;
    if (length <= 0 || (size_t)length == sizeof text - 1)
        return false;
    text[length] = '\0';
    for (char *at = text; *at != '\0'; at++) {
        uint64_t *number = *at == '@' ? &looked_s : bytes;
        if ((*at != '@' && *at != '+') || at[1] < '0' || at[1] > '9')
            return false;
        *number += strtoull(at + 1, &at, 10);
        if (*at != '\n')
            return false;
    }
    return looked_s <= now_s && now_s - looked_s < DAY_S;
}

void cubin_cache_use_begin(struct cubin_cache_use *use, const char *folder)
{
    use->file = open_size(folder, O_CREAT);
    if (use->file >= 0)
        (void)lock(use->file, LOCK_SH);
}

static int keep_limit(int file, const char *folder, uint64_t limit_bytes, struct error *error)
{
    uint64_t bytes;
    if (read_size(file, &bytes) && bytes <= limit_bytes)
        return 0;
    struct scan scan;
    char *name = folder_of_all(folder);
    int status = scan_cache(&scan, name, time(NULL) - DAY_S, error);
    if (status == 0)
        status = trim(&scan, limit_bytes, error);
    if (status == 0)
        set_size(file, scan.bytes);
    scan_release(&scan);
    free(name);
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
        if (lock(use->file, LOCK_EX | LOCK_NB))
            status = keep_limit(use->file, folder, limit_bytes, error);
    }
    (void)close(use->file);
    use->file = -1;
    return status;
}

/* -- clearing -- */

static int remove_all(const char *folder, struct cubin_cache_contents *removed, struct error *error)
{
    struct scan scan;
    char *name = folder_of_all(folder);
    int status = scan_cache(&scan, name, INT64_MAX, error);
    *removed = contents_of(&scan);
    if (status == 0)
        status = remove_entries(&scan, scan.count, error);
    for (unsigned i = 0; i < 256 && status == 0 && scan.folder >= 0; i++) {
        char prefix[4];
        (void)snprintf(prefix, sizeof prefix, "%02x", i);
        (void)unlinkat(scan.folder, prefix, AT_REMOVEDIR); /* stays if it holds anything else */
    }
    scan_release(&scan);
    free(name);
    return status;
}

int cubin_cache_clear(const char *folder, struct cubin_cache_contents *removed, struct error *error)
{
    int status = 0;
    int file = open_size(folder, 0); /* without it no run uses the cache */
    *removed = (struct cubin_cache_contents){0};
    if (file >= 0 && !lock(file, LOCK_EX | LOCK_NB))
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
