#include "tune/tuning_job.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/interrupt.h"
#include "base/statistics.h"
#include "compile/launch_check.h"
#include "compile/struct_probe.h"
#include "template/fill.h"
#include "template/variant.h"

#include <stdio.h>
#include <stdlib.h>

void tuning_job_take_environment(struct tuning_job *job)
{
    struct study *study = &job->study;
    free(study->environment.command);
    study->environment = *job->environment;
    study->environment.command = alloc_string(job->environment->command);
}

void tuning_job_init(struct tuning_job *job, const struct sweep_kernel *kernel,
                     const struct bindings *problem, const struct environment *environment,
                     struct compile_pool *pool)
{
    *job = (struct tuning_job){
        .kernel = kernel, .problem = problem, .environment = environment, .pool = pool};
    job->begin_ns = clock_ns();
    struct study *study = &job->study;
    tuning_job_take_environment(job);
    study->kernel = alloc_string(kernel->label);
    study->template_name = alloc_string(kernel->template.name);
    study->template_hash = alloc_string(kernel->template.hash);
    study->description = alloc_string(kernel->description);
    bindings_copy(&study->problem, problem);
    if (!environment->static_mode) {
        job->data = fill_list_files(&kernel->template, study->data_hash);
        study->one_data_set = !template_draws_data(&kernel->template);
    }
    (void)snprintf(study->cache, sizeof study->cache, "%s", kernel->cold ? "cold" : "warm");
    bindings_copy(&job->fixed, problem);
    gpu_bindings(&environment->gpu, &job->fixed);
}

void tuning_job_release(struct tuning_job *job)
{
    bindings_release(&job->fixed);
    struct_probe_release(&job->probe_source);
    json_decref(job->data);
    study_release(&job->study);
    free(job->compile_jobs);
    free(job->order);
    free(job->known);
    free(job->suspects);
    tuning_job_end_search(job);
    *job = (struct tuning_job){0};
}

bool tuning_job_can_win(const struct tuning_job *job)
{
    return tuning_job_is_searching(job) || job->known_count < job->study.result_count ||
           study_count(&job->study, OUTCOME_MEASURED) > 0;
}

/* --- compiling --- */

/* A variant; or the helpers, with the parameters' defaults, and then at once. */
static int request(const struct tuning_job *job, const struct bindings *parameters, bool helpers,
                   struct compile_job **compile, struct error *error)
{
    const struct template *template = &job->kernel->template;
    struct options options;
    struct error reason;
    int made = helpers ? helper_options(template, parameters, job->problem, &options, &reason)
                       : variant_options(template, parameters, job->problem, &options, &reason);
    if (made != 0) {
        options_release(&options);
        *compile = compile_pool_refuse(job->pool, &reason);
        return 0;
    }
    variant_headers(template, parameters, job->problem, &options);
    int status = compile_pool_set_arch(job->pool, job->study.environment.gpu.arch, error);
    if (status == 0)
        status =
            compile_pool_request(job->pool, &template->source, &options, helpers, compile, error);
    options_release(&options);
    return status;
}

int tuning_job_request(struct tuning_job *job, size_t index, struct error *error)
{
    return request(job, &job->study.results[index].parameters, false, &job->compile_jobs[index],
                   error);
}

int tuning_job_recompile(struct tuning_job *job, size_t index, struct error *error)
{
    struct compile_job *compile = job->compile_jobs[index];
    if (!compile_pool_distrust(compile))
        return error_set(error, ERROR_RECORD,
                         "cubin '%s' is missing or damaged again and again; look at its disk and "
                         "permissions",
                         compile->path);
    int status = tuning_job_request(job, index, error);
    if (status == 0)
        compile_pool_drop(job->pool, compile);
    return status != 0 ? status : compile_pool_wait(job->pool, compile, error);
}

