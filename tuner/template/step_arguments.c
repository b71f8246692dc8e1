#include "template/launch_plan.h"

#include "base/alloc.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The launch whose arguments are evaluated. After the first failure, everything here does nothing. */
struct evaluation {
    const struct template *template;
    const struct launch *launch;
    const struct scope *scope;
    struct error *error;
    int status;
};

static void fail(struct evaluation *evaluation, const struct argument *argument, const char *reason)
{
    if (evaluation->status == 0)
        evaluation->status =
            error_set_at(evaluation->error, ERROR_CONFIG, evaluation->template->path,
                         evaluation->launch->lines.arguments, "argument '%s' of launch '%s' %s",
                         expression_text(argument->expression), evaluation->launch->name, reason);
}

static void refuse(struct evaluation *evaluation, const struct expression *expression,
                   const char *format, ...) __attribute__((format(printf, 3, 4)));

static void refuse(struct evaluation *evaluation, const struct expression *expression,
                   const char *format, ...)
{
    char reason[192];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(reason, sizeof reason, format, arguments);
    va_end(arguments);
    if (evaluation->status == 0)
        evaluation->status =
            expression_refuse(expression, evaluation->scope, reason, evaluation->error);
}

/* 1 after a failure. */
static int64_t read_integer(struct evaluation *evaluation, const struct expression *expression)
{
    int64_t integer = 1;
    if (evaluation->status == 0)
        evaluation->status =
            expression_integer(expression, evaluation->scope, &integer, evaluation->error);
    return evaluation->status == 0 ? integer : 1;
}

/* A whole number from 1 on; `what` is "a texture's width". */
static uint64_t read_extent(struct evaluation *evaluation, const struct expression *expression,
                            const char *what, int64_t most)
{
    int64_t value = read_integer(evaluation, expression);
    if (value < 1 || value > most)
        refuse(evaluation, expression, "%s of launch '%.50s' would be %" PRId64, what,
               evaluation->launch->name, value);
    return (uint64_t)value;
}

/* --- buffers --- */

static size_t read_buffer(struct evaluation *evaluation, const struct argument *argument)
{
    const struct template *template = evaluation->template;
    struct value value = {0};
    if (evaluation->status == 0)
        evaluation->status =
            expression_value(argument->expression, evaluation->scope, &value, evaluation->error);
    if (evaluation->status != 0 || value.kind != VALUE_WORD) {
        fail(evaluation, argument, "is not a buffer");
        return STEP_REFERENCE;
    }
    if (strcmp(value.as.word, "reference") == 0)
        return STEP_REFERENCE;
    if (evaluation->launch->counts && strcmp(value.as.word, "wrong") == 0)
        return STEP_WRONG;
    for (size_t i = 0; i < template->buffer_count; i++)
        if (strcmp(template->buffers[i].name, value.as.word) == 0)
            return i;
    fail(evaluation, argument, "is not a buffer");
    return STEP_REFERENCE;
}

static void read_pointers(struct evaluation *evaluation, const struct argument *argument,
                          struct step_argument *result)
{
    for (size_t i = 0; i < argument->field_count; i++) {
        const struct argument *field = &argument->fields[i];
        struct step_pointer *pointer = ARRAY_APPEND(result->pointers, result->pointer_count);
        pointer->buffer = read_buffer(evaluation, field);
        if (field->part != NULL)
            pointer->part = read_extent(evaluation, field->part,
                                        "the part that a pointer points to", INT64_MAX);
    }
}

static void read_texture(struct evaluation *evaluation, const struct argument *argument,
                         struct step_argument *result)
{
    result->buffer = read_buffer(evaluation, argument);
    result->texture = argument->texture;
    if (argument->extents[0] == NULL)
        return;
    result->width = read_extent(evaluation, argument->extents[0], "a texture's width", INT32_MAX);
    result->height = read_extent(evaluation, argument->extents[1], "a texture's height", INT32_MAX);
}

/* --- tensor maps, within the limits of cuTensorMapEncodeTiled --- */

static const int64_t dimension_limit = INT64_C(1) << 32;
static const uint64_t stride_limit = UINT64_C(1) << 40;

enum { BOX_LIMIT = 256, TRAVERSAL_LIMIT = 8, ALIGNMENT = 16, L2_DEFAULT = 128 };

/* A number of `what` from 1 to `most`. */
static int64_t read_number(struct evaluation *evaluation, const struct expression *expression,
                           const char *what, int64_t most)
{
    int64_t number = read_integer(evaluation, expression);
    if (number < 1 || number > most)
        refuse(evaluation, expression, "a tensor map's %s must be 1 to %" PRId64 ", not %" PRId64,
               what, most, number);
    return number;
}

