#include "search/search_space.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/interrupt.h"
#include "base/statistics.h"
#include "base/value.h"
#include "template/space.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

/* --- points --- */

void point_table_release(struct point_table *table)
{
    free(table->points);
    free(table->slots);
    *table = (struct point_table){.dimensions = table->dimensions};
}

static size_t point_bytes(const struct point_table *table)
{
    return table->dimensions * sizeof *table->points;
}

const uint32_t *point_table_at(const struct point_table *table, size_t position)
{
    return table->points + position * table->dimensions;
}

/* The slot that has the point, or the free one where it would go. */
static size_t *find_slot(const struct point_table *table, const uint32_t *point)
{
    size_t mask = table->slot_count - 1; /* the number of slots is a power of two */
    size_t slot = (size_t)XXH3_64bits(point, point_bytes(table)) & mask;
    while (table->slots[slot] != 0 &&
           memcmp(point_table_at(table, table->slots[slot] - 1), point, point_bytes(table)) != 0)
        slot = (slot + 1) & mask;
    return &table->slots[slot];
}

ptrdiff_t point_table_find(const struct point_table *table, const uint32_t *point)
{
    return table->count == 0 ? POINT_NONE : (ptrdiff_t)*find_slot(table, point) - 1;
}

/* Doubles the slots and the room for points; at most half of the slots are ever used. */
static void grow(struct point_table *table)
{
    table->slot_count = table->slot_count == 0 ? 16 : table->slot_count * 2;
    free(table->slots);
    table->slots = alloc_zeroed(table->slot_count, sizeof *table->slots);
    table->points = alloc_resize(table->points, table->slot_count / 2, point_bytes(table));
    for (size_t i = 0; i < table->count; i++)
        *find_slot(table, point_table_at(table, i)) = i + 1;
}

size_t point_table_add(struct point_table *table, const uint32_t *point)
{
    if (table->count * 2 == table->slot_count)
        grow(table);
    *find_slot(table, point) = table->count + 1;
    if (table->dimensions > 0)
        memcpy(table->points + table->count * table->dimensions, point, point_bytes(table));
    return table->count++;
}

/* --- the space --- */

enum {
    REJECTION_TRIES = 4096, /* draws by rejection in any case, to learn how many are accepted, … */
    REJECTION_RATE = 256,   /* and for as long as one of so many is */
    PROBES = 8,             /* points that a draw by probing chooses from, … */
    PROBE_TRIES = 1024      /* unless so many combinations had fewer */
};

/* A sweep's space, or a list of points. */
struct search_space {
    struct search_parameter *parameters;
    size_t dimensions;

    const struct template *template; /* NULL: a list of points */
    const struct value_list *values;
    const struct expression *const *constraints;
    size_t constraint_count;
    const struct bindings *fixed;
    struct space *bound;       /* for space_bind() */
    struct space *enumeration; /* NULL before its start */
    int64_t end_ns;            /* search_space_limit() */
    uint64_t tried, accepted;  /* draws by rejection */

    struct point_table points;
    size_t position; /* of the enumeration of `points` */
};

/* --- the two kinds --- */

static struct search_space *new_space(size_t dimensions, const struct value_list *values)
{
    struct search_space *space = alloc_zeroed(1, sizeof *space);
    space->dimensions = dimensions;
    space->end_ns = INT64_MAX;
    space->parameters = alloc_zeroed(dimensions, sizeof *space->parameters);
    for (size_t i = 0; i < dimensions; i++) {
        space->parameters[i].values = &values[i];
        space->parameters[i].ordered = true;
        for (size_t j = 0; j < values[i].count; j++)
            space->parameters[i].ordered =
                space->parameters[i].ordered && number_is(&values[i].values[j]);
    }
    return space;
}

static struct space *start(const struct search_space *space)
{
    return space_new(space->template, space->values, space->constraints, space->constraint_count,
                     space->fixed);
}

struct search_space *search_space_new(const struct template *template,
                                      const struct value_list *values,
                                      const struct expression *const *constraints,
                                      size_t constraint_count, const struct bindings *fixed)
{
    struct search_space *space = new_space(template->parameter_count, values);
    for (size_t i = 0; i < space->dimensions; i++)
        space->parameters[i].name = template->parameters[i].name;
    space->template = template;
    space->values = values;
    space->constraints = constraints;
    space->constraint_count = constraint_count;
    space->fixed = fixed;
    space->bound = start(space);
    return space;
}

struct search_space *search_space_of_points(size_t dimensions, const char *const *names,
                                            const struct value_list *values, const uint32_t *points,
                                            size_t count)
{
    struct search_space *space = new_space(dimensions, values);
    for (size_t i = 0; i < dimensions; i++)
        space->parameters[i].name = names[i];
    space->points.dimensions = dimensions;
    for (size_t i = 0; i < count; i++)
        if (point_table_find(&space->points, points + i * dimensions) == POINT_NONE)
            (void)point_table_add(&space->points, points + i * dimensions);
    return space;
}

