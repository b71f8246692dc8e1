/*
 * What a launch asks of the driver beyond its grid, block and shared memory: clusters, programmatic
 * dependent launch, and preferences of the hardware. The keys of [launch.*] in
 * kernel_templates/README.md state it.
 */
#ifndef AUTOTUNE_LAUNCH_ATTRIBUTES_H
#define AUTOTUNE_LAUNCH_ATTRIBUTES_H

#include "base/error.h"
#include "template/expression.h"
#include "template/template.h"

#include <stdbool.h>
#include <stdint.h>

/* As CUclusterSchedulingPolicy numbers them. */
enum cluster_scheduling {
    CLUSTER_SCHEDULING_DEFAULT,
    CLUSTER_SCHEDULING_SPREAD,
    CLUSTER_SCHEDULING_LOAD_BALANCING
};

struct launch_attributes {
    uint32_t cluster[3]; /* blocks; 1, 1, 1 without clusters */
    bool programmatic;   /* may begin before the launch in front of it has ended */
    enum cluster_scheduling cluster_scheduling;
    int shared_carveout; /* per cent of the SM's memory, -1: the driver's choice */
};

/* The words of enum cluster_scheduling in templates, ended by NULL. */
const char *const *cluster_scheduling_names(void);

/*
 * Evaluates the attributes of `launch` with that grid. Returns 0, or ERROR_CONFIG if an expression
 * fails or a value is out of range, the grid does not consist of whole clusters, or the scope's
 * compute_capability is below 9.0 and the launch needs that.
 */
int launch_attributes_read(struct launch_attributes *attributes, const struct launch *launch,
                           const uint32_t grid[3], const struct scope *scope, struct error *error);

/* Blocks of a cluster. */
int64_t launch_attributes_cluster_blocks(const struct launch_attributes *attributes);

/* Whether the launch needs cuLaunchKernelEx. */
bool launch_attributes_any(const struct launch_attributes *attributes);

/* The whole number called `name` in the scope; false if there is none. */
bool scope_integer(const struct scope *scope, const char *name, int64_t *integer);

#endif
