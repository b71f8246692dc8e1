#include "compile/cubin_cache.h"

#include "base/alloc.h"
#include "base/environment.h"
#include "base/file_system.h"
#include "base/hash.h"
#include "base/json_text.h"
#include "base/write_file.h"
#include "template/source.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* --- what an entry contains --- */

#define FORMAT "6" /* change it whenever the meaning of an entry changes */
#define START "autotune_cubin " FORMAT " "

enum {
    START_BYTES = sizeof START - 1,
    HASH_DIGITS = HASH_BYTES - 1,
    LINE_BYTES = START_BYTES + HASH_DIGITS + 1
};

/* X(member of struct compiled_kernel, its type), in the order of a kernel's figures */
#define KERNEL_FIGURES(X)                                                                          \
    X(registers, int)                                                                              \
    X(spill_store_bytes, long)                                                                     \
    X(spill_load_bytes, long)                                                                      \
    X(stack_bytes, long)                                                                           \
    X(shared_bytes, long)                                                                          \
    X(barriers, int)                                                                               \
    X(max_threads_per_block, int)

/* The first line: the hash is of all that follows, and of the name, since an entry that lies under another's is
 * damaged, too. */
static void first_line(const char *name, const char *rest, size_t count, char line[LINE_BYTES + 1])
{
    char digits[HASH_BYTES];
    const char *slash = strrchr(name, '/');
    struct hash *hash = hash_new();
    hash_add_text(hash, slash != NULL ? slash + 1 : name);
    hash_add(hash, rest, count);
    hash_finish(hash, digits);
    (void)snprintf(line, LINE_BYTES + 1, START "%s\n", digits);
}

static void read_kernel(const json_t *object, struct compiled_kernel *kernel)
{
    const char *symbol = json_text_member(object, "symbol");
    kernel->entry = alloc_string(json_text_member(object, "entry"));
    kernel->symbol = symbol[0] != '\0' ? alloc_string(symbol) : NULL;
#define X(member, type) kernel->member = (type)json_integer_value(json_object_get(object, #member));
    KERNEL_FIGURES(X)
#undef X
}

bool cubin_cache_parse(const char *name, const char *bytes, size_t count, bool whole,
                       struct compilation *compilation)
{
    char line[LINE_BYTES + 1];
    *compilation = (struct compilation){0};
    if (count < LINE_BYTES)
        return false;
    const char *rest = bytes + LINE_BYTES;
    first_line(name, rest, count - LINE_BYTES, line);
    const char *end = memchr(rest, '\n', count - LINE_BYTES);
    if (memcmp(bytes, line, LINE_BYTES) != 0 || end == NULL)
        return false;
    json_t *header = json_loadb(rest, (size_t)(end - rest), 0, NULL); /* as it was written */
    size_t index;
    json_t *object;
    json_array_foreach(json_object_get(header, "kernels"), index, object)
    {
        read_kernel(object, ARRAY_APPEND(compilation->kernels, compilation->kernel_count));
    }
    compilation->log = alloc_string(json_text_member(header, "log"));
    json_decref(header);
    compilation->cubin_bytes = count - (size_t)(end + 1 - bytes);
    hash_of(end + 1, compilation->cubin_bytes, compilation->cubin_hash);
    if (whole && compilation->cubin_bytes > 0) {
        compilation->cubin = alloc_zeroed(compilation->cubin_bytes, 1);
        memcpy(compilation->cubin, end + 1, compilation->cubin_bytes);
    }
    return true;
}

char *cubin_cache_entry(const char *name, const struct compilation *compilation, size_t *count)
{
    json_t *kernels = json_array();
    for (size_t i = 0; i < compilation->kernel_count; i++) {
        const struct compiled_kernel *kernel = &compilation->kernels[i];
        json_t *object = json_pack("{s:o}", "entry", json_text(kernel->entry));
        if (kernel->symbol != NULL)
            json_object_set_new(object, "symbol", json_text(kernel->symbol));
#define X(member, type) json_object_set_new(object, #member, json_integer(kernel->member));
        KERNEL_FIGURES(X)
#undef X
        json_array_append_new(kernels, object);
    }
    json_t *header =
        json_pack("{s:o, s:o}", "log", json_text(compilation->log), "kernels", kernels);
    size_t length = json_dumpb(header, NULL, 0, JSON_COMPACT);
    size_t cubin_bytes = compilation->cubin != NULL ? compilation->cubin_bytes : 0;
    *count = LINE_BYTES + length + 1 + cubin_bytes;
    char *bytes = alloc_zeroed(*count, 1);
    char *rest = bytes + LINE_BYTES;
    (void)json_dumpb(header, rest, length, JSON_COMPACT);
    json_decref(header);
    rest[length] = '\n';
    if (cubin_bytes > 0)
        memcpy(rest + length + 1, compilation->cubin, cubin_bytes);
    char line[LINE_BYTES + 1];
    first_line(name, rest, *count - LINE_BYTES, line);
    memcpy(bytes, line, LINE_BYTES);
    return bytes;
}