/* One of four numbers of bytes, as `listed` says; `usual` if the template does not. */
static uint32_t read_choice(struct evaluation *evaluation, const struct expression *expression,
                            const char *listed, const int64_t choices[4], uint32_t usual)
{
    if (expression == NULL)
        return usual;
    int64_t number = read_integer(evaluation, expression);
    for (size_t i = 0; i < 4; i++)
        if (number == choices[i])
            return (uint32_t)number;
    refuse(evaluation, expression, "a tensor map's %s bytes, not %" PRId64, listed, number);
    return usual;
}

static void read_modes(struct evaluation *evaluation, const struct tensor_map_options *options,
                       struct tensor_map *map)
{
    static const int64_t swizzles[] = {0, 32, 64, 128};
    static const int64_t interleaves[] = {0, 16, 16, 32};
    static const int64_t fetches[] = {0, 64, 128, 256};
    map->swizzle =
        read_choice(evaluation, options->swizzle, "swizzle must be 0, 32, 64 or 128", swizzles, 0);
    map->interleave = read_choice(evaluation, options->interleave, "interleave must be 0, 16 or 32",
                                  interleaves, 0);
    map->l2 =
        read_choice(evaluation, options->l2, "l2 must be 0, 64, 128 or 256", fetches, L2_DEFAULT);
    if (map->interleave == 32 && map->swizzle != 32)
        refuse(evaluation, options->interleave, "interleave(32) needs swizzle(32)");
    if (map->interleave != 0 && map->rank < 3)
        refuse(evaluation, options->interleave,
               "a tensor map with interleave needs at least 3 dimensions");
    if (map->fill_nan && !element_is_floating(map->type))
        refuse(evaluation, options->dimensions[0], "a tensor map of %s cannot be filled with NaN",
               element_name(map->type));
}

static void read_strides(struct evaluation *evaluation, const struct tensor_map_options *options,
                         struct tensor_map *map)
{
    uint64_t alignment = map->interleave == 32 ? 32 : ALIGNMENT;
    map->strides[0] = element_bytes(map->type);
    for (size_t i = 1; i < map->rank; i++) {
        const struct expression *stated = options->strides[i];
        const struct expression *blamed = stated != NULL ? stated : options->dimensions[i - 1];
        uint64_t *stride = &map->strides[i];
        if (stated != NULL)
            *stride = (uint64_t)read_number(evaluation, stated, "stride", (int64_t)stride_limit) *
                      element_bytes(map->type);
        else if (__builtin_mul_overflow(map->strides[i - 1], map->dimensions[i - 1], stride))
            *stride = stride_limit;
        if (*stride % alignment != 0)
            refuse(evaluation, blamed,
                   "a stride of the tensor map would take %" PRIu64
                   " bytes; it must be a multiple of %" PRIu64,
                   *stride, alignment);
        if (*stride >= stride_limit)
            refuse(evaluation, blamed, "a stride of the tensor map would take 2^40 bytes");
    }
}

static void read_box(struct evaluation *evaluation, const struct tensor_map_options *options,
                     struct tensor_map *map)
{
    for (size_t i = 0; i < map->rank; i++) {
        map->box[i] = (uint32_t)read_number(evaluation, options->box[i], "box", BOX_LIMIT);
        map->steps[i] =
            options->steps[0] == NULL
                ? 1
                : (uint32_t)read_number(evaluation, options->steps[i], "step", TRAVERSAL_LIMIT);
    }
    size_t row = map->box[0] * element_bytes(map->type);
    if (map->interleave != 0)
        return;
    if (row % ALIGNMENT != 0)
        refuse(evaluation, options->box[0],
               "a row of the tensor map's box would take %zu bytes; it must be a multiple "
               "of %d",
               row, ALIGNMENT);
    if (map->swizzle != 0 && row > map->swizzle)
        refuse(evaluation, options->box[0],
               "a row of the tensor map's box would take %zu bytes, but swizzle(%u) allows "
               "at most %u",
               row, map->swizzle, map->swizzle);
}

int tensor_map_read(struct tensor_map *map, const struct tensor_map_options *options,
                    enum element_type type, const struct scope *scope, struct error *error)
{
    struct evaluation evaluation = {.scope = scope, .error = error};
    *map = (struct tensor_map){.type = type, .rank = options->rank, .fill_nan = options->fill_nan};
    read_modes(&evaluation, options, map);
    for (size_t i = 0; i < map->rank; i++)
        map->dimensions[i] = (uint64_t)read_number(&evaluation, options->dimensions[i], "dimension",
                                                   dimension_limit);
    read_strides(&evaluation, options, map);
    read_box(&evaluation, options, map);
    return evaluation.status;
}

