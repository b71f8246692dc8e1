#include "loaded.h"

#include "base/alloc.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SCALARS = 64 }; /* bits of a mask */

/* --- what depends on a number of the problem --- */

static bool map_uses(const struct tensor_map_options *map, const char *name)
{
    return any_depends(map->dimensions, TENSOR_RANK, name) ||
           any_depends(map->box, TENSOR_RANK, name) ||
           any_depends(map->strides, TENSOR_RANK, name) ||
           any_depends(map->steps, TENSOR_RANK, name) || expression_depends(map->swizzle, name) ||
           expression_depends(map->interleave, name) || expression_depends(map->l2, name);
}

/* What of an argument, besides its scalars, depends on it; NULL: nothing. */
/* NOLINTNEXTLINE(misc-no-recursion): structs nest to a limited depth */
static const char *object_uses(const struct argument *argument, const char *name)
{
    const char *found = NULL;
    if (argument->kind == ARGUMENT_SCALAR)
        return NULL;
    if (argument->tensor_map != NULL && map_uses(argument->tensor_map, name))
        return "tensor map";
    if (expression_depends(argument->expression, name) || any_depends(argument->extents, 2, name) ||
        expression_depends(argument->part, name))
        return "choice of buffers";
    for (size_t i = 0; i < argument->field_count && found == NULL; i++)
        found = object_uses(&argument->fields[i], name);
    return found;
}

static bool loop_depends(const struct loop *loop, const char *name)
{
    return expression_depends(loop->from, name) || expression_depends(loop->condition, name) ||
           expression_depends(loop->next, name);
}

/* What of a launch depends on it, besides scalar arguments; NULL: nothing. */
static const char *launch_uses(const struct launch *launch, const char *name)
{
    const struct {
        struct expression *const *expressions;
        size_t count;
        const char *what;
    } keys[] = {{&launch->when, 1, "condition"},
                {launch->grid, launch->grid_count, "grid"},
                {launch->block, launch->block_count, "block"},
                {&launch->shared_bytes, 1, "shared memory"},
                {&launch->cooperative, 1, "kind"},
                {&launch->co_resident, 1, "kind"},
                {launch->cluster, launch->cluster_count, "cluster"},
                {&launch->programmatic, 1, "kind"},
                {&launch->cluster_scheduling, 1, "scheduling"},
                {&launch->shared_carveout, 1, "carve-out"}};
    bool loops = loop_depends(&launch->loop, name);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (any_depends(keys[i].expressions, keys[i].count, name))
            return keys[i].what;
    for (const struct loop *loop = launch->outer; loop != NULL; loop = loop->outer)
        loops = loops || loop_depends(loop, name);
    if (loops)
        return "loop";
    for (size_t i = 0; i < launch->argument_count; i++) {
        const char *what = object_uses(&launch->arguments[i], name);
        if (what != NULL)
            return what;
    }
    return NULL;
}

static bool is_compiled(const struct template *template, const struct parameter *value)
{
    bool compiled = value->compiled || template_compiles_in(template, value->name);
    for (size_t i = 0; i < template->precompiled_count; i++)
        compiled = compiled || expression_uses(template->precompiled[i].when, value->name);
    return compiled;
}

/* What depends on a number, besides scalar arguments, as the end of a message: "the grid of launch
 * 'good' depends on it". NULL: nothing. */
static const char *obstacle_to(const struct template *template, const struct parameter *value,
                               char text[160])
{
    if (is_compiled(template, value))
        return "the compiled code depends on it";
    for (size_t i = 0; i < template->constraint_count; i++)
        if (expression_depends(template->constraints[i], value->name))
            return "a constraint depends on it";
    for (size_t i = 0; i < template->buffer_count; i++) {
        const struct buffer *buffer = &template->buffers[i];
        const struct fill *fill = &buffer->fill;
        bool fills = buffer->access == ACCESS_SCRATCH &&
                     (any_depends(fill->arguments, fill->argument_count, value->name) ||
                      any_depends(fill->shape, fill->shape_count, value->name) ||
                      expression_depends(fill->border, value->name));
        if (!fills && !expression_depends(buffer->length, value->name))
            continue;
        (void)snprintf(text, 160,
                       fills ? "the contents of buffer '%.50s' depend on it"
                             : "the length of buffer '%.50s' depends on it",
                       buffer->name);
        return text;
    }
    for (size_t i = 0; i < template->launch_count; i++) {
        const char *what = launch_uses(&template->launches[i], value->name);
        if (what == NULL)
            continue;
        (void)snprintf(text, 160, "the %s of launch '%.50s' depends on it", what,
                       template->launches[i].name);
        return text;
    }
    return NULL;
}