void search_space_free(struct search_space *space)
{
    if (space == NULL)
        return;
    space_free(space->bound);
    space_free(space->enumeration);
    point_table_release(&space->points);
    free(space->parameters);
    free(space);
}

void search_space_limit(struct search_space *space, int64_t end_ns)
{
    space->end_ns = end_ns;
}

bool search_space_is_over(const struct search_space *space)
{
    return space->end_ns < INT64_MAX && clock_ns() >= space->end_ns;
}

size_t search_space_dimensions(const struct search_space *space)
{
    return space->dimensions;
}

const struct search_parameter *search_space_parameter(const struct search_space *space,
                                                      size_t index)
{
    return &space->parameters[index];
}

int search_space_has(struct search_space *space, const uint32_t *point, struct error *error)
{
    if (space->template == NULL)
        return point_table_find(&space->points, point) != POINT_NONE;
    for (size_t i = 0; i < space->dimensions; i++) {
        int status = space_bind(space->bound, i, point[i], error);
        if (status != 1)
            return status;
    }
    return 1;
}

/* --- drawing --- */

/* One combination at random, bound only as far as the constraints allow: 1 if it is a point, 0 if not. */
static int try_combination(struct space *space, const struct value_list *values, size_t dimensions,
                           uint64_t *random, uint32_t *point, struct error *error)
{
    int status = 1;
    for (size_t i = 0; i < dimensions && status == 1; i++) {
        point[i] = (uint32_t)random_below(random, values[i].count);
        status = space_bind(space, i, point[i], error);
    }
    return status;
}

/* Rejection, which is uniform. Returns 0 if it accepts too little. */
static int draw_by_rejection(struct search_space *space, uint64_t *random, uint32_t *point,
                             struct error *error)
{
    while (!search_space_is_over(space) &&
           (space->tried < REJECTION_TRIES || space->accepted > space->tried / REJECTION_RATE)) {
        int status =
            try_combination(space->bound, space->values, space->dimensions, random, point, error);
        space->tried++;
        space->accepted += status == 1 ? 1 : 0;
        if (status != 0)
            return status;
    }
    return 0;
}

/* A random way down the tree of partial combinations, by the values that the constraints allow given those before, and
 * the inverse of its probability: Knuth, Estimating the efficiency of backtrack programs, 1975. Returns 1, 0 at a dead
 * end, where the weight is 0, or an error. */
static int probe(struct space *space, const struct value_list *values, size_t dimensions,
                 uint64_t *random, uint32_t *point, double *weight, struct error *error)
{
    *weight = 1;
    for (size_t i = 0; i < dimensions; i++) {
        size_t allowed = 0;
        for (size_t value = 0; value < values[i].count; value++) {
            int status = space_bind(space, i, value, error);
            if (status < 0)
                return status;
            if (status == 1 && random_below(random, ++allowed) == 0)
                point[i] = (uint32_t)value;
        }
        *weight *= (double)allowed;
        int status = allowed == 0 ? 0 : space_bind(space, i, point[i], error);
        if (status != 1)
            return status;
    }
    return 1;
}

/* Some probes that were no dead ends, of which one is chosen by weight (importance resampling,
 * Rubin 1987). That leaves little of the probes' preference for sparse branches. */
static int draw_by_probing(struct search_space *space, uint64_t *random, uint32_t *point,
                           struct error *error)
{
    uint32_t *candidate = alloc_zeroed(space->dimensions, sizeof *candidate);
    double sum = 0;
    int status = 0;
    int found = 0;
    for (int i = 0;
         i < PROBE_TRIES && found < PROBES && status >= 0 && !search_space_is_over(space); i++) {
        double weight;
        status = probe(space->bound, space->values, space->dimensions, random, candidate, &weight,
                       error);
        if (status != 1)
            continue;
        found++;
        sum += weight;
        if (random_fraction(random) * sum < weight)
            memcpy(point, candidate, space->dimensions * sizeof *point);
    }
    free(candidate);
    return status < 0 ? status : found > 0;
}

/* Looks for a point depth first, from a random value of each parameter on: given time, it finds one if
 * there is one. */
static int draw_by_backtracking(struct search_space *space, uint64_t *random, uint32_t *point,
                                struct error *error)
{
    size_t *tried = alloc_zeroed(space->dimensions, sizeof *tried); /* values, of each parameter */
    size_t level = 0;
    int status = 0;
    while (status == 0 && !search_space_is_over(space)) {
        size_t count = space->values[level].count;
        if (tried[level] == count && level == 0)
            break;
        if (tried[level] == count) {
            tried[level--] = 0;
            continue;
        }
        if (interrupt_requested()) {
            status = error_set(error, ERROR_INTERRUPTED, "interrupted");
            break;
        }
        point[level] = (uint32_t)(tried[level] == 0 ? random_below(random, count)
                                                    : (point[level] + 1) % count);
        tried[level]++;
        status = space_bind(space->bound, level, point[level], error);
        if (status == 1 && level + 1 < space->dimensions) {
            level++;
            status = 0;
        }
    }
    free(tried);
    return status;
}