enum { USE_RESOLUTION_S = 60 * 60, ENTRY_BYTES_MAX = 512 << 20 };

/* --- names --- */

void cubin_cache_key(const char *source_hash, const char *const *options, size_t option_count,
                     const char *arch, const char *build, char key[HASH_BYTES])
{
    struct hash *hash = hash_new();
    hash_add_text(hash, FORMAT);
    hash_add_text(hash, source_hash);
    hash_add_text(hash, arch);
    hash_add_text(hash, build);
    for (size_t i = 0; i < option_count; i++)
        if (strncmp(options[i], "-I", 2) != 0)
            hash_add_text(hash, options[i]);
    hash_finish(hash, key);
}

/* The value of an environment variable, NULL where it is not set or empty. */
static const char *environment(const char *name)
{
    const char *value = getenv(name);
    return value != NULL && value[0] != '\0' ? value : NULL;
}

char *cubin_cache_default_folder(void)
{
    const char *folder = environment("AUTOTUNE_CACHE");
    if (folder != NULL)
        return alloc_string(folder);
    folder = environment("XDG_CACHE_HOME");
    if (folder != NULL && folder[0] == '/') /* relative ones do not count, says its specification */
        return alloc_format("%s/autotune", folder);
    const char *home = environment("HOME");
    const struct passwd *user = home == NULL ? getpwuid(getuid()) : NULL;
    if (user != NULL)
        home = user->pw_dir;
    return alloc_format("%s/.cache/autotune", home != NULL ? home : ".");
}

int cubin_cache_check_folder(const char *folder, struct error *error)
{
    if (json_text_is_utf8(folder))
        return 0;
    return error_set(error, ERROR_CONFIG,
                     "the cubin cache's folder '%s' is not UTF-8; rename it, or set "
                     "AUTOTUNE_CACHE to another",
                     folder);
}

char *cubin_cache_path(const char *folder, const char *key)
{
    return alloc_format("%s/cubin/%.2s/%s", folder, key, key);
}

/* --- reading --- */

/* The whole file, a new string, if it is a regular one that is not too large; otherwise NULL. Its modification time
 * becomes now, but only once per hour, so that it costs next to nothing. */
static char *read_open(int file, size_t *count)
{
    struct stat information;
    *count = 0;
    if (fstat(file, &information) != 0 || !S_ISREG(information.st_mode) ||
        information.st_size > ENTRY_BYTES_MAX)
        return NULL;
    size_t wanted = (size_t)information.st_size;
    char *bytes = alloc_zeroed(wanted + 1, 1);
    for (ssize_t got = 1; *count < wanted && got != 0;) { /* 0: somebody cut it */
        got = read(file, bytes + *count, wanted - *count);
        if (got < 0 && errno != EINTR) {
            free(bytes);
            return NULL;
        }
        *count += got > 0 ? (size_t)got : 0;
    }
    if (time(NULL) - information.st_mtime > USE_RESOLUTION_S)
        (void)futimens(file, NULL); /* a cache that cannot be written stays as it is */
    return bytes;
}

bool cubin_cache_read(const char *path, bool whole, struct compilation *compilation)
{
    size_t count = 0;
    *compilation = (struct compilation){0};
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    char *bytes = file >= 0 ? read_open(file, &count) : NULL;
    bool found = bytes != NULL && cubin_cache_parse(path, bytes, count, whole, compilation);
    if (!found) /* a new file in its place would get the old one's permissions */
        (void)remove(path);
    if (file >= 0)
        (void)close(file); /* only read from */
    free(bytes);
    return found;
}

int cubin_cache_write(const char *path, const struct compilation *compilation, struct error *error)
{
    size_t count;
    char *bytes = cubin_cache_entry(path, compilation, &count);
    int status = write_file_bytes(path, bytes, count, error);
    free(bytes);
    return status;
}

/* --- the size limit --- */

enum { DEFAULT_LIMIT_MB = 2048, DAY_S = 24 * 60 * 60, MOMENT_MS = 200 };

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

struct scanned_entry {
    char *path;
    int64_t used_s;
    uint64_t bytes;
};

struct scan {
    struct scanned_entry *entries;
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
    const char *suffix = file->fts_name + HASH_DIGITS;
    int64_t used_s = file->fts_statp->st_mtim.tv_sec;
    if (strspn(file->fts_name, hex_digits) != HASH_DIGITS ||
        strncmp(file->fts_name, file->fts_parent->fts_name, 2) != 0)
        return;
    if (suffix[0] == '\0') {
        struct scanned_entry *entry = ARRAY_APPEND(scan->entries, scan->count);
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
    const struct scanned_entry *first = a;
    const struct scanned_entry *second = b;
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
