#include "template/fill.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "base/read_file.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static uint64_t key_of(const struct fill *fill, int64_t seed, uint64_t data_set)
{
    char digits[HASH_BYTES];
    struct hash *hash = hash_new();
    hash_add(hash, &data_set, sizeof data_set);
    if (fill->argument_count > 2)
        hash_add(hash, &seed, sizeof seed);
    else
        hash_add_text(hash, fill->buffer);
    hash_finish(hash, digits);
    digits[16] = '\0'; /* 64 bits */
    return strtoull(digits, NULL, 16);
}

/* Integers beyond 2^53 stay exact: doubles only hold the differences from the first number. */
static void take_whole(const struct fill *fill, struct evaluation *evaluation,
                       struct fill_numbers *numbers)
{
    struct value first = evaluate_value(evaluation, fill->arguments[0], value_integer(0));
    struct value second = evaluate_value(evaluation, fill->arguments[1], value_integer(0));
    if (first.kind != VALUE_INTEGER || second.kind != VALUE_INTEGER)
        return;
    numbers->whole = first.as.integer;
    numbers->a = 0;
    if (fill->kind == FILL_INTEGERS)
        numbers->b = (double)((long double)second.as.integer - (long double)numbers->whole);
}

int fill_read_numbers(const struct fill *fill, enum element_type type, uint64_t data_set,
                      const struct scope *scope, struct fill_numbers *numbers, struct error *error)
{
    bool converted =
        fill->kind == FILL_UNIFORM || fill->kind == FILL_NORMAL; /* from real numbers */
    struct evaluation evaluation = {scope, error, 0};
    *numbers = (struct fill_numbers){.a = evaluate_real(&evaluation, fill->arguments[0], 0),
                                     .b = evaluate_real(&evaluation, fill->arguments[1], 0)};
    if (!isfinite(fill->special))
        numbers->a = fill->special;
    int64_t seed = evaluate_integer(&evaluation, fill->arguments[2], 0);
    numbers->key = key_of(fill, seed, data_set);
    if (!converted && !element_is_floating(type))
        take_whole(fill, &evaluation, numbers);
    return evaluation.status;
}

bool fill_has_numbers(const struct fill *fill)
{
    return fill->kind != FILL_NONE && fill->kind != FILL_FILE && fill->kind != FILL_KERNEL;
}

int fill_read_border(const struct fill *fill, const struct scope *scope, uint64_t length,
                     struct fill_border *border, struct error *error)
{
    struct evaluation evaluation = {scope, error, 0};
    uint64_t elements = 1;
    bool fits = true;
    *border = (struct fill_border){.extents = {1, 1, 1}, .dimensions = fill->shape_count};
    if (fill->border == NULL)
        return 0;
    int64_t width = evaluate_integer(&evaluation, fill->border, 0);
    if (width < 0)
        evaluation_refuse(&evaluation, fill->border, "a border's width must be 0 or more");
    border->width = (uint64_t)width;
    for (size_t i = 0; i < fill->shape_count; i++) {
        int64_t extent = evaluate_integer(&evaluation, fill->shape[i], 1);
        if (extent < 1)
            evaluation_refuse(&evaluation, fill->shape[i], "an extent must be 1 or more");
        border->extents[i] = (uint64_t)extent;
        fits = fits && !__builtin_mul_overflow(elements, border->extents[i], &elements);
    }
    if (fill->shape_count == 0) {
        border->extents[0] = length;
        border->dimensions = 1;
    } else if (!fits || elements != length) {
        evaluation_refuse(&evaluation, fill->shape[0],
                          "the border's shape is not that of a buffer of %" PRIu64 " elements",
                          length);
    }
    return evaluation.status;
}

static int check_array(const struct fill *fill, enum element_type type, uint64_t length,
                       const struct npy *npy, struct error *error)
{
    if (npy->type == type && npy->count == length)
        return 0;
    return error_set_at(error, ERROR_CONFIG, fill->path, 0,
                        "the file has %zu elements of type %s, the buffer %" PRIu64 " of type %s",
                        npy->count, element_name(npy->type), length, element_name(type));
}

/* --- the files of fills --- */

