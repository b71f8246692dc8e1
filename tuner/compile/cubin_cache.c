#include "compile/cubin_cache.h"

#include "base/alloc.h"
#include "base/environment.h"
#include "base/file_system.h"
#include "base/hash.h"
#include "base/json_text.h"
#include "base/write_file.h"
#include "template/source.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <inttypes.h>
#include <limits.h>
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

#define CUBIN_ENTRY_FORMAT "5" /* change it whenever the meaning of an entry changes */

/*
 * An entry begins with these bytes; the digits of the hash of its file's name and the rest of the header, and that
 * header, follow. It is not JSON, because the coordinator of a cluster reads thousands of entries a second.
 */
static const char start[] = "autotune_cubin " CUBIN_ENTRY_FORMAT " ";
enum { START_BYTES = sizeof start - 1, HASH_DIGITS = HASH_BYTES - 1 };

#define MOST_BYTES (1L << 53)

/* X(member of struct compiled_kernel, its type, its most), in the order of a kernel's figures */
#define KERNEL_FIGURES(X)                                                                          \
    X(registers, int, INT_MAX)                                                                     \
    X(spill_store_bytes, long, MOST_BYTES)                                                         \
    X(spill_load_bytes, long, MOST_BYTES)                                                          \
    X(stack_bytes, long, MOST_BYTES)                                                               \
    X(shared_bytes, long, MOST_BYTES)                                                              \
    X(barriers, int, INT_MAX)                                                                      \
    X(max_threads_per_block, int, INT_MAX)

/* An entry that lies under another's name is damaged, too. */
static void hash_header(const char *name, const char *rest, size_t length, char digits[HASH_BYTES])
{
    const char *slash = strrchr(name, '/');
    struct hash *hash = hash_new();
    hash_add_text(hash, slash != NULL ? slash + 1 : name);
    hash_add(hash, rest, length);
    hash_finish(hash, digits);
}

/* --- reading --- */

/* What an entry contains. */
struct text {
    const char *name;
    char *bytes;
    size_t count;
};

/* What is left of a header. */
struct header {
    char *at, *end;
};

/* The next line, without its end; NULL if there is none. */
static char *take_line(struct header *header)
{
    char *line = header->at;
    char *newline = memchr(line, '\n', (size_t)(header->end - line));
    if (newline == NULL)
        return NULL;
    *newline = '\0';
    header->at = newline + 1;
    return line;
}

/* Takes a number, and a blank behind it. */
static bool take_number(const char **text, long long most, long long *number)
{
    char *end;
    *number = -1;
    if (*text == NULL || **text < '0' || **text > '9')
        return false;
    *number = strtoll(*text, &end, 10);
    *text = end + (*end == ' ');
    return *number <= most;
}

/* Finds the header behind its hash: " BYTES\n" and so many bytes. False if one of them is not as written. */
static bool find_header(const struct text *entry, struct header *header)
{
    char digits[HASH_BYTES];
    const size_t rest_at = START_BYTES + HASH_DIGITS;
    long long bytes;
    if (entry->count <= rest_at || memcmp(entry->bytes, start, START_BYTES) != 0)
        return false;
    char *rest = entry->bytes + rest_at;
    const char *text = rest + 1;
    const char *newline = memchr(rest, '\n', entry->count - rest_at);
    const char *end = entry->bytes + entry->count;
    if (newline == NULL || *rest != ' ' || !take_number(&text, end - newline - 1, &bytes) ||
        text != newline)
        return false;
    header->at = rest + (newline + 1 - rest);
    header->end = header->at + bytes;
    hash_header(entry->name, rest, (size_t)(header->end - rest), digits);
    return memcmp(entry->bytes + START_BYTES, digits, HASH_DIGITS) == 0;
}

/* Three lines. */
static bool read_kernel(struct header *header, struct compiled_kernel *kernel)
{
    const char *entry = take_line(header);
    const char *symbol = take_line(header);
    const char *figures = take_line(header);
    bool good = figures != NULL;
    long long number;
    kernel->entry = alloc_string(entry);
    kernel->symbol = symbol != NULL && symbol[0] != '\0' ? alloc_string(symbol) : NULL;
#define X(member, type, most)                                                                      \
    good = take_number(&figures, most, &number) && good;                                           \
    kernel->member = good ? (type)number : 0;
    KERNEL_FIGURES(X)
#undef X
    return good;
}

