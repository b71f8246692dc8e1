/*
 * Distinct points in the order they were added, each found by its content. A point is an array of
 * value indices, one per parameter of a space. An empty table takes no memory; a full one, about
 * 8 bytes per point more than the points themselves.
 */
#ifndef AUTOTUNE_SEARCH_SPACE_H
#define AUTOTUNE_SEARCH_SPACE_H

#include "base/error.h"
#include "template/space.h"
#include "template/template.h"
#include "template/value.h"
#include "template/value_list.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Initialise with the number of indices per point and zeros: {.dimensions = 5}. */
struct point_table {
    size_t dimensions;
    uint32_t *points; /* `dimensions` indices per point */
    size_t count;
    size_t *slots; /* open addressing: position + 1, 0 if free */
    size_t slot_count;
};

enum { POINT_NONE = -1 };

void point_table_release(struct point_table *table);

/* The point at a position; borrowed until the next addition. */
const uint32_t *point_table_at(const struct point_table *table, size_t position);

/* The position of a point, or POINT_NONE. */
ptrdiff_t point_table_find(const struct point_table *table, const uint32_t *point);

/* Adds a copy of a point that the table does not have, and returns its position. */
size_t point_table_add(struct point_table *table, const uint32_t *point);

/*
 * The points that a search may propose: every combination of a sweep's values that satisfies its
 * constraints, or a list of points. The former is never enumerated to begin with; a space of 10^9
 * points costs no more than its lists and constraints.
 *
 * A point is an array of value indices, one per parameter: parameter i has the value
 * search_space_parameter(space, i)->values->values[point[i]].
 */

struct search_parameter {
    const char *name;
    const struct value_list *values;
    bool ordered; /* all of its values are numbers */
};

struct search_space;

/*
 * The space of a sweep's kernel on one problem: `values[i]` lists the values of
 * template->parameters[i]; `fixed` binds problem values and device attributes. Constraints on the
 * compiled kernel are ignored. All arguments are borrowed until search_space_free().
 */
struct search_space *search_space_new(const struct template *template,
                                      const struct value_list *values,
                                      const struct expression *const *constraints,
                                      size_t constraint_count, const struct bindings *fixed);

/* The space of the `count` points at `points`, which are copied; of equal points, all but the first
 * are ignored. `names` and `values` have one element per parameter and are borrowed. */
struct search_space *search_space_of_points(size_t dimensions, const char *const *names,
                                            const struct value_list *values, const uint32_t *points,
                                            size_t count);

void search_space_free(struct search_space *space); /* NULL is allowed */

/* From `end_ns` (on clock_ns()) on, no further points are drawn or enumerated; until it is set, at any
 * time. A later `end_ns` continues. */
void search_space_limit(struct search_space *space, int64_t end_ns);
bool search_space_is_over(const struct search_space *space);

size_t search_space_dimensions(const struct search_space *space);
const struct search_parameter *search_space_parameter(const struct search_space *space,
                                                      size_t index);

/* Whether the point is in the space: 1, 0, or ERROR_CONFIG if a constraint cannot be evaluated. */
int search_space_has(struct search_space *space, const uint32_t *point, struct error *error);

/*
 * Draws a point at random; `*random` is the state of statistics_random(). Every point is equally
 * likely, unless constraints reject nearly every combination; then nearly so. Returns 1; 0 if the
 * space is empty or time is over; ERROR_CONFIG as above, or ERROR_INTERRUPTED.
 */
int search_space_draw(struct search_space *space, uint64_t *random, uint32_t *point,
                      struct error *error);

/* The next point of an enumeration of all; those of a sweep come in lexicographic order. Returns 1,
 * 0 after the last one or when time is over, or an error as above. */
int search_space_next(struct search_space *space, uint32_t *point, struct error *error);

/* Begins the enumeration again, and forgets what draws have learnt about the space. */
void search_space_rewind(struct search_space *space);

/* Binds the parameters to the point's values; `parameters` is released first. */
void search_space_bindings(const struct search_space *space, const uint32_t *point,
                           struct bindings *parameters);

/* The reverse. False if a parameter is missing or has a value that its list does not have; whether
 * the point satisfies the constraints is not checked. */
bool search_space_point(const struct search_space *space, const struct bindings *parameters,
                        uint32_t *point);

/*
 * Estimates the number of combinations of `space` that satisfy its constraints, more roughly if
 * space_limit() leaves little time; 0 if none was found. Returns 0, or an error as space_next() does.
 * Then only space_points() and space_free() may be called.
 *
 * Combinations are drawn at random; where nearly all are rejected, random ways down the tree of partial ones are
 * weighted instead.
 */
int space_size_estimate(struct space *space, const struct value_list *values, size_t dimensions,
                        double *size, struct error *error);

#endif
