#include "report/report_headroom.h"

#include "record/occupancy.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>

static const double FULL = 1 - 1e-9; /* occupancies are quotients */

/* The statistics with `amount` of one resource. */
static bool compute(const struct gpu *gpu, const struct kernel_stats *stats,
                    enum headroom_resource resource, int64_t amount, struct occupancy *occupancy)
{
    struct occupancy_input input = {
        .block_threads = stats->block_threads,
        .registers = stats->registers,
        .dynamic_shared_bytes = stats->static_shared_bytes + stats->dynamic_shared_bytes,
    };
    if (resource == HEADROOM_REGISTERS)
        input.registers = (int)amount;
    else if (resource == HEADROOM_SHARED)
        input.dynamic_shared_bytes = amount;
    else
        input.block_threads = (int)amount;
    return occupancy_compute(gpu, &input, occupancy, NULL) == 0;
}

static int64_t own_amount(const struct kernel_stats *stats, enum headroom_resource resource)
{
    if (resource == HEADROOM_REGISTERS)
        return stats->registers;
    if (resource == HEADROOM_SHARED)
        return stats->static_shared_bytes + stats->dynamic_shared_bytes;
    return stats->block_threads;
}

static bool helps(const struct gpu *gpu, const struct kernel_stats *stats,
                  enum headroom_resource resource, int64_t amount, struct occupancy *occupancy)
{
    return amount >= 0 && compute(gpu, stats, resource, amount, occupancy) &&
           occupancy->fraction > stats->occupancy + 1e-9;
}

/* Using less never lowers the number of blocks, so a binary search finds the step. */
static int64_t bisect(const struct gpu *gpu, const struct kernel_stats *stats,
                      enum headroom_resource resource, int64_t most)
{
    struct occupancy occupancy;
    int64_t low = 0;
    if (!helps(gpu, stats, resource, low, &occupancy))
        return -1;
    while (low < most) {
        int64_t middle = low + (most - low + 1) / 2;
        if (helps(gpu, stats, resource, middle, &occupancy))
            low = middle;
        else
            most = middle - 1;
    }
    return low;
}

/* A smaller block may pack better or worse, so every one is tried. */
static int64_t smaller_block(const struct gpu *gpu, const struct kernel_stats *stats)
{
    struct occupancy occupancy;
    int64_t warp = gpu->attributes[GPU_warp_size];
    if (warp <= 0)
        return -1;
    for (int64_t threads = (stats->block_threads - 1) / warp * warp; threads > 0; threads -= warp)
        if (helps(gpu, stats, HEADROOM_THREADS, threads, &occupancy))
            return threads;
    return -1;
}

void headroom_find(const struct gpu *gpu, const struct kernel_stats *stats,
                   struct headroom *headroom)
{
    struct kernel_stats now = *stats;
    struct occupancy occupancy;
    bool known = now.known && now.block_threads > 0 &&
                 compute(gpu, &now, HEADROOM_REGISTERS, now.registers, &occupancy);
    /* the driver may count resources that the calculator does not know, such as named barriers */
    if (known)
        now.occupancy = fmax(now.occupancy, occupancy.fraction);
    for (enum headroom_resource i = 0; i < HEADROOM_RESOURCES; i++) {
        int64_t limit = -1;
        occupancy = (struct occupancy){0};
        if (known && now.occupancy < FULL)
            limit = i == HEADROOM_THREADS ? smaller_block(gpu, &now)
                                          : bisect(gpu, &now, i, own_amount(&now, i) - 1);
        if (limit >= 0)
            (void)compute(gpu, &now, i, limit, &occupancy);
        headroom->steps[i].limit = limit;
        headroom->steps[i].occupancy = occupancy.fraction;
        headroom->steps[i].blocks_per_sm = occupancy.blocks_per_sm;
    }
}

char *headroom_text(const struct headroom *headroom, char buffer[HEADROOM_TEXT_BYTES])
{
    static const char *const formats[HEADROOM_RESOURCES] = {
        "%sregisters <= %" PRId64 ": %.0f %%",
        "%sshared <= %" PRId64 " B: %.0f %%",
        "%sblock of %" PRId64 ": %.0f %%",
    };
    size_t used = 0;
    buffer[0] = '\0';
    for (int i = 0; i < HEADROOM_RESOURCES; i++) {
        if (headroom->steps[i].limit < 0)
            continue;
        int length =
            snprintf(buffer + used, HEADROOM_TEXT_BYTES - used, formats[i], used > 0 ? ", " : "",
                     headroom->steps[i].limit, 100 * headroom->steps[i].occupancy);
        if (length > 0)
            used += (size_t)length; /* HEADROOM_TEXT_BYTES holds the longest numbers */
    }
    return buffer;
}