/* If arguments are structs. */
static int request_probe(struct tuning_job *job, const struct bindings *defaults,
                         struct error *error)
{
    const struct template *template = &job->kernel->template;
    const struct scope fixed = {&job->fixed, NULL};
    const struct scope scope = {defaults, &fixed};
    struct options options;
    if (job->probe_source.files != NULL ||
        !struct_probe_make(&job->probe_source, &options, template, &scope, job->problem))
        return 0;
    int status = compile_pool_set_arch(job->pool, job->study.environment.gpu.arch, error);
    if (status == 0)
        status =
            compile_pool_request(job->pool, &job->probe_source, &options, true, &job->probe, error);
    options_release(&options);
    return status;
}

int tuning_job_compile(struct tuning_job *job, struct error *error)
{
    uint64_t state = 0x9e3779b97f4a7c15u;
    for (size_t i = 0; i < job->study.result_count; i++)
        if (!job->known[i])
            *ARRAY_APPEND(job->order, job->order_count) = i;
    statistics_shuffle(job->order, job->order_count, &state);
    struct bindings defaults = {0};
    int status = 0;
    variant_defaults(&job->kernel->template, &defaults);
    if (template_has_helpers(&job->kernel->template))
        status = request(job, &defaults, true, &job->reference, error);
    if (status == 0)
        status = request_probe(job, &defaults, error);
    bindings_release(&defaults);
    return status;
}

static int compile_next(struct tuning_job *job, struct error *error)
{
    while (job->requested < job->order_count) {
        size_t index = job->order[job->requested++];
        if (job->known[index] || job->compile_jobs[index] != NULL)
            continue;
        int status = tuning_job_request(job, index, error);
        return status != 0 ? status : 1;
    }
    return 0;
}

void tuning_job_drop(struct tuning_job *job, size_t index)
{
    if (job->compile_jobs[index] != NULL)
        compile_pool_drop(job->pool, job->compile_jobs[index]);
    job->compile_jobs[index] = NULL;
}

void tuning_job_drop_all(struct tuning_job *job)
{
    for (size_t i = 0; i < job->study.result_count; i++)
        tuning_job_drop(job, i);
    if (job->reference != NULL)
        compile_pool_drop(job->pool, job->reference);
    if (job->probe != NULL)
        compile_pool_drop(job->pool, job->probe);
    job->reference = job->probe = NULL;
    job->requested = job->order_count;
}

int tuning_job_check_references(const struct tuning_job *job, struct error *error)
{
    const struct compile_job *compile = job->reference;
    struct compilation image = {0};
    char *unchecked;
    int status = 0;
    if (job->probe != NULL && job->probe->done) {
        status = struct_probe_read(&job->kernel->template, job->probe->compilation.log, &unchecked,
                                   error);
        free(unchecked);
    }
    if (compile == NULL || status != 0)
        return status;
    if (!compile->has_cubin)
        return launch_check_refusal(&job->kernel->template, compile->compilation.log, error);
    struct launch_check check = {.template = &job->kernel->template,
                                 .gpu = &job->study.environment.gpu,
                                 .compilation = &image};
    if (compile_job_image(compile, &image, NULL) == 0)
        status = launch_check_helpers(&check, &job->fixed, error);
    compilation_release(&image);
    return status;
}

/* --- ahead of the GPU --- */

/* Beside the references, one of each job. A job that is held is compiled, or waits for a compiler or a
 * GPU; with few workers, a thousand take little memory. */
enum { LEAST_HELD = 1024, HELD_BY_WORKER = 2 };

/* Goes on to the job whose turn it is; false if nothing is left to request. */
static bool find_next(struct compile_ahead *ahead)
{
    const struct tuning_job *jobs = ahead->jobs;
    while (ahead->next < ahead->job_count && ahead->sample > 0 &&
           jobs[ahead->next].requested >= ahead->sample)
        ahead->next++;
    if (ahead->next == ahead->job_count && ahead->sample > 0) {
        ahead->sample = 0;
        ahead->next = 0;
    }
    return ahead->next < ahead->job_count;
}

int compile_ahead_next(struct compile_ahead *ahead, struct error *error)
{
    const size_t by_workers = HELD_BY_WORKER * compile_pool_counts(ahead->pool).workers;
    const size_t most = (by_workers > LEAST_HELD ? by_workers : LEAST_HELD) + ahead->job_count;
    int status = 0;
    while (status == 0 && find_next(ahead) && compile_pool_counts(ahead->pool).held < most) {
        if (interrupt_requested())
            return error_set(error, ERROR_INTERRUPTED, "interrupted");
        status = compile_next(&ahead->jobs[ahead->next], error);
        ahead->next += status == 0;
    }
    return status;
}

