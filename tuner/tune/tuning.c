#include "tune/tuning.h"

#include "base/alloc.h"
#include "base/statistics.h"

#include <stdlib.h>

int tuning_keep(struct tuning *tuning, struct tuning_job *job, size_t index, const char *phase,
                struct error *error)
{
    const struct result *result = &job->study.results[index];
    timings_stage(tuning->timings, TIMING_RECORD);
    return record_result(tuning->record, job->record_id, result, phase, error);
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
    bool *chosen = alloc_zeroed(study->result_count, sizeof *chosen);
    rules.finalists = most;
    for (size_t i = 0; i < study->result_count; i++)
        contenders[i] = tuning_contender(&study->results[i], i);
    *count = race_finalists(contenders, study->result_count, &rules, chosen);
    free(contenders);
    return chosen;
}