int search_space_draw(struct search_space *space, uint64_t *random, uint32_t *point,
                      struct error *error)
{
    if (space->template == NULL) {
        if (space->points.count == 0)
            return 0;
        const uint32_t *drawn =
            point_table_at(&space->points, random_below(random, space->points.count));
        memcpy(point, drawn, space->dimensions * sizeof *point);
        return 1;
    }
    if (space->dimensions == 0) { /* one variant, subject to its constraints */
        struct space *only = start(space);
        int there = space_skip(only, error);
        space_free(only);
        return there;
    }
    int status = draw_by_rejection(space, random, point, error);
    if (status == 0)
        status = draw_by_probing(space, random, point, error);
    return status != 0 ? status : draw_by_backtracking(space, random, point, error);
}

/* --- enumerating --- */

int search_space_next(struct search_space *space, uint32_t *point, struct error *error)
{
    if (space->template == NULL) {
        if (space->position == space->points.count)
            return 0;
        const uint32_t *next = point_table_at(&space->points, space->position++);
        if (space->dimensions > 0)
            memcpy(point, next, space->dimensions * sizeof *point);
        return 1;
    }
    if (space->enumeration == NULL)
        space->enumeration = start(space);
    space_limit(space->enumeration, space->end_ns);
    int status = space_skip(space->enumeration, error);
    for (size_t i = 0; i < space->dimensions && status == 1; i++)
        point[i] = (uint32_t)space_index(space->enumeration, i);
    return status;
}

void search_space_rewind(struct search_space *space)
{
    space_free(space->enumeration);
    space->enumeration = NULL;
    space->position = 0;
    space->tried = space->accepted = 0;
}

/* --- points and values --- */

void search_space_bindings(const struct search_space *space, const uint32_t *point,
                           struct bindings *parameters)
{
    bindings_release(parameters);
    for (size_t i = 0; i < space->dimensions; i++)
        bindings_set(parameters, space->parameters[i].name,
                     space->parameters[i].values->values[point[i]]);
}

bool search_space_point(const struct search_space *space, const struct bindings *parameters,
                        uint32_t *point)
{
    for (size_t i = 0; i < space->dimensions; i++) {
        const struct value *value = bindings_find(parameters, space->parameters[i].name);
        const struct value_list *list = space->parameters[i].values;
        point[i] = 0;
        while (value != NULL && point[i] < list->count &&
               !value_equal(list->values[point[i]], *value))
            point[i]++;
        if (value == NULL || point[i] == list->count)
            return false;
    }
    return true;
}

/* --- how large it is --- */

enum {
    DRAWS = 20000,
    DRAWS_LEAST = 1000, /* however little time there is */
    ACCEPTED = 200,     /* of them, for an estimate to 10 % or so */
    SIZE_PROBES = 2000,
    PROBED_VALUES = 1000000 /* by all probes together */
};

static int estimate_by_probes(struct space *space, const struct value_list *values,
                              size_t dimensions, uint64_t *random, uint32_t *point, double *size,
                              struct error *error)
{
    size_t probes = 0;
    size_t probed = 0;
    *size = 0;
    for (; probes < SIZE_PROBES && probed < PROBED_VALUES && (probes == 0 || !space_is_over(space));
         probes++) {
        double weight;
        int status = probe(space, values, dimensions, random, point, &weight, error);
        if (status < 0)
            return status;
        *size += weight;
        for (size_t i = 0; i < dimensions; i++)
            probed += values[i].count;
    }
    *size /= (double)probes;
    return 0;
}

int space_size_estimate(struct space *space, const struct value_list *values, size_t dimensions,
                        double *size, struct error *error)
{
    uint64_t random = UINT64_C(0x9e3779b97f4a7c15);
    uint32_t *point = alloc_zeroed(dimensions, sizeof *point);
    size_t accepted = 0;
    int drawn = 0;
    int status = 0;
    for (; status >= 0 && drawn < DRAWS && (drawn < DRAWS_LEAST || !space_is_over(space));
         drawn++) {
        status = interrupt_requested()
                     ? error_set(error, ERROR_INTERRUPTED, "interrupted")
                     : try_combination(space, values, dimensions, &random, point, error);
        accepted += status == 1;
    }
    *size = (double)space_points(space) * (double)accepted / drawn;
    status = status < 0 ? status : 0;
    if (status == 0 && accepted < ACCEPTED && !space_is_over(space))
        status = estimate_by_probes(space, values, dimensions, &random, point, size, error);
    free(point);
    return status;
}
