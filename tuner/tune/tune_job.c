#include "tune/tune_job.h"

#include "compile/device_kernels.h"
#include "template/source.h"
#include "tune/finals.h"
#include "tune/screening.h"
#include "tune/static_check.h"

int tune_job_request_support(struct compile_pool *pool, struct compile_job **compile,
                             struct error *error)
{
    char digits[HASH_BYTES];
    struct hash *hash = hash_new();
    struct options options = {0};
    hash_add_text(hash, device_kernels_source);
    hash_finish(hash, digits);
    return compile_pool_request(pool, "autotune/device_kernels.cu", device_kernels_source, digits,
                                &options, true, compile, error);
}

static int wait_for(struct tuning *tuning, const struct tuning_job *job,
                    const struct compile_job *compile, const char *what, struct error *error)
{
    char reason[256];
    int status = compile_pool_wait(tuning->pool, compile, error);
    if (status != 0 || compile->has_cubin)
        return status;
    static_check_compile_reason(compile, reason, sizeof reason);
    return error_set_at(error, ERROR_CONFIG, job->kernel->template.source.path, 0,
                        "%s does not compile: %s", what, reason);
}

static int open_problem(struct tuning *tuning, struct tuning_job *job, struct error *error)
{
    const struct template *template = &job->kernel->template;
    timings_stage(tuning->timings, TIMING_COMPILE);
    int status = wait_for(tuning, job, tuning->support, "the tuner's own kernels", error);
    if (status == 0 && job->reference != NULL)
        status = wait_for(tuning, job, job->reference, "the source, with its defaults,", error);
    if (status == 0)
        status = tuning_job_check_references(job, error);
    if (status != 0)
        return status;
    struct gpu_problem problem = {
        .template_path = template->path,
        .template_hash = template->hash,
        .values = job->problem,
        .support_cubin = tuning->support->path,
        .reference_cubin = job->reference != NULL ? job->reference->path : NULL,
        .cold = job->kernel->cold,
        .launch_timeout_s = tuning->launch_timeout_s,
    };
    timings_stage(tuning->timings, TIMING_PREPARE);
    return gpu_client_open(tuning->client, &problem, &job->study.empty_kernel_ns, error);
}

/* Adds what was seen now to what the record says of an earlier run. */
static void note_conditions(struct gpu_conditions *conditions, struct gpu_conditions now)
{
    now.dropped_samples += conditions->dropped_samples;
    now.throttled_samples += conditions->throttled_samples;
    if (now.known || !conditions->known)
        *conditions = now;
}

static int measure_job(struct tuning *tuning, struct tuning_job *job, struct error *error)
{
    int status = open_problem(tuning, job, error);
    if (status == 0)
        status = record_reopen(tuning->record, job->record_id, error);
    if (status == 0)
        status = screening_hold(tuning, job, error);
    /* finals in which everyone fails after all are held again among those left */
    do {
        if (status == 0)
            status = finals_hold(tuning, job, error);
    } while (status == 0 && !job->study.has_winner &&
             study_count(&job->study, OUTCOME_MEASURED) > 0);
    if (status != 0)
        return status;
    if (gpu_client_empty_batch_ns(tuning->client) > 0)
        job->study.empty_batch_ns = gpu_client_empty_batch_ns(tuning->client);
    note_conditions(&job->study.conditions, gpu_client_conditions(tuning->client));
    return 0;
}

int tune_job(struct tuning *tuning, struct tuning_job *job, struct error *error)
{
    tuning->rules = race_rules_complete(tuning->rules);
    progress_problem(tuning->progress);
    int status = tuning_job_can_win(job) ? measure_job(tuning, job, error) : 0;
    if (status != 0)
        return status;
    study_link_twins(&job->study);
    job->study.complete = true;
    timings_stage(tuning->timings, TIMING_RECORD);
    return record_finish(tuning->record, job->record_id, &job->study, error);
}
