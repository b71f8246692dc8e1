/* How much a run may spend, as a section of a sweep states it: `budget = 60s`, `evaluations = 200`. */
#ifndef AUTOTUNE_SWEEP_LIMITS_H
#define AUTOTUNE_SWEEP_LIMITS_H

#include "base/error.h"
#include "template/ini_file.h"

#include <stddef.h>

struct sweep_limits {
    double budget_s;    /* from start to result; 0: as long as it takes */
    size_t evaluations; /* variants tried per problem; 0: all */
};

/* Reads the limits that `section` states, and leaves the others. Returns 0, or ERROR_CONFIG with
 * file and line. */
int sweep_limits_read(struct sweep_limits *limits, struct ini_file *ini, const char *section,
                      struct error *error);

#endif