int compile_ahead_fill(struct compile_ahead *ahead, struct error *error)
{
    int status = 1;
    while (status == 1)
        status = compile_ahead_next(ahead, error);
    return status;
}

size_t compile_ahead_left(const struct compile_ahead *ahead)
{
    size_t left = 0;
    for (size_t i = 0; i < ahead->job_count; i++)
        left += ahead->jobs[i].order_count - ahead->jobs[i].requested;
    return left;
}

/* --- searching --- */

size_t tuning_job_add(struct tuning_job *job, const struct bindings *parameters)
{
    size_t index = job->study.result_count;
    size_t known_count = index;
    size_t compile_count = index;
    struct result *result = ARRAY_APPEND(job->study.results, job->study.result_count);
    bindings_copy(&result->parameters, parameters);
    (void)ARRAY_APPEND(job->known, known_count);
    (void)ARRAY_APPEND(job->compile_jobs, compile_count);
    return index;
}

void tuning_job_take_study(struct tuning_job *job, struct study *study)
{
    size_t kept = 0;
    *study = job->study;
    job->study = (struct study){0};
    for (size_t i = 0; i < study->result_count; i++) {
        if (!job->known[i]) {
            result_release(&study->results[i]);
            continue;
        }
        if (study->has_winner && study->winner == i)
            study->winner = kept;
        study->results[kept++] = study->results[i];
    }
    study->result_count = kept;
    study_link_twins(study);
}

void tuning_job_begin(struct tuning_job *job)
{
    double spent_s = 0;
    for (size_t i = 0; i < job->study.result_count; i++)
        if (job->known[i] && job->study.results[i].seen_s > spent_s)
            spent_s = job->study.results[i].seen_s;
    job->begin_ns = clock_ns() - (int64_t)(spent_s * 1e9);
}

struct kernel_stats_source tuning_job_stats_source(const struct tuning_job *job, size_t index)
{
    return (struct kernel_stats_source){
        .template = &job->kernel->template,
        .gpu = &job->study.environment.gpu,
        .fixed = &job->fixed,
        .parameters = &job->study.results[index].parameters,
        .compilation = &job->compile_jobs[index]->compilation,
    };
}

void tuning_job_conclude(struct tuning_job *job, size_t index, enum outcome outcome,
                         const char *reason)
{
    struct result *result = &job->study.results[index];
    result->outcome = outcome;
    free(result->reason);
    free(result->decided_by);
    result->decided_by = NULL;
    result->reason = reason != NULL && reason[0] != '\0' ? alloc_string(reason) : NULL;
    result->limit_s = 0;
    result->limit_mb = 0;
    if (result->seen_s <= 0)
        result->seen_s = (double)(clock_ns() - job->begin_ns) * 1e-9;
    job->known_count += !job->known[index];
    job->known[index] = true;
    if (outcome != OUTCOME_DUPLICATE) /* whose time is another's */
        tuning_job_tell(job, index, result);
}

void tuning_job_give_up(struct tuning_job *job, size_t index, enum outcome outcome,
                        const char *reason, double limit_s, bool passing)
{
    tuning_job_conclude(job, index, outcome, reason);
    job->study.results[index].limit_s = passing ? LIMIT_KILLED_S : limit_s;
}

void tuning_job_take_answer(struct tuning_job *job, size_t index,
                            const struct device_client_answer *answer)
{
    double limit_s = answer->outcome == OUTCOME_TIMEOUT ? job->launch_timeout_s : 0;
    bool was_right = job->known[index] && job->study.results[index].outcome == OUTCOME_MEASURED;
    job->disqualified = job->disqualified || (was_right && answer->outcome != OUTCOME_MEASURED);
    if (answer->outcome != OUTCOME_MEASURED && index == job->study.winner)
        job->study.has_winner = false; /* of earlier finals */
    tuning_job_give_up(job, index, answer->outcome, answer->reason, limit_s, answer->passing);
}
