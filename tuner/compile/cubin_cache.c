#include "compile/cubin_cache.h"

#include "base/alloc.h"
#include "base/json_text.h"
#include "base/write_file.h"
#include "record/instruction_kinds.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/*
 * An entry begins with these bytes; the digits of the hash of its file's name and the rest of the header, and that
 * header, follow. It is not JSON, because the coordinator of a cluster reads thousands of entries a second. Change
 * the number whenever the meaning of an entry changes.
 */
#define FORMAT "4"
static const char start[] = "autotune_cubin " FORMAT " ";
enum { START_BYTES = sizeof start - 1, HASH_DIGITS = HASH_BYTES - 1 };

enum { USE_RESOLUTION_S = 60 * 60, ENTRY_BYTES_MAX = 512 << 20 };

#define MOST_BYTES (1L << 53) /* exact as a double, like all below it */

/* X(member of struct compiled_kernel, its type, its most), in the order of a kernel's figures */
#define KERNEL_FIGURES(X)                                                                          \
    X(registers, int, INT_MAX)                                                                     \
    X(spill_store_bytes, long, MOST_BYTES)                                                         \
    X(spill_load_bytes, long, MOST_BYTES)                                                          \
    X(stack_bytes, long, MOST_BYTES)                                                               \
    X(shared_bytes, long, MOST_BYTES)                                                              \
    X(barriers, int, INT_MAX)                                                                      \
    X(max_threads_per_block, int, INT_MAX)
#define X(member, type, most) +1
enum { KERNEL_FIGURE_COUNT = 0 KERNEL_FIGURES(X) };
#undef X

/* An entry that lies under another's name is damaged, too. */
static void hash_header(const char *path, const char *rest, size_t length, char digits[HASH_BYTES])
{
    const char *slash = strrchr(path, '/');
    struct hash *hash = hash_new();
    hash_add_text(hash, slash != NULL ? slash + 1 : path);
    hash_add(hash, rest, length);
    hash_finish(hash, digits);
}

/* --- names ------------------------------------------------------------------------------------ */

void cubin_cache_key(const char *source_hash, const char *const *options, size_t option_count,
                     const char *arch, const char *nvrtc_version, char key[HASH_BYTES])
{
    struct hash *hash = hash_new();
    hash_add_text(hash, FORMAT);
    hash_add_text(hash, source_hash);
    hash_add_text(hash, arch);
    hash_add_text(hash, nvrtc_version);
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

char *cubin_cache_path(const char *folder, const char *key)
{
    return alloc_format("%s/cubin/%.2s/%s", folder, key, key);
}

/* --- reading ---------------------------------------------------------------------------------- */

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
static bool find_header(const struct entry *entry, struct header *header)
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
    hash_header(entry->path, rest, (size_t)(header->end - rest), digits);
    return memcmp(entry->bytes + START_BYTES, digits, HASH_DIGITS) == 0;
}

/* The numbers of instructions; NULL if they are not in the entry, or an older autotune counted. */
static size_t *read_instructions(const char *text)
{
    long long number;
    if (!take_number(&text, INT_MAX, &number) || number != SASS_KINDS_VERSION)
        return NULL;
    size_t *counts = alloc_zeroed(SASS_KIND_COUNT, sizeof *counts);
    for (size_t i = 0; i < SASS_KIND_COUNT; i++) {
        (void)take_number(&text, MOST_BYTES, &number);
        counts[i] = number > 0 ? (size_t)number : 0;
    }
    return counts;
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
    kernel->instructions = read_instructions(figures);
    return good;
}

/* "HASH BYTES KERNELS", of the cubin behind the header. */
static bool check_cubin(const struct entry *entry, struct header *header,
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

/* Fills `compilation` from an entry, with the cubin if `whole`; false if it is damaged. */
static bool parse_entry(const struct entry *entry, bool whole, struct compilation *compilation)
{
    struct header header;
    long long kernels = 0;
    bool good = find_header(entry, &header) && check_cubin(entry, &header, compilation, &kernels);
    for (long long i = 0; good && i < kernels; i++)
        good = read_kernel(&header, ARRAY_APPEND(compilation->kernels, compilation->kernel_count));
    if (!good)
        return false;
    compilation->log = alloc_string_n(header.at, (size_t)(header.end - header.at));
    if (whole && compilation->cubin_bytes > 0) {
        compilation->cubin = alloc_zeroed(compilation->cubin_bytes, 1);
        memcpy(compilation->cubin, header.end, compilation->cubin_bytes);
    }
    return true;
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
    } else if (parse_entry(&entry, whole, compilation)) {
        *found = true;
        mark_used(&entry);
    } else {
        compilation_release(compilation);
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

bool cubin_cache_parse(const char *name, char *bytes, size_t count, struct compilation *compilation)
{
    struct entry entry = {.path = name, .count = count};
    entry.bytes = bytes;
    *compilation = (struct compilation){0};
    if (parse_entry(&entry, true, compilation))
        return true;
    compilation_release(compilation);
    return false;
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

/* --- writing ---------------------------------------------------------------------------------- */

static void write_kernel(FILE *stream, const struct compiled_kernel *kernel)
{
    fprintf(stream, "%s\n%s", kernel->entry, kernel->symbol != NULL ? kernel->symbol : "");
    char blank = '\n';
#define X(member, type, most)                                                                      \
    fprintf(stream, "%c%lld", blank, (long long)kernel->member);                                   \
    blank = ' ';
    KERNEL_FIGURES(X)
#undef X
    if (kernel->instructions != NULL)
        fprintf(stream, " %d", SASS_KINDS_VERSION);
    for (size_t i = 0; kernel->instructions != NULL && i < SASS_KIND_COUNT; i++)
        fprintf(stream, " %zu", kernel->instructions[i]);
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

static void print_entry(FILE *stream, const char *path, const struct compilation *compilation)
{
    size_t bytes = compilation->cubin != NULL ? compilation->cubin_bytes : 0;
    char *lines = header_lines(compilation, bytes);
    char *rest = alloc_format(" %zu\n%s", strlen(lines), lines);
    char digits[HASH_BYTES];
    hash_header(path, rest, strlen(rest), digits);
    fprintf(stream, "%s%s%s", start, digits, rest);
    if (bytes > 0)
        (void)fwrite(compilation->cubin, 1, bytes, stream);
    free(rest);
    free(lines);
}

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