/* Reading larger files takes too long: of those, size and date tell whether they have changed. */
enum { LARGEST = 256 << 20 };

/* The hash of the file of `path`, or of an empty one if it is NULL or not regular. Reads it from its
 * beginning. Two large files may have one date. */
static void hash_file(FILE *file, const char *path, char digits[HASH_BYTES])
{
    struct stat status = {0};
    struct hash *hash = hash_new();
    if (file == NULL || fstat(fileno(file), &status) != 0)
        status = (struct stat){0};
    const int64_t size = status.st_size;
    const int64_t date[] = {status.st_mtim.tv_sec, status.st_mtim.tv_nsec};
    hash_add(hash, &size, sizeof size);
    if (size > LARGEST) {
        hash_add(hash, date, sizeof date);
        hash_add_text(hash, path);
    }
    if (size <= LARGEST && file != NULL && fseek(file, 0, SEEK_SET) == 0)
        (void)hash_add_file(hash, file);
    hash_finish(hash, digits);
}

/* The next fill from a file, of buffers and then of expected results, from number `*at` on; NULL: none. */
static struct fill *next_file(const struct template *template, size_t *at)
{
    while (*at < template->buffer_count + template->expectation_count) {
        size_t i = (*at)++;
        struct fill *fill = i < template->buffer_count
                                ? &template->buffers[i].fill
                                : &template->expectations[i - template->buffer_count].fill;
        if (fill->kind == FILL_FILE)
            return fill;
    }
    return NULL;
}

/* Of a large file, also the date that nobody can set, which a copy on another machine has not. */
static void hash_change(struct hash *hash, FILE *file)
{
    struct stat status;
    if (file == NULL || fstat(fileno(file), &status) != 0 || status.st_size <= LARGEST)
        return;
    const int64_t date[] = {status.st_ctim.tv_sec, status.st_ctim.tv_nsec};
    hash_add(hash, date, sizeof date);
}

json_t *fill_list_files(const struct template *template, char digits[HASH_BYTES])
{
    json_t *hashes = json_object();
    struct hash *all = hash_new();
    size_t at = 0;
    for (const struct fill *fill; (fill = next_file(template, &at)) != NULL;) {
        FILE *file = open_regular(fill->path);
        hash_file(file, fill->path, digits);
        hash_add(all, digits, HASH_BYTES);
        hash_change(all, file);
        json_object_set_new(hashes, fill->path, json_string(digits));
        if (file != NULL)
            (void)fclose(file);
    }
    hash_finish(all, digits);
    if (json_object_size(hashes) == 0)
        digits[0] = '\0';
    return hashes;
}

void fill_hash_scratch(struct template *template, struct hash *hash)
{
    for (size_t i = 0; i < template->buffer_count; i++) {
        struct fill *fill = &template->buffers[i].fill;
        if (template->buffers[i].access != ACCESS_SCRATCH || fill->kind != FILL_FILE)
            continue;
        FILE *file = open_regular(fill->path);
        if (file != NULL)
            (void)hash_add_file(hash, file);
        hash_file(file, fill->path, fill->hash);
        if (file != NULL)
            (void)fclose(file);
    }
}

int fill_expect_files(struct template *template, const json_t *hashes, struct error *error)
{
    size_t at = 0;
    for (struct fill *fill; (fill = next_file(template, &at)) != NULL;) {
        const char *hash = json_string_value(json_object_get(hashes, fill->path));
        if (hash == NULL || strlen(hash) != HASH_BYTES - 1)
            return error_set(error, ERROR_WORKER, "no hash of '%s' has been sent", fill->path);
        memcpy(fill->hash, hash, HASH_BYTES);
    }
    return 0;
}

static int npy_load(struct npy *npy, FILE *file, const char *path, bool with_data,
                    struct error *error);

