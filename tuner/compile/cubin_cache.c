#include "compile/cubin_cache.h"

#include "base/alloc.h"
#include "base/figures.h"
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
 * An entry begins with these bytes; the digits of the hash of its file's name and the rest of the line
 * follow, then the rest, which completes a JSON object. Change the number whenever the meaning of an entry changes.
 */
#define FORMAT "3"
static const char line_start[] = "{\"autotune_cubin\":" FORMAT ",\"line_hash\":\"";
enum { LINE_START_BYTES = sizeof line_start - 1, HASH_DIGITS = HASH_BYTES - 1 };

enum { USE_RESOLUTION_S = 60 * 60, ENTRY_BYTES_MAX = 512 << 20 };

#define MOST_BYTES (1L << 53) /* exact as a double, like all below it */

/* X(member of struct compiled_kernel, its type, its most), in the order of a kernel's "figures" */
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
static void hash_line(const char *path, const char *rest, size_t length, char digits[HASH_BYTES])
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

/* The header without its first two members, as an object: a new reference; NULL if a byte of the line is
 * not as written. Overwrites a byte of the line. */
static json_t *parse_line(const char *path, char *line, size_t length)
{
    const size_t rest_at = LINE_START_BYTES + HASH_DIGITS;
    if (length <= rest_at + 1 || memcmp(line, line_start, LINE_START_BYTES) != 0)
        return NULL;
    char digits[HASH_BYTES];
    hash_line(path, line + rest_at, length - rest_at, digits);
    if (memcmp(line + LINE_START_BYTES, digits, HASH_DIGITS) != 0)
        return NULL;
    line[rest_at + 1] = '{'; /* a comma, after the digits' quotation mark */
    return json_loadb(line + rest_at + 1, length - rest_at - 1, 0, NULL);
}

static bool read_integer(const json_t *object, const char *member, long long most, long long *value)
{
    const json_t *integer = json_object_get(object, member);
    *value = json_integer_value(integer);
    return json_is_integer(integer) && *value >= 0 && *value <= most;
}

/* The numbers of instructions; NULL if they are not in the entry, or an older autotune counted. */
static size_t *read_instructions(const json_t *object)
{
    const json_t *numbers = json_object_get(object, "instructions");
    long long version = 0;
    if (!read_integer(object, "instruction_kinds", INT_MAX, &version) ||
        version != SASS_KINDS_VERSION || json_array_size(numbers) != SASS_KIND_COUNT)
        return NULL;
    size_t *counts = alloc_zeroed(SASS_KIND_COUNT, sizeof *counts);
    for (size_t i = 0; i < SASS_KIND_COUNT; i++)
        counts[i] = (size_t)json_integer_value(json_array_get(numbers, i));
    return counts;
}

static bool read_kernel(const json_t *object, struct compiled_kernel *kernel)
{
    const char *entry = json_string_value(json_object_get(object, "entry"));
    const char *symbol = json_string_value(json_object_get(object, "symbol"));
    kernel->entry = alloc_string(entry);
    kernel->symbol = alloc_string(symbol);
    struct figures figures = {0};
    size_t next = 0;
    figures_read(&figures, object);
    bool good = entry != NULL && figures.count == KERNEL_FIGURE_COUNT;
#define X(member, type, most)                                                                      \
    good = good && figures.numbers[next] >= 0 && figures.numbers[next] <= (double)(most);          \
    kernel->member = good ? (type)figures.numbers[next++] : 0;
    KERNEL_FIGURES(X)
#undef X
    figures_release(&figures);
    kernel->instructions = read_instructions(object);
    return good;
}

