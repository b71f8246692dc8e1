/*
 * Which points become candidates: those around what is fast, or promises to be.
 */
#ifndef AUTOTUNE_NEIGHBOURHOOD_H
#define AUTOTUNE_NEIGHBOURHOOD_H

#include "base/error.h"
#include "search/candidates.h"
#include "search/strategy.h"

#include <stdint.h>

/*
 * Both functions add points of the space that the history does not have. They return 0, or
 * ERROR_CONFIG if a constraint cannot be evaluated. The first adds the points that differ from
 * `center` in one parameter, or a sample of them if they are many; the second, a sample of those
 * that differ in two. `center` is not one of `candidates`' own points: those move.
 */
int neighbourhood_add_near(struct strategy_context *context, const uint32_t *center,
                           struct candidates *candidates, struct error *error);
int neighbourhood_add_far(struct strategy_context *context, const uint32_t *center,
                          struct candidates *candidates, struct error *error);

#endif
