#include "template/argument_types.h"

#include "template/helpers.h"
#include "template/source_signature.h"

#include <stdlib.h>
#include <string.h>

/* What an argument is, as far as it is known. */
struct given {
    bool known;
    enum element_type type; /* of the scalar, or of the buffer's elements */
    const char *buffer;     /* NULL: a scalar */
    enum argument_kind kind;
};

/* The launch or helper whose arguments are checked. */
struct checked {
    const struct template *template;
    const struct scope *scope;
    const struct launch *launch;
    const struct expectation *expectation; /* NULL: a launch */
    const char *symbol;                    /* of what was compiled; NULL: not known */
};

static size_t find_buffer(const struct template *template, const char *name)
{
    size_t index = 0;
    while (index < template->buffer_count && strcmp(template->buffers[index].name, name) != 0)
        index++;
    return index;
}

static struct given describe(const struct checked *checked, const struct argument *argument)
{
    const struct template *template = checked->template;
    struct given given = {.known = true, .type = argument->type, .kind = argument->kind};
    if (!argument_has_buffer(argument))
        return given;
    const char *text = expression_text(argument->expression);
    given.buffer = text;
    size_t index = find_buffer(template, text);
    if (checked->expectation != NULL && strcmp(text, "reference") == 0)
        given.known = template_expected_type(template, checked->expectation, checked->scope,
                                             &given.type, NULL) == 0;
    else if (checked->launch->counts && strcmp(text, "wrong") == 0)
        given.type = ELEMENT_UINT64;
    else
        given.known = index < template->buffer_count &&
                      template_element_type(template->buffers[index].type, checked->scope,
                                            &given.type, NULL) == 0;
    return given;
}

/* Bytes may hold anything, and an int * may read packed bytes. */
static bool may_point_to(enum element_type declared, enum element_type given)
{
    bool same_kind = element_is_floating(declared) == element_is_floating(given);
    size_t least = element_bytes(declared) < element_bytes(given) ? element_bytes(declared)
                                                                  : element_bytes(given);
    if (same_kind && element_is_floating(declared))
        return declared == given;
    if (same_kind)
        return least < 4 || element_bytes(declared) == element_bytes(given);
    return least < 4;
}

/* 16-bit floats may travel as their bits. */
static bool may_take(enum element_type declared, enum element_type given)
{
    bool bits =
        element_bytes(declared) == 2 && element_is_floating(declared) != element_is_floating(given);
    if (element_bytes(declared) != element_bytes(given))
        return false;
    return bits || (element_is_floating(declared) == element_is_floating(given) &&
                    (declared == given || !element_is_floating(given)));
}

static bool fits(const struct source_parameter *declared, const struct given *given)
{
    bool address = element_bytes(given->type) == 8 && !element_is_floating(given->type);
    if (given->kind == ARGUMENT_TENSOR_MAP)
        return !declared->pointer && !declared->known;
    if (given->kind == ARGUMENT_POINTERS) /* float *const *, or uint64_t * */
        return !declared->known ||
               (element_bytes(declared->type) == 8 && !element_is_floating(declared->type));
    if (given->buffer == NULL && declared->pointer)
        return address; /* uint64 0, a null pointer */
    if (given->kind == ARGUMENT_TEXTURE && declared->pointer)
        return false;
    if (!declared->known || !given->known)
        return true;
    if (given->buffer == NULL)
        return may_take(declared->type, given->type);
    if (!declared->pointer)
        return element_bytes(declared->type) == 8 && !element_is_floating(declared->type);
    return may_point_to(declared->type, given->type);
}

static int refuse(const struct checked *checked, size_t index,
                  const struct source_parameter *declared, const struct given *given,
                  struct error *error)
{
    const struct launch *launch = checked->launch;
    const struct argument *argument = &launch->arguments[index];
    const char *path = checked->template->path;
    const char *of[3] = {"", "", ""}; /* what a type parameter is */
    if (declared->type_parameter >= 0 && declared->known) {
        of[0] = " (";
        of[1] = element_name(declared->type);
        of[2] = ")";
    }
    if (given->buffer != NULL && given->known && given->kind == ARGUMENT_BUFFER)
        return error_set_at(
            error, ERROR_CONFIG, path, launch->lines.arguments,
            "parameter %zu of kernel '%s' is '%s'%s%s%s, but buffer '%s' has elements of "
            "type %s",
            index + 1, launch->entry, declared->text, of[0], of[1], of[2], given->buffer,
            element_name(given->type));
    char *text = argument_text(argument);
    int status =
        error_set_at(error, ERROR_CONFIG, path, launch->lines.arguments,
                     "parameter %zu of kernel '%s' is '%s'%s%s%s, but the argument is '%s'",
                     index + 1, launch->entry, declared->text, of[0], of[1], of[2], text);
    free(text);
    return status;
}

static int check(const struct checked *checked, struct error *error)
{
    const struct launch *launch = checked->launch;
    const struct source_signature *signature = &launch->signature;
    int status = 0;
    for (size_t i = 0; i < signature->count && i < launch->argument_count && status == 0; i++) {
        struct given given = describe(checked, &launch->arguments[i]);
        struct source_parameter declared = signature->parameters[i];
        if (checked->symbol != NULL)
            declared = source_parameter_in(&declared, checked->symbol);
        if (given.kind != ARGUMENT_STRUCT && !fits(&declared, &given))
            status = refuse(checked, i, &declared, &given, error);
    }
    return status;
}

int argument_types_check(const struct template *template, const struct scope *scope,
                         struct error *error)
{
    struct checked checked = {.template = template, .scope = scope};
    int status = 0;
    for (size_t i = 0; i < template->launch_count && status == 0; i++) {
        checked.launch = &template->launches[i];
        status = check(&checked, error);
    }
    struct helper helper;
    for (size_t i = 0; status == 0 && template_helper(template, i, &helper); i++) {
        checked.expectation = helper.expectation;
        checked.launch = helper.launch;
        status = check(&checked, error);
    }
    return status;
}

int argument_types_check_launch(const struct template *template, const struct launch *launch,
                                const char *symbol, const struct scope *scope, struct error *error)
{
    struct checked checked = {
        .template = template, .scope = scope, .launch = launch, .symbol = symbol};
    struct helper helper;
    for (size_t i = 0; template_helper(template, i, &helper); i++)
        if (helper.launch == launch)
            checked.expectation = helper.expectation;
    return check(&checked, error);
}