int fill_read_file(const struct fill *fill, enum element_type type, uint64_t length,
                   struct npy *npy, struct error *error)
{
    char digits[HASH_BYTES] = "";
    FILE *file = fill->hash[0] != '\0' ? open_regular(fill->hash) : NULL; /* a copy */
    if (file == NULL)
        file = open_regular(fill->path);
    int status = npy_load(npy, file, fill->path, true, error);
    if (file != NULL && fill->hash[0] != '\0')
        hash_file(file, fill->path, digits); /* of what was just read */
    if (file != NULL)
        (void)fclose(file); /* cannot lose data: the file was only read */
    if (strcmp(digits, fill->hash) != 0 && file != NULL)
        status = error_set_at(error, ERROR_CONFIG, fill->path, 0,
                              "the file has changed since the run started; run again");
    if (status == 0)
        status = check_array(fill, type, length, npy, error);
    if (status != 0)
        npy_release(npy);
    return status;
}

int fill_check_file(const struct fill *fill, enum element_type type, uint64_t length,
                    struct error *error)
{
    struct npy npy;
    int status = npy_read(&npy, fill->path, false, error);
    return status != 0 ? status : check_array(fill, type, length, &npy, error);
}

/* The sum of twelve uniform numbers, less 6, as in device_kernels.cu */
static double nearly_normal(uint64_t state)
{
    int64_t sum = 6 - 6 * (INT64_C(1) << 21);
    for (int i = 0; i < 4; i++) {
        state = hash_mix(state);
        sum += (int64_t)((state & 0x1fffff) + (state >> 21 & 0x1fffff) + (state >> 42 & 0x1fffff));
    }
    return (double)sum * 0x1p-21;
}

/* half and bfloat16 are rounded to float first */
static void store_real(enum element_type type, double x, unsigned char *slot)
{
    (void)element_store(type, 0, type == ELEMENT_DOUBLE ? x : (double)(float)x, slot);
}

/* What is left of x in an element of `type`. */
static double kept(enum element_type type, double x)
{
    unsigned char slot[sizeof x];
    if (!element_is_floating(type))
        return trunc(x);
    store_real(type, x, slot);
    return element_real(type, slot);
}

/* Element i. With fma(), because the GPU's compiler contracts multiplications and additions. */
static double number_of(enum fill_kind kind, enum element_type type,
                        const struct fill_numbers *numbers, uint64_t i)
{
    uint64_t state = numbers->key ^ hash_mix(i);
    double unit = (double)(hash_mix(state) >> 11) * 0x1p-53; /* [0, 1) */
    double a = numbers->a;
    double b = numbers->b;
    double x = fma(b - a, unit, a);
    switch (kind) {
    case FILL_COUNTING:
        return fma(b, (double)i, a);
    case FILL_NORMAL:
        return fma(b, nearly_normal(state), a);
    case FILL_UNIFORM:
        return a < b && kept(type, x) >= b ? a : x;
    case FILL_INTEGERS:
        return a + floor((b - a + 1) * unit);
    default:
        return a;
    }
}

/* Converts to 64 bits as the GPU does: rounds towards zero, saturates, and turns NaN into
 * INT64_MIN. Only UINT64 can represent 2^63 and above. */
static uint64_t to_integer(enum element_type type, double x)
{
    if (type == ELEMENT_UINT64 && x >= 0)
        return x < 0x1p64 ? (uint64_t)x : UINT64_MAX;
    return (uint64_t)(x >= 0x1p63 ? INT64_MAX : x >= -0x1p63 ? (int64_t)x : INT64_MIN);
}

static void store(enum element_type type, double x, int64_t whole, unsigned char *slot)
{
    uint64_t integer = (uint64_t)whole + to_integer(type, x);
    if (element_is_floating(type))
        store_real(type, x, slot);
    else
        memcpy(slot, &integer, element_bytes(type)); /* CUDA hosts are little-endian */
}

/* As in device_kernels.cu. */
static bool in_border(const struct fill_border *border, uint64_t i)
{
    bool is = false;
    for (size_t d = 0; d < border->dimensions; d++) {
        uint64_t place = i % border->extents[d];
        is = is || place < border->width || border->extents[d] - 1 - place < border->width;
        i /= border->extents[d];
    }
    return is;
}

