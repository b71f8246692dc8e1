#include "template/dependencies.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

bool any_depends(struct expression *const *expressions, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (expression_depends(expressions[i], name))
            return true;
    return false;
}

bool is_compiled_in(const struct template *template, const char *name)
{
    bool compiled = expression_depends(template->max_registers, name) ||
                    expression_depends(template->features, name);
    for (size_t i = 0; i < template->definition_count; i++)
        compiled = compiled || strcmp(template->definitions[i].name, name) == 0;
    for (size_t i = 0; i < template->option_count; i++)
        compiled = compiled || expression_depends(template->options[i].value, name);
    return compiled;
}

/* Of a launch's argument; `buffers` says which buffers depend on the parameter. */
static bool argument_depends(const struct template *template, const struct argument *argument,
                             const bool *buffers, const char *name)
{
    if (expression_depends(argument->expression, name) || any_depends(argument->extents, 2, name))
        return true;
    for (size_t i = 0; i < argument->field_count; i++)
        if (expression_depends(argument->fields[i].expression, name) ||
            expression_depends(argument->fields[i].part, name))
            return true;
    for (size_t i = 0; i < template->buffer_count; i++)
        if (buffers[i] && argument_uses_buffer(argument, template->buffers[i].name))
            return true;
    return false;
}

/* Variables of the source are filled for every helper, which may read them without an argument. */
static bool any_symbol(const struct template *template, const bool *buffers)
{
    bool any = false;
    for (size_t i = 0; i < template->buffer_count; i++)
        any = any || (buffers[i] && template->buffers[i].symbol != NULL);
    return any;
}

static bool launch_depends(const struct template *template, const struct launch *helper,
                           const bool *buffers, const char *name)
{
    if (any_depends(helper->grid, helper->grid_count, name) ||
        any_depends(helper->block, helper->block_count, name) ||
        expression_depends(helper->shared_bytes, name) || any_symbol(template, buffers))
        return true;
    for (size_t i = 0; i < helper->argument_count; i++)
        if (argument_depends(template, &helper->arguments[i], buffers, name))
            return true;
    return false;
}

bool fill_depends(const struct fill *fill, const char *name)
{
    return any_depends(fill->arguments, fill->argument_count, name) ||
           expression_depends(fill->border, name) ||
           any_depends(fill->shape, fill->shape_count, name);
}

/* Of each buffer, in the file's order: what fills a buffer is above it. Free it. */
static bool *find_buffers(const struct template *template, const char *name)
{
    bool *buffers = alloc_zeroed(template->buffer_count, sizeof *buffers);
    for (size_t i = 0; i < template->buffer_count; i++) {
        const struct buffer *own = &template->buffers[i];
        if (own->access != ACCESS_SCRATCH)
            buffers[i] = strcmp(own->type, name) == 0 || expression_depends(own->length, name) ||
                         fill_depends(&own->fill, name) ||
                         (own->fill.kind == FILL_KERNEL &&
                          launch_depends(template, own->fill.kernel, buffers, name));
    }
    return buffers;
}

static bool helper_depends(const struct template *template, const struct launch *helper,
                           const char *name)
{
    bool *buffers = find_buffers(template, name);
    bool depends = launch_depends(template, helper, buffers, name);
    free(buffers);
    return depends;
}

bool buffer_depends_on(const struct template *template, size_t buffer, const char *parameter)
{
    bool *buffers = find_buffers(template, parameter);
    bool depends = buffers[buffer];
    free(buffers);
    return depends;
}

bool expectation_depends_on(const struct template *template, size_t expectation,
                            const char *parameter)
{
    const struct expectation *own = &template->expectations[expectation];
    return buffer_depends_on(template, own->buffer, parameter) ||
           (own->reference_type != NULL && strcmp(own->reference_type, parameter) == 0) ||
           fill_depends(&own->fill, parameter) ||
           helper_depends(template, &own->reference, parameter);
}

bool contents_depend_on(const struct template *template, const char *parameter)
{
    for (size_t i = 0; i < template->buffer_count; i++)
        if (buffer_depends_on(template, i, parameter))
            return true;
    for (size_t i = 0; i < template->expectation_count; i++)
        if (expectation_depends_on(template, i, parameter))
            return true;
    return false;
}

static bool tolerance_depends_on(const struct template *template, size_t expectation,
                                 const char *parameter)
{
    return expression_depends(template->expectations[expectation].absolute, parameter) ||
           expression_depends(template->expectations[expectation].relative, parameter);
}

static bool verifier_depends_on(const struct template *template, size_t verifier,
                                const char *parameter)
{
    return helper_depends(template, &template->verifiers[verifier].launch, parameter);
}

bool verdict_depends_on(const struct template *template, const char *parameter)
{
    bool depends = contents_depend_on(template, parameter);
    for (size_t i = 0; i < template->expectation_count && !depends; i++)
        depends = tolerance_depends_on(template, i, parameter);
    for (size_t i = 0; i < template->verifier_count && !depends; i++)
        depends = verifier_depends_on(template, i, parameter);
    return depends;
}

static bool is_dependent(const struct template *template, size_t index,
                         bool (*depends_on)(const struct template *template, size_t index,
                                            const char *parameter))
{
    for (size_t i = 0; i < template->parameter_count; i++)
        if (depends_on(template, index, template->parameters[i].name))
            return true;
    return false;
}

bool buffer_is_dependent(const struct template *template, size_t buffer)
{
    return is_dependent(template, buffer, buffer_depends_on);
}

bool expectation_is_dependent(const struct template *template, size_t expectation)
{
    return is_dependent(template, expectation, expectation_depends_on);
}

bool tolerance_is_dependent(const struct template *template, const struct expectation *expectation)
{
    return is_dependent(template, (size_t)(expectation - template->expectations),
                        tolerance_depends_on);
}

bool verifier_is_dependent(const struct template *template, size_t verifier)
{
    return is_dependent(template, verifier, verifier_depends_on);
}
