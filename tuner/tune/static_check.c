#include "tune/static_check.h"

#include "compile/cubin_cache.h"
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

/* Without a device worker that checks arguments against the cubin, it is done here. */
static enum outcome fill_stats(struct tuning_job *job, size_t index, struct error *reason)
{
    struct kernel_stats_source source = tuning_job_stats_source(job, index);
    struct compilation image = {0};
    enum outcome outcome;
    bool found = false;
    if (job->study.environment.static_mode &&
        cubin_cache_read(job->compile_jobs[index]->path, &image, &found, NULL) == 0 && found)
        source.compilation = &image;
    kernel_stats_fill(&source, &job->study.results[index], &outcome, reason);
    compilation_release(&image);
    return outcome;
}

/* What is known of a compiled variant without running it; `reason` says why unless it is
 * OUTCOME_COMPILED. */
static enum outcome check_compiled(struct tuning_job *job, size_t index, struct error *reason)
{
    struct result *result = &job->study.results[index];
    const struct kernel_stats_source source = tuning_job_stats_source(job, index);
    bool allowed = true;
    size_t constraint = 0;
    enum outcome outcome = fill_stats(job, index, reason);
    if (outcome != OUTCOME_COMPILED)
        return outcome;
    if (kernel_stats_allowed(&source, &result->stats, job->kernel->constraints,
                             job->kernel->constraint_count, &allowed, &constraint, reason) != 0)
        return OUTCOME_INVALID;
    if (!allowed)
        (void)error_set(reason, ERROR_CONFIG, "%s",
                        expression_text(job->kernel->constraints[constraint]));
    return allowed ? OUTCOME_COMPILED : OUTCOME_CONSTRAINT;
}

bool static_check_variant(struct tuning_job *job, size_t index)
{
    const struct compile_job *compile = job->compile_jobs[index];
    struct error reason = {0};
    if (!compile->has_cubin) {
        static_check_compile_reason(compile, reason.message, 256);
        tuning_job_give_up(job, index, OUTCOME_COMPILE_ERROR, reason.message,
                           compile->timed_out ? job->compile_timeout_s : 0, compile->killed);
        return false;
    }
    enum outcome outcome = check_compiled(job, index, &reason);
    if (outcome != OUTCOME_COMPILED)
        tuning_job_conclude(job, index, outcome, reason.message);
    return outcome == OUTCOME_COMPILED;
}

static int check_one(struct static_check *check, struct tuning_job *job, size_t index,
                     struct error *error)
{
    timings_stage(check->timings, TIMING_COMPILE);
    int status = compile_ahead_fill(check->ahead, error);
    if (status == 0 && job->compile_jobs[index] == NULL)
        status = tuning_job_request(job, check->pool, index, error);
    if (status == 0)
        status = compile_pool_wait(check->pool, job->compile_jobs[index], error);
    if (status != 0)
        return status;
    if (static_check_variant(job, index))
        tuning_job_conclude(job, index, OUTCOME_COMPILED, NULL);
    tuning_job_drop(job, check->pool, index);
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
