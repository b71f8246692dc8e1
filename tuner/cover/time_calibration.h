/*
 * Adjusts models of several configurations' times (time_model.h) to each other. A rule that compares
 * estimates is wrong where two of them err in different directions, so the factors are changed, as
 * little as possible, until choosing the least estimate loses little.
 */
#ifndef AUTOTUNE_TIME_CALIBRATION_H
#define AUTOTUNE_TIME_CALIBRATION_H

#include "cover/losses.h"
#include "cover/time_model.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * models[i] is of configuration chosen[i]; each has a term at least. What choosing loses is taken from
 * the sizes with `kept[size]`. Factors stay positive, and as they were if changing them does not help.
 */
void time_calibration_make(struct time_model *models, const size_t *chosen, size_t count,
                           const struct time_basis *basis, const struct losses *losses,
                           const bool *kept);

#endif
