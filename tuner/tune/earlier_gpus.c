#include "tune/earlier_gpus.h"

#include "base/alloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_measured(const struct result *result)
{
    return result->outcome == OUTCOME_MEASURED && result->gpu[0] != '\0';
}

/* Whether times of that GPU can be compared, or it turned out that they cannot. `gpus` are the study's,
 * sorted. */
static bool is_settled(const struct team *team, const struct study_gpu *gpus, size_t count,
                       const char *uuid)
{
    const struct study_gpu *gpu = study_gpus_search(gpus, count, uuid);
    if (gpu != NULL && gpu->ratio > 0)
        return true;
    for (size_t i = 0; i < team->earlier_count; i++)
        if (strcmp(team->earlier[i].gpu.uuid, uuid) == 0)
            return true;
    return strcmp(team_lead(team)->gpu.uuid, uuid) == 0;
}

/* Puts a variant into its place among the fastest. */
static void add(struct earlier_times *times, const struct result *result, size_t index)
{
    size_t i = times->count;
    while (i > 0 && result->time.median_ns < times->fastest[i - 1].ns)
        i--;
    if (i == EARLIER_COMPARED)
        return;
    times->count += times->count < EARLIER_COMPARED;
    memmove(&times->fastest[i + 1], &times->fastest[i],
            (times->count - 1 - i) * sizeof times->fastest[0]);
    times->fastest[i] = (struct earlier_time){index, result->time.median_ns, result->runs};
}

bool earlier_gpus_next(const struct team *team, const struct study *study,
                       struct earlier_times *times)
{
    struct study_gpu *gpus = study_gpus_sort(study->gpus, study->gpu_count);
    *times = (struct earlier_times){0};
    for (size_t i = 0; i < study->result_count; i++) {
        const struct result *result = &study->results[i];
        if (!is_measured(result))
            continue;
        if (times->count == 0 && !is_settled(team, gpus, study->gpu_count, result->gpu))
            (void)snprintf(times->uuid, sizeof times->uuid, "%s", result->gpu);
        if (strcmp(times->uuid, result->gpu) == 0)
            add(times, result, i);
    }
    free(gpus);
    return times->count > 0;
}

void earlier_gpus_judge(struct team *team, const struct study *study,
                        const struct earlier_times *times)
{
    const char *lead = team_lead(team)->gpu.uuid;
    struct earlier_gpu *earlier = ARRAY_APPEND(team->earlier, team->earlier_count);
    double ratios[EARLIER_COMPARED];
    size_t count = 0;
    for (size_t i = 0; i < times->count; i++) {
        const struct result *result = &study->results[times->fastest[i].index];
        if (is_measured(result) && strcmp(result->gpu, lead) == 0 &&
            result->runs == times->fastest[i].runs)
            ratios[count++] = times->fastest[i].ns / result->time.median_ns;
    }
    (void)snprintf(earlier->gpu.uuid, sizeof earlier->gpu.uuid, "%s", times->uuid);
    (void)snprintf(earlier->lead, sizeof earlier->lead, "%s", lead);
    study_gpu_compare(&earlier->gpu, ratios, count);
}
