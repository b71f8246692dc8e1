#include "template/problem_check.h"

#include "base/alloc.h"
#include "base/suggestion.h"
#include "template/fill.h"
#include "template/launch_plan.h"
#include "template/source_lexer.h"
#include "template/source_signature.h"
#include "template/value_list.h"
#include "template/variant.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- macros: parameters that cannot change anything --- */

/* The words of texts, outside comments and strings. */
struct words {
    char **items;
    size_t count;
};

static void add_words(struct words *words, const char *text)
{
    struct source_lexer lexer;
    enum token_kind kind;
    source_lexer_init(&lexer, text);
    while ((kind = source_lexer_next(&lexer)) != TOKEN_END)
        if (kind == TOKEN_NAME)
            *ARRAY_APPEND(words->items, words->count) = alloc_string(lexer.token);
    source_lexer_release(&lexer);
}

static bool has_word(const struct words *words, const char *word)
{
    for (size_t i = 0; i < words->count; i++)
        if (strcmp(words->items[i], word) == 0)
            return true;
    return false;
}

/* After the first failure, these do nothing. */
struct macro_checking {
    const struct template *template;
    struct words own; /* of the compiler options and of the C++ names of entries */
    struct words
        used; /* of the template's own values: a word may choose a launch or a type there */
    struct error *error;
    int status;
};

/* By the source, its headers, or the template's `own` words. */
static bool is_named(const struct macro_checking *checking, const char *macro)
{
    const struct source_name *name = source_find_name(&checking->template->source, macro);
    return (name != NULL && name->followed) || has_word(&checking->own, macro);
}

static void refuse_macro(struct macro_checking *checking, const struct parameter *parameter,
                         const char *macro)
{
    const struct source *source = &checking->template->source;
    struct names capitals = {0};
    for (size_t i = 0; i < source->name_count; i++)
        if (source->names[i].followed && isupper((unsigned char)source->names[i].text[0]))
            names_add(&capitals, source->names[i].text);
    const char *nearest = capitals.items != NULL ? suggestion_nearest(macro, capitals.items) : NULL;
    char *advice = nearest != NULL ? alloc_format("did you mean '%s'?", nearest)
                   : parameter->words != NULL
                       ? alloc_string("name it there or in an expression")
                       : alloc_string("name it there, or make it a launch parameter");
    checking->status =
        error_set_at(checking->error, ERROR_CONFIG, checking->template->path, parameter->line,
                     "'%s' changes nothing: the source and its headers do not name the "
                     "macro '%s'; %s",
                     parameter->name, macro, advice);
    free(advice);
    free(capitals.items);
}

static void check_macros(struct macro_checking *checking, const struct parameter *parameters,
                         size_t count)
{
    for (size_t i = 0; i < count && checking->status == 0; i++) {
        const struct parameter *parameter = &parameters[i];
        char *macro = variant_macro(parameter->name);
        if (parameter->compiled && !parameter->renamed && !is_named(checking, macro) &&
            !(parameter->words != NULL && has_word(&checking->used, parameter->name)))
            refuse_macro(checking, parameter, macro);
        free(macro);
    }
}

int macro_check(const struct template *template, struct error *error)
{
    struct macro_checking checking = {.template = template, .error = error};
    for (size_t i = 0; i < template->option_count; i++)
        add_words(&checking.own, template->options[i].text);
    for (size_t i = 0; i < template->name_expression_count; i++)
        add_words(&checking.own, template->name_expressions[i]);
    for (size_t i = 0; i < template->ini.count; i++)
        add_words(&checking.used, template->ini.entries[i].value);
    check_macros(&checking, template->parameters, template->parameter_count);
    check_macros(&checking, template->problem, template->problem_count);
    for (size_t i = 0; i < template->definition_count && checking.status == 0; i++)
        if (!is_named(&checking, template->definitions[i].macro))
            checking.status =
                error_set_at(error, ERROR_CONFIG, template->path, template->definitions[i].line,
                             "define '%s' changes nothing: the source and its headers do not "
                             "name that macro",
                             template->definitions[i].macro);
    texts_free(checking.own.items, checking.own.count);
    texts_free(checking.used.items, checking.used.count);
    return checking.status;
}

/* --- types of arguments --- */

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
    const char *symbol; /* of what was compiled; NULL: not known */
};

