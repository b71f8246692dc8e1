/* Whole numbers that the user gives in environment variables. */
#ifndef AUTOTUNE_ENVIRONMENT_NUMBER_H
#define AUTOTUNE_ENVIRONMENT_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

/* Reads the number, from 1 to `most`; `*number` stays as it is if the variable is not set, or empty.
 * Returns false if it is something else. */
bool environment_number(const char *name, int64_t most, int64_t *number);

#endif
