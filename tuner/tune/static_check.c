#include "tune/tuning.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "tune/kernel_stats.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

void static_check_compile_reason(const struct compile_job *compile, char *reason, size_t size)
{
    const char *log = compile->compilation.log != NULL ? compile->compilation.log : "";
    char *cause = compilation_cause(log);
    const char *found = cause != NULL ? cause + strcspn(cause, ":") : NULL;
    if (compile->failure[0] != '\0' || found == NULL)
        (void)snprintf(reason, size, "%s",
                       compile->failure[0] != '\0' ? compile->failure
                                                   : "refused without a message");
    else {
        while (found > cause && found[-1] != '/') /* the file without its folder */
            found--;
        (void)snprintf(reason, size, "%s", found);
    }
    free(cause);
}

/* What is known of a compiled variant without running it; unless it is OUTCOME_COMPILED, `reason` says
 * why, and `*decided_by` is the constraint that decided it, if one did. */
static enum outcome check_compiled(struct tuning_job *job, size_t index, const char **decided_by,
                                   struct error *reason)
{
    struct result *result = &job->study.results[index];
    struct kernel_stats_source source = tuning_job_stats_source(job, index);
    struct compilation image = {0};
    bool allowed = true;
    size_t constraint = 0;
    enum outcome outcome;
    /* without a device worker that checks arguments against the cubin, it is done here */
    if (job->study.environment.static_mode &&
        compile_job_image(job->compile_jobs[index], &image, NULL) == 0)
        source.compilation = &image;
    kernel_stats_fill(&source, result, &outcome, reason);
    compilation_release(&image);
    if (outcome != OUTCOME_COMPILED)
        return outcome;
    int status = kernel_stats_allowed(&source, &result->stats, job->kernel->constraints,
                                      job->kernel->constraint_count, &allowed, &constraint, reason);
    if (status == 0 && allowed)
        return OUTCOME_COMPILED;
    *decided_by = expression_text(job->kernel->constraints[constraint]);
    if (status != 0)
        return OUTCOME_INVALID;
    (void)error_set(reason, ERROR_CONFIG, "%s", *decided_by);
    return OUTCOME_CONSTRAINT;
}

/* A variant compiled (`reason` is NULL), or did not. The user is told once, when the first DOUBT_VARIANTS have failed
 * with the same reason, unless the job has nothing left to doubt. */
static void note_compiled(const struct tuning_job *job, const char *reason)
{
    struct compile_doubt *doubt = job->doubt;
    if (doubt == NULL || doubt->settled)
        return;
    if (reason != NULL && doubt->failures == 0)
        (void)snprintf(doubt->reason, sizeof doubt->reason, "%s", reason);
    bool alike = reason != NULL && strncmp(doubt->reason, reason, sizeof doubt->reason - 1) == 0;
    doubt->failures += alike;
    doubt->settled = !alike || doubt->failures == DOUBT_VARIANTS;
    if (alike && doubt->settled && job->known_count < job->study.result_count)
        doubt->doubted(doubt->user, job, doubt);
}

bool static_check_variant(struct tuning_job *job, size_t index)
{
    const struct compile_job *compile = job->compile_jobs[index];
    struct error reason = {0};
    char text[ERROR_TEXT_BYTES];
    if (!compile->has_cubin) {
        static_check_compile_reason(compile, reason.message, 256);
        tuning_job_give_up(job, index, compile->invalid ? OUTCOME_INVALID : OUTCOME_COMPILE_ERROR,
                           reason.message, compile->timed_out ? job->compile_timeout_s : 0,
                           compile->killed);
        /* a compiler that crashed may have needed more memory */
        if (compile->failure[0] != '\0' && !compile->invalid && !compile->timed_out &&
            !compile->killed)
            job->study.results[index].limit_mb = job->compile_memory_mb;
        if (!compile->invalid)
            note_compiled(job, reason.message);
        return false;
    }
    note_compiled(job, NULL);
    const char *decided_by = NULL;
    enum outcome outcome = check_compiled(job, index, &decided_by, &reason);
    if (outcome == OUTCOME_COMPILED)
        return true;
    job->study.results[index].run_hash[0] = '\0'; /* it is not run, so it is nobody's twin */
    tuning_job_conclude(job, index, outcome, error_text(&reason, text));
    job->study.results[index].decided_by = alloc_string(decided_by);
    return false;
}

