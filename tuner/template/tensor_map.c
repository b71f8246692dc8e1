#include "template/tensor_map.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BOX_LIMIT = 256, STEP_LIMIT = 8, ALIGNMENT = 16, L2_DEFAULT = 128 };

static const int64_t dimension_limit = INT64_C(1) << 32;
static const uint64_t stride_limit = UINT64_C(1) << 40;

static void free_all(struct expression *const expressions[TENSOR_RANK])
{
    for (size_t i = 0; i < TENSOR_RANK; i++)
        expression_free(expressions[i]);
}

void tensor_map_options_free(struct tensor_map_options *options)
{
    if (options == NULL)
        return;
    free_all(options->dimensions);
    free_all(options->box);
    free_all(options->strides);
    free_all(options->steps);
    expression_free(options->swizzle);
    expression_free(options->interleave);
    expression_free(options->l2);
    free(options);
}

/* What one tensor_map_read() works on. */
struct reading {
    struct tensor_map *map;
    const struct tensor_map_options *options;
    const struct scope *scope;
    struct error *error;
};

static int refuse(const struct reading *reading, const struct expression *expression,
                  const char *format, ...) __attribute__((format(printf, 3, 4)));

static int refuse(const struct reading *reading, const struct expression *expression,
                  const char *format, ...)
{
    char reason[192];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(reason, sizeof reason, format, arguments);
    va_end(arguments);
    return expression_refuse(expression, reading->scope, reason, reading->error);
}

/* A number of `what` from 1 to `most`. */
static int read_number(const struct reading *reading, const struct expression *expression,
                       const char *what, int64_t most, int64_t *number)
{
    int status = expression_integer(expression, reading->scope, number, reading->error);
    if (status == 0 && (*number < 1 || *number > most))
        status =
            refuse(reading, expression, "a tensor map's %s must be 1 to %" PRId64 ", not %" PRId64,
                   what, most, *number);
    return status;
}

/* One of four numbers of bytes, as `listed` says. */
static int read_choice(const struct reading *reading, const struct expression *expression,
                       const char *listed, const int64_t choices[4], uint32_t *choice)
{
    int64_t number = 0;
    if (expression == NULL)
        return 0;
    int status = expression_integer(expression, reading->scope, &number, reading->error);
    for (size_t i = 0; i < 4 && status == 0; i++)
        if (number == choices[i]) {
            *choice = (uint32_t)number;
            return 0;
        }
    return status != 0 ? status
                       : refuse(reading, expression, "a tensor map's %s bytes, not %" PRId64,
                                listed, number);
}

static int read_modes(const struct reading *reading)
{
    static const int64_t swizzles[] = {0, 32, 64, 128};
    static const int64_t interleaves[] = {0, 16, 16, 32};
    static const int64_t fetches[] = {0, 64, 128, 256};
    const struct tensor_map_options *options = reading->options;
    struct tensor_map *map = reading->map;
    int status = read_choice(reading, options->swizzle, "swizzle must be 0, 32, 64 or 128",
                             swizzles, &map->swizzle);
    if (status == 0)
        status = read_choice(reading, options->interleave, "interleave must be 0, 16 or 32",
                             interleaves, &map->interleave);
    if (status == 0)
        status =
            read_choice(reading, options->l2, "l2 must be 0, 64, 128 or 256", fetches, &map->l2);
    if (status == 0 && map->interleave == 32 && map->swizzle != 32)
        status = refuse(reading, options->interleave, "interleave(32) needs swizzle(32)");
    if (status == 0 && map->interleave != 0 && map->rank < 3)
        status = refuse(reading, options->interleave,
                        "a tensor map with interleave needs at least 3 dimensions");
    if (status == 0 && map->fill_nan && !element_is_floating(map->type))
        status = refuse(reading, options->dimensions[0],
                        "a tensor map of %s cannot be filled with NaN", element_name(map->type));
    return status;
}

