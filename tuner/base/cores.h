/* The processor's cores. */
#ifndef AUTOTUNE_CORES_H
#define AUTOTUNE_CORES_H

#include <stddef.h>

/* How many cores this process may run on, which taskset, a container or a scheduler may have limited
 * to a part of the machine's; at least 1. */
size_t cores_usable(void);

#endif
