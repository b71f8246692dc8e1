#include "template/npy.h"

#include "base/alloc.h"
#include "base/open_regular.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEADER_LIMIT = 64 * 1024, DIMENSION_LIMIT = 32 };

static int fail(const char *path, const char *message, struct error *error)
{
    return error_set_at(error, ERROR_CONFIG, path, 0, "%s", message);
}

/* The text after "'key':" in the header's dictionary, or NULL. */
static const char *find_key(const char *header, const char *key)
{
    char quoted[32];
    (void)snprintf(quoted, sizeof quoted, "'%s':", key);
    const char *found = strstr(header, quoted);
    if (found == NULL)
        return NULL;
    found += strlen(quoted);
    return found + strspn(found, " ");
}

/* "'<f4'" */
static int read_type(const char *path, const char *header, enum element_type *type,
                     struct error *error)
{
    static const struct {
        const char *code;
        enum element_type type;
    } types[] = {
        {"'<f2'", ELEMENT_HALF},   {"'<f4'", ELEMENT_FLOAT},  {"'<f8'", ELEMENT_DOUBLE},
        {"'|i1'", ELEMENT_INT8},   {"'<i2'", ELEMENT_INT16},  {"'<i4'", ELEMENT_INT32},
        {"'<i8'", ELEMENT_INT64},  {"'|u1'", ELEMENT_UINT8},  {"'<u2'", ELEMENT_UINT16},
        {"'<u4'", ELEMENT_UINT32}, {"'<u8'", ELEMENT_UINT64}, {"'|b1'", ELEMENT_UINT8},
    };
    const char *text = find_key(header, "descr");
    for (size_t i = 0; text != NULL && i < sizeof types / sizeof *types; i++) {
        if (strncmp(text, types[i].code, strlen(types[i].code)) == 0) {
            *type = types[i].type;
            return 0;
        }
    }
    return fail(path, "buffers cannot have the array's element type; convert it with astype",
                error);
}

/* "(3, 4)", "(5,)", "()" */
static int read_shape(const char *path, const char *header, size_t *count, struct error *error)
{
    const char *text = find_key(header, "shape");
    *count = 1;
    if (text == NULL || *text != '(')
        return fail(path, "header has no shape", error);
    text++;
    for (int dimension = 0; dimension <= DIMENSION_LIMIT; dimension++) {
        text += strspn(text, " ,");
        if (*text == ')')
            return 0;
        char *end;
        errno = 0;
        unsigned long long extent = strtoull(text, &end, 10);
        if (end == text || *text == '-' || errno != 0 ||
            __builtin_mul_overflow(*count, (size_t)extent, count))
            break;
        text = end;
    }
    return fail(path, "header's shape is malformed or too large", error);
}

static int read_header(const char *path, const char *header, struct npy *npy, struct error *error)
{
    const char *order = find_key(header, "fortran_order");
    if (order == NULL || strncmp(order, "False", 5) != 0)
        return fail(path, "array is not in C order; convert it with numpy.ascontiguousarray",
                    error);
    int status = read_type(path, header, &npy->type, error);
    return status != 0 ? status : read_shape(path, header, &npy->count, error);
}

/* Reads the magic number, the version and the length of the header that follows. */
static int read_preamble(const char *path, FILE *file, size_t *header_bytes, struct error *error)
{
    unsigned char preamble[12];
    size_t version_one = 10;
    if (fread(preamble, 1, version_one, file) != version_one ||
        memcmp(preamble, "\x93NUMPY", 6) != 0 || preamble[6] < 1 || preamble[6] > 3)
        return fail(path, "file is not an .npy array of version 1 to 3", error);
    *header_bytes = (size_t)preamble[8] | (size_t)preamble[9] << 8;
    if (preamble[6] > 1) {
        if (fread(preamble + version_one, 1, 2, file) != 2)
            return fail(path, "file ends within its header", error);
        *header_bytes |= (size_t)preamble[10] << 16 | (size_t)preamble[11] << 24;
    }
    if (*header_bytes > HEADER_LIMIT)
        return fail(path, "header is longer than 64 KiB", error);
    return 0;
}

/* Finds out whether the data that follows is there. */
static int check_data(const char *path, FILE *file, const struct npy *npy, size_t *bytes,
                      struct error *error)
{
    long start = ftell(file);
    if (__builtin_mul_overflow(npy->count, element_bytes(npy->type), bytes) ||
        *bytes > (size_t)INT64_MAX)
        return fail(path, "array is too large", error);
    if (start < 0 || fseek(file, 0, SEEK_END) != 0 || ftell(file) - start < (long)*bytes ||
        fseek(file, start, SEEK_SET) != 0)
        return fail(path, "file is shorter than its array", error);
    return 0;
}

static int read_data(const char *path, FILE *file, struct npy *npy, size_t bytes,
                     struct error *error)
{
    npy->data = alloc_zeroed(bytes, 1);
    if (fread(npy->data, 1, bytes, file) != bytes)
        return fail(path, "file is shorter than its array", error);
    return 0;
}

static int load(struct npy *npy, const char *path, bool with_data, struct error *error)
{
    char *header = NULL;
    size_t header_bytes = 0;
    size_t bytes = 0;
    *npy = (struct npy){0};
    FILE *file = open_regular(path);
    if (file == NULL)
        return error_set_at(error, ERROR_CONFIG, path, 0, "cannot open the file: %s",
                            error_reason(errno));
    int status = read_preamble(path, file, &header_bytes, error);
    if (status == 0) {
        header = alloc_zeroed(header_bytes + 1, 1);
        if (fread(header, 1, header_bytes, file) != header_bytes)
            status = fail(path, "file ends within its header", error);
    }
    if (status == 0)
        status = read_header(path, header, npy, error);
    if (status == 0)
        status = check_data(path, file, npy, &bytes, error);
    if (status == 0 && with_data)
        status = read_data(path, file, npy, bytes, error);
    free(header);
    (void)fclose(file); /* cannot lose data: the file was only read */
    if (status != 0)
        npy_release(npy);
    return status;
}

int npy_read(struct npy *npy, const char *path, struct error *error)
{
    return load(npy, path, true, error);
}

int npy_describe(struct npy *npy, const char *path, struct error *error)
{
    return load(npy, path, false, error);
}

void npy_release(struct npy *npy)
{
    free(npy->data);
    *npy = (struct npy){0};
}
