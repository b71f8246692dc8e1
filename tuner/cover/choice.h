/* Chooses the few configurations that together lose least, if the best of them is taken at each
 * size. */
#ifndef AUTOTUNE_CHOICE_H
#define AUTOTUNE_CHOICE_H

#include "cover/losses.h"

#include <stddef.h>

/* What each further configuration that an application ships must be worth. */
#define CHOICE_WORTH 0.0005

enum { CHOICE_LIMIT = 16 };

/*
 * Chooses at most `limit` configurations, and fewer if another lowers
 * loss_objective() by less than `worth`. The choice is greedy, starts from each configuration in
 * turn, and exchanges chosen ones for others while that helps. Of equals, the one with the lower
 * index is chosen. Returns how many; `chosen` has room for `limit`.
 */
size_t choice_make(const struct losses *losses, size_t limit, double worth, size_t *chosen);

#endif
