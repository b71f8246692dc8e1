#include "template/fill.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Without a stated seed buffers would all hold the same numbers; the buffer's length tells them
 * apart little, so the default is one fixed number for all runs. */
enum { DEFAULT_SEED = 20250101 };

int fill_read_numbers(const struct fill *fill, const struct scope *scope,
                      struct fill_numbers *numbers, struct error *error)
{
    int64_t stated = DEFAULT_SEED;
    *numbers = (struct fill_numbers){0};
    int status = expression_real(fill->arguments[0], scope, &numbers->a, error);
    if (status == 0 && fill->argument_count > 1)
        status = expression_real(fill->arguments[1], scope, &numbers->b, error);
    if (status == 0 && fill->argument_count > 2)
        status = expression_integer(fill->arguments[2], scope, &stated, error);
    numbers->seed = (uint64_t)stated << 20; /* neighbouring seeds must not share their counters */
    return status;
}

int fill_read_file(const struct fill *fill, enum element_type type, uint64_t length,
                   struct npy *npy, struct error *error)
{
    int status = npy_read(npy, fill->path, error);
    if (status != 0 || (npy->type == type && npy->count == length))
        return status;
    status =
        error_set_at(error, ERROR_CONFIG, fill->path, 0,
                     "the file holds %zu elements of type %s, the buffer %" PRIu64 " of type %s",
                     npy->count, element_name(npy->type), length, element_name(type));
    npy_release(npy);
    return status;
}

/* splitmix64's finaliser (Steele, Lea and Flood 2014), as in device_kernels.cu */
static uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* Element i. The GPU's compiler contracts products and sums, hence fma(). */
static double number_of(enum fill_kind kind, const struct fill_numbers *numbers, uint64_t i)
{
    double unit = (double)(mix(numbers->seed + i) >> 11) * 0x1p-53; /* [0, 1) */
    double a = numbers->a;
    double b = numbers->b;
    switch (kind) {
    case FILL_COUNTING:
        return fma(b, (double)i, a);
    case FILL_UNIFORM:
        return fma(b - a, unit, a);
    case FILL_INTEGERS:
        return a + floor((b - a + 1) * unit);
    default:
        return a;
    }
}

/* To 64 bits as the GPU converts: towards zero, held at the ends, NaN as the least. Numbers from 2^63
 * on only fit without a sign. */
static uint64_t whole_of(enum element_type type, double x)
{
    if (type == ELEMENT_UINT64 && x >= 0)
        return x < 0x1p64 ? (uint64_t)x : UINT64_MAX;
    return (uint64_t)(x >= 0x1p63 ? INT64_MAX : x >= -0x1p63 ? (int64_t)x : INT64_MIN);
}

static void store(enum element_type type, double x, unsigned char *slot)
{
    if (element_is_floating(type)) /* the narrow ones by way of float */
        (void)element_store(type, 0, type == ELEMENT_DOUBLE ? x : (double)(float)x, slot);
    else {
        uint64_t whole = whole_of(type, x);
        memcpy(slot, &whole, element_bytes(type)); /* little-endian, as every CUDA host is */
    }
}

int fill_elements(const struct fill *fill, const struct scope *scope, enum element_type type,
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
        memcpy(elements, npy.data, length * bytes);
        npy_release(&npy);
        return 0;
    }
    int status = fill_read_numbers(fill, scope, &numbers, error);
    for (uint64_t i = 0; i < length && status == 0; i++)
        store(type, number_of(fill->kind, &numbers, i), (unsigned char *)elements + i * bytes);
    return status;
}