/* "HASH BYTES KERNELS", of the cubin behind the header. */
static bool check_cubin(const struct text *entry, struct header *header,
                        struct compilation *compilation, long long *kernels)
{
    const char *image = header->end;
    size_t image_bytes = entry->count - (size_t)(image - entry->bytes);
    const char *line = take_line(header);
    const char *text = line != NULL && strlen(line) > HASH_DIGITS ? line + HASH_DIGITS + 1 : NULL;
    long long bytes;
    hash_of(image, image_bytes, compilation->cubin_hash);
    compilation->cubin_bytes = image_bytes;
    return take_number(&text, LLONG_MAX, &bytes) && (size_t)bytes == image_bytes &&
           take_number(&text, INT_MAX, kernels) &&
           memcmp(line, compilation->cubin_hash, HASH_DIGITS) == 0;
}

bool cubin_cache_parse(const char *name, char *bytes, size_t count, bool whole,
                       struct compilation *compilation)
{
    struct text entry = {.name = name, .count = count};
    struct header header;
    long long kernels = 0;
    entry.bytes = bytes;
    *compilation = (struct compilation){0};
    bool good = find_header(&entry, &header) && check_cubin(&entry, &header, compilation, &kernels);
    for (long long i = 0; good && i < kernels; i++)
        good = read_kernel(&header, ARRAY_APPEND(compilation->kernels, compilation->kernel_count));
    if (!good) {
        compilation_release(compilation);
        return false;
    }
    compilation->log = alloc_string_n(header.at, (size_t)(header.end - header.at));
    if (whole && compilation->cubin_bytes > 0) {
        compilation->cubin = alloc_zeroed(compilation->cubin_bytes, 1);
        memcpy(compilation->cubin, header.end, compilation->cubin_bytes);
    }
    return true;
}

/* --- writing --- */

static void write_kernel(FILE *stream, const struct compiled_kernel *kernel)
{
    fprintf(stream, "%s\n%s", kernel->entry, kernel->symbol != NULL ? kernel->symbol : "");
    char blank = '\n';
#define X(member, type, most)                                                                      \
    fprintf(stream, "%c%lld", blank, (long long)kernel->member);                                   \
    blank = ' ';
    KERNEL_FIGURES(X)
#undef X
    fputc('\n', stream);
}

/* The header behind its first line, a new string. */
static char *header_lines(const struct compilation *compilation, size_t bytes)
{
    char *text = NULL;
    size_t size = 0;
    char digits[HASH_BYTES];
    json_t *log = json_text(compilation->log);
    FILE *stream = open_memstream(&text, &size);
    if (stream == NULL)
        abort();
    hash_of(compilation->cubin, bytes, digits);
    fprintf(stream, "%s %zu %zu\n", digits, bytes, compilation->kernel_count);
    for (size_t i = 0; i < compilation->kernel_count; i++)
        write_kernel(stream, &compilation->kernels[i]);
    fputs(json_string_length(log) > 0 ? json_string_value(log) : "", stream); /* it is UTF-8 */
    if (fclose(stream) != 0)
        abort();
    json_decref(log);
    return text;
}

static void print_entry(FILE *stream, const char *name, const struct compilation *compilation)
{
    size_t bytes = compilation->cubin != NULL ? compilation->cubin_bytes : 0;
    char *lines = header_lines(compilation, bytes);
    char *rest = alloc_format(" %zu\n%s", strlen(lines), lines);
    char digits[HASH_BYTES];
    hash_header(name, rest, strlen(rest), digits);
    fprintf(stream, "%s%s%s", start, digits, rest);
    if (bytes > 0)
        (void)fwrite(compilation->cubin, 1, bytes, stream);
    free(rest);
    free(lines);
}

enum { USE_RESOLUTION_S = 60 * 60, ENTRY_BYTES_MAX = 512 << 20 };

/* --- names --- */

