/*
 * Gaps in a template: lines "; TODO: …", which `autotune import` leaves in place of what a file of
 * another tuner does not say.
 */
#ifndef AUTOTUNE_TEMPLATE_GAP_H
#define AUTOTUNE_TEMPLATE_GAP_H

#include "base/error.h"

#include <stdbool.h>

/*
 * Whether the section of the template at `path` that `line` is in has a gap. Then `error`, which
 * says why the section cannot be used, also names its first gap, and how many there are in the file.
 */
bool template_gap_explain(const char *path, int line, struct error *error);

#endif
