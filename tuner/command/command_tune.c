#include "command/command.h"

#include "base/alloc.h"
#include "base/interrupt.h"
#include "base/write_file.h"
#include "compile/compile_pool.h"
#include "compile/sass.h"
#include "record/record.h"
#include "record/tuned_file.h"
#include "tune/gpu_cache.h"
#include "tune/gpu_client.h"
#include "tune/gpu_lock.h"
#include "tune/instruction_counts.h"
#include "tune/progress.h"
#include "tune/static_check.h"
#include "tune/timings.h"
#include "tune/tune.h"
#include "tune/tuning_job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Everything a run holds; run_release() takes it all down, whatever there is of it. */
struct run {
    struct command_options options;
    enum report_format format;
    struct sweep sweep;
    const char *tuned;
    const char *results;
    struct compile_pool *pool;
    struct gpu_client *client; /* NULL in static mode */
    struct record *record;
    struct environment environment;
    char *cache;      /* folder of the cubins */
    bool gpu_assumed; /* taken from the cache: not confirmed by the device worker yet */
    struct tuning_job *jobs;
    size_t job_count;
    size_t refused_count; /* jobs for which there is no room */
    struct progress progress;
    struct timings timings;
    struct gpu_lock lock;
};

static void run_release(struct run *run)
{
    for (size_t i = 0; i < run->job_count; i++)
        tuning_job_release(&run->jobs[i]);
    free(run->jobs);
    free(run->environment.command);
    free(run->cache);
    record_close(run->record);
    gpu_client_free(run->client);
    compile_pool_free(run->pool);
    gpu_lock_release(&run->lock);
    sweep_release(&run->sweep);
    command_options_release(&run->options);
}

/* -- starting ------------------------------------------------------------------------------------
 */

static char *join_arguments(int argc, const char **argv)
{
    char *text = alloc_string("autotune");
    for (int i = 1; i < argc; i++) {
        char *longer = alloc_format("%s %s", text, argv[i]);
        free(text);
        text = longer;
    }
    return text;
}

static void describe_run(struct run *run, int argc, const char **argv)
{
    struct environment *environment = &run->environment;
    time_t now = time(NULL);
    struct tm utc;
    (void)snprintf(environment->autotune, sizeof environment->autotune, "%s", AUTOTUNE_VERSION);
    if (gethostname(environment->host, sizeof environment->host - 1) != 0)
        environment->host[0] = '\0';
    if (gmtime_r(&now, &utc) != NULL)
        (void)strftime(environment->date, sizeof environment->date, "%Y-%m-%dT%H:%M:%SZ", &utc);
    environment->command = join_arguments(argc, argv);
    environment->static_mode = run->options.arch != NULL;
}

static int start_workers(struct run *run, struct error *error)
{
    run->cache = cubin_cache_default_folder();
    int jobs = run->options.jobs;
    struct compile_pool_options options = {.workers = jobs != JOBS_ALL ? (size_t)jobs : 0,
                                           .compile_timeout_s = run->sweep.compile_timeout_s,
                                           .cache_folder = run->cache};
    int status = compile_pool_new(&run->pool, &options, error);
    if (status == 0 && !run->environment.static_mode)
        status = gpu_client_new(&run->client, run->options.device, run->pool, error);
    return status;
}

/* From the table, from the last time, or from the device worker. */
static int find_gpu(struct run *run, struct error *error)
{
    struct gpu *gpu = &run->environment.gpu;
    if (run->environment.static_mode)
        return gpu_from_arch(run->options.arch, gpu, error);
    run->gpu_assumed = gpu_cache_read(run->cache, run->options.device, gpu);
    if (run->gpu_assumed)
        return 0;
    int status = gpu_client_gpu(run->client, gpu, error);
    if (status == 0)
        gpu_cache_write(run->cache, run->options.device, gpu);
    return status;
}

/* Before anything is measured, the device worker has its say on what was taken from the cache. */
static int confirm_gpu(struct run *run, struct error *error)
{
    struct gpu gpu;
    if (!run->gpu_assumed)
        return 0;
    timings_stage(&run->timings, TIMING_CONTEXT);
    int status = gpu_client_gpu(run->client, &gpu, error);
    if (status != 0 || gpu_equal(&gpu, &run->environment.gpu))
        return status;
    gpu_cache_write(run->cache, run->options.device, &gpu);
    return error_set(error, ERROR_DEVICE,
                     "device %d is not what it was the last time; run the same command again",
                     run->options.device);
}

