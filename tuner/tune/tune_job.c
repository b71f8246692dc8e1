#include "tune/tuning.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "compile/build.h"
#include "compile/launch_check.h"
#include "template/source.h"

int tune_job_request_support(struct compile_pool *pool, const char *arch,
                             struct compile_job **compile, struct error *error)
{
    const struct options options = {0};
    int status = compile_pool_set_arch(pool, arch, error);
    return status != 0
               ? status
               : compile_pool_request(pool, device_kernels(), &options, true, compile, error);
}

static int wait_for(struct tuning *tuning, const struct tuning_job *job,
                    const struct compile_job *compile, const char *what, struct error *error)
{
    char reason[256];
    int status =
        compile_pool_wait_until(tuning->pool, compile, allowance_end(&tuning->allowance), error);
    if (status != 0 || compile->has_cubin || !compile->done)
        return status;
    if (launch_check_refusal(&job->kernel->template, compile->compilation.log, error) != 0)
        return ERROR_CONFIG;
    static_check_compile_reason(compile, reason, sizeof reason);
    const char *path = compile == job->reference ? job->kernel->template.source.files[0].path : "";
    return compile->killed ? error_set_at(error, ERROR_WORKER, path, 0,
                                          "%s could not be compiled: %s; run again", what, reason)
                           : error_set_at(error, ERROR_CONFIG, path, 0, "%s cannot be compiled: %s",
                                          what, reason);
}

static int open_problem(struct tuning *tuning, struct tuning_job *job, struct error *error)
{
    const struct template *template = &job->kernel->template;
    struct opened_problem problem = {
        .template = template,
        .data = job->data,
        .values = job->problem,
        .support_cubin = tuning->support->path,
        .reference_cubin = job->reference != NULL ? job->reference->path : NULL,
        .cold = job->kernel->cold,
        .launch_timeout_s = tuning->launch_timeout_s,
    };
    timings_stage(tuning->timings, TIMING_PREPARE);
    return team_open(tuning->team, tuning->loop, &problem, &job->study.empty_kernel_ns, error);
}

static int hold_finals(struct tuning *tuning, struct tuning_job *job, struct error *error)
{
    for (size_t i = 0; i < job->study.result_count;
         i++) /* marks of earlier ones, whose verdict is withdrawn */
        job->study.results[i].finalist = job->study.results[i].tied = false;
    return finals_hold(tuning, job, error);
}

/* Does what several GPUs may have a part in. If one of them fails, the others do it again. */
static int do_on_team(struct tuning *tuning, struct tuning_job *job,
                      int (*stage)(struct tuning *, struct tuning_job *, struct error *),
                      struct error *error)
{
    for (;;) {
        int status = stage(tuning, job, error);
        struct team *team = tuning->team;
        struct fleet_gpu *failed = status != 0 ? team_culprit(team, status) : NULL;
        if (failed == NULL)
            return status;
        for (size_t i = 0; i < team->count && team_other(team, failed) == NULL; i++)
            if (team->gpus[i] != failed && team->gpus[i]->pauses) /* perhaps it can go on */
                team_resume(team->gpus[i]);
        if (team_other(team, failed) == NULL)
            return status;
        tuning_notice(tuning, failed, "failed", error != NULL ? error->message : "",
                      "another one takes over");
        team_leave(tuning->team, failed, status != ERROR_MEMORY);
    }
}

/* Waits for the code without which the problem cannot be opened, and checks it. `*ready` is false
 * if time ran out before. */
static int wait_for_code(struct tuning *tuning, struct tuning_job *job, bool *ready,
                         struct error *error)
{
    timings_stage(tuning->timings, TIMING_COMPILE);
    int status = wait_for(tuning, job, tuning->support, "the tuner's own kernels", error);
    if (status == 0 && job->reference != NULL)
        status = wait_for(tuning, job, job->reference, "the source, with its defaults,", error);
    if (status == 0 && job->probe != NULL)
        status = compile_pool_wait_until(tuning->pool, job->probe,
                                         allowance_end(&tuning->allowance), error);
    *ready = tuning->support->done && (job->reference == NULL || job->reference->done) &&
             (job->probe == NULL || job->probe->done);
    return status == 0 && *ready ? tuning_job_check_references(job, error) : status;
}