static struct given describe(const struct checked *checked, const struct argument *argument)
{
    const struct template *template = checked->template;
    struct given given = {.known = true, .type = argument->type, .kind = argument->kind};
    if (!argument_has_buffer(argument))
        return given;
    const char *text = expression_text(argument->expression);
    given.buffer = text;
    size_t index = template_buffer(template, text);
    size_t result =
        template_result(template, checked->launch, expression_expanded(argument->expression));
    if (result < template->expectation_count)
        given.known = template_expected_type(template, &template->expectations[result],
                                             checked->scope, &given.type, NULL) == 0;
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

static int refuse_argument(const struct checked *checked, size_t index,
                           const struct source_parameter *declared, const struct given *given,
                           struct error *error)
{
    const struct launch *launch = checked->launch;
    const struct argument *argument = &launch->arguments[index];
    const char *path = checked->template->path;
    char of[32] = ""; /* what a type parameter is */
    if (declared->type_parameter >= 0 && declared->known)
        (void)snprintf(of, sizeof of, " (%s)", element_name(declared->type));
    if (given->buffer != NULL && given->known && given->kind == ARGUMENT_BUFFER)
        return error_set_at(
            error, ERROR_CONFIG, path, launch->lines.arguments,
            "parameter %zu of kernel '%s' is '%s'%s, but buffer '%s' has elements of "
            "type %s",
            index + 1, launch->entry, declared->text, of, given->buffer, element_name(given->type));
    char *text = argument_text(argument);
    int status = error_set_at(error, ERROR_CONFIG, path, launch->lines.arguments,
                              "parameter %zu of kernel '%s' is '%s'%s, but the argument is '%s'",
                              index + 1, launch->entry, declared->text, of, text);
    free(text);
    return status;
}

static int check_arguments(const struct checked *checked, struct error *error)
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
            status = refuse_argument(checked, i, &declared, &given, error);
    }
    return status;
}

static int check_argument_types(const struct template *template, const struct scope *scope,
                                struct error *error)
{
    struct checked checked = {.template = template, .scope = scope};
    int status = 0;
    for (size_t i = 0; status == 0 && (checked.launch = template_any_launch(template, i)) != NULL;
         i++)
        status = check_arguments(&checked, error);
    return status;
}

int argument_types_check_launch(const struct template *template, const struct launch *launch,
                                const char *symbol, const struct scope *scope, struct error *error)
{
    const struct checked checked = {
        .template = template, .scope = scope, .launch = launch, .symbol = symbol};
    return check_arguments(&checked, error);
}

/* --- what a problem decides --- */

/* After the first failure, everything here does nothing. */
struct checking {
    const struct template *template;
    struct evaluation evaluation;
};

static void check_helper(struct checking *checking, struct helper helper)
{
    struct evaluation *evaluation = &checking->evaluation;
    struct launch_plan launch_plan;
    if (evaluation->status != 0)
        return;
    evaluation->status = launch_plan_helper(&launch_plan, checking->template, helper,
                                            evaluation->scope, evaluation->error);
    if (evaluation->status == 0)
        launch_plan_release(&launch_plan);
}

/* Of a buffer of so many elements. */
static void check_fill(struct checking *checking, const struct fill *fill, enum element_type type,
                       uint64_t length)
{
    struct evaluation *evaluation = &checking->evaluation;
    struct fill_numbers numbers;
    struct fill_border border;
    struct error inner;
    if (evaluation->status != 0)
        return;
    if (fill->kind == FILL_KERNEL)
        check_helper(checking, (struct helper){fill->kernel, 1});
    else if (fill->kind == FILL_FILE && fill_check_file(fill, type, length, &inner) != 0)
        evaluation->status = error_set_at(evaluation->error, ERROR_CONFIG, checking->template->path,
                                          fill->line, "'%s': %.1000s", fill->path, inner.message);
    else if (!isfinite(fill->special) && !element_is_floating(type))
        evaluation->status =
            error_set_at(evaluation->error, ERROR_CONFIG, checking->template->path, fill->line,
                         "elements of type %s are neither infinite nor NaN", element_name(type));
    else if (fill_has_numbers(fill))
        evaluation->status = fill_read_numbers(fill, type, FILL_USUAL_DATA, evaluation->scope,
                                               &numbers, evaluation->error);
    if (evaluation->status == 0)
        evaluation->status =
            fill_read_border(fill, evaluation->scope, length, &border, evaluation->error);
}

/* Whether a length of 0 follows from a value of 0, as at the edges of a sweep: then it is meant. */
static bool zero_is_meant(const struct expression *length, const struct scope *scope)
{
    for (size_t i = 0; i < expression_name_count(length); i++) {
        const struct value *value = scope_find(scope, expression_name(length, i));
        if (value != NULL && value->kind == VALUE_INTEGER && value->as.integer == 0)
            return true;
    }
    return false;
}

