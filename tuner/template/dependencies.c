#include "template/dependencies.h"

#include <string.h>

/* The parameters that any of the expressions names. */
static uint64_t named_by(const struct template *template, struct expression *const *expressions,
                         size_t count)
{
    uint64_t set = 0;
    for (size_t i = 0; i < template->parameter_count; i++)
        if (any_depends(expressions, count, template->parameters[i].name))
            set |= UINT64_C(1) << i;
    return set;
}

/* The parameter that is the type; NULL is none. */
static uint64_t of_type(const struct template *template, const char *type)
{
    const struct parameter *parameter = type != NULL ? template_parameter(template, type) : NULL;
    return parameter != NULL ? UINT64_C(1) << (parameter - template->parameters) : 0;
}

/* NOLINTNEXTLINE(misc-no-recursion): structs nest to a limited depth */
static uint64_t of_argument(const struct template *template, const struct argument *argument)
{
    uint64_t set = named_by(template, &argument->expression, 1) |
                   named_by(template, argument->extents, 2) |
                   named_by(template, &argument->part, 1);
    for (size_t i = 0; i < argument->field_count; i++)
        set |= of_argument(template, &argument->fields[i]);
    for (size_t i = 0; i < template->buffer_count; i++)
        if (argument_uses_buffer(argument, template->buffers[i].name))
            set |= template->buffers[i].depends;
    return set;
}

static uint64_t of_loop(const struct template *template, const struct loop *loop)
{
    return named_by(template, &loop->from, 1) | named_by(template, &loop->condition, 1) |
           named_by(template, &loop->next, 1);
}

/* Variables of the source are filled for every helper, which may read them without an argument. */
static uint64_t of_launch(const struct template *template, const struct launch *launch)
{
    uint64_t set = named_by(template, &launch->when, 1) |
                   named_by(template, launch->grid, launch->grid_count) |
                   named_by(template, launch->block, launch->block_count) |
                   named_by(template, &launch->shared_bytes, 1) | of_loop(template, &launch->loop);
    for (const struct loop *loop = launch->outer; loop != NULL; loop = loop->outer)
        set |= of_loop(template, loop);
    for (size_t i = 0; i < launch->argument_count; i++)
        set |= of_argument(template, &launch->arguments[i]);
    for (size_t i = 0; i < template->buffer_count; i++)
        set |= template->buffers[i].symbol != NULL ? template->buffers[i].depends : 0;
    for (size_t i = 0; i < template->constants.argument_count; i++)
        set |= of_argument(template, &template->constants.arguments[i]);
    return set;
}

static uint64_t of_fill(const struct template *template, const struct fill *fill)
{
    uint64_t set = fill->kind == FILL_KERNEL ? of_launch(template, fill->kernel) : 0;
    return set | named_by(template, fill->arguments, fill->argument_count) |
           named_by(template, &fill->border, 1) |
           named_by(template, fill->shape, fill->shape_count);
}

static uint64_t of_buffer(const struct template *template, const struct buffer *buffer)
{
    return of_type(template, buffer->type) | named_by(template, &buffer->length, 1) |
           of_fill(template, &buffer->fill);
}

/* With the scratch buffers that its reference has for itself. */
static uint64_t of_expectation(const struct template *template,
                               const struct expectation *expectation)
{
    const struct helper helper = expectation_helper(template, expectation);
    uint64_t set = template->buffers[expectation->buffer].depends |
                   of_type(template, expectation->reference_type) |
                   of_fill(template, &expectation->fill);
    for (size_t i = 0; i < helper.count; i++)
        set |= of_launch(template, &helper.launches[i]);
    for (size_t i = 0; i < template->buffer_count; i++)
        if (template->buffers[i].access == ACCESS_SCRATCH &&
            helper_uses_buffer(&helper, template->buffers[i].name))
            set |= of_buffer(template, &template->buffers[i]);
    return set;
}

void dependencies_find(struct template *template)
{
    uint64_t together = 0;                                /* what one run fills */
    for (size_t i = 0; i < template->buffer_count; i++) { /* what fills a buffer is above it */
        struct buffer *buffer = &template->buffers[i];
        if (buffer->access != ACCESS_SCRATCH)
            buffer->depends = of_buffer(template, buffer);
    }
    for (size_t i = 0; i < template->expectation_count; i++) {
        struct expectation *expectation = &template->expectations[i];
        expectation->depends = of_expectation(template, expectation);
        if (expectation->kind == EXPECT_LAUNCHES)
            together |= expectation->depends;
        expectation->tolerance_depends = named_by(template, &expectation->when, 1) |
                                         named_by(template, &expectation->absolute, 1) |
                                         named_by(template, &expectation->relative, 1) |
                                         named_by(template, &expectation->mismatches, 1);
    }
    for (size_t i = 0; i < template->expectation_count; i++)
        if (template->expectations[i].kind == EXPECT_LAUNCHES)
            template->expectations[i].depends = together;
    for (size_t i = 0; i < template->verifier_count; i++)
        template->verifiers[i].depends = of_launch(template, &template->verifiers[i].launch);
}

uint64_t contents_depend_on(const struct template *template)
{
    uint64_t set = 0;
    for (size_t i = 0; i < template->buffer_count; i++)
        set |= template->buffers[i].depends;
    for (size_t i = 0; i < template->expectation_count; i++)
        set |= template->expectations[i].depends;
    return set;
}

uint64_t verdict_depends_on(const struct template *template)
{
    uint64_t set = contents_depend_on(template);
    for (size_t i = 0; i < template->expectation_count; i++)
        set |= template->expectations[i].tolerance_depends;
    for (size_t i = 0; i < template->verifier_count; i++)
        set |= template->verifiers[i].depends;
    return set;
}
