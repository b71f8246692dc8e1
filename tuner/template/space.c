#include "template/space.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/interrupt.h"

#include <stdlib.h>
#include <string.h>

enum { DECISION_LIMIT = 1024 * 1024 }; /* decisions kept per constraint */

enum decision { UNDECIDED, SATISFIED, REJECTED };

/* A parameter that a constraint names, and its stride in the constraint's array of decisions. */
struct factor {
    size_t level;
    size_t stride;
};

/* A constraint, or one of the conditions that `and` joins in it, with its names resolved to pointers to
 * their values. */
struct bound_constraint {
    const struct expression *expression;
    struct bound_constraint *whole; /* the constraint that it is, or is a part of */
    const struct value **values;    /* into space->current or the fixed bindings */
    size_t level; /* evaluated when parameters 0 … level are bound; 0 if it names none */
    struct factor *factors;
    size_t factor_count;
    unsigned char *decisions; /* for each combination of the factors; NULL: too many to keep */
    size_t base;              /* index into decisions for the bound levels above `level` */
    size_t stride;            /* of `level` in that index */
    uint64_t rejected;        /* by the whole */
};

/* The constraints evaluated at a level, in the order given. */
struct level {
    struct bound_constraint **constraints;
    size_t count;
};

struct space {
    const struct template *template;
    const struct value_list *values;
    size_t level_count;
    size_t *indices;       /* of the current combination, one per level */
    struct value *current; /* its values */
    uint64_t *below;       /* number of combinations of the levels after each level */
    struct bound_constraint *constraints;
    size_t constraint_count;
    struct bound_constraint **parts; /* of constraints; each owns its expression */
    size_t part_count;
    struct level *levels;
    uint64_t points;
    uint64_t rejected;
    int64_t end_ns; /* space_limit() */
    size_t paused;  /* 1 + the level at which the enumeration goes on; 0: time has not ended it */
    bool started;
    bool ended;
};

/* Numbers of points are signed in the record and in JSON, so none is larger. */
static const uint64_t most_points = INT64_MAX;

static uint64_t multiply_saturated(uint64_t a, uint64_t b)
{
    uint64_t product;
    return __builtin_mul_overflow(a, b, &product) || product > most_points ? most_points : product;
}

static uint64_t add_saturated(uint64_t a, uint64_t b)
{
    return a > most_points - b ? most_points : a + b;
}

/* A constraint usually names few parameters, so it is evaluated once per combination of those and
 * the decision is kept. */
static void bind_constraint(const struct space *space, struct bound_constraint *constraint,
                            const struct expression *expression, const struct bindings *fixed)
{
    size_t count = expression_name_count(expression);
    uint64_t combinations = 1;
    constraint->expression = expression;
    constraint->values = alloc_zeroed(count, sizeof *constraint->values);
    for (size_t i = 0; i < count; i++) {
        const char *name = expression_name(expression, i);
        const struct parameter *parameter = template_parameter(space->template, name);
        if (parameter == NULL) {
            constraint->values[i] = bindings_find(fixed, name);
            continue;
        }
        size_t level = (size_t)(parameter - space->template->parameters);
        constraint->values[i] = &space->current[level];
        *ARRAY_APPEND(constraint->factors, constraint->factor_count) =
            (struct factor){level, combinations};
        if (level >= constraint->level) {
            constraint->level = level;
            constraint->stride = combinations;
        }
        combinations = multiply_saturated(combinations, space->values[level].count);
    }
    if (combinations <= DECISION_LIMIT)
        constraint->decisions = alloc_zeroed(combinations, 1);
}

static void release_constraint(struct bound_constraint *constraint)
{
    free(constraint->values);
    free(constraint->factors);
    free(constraint->decisions);
}

static void add_to_level(struct space *space, struct bound_constraint *constraint)
{
    struct level *level = &space->levels[constraint->level];
    *ARRAY_APPEND(level->constraints, level->count) = constraint;
}

