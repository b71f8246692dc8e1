#include "template/launch_attributes.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Clusters and programmatic launches need it. */
enum { CAPABILITY = 90, CLUSTER_LIMIT = 1024 };

static const char *const scheduling_names[] = {[CLUSTER_SCHEDULING_DEFAULT] = "default",
                                               [CLUSTER_SCHEDULING_SPREAD] = "spread",
                                               [CLUSTER_SCHEDULING_LOAD_BALANCING] =
                                                   "load_balancing",
                                               NULL};

const char *const *cluster_scheduling_names(void)
{
    return scheduling_names;
}

bool scope_integer(const struct scope *scope, const char *name, int64_t *integer)
{
    for (; scope != NULL; scope = scope->outer) {
        const struct value *value = bindings_find(scope->bindings, name);
        if (value != NULL && value->kind == VALUE_INTEGER) {
            *integer = value->as.integer;
            return true;
        }
    }
    return false;
}

int64_t launch_attributes_cluster_blocks(const struct launch_attributes *attributes)
{
    return (int64_t)attributes->cluster[0] * attributes->cluster[1] * attributes->cluster[2];
}

bool launch_attributes_any(const struct launch_attributes *attributes)
{
    return launch_attributes_cluster_blocks(attributes) > 1 || attributes->programmatic ||
           attributes->cluster_scheduling != CLUSTER_SCHEDULING_DEFAULT ||
           attributes->shared_carveout >= 0;
}

/* `what` of a launch needs compute capability 9.0. */
static int need_capability(const struct expression *expression, const struct scope *scope,
                           const char *what, struct error *error)
{
    char reason[96];
    int64_t capability;
    if (!scope_integer(scope, "compute_capability", &capability) || capability >= CAPABILITY)
        return 0;
    (void)snprintf(reason, sizeof reason,
                   "%s compute capability 9.0 or newer; this GPU has %" PRId64 ".%" PRId64, what,
                   capability / 10, capability % 10);
    return expression_refuse(expression, scope, reason, error);
}

static int read_cluster(struct launch_attributes *attributes, const struct launch *launch,
                        const uint32_t grid[3], const struct scope *scope, struct error *error)
{
    for (size_t i = 0; i < 3; i++)
        attributes->cluster[i] = 1;
    for (size_t i = 0; i < launch->cluster_count; i++) {
        const struct expression *extent = launch->cluster[i];
        char reason[128];
        int64_t blocks = 0;
        int status = expression_integer(extent, scope, &blocks, error);
        if (status != 0)
            return status;
        (void)snprintf(reason, sizeof reason, "cluster of launch '%.50s' would be %" PRId64,
                       launch->name, blocks);
        if (blocks < 1 || blocks > CLUSTER_LIMIT)
            return expression_refuse(extent, scope, reason, error);
        attributes->cluster[i] = (uint32_t)blocks;
        (void)snprintf(reason, sizeof reason,
                       "the grid of launch '%.50s', %u blocks, is not a multiple of its cluster",
                       launch->name, grid[i]);
        if (grid[i] % attributes->cluster[i] != 0)
            return expression_refuse(extent, scope, reason, error);
    }
    return launch_attributes_cluster_blocks(attributes) > 1
               ? need_capability(launch->cluster[0], scope, "clusters need", error)
               : 0;
}

static int read_scheduling(struct launch_attributes *attributes,
                           const struct expression *expression, const struct scope *scope,
                           struct error *error)
{
    struct value value;
    int status = expression_value(expression, scope, &value, error);
    if (status != 0)
        return status;
    for (int i = 0; value.kind == VALUE_WORD && scheduling_names[i] != NULL; i++)
        if (strcmp(scheduling_names[i], value.as.word) == 0) {
            attributes->cluster_scheduling = (enum cluster_scheduling)i;
            return i == CLUSTER_SCHEDULING_DEFAULT
                       ? 0
                       : need_capability(expression, scope, "cluster_scheduling needs", error);
        }
    return expression_refuse(expression, scope,
                             "cluster_scheduling must be default, spread or load_balancing", error);
}

static int read_carveout(struct launch_attributes *attributes, const struct expression *expression,
                         const struct scope *scope, struct error *error)
{
    int64_t percent = -1;
    int status = expression_integer(expression, scope, &percent, error);
    if (status == 0 && (percent < -1 || percent > 100))
        status = expression_refuse(
            expression, scope, "shared_carveout must be 0 to 100 per cent, or -1 for none", error);
    attributes->shared_carveout = (int)percent;
    return status;
}

int launch_attributes_read(struct launch_attributes *attributes, const struct launch *launch,
                           const uint32_t grid[3], const struct scope *scope, struct error *error)
{
    *attributes = (struct launch_attributes){.shared_carveout = -1};
    int status = read_cluster(attributes, launch, grid, scope, error);
    if (status == 0 && launch->programmatic != NULL)
        status = expression_boolean(launch->programmatic, scope, &attributes->programmatic, error);
    if (status == 0 && attributes->programmatic)
        status = need_capability(launch->programmatic, scope, "programmatic launches need", error);
    if (status == 0 && launch->cluster_scheduling != NULL)
        status = read_scheduling(attributes, launch->cluster_scheduling, scope, error);
    if (status == 0 && launch->shared_carveout != NULL)
        status = read_carveout(attributes, launch->shared_carveout, scope, error);
    return status;
}