static void read_tensor_map(struct evaluation *evaluation, const struct argument *argument,
                            struct step_argument *result)
{
    const struct scope *scope = evaluation->scope;
    enum element_type type = ELEMENT_FLOAT;
    int64_t capability;
    result->size = ARGUMENT_BYTES;
    result->buffer = read_buffer(evaluation, argument);
    if (scope_integer(scope, "compute_capability", &capability) && capability < 90)
        fail(evaluation, argument, "is a tensor map, which needs compute capability 9.0 or newer");
    if (evaluation->status == 0)
        evaluation->status = template_element_type(
            evaluation->template->buffers[result->buffer].type, scope, &type, evaluation->error);
    if (evaluation->status != 0)
        return;
    result->tensor_map = alloc_zeroed(1, sizeof *result->tensor_map);
    evaluation->status =
        tensor_map_read(result->tensor_map, argument->tensor_map, type, scope, evaluation->error);
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

static void read_scalar(struct evaluation *evaluation, const struct argument *argument,
                        unsigned char *bytes)
{
    const struct scope *scope = evaluation->scope;
    bool floating = element_is_floating(argument->type);
    int64_t integer = 0;
    double real = 0;
    bool condition = false;
    char reason[96];
    if (evaluation->status == 0 && argument->is_condition)
        evaluation->status =
            expression_boolean(argument->expression, scope, &condition, evaluation->error);
    else if (evaluation->status == 0 && floating)
        evaluation->status = expression_real(argument->expression, scope, &real, evaluation->error);
    else if (evaluation->status == 0)
        evaluation->status =
            expression_integer(argument->expression, scope, &integer, evaluation->error);
    if (evaluation->status != 0)
        return;
    if (argument->is_condition)
        integer = condition;
    bool fits = element_store(argument->type, integer, real, bytes) &&
                !(floating && !element_is_finite(argument->type, bytes));
    if (floating)
        (void)snprintf(reason, sizeof reason, "does not fit %s: %g", element_name(argument->type),
                       isnan(real) ? (double)NAN : real);
    else
        (void)snprintf(reason, sizeof reason, "does not fit %s: %" PRId64,
                       element_name(argument->type), integer);
    if (!fits)
        fail(evaluation, argument, reason);
}

static void read_argument(struct evaluation *evaluation, const struct argument *argument,
                          struct step_argument *result)
{
    result->kind = argument->kind;
    result->size = sizeof(uint64_t); /* of a pointer or a handle */
    switch (argument->kind) {
    case ARGUMENT_SCALAR:
        result->size = element_bytes(argument->type);
        read_scalar(evaluation, argument, result->bytes);
        break;
    case ARGUMENT_STRUCT:
        result->size = argument_field_offset(argument, argument->field_count);
        for (size_t i = 0; i < argument->field_count; i++)
            read_scalar(evaluation, &argument->fields[i],
                        result->bytes + argument_field_offset(argument, i));
        break;
    case ARGUMENT_BUFFER:
        result->buffer = read_buffer(evaluation, argument);
        break;
    case ARGUMENT_POINTERS:
        read_pointers(evaluation, argument, result);
        break;
    case ARGUMENT_TEXTURE:
        read_texture(evaluation, argument, result);
        break;
    case ARGUMENT_TENSOR_MAP:
        read_tensor_map(evaluation, argument, result);
        break;
    }
}

int step_arguments_read(struct step_argument **arguments, const struct launch *launch,
                        const struct template *template, const struct scope *scope,
                        struct error *error)
{
    struct evaluation evaluation = {template, launch, scope, error, 0};
    *arguments = alloc_zeroed(launch->argument_count, sizeof **arguments);
    for (size_t i = 0; i < launch->argument_count && evaluation.status == 0; i++)
        read_argument(&evaluation, &launch->arguments[i], &(*arguments)[i]);
    return evaluation.status;
}

void step_arguments_release(struct step_argument *arguments, size_t count)
{
    for (size_t i = 0; arguments != NULL && i < count; i++) {
        free(arguments[i].tensor_map);
        free(arguments[i].pointers);
    }
    free(arguments);
}

int step_argument_scalar(const struct template *template, const struct launch *launch,
                         const struct argument *argument, const struct scope *scope,
                         unsigned char *bytes, struct error *error)
{
    struct evaluation evaluation = {template, launch, scope, error, 0};
    read_scalar(&evaluation, argument, bytes);
    return evaluation.status;
}