/* Of `a and b`, each condition is evaluated as soon as its own names are bound. */
static void add_parts(struct space *space, struct bound_constraint *whole,
                      const struct expression *expression, const struct bindings *fixed)
{
    struct expression **conditions;
    size_t count = expression_conditions(expression, &conditions);
    for (size_t i = 0; i < count; i++) {
        struct bound_constraint *part = alloc_zeroed(1, sizeof *part);
        bind_constraint(space, part, conditions[i], fixed);
        part->whole = whole;
        *ARRAY_APPEND(space->parts, space->part_count) = part;
        if (!constraint_needs_stats(conditions[i]) &&
            (whole->expression == NULL || part->level < whole->level))
            add_to_level(space, part);
    }
    free(conditions);
}

/* One that needs statistics of the compiled kernel is not evaluated here; its other conditions are. */
static void add_constraint(struct space *space, struct bound_constraint *constraint,
                           const struct expression *expression, const struct bindings *fixed)
{
    constraint->whole = constraint;
    bool late = constraint_needs_stats(expression);
    if (!late)
        bind_constraint(space, constraint, expression, fixed);
    add_parts(space, constraint, expression, fixed);
    if (!late)
        add_to_level(space, constraint);
}

struct space *space_new(const struct template *template, const struct value_list *values,
                        const struct expression *const *constraints, size_t constraint_count,
                        const struct bindings *fixed)
{
    /* a template without parameters has one combination */
    static struct value nothing;
    static const struct value_list single = {.values = &nothing, .count = 1};
    struct space *space = alloc_zeroed(1, sizeof *space);
    size_t levels = template->parameter_count > 0 ? template->parameter_count : 1;
    space->template = template;
    space->values = values = template->parameter_count > 0 ? values : &single;
    space->level_count = levels;
    space->indices = alloc_zeroed(levels, sizeof *space->indices);
    space->current = alloc_zeroed(levels, sizeof *space->current);
    space->below = alloc_zeroed(levels, sizeof *space->below);
    space->points = 1;
    for (size_t i = levels; i-- > 0;) {
        space->below[i] = space->points;
        space->points = multiply_saturated(space->points, values[i].count);
    }
    space->constraint_count = constraint_count;
    space->constraints = alloc_zeroed(constraint_count, sizeof *space->constraints);
    space->levels = alloc_zeroed(levels, sizeof *space->levels);
    space->end_ns = INT64_MAX;
    for (size_t i = 0; i < constraint_count; i++)
        add_constraint(space, &space->constraints[i], constraints[i], fixed);
    return space;
}

void space_free(struct space *space)
{
    if (space == NULL)
        return;
    for (size_t i = 0; i < space->constraint_count; i++)
        release_constraint(&space->constraints[i]);
    for (size_t i = 0; i < space->part_count; i++) {
        expression_free((struct expression *)(uintptr_t)space->parts[i]->expression);
        release_constraint(space->parts[i]);
        free(space->parts[i]);
    }
    free(space->parts);
    for (size_t i = 0; i < space->level_count; i++)
        free(space->levels[i].constraints);
    free(space->levels);
    free(space->constraints);
    free(space->indices);
    free(space->current);
    free(space->below);
    free(space);
}

void space_limit(struct space *space, int64_t end_ns)
{
    space->end_ns = end_ns;
}

bool space_is_over(const struct space *space)
{
    return space->end_ns < INT64_MAX && clock_ns() >= space->end_ns;
}

/* Advances the deepest level that has a next value and sets `*level` to it; false at the end. */
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

/* The index of the constraint's first decision, given the bound levels above its own. */
static size_t decision_base(const struct space *space, const struct bound_constraint *constraint)
{
    size_t base = 0;
    for (size_t i = 0; i < constraint->factor_count; i++)
        if (constraint->factors[i].level != constraint->level)
            base += space->indices[constraint->factors[i].level] * constraint->factors[i].stride;
    return base;
}

