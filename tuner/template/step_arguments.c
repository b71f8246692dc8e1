#include "template/launch_plan.h"

#include "base/alloc.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The launch whose arguments are evaluated. After the first failure, everything here does nothing. */
struct reading {
    const struct template *template;
    const struct launch *launch;
    struct evaluation values;
};

static void fail(struct reading *reading, const struct argument *argument, const char *reason)
{
    if (reading->values.status == 0)
        reading->values.status =
            error_set_at(reading->values.error, ERROR_CONFIG, reading->template->path,
                         reading->launch->lines.arguments, "argument '%s' of launch '%s' %s",
                         expression_text(argument->expression), reading->launch->name, reason);
}

/* A whole number from 1 on; `what` is "a texture's width". */
static uint64_t read_extent(struct reading *reading, const struct expression *expression,
                            const char *what, int64_t most)
{
    return (uint64_t)evaluate_extent(&reading->values, expression, 1, 1, most, what,
                                     reading->launch);
}

/* --- buffers --- */

static size_t read_buffer(struct reading *reading, const struct argument *argument)
{
    const struct template *template = reading->template;
    struct value value = evaluate_value(&reading->values, argument->expression, value_integer(0));
    if (value.kind != VALUE_WORD) {
        fail(reading, argument, "is not a buffer");
        return 0;
    }
    size_t result = template_result(template, reading->launch, value.as.word);
    if (result < template->expectation_count)
        return template->buffer_count + result;
    if (reading->launch->counts && strcmp(value.as.word, "wrong") == 0)
        return STEP_WRONG;
    size_t index = template_buffer(template, value.as.word);
    if (index < template->buffer_count)
        return index;
    fail(reading, argument, "is not a buffer");
    return 0;
}

/* The same, but "null" is a buffer, too. */
static size_t read_address(struct reading *reading, const struct argument *argument)
{
    struct value value = evaluate_value(&reading->values, argument->expression, value_integer(0));
    bool is_null = value.kind == VALUE_WORD && strcmp(value.as.word, "null") == 0;
    return is_null ? STEP_NULL : read_buffer(reading, argument);
}

static void read_pointers(struct reading *reading, const struct argument *argument,
                          struct step_argument *result)
{
    for (size_t i = 0; i < argument->field_count; i++) {
        const struct argument *field = &argument->fields[i];
        struct step_pointer *pointer = ARRAY_APPEND(result->pointers, result->pointer_count);
        pointer->buffer = read_buffer(reading, field);
        size_t components = pointer->buffer < reading->template->buffer_count
                                ? reading->template->buffers[pointer->buffer].components
                                : 1;
        if (field->part != NULL)
            pointer->part = read_extent(reading, field->part, "the part that a pointer points to",
                                        INT64_MAX / (int64_t)components) *
                            components;
    }
}

static void read_texture(struct reading *reading, const struct argument *argument,
                         struct step_argument *result)
{
    result->buffer = read_buffer(reading, argument);
    result->texture = argument->texture;
    if (argument->extents[0] == NULL)
        return;
    result->width = read_extent(reading, argument->extents[0], "a texture's width", INT32_MAX);
    result->height = read_extent(reading, argument->extents[1], "a texture's height", INT32_MAX);
}

/* --- tensor maps, within the limits of cuTensorMapEncodeTiled --- */

static const int64_t dimension_limit = INT64_C(1) << 32;
static const uint64_t stride_limit = UINT64_C(1) << 40;

enum { BOX_LIMIT = 256, TRAVERSAL_LIMIT = 8, ALIGNMENT = 16, L2_DEFAULT = 128 };

/* A number of `what` from 1 to `most`. */
static int64_t read_number(struct reading *reading, const struct expression *expression,
                           const char *what, int64_t most)
{
    int64_t number = evaluate_integer(&reading->values, expression, 1);
    if (number < 1 || number > most)
        evaluation_refuse(&reading->values, expression,
                          "a tensor map's %s must be 1 to %" PRId64 ", not %" PRId64, what, most,
                          number);
    return number;
}

/* One of four numbers of bytes, as `listed` says; `usual` if the template does not. */
static uint32_t read_choice(struct reading *reading, const struct expression *expression,
                            const char *listed, const int64_t choices[4], uint32_t usual)
{
    if (expression == NULL)
        return usual;
    int64_t number = evaluate_integer(&reading->values, expression, 1);
    for (size_t i = 0; i < 4; i++)
        if (number == choices[i])
            return (uint32_t)number;
    evaluation_refuse(&reading->values, expression, "a tensor map's %s bytes, not %" PRId64, listed,
                      number);
    return usual;
}

