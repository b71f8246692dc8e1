#include "template/unlaunched.h"

#include "template/expression.h"
#include "template/helpers.h"

#include <stdlib.h>
#include <string.h>

static bool has_symbols(const struct template *template)
{
    for (size_t i = 0; i < template->buffer_count; i++)
        if (template->buffers[i].symbol != NULL)
            return true;
    return false;
}

static void add_helpers(struct names *names, const struct template *template)
{
    struct helper helper;
    for (size_t i = 0; template_helper(template, i, &helper); i++)
        if (!names_have(names->items, helper.launch->entry))
            names_add(names, helper.launch->entry);
}

static bool is_defined(const struct template *template, const struct parameter *parameter)
{
    for (size_t i = 0; i < template->definition_count; i++)
        if (strcmp(template->definitions[i].name, parameter->name) == 0)
            return true;
    return parameter->compiled;
}

/* Copies the values that the compiler gets. */
static void add_defined(struct bindings *defined, const struct template *template,
                        const struct parameter *parameters, size_t count,
                        const struct bindings *values)
{
    for (size_t i = 0; i < count; i++) {
        const struct value *value = bindings_find(values, parameters[i].name);
        if (value != NULL && is_defined(template, &parameters[i]))
            bindings_set(defined, parameters[i].name, *value);
    }
}

/* Adds the entries of the launches that the variant has, or may have. */
static void add_launched(struct names *names, const struct template *template,
                         const struct bindings *defined)
{
    const struct scope scope = {defined, NULL};
    for (size_t i = 0; i < template->launch_count; i++) {
        const struct launch *launch = &template->launches[i];
        bool active = true;
        if (launch->when != NULL && expression_boolean(launch->when, &scope, &active, NULL) != 0)
            active = true;
        if (active)
            names_add(names, launch->entry);
    }
}

static void add_launches(struct names *names, const struct template *template)
{
    for (size_t i = 0; i < template->launch_count; i++)
        if (!names_have(names->items, template->launches[i].entry))
            names_add(names, template->launches[i].entry);
}

/* Those of `all` that are not in `launched`; releases both. A condition such as #ifdef would change
 * with the macro that hides its name (compile/nvrtc_program.c), so that one is left out, too. */
static struct names difference(const struct template *template, struct names *all,
                               struct names *launched)
{
    struct names rest = {0};
    for (size_t i = 0; i + 1 < all->count; i++)
        if (!names_have(launched->items, all->items[i]) &&
            !directive_names_have(&template->source.directive_names, all->items[i]))
            names_add(&rest, all->items[i]);
    free(all->items);
    free(launched->items);
    return rest;
}

struct names unlaunched_by_variant(const struct template *template,
                                   const struct bindings *parameters,
                                   const struct bindings *problem)
{
    struct names all = {0};
    struct names launched = {0};
    struct bindings defined = {0};
    if (has_symbols(template))
        return all;
    add_helpers(&all, template);
    add_launches(&all, template);
    add_defined(&defined, template, template->parameters, template->parameter_count, parameters);
    add_defined(&defined, template, template->problem, template->problem_count, problem);
    add_launched(&launched, template, &defined);
    bindings_release(&defined);
    return difference(template, &all, &launched);
}

struct names unlaunched_by_helpers(const struct template *template)
{
    struct names all = {0};
    struct names launched = {0};
    if (has_symbols(template))
        return all;
    add_helpers(&launched, template);
    for (size_t i = 0; i < template->name_expression_count; i++)
        names_add(&launched, template->name_expressions[i]);
    add_launches(&all, template);
    return difference(template, &all, &launched);
}
