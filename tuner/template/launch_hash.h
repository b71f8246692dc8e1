/*
 * A hash of what a variant runs besides its machine code: every launch with its grid, block, memory
 * and arguments, every scratch buffer, the work that the metrics state, and the parameters that the
 * other buffers and the expected results depend on. Variants of one problem with the same machine
 * code and the same hash do exactly the same, and are judged alike.
 */
#ifndef AUTOTUNE_LAUNCH_HASH_H
#define AUTOTUNE_LAUNCH_HASH_H

#include "base/error.h"
#include "base/hash.h"
#include "template/launch_plan.h"

/* Adds to `hash`. `scope` is the one that the plan was made with. Returns 0, or ERROR_CONFIG if an
 * expression of a scratch buffer or a metric fails. */
int launch_hash_add(struct hash *hash, const struct launch_plan *launch_plan,
                    const struct template *template, const struct scope *scope,
                    struct error *error);

#endif