static void read_modes(struct reading *reading, const struct tensor_map_options *options,
                       struct tensor_map *map)
{
    static const int64_t swizzles[] = {0, 32, 64, 128};
    static const int64_t interleaves[] = {0, 16, 16, 32};
    static const int64_t fetches[] = {0, 64, 128, 256};
    map->swizzle =
        read_choice(reading, options->swizzle, "swizzle must be 0, 32, 64 or 128", swizzles, 0);
    map->interleave =
        read_choice(reading, options->interleave, "interleave must be 0, 16 or 32", interleaves, 0);
    map->l2 =
        read_choice(reading, options->l2, "l2 must be 0, 64, 128 or 256", fetches, L2_DEFAULT);
    if (map->interleave == 32 && map->swizzle != 32)
        evaluation_refuse(&reading->values, options->interleave,
                          "interleave(32) needs swizzle(32)");
    if (map->interleave != 0 && map->rank < 3)
        evaluation_refuse(&reading->values, options->interleave,
                          "a tensor map with interleave needs at least 3 dimensions");
    if (map->fill_nan && !element_is_floating(map->type))
        evaluation_refuse(&reading->values, options->dimensions[0],
                          "a tensor map of %s cannot be filled with NaN", element_name(map->type));
}

static void read_strides(struct reading *reading, const struct tensor_map_options *options,
                         struct tensor_map *map)
{
    uint64_t alignment = map->interleave == 32 ? 32 : ALIGNMENT;
    map->strides[0] = element_bytes(map->type);
    for (size_t i = 1; i < map->rank; i++) {
        const struct expression *stated = options->strides[i];
        const struct expression *blamed = stated != NULL ? stated : options->dimensions[i - 1];
        uint64_t *stride = &map->strides[i];
        if (stated != NULL)
            *stride = (uint64_t)read_number(reading, stated, "stride", (int64_t)stride_limit) *
                      element_bytes(map->type);
        else if (__builtin_mul_overflow(map->strides[i - 1], map->dimensions[i - 1], stride))
            *stride = stride_limit;
        if (*stride % alignment != 0)
            evaluation_refuse(&reading->values, blamed,
                              "a stride of the tensor map would take %" PRIu64
                              " bytes; it must be a multiple of %" PRIu64,
                              *stride, alignment);
        if (*stride >= stride_limit)
            evaluation_refuse(&reading->values, blamed,
                              "a stride of the tensor map would take 2^40 bytes");
    }
}

static void read_box(struct reading *reading, const struct tensor_map_options *options,
                     struct tensor_map *map)
{
    for (size_t i = 0; i < map->rank; i++) {
        map->box[i] = (uint32_t)read_number(reading, options->box[i], "box", BOX_LIMIT);
        map->steps[i] =
            options->steps[0] == NULL
                ? 1
                : (uint32_t)read_number(reading, options->steps[i], "step", TRAVERSAL_LIMIT);
    }
    size_t row = map->box[0] * element_bytes(map->type);
    if (map->interleave != 0)
        return;
    if (row % ALIGNMENT != 0)
        evaluation_refuse(
            &reading->values, options->box[0],
            "a row of the tensor map's box would take %zu bytes; it must be a multiple "
            "of %d",
            row, ALIGNMENT);
    if (map->swizzle != 0 && row > map->swizzle)
        evaluation_refuse(
            &reading->values, options->box[0],
            "a row of the tensor map's box would take %zu bytes, but swizzle(%u) allows "
            "at most %u",
            row, map->swizzle, map->swizzle);
}

