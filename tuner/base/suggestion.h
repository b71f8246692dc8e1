/* "Did you mean": the known name that a misspelt one was probably meant to be. */
#ifndef AUTOTUNE_SUGGESTION_H
#define AUTOTUNE_SUGGESTION_H

#include "base/error.h"

/*
 * The name among `known` (ended by NULL) with the fewest edits to `name`, or NULL where none is
 * near (more than a third of its letters, rounded up).
 */
const char *suggestion_nearest(const char *name, const char *const *known);

/* ERROR_CONFIG "unknown WHAT 'NAME'; did you mean 'NEAREST'?" at the file and line. */
int suggestion_unknown(const char *path, int line, const char *what, const char *name,
                       const char *const *known, struct error *error);

#endif