/* Fills `compilation` from an entry, with the cubin if `whole`; false if it is damaged. */
static bool parse_entry(const struct entry *entry, bool whole, struct compilation *compilation)
{
    const char *end = entry->count > 0 ? memchr(entry->bytes, '\n', entry->count) : NULL;
    if (end == NULL)
        return false;
    const char *image = end + 1;
    size_t image_bytes = entry->count - (size_t)(image - entry->bytes);
    json_t *header = parse_line(entry->path, entry->bytes, (size_t)(end - entry->bytes));
    const json_t *kernels = json_object_get(header, "kernels");
    const char *log = json_string_value(json_object_get(header, "log"));
    const char *checksum = json_string_value(json_object_get(header, "cubin_hash"));
    char digits[HASH_BYTES];
    long long bytes = 0;
    hash_of(image, image_bytes, digits);
    bool good = log != NULL && checksum != NULL && json_is_array(kernels) &&
                read_integer(header, "cubin_bytes", LLONG_MAX, &bytes) &&
                (size_t)bytes == image_bytes && strcmp(digits, checksum) == 0;
    if (good) {
        compilation->log = alloc_string(log);
        memcpy(compilation->cubin_hash, digits, sizeof digits);
    }
    for (size_t i = 0; good && i < json_array_size(kernels); i++)
        good = read_kernel(json_array_get(kernels, i),
                           ARRAY_APPEND(compilation->kernels, compilation->kernel_count));
    if (good)
        compilation->cubin_bytes = image_bytes;
    if (good && whole && image_bytes > 0) {
        compilation->cubin = alloc_zeroed(image_bytes, 1);
        memcpy(compilation->cubin, image, image_bytes);
    }
    json_decref(header);
    return good;
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

static json_t *kernel_to_json(const struct compiled_kernel *kernel)
{
    json_t *object = json_object();
    json_object_set_new(object, "entry", json_text(kernel->entry));
    if (kernel->symbol != NULL)
        json_object_set_new(object, "symbol", json_text(kernel->symbol));
#define X(member, type, most) (double)kernel->member,
    const double figures[] = {KERNEL_FIGURES(X)};
#undef X
    json_object_set_new(object, "figures", figures_text(figures, KERNEL_FIGURE_COUNT));
    if (kernel->instructions == NULL)
        return object;
    json_t *numbers = json_array();
    for (size_t i = 0; i < SASS_KIND_COUNT; i++)
        json_array_append_new(numbers, json_integer((json_int_t)kernel->instructions[i]));
    json_object_set_new(object, "instruction_kinds", json_integer(SASS_KINDS_VERSION));
    json_object_set_new(object, "instructions", numbers);
    return object;
}

/* The header line without its start and its newline, a new string. */
static char *line_rest(const struct compilation *compilation)
{
    json_t *kernels = json_array();
    for (size_t i = 0; i < compilation->kernel_count; i++)
        json_array_append_new(kernels, kernel_to_json(&compilation->kernels[i]));
    size_t bytes = compilation->cubin != NULL ? compilation->cubin_bytes : 0;
    char digits[HASH_BYTES];
    hash_of(compilation->cubin, bytes, digits);

    json_t *header = json_object();
    json_object_set_new(header, "cubin_bytes", json_integer((json_int_t)bytes));
    json_object_set_new(header, "cubin_hash", json_string(digits));
    json_object_set_new(header, "kernels", kernels);
    json_object_set_new(header, "log", json_text(compilation->log));
    char *object = json_dumps(header, JSON_COMPACT | JSON_PRESERVE_ORDER);
    char *rest = alloc_format("\",%s", object != NULL ? object + 1 : "}");
    free(object);
    json_decref(header);
    return rest;
}

static void print_entry(FILE *stream, const char *path, const struct compilation *compilation)
{
    char *rest = line_rest(compilation);
    char digits[HASH_BYTES];
    hash_line(path, rest, strlen(rest), digits);
    fprintf(stream, "%s%s%s\n", line_start, digits, rest);
    free(rest);
    if (compilation->cubin != NULL)
        (void)fwrite(compilation->cubin, 1, compilation->cubin_bytes, stream);
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
