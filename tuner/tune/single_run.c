#include "tune/single_run.h"

#include "base/alloc.h"
#include "compile/launch_check.h"
#include "template/problem_check.h"
#include "tune/job_space.h"
#include "tune/static_check.h"
#include "tune/tune_job.h"

#include <stdlib.h>

enum {
    ROUNDS = 10,     /* of the finals, which has nobody to race against */
    SLOW_ROUNDS = 1, /* of a variant that takes longer than SLOW_NS */
    LISTED_RUNS =
        4, /* of a variant that is wrong, until one of them is: each kind of poison has its turn */
    COMPILE_TIMEOUT_S = 600,
};
#define SLOW_NS 10e6

void single_run_release(struct single_run *run)
{
    tuning_job_release(&run->job);
    team_release(&run->team);
    fleet_release(&run->fleet);
    if (run->cache != NULL)
        (void)cubin_cache_use_end(&run->cache_use, run->cache, 0, UINT64_MAX, NULL);
    compile_pool_free(run->tuning.pool);
    event_loop_release(&run->loop);
    free(run->compiler_log);
    free(run->cache);
}

/* The worker makes its context while the coordinator compiles. */
static int find_gpu(struct single_run *run, const struct single_run_request *request,
                    struct error *error)
{
    const struct device_list devices = {.ordinals = {request->device}, .count = 1};
    const struct fleet_notice notice = {request->notice, NULL};
    int64_t waited_ns;
    int status = fleet_start(&run->fleet, &devices, NULL, &run->loop, error);
    if (status == 0)
        status = fleet_identify(&run->fleet, error);
    if (status == 0)
        status = fleet_lock(&run->fleet, request->no_wait, &notice, &waited_ns, error);
    if (status != 0)
        return status;
    team_add(&run->team, &run->fleet.gpus[0]);
    run->environment.gpu = run->fleet.gpus[0].gpu;
    return 0;
}

static int find_compiler(struct single_run *run, struct error *error)
{
    const struct compile_pool_options options = {.workers = 2, /* the variant and the reference */
                                                 .compile_timeout_s = COMPILE_TIMEOUT_S,
                                                 .cache_folder = run->cache};
    const char *nvrtc;
    int status = compile_pool_new(&run->tuning.pool, &run->loop, &options, error);
    return status != 0 ? status : compile_pool_nvrtc_version(run->tuning.pool, &nvrtc, error);
}

/* One that takes long is not measured as often. */
static int choose_rounds(void *user, const struct tuning_job *job, struct error *error)
{
    struct single_run *run = user;
    (void)error;
    if (job->study.results[0].time.median_ns > SLOW_NS)
        run->tuning.rules.minimum_rounds = run->tuning.rules.maximum_rounds = SLOW_ROUNDS;
    return 0;
}

static void make_job(struct single_run *run, const struct single_run_request *request)
{
    struct tuning_job *job = &run->job;
    run->kernel = (struct sweep_kernel){.label = request->template->name,
                                        .template = *request->template,
                                        .cold = request->template->cold};
    tuning_job_init(job, &run->kernel, request->problem, &run->environment);
    (void)tuning_job_add(job, request->parameters);
    job->compile_timeout_s = COMPILE_TIMEOUT_S;
    job->launch_timeout_s = request->launch_timeout_s;
    run->ahead = (struct compile_ahead){.pool = run->tuning.pool, .jobs = job, .job_count = 1};
    progress_start(&run->progress, 1, true);
    timings_start(&run->timings);
    run->tuning = (struct tuning){.pool = run->tuning.pool,
                                  .ahead = &run->ahead,
                                  .loop = &run->loop,
                                  .team = &run->team,
                                  .progress = &run->progress,
                                  .timings = &run->timings,
                                  .rules = {.minimum_rounds = ROUNDS, .maximum_rounds = ROUNDS},
                                  .launch_timeout_s = request->launch_timeout_s,
                                  .before_finals = choose_rounds,
                                  .notice = request->notice,
                                  .user = run};
}

/* First, for the compiler's messages. */
static int compile(struct single_run *run, struct error *error)
{
    struct tuning_job *job = &run->job;
    int status = tuning_job_request(job, run->tuning.pool, 0, error);
    if (status == 0)
        status = compile_pool_wait(run->tuning.pool, job->compile_jobs[0], error);
    if (status != 0)
        return status;
    run->compiler_log = alloc_string(job->compile_jobs[0]->compilation.log);
    return launch_check_refusal(&run->kernel.template, run->compiler_log, error);
}

static int measure(struct single_run *run, struct error *error)
{
    struct tuning_job *job = &run->job;
    int status = tuning_job_compile(job, run->tuning.pool, error);
    if (status == 0)
        status = tune_job_request_support(run->tuning.pool, run->environment.gpu.arch,
                                          &run->tuning.support, error);
    return status != 0 ? status : tune_job(&run->tuning, job, error);
}

/* What differs in the first run that is wrong, as far as it is wrong again. */
static int list_differences(struct single_run *run, size_t wanted, struct error *error)
{
    struct tuning_job *job = &run->job;
    struct device_client_answer answer = {0};
    struct device_client_check check = {.runs = LISTED_RUNS,
                                        .careful = true,
                                        .differences = run->differences,
                                        .count = &run->difference_count};
    const unsigned data_sets = template_draws_data(&run->kernel.template) ? 2 : 1;
    int status = wanted > 0 ? tuning_job_request(job, run->tuning.pool, 0, error) : 0;
    if (wanted == 0 || status != 0)
        return status;
    status = compile_pool_wait(run->tuning.pool, job->compile_jobs[0], error);
    if (status == 0)
        status = device_client_load(tuning_client(&run->tuning), 1, job->compile_jobs[0]->path,
                                    &job->study.results[0].parameters, &job->study.results[0],
                                    &answer, error);
    for (; check.data_set < data_sets && status == 0 && run->difference_count == 0 &&
           answer.outcome == OUTCOME_MEASURED && !answer.again;
         check.data_set++) {
        run->difference_count = wanted < SINGLE_RUN_DIFFERENCES ? wanted : SINGLE_RUN_DIFFERENCES;
        status = device_client_verify(tuning_client(&run->tuning), 1, &check, &answer, error);
    }
    return status;
}

int single_run_perform(struct single_run *run, const struct single_run_request *request,
                       struct error *error)
{
    run->cache_use.file = -1;
    run->cache = cubin_cache_default_folder();
    int status = cubin_cache_check_folder(run->cache, error);
    if (status == 0 && !cubin_cache_use_begin(&run->cache_use, run->cache))
        status = cubin_cache_use_wait(&run->cache_use, error);
    if (status == 0)
        status = find_gpu(run, request, error);
    if (status == 0)
        status = find_compiler(run, error);
    if (status != 0)
        return status;
    make_job(run, request);
    status = problem_check(&run->kernel.template, &run->job.fixed, error);
    if (status == 0)
        status = job_memory_check(&run->job, error);
    if (status == 0)
        status = compile(run, error);
    if (status == 0 && static_check_variant(&run->job, 0))
        status = measure(run, error);
    return status == 0 && run->job.study.results[0].outcome == OUTCOME_WRONG_RESULT
               ? list_differences(run, request->differences, error)
               : status;
}