/* Nobody else times anything on this GPU meanwhile. Before the record is asked, so that what the
 * other run measured is known to this one. */
static int lock_gpu(struct run *run, struct error *error)
{
    bool held;
    if (run->environment.static_mode)
        return 0;
    int status = gpu_lock_try(&run->lock, run->cache, run->environment.gpu.uuid, &held, error);
    if (status != 0 || held)
        return status;
    if (run->options.no_wait)
        return error_set(error, ERROR_DEVICE,
                         "'%s' is being used by another run, process %ld; leave out --no-wait to "
                         "wait for it",
                         run->environment.gpu.name, run->lock.owner);
    fprintf(stderr, "autotune: waiting for process %ld, which is using '%s'\n", run->lock.owner,
            run->environment.gpu.name);
    return gpu_lock_wait(&run->lock, error);
}

static int find_compiler(struct run *run, struct error *error)
{
    struct environment *environment = &run->environment;
    const char *nvrtc;
    int status = compile_pool_set_arch(run->pool, environment->gpu.arch, error);
    if (status == 0)
        status = compile_pool_nvrtc_version(run->pool, &nvrtc, error);
    if (status == 0)
        (void)snprintf(environment->nvrtc, sizeof environment->nvrtc, "%s", nvrtc);
    return status;
}

static int open_record(struct run *run, struct error *error)
{
    char *path = alloc_format("%s/record.sqlite", run->results);
    struct record_repair repair = {0};
    timings_stage(&run->timings, TIMING_RECORD);
    int status = write_file_make_folders(path, error);
    if (status == 0)
        status = record_open_sound(&run->record, path, &repair, error);
    if (repair.set_aside != NULL)
        fprintf(stderr,
                "autotune: '%s' is damaged or no record; it is now '%s', and all is measured "
                "again\n",
                path, repair.set_aside);
    if (repair.dropped > 0)
        fprintf(stderr, "autotune: '%s': %zu damaged rows are dropped and measured again\n", path,
                repair.dropped);
    free(repair.set_aside);
    free(path);
    return status;
}

/* -- planning ------------------------------------------------------------------------------------
 */

/* A problem for which there is no room in the device's memory is left out, and said at once. */
static void refuse_job(struct run *run, struct tuning_job *job, const struct error *error)
{
    progress_end(&run->progress);
    error_print(error, stderr);
    job->refused = true;
    run->refused_count++;
}

static void check_memory(struct run *run, struct tuning_job *job)
{
    struct error refusal;
    if (!run->environment.static_mode && !tuning_job_is_complete(job) &&
        tuning_job_check_memory(job, &refusal) != 0)
        refuse_job(run, job, &refusal);
}

static int make_job(struct run *run, const struct sweep_kernel *kernel,
                    const struct bindings *problem, struct error *error)
{
    struct tuning_job *job = ARRAY_APPEND(run->jobs, run->job_count);
    tuning_job_init(job, kernel, problem, &run->environment);
    int status =
        record_begin(run->record, &job->study, run->options.remeasure != 0, &job->record_id, error);
    return status != 0 ? status : tuning_job_enumerate(job, error);
}

/* All jobs first, and their compile jobs, so that the compiler works ahead of the GPU. */
static int make_jobs(struct run *run, struct error *error)
{
    int status = 0;
    size_t total = 0;
    timings_stage(&run->timings, TIMING_SPACE);
    for (size_t i = 0; i < run->sweep.kernel_count && status == 0; i++) {
        const struct sweep_kernel *kernel = &run->sweep.kernels[i];
        for (size_t j = 0; j < kernel->problem_count && status == 0; j++)
            status = make_job(run, kernel, &kernel->problems[j], error);
    }
    for (size_t i = 0; i < run->job_count && status == 0; i++) {
        check_memory(run, &run->jobs[i]);
        if (run->jobs[i].refused)
            continue;
        total += run->jobs[i].study.result_count - run->jobs[i].known_count;
        if (!tuning_job_is_complete(&run->jobs[i]))
            status = tuning_job_compile(&run->jobs[i], run->pool, error);
    }
    progress_start(&run->progress, total, run->options.quiet != 0);
    return status;
}

static bool nothing_to_do(const struct run *run)
{
    for (size_t i = 0; i < run->job_count; i++)
        if (!tuning_job_is_complete(&run->jobs[i]) && !run->jobs[i].refused)
            return false;
    return true;
}

