#include "template/problem_check.h"

#include "template/argument_types.h"
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

static int check_fill(const struct template *template, const struct fill *fill,
                      const struct contents *contents, const struct scope *scope,
                      struct error *error)
{
    struct fill_numbers numbers;
    if (fill->kind == FILL_NONE)
        return 0;
    return fill->kind == FILL_FILE ? check_file(template, fill, contents, error)
                                   : fill_read_numbers(fill, scope, &numbers, error);
}

/* Whether a length of 0 follows from a value of 0, as at the edges of a sweep: then it is meant. */
static bool zero_is_meant(const struct expression *length, const struct scope *scope)
{
    for (size_t i = 0; i < expression_name_count(length); i++) {
        const struct value *value = bindings_find(scope->bindings, expression_name(length, i));
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

static int check_reference(const struct template *template, const struct expectation *expectation,
                           const struct scope *scope, struct error *error)
{
    struct launch_plan launch_plan;
    int status = launch_plan_reference(&launch_plan, template, expectation, scope, error);
    if (status == 0)
        launch_plan_release(&launch_plan);
    return status;
}

static int check_expected_fill(const struct template *template,
                               const struct expectation *expectation, const struct scope *scope,
                               struct error *error)
{
    const struct buffer *buffer = &template->buffers[expectation->buffer];
    struct contents contents;
    if (buffer->access == ACCESS_SCRATCH) /* refused later */
        return 0;
    int status = read_contents(buffer, scope, &contents, error);
    if (status == 0)
        status = template_expected_type(template, expectation, scope, &contents.type, error);
    return status != 0 ? status : check_fill(template, &expectation->fill, &contents, scope, error);
}

static int check_expectation(const struct template *template, const struct expectation *expectation,
                             const struct scope *scope, struct error *error)
{
    int status = 0;
    if (expectation->absolute != NULL)
        status = check_tolerance(expectation->absolute, scope, error);
    if (status == 0 && expectation->relative != NULL)
        status = check_tolerance(expectation->relative, scope, error);
    if (status != 0)
        return status;
    return expectation->kind == EXPECT_REFERENCE
               ? check_reference(template, expectation, scope, error)
               : check_expected_fill(template, expectation, scope, error);
}

int problem_check(const struct template *template, const struct bindings *fixed,
                  struct error *error)
{
    const struct scope scope = {fixed, NULL};
    int status = 0;
    for (size_t i = 0; i < template->buffer_count && status == 0; i++) {
        status = check_buffer(template, &template->buffers[i], &scope, error);
        status = template_in_buffer(template, i, status, error);
    }
    for (size_t i = 0; i < template->expectation_count && status == 0; i++)
        status = check_expectation(template, &template->expectations[i], &scope, error);
    return status != 0 ? status : argument_types_check(template, &scope, error);
}