static int read_dimensions(const struct reading *reading)
{
    struct tensor_map *map = reading->map;
    for (size_t i = 0; i < map->rank; i++) {
        int64_t number = 0;
        int status = read_number(reading, reading->options->dimensions[i], "dimension",
                                 dimension_limit, &number);
        if (status != 0)
            return status;
        map->dimensions[i] = (uint64_t)number;
    }
    return 0;
}

/* Sets the stride of dimension `i`, in bytes, and the expression to blame for it. */
static int read_stride(const struct reading *reading, size_t i, const struct expression **blamed)
{
    struct tensor_map *map = reading->map;
    int64_t elements = 0;
    *blamed = reading->options->strides[i];
    if (*blamed == NULL) {
        *blamed = reading->options->dimensions[i - 1];
        if (__builtin_mul_overflow(map->strides[i - 1], map->dimensions[i - 1], &map->strides[i]))
            map->strides[i] = stride_limit;
        return 0;
    }
    int status = read_number(reading, *blamed, "stride", (int64_t)stride_limit, &elements);
    map->strides[i] = (uint64_t)elements * element_bytes(map->type);
    return status;
}

static int read_strides(const struct reading *reading)
{
    struct tensor_map *map = reading->map;
    uint64_t alignment = map->interleave == 32 ? 32 : ALIGNMENT;
    map->strides[0] = element_bytes(map->type);
    for (size_t i = 1; i < map->rank; i++) {
        const struct expression *blamed;
        int status = read_stride(reading, i, &blamed);
        if (status != 0)
            return status;
        if (map->strides[i] % alignment != 0)
            return refuse(reading, blamed,
                          "a stride of the tensor map would take %" PRIu64
                          " bytes; it must be a multiple of %" PRIu64,
                          map->strides[i], alignment);
        if (map->strides[i] >= stride_limit)
            return refuse(reading, blamed, "a stride of the tensor map would take 2^40 bytes");
    }
    return 0;
}

static int read_box(const struct reading *reading)
{
    struct tensor_map *map = reading->map;
    for (size_t i = 0; i < map->rank; i++) {
        int64_t box = 0;
        int64_t step = 1;
        int status = read_number(reading, reading->options->box[i], "box", BOX_LIMIT, &box);
        if (status == 0 && reading->options->steps[0] != NULL)
            status = read_number(reading, reading->options->steps[i], "step", STEP_LIMIT, &step);
        if (status != 0)
            return status;
        map->box[i] = (uint32_t)box;
        map->steps[i] = (uint32_t)step;
    }
    size_t row = map->box[0] * element_bytes(map->type);
    if (map->interleave != 0)
        return 0;
    if (row % ALIGNMENT != 0)
        return refuse(reading, reading->options->box[0],
                      "a row of the tensor map's box would take %zu bytes; it must be a multiple "
                      "of %d",
                      row, ALIGNMENT);
    if (map->swizzle != 0 && row > map->swizzle)
        return refuse(reading, reading->options->box[0],
                      "a row of the tensor map's box would take %zu bytes, but swizzle(%u) allows "
                      "at most %u",
                      row, map->swizzle, map->swizzle);
    return 0;
}

int tensor_map_read(struct tensor_map *map, const struct tensor_map_options *options,
                    enum element_type type, const struct scope *scope, struct error *error)
{
    const struct reading reading = {map, options, scope, error};
    *map = (struct tensor_map){
        .type = type, .rank = options->rank, .l2 = L2_DEFAULT, .fill_nan = options->fill_nan};
    int status = read_modes(&reading);
    if (status == 0)
        status = read_dimensions(&reading);
    if (status == 0)
        status = read_strides(&reading);
    return status == 0 ? read_box(&reading) : status;
}

uint64_t tensor_map_bytes(const struct tensor_map *map)
{
    uint64_t bytes = map->strides[0];
    for (size_t i = 0; i < map->rank; i++) {
        uint64_t reach;
        if (__builtin_mul_overflow(map->dimensions[i] - 1, map->strides[i], &reach) ||
            __builtin_add_overflow(bytes, reach, &bytes))
            return UINT64_MAX;
    }
    return bytes;
}