/* -- working -------------------------------------------------------------------------------------
 */

static int update_tuned(struct run *run, const struct study *study, struct error *error)
{
    struct tuned_entry entry = {0};
    if (!study->has_winner || run->environment.static_mode)
        return 0;
    timings_stage(&run->timings, TIMING_RECORD);
    tuned_entry_from_study(study, &entry);
    return tuned_file_update(run->tuned, &entry, 1, error);
}

static int finish_job(struct run *run, struct tuning_job *job, struct error *error)
{
    int status = update_tuned(run, &job->study, error);
    timings_stage(&run->timings, TIMING_REPORT);
    return status != 0 ? status : report_write_csv(run->results, &job->study, error);
}

static int check_jobs(struct run *run, struct error *error)
{
    struct static_check inspection = {.pool = run->pool,
                                      .record = run->record,
                                      .progress = &run->progress,
                                      .timings = &run->timings};
    int status = 0;
    for (size_t i = 0; i < run->job_count && status == 0; i++) {
        struct tuning_job *job = &run->jobs[i];
        if (!tuning_job_is_complete(job))
            status = static_check_job(&inspection, job, error);
        if (status == 0 && run->options.sass)
            status = instruction_counts_fill(job, run->pool, error);
        if (status == 0)
            status = finish_job(run, job, error);
    }
    return status;
}

static int tune_jobs(struct run *run, struct error *error)
{
    struct tuning tuning = {.pool = run->pool,
                            .client = run->client,
                            .record = run->record,
                            .progress = &run->progress,
                            .timings = &run->timings,
                            .launch_timeout_s = run->sweep.launch_timeout_s};
    if (run->options.exhaustive > 0)
        tuning.rules = (struct race_rules){.everyone = true,
                                           .minimum_rounds = (unsigned)run->options.exhaustive,
                                           .maximum_rounds = (unsigned)run->options.exhaustive};
    int status = 0;
    if (!nothing_to_do(run)) {
        status = tune_request_support(run->pool, &tuning.support, error);
        if (status == 0)
            status = confirm_gpu(run, error);
    }
    for (size_t i = 0; i < run->job_count && status == 0; i++) {
        struct tuning_job *job = &run->jobs[i];
        if (job->refused)
            continue;
        if (!tuning_job_is_complete(job))
            status = tune_job(&tuning, job, error);
        if (status == 0)
            status = finish_job(run, job, error);
        if (status == ERROR_MEMORY) {
            refuse_job(run, job, error);
            status = 0;
        }
    }
    return status;
}

/* -- telling -------------------------------------------------------------------------------------
 */

static int print_report(struct run *run, struct error *error)
{
    struct report_options options = {.format = run->format, .top = (size_t)run->options.top};
    struct study *studies = alloc_zeroed(run->job_count, sizeof *studies);
    timings_stage(&run->timings, TIMING_REPORT);
    size_t count = 0;
    for (size_t i = 0; i < run->job_count; i++)
        if (!run->jobs[i].refused)
            studies[count++] = run->jobs[i].study; /* still the jobs' */
    int status = report_print(stdout, studies, count, &options, error);
    free(studies);
    return status;
}

/* Where time went, and what hung kernels cost beyond their deadlines. */
static void print_timings(struct run *run)
{
    timings_print(&run->timings, stderr);
    struct hang_times hangs = {0};
    if (run->client != NULL)
        hangs = gpu_client_hangs(run->client);
    if (hangs.count > 0)
        fprintf(stderr, "%9zu    kernels hung until their deadline\n", hangs.count);
    if (hangs.recoveries > 0)
        fprintf(stderr,
                "%9.3f s  from a deadline to the next variant's samples, median of %zu\n"
                "%9.3f s  the longest of these\n",
                hangs.median_ns * 1e-9, hangs.recoveries, hangs.worst_ns * 1e-9);
}

/* The run is of no use to anyone when no kernel has a single valid variant. */
static int check_winners(const struct run *run, struct error *error)
{
    if (run->refused_count > 0)
        return error_set(error, ERROR_MEMORY,
                         "%zu of %zu problems do not fit in the device's memory; %s",
                         run->refused_count, run->job_count,
                         run->refused_count < run->job_count ? "the others are done"
                                                             : "there is nothing else to do");
    for (size_t i = 0; i < run->job_count; i++) {
        const struct study *study = &run->jobs[i].study;
        if (study->has_winner || study_count(study, OUTCOME_COMPILED) > 0)
            continue;
        char *problem = bindings_text(&study->problem);
        (void)error_set(error, ERROR_NOTHING_VALID,
                        "no variant of '%s' was valid for %s; the report says why", study->kernel,
                        problem[0] != '\0' ? problem : "its problem");
        free(problem);
        return ERROR_NOTHING_VALID;
    }
    return 0;
}