/* Also sets the element type. */
static uint64_t check_length(struct checking *checking, const struct buffer *buffer,
                             enum element_type *type)
{
    struct evaluation *evaluation = &checking->evaluation;
    uint64_t length = 1;
    *type = ELEMENT_FLOAT;
    if (evaluation->status == 0)
        evaluation->status =
            buffer_describe(buffer, evaluation->scope, type, &length, evaluation->error);
    if (length == 0 && evaluation->status == 0 && !zero_is_meant(buffer->length, evaluation->scope))
        evaluation_refuse(evaluation, buffer->length, "the length is 0");
    return length;
}

static void check_tolerance(struct checking *checking, const struct expression *tolerance)
{
    double value = evaluate_real(&checking->evaluation, tolerance, 0);
    if (!(isfinite(value) && value >= 0))
        evaluation_refuse(&checking->evaluation, tolerance,
                          "a tolerance must be a finite number from 0 on");
}

/* More would leave a result unverified that has most of its elements wrong. */
static void check_share(struct checking *checking, const struct expression *share)
{
    double value = evaluate_real(&checking->evaluation, share, 0);
    if (!(value >= 0 && value <= 0.5))
        evaluation_refuse(&checking->evaluation, share,
                          "the share of mismatches must be from 0 to 0.5");
}

/* A constant or a file. */
static void check_expected(struct checking *checking, const struct expectation *expectation)
{
    const struct template *template = checking->template;
    struct evaluation *evaluation = &checking->evaluation;
    enum element_type type;
    uint64_t length = check_length(checking, &template->buffers[expectation->buffer], &type);
    if (evaluation->status == 0)
        evaluation->status = template_expected_type(template, expectation, evaluation->scope, &type,
                                                    evaluation->error);
    check_fill(checking, &expectation->fill, type, length);
}

/* Checks what depends on a parameter, or with `dependent` false what does not. Each part is of one
 * kind: a reference may depend on a parameter that its tolerance does not name. */
static int check_all(const struct template *template, const struct scope *scope, bool dependent,
                     struct error *error)
{
    struct checking checking = {template, {scope, error, 0}};
    for (size_t i = 0; i < template->buffer_count && checking.evaluation.status == 0; i++) {
        const struct buffer *buffer = &template->buffers[i];
        enum element_type type;
        if (buffer->access == ACCESS_SCRATCH || (buffer->depends != 0) != dependent)
            continue; /* scratch may depend on the variant */
        uint64_t length = check_length(&checking, buffer, &type);
        check_fill(&checking, &buffer->fill, type, length);
        (void)template_in_buffer(template, i, checking.evaluation.status, error);
    }
    for (size_t i = 0; i < template->expectation_count; i++) {
        const struct expectation *expectation = &template->expectations[i];
        if ((expectation->tolerance_depends != 0) == dependent) {
            check_tolerance(&checking, expectation->absolute);
            check_tolerance(&checking, expectation->relative);
            check_share(&checking, expectation->mismatches);
            (void)evaluate_boolean(&checking.evaluation, expectation->when, true);
        }
        if ((expectation->depends != 0) != dependent)
            continue;
        if (expectation->kind == EXPECT_REFERENCE || expectation->kind == EXPECT_LAUNCHES)
            check_helper(&checking, expectation_helper(template, expectation));
        else
            check_expected(&checking, expectation);
    }
    for (size_t i = 0; i < template->verifier_count; i++)
        if ((template->verifiers[i].depends != 0) == dependent)
            check_helper(&checking, (struct helper){&template->verifiers[i].launch, 1});
    return checking.evaluation.status;
}

int problem_check(const struct template *template, const struct bindings *fixed,
                  struct error *error)
{
    const struct scope scope = {fixed, NULL};
    int status = check_all(template, &scope, false, error);
    return status != 0 ? status : check_argument_types(template, &scope, error);
}

int problem_check_variant(const struct template *template, const struct scope *scope,
                          struct error *error)
{
    struct evaluation evaluation = {scope, error, check_all(template, scope, true, error)};
    bool judged = template->verifier_count > 0;
    for (size_t i = 0; i < template->expectation_count && !judged; i++)
        judged = evaluate_boolean(&evaluation, template->expectations[i].when, true);
    if (evaluation.status == 0 && !judged)
        return error_set_at(error, ERROR_CONFIG, template->path, template->expectations[0].line,
                            "no [expect] applies to these values: each has a `when` that is false");
    return evaluation.status;
}
