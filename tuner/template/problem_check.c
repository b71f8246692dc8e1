#include "template/problem_check.h"

#include "template/argument_types.h"
#include "template/dependencies.h"
#include "template/fill.h"
#include "template/launch_plan.h"

#include <math.h>

/* What a buffer holds, as far as the problem decides it. */
struct contents {
    enum element_type type;
    int64_t length;
};

static int check_file(const struct template *template, const struct fill *fill,
                      const struct contents *contents, struct error *error)
{
    struct error inner;
    if (fill_check_file(fill, contents->type, (uint64_t)contents->length, &inner) == 0)
        return 0;
    return error_set_at(error, ERROR_CONFIG, template->path, fill->line, "'%s': %.1000s",
                        fill->path, inner.message);
}

static int check_helper(const struct template *template, const struct launch *helper,
                        const struct scope *scope, struct error *error)
{
    struct launch_plan launch_plan;
    int status = launch_plan_helper(&launch_plan, template, helper, scope, error);
    if (status == 0)
        launch_plan_release(&launch_plan);
    return status;
}

static int check_fill(const struct template *template, const struct fill *fill,
                      const struct contents *contents, const struct scope *scope,
                      struct error *error)
{
    struct fill_numbers numbers;
    struct fill_border border;
    int status = 0;
    if (fill->kind == FILL_FILE)
        status = check_file(template, fill, contents, error);
    else if (fill->kind == FILL_KERNEL)
        status = check_helper(template, fill->kernel, scope, error);
    else if (fill_has_numbers(fill))
        status = fill_read_numbers(fill, contents->type, FILL_USUAL_DATA, scope, &numbers, error);
    return status != 0 ? status
                       : fill_read_border(fill, scope, (uint64_t)contents->length, &border, error);
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

static int read_contents(const struct buffer *buffer, const struct scope *scope,
                         struct contents *contents, struct error *error)
{
    int status = template_element_type(buffer->type, scope, &contents->type, error);
    if (status == 0)
        status = expression_integer(buffer->length, scope, &contents->length, error);
    if (status != 0 || contents->length > 0 ||
        (contents->length == 0 && zero_is_meant(buffer->length, scope)))
        return status;
    return expression_refuse(buffer->length, scope,
                             contents->length < 0 ? "the length is negative" : "the length is 0",
                             error);
}

static int check_buffer(const struct template *template, const struct buffer *buffer,
                        const struct scope *scope, struct error *error)
{
    struct contents contents;
    if (buffer->access == ACCESS_SCRATCH) /* may depend on the variant */
        return 0;
    int status = read_contents(buffer, scope, &contents, error);
    return status != 0 ? status : check_fill(template, &buffer->fill, &contents, scope, error);
}

static int check_tolerance(const struct expression *tolerance, const struct scope *scope,
                           struct error *error)
{
    double value;
    int status = expression_real(tolerance, scope, &value, error);
    if (status == 0 && !(isfinite(value) && value >= 0))
        status = expression_refuse(tolerance, scope,
                                   "a tolerance must be a finite number from 0 on", error);
    return status;
}

static int check_expected_fill(const struct template *template,
                               const struct expectation *expectation, const struct scope *scope,
                               struct error *error)
{
    const struct buffer *buffer = &template->buffers[expectation->buffer];
    struct contents contents;
    int status = read_contents(buffer, scope, &contents, error);
    if (status == 0)
        status = template_expected_type(template, expectation, scope, &contents.type, error);
    return status != 0 ? status : check_fill(template, &expectation->fill, &contents, scope, error);
}

static int check_tolerances(const struct expectation *expectation, const struct scope *scope,
                            struct error *error)
{
    int status = 0;
    if (expectation->absolute != NULL)
        status = check_tolerance(expectation->absolute, scope, error);
    if (status == 0 && expectation->relative != NULL)
        status = check_tolerance(expectation->relative, scope, error);
    return status;
}

static int check_expectation(const struct template *template, const struct expectation *expectation,
                             const struct scope *scope, struct error *error)
{
    return expectation->kind == EXPECT_REFERENCE
               ? check_helper(template, &expectation->reference, scope, error)
               : check_expected_fill(template, expectation, scope, error);
}

/* Checks what depends on a parameter, or with `dependent` false what does not. Each part is of one
 * kind: a reference may depend on a parameter that its tolerance does not name. */
static int check_all(const struct template *template, const struct scope *scope, bool dependent,
                     struct error *error)
{
    int status = 0;
    for (size_t i = 0; i < template->buffer_count && status == 0; i++)
        if (buffer_is_dependent(template, i) == dependent)
            status = template_in_buffer(
                template, i, check_buffer(template, &template->buffers[i], scope, error), error);
    for (size_t i = 0; i < template->expectation_count && status == 0; i++) {
        const struct expectation *expectation = &template->expectations[i];
        if (tolerance_is_dependent(template, expectation) == dependent)
            status = check_tolerances(expectation, scope, error);
        if (status == 0 && expectation_is_dependent(template, i) == dependent)
            status = check_expectation(template, expectation, scope, error);
    }
    for (size_t i = 0; i < template->verifier_count && status == 0; i++)
        if (verifier_is_dependent(template, i) == dependent)
            status = check_helper(template, &template->verifiers[i].launch, scope, error);
    return status;
}

int problem_check(const struct template *template, const struct bindings *fixed,
                  struct error *error)
{
    const struct scope scope = {fixed, NULL};
    int status = check_all(template, &scope, false, error);
    return status != 0 ? status : argument_types_check(template, &scope, error);
}

int problem_check_variant(const struct template *template, const struct scope *scope,
                          struct error *error)
{
    return check_all(template, scope, true, error);
}
