#include "tune/static_check.h"

#include "tune/kernel_stats.h"

#include <stdio.h>
#include <string.h>

void static_check_compile_reason(const struct compile_job *compile, char *reason, size_t size)
{
    const char *log = compile->compilation.log != NULL ? compile->compilation.log : "";
    const char *found = strstr(log, "error");
    if (compile->failure[0] != '\0' || found == NULL) {
        (void)snprintf(reason, size, "%s",
                       compile->failure[0] != '\0' ? compile->failure
                                                   : "refused without a message");
        return;
    }
    while (found > log && found[-1] != '\n' && found[-1] != '/') /* the file without its folder */
        found--;
    (void)snprintf(reason, size, "%.*s", (int)strcspn(found, "\n"), found);
}

int static_check_variant(struct tuning_job *job, size_t index, bool *go_on, struct error *error)
{
    const struct compile_job *compile = job->compile_jobs[index];
    struct result *result = &job->study.results[index];
    const struct kernel_stats_source source = tuning_job_stats_source(job, index);
    char reason[256] = "";
    enum outcome outcome;
    bool allowed = true;
    size_t constraint = 0;
    *go_on = false;
    if (!compile->has_cubin) {
        static_check_compile_reason(compile, reason, sizeof reason);
        tuning_job_give_up(job, index, OUTCOME_COMPILE_ERROR, reason,
                           compile->timed_out ? job->compile_timeout_s : 0, compile->killed);
        return 0;
    }
    int status = kernel_stats_fill(&source, result, &outcome, reason, error);
    if (status == 0 && outcome != OUTCOME_COMPILED) {
        tuning_job_conclude(job, index, outcome, reason);
        return 0;
    }
    if (status == 0)
        status = kernel_stats_allowed(&source, &result->stats, job->kernel->constraints,
                                      job->kernel->constraint_count, &allowed, &constraint, error);
    if (status == 0 && !allowed)
        tuning_job_conclude(job, index, OUTCOME_CONSTRAINT,
                            expression_text(job->kernel->constraints[constraint]));
    *go_on = status == 0 && allowed;
    return status;
}

static int check_one(struct static_check *check, struct tuning_job *job, size_t index,
                     struct error *error)
{
    bool go_on;
    timings_stage(check->timings, TIMING_COMPILE);
    int status = compile_pool_wait(check->pool, job->compile_jobs[index], error);
    if (status == 0)
        status = static_check_variant(job, index, &go_on, error);
    if (status != 0)
        return status;
    if (go_on)
        tuning_job_conclude(job, index, OUTCOME_COMPILED, NULL);
    const struct result *result = &job->study.results[index];
    timings_stage(check->timings, TIMING_RECORD);
    progress_add(check->progress, job->study.kernel, result->outcome, 0);
    return record_result(check->record, job->record_id, result, "screening", error);
}

int static_check_job(struct static_check *check, struct tuning_job *job, struct error *error)
{
    int status = record_reopen(check->record, job->record_id, error);
    for (size_t i = 0; i < job->study.result_count && status == 0; i++)
        if (!job->known[i])
            status = check_one(check, job, i, error);
    if (status != 0)
        return status;
    job->study.complete = true;
    timings_stage(check->timings, TIMING_RECORD);
    return record_finish(check->record, job->record_id, &job->study, error);
}
