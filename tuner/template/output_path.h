/*
 * Where a sweep file may make autotune write: below the current folder, since sweep files may come
 * from strangers. The command line may name any place.
 */
#ifndef AUTOTUNE_OUTPUT_PATH_H
#define AUTOTUNE_OUTPUT_PATH_H

#include "base/error.h"

/*
 * Checks the value `path` of `key` in the sweep file `sweep`. Symbolic links are followed first.
 * Returns 0, or ERROR_CONFIG with the name of the sweep file.
 */
int output_path_check(const char *path, const char *key, const char *sweep, struct error *error);

#endif
