#include "space.h"

#include "alloc.h"

#include <stdlib.h>
#include <string.h>

/* A constraint with its names resolved to where their values will be. */
struct bound_constraint {
    const struct expression *expression;
    const struct value **values; /* into space->current or the fixed bindings */
    size_t level; /* decided when parameters 0 … level are bound; 0 also without any */
    uint64_t rejected;
};

struct space {
    const struct template *template;
    const struct value_list *values;
    size_t level_count;
    size_t *indices;       /* of the combination now bound */
    struct value *current; /* its values */
    uint64_t *below;       /* combinations of the levels after each */
    struct bound_constraint *constraints;
    size_t constraint_count;
    uint64_t points;
    uint64_t rejected;
    bool started;
    bool ended;
};

static uint64_t multiply_saturated(uint64_t a, uint64_t b)
{
    uint64_t product;
    return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

static uint64_t add_saturated(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* Where the value of `name` will be; raises `*level` to its parameter's. */
static const struct value *resolve(const struct space *space, const struct bindings *fixed,
                                   const char *name, size_t *level)
{
    for (size_t i = 0; i < space->level_count; i++) {
        if (strcmp(space->template->parameters[i].name, name) == 0) {
            *level = i > *level ? i : *level;
            return &space->current[i];
        }
    }
    return bindings_find(fixed, name);
}

static void bind_constraint(struct space *space, const struct expression *expression,
                            const struct bindings *fixed)
{
    struct bound_constraint *constraint = ARRAY_APPEND(space->constraints, space->constraint_count);
    size_t count = expression_name_count(expression);
    constraint->expression = expression;
    constraint->values = alloc_zeroed(count, sizeof *constraint->values);
    for (size_t i = 0; i < count; i++)
        constraint->values[i] =
            resolve(space, fixed, expression_name(expression, i), &constraint->level);
}

struct space *space_new(const struct template *template, const struct value_list *values,
                        const struct expression *const *constraints, size_t constraint_count,
                        const struct bindings *fixed)
{
    struct space *space = alloc_zeroed(1, sizeof *space);
    size_t levels = template->parameter_count;
    space->template = template;
    space->values = values;
    space->level_count = levels;
    space->indices = alloc_zeroed(levels, sizeof *space->indices);
    space->current = alloc_zeroed(levels, sizeof *space->current);
    space->below = alloc_zeroed(levels, sizeof *space->below);
    space->points = 1;
    for (size_t i = levels; i-- > 0;) {
        space->below[i] = space->points;
        space->points = multiply_saturated(space->points, values[i].count);
    }
    for (size_t i = 0; i < constraint_count; i++)
        if (!constraint_needs_figures(constraints[i]))
            bind_constraint(space, constraints[i], fixed);
    return space;
}

void space_free(struct space *space)
{
    if (space == NULL)
        return;
    for (size_t i = 0; i < space->constraint_count; i++)
        free(space->constraints[i].values);
    free(space->constraints);
    free(space->indices);
    free(space->current);
    free(space->below);
    free(space);
}

/* Moves `*level` to the deepest level whose value can advance, and advances it; false at the end.
 */
static bool advance(struct space *space, size_t *level)
{
    for (size_t i = *level + 1; i-- > 0;) {
        if (++space->indices[i] < space->values[i].count) {
            *level = i;
            return true;
        }
        space->indices[i] = 0;
    }
    return false;
}

/* Decides the constraints of `level`: 1 passed, 0 refused, or an error. */
static int decide(struct space *space, size_t level, struct error *error)
{
    for (size_t i = 0; i < space->constraint_count; i++) {
        struct bound_constraint *constraint = &space->constraints[i];
        bool holds;
        if (constraint->level != level)
            continue;
        int status =
            expression_boolean_of(constraint->expression, constraint->values, &holds, error);
        if (status != 0)
            return status;
        if (!holds) {
            constraint->rejected = add_saturated(constraint->rejected, space->below[level]);
            space->rejected = add_saturated(space->rejected, space->below[level]);
            return 0;
        }
    }
    return 1;
}

/* A template without parameters has one variant, subject to its constraints. */
static int next_of_none(struct space *space, struct error *error)
{
    if (space->started)
        return 0;
    space->started = true;
    for (size_t i = 0; i < space->constraint_count; i++) {
        bool holds;
        int status = expression_boolean_of(space->constraints[i].expression,
                                           space->constraints[i].values, &holds, error);
        if (status != 0)
            return status;
        if (!holds) {
            space->constraints[i].rejected = space->rejected = 1;
            return 0;
        }
    }
    return 1;
}

int space_skip(struct space *space, struct error *error)
{
    if (space->level_count == 0)
        return next_of_none(space, error);
    size_t level = space->level_count - 1;
    if (space->ended || (space->started && !advance(space, &level))) {
        space->ended = true;
        return 0;
    }
    if (!space->started)
        level = 0;
    space->started = true;
    for (;;) { /* levels above `level` are bound and hold */
        space->current[level] = space->values[level].values[space->indices[level]];
        int status = decide(space, level, error);
        if (status < 0)
            return status;
        if (status == 1 && level + 1 == space->level_count)
            return 1;
        if (status == 1) {
            level++;
        } else if (!advance(space, &level)) {
            space->ended = true;
            return 0;
        }
    }
}

int space_next(struct space *space, struct bindings *parameters, struct error *error)
{
    int status = space_skip(space, error);
    if (status != 1)
        return status;
    bindings_release(parameters);
    for (size_t i = 0; i < space->level_count; i++)
        bindings_set(parameters, space->template->parameters[i].name, space->current[i]);
    return 1;
}

uint64_t space_points(const struct space *space)
{
    return space->points;
}

uint64_t space_rejected(const struct space *space)
{
    return space->rejected;
}

uint64_t space_rejected_by(const struct space *space, size_t index)
{
    return space->constraints[index].rejected;
}
