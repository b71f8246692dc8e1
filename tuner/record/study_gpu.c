#include "record/study_gpu.h"

#include "base/alloc.h"
#include "base/statistics.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* At least this is assumed, since a few variants do not show all. */
static const double least_spread = 0.01;

json_t *study_gpus_to_json(const struct study_gpu *gpus, size_t count)
{
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++) {
        const struct study_gpu *gpu = &gpus[i];
        json_t *object =
            json_pack("{s:s, s:I, s:I, s:f, s:f, s:f, s:f}", "uuid", gpu->uuid, "compared",
                      (json_int_t)gpu->compared, "failed", (json_int_t)gpu->failed, "ratio",
                      gpu->ratio, "spread", gpu->spread, "winner_ratio", gpu->winner_ratio,
                      "winner_loss", gpu->winner_loss);
        (void)json_array_append_new(array, object);
    }
    return array;
}

struct study_gpu *study_gpus_from_json(const json_t *json, size_t *count)
{
    struct study_gpu *gpus = NULL;
    size_t index;
    json_t *object;
    *count = 0;
    json_array_foreach(json, index, object)
    {
        struct study_gpu gpu = {0};
        const char *uuid;
        json_int_t compared;
        json_int_t failed;
        if (json_unpack(object, "{s:s, s:I, s:I, s:F, s:F, s:F, s:F}", "uuid", &uuid, "compared",
                        &compared, "failed", &failed, "ratio", &gpu.ratio, "spread", &gpu.spread,
                        "winner_ratio", &gpu.winner_ratio, "winner_loss", &gpu.winner_loss) != 0)
            continue;
        (void)snprintf(gpu.uuid, sizeof gpu.uuid, "%s", uuid);
        gpu.compared = (size_t)compared;
        gpu.failed = (size_t)failed;
        *ARRAY_APPEND(gpus, *count) = gpu;
    }
    return gpus;
}

size_t study_gpus_find(const struct study_gpu *gpus, size_t count, const char *uuid)
{
    size_t i = 0;
    while (i < count && strcmp(gpus[i].uuid, uuid) != 0)
        i++;
    return i;
}

static int compare_uuids(const void *left, const void *right)
{
    const struct study_gpu *a = left;
    const struct study_gpu *b = right;
    return strcmp(a->uuid, b->uuid);
}

struct study_gpu *study_gpus_sort(const struct study_gpu *gpus, size_t count)
{
    struct study_gpu *sorted = alloc_zeroed(count, sizeof *sorted);
    if (count > 0) {
        memcpy(sorted, gpus, count * sizeof *sorted);
        qsort(sorted, count, sizeof *sorted, compare_uuids);
    }
    return sorted;
}

static int compare_with_uuid(const void *uuid, const void *gpu)
{
    return strcmp(uuid, ((const struct study_gpu *)gpu)->uuid);
}

const struct study_gpu *study_gpus_search(const struct study_gpu *sorted, size_t count,
                                          const char *uuid)
{
    return bsearch(uuid, sorted, count, sizeof *sorted, compare_with_uuid);
}

void study_gpu_compare(struct study_gpu *gpu, const double *ratios, size_t count)
{
    gpu->compared = count;
    gpu->ratio = count > 0 ? statistics_median(ratios, count) : 0;
    gpu->spread = 0;
    for (size_t i = 0; i < count; i++)
        gpu->spread = fmax(gpu->spread, fabs(ratios[i] / gpu->ratio - 1));
}

double study_gpus_ratio(const struct study_gpu *gpus, size_t count, const char *uuid)
{
    size_t i = study_gpus_find(gpus, count, uuid);
    return i < count && gpus[i].ratio > 0 ? gpus[i].ratio : 1;
}

double study_gpus_spread(const struct study_gpu *gpus, size_t count)
{
    double spread = count > 1 ? least_spread : 0;
    for (size_t i = 0; i < count; i++)
        if (gpus[i].spread > spread)
            spread = gpus[i].spread;
    return spread;
}
