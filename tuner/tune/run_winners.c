#include "record/study.h"
#include "template/value.h"
#include "tune/run.h"
#include "tune/tuning_job.h"

#include <stdlib.h>
#include <string.h>

/* The reason that all variants have in common; NULL if there is none. */
static const char *common_reason(const struct study *study)
{
    const char *reason = study->result_count > 0 ? study->results[0].reason : NULL;
    for (size_t i = 1; i < study->result_count && reason != NULL; i++)
        if (study->results[i].reason == NULL || strcmp(study->results[i].reason, reason) != 0)
            reason = NULL;
    return reason;
}

int run_say_no_winner(const struct tuning_job *job, struct error *error)
{
    const struct study *study = &job->study;
    const char *common = common_reason(study);
    const char *reason = common != NULL ? common : "the report says why";
    const char *before = common != NULL ? ": " : "; ";
    char *text = bindings_text(&study->problem);
    const char *problem = text[0] != '\0' ? text : "its problem";
    size_t tried = study->result_count;
    if (!study->complete)
        (void)error_set(error, ERROR_NOTHING_VALID,
                        "the budget ended before a valid variant of '%s' was found for %s; %zu %s "
                        "tried%s; give it more time",
                        study->kernel, problem, tried, tried == 1 ? "was" : "were",
                        tried > 0 ? ", and the report says what became of them" : "");
    else if (job->proposer != NULL && !job->exhausted)
        (void)error_set(error, ERROR_NOTHING_VALID,
                        "none of the %zu variants of '%s' that were tried was valid for %s%s%s; "
                        "give it more evaluations",
                        tried, study->kernel, problem, before, reason);
    else
        (void)error_set(error, ERROR_NOTHING_VALID, "no variant of '%s' was valid for %s%s%s",
                        study->kernel, problem, before, reason);
    free(text);
    return ERROR_NOTHING_VALID;
}

int run_check_winners(const struct run *run, struct error *error)
{
    const char *others =
        run->refused_count < run->job_count ? "the others are done" : "there is nothing else to do";
    if (run->refused_count > 0 && run->refusal.code != ERROR_MEMORY)
        return error_set(error, run->refusal.code,
                         "%zu of %zu problems were left out, for the reasons above; %s",
                         run->refused_count, run->job_count, others);
    if (run->refused_count > 0)
        return error_set(error, ERROR_MEMORY,
                         "%zu of %zu problems do not fit in the device's memory; %s",
                         run->refused_count, run->job_count, others);
    for (size_t i = 0; i < run->job_count; i++) {
        const struct study *study = &run->jobs[i].study;
        if (!study->has_winner && study_count(study, OUTCOME_COMPILED) == 0)
            return run_say_no_winner(&run->jobs[i], error);
    }
    return 0;
}
