/*
 * Where a sweep file may have results written. A sweep file may come from a stranger, so what it names
 * must be below the current folder; what the user names on the command line may be anywhere.
 */
#ifndef AUTOTUNE_OUTPUT_PATH_H
#define AUTOTUNE_OUTPUT_PATH_H

#include "base/error.h"

/*
 * Checks `path`, which key `key` of the sweep file `sweep` names. Symbolic links are followed first.
 * Returns 0, or ERROR_CONFIG with the file's name.
 */
int output_path_check(const char *path, const char *key, const char *sweep, struct error *error);

#endif