/* --- finding --- */

/* The names that arguments see at a launch: what is given, the grids of launches, and the kernel's
 * own values. In a loop, the grids were those of the iteration, which only the plan knew. */
struct names {
    struct scope fixed, parameters, launches, given;
};

static const struct scope *link_names(const struct loaded_kernel *kernel, size_t step,
                                      const struct bindings *given, struct names *names)
{
    const bool looped = kernel->launch_plan.steps[step].launch->outer != NULL;
    names->fixed = (struct scope){&kernel->fixed, NULL};
    names->parameters = (struct scope){&kernel->parameters, &names->fixed};
    names->launches = (struct scope){&kernel->launch_plan.names, &names->parameters};
    names->given = (struct scope){given, looped ? &names->parameters : &names->launches};
    return &names->given;
}

static uint64_t scalars_of(const struct scalars *scalars, const struct argument *argument)
{
    uint64_t mask = 0;
    for (size_t i = 0; i < scalars->count; i++)
        if (expression_depends(argument->expression, scalars->values[i].name))
            mask |= (uint64_t)1 << i;
    return mask;
}

/* Adds the places of an argument. False if it cannot be evaluated again, because it depends on what
 * only the plan knew: the loop of its launch, or figures of the compiled kernel. */
static bool add_place(struct loaded_kernel *kernel, struct scalar_place place)
{
    static const struct bindings none = {0};
    struct scalars *scalars = &kernel->scalars;
    unsigned char bytes[SCALAR_BYTES];
    struct names names;
    struct error ignored;
    place.uses = scalars_of(scalars, place.scalar);
    if (place.uses == 0)
        return true;
    *ARRAY_APPEND(scalars->places, scalars->place_count) = place;
    return step_argument_scalar(kernel->template, kernel->launch_plan.steps[place.step].launch,
                                place.scalar, link_names(kernel, place.step, &none, &names), bytes,
                                &ignored) == 0;
}

/* The scalars of an argument, or of a member of one, that cannot be evaluated again; 0 if there are none. `place` says
 * where it is. */
/* NOLINTNEXTLINE(misc-no-recursion): structs nest to a limited depth */
static uint64_t add_places(struct loaded_kernel *kernel, const struct argument *argument,
                           struct scalar_place place)
{
    uint64_t lost = 0;
    place.scalar = argument;
    if (argument->kind == ARGUMENT_SCALAR && !add_place(kernel, place))
        lost = scalars_of(&kernel->scalars, argument);
    for (size_t i = 0; argument->kind != ARGUMENT_POINTERS && i < argument->field_count; i++) {
        struct scalar_place inner = place;
        inner.offset += argument->fields[i].offset;
        lost |= add_places(kernel, &argument->fields[i], inner);
    }
    return lost;
}

static struct tuned_value as_tuned(const struct loaded_kernel *kernel, const char *name)
{
    const struct value *value = bindings_find(&kernel->fixed, name);
    return value->kind == VALUE_INTEGER ? tuned_integer(name, value->as.integer)
                                        : tuned_real(name, value->as.real);
}

/* Lists the candidates: numbers on which nothing depends that is made before a launch. */
static void list_scalars(struct loaded_kernel *kernel)
{
    const struct template *template = kernel->template;
    struct scalars *scalars = &kernel->scalars;
    char text[160];
    scalars->values = alloc_zeroed(template->problem_count, sizeof *scalars->values);
    for (size_t i = 0; i < template->problem_count && scalars->count < SCALARS; i++) {
        const struct parameter *value = &template->problem[i];
        if (value->fallback.kind != VALUE_WORD && obstacle_to(template, value, text) == NULL)
            scalars->values[scalars->count++] = as_tuned(kernel, value->name);
    }
}

