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

/* Variables of the source are filled for every helper, which may read them without an argument. */
static uint64_t of_helper(const struct template *template, const struct launch *helper)
{
    uint64_t set = named_by(template, helper->grid, helper->grid_count) |
                   named_by(template, helper->block, helper->block_count) |
                   named_by(template, &helper->shared_bytes, 1);
    for (size_t i = 0; i < helper->argument_count; i++)
        set |= of_argument(template, &helper->arguments[i]);
    for (size_t i = 0; i < template->buffer_count; i++)
        set |= template->buffers[i].symbol != NULL ? template->buffers[i].depends : 0;
    return set;
}

static uint64_t of_fill(const struct template *template, const struct fill *fill)
{
    uint64_t set = fill->kind == FILL_KERNEL ? of_helper(template, fill->kernel) : 0;
    return set | named_by(template, fill->arguments, fill->argument_count) |
           named_by(template, &fill->border, 1) |
           named_by(template, fill->shape, fill->shape_count);
}

void dependencies_find(struct template *template)
{
    for (size_t i = 0; i < template->buffer_count; i++) { /* what fills a buffer is above it */
        struct buffer *buffer = &template->buffers[i];
        if (buffer->access != ACCESS_SCRATCH)
            buffer->depends = of_type(template, buffer->type) |
                              named_by(template, &buffer->length, 1) |
                              of_fill(template, &buffer->fill);
    }
    for (size_t i = 0; i < template->expectation_count; i++) {
        struct expectation *expectation = &template->expectations[i];
        expectation->depends = template->buffers[expectation->buffer].depends |
                               of_type(template, expectation->reference_type) |
                               of_fill(template, &expectation->fill) |
                               of_helper(template, &expectation->reference);
        expectation->tolerance_depends = named_by(template, &expectation->absolute, 1) |
                                         named_by(template, &expectation->relative, 1);
    }
    for (size_t i = 0; i < template->verifier_count; i++)
        template->verifiers[i].depends = of_helper(template, &template->verifiers[i].launch);
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