/* --- a job --- */

/* Seconds until the run is done. The coordinator checks variants while others are compiled; those
 * that share a binary with another wait for nothing. */
static double left_s(const struct tuning *tuning)
{
    size_t jobs;
    double compile_s = compile_pool_left_s(tuning->pool, &jobs);
    size_t ahead = compile_ahead_left(tuning->ahead);
    if (jobs > 0) { /* those that are not requested yet take as long as those that are */
        compile_s += compile_s / (double)jobs * (double)ahead;
        jobs += ahead;
    }
    size_t left = tuning->progress->total - tuning->progress->done;
    size_t alone = left > jobs ? left - jobs : 0;
    double check_s = (double)tuning->busy_ns * 1e-9 / (double)tuning->checked;
    return fmax(compile_s, check_s * (double)(left - alone)) + check_s * (double)alone;
}

static int check_one(struct tuning *tuning, struct tuning_job *job, size_t index,
                     struct error *error)
{
    timings_stage(tuning->timings, TIMING_COMPILE);
    int status = compile_ahead_fill(tuning->ahead, error);
    if (status == 0 && job->compile_jobs[index] == NULL)
        status = tuning_job_request(job, index, error);
    if (status == 0)
        status = compile_pool_wait(tuning->pool, job->compile_jobs[index], error);
    int64_t begin_ns = clock_ns();
    if (status == 0 && !job->known[index]) {
        if (static_check_variant(job, index))
            tuning_job_conclude(job, index, OUTCOME_COMPILED, NULL);
        status = record_result(tuning->record, job->record_id, &job->study.results[index],
                               "screening", error);
    }
    if (status != 0)
        return status;
    tuning_job_drop(job, index);
    tuning->busy_ns += clock_ns() - begin_ns;
    tuning->checked++;
    progress_add_left(tuning->progress, job->study.kernel, job->study.results[index].outcome,
                      progress_is_due(tuning->progress) ? left_s(tuning) : 0);
    return 0;
}

static int check_part(struct tuning *tuning, struct tuning_job *job, size_t from, size_t to,
                      struct error *error)
{
    int status = 0;
    for (size_t i = from; i < job->order_count && i < to && status == 0; i++)
        status = check_one(tuning, job, job->order[i], error);
    return status;
}

int static_check_sample(struct tuning *tuning, struct tuning_job *job, struct error *error)
{
    int status = 0;
    if (!job->study.complete) { /* the references' launches, if any variant is to be compiled */
        timings_stage(tuning->timings, TIMING_COMPILE);
        if (job->reference != NULL)
            status = compile_pool_wait(tuning->pool, job->reference, error);
        if (status == 0 && job->probe != NULL)
            status = compile_pool_wait(tuning->pool, job->probe, error);
        if (status == 0)
            status = tuning_job_check_references(job, error);
        job->not_prepared = status == ERROR_CONFIG;
        if (status == 0)
            status = record_reopen(tuning->record, job->record_id, error);
    }
    return status != 0 ? status : check_part(tuning, job, 0, STATIC_SAMPLE, error);
}

int static_check_rest(struct tuning *tuning, struct tuning_job *job, struct error *error)
{
    int status = check_part(tuning, job, STATIC_SAMPLE, SIZE_MAX, error);
    if (status == 0)
        status = compile_pool_confirm(tuning->pool, error);
    if (status != 0 || job->study.complete)
        return status;
    timings_stage(tuning->timings, TIMING_RECORD);
    return record_finish(tuning->record, job->record_id, &job->study, error);
}
