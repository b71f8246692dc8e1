#include "tune/tuning.h"

#include "base/alloc.h"
#include "base/statistics.h"

#include <stdlib.h>

struct device_client *tuning_client(const struct tuning *tuning)
{
    return team_lead(tuning->team)->client;
}

void tuning_notice(const struct tuning *tuning, const struct fleet_gpu *gpu, const char *what,
                   const char *reason, const char *consequence)
{
    struct error notice;
    char node[NODE_SUFFIX_BYTES];
    (void)error_set(&notice, ERROR_OK, "GPU %d%s (%s) %s%s%s%s%s", gpu->ordinal,
                    node_suffix(gpu->node, node), gpu->gpu.uuid, what,
                    reason[0] != '\0' ? ": " : "", reason, consequence[0] != '\0' ? "; " : "",
                    consequence);
    if (tuning->notice != NULL)
        tuning->notice(tuning->user, &notice);
}

void tuning_summarise(struct result *result)
{
    result->time = statistics_summarise(result->samples_ns, result->sample_count);
}

struct contender tuning_contender(const struct result *result, size_t order)
{
    return (struct contender){.samples_ns = result->samples_ns,
                              .count =
                                  result->outcome == OUTCOME_MEASURED ? result->sample_count : 0,
                              .registers = result->stats.registers,
                              .block_threads = result->stats.block_threads,
                              .order = order};
}

bool *tuning_choose(const struct tuning *tuning, const struct study *study, unsigned most,
                    size_t *count)
{
    struct race_rules rules = tuning->rules;
    struct contender *contenders = alloc_zeroed(study->result_count, sizeof *contenders);
    double **scaled_ns = alloc_zeroed(study->result_count, sizeof *scaled_ns);
    bool *chosen = alloc_zeroed(study->result_count, sizeof *chosen);
    rules.finalists = most;
    rules.spread = study_gpus_spread(study->gpus, study->gpu_count);
    for (size_t i = 0; i < study->result_count; i++) {
        contenders[i] = tuning_contender(&study->results[i], i);
        const struct result *result = &study->results[i];
        double ratio = study_gpus_ratio(study->gpus, study->gpu_count, result->gpu);
        scaled_ns[i] = alloc_zeroed(result->sample_count, sizeof **scaled_ns);
        for (size_t j = 0; j < result->sample_count; j++) /* as if the first GPU had taken them */
            scaled_ns[i][j] = result->samples_ns[j] / ratio;
        contenders[i].samples_ns = scaled_ns[i];
    }
    *count = race_finalists(contenders, study->result_count, &rules, chosen);
    for (size_t i = 0; i < study->result_count; i++)
        free(scaled_ns[i]);
    free(scaled_ns);
    free(contenders);
    return chosen;
}