/* Keeps what the team saw of its GPUs. */
static void keep_conditions(const struct tuning *tuning, struct tuning_job *job)
{
    struct gpu_conditions *earlier = &job->study.conditions; /* by the record, in another run */
    struct gpu_conditions now = team_conditions(tuning->team);
    now.dropped_samples += earlier->dropped_samples;
    now.throttled_samples += earlier->throttled_samples;
    if (now.known || !earlier->known)
        *earlier = now;
}

static int measure_job(struct tuning *tuning, struct tuning_job *job, struct error *error)
{
    int64_t finals_ns;
    bool goes_on;
    bool ready;
    int status = wait_for_code(tuning, job, &ready, error);
    int64_t open_ns = clock_ns();
    if (status == 0 && ready)
        status = open_problem(tuning, job, error);
    if (template_draws_data(&job->kernel->template))
        tuning->allowance.data_ns = (double)(clock_ns() - open_ns);
    job->not_prepared = status == ERROR_CONFIG || status == ERROR_DEVICE || status == ERROR_WORKER;
    if (status != 0 || !ready)
        return status;
    status = record_reopen(tuning->record, job->record_id, error);
    do {
        if (status == 0)
            status = do_on_team(tuning, job, screening_hold, error);
        if (status == 0 && tuning->before_finals != NULL)
            status = tuning->before_finals(tuning->user, job, error);
        finals_ns = clock_ns();
        if (status == 0)
            status = do_on_team(tuning, job, hold_finals, error);
        /* without a winner, others are held among those left; a search goes on while there is time for it */
        int64_t now_ns = clock_ns();
        goes_on = (!job->study.has_winner && study_count(&job->study, OUTCOME_MEASURED) > 0) ||
                  (tuning_job_is_searching(job) &&
                   allowance_has_more(&tuning->allowance, now_ns, now_ns - finals_ns));
    } while (status == 0 && goes_on);
    job->not_prepared = team_not_prepared(tuning->team);
    if (status != 0)
        return status;
    if (tuning_client(tuning)->empty_batch_ns > 0)
        job->study.empty_batch_ns = tuning_client(tuning)->empty_batch_ns;
    keep_conditions(tuning, job);
    return 0;
}

int tune_job_prepare(struct tuning_job *job, int64_t end_ns, struct error *error)
{
    int status = 1;
    while (status == 1 && job->order_count < 2 * compile_pool_counts(job->pool).workers) {
        size_t index;
        status = tuning_job_propose(job, end_ns, &index, error);
        if (status != 1)
            return status;
        *ARRAY_APPEND(job->order, job->order_count) = index;
        int requested = tuning_job_request(job, index, error);
        status = requested != 0 ? requested : 1;
    }
    return status < 0 ? status : 0;
}

int tune_job(struct tuning *tuning, struct tuning_job *job, struct error *error)
{
    tuning->rules = race_rules_complete(tuning->rules);
    progress_problem(tuning->progress);
    tuning_job_begin(job);
    int status;
    do {
        status = tuning_job_can_win(job) ? measure_job(tuning, job, error)
                                         : record_reopen(tuning->record, job->record_id, error);
        if (job->proposer != NULL)
            tuning_job_drop_untried(job);
        study_link_twins(&job->study);
        if (status == 0)
            status = compile_pool_confirm(tuning->pool, error);
        /* unfinished: time ran out before the search had found anything valid, or before the finals */
        if (status != 0 || (!job->study.has_winner && tuning_job_can_win(job)))
            return status;
        timings_stage(tuning->timings, TIMING_RECORD);
        status = record_finish(tuning->record, job->record_id, &job->study, error);
        job->disqualified = !job->study.complete;
    } while (status == 0 && !job->study.complete); /* what won has failed in another run */
    return status;
}
