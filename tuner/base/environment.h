/* Whole numbers that the user gives in environment variables. */
#ifndef AUTOTUNE_ENVIRONMENT_H
#define AUTOTUNE_ENVIRONMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reads the number, from 1 to `most`; `*number` stays as it is if the variable is not set, or empty.
 * Returns false if it is something else. */
bool environment_number(const char *name, int64_t most, int64_t *number);

/* The processor's cores. */

/* How many cores this process may run on, which taskset, a container or a scheduler may have limited
 * to a part of the machine's; at least 1. */
size_t cores_usable(void);

#endif