void cubin_cache_key(const char *source_hash, const char *const *options, size_t option_count,
                     const char *arch, const char *build, char key[HASH_BYTES])
{
    struct hash *hash = hash_new();
    hash_add_text(hash, CUBIN_ENTRY_FORMAT);
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

/* An open entry, whole in memory. */
struct entry {
    const char *path;
    int file;
    char *bytes;
    size_t count;
    time_t used; /* the last time, as far as its file says */
};

/* -1 with errno. */
static int read_entry(struct entry *entry)
{
    struct stat information;
    if (fstat(entry->file, &information) != 0)
        return -1;
    entry->used = information.st_mtime;
    if (!S_ISREG(information.st_mode) || information.st_size > ENTRY_BYTES_MAX)
        return 0; /* empty: damaged */
    size_t wanted = (size_t)information.st_size;
    entry->bytes = alloc_resize(NULL, wanted, 1);
    while (entry->count < wanted) {
        ssize_t got = read(entry->file, entry->bytes + entry->count, wanted - entry->count);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -1;
        if (got == 0) /* somebody cut it */
            break;
        entry->count += (size_t)got;
    }
    return 0;
}

/* Sets the entry's modification time to now, but only once per hour, so that it costs next to
 * nothing. A cache that cannot be written stays as it is. */
static void mark_used(const struct entry *entry)
{
    if (time(NULL) - entry->used > USE_RESOLUTION_S)
        (void)futimens(entry->file, NULL);
}

/* Makes way for the next write. Where that fails, the write replaces a file, or says why it cannot. */
static void discard_entry(const char *path)
{
    if (remove(path) == 0 || errno == ENOENT)
        return;
    char *aside = alloc_format("%s.damaged", path); /* a folder that is not empty */
    (void)rename(path, aside);
    free(aside);
}

/* Whether open() failed because of what is at the path: a socket, a link to itself, or a file that may
 * not be read. It is removed, because a new file would get the old one's permissions. */
static bool is_unusable(int code)
{
    return code == ENXIO || code == ELOOP || code == EACCES;
}

static int read_path(const char *path, bool whole, struct compilation *compilation, bool *found,
                     struct error *error)
{
    *compilation = (struct compilation){0};
    *found = false;
    struct entry entry = {.path = path, .file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
    if (entry.file < 0 && (errno == ENOENT || errno == ENOTDIR))
        return 0;
    if (entry.file < 0 && is_unusable(errno)) {
        discard_entry(path);
        return 0;
    }
    if (entry.file < 0)
        return error_set_errno(error, ERROR_RECORD, "cannot open cache entry '%s'", path);
    int status = 0;
    if (read_entry(&entry) != 0) {
        status = error_set_errno(error, ERROR_RECORD, "cannot read cache entry '%s'", path);
    } else if (cubin_cache_parse(entry.path, entry.bytes, entry.count, whole, compilation)) {
        *found = true;
        mark_used(&entry);
    } else {
        discard_entry(path);
    }
    (void)close(entry.file); /* only read from */
    free(entry.bytes);
    return status;
}

int cubin_cache_read(const char *path, struct compilation *compilation, bool *found,
                     struct error *error)
{
    return read_path(path, true, compilation, found, error);
}

int cubin_cache_require(const char *path, struct compilation *compilation, struct error *error)
{
    bool found = false;
    int status = cubin_cache_read(path, compilation, &found, error);
    if (status == 0 && (!found || compilation->cubin == NULL)) {
        compilation_release(compilation);
        status = error_set(error, ERROR_RECORD,
                           "cubin '%s' is missing or damaged; run again to recompile it", path);
    }
    return status;
}

int cubin_cache_check(const char *path, struct compilation *compilation, bool *found,
                      struct error *error)
{
    return read_path(path, false, compilation, found, error);
}

/* --- writing --- */

int cubin_cache_write(const char *path, const struct compilation *compilation, struct error *error)
{
    struct write_file file;
    int status = write_file_begin(&file, path, error);
    if (status != 0)
        return status;
    print_entry(file.stream, path, compilation);
    return write_file_commit(&file, WRITE_FILE_CACHED, error);
}

char *cubin_cache_entry(const char *name, const struct compilation *compilation, size_t *count)
{
    char *bytes = NULL;
    FILE *memory = open_memstream(&bytes, count);
    if (memory == NULL)
        abort(); /* out of memory, as in alloc.h */
    print_entry(memory, name, compilation);
    if (fclose(memory) != 0)
        abort();
    return bytes;
}

/* --- the size limit --- */

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
    const char *suffix = file->fts_name + KEY_DIGITS;
    int64_t used_s = file->fts_statp->st_mtim.tv_sec;
    if (strspn(file->fts_name, hex_digits) != KEY_DIGITS ||
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
