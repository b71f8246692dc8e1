#include "template/problem_check.h"

#include "template/fill.h"
#include "template/launch_plan.h"

#include <math.h>

static int check_fill(const struct fill *fill, const struct scope *scope, struct error *error)
{
    struct fill_numbers numbers;
    if (fill->kind == FILL_NONE || fill->kind == FILL_FILE)
        return 0;
    return fill_read_numbers(fill, scope, &numbers, error);
}

static int check_buffer(const struct buffer *buffer, const struct scope *scope, struct error *error)
{
    enum element_type type;
    int64_t length;
    if (buffer->access == ACCESS_SCRATCH) /* may depend on the variant */
        return 0;
    int status = template_element_type(buffer->type, scope, &type, error);
    if (status == 0)
        status = expression_integer(buffer->length, scope, &length, error);
    if (status == 0 && length < 0)
        status = expression_refuse(buffer->length, scope, "the length is negative", error);
    return status != 0 ? status : check_fill(&buffer->fill, scope, error);
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

static int check_expectation(const struct template *template, const struct expectation *expectation,
                             const struct scope *scope, struct error *error)
{
    int status = 0;
    if (expectation->tolerance != NULL)
        status = check_tolerance(expectation->tolerance, scope, error);
    if (status != 0)
        return status;
    return expectation->kind == EXPECT_REFERENCE
               ? check_reference(template, expectation, scope, error)
               : check_fill(&expectation->fill, scope, error);
}

int problem_check(const struct template *template, const struct bindings *fixed,
                  struct error *error)
{
    const struct scope scope = {fixed, NULL};
    int status = 0;
    for (size_t i = 0; i < template->buffer_count && status == 0; i++) {
        status = check_buffer(&template->buffers[i], &scope, error);
        status = template_in_buffer(template, i, status, error);
    }
    for (size_t i = 0; i < template->expectation_count && status == 0; i++)
        status = check_expectation(template, &template->expectations[i], &scope, error);
    return status;
}