/* Keeps the scalars that are in a mask. */
static void keep_scalars(struct scalars *scalars, uint64_t mask)
{
    size_t kept = 0;
    for (size_t i = 0; i < scalars->count; i++)
        if ((mask >> i & 1) != 0)
            scalars->values[kept++] = scalars->values[i];
    scalars->count = kept;
    scalars->place_count = 0;
}

/* Finds all places; returns the scalars that some argument uses and each can be evaluated again. */
static uint64_t find_places(struct loaded_kernel *kernel)
{
    const struct launch_plan *plan = &kernel->launch_plan;
    uint64_t lost = 0;
    uint64_t used = 0;
    for (size_t i = 0; i < plan->step_count; i++)
        for (size_t j = 0; j < plan->steps[i].argument_count; j++)
            lost |= add_places(kernel, &plan->steps[i].launch->arguments[j],
                               (struct scalar_place){.step = i, .argument = j});
    for (size_t i = 0; i < kernel->scalars.place_count; i++)
        used |= kernel->scalars.places[i].uses;
    return used & ~lost;
}

void scalars_find(struct loaded_kernel *kernel)
{
    list_scalars(kernel);
    keep_scalars(&kernel->scalars, find_places(kernel));
    (void)find_places(kernel);
    kernel->public.scalars = kernel->scalars.values;
    kernel->public.scalar_count = kernel->scalars.count;
}

void scalars_release(struct scalars *scalars)
{
    free(scalars->values);
    free(scalars->places);
}

/* --- launching --- */

static int refuse_scalar(const struct loaded_kernel *kernel, const char *name,
                         struct tuned_error *error)
{
    char text[160];
    const struct parameter *value =
        name != NULL ? template_problem_value(kernel->template, name) : NULL;
    if (value == NULL)
        return kernels_refuse(error, TUNED_INVALID, "'%s' is not a value of the problem of '%s'",
                              name != NULL ? name : "", kernel->template->name);
    const char *obstacle = value->fallback.kind == VALUE_WORD
                               ? "it is a word"
                               : obstacle_to(kernel->template, value, text);
    return kernels_refuse(error, TUNED_INVALID,
                          "'%s' cannot be given at a launch: %s; get another kernel for it", name,
                          obstacle != NULL ? obstacle
                                           : "no argument of this variant's launches is computed "
                                             "from it and the problem alone");
}

int scalars_give(const struct loaded_kernel *kernel, const struct tuned_value *values, size_t count,
                 struct given *given, struct tuned_error *error)
{
    const struct scalars *scalars = &kernel->scalars;
    given->mask = 0;
    given->bindings = (struct bindings){given->items, 0};
    for (size_t i = 0; i < count; i++) {
        size_t index = 0;
        while (index < scalars->count &&
               (values[i].name == NULL || strcmp(scalars->values[index].name, values[i].name) != 0))
            index++;
        if (index == scalars->count)
            return refuse_scalar(kernel, values[i].name, error);
        if (values[i].kind != TUNED_INTEGER && values[i].kind != TUNED_REAL)
            return kernels_refuse(error, TUNED_INVALID, "scalar '%s' is a number", values[i].name);
        if ((given->mask >> index & 1) != 0)
            return kernels_refuse(error, TUNED_INVALID, "scalar '%s' is given twice",
                                  values[i].name);
        given->mask |= (uint64_t)1 << index;
        given->items[given->bindings.count++] =
            (struct binding){(char *)scalars->values[index].name, /* only looked up */
                             values[i].kind == TUNED_INTEGER ? value_integer(values[i].integer)
                                                             : value_real(values[i].real)};
    }
    return 0;
}

int scalars_store(const struct loaded_kernel *kernel, const struct scalar_place *place,
                  const struct given *given, unsigned char *bytes, struct tuned_error *error)
{
    struct names names;
    struct error inner;
    int status = step_argument_scalar(
        kernel->template, kernel->launch_plan.steps[place->step].launch, place->scalar,
        link_names(kernel, place->step, &given->bindings, &names), bytes, &inner);
    return status == 0 ? 0 : kernels_fail(&inner, TUNED_INVALID, error);
}
