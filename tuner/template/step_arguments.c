#include "template/step_arguments.h"

#include "base/alloc.h"
#include "template/launch_attributes.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The launch whose arguments are evaluated. */
struct evaluation {
    const struct template *template;
    const struct launch *launch;
    const struct scope *scope;
    struct error *error;
};

static int fail(const struct evaluation *evaluation, const struct argument *argument,
                const char *reason)
{
    return error_set_at(evaluation->error, ERROR_CONFIG, evaluation->template->path,
                        evaluation->launch->lines.arguments, "argument '%s' of launch '%s' %s",
                        expression_text(argument->expression), evaluation->launch->name, reason);
}

/* A whole number from 1 on; `what` is "a texture's width". */
static int read_extent(const struct evaluation *evaluation, const struct expression *expression,
                       const char *what, int64_t most, uint64_t *extent)
{
    char reason[128];
    int64_t value = 0;
    int status = expression_integer(expression, evaluation->scope, &value, evaluation->error);
    (void)snprintf(reason, sizeof reason, "%s of launch '%.50s' would be %" PRId64, what,
                   evaluation->launch->name, value);
    if (status == 0 && (value < 1 || value > most))
        status = expression_refuse(expression, evaluation->scope, reason, evaluation->error);
    *extent = (uint64_t)value;
    return status;
}

/* --- buffers, and objects over them --- */

static int read_buffer(const struct evaluation *evaluation, const struct argument *argument,
                       size_t *buffer)
{
    const struct template *template = evaluation->template;
    struct value value;
    int status =
        expression_value(argument->expression, evaluation->scope, &value, evaluation->error);
    *buffer = STEP_REFERENCE;
    if (status != 0 || (value.kind == VALUE_WORD && strcmp(value.as.word, "reference") == 0))
        return status;
    *buffer = STEP_WRONG;
    if (value.kind == VALUE_WORD && evaluation->launch->counts &&
        strcmp(value.as.word, "wrong") == 0)
        return 0;
    for (size_t i = 0; value.kind == VALUE_WORD && i < template->buffer_count; i++)
        if (strcmp(template->buffers[i].name, value.as.word) == 0) {
            *buffer = i;
            return 0;
        }
    return fail(evaluation, argument, "is not a buffer");
}

static int read_pointers(const struct evaluation *evaluation, const struct argument *argument,
                         struct step_argument *result)
{
    int status = 0;
    for (size_t i = 0; i < argument->field_count && status == 0; i++) {
        const struct argument *field = &argument->fields[i];
        struct step_pointer *pointer = ARRAY_APPEND(result->pointers, result->pointer_count);
        status = read_buffer(evaluation, field, &pointer->buffer);
        if (status == 0 && field->part != NULL)
            status = read_extent(evaluation, field->part, "the part that a pointer points to",
                                 INT64_MAX, &pointer->part);
    }
    return status;
}

static int read_texture(const struct evaluation *evaluation, const struct argument *argument,
                        struct step_argument *result)
{
    uint64_t *const extents[] = {&result->width, &result->height};
    static const char *const names[] = {"a texture's width", "a texture's height"};
    int status = read_buffer(evaluation, argument, &result->buffer);
    result->texture = argument->texture;
    for (size_t i = 0; i < 2 && argument->extents[i] != NULL && status == 0; i++)
        status = read_extent(evaluation, argument->extents[i], names[i], INT32_MAX, extents[i]);
    return status;
}

static int read_tensor_map(const struct evaluation *evaluation, const struct argument *argument,
                           struct step_argument *result)
{
    const struct template *template = evaluation->template;
    enum element_type type;
    int64_t capability;
    int status = read_buffer(evaluation, argument, &result->buffer);
    if (status == 0 && scope_integer(evaluation->scope, "compute_capability", &capability) &&
        capability < 90)
        status = fail(evaluation, argument,
                      "is a tensor map, which needs compute capability 9.0 or newer");
    if (status == 0)
        status = template_element_type(template->buffers[result->buffer].type, evaluation->scope,
                                       &type, evaluation->error);
    if (status != 0)
        return status;
    result->size = ARGUMENT_BYTES;
    result->tensor_map = alloc_zeroed(1, sizeof *result->tensor_map);
    return tensor_map_read(result->tensor_map, argument->tensor_map, type, evaluation->scope,
                           evaluation->error);
}

/* --- values --- */

static int read_scalar(const struct evaluation *evaluation, const struct argument *argument,
                       unsigned char *bytes)
{
    const struct scope *scope = evaluation->scope;
    int64_t integer = 0;
    double real = 0;
    bool condition = false;
    char reason[96];
    int status;
    if (argument->is_condition)
        status = expression_boolean(argument->expression, scope, &condition, evaluation->error);
    else if (element_is_floating(argument->type))
        status = expression_real(argument->expression, scope, &real, evaluation->error);
    else
        status = expression_integer(argument->expression, scope, &integer, evaluation->error);
    if (argument->is_condition)
        integer = condition;
    if (status != 0)
        return status;
    (void)snprintf(reason, sizeof reason, "does not fit %s: %" PRId64, element_name(argument->type),
                   integer);
    if (!element_store(argument->type, integer, real, bytes))
        return fail(evaluation, argument, reason);
    (void)snprintf(reason, sizeof reason, "does not fit %s: %g", element_name(argument->type),
                   isnan(real) ? (double)NAN : real);
    if (element_is_floating(argument->type) && !element_is_finite(argument->type, bytes))
        return fail(evaluation, argument, reason);
    return 0;
}

static int read_struct(const struct evaluation *evaluation, const struct argument *argument,
                       struct step_argument *result)
{
    int status = 0;
    result->size = argument_field_offset(argument, argument->field_count);
    for (size_t i = 0; i < argument->field_count && status == 0; i++)
        status = read_scalar(evaluation, &argument->fields[i],
                             result->bytes + argument_field_offset(argument, i));
    return status;
}

static int read_argument(const struct evaluation *evaluation, const struct argument *argument,
                         struct step_argument *result)
{
    result->kind = argument->kind;
    result->size = sizeof(uint64_t); /* of a pointer or a handle */
    switch (argument->kind) {
    case ARGUMENT_SCALAR:
        result->size = element_bytes(argument->type);
        return read_scalar(evaluation, argument, result->bytes);
    case ARGUMENT_STRUCT:
        return read_struct(evaluation, argument, result);
    case ARGUMENT_BUFFER:
        return read_buffer(evaluation, argument, &result->buffer);
    case ARGUMENT_POINTERS:
        return read_pointers(evaluation, argument, result);
    case ARGUMENT_TEXTURE:
        return read_texture(evaluation, argument, result);
    case ARGUMENT_TENSOR_MAP:
        return read_tensor_map(evaluation, argument, result);
    }
    return 0;
}

int step_arguments_read(struct step_argument **arguments, const struct launch *launch,
                        const struct template *template, const struct scope *scope,
                        struct error *error)
{
    const struct evaluation evaluation = {template, launch, scope, error};
    int status = 0;
    *arguments = alloc_zeroed(launch->argument_count, sizeof **arguments);
    for (size_t i = 0; i < launch->argument_count && status == 0; i++)
        status = read_argument(&evaluation, &launch->arguments[i], &(*arguments)[i]);
    return status;
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
    const struct evaluation evaluation = {template, launch, scope, error};
    return read_scalar(&evaluation, argument, bytes);
}
