/* "Did you mean …?": finds the known name closest to a misspelt one. */
#ifndef AUTOTUNE_SUGGESTION_H
#define AUTOTUNE_SUGGESTION_H

#include "base/error.h"

/*
 * The name among `known` (terminated by NULL) with the smallest edit distance to `name`; NULL if
 * all are further than a third of `name`'s length, rounded up.
 */
const char *suggestion_nearest(const char *name, const char *const *known);

/* Returns ERROR_CONFIG with the message "unknown WHAT 'NAME'; did you mean 'NEAREST'?" or, if no
 * known name is close, a list of all known names. */
int suggestion_unknown(const char *path, int line, const char *what, const char *name,
                       const char *const *known, struct error *error);

#endif
