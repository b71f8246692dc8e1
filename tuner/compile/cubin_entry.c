#include "compile/cubin_entry.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "base/json_text.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

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

bool cubin_entry_parse(const char *name, char *bytes, size_t count, bool whole,
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

void cubin_entry_print(FILE *stream, const char *name, const struct compilation *compilation)
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
