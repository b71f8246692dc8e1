/* Learns a covariance function from points and their targets: the most probable one, given how
 * probable each was before (Rasmussen and Williams 2006, section 5.4). */
#ifndef AUTOTUNE_LIKELIHOOD_H
#define AUTOTUNE_LIKELIHOOD_H

#include "search/covariance.h"

#include <stddef.h>
#include <stdint.h>

/* `points[i]` has the target `targets[i]`; these have a mean of 0. Takes count^3 steps. Call
 * covariance_update() when it returns. */
void likelihood_learn(struct covariance *covariance, const uint32_t *const *points,
                      const double *targets, size_t count);

#endif