static int fill_whole(const struct fill *fill, const struct scope *scope, enum element_type type,
                      uint64_t length, void *elements, struct error *error)
{
    size_t bytes = element_bytes(type);
    struct fill_numbers numbers;
    struct npy npy;
    if (fill->kind == FILL_NONE) {
        memset(elements, element_poison(type), length * bytes);
        return 0;
    }
    if (fill->kind == FILL_FILE) {
        int status = fill_read_file(fill, type, length, &npy, error);
        if (status != 0)
            return status;
        if (npy.data != NULL)
            memcpy(elements, npy.data, length * bytes);
        npy_release(&npy);
        return 0;
    }
    int status = fill_read_numbers(fill, type, FILL_USUAL_DATA, scope, &numbers, error);
    for (uint64_t i = 0; i < length && status == 0; i++)
        store(type, number_of(fill->kind, type, &numbers, i), numbers.whole,
              (unsigned char *)elements + i * bytes);
    return status;
}

int fill_elements(const struct fill *fill, const struct scope *scope, enum element_type type,
                  uint64_t length, void *elements, struct error *error)
{
    size_t bytes = element_bytes(type);
    struct fill_border border;
    int status = fill_whole(fill, scope, type, length, elements, error);
    if (status == 0)
        status = fill_read_border(fill, scope, length, &border, error);
    for (uint64_t i = 0; i < length && status == 0 && border.width > 0; i++)
        if (in_border(&border, i))
            memset((unsigned char *)elements + i * bytes, 0, bytes);
    return status;
}

/* --- .npy files --- */

enum { HEADER_LIMIT = 64 * 1024, DIMENSION_LIMIT = 32 };

static int npy_fail(const char *path, const char *message, struct error *error)
{
    return error_set_at(error, ERROR_CONFIG, path, 0, "%s", message);
}

/* The text after "'key':" in the header's dictionary, or NULL. */
static const char *find_npy_key(const char *header, const char *key)
{
    char quoted[32];
    (void)snprintf(quoted, sizeof quoted, "'%s':", key);
    const char *found = strstr(header, quoted);
    if (found == NULL)
        return NULL;
    found += strlen(quoted);
    return found + strspn(found, " ");
}

/* The first of a type is how it is written. */
static const struct {
    const char *code;
    enum element_type type;
} npy_types[] = {
    {"'<f2'", ELEMENT_HALF},   {"'<f4'", ELEMENT_FLOAT},  {"'<f8'", ELEMENT_DOUBLE},
    {"'|i1'", ELEMENT_INT8},   {"'<i2'", ELEMENT_INT16},  {"'<i4'", ELEMENT_INT32},
    {"'<i8'", ELEMENT_INT64},  {"'|u1'", ELEMENT_UINT8},  {"'<u2'", ELEMENT_UINT16},
    {"'<u4'", ELEMENT_UINT32}, {"'<u8'", ELEMENT_UINT64}, {"'|b1'", ELEMENT_UINT8},
};

/* "'<f4'" */
static int read_npy_type(const char *path, const char *header, enum element_type *type,
                         struct error *error)
{
    const char *text = find_npy_key(header, "descr");
    for (size_t i = 0; text != NULL && i < sizeof npy_types / sizeof *npy_types; i++) {
        if (strncmp(text, npy_types[i].code, strlen(npy_types[i].code)) == 0) {
            *type = npy_types[i].type;
            return 0;
        }
    }
    return npy_fail(path, "buffers cannot have the array's element type; convert it with astype",
                    error);
}

/* "(3, 4)", "(5,)", "()" */
static int read_npy_shape(const char *path, const char *header, size_t *count, struct error *error)
{
    const char *text = find_npy_key(header, "shape");
    *count = 1;
    if (text == NULL || *text != '(')
        return npy_fail(path, "header has no shape", error);
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
    return npy_fail(path, "header's shape is malformed or too large", error);
}

static int read_npy_header(const char *path, const char *header, struct npy *npy,
                           struct error *error)
{
    const char *order = find_npy_key(header, "fortran_order");
    if (order == NULL || strncmp(order, "False", 5) != 0)
        return npy_fail(path, "array is not in C order; convert it with numpy.ascontiguousarray",
                        error);
    int status = read_npy_type(path, header, &npy->type, error);
    return status != 0 ? status : read_npy_shape(path, header, &npy->count, error);
}

