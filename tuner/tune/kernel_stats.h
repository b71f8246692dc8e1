/*
 * A variant's registers, memory and occupancy without a GPU: from the compiler's log and the
 * occupancy calculator. Static mode reports them; in a measured run they decide constraints before
 * anything is loaded, and say what limits occupancy.
 */
#ifndef AUTOTUNE_KERNEL_STATS_H
#define AUTOTUNE_KERNEL_STATS_H

#include "base/error.h"
#include "record/gpu.h"
#include "record/study.h"
#include "template/template.h"
#include "template/value.h"

#include <stdbool.h>

/* What they are computed from. */
struct kernel_stats_source {
    const struct template *template;
    const struct gpu *gpu;
    const struct bindings *fixed;          /* problem values and device attributes */
    const struct bindings *parameters;     /* of the variant */
    const struct compilation *compilation; /* with its cubin, arguments are checked as well */
};

/*
 * Fills result->stats for the variant's main launch, other_launches, bytes, operations and run_hash. `*outcome` becomes
 * OUTCOME_COMPILED, or with a message in `reason` OUTCOME_INVALID (the template does not
 * fit the variant), OUTCOME_LAUNCH_ERROR (beyond a limit), OUTCOME_NOT_RESIDENT or
 * OUTCOME_LOAD_ERROR (the source lacks an entry).
 */
void kernel_stats_fill(const struct kernel_stats_source *source, struct result *result,
                       enum outcome *outcome, struct error *reason);

/* Sets occupancy and its limiter; registers, shared memory, block and blocks_per_sm are set. */
void kernel_stats_limit(const struct kernel_stats_source *source, const char *entry,
                        struct kernel_stats *stats);

/*
 * Whether the constraints that name such statistics hold; `*index` is the first that does not, or cannot
 * be evaluated. Returns 0 or ERROR_CONFIG.
 */
int kernel_stats_allowed(const struct kernel_stats_source *source, const struct kernel_stats *stats,
                         const struct expression *const *constraints, size_t count, bool *allowed,
                         size_t *index, struct error *error);

#endif