static void say_interrupted(const struct run *run, struct error *error)
{
    size_t known = 0;
    size_t total = 0;
    for (size_t i = 0; i < run->job_count; i++) {
        known += run->jobs[i].known_count;
        total += run->jobs[i].study.result_count;
    }
    (void)error_set(error, ERROR_INTERRUPTED,
                    "interrupted; %zu of %zu variants are in the record; run the same command to "
                    "go on",
                    known, total);
}

/* -- the pipeline --------------------------------------------------------------------------------
 */

static int run_sweep(struct run *run, struct error *error)
{
    int status = command_load_sweep(&run->options, &run->sweep, error);
    if (status != 0)
        return status;
    run->tuned = run->options.tuned != NULL ? run->options.tuned : run->sweep.tuned;
    run->results = run->options.results != NULL ? run->options.results : run->sweep.results;
    status = start_workers(run, error);
    if (status == 0)
        status = open_record(run, error);
    timings_stage(&run->timings, TIMING_CONTEXT);
    if (status == 0)
        status = find_gpu(run, error);
    timings_stage(&run->timings, TIMING_COMPILE);
    if (status == 0)
        status = find_compiler(run, error);
    if (status == 0)
        status = lock_gpu(run, error);
    if (status == 0)
        status = make_jobs(run, error);
    if (status == 0 && nothing_to_do(run) && run->refused_count == 0 && !run->options.quiet)
        fputs("autotune: nothing to do: everything is in the record; --remeasure measures again\n",
              stderr);
    if (status == 0)
        status = run->environment.static_mode ? check_jobs(run, error) : tune_jobs(run, error);
    progress_end(&run->progress);
    if (run->client != NULL && gpu_client_monitor_error(run->client) != NULL && !run->options.quiet)
        fprintf(stderr, "autotune: %s: lowered clocks and other processes on the GPU go unseen\n",
                gpu_client_monitor_error(run->client));
    if (status == 0)
        status = print_report(run, error);
    if (status == ERROR_INTERRUPTED)
        say_interrupted(run, error);
    return status != 0 ? status : check_winners(run, error);
}

int command_tune(int argc, const char **argv, struct error *error)
{
    struct run run = {.options.jobs = JOBS_ALL, .lock.file = -1};
    struct command_options *options = &run.options;
    const struct poptOption table[] = {OPTION_CONFIG(options),
                                       OPTION_ARCH(options),
                                       OPTION_DEVICE(options),
                                       OPTION_JOBS(options),
                                       OPTION_TUNED(options),
                                       OPTION_RESULTS(options),
                                       OPTION_KERNEL(options),
                                       OPTION_FORMAT(options),
                                       OPTION_TOP(options),
                                       OPTION_REMEASURE(options),
                                       OPTION_TIMINGS(options),
                                       OPTION_EXHAUSTIVE(options),
                                       OPTION_QUIET(options),
                                       OPTION_NO_WAIT(options),
                                       OPTION_ALLOW_PATH(options),
                                       OPTION_SASS(options),
                                       POPT_TABLEEND};
    run.progress.quiet = true; /* until there is something to show */
    timings_start(&run.timings);
    int status =
        command_parse(argc, argv, table,
                      "--config FILE\n\nTunes every kernel of the sweep and writes the best "
                      "configurations.\nExample: autotune --config configs/sweep.ini",
                      error);
    if (status == 0)
        status = command_check(options, true, &run.format, error);
    if (status == 0 && options->jobs < 1 && options->jobs != JOBS_ALL)
        status = error_set(error, ERROR_USAGE, "--jobs takes a number from 1");
    if (status == 0 && options->sass && options->arch == NULL)
        status = error_set(error, ERROR_USAGE,
                           "--sass is for static mode; say which architecture with --arch sm_90");
    if (status == 0 && options->sass)
        status = sass_available(error);
    if (status == 0) {
        interrupt_install();
        describe_run(&run, argc, argv);
        status = run_sweep(&run, error);
        if (options->timings)
            print_timings(&run);
    }
    run_release(&run);
    return status < 0 ? status : 0;
}