/* Reads the magic number, the version and the length of the header that follows. */
static int read_npy_preamble(const char *path, FILE *file, size_t *header_bytes,
                             struct error *error)
{
    unsigned char preamble[12];
    size_t version_one = 10;
    if (fread(preamble, 1, version_one, file) != version_one ||
        memcmp(preamble, "\x93NUMPY", 6) != 0 || preamble[6] < 1 || preamble[6] > 3)
        return npy_fail(path, "file is not an .npy array of version 1 to 3", error);
    *header_bytes = (size_t)preamble[8] | (size_t)preamble[9] << 8;
    if (preamble[6] > 1) {
        if (fread(preamble + version_one, 1, 2, file) != 2)
            return npy_fail(path, "file ends within its header", error);
        *header_bytes |= (size_t)preamble[10] << 16 | (size_t)preamble[11] << 24;
    }
    if (*header_bytes > HEADER_LIMIT)
        return npy_fail(path, "header is longer than 64 KiB", error);
    return 0;
}

/* Finds out whether the data that follows is there. */
static int check_npy_data(const char *path, FILE *file, const struct npy *npy, size_t *bytes,
                          struct error *error)
{
    long start = ftell(file);
    if (__builtin_mul_overflow(npy->count, element_bytes(npy->type), bytes) ||
        *bytes > (size_t)INT64_MAX)
        return npy_fail(path, "array is too large", error);
    if (start < 0 || fseek(file, 0, SEEK_END) != 0 || ftell(file) - start < (long)*bytes ||
        fseek(file, start, SEEK_SET) != 0)
        return npy_fail(path, "file is shorter than its array", error);
    return 0;
}

static int npy_load(struct npy *npy, FILE *file, const char *path, bool with_data,
                    struct error *error)
{
    char *header = NULL;
    size_t header_bytes = 0;
    size_t bytes = 0;
    *npy = (struct npy){0};
    if (file == NULL)
        return error_set_at(error, ERROR_CONFIG, path, 0, "cannot open the file: %s",
                            error_reason(errno));
    int status = read_npy_preamble(path, file, &header_bytes, error);
    if (status == 0) {
        header = alloc_zeroed(header_bytes + 1, 1);
        if (fread(header, 1, header_bytes, file) != header_bytes)
            status = npy_fail(path, "file ends within its header", error);
    }
    if (status == 0)
        status = read_npy_header(path, header, npy, error);
    if (status == 0)
        status = check_npy_data(path, file, npy, &bytes, error);
    if (status == 0 && with_data) {
        npy->data = alloc_zeroed(bytes, 1);
        if (fread(npy->data, 1, bytes, file) != bytes)
            status = npy_fail(path, "file is shorter than its array", error);
    }
    free(header);
    if (status != 0)
        npy_release(npy);
    return status;
}

int npy_read(struct npy *npy, const char *path, bool with_data, struct error *error)
{
    FILE *file = open_regular(path);
    int status = npy_load(npy, file, path, with_data, error);
    if (file != NULL)
        (void)fclose(file); /* cannot lose data: the file was only read */
    return status;
}

void npy_release(struct npy *npy)
{
    free(npy->data);
    *npy = (struct npy){0};
}

int npy_write(const struct npy *npy, const char *path, struct error *error)
{
    enum { HEADER = 128 }; /* with the magic, the version and the length */
    enum element_type type = npy->type == ELEMENT_BFLOAT16 ? ELEMENT_UINT16 : npy->type;
    char header[HEADER + 1];
    size_t code = 0;
    while (npy_types[code].type != type)
        code++;
    int length = snprintf(header, sizeof header,
                          "\x93NUMPY\x01%c%c%c{'descr': %s, 'fortran_order': False, 'shape': "
                          "(%zu,), }",
                          0, HEADER - 10, 0, npy_types[code].code, npy->count);
    memset(header + length, ' ', (size_t)(HEADER - length));
    header[HEADER - 1] = '\n';
    FILE *file = fopen(path, "wb");
    bool written = file != NULL && fwrite(header, HEADER, 1, file) == 1 &&
                   fwrite(npy->data, element_bytes(type), npy->count, file) == npy->count;
    if (file != NULL && fclose(file) != 0)
        written = false;
    return written ? 0 : npy_fail(path, strerror(errno), error);
}