/* Evaluates a constraint, or takes the kept decision: SATISFIED, REJECTED, or an error. */
static int decide_one(struct bound_constraint *constraint, size_t index, struct error *error)
{
    unsigned char *decision = NULL;
    if (constraint->decisions != NULL) {
        decision = &constraint->decisions[constraint->base + index * constraint->stride];
        if (*decision != UNDECIDED)
            return *decision;
    }
    bool holds;
    int status = expression_boolean_of(constraint->expression, constraint->values, &holds, error);
    if (status != 0 && constraint == constraint->whole)
        return status;
    if (status != 0) /* a condition before it may be false, and then it does not matter */
        holds = true;
    if (decision != NULL)
        *decision = holds ? SATISFIED : REJECTED;
    return holds ? SATISFIED : REJECTED;
}

/* Evaluates the constraints of level `number`: 1 if all are satisfied, 0 if one is not, or an
 * error. `entered` is true if the values of the levels above have changed since the last call. */
static int decide(struct space *space, size_t number, bool entered, struct error *error)
{
    const struct level *level = &space->levels[number];
    size_t index = space->indices[number];
    for (size_t i = 0; entered && i < level->count; i++)
        level->constraints[i]->base = decision_base(space, level->constraints[i]);
    for (size_t i = 0; i < level->count; i++) {
        struct bound_constraint *constraint = level->constraints[i];
        int decision = decide_one(constraint, index, error);
        if (decision < 0)
            return decision;
        if (decision == REJECTED) {
            uint64_t *rejected = &constraint->whole->rejected;
            *rejected = add_saturated(*rejected, space->below[number]);
            space->rejected = add_saturated(space->rejected, space->below[number]);
            return 0;
        }
    }
    return 1;
}

int space_bind(struct space *space, size_t index, size_t value, struct error *error)
{
    space->indices[index] = value;
    space->current[index] = space->values[index].values[value];
    return decide(space, index, true, error);
}

/* The next combination of the levels up to `last` that satisfies their constraints. */
static int skip_to(struct space *space, size_t last, struct error *error)
{
    size_t level = space->paused > 0 ? space->paused - 1 : last;
    bool entered = !space->started || space->paused > 0;
    if (space->ended || (!entered && !advance(space, &level))) {
        space->ended = true;
        return 0;
    }
    if (!space->started)
        level = 0;
    space->started = true;
    space->paused = 0;
    for (;;) { /* the levels above `level` are bound and satisfy their constraints */
        if (interrupt_requested())
            return error_set(error, ERROR_INTERRUPTED, "interrupted");
        if (space_is_over(space)) {
            space->paused = level + 1;
            return 0;
        }
        space->current[level] = space->values[level].values[space->indices[level]];
        int status = decide(space, level, entered, error);
        if (status < 0)
            return status;
        if (status == 1 && level == last)
            return 1;
        entered = status == 1;
        if (status == 1) {
            level++;
        } else if (!advance(space, &level)) {
            space->ended = true;
            return 0;
        }
    }
}

int space_skip(struct space *space, struct error *error)
{
    return skip_to(space, space->level_count - 1, error);
}

int space_count(struct space *space, uint64_t limit, uint64_t *count, struct error *error)
{
    int status;
    *count = 0;
    size_t last = space->level_count - 1; /* the deepest level that has a constraint */
    while (last > 0 && space->levels[last].count == 0)
        last--;
    while (*count <= limit && (status = skip_to(space, last, error)) != 0) {
        if (status < 0)
            return status;
        *count = add_saturated(*count, space->below[last]);
    }
    return 0;
}

int space_next(struct space *space, struct bindings *parameters, struct error *error)
{
    int status = space_skip(space, error);
    if (status != 1)
        return status;
    bindings_release(parameters);
    for (size_t i = 0; i < space->template->parameter_count; i++)
        bindings_set(parameters, space->template->parameters[i].name, space->current[i]);
    return 1;
}

size_t space_index(const struct space *space, size_t index)
{
    return space->indices[index];
}

const struct value *space_values(const struct space *space)
{
    return space->current;
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
