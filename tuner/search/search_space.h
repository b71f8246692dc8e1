/*
 * The points that a search may propose: every combination of a sweep's values that satisfies its
 * constraints, or a list of points. The former is never enumerated to begin with; a space of 10^9
 * points costs no more than its lists and constraints.
 *
 * A point is an array of value indices, one per parameter: parameter i has the value
 * search_space_parameter(space, i)->values->values[point[i]].
 */
#ifndef AUTOTUNE_SEARCH_SPACE_H
#define AUTOTUNE_SEARCH_SPACE_H

#include "base/error.h"
#include "template/expression.h"
#include "template/template.h"
#include "template/value.h"
#include "template/value_list.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct search_parameter {
    const char *name;
    const struct value_list *values;
    bool ordered; /* all of its values are numbers */
    bool launch;  /* changing it does not recompile */
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

#endif
