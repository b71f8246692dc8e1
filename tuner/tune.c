#include "tune.h"

#include "device_kernels.h"
#include "finals.h"
#include "inspect.h"
#include "screening.h"
#include "source.h"

int tune_request_support(struct pool *pool, struct compile_job **job, struct error *error)
{
    char digits[HASH_BYTES];
    struct hash *hash = hash_new();
    struct options options = {0};
    hash_add_text(hash, device_kernels_source);
    hash_finish(hash, digits);
    return pool_request(pool, "autotune/device_kernels.cu", device_kernels_source, digits, &options,
                        true, job, error);
}

/* -- a plan --------------------------------------------------------------------------------------
 */

static int wait_for(struct tuning *tuning, const struct plan *plan, const struct compile_job *job,
                    const char *what, struct error *error)
{
    char reason[256];
    int status = pool_wait(tuning->pool, job, error);
    if (status != 0 || job->has_cubin)
        return status;
    inspect_compile_reason(job, reason, sizeof reason);
    return error_set_at(error, ERROR_CONFIG, plan->kernel->template.source.path, 0,
                        "%s does not compile: %s", what, reason);
}

static int open_problem(struct tuning *tuning, struct plan *plan, struct error *error)
{
    const struct template *template = &plan->kernel->template;
    timings_stage(tuning->timings, TIMING_COMPILE);
    int status = wait_for(tuning, plan, tuning->support, "the tuner's own kernels", error);
    if (status == 0 && plan->reference != NULL)
        status = wait_for(tuning, plan, plan->reference, "the source, with its defaults,", error);
    if (status != 0)
        return status;
    struct device_request request = {
        .template_path = template->path,
        .template_hash = template->hash,
        .problem = plan->problem,
        .support_cubin = tuning->support->path,
        .reference_cubin = plan->reference != NULL ? plan->reference->path : NULL,
        .cold = plan->kernel->cold,
        .launch_timeout_s = tuning->launch_timeout_s,
    };
    timings_stage(tuning->timings, TIMING_PREPARE);
    return device_open(tuning->device, &request, &plan->study.empty_kernel_ns, error);
}

/* Adds what was seen now to what the record says of an earlier run. */
static void note_watched(struct watched *watched, struct watched now)
{
    now.dropped_samples += watched->dropped_samples;
    now.throttled_samples += watched->throttled_samples;
    if (now.known || !watched->known)
        *watched = now;
}

int tune_plan(struct tuning *tuning, struct plan *plan, struct error *error)
{
    tuning->rules = race_rules_complete(tuning->rules);
    progress_problem(tuning->progress);
    int status = open_problem(tuning, plan, error);
    if (status == 0)
        status = screening_hold(tuning, plan, error);
    /* finals in which everyone fails after all are held again among those left */
    do {
        if (status == 0)
            status = finals_hold(tuning, plan, error);
    } while (status == 0 && !plan->study.has_winner &&
             study_count(&plan->study, OUTCOME_MEASURED) > 0);
    if (status != 0)
        return status;
    if (device_empty_batch_ns(tuning->device) > 0)
        plan->study.empty_batch_ns = device_empty_batch_ns(tuning->device);
    note_watched(&plan->study.watched, device_watched(tuning->device));
    plan->study.complete = true;
    timings_stage(tuning->timings, TIMING_RECORD);
    return record_finish(tuning->record, plan->record_id, &plan->study, error);
}
