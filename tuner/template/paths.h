/*
 * Which files a sweep may name. Sweeps and templates come from strangers, so what they name stays
 * below the project: the folder of the file that names it, or that folder's parent where the parent
 * holds a folder `kernel_templates` (which is how this project and its copies are laid out). What
 * the sweep would write stays below the current folder. Symbolic links are followed before judging.
 * `--allow-path` is how a user says that a file is trusted.
 */
#ifndef AUTOTUNE_PATHS_H
#define AUTOTUNE_PATHS_H

#include "base/error.h"
#include "template/sweep.h"

#include <stdbool.h>

/*
 * Checks a loaded sweep: its templates, their sources, include folders and .npy files, and compiler
 * options that name files; with `tuned` and `results`, also where these would go. Returns 0, or
 * ERROR_CONFIG naming the path and the file that names it.
 */
int paths_check(const struct sweep *sweep, bool tuned, bool results, struct error *error);

#endif