static void read_tensor_map(struct reading *reading, const struct argument *argument,
                            struct step_argument *result)
{
    const struct tensor_map_options *options = argument->tensor_map;
    const struct scope *scope = reading->values.scope;
    enum element_type type = ELEMENT_FLOAT;
    int64_t capability;
    result->buffer = read_buffer(reading, argument);
    if (scope_integer(scope, "compute_capability", &capability) && capability < 90)
        fail(reading, argument, "is a tensor map, which needs compute capability 9.0 or newer");
    if (reading->values.status == 0)
        reading->values.status = template_element_type(
            reading->template->buffers[result->buffer].type, scope, &type, reading->values.error);
    if (reading->values.status != 0)
        return;
    struct tensor_map *map = result->tensor_map = alloc_zeroed(1, sizeof *map);
    *map = (struct tensor_map){.type = type, .rank = options->rank, .fill_nan = options->fill_nan};
    read_modes(reading, options, map);
    for (size_t i = 0; i < map->rank; i++)
        map->dimensions[i] =
            (uint64_t)read_number(reading, options->dimensions[i], "dimension", dimension_limit);
    read_strides(reading, options, map);
    read_box(reading, options, map);
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

/* --- values --- */

static void read_scalar(struct reading *reading, const struct argument *argument,
                        unsigned char *bytes)
{
    bool floating = element_is_floating(argument->type);
    const struct expression *expression = argument->expression;
    double real = floating ? evaluate_real(&reading->values, expression, 0) : 0;
    int64_t integer = argument->is_condition ? evaluate_boolean(&reading->values, expression, false)
                      : floating             ? 0
                                             : evaluate_integer(&reading->values, expression, 0);
    char reason[96];
    bool fits = element_store(argument->type, integer, real, bytes) &&
                !(floating && !element_is_finite(argument->type, bytes));
    if (floating)
        (void)snprintf(reason, sizeof reason, "does not fit %s: %g", element_name(argument->type),
                       isnan(real) ? (double)NAN : real);
    else
        (void)snprintf(reason, sizeof reason, "does not fit %s: %" PRId64,
                       element_name(argument->type), integer);
    if (!fits)
        fail(reading, argument, reason);
}

/* What `index` is, in front of another scope. */
struct index_scope {
    struct binding item;
    struct bindings bindings;
    struct scope scope;
};

/* The scope of an argument that may be one of several elements. */
static const struct scope *bind_index(const struct argument *argument, const struct scope *outer,
                                      struct index_scope *index)
{
    static char name[] = "index";
    if (argument->number == 0)
        return outer;
    index->item = (struct binding){name, value_integer((int64_t)argument->number - 1)};
    index->bindings = (struct bindings){&index->item, 1};
    index->scope = (struct scope){&index->bindings, outer};
    return &index->scope;
}

/* A scalar, an address, a struct or an array, which is at `offset` of the whole argument. */
/* NOLINTNEXTLINE(misc-no-recursion): structs nest to a limited depth */
static void read_member(struct reading *reading, const struct argument *argument, size_t offset,
                        struct step_argument *whole)
{
    const struct scope *outer = reading->values.scope;
    struct index_scope index;
    reading->values.scope = bind_index(argument, outer, &index);
    if (argument->kind == ARGUMENT_SCALAR) {
        read_scalar(reading, argument, whole->bytes + offset);
    } else if (argument->kind == ARGUMENT_BUFFER) {
        struct step_pointer *pointer = ARRAY_APPEND(whole->pointers, whole->pointer_count);
        *pointer = (struct step_pointer){.buffer = read_address(reading, argument)};
        pointer->offset = offset;
    }
    reading->values.scope = outer;
    for (size_t i = 0; i < argument->field_count; i++)
        read_member(reading, &argument->fields[i], offset + argument->fields[i].offset, whole);
}

static void read_argument(struct reading *reading, const struct argument *argument,
                          struct step_argument *result)
{
    result->kind = argument->kind;
    result->size = argument->bytes;
    result->bytes = alloc_zeroed(1, result->size);
    switch (argument->kind) {
    case ARGUMENT_SCALAR:
    case ARGUMENT_STRUCT:
    case ARGUMENT_ARRAY:
        read_member(reading, argument, 0, result);
        break;
    case ARGUMENT_BUFFER:
        result->buffer = read_address(reading, argument);
        break;
    case ARGUMENT_POINTERS:
        read_pointers(reading, argument, result);
        break;
    case ARGUMENT_TEXTURE:
        read_texture(reading, argument, result);
        break;
    case ARGUMENT_TENSOR_MAP:
        read_tensor_map(reading, argument, result);
        break;
    }
}

int step_arguments_read(struct step_argument **arguments, const struct launch *launch,
                        const struct template *template, const struct scope *scope,
                        struct error *error)
{
    struct reading reading = {template, launch, {scope, error, 0}};
    *arguments = alloc_zeroed(launch->argument_count, sizeof **arguments);
    for (size_t i = 0; i < launch->argument_count && reading.values.status == 0; i++)
        read_argument(&reading, &launch->arguments[i], &(*arguments)[i]);
    return reading.values.status;
}

void step_arguments_release(struct step_argument *arguments, size_t count)
{
    for (size_t i = 0; arguments != NULL && i < count; i++) {
        free(arguments[i].tensor_map);
        free(arguments[i].pointers);
        free(arguments[i].bytes);
    }
    free(arguments);
}

int step_argument_scalar(const struct template *template, const struct launch *launch,
                         const struct argument *argument, const struct scope *scope,
                         unsigned char *bytes, struct error *error)
{
    struct index_scope index;
    struct reading reading = {template, launch, {bind_index(argument, scope, &index), error, 0}};
    read_scalar(&reading, argument, bytes);
    return reading.values.status;
}
