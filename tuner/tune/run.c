#include "tune/run.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/write_file.h"
#include "compile/cubin_cache.h"
#include "record/record_near.h"
#include "record/tuned_file.h"
#include "template/problem_check.h"
#include "tune/gpu_cache.h"
#include "tune/job_memory.h"
#include "tune/job_space.h"
#include "tune/static_check.h"
#include "tune/tune_job.h"
#include "tune/tuning.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void __attribute__((format(printf, 2, 3)))
notify(const struct run *run, const char *format, ...)
{
    struct error notice = {0};
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(notice.message, sizeof notice.message, format, arguments);
    va_end(arguments);
    run->options.notice(run->options.user, &notice);
}

/* Last, since there may be much to remove. */
static void end_cache_use(struct run *run)
{
    struct error error;
    uint64_t written = run->pool != NULL ? compile_pool_written_bytes(run->pool) : 0;
    if (cubin_cache_use_end(&run->cache_use, run->cache, written, run->cache_limit_bytes, &error) !=
        0)
        notify(run, "the cubin cache was not trimmed to its limit: %s", error.message);
}

void run_release(struct run *run)
{
    for (size_t i = 0; i < run->job_count; i++)
        tuning_job_release(&run->jobs[i]);
    free(run->jobs);
    free(run->environment.command);
    record_close(run->record);
    gpu_client_free(run->client);
    end_cache_use(run);
    free(run->cache);
    compile_pool_free(run->pool);
    event_loop_release(&run->loop);
    gpu_lock_release(&run->lock);
}

/* --- starting --- */

static void describe_run(struct run *run)
{
    struct environment *environment = &run->environment;
    time_t now = time(NULL);
    struct tm utc;
    (void)snprintf(environment->autotune, sizeof environment->autotune, "%s", AUTOTUNE_VERSION);
    if (gethostname(environment->host, sizeof environment->host - 1) != 0)
        environment->host[0] = '\0';
    if (gmtime_r(&now, &utc) != NULL)
        (void)strftime(environment->date, sizeof environment->date, "%Y-%m-%dT%H:%M:%SZ", &utc);
    environment->command = alloc_string(run->options.command);
    environment->static_mode = run->options.arch != NULL;
}

static int start_workers(struct run *run, struct error *error)
{
    run->cache = cubin_cache_default_folder();
    cubin_cache_use_begin(&run->cache_use, run->cache);
    struct compile_pool_options options = {.workers = run->options.workers,
                                           .compile_timeout_s = run->sweep->compile_timeout_s,
                                           .cache_folder = run->cache,
                                           .instructions = run->options.instructions};
    int status = compile_pool_new(&run->pool, &run->loop, &options, error);
    if (status == 0 && !run->environment.static_mode)
        status = gpu_client_new(&run->client, run->options.device, &run->loop, error);
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
    int status = gpu_lock_try(&run->lock, run->environment.gpu.uuid, &held, error);
    if (status != 0 || held)
        return status;
    if (run->options.no_wait)
        return error_set(error, ERROR_DEVICE,
                         "'%s' is being used by another run, process %ld; leave out --no-wait to "
                         "wait for it",
                         run->environment.gpu.name, run->lock.owner);
    notify(run, "waiting for process %ld, which is using '%s'", run->lock.owner,
           run->environment.gpu.name);
    int64_t since_ns = clock_ns();
    status = gpu_lock_wait(&run->lock, error);
    run->limits.begin_ns += clock_ns() - since_ns; /* waiting is free */
    return status;
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
        status = record_open(&run->record, path, &repair, error);
    if (repair.set_aside != NULL)
        notify(run, "'%s' %s; it is now '%s', and everything is measured again", path,
               repair.was_old ? "was written by an older autotune" : "was damaged or not a record",
               repair.set_aside);
    if (repair.dropped > 0)
        notify(run, "'%s': %zu damaged rows were dropped and are measured again", path,
               repair.dropped);
    free(repair.set_aside);
    free(path);
    return status;
}

/* Finds out now, and not after measuring, whether the tuned INI can be read and written. */
static int check_tuned(struct run *run, struct error *error)
{
    struct tuned_file tuned;
    struct write_file file;
    if (run->environment.static_mode)
        return 0;
    int status = tuned_file_read(run->tuned, &tuned, error);
    for (size_t i = 0; i < tuned.skipped_count; i++)
        run->options.notice(run->options.user, &tuned.skipped[i].reason);
    tuned_file_release(&tuned);
    if (status == 0)
        status = write_file_begin(&file, run->tuned, error);
    if (status == 0)
        write_file_abandon(&file);
    return status;
}

/* --- planning --- */

/* A problem that does not fit in the GPU's memory, or whose reference fails, is left out. The user is
 * told at once. */
static void refuse_job(struct run *run, struct tuning_job *job, const struct error *error)
{
    progress_end(&run->progress);
    run->options.notice(run->options.user, error);
    tuning_job_drop_all(job, run->pool);
    job->refused = true;
    run->refused_count++;
    if (run->refusal.code == 0 || run->refusal.code == ERROR_MEMORY)
        run->refusal = *error;
}

static void check_memory(struct run *run, struct tuning_job *job)
{
    struct error refusal;
    if (!run->environment.static_mode && !tuning_job_is_complete(job) &&
        job_memory_check(job, &refusal) != 0)
        refuse_job(run, job, &refusal);
}

/* If an expression fails for the problem itself, for example a negative length, no variant of it is
 * valid. */
static int check_problem(struct run *run, struct tuning_job *job, struct error *error)
{
    struct error reason;
    char text[ERROR_TEXT_BYTES];
    int status = 0;
    if (tuning_job_is_complete(job) ||
        problem_check(&job->kernel->template, &job->fixed, &reason) == 0)
        return 0;
    if (job->proposer != NULL && job->study.result_count == 0) { /* one stands for all */
        size_t index;
        status = tuning_job_propose(job, &index, error);
        job->exhausted = true;
        status = status < 0 ? status : 0;
    }
    for (size_t i = 0; i < job->study.result_count && status == 0; i++) {
        if (job->known[i])
            continue;
        tuning_job_conclude(job, i, OUTCOME_INVALID, error_text(&reason, text));
        status =
            record_result(run->record, job->record_id, &job->study.results[i], "screening", error);
    }
    return status;
}

/* Ends the progress line, for what the user is told or asked. */
static void pass_doubt(void *user, const struct tuning_job *job, const struct compile_doubt *doubt)
{
    struct run *run = user;
    progress_end(&run->progress);
    if (run->options.doubted != NULL)
        run->options.doubted(run->options.user, job->study.kernel, doubt,
                             job->study.result_count - job->known_count);
}

static int make_job(struct run *run, const struct sweep_kernel *kernel,
                    const struct bindings *problem, struct error *error)
{
    struct tuning_job *job = &run->jobs[run->job_count++];
    tuning_job_init(job, kernel, problem, &run->environment);
    job->compile_timeout_s = run->sweep->compile_timeout_s;
    job->launch_timeout_s = run->sweep->launch_timeout_s;
    job->watch = &run->watch;
    int status =
        record_begin(run->record, &job->study, run->options.remeasure, &job->record_id, error);
    if (status != 0)
        return status;
    struct sweep_limits limits = {0};
    if (!run->environment.static_mode)
        limits = run_limits_of(&run->limits, kernel);
    if (limits.budget_s <= 0 && limits.evaluations == 0)
        return job_space_enumerate(job, error);
    return job_space_search(job, limits.evaluations, error);
}

/* Puts a job's variants in order, and adds to `*total` how many are to be done. */
static int plan_order(struct run *run, struct tuning_job *job, size_t *total, struct error *error)
{
    if (run->environment.static_mode) {
        tuning_job_shuffle(job, run->options.instructions);
        *total += job->order_count;
        return job->order_count == 0 || tuning_job_is_complete(job)
                   ? 0
                   : tuning_job_request_reference(job, run->pool, error);
    }
    if (job->refused)
        return 0;
    *total += job->study.result_count - job->known_count;
    bool idle = tuning_job_is_complete(job) || !tuning_job_can_win(job);
    return idle ? 0 : tuning_job_compile(job, run->pool, error);
}

/* Makes every job of the sweep. They stay where they are: searches point to their jobs' values. */
static int plan_jobs(struct run *run, struct error *error)
{
    size_t count = 0;
    int status = 0;
    for (size_t i = 0; i < run->sweep->kernel_count; i++)
        count += run->sweep->kernels[i].problem_count;
    run->jobs = alloc_zeroed(count, sizeof *run->jobs);
    for (size_t i = 0; i < run->sweep->kernel_count && status == 0; i++) {
        const struct sweep_kernel *kernel = &run->sweep->kernels[i];
        for (size_t j = 0; j < kernel->problem_count && status == 0; j++)
            status = make_job(run, kernel, &kernel->problems[j], error);
    }
    return status;
}

/* All jobs first, and their compile jobs, so that the compiler works ahead of the GPU. */
static int make_jobs(struct run *run, struct error *error)
{
    size_t total = 0;
    bool searched = false;
    timings_stage(&run->timings, TIMING_SPACE);
    int status = plan_jobs(run, error);
    for (size_t i = 0; i < run->job_count && status == 0; i++) {
        struct tuning_job *job = &run->jobs[i];
        status = check_problem(run, job, error);
        check_memory(run, job);
        searched = searched || job->proposer != NULL;
        if (status == 0)
            status = plan_order(run, job, &total, error);
    }
    run->ahead = (struct compile_ahead){.pool = run->pool,
                                        .jobs = run->jobs,
                                        .job_count = run->job_count,
                                        .sample = run->environment.static_mode ? STATIC_SAMPLE : 0};
    if (status == 0)
        status = compile_ahead_fill(&run->ahead, error);
    progress_start(&run->progress, searched ? 0 : total, run->options.quiet);
    run->progress.history = run->options.history;
    run->progress.can_search = !run->environment.static_mode && run->options.exhaustive == 0;
    return status;
}

static bool is_to_do(const struct tuning_job *job)
{
    return !tuning_job_is_complete(job) && !job->refused;
}

static bool nothing_to_do(const struct run *run)
{
    for (size_t i = 0; i < run->job_count; i++)
        if (is_to_do(&run->jobs[i]) || run->jobs[i].order_count > 0)
            return false;
    return true;
}

/* --- working --- */

static int update_tuned(struct run *run, const struct study *study, struct error *error)
{
    struct tuned_entry entry = {0};
    size_t taken;
    if (!study->has_winner || run->environment.static_mode || run->options.part)
        return 0;
    timings_stage(&run->timings, TIMING_RECORD);
    tuned_entry_from_study(study, &entry);
    return tuned_file_update(run->tuned, &entry, 1, &taken, error);
}

static int finish_job(struct run *run, struct tuning_job *job, struct error *error)
{
    int status = update_tuned(run, &job->study, error);
    tuning_job_drop_all(job, run->pool);
    timings_stage(&run->timings, TIMING_REPORT);
    return status != 0 ? status : run->options.study_done(run->options.user, &job->study, error);
}

static int check_jobs(struct run *run, struct error *error)
{
    struct static_check check = {.pool = run->pool,
                                 .ahead = &run->ahead,
                                 .record = run->record,
                                 .progress = &run->progress,
                                 .timings = &run->timings,
                                 .instructions = run->options.instructions};
    int status = 0;
    for (size_t i = 0; i < run->job_count && status == 0; i++)
        status = static_check_sample(&check, &run->jobs[i], error);
    for (size_t i = 0; i < run->job_count && status == 0; i++) {
        struct tuning_job *job = &run->jobs[i];
        status = static_check_rest(&check, job, error);
        if (status == 0)
            status = finish_job(run, job, error);
    }
    return status;
}

/* How many jobs are to be done from `index` on, and how many of its kernel. */
static size_t count_left(const struct run *run, size_t index, size_t *of_kernel)
{
    size_t left = 0;
    *of_kernel = 0;
    for (size_t i = index; i < run->job_count; i++) {
        left += is_to_do(&run->jobs[i]);
        *of_kernel += is_to_do(&run->jobs[i]) && run->jobs[i].kernel == run->jobs[index].kernel;
    }
    return left;
}

/* Tells a job's search what the record has of the kernel's other problems, of other GPUs and of older
 * versions. Results that are to be measured again are not asked. */
static int tell_near(struct run *run, struct tuning_job *job, struct error *error)
{
    struct study *studies;
    size_t count;
    int64_t since = run->options.remeasure ? run->jobs[0].record_id : 0;
    timings_stage(&run->timings, TIMING_RECORD);
    int status =
        record_near(run->record, &job->study, job->record_id, since, &studies, &count, error);
    for (size_t i = 0; i < count; i++) {
        if (status == 0)
            proposer_know(job->proposer, &studies[i]);
        study_release(&studies[i]);
    }
    free(studies);
    return status;
}

/* Tells the search of the suggestions, as if each was a little slower elsewhere than the one before. */
static void tell_suggestions(const struct run *run, struct tuning_job *job)
{
    size_t count = run->options.suggestion_count;
    if (count == 0)
        return;
    struct result *results = alloc_zeroed(count, sizeof *results);
    for (size_t i = 0; i < count; i++)
        results[i] = (struct result){.parameters = run->options.suggestions[i], /* borrowed */
                                     .outcome = OUTCOME_MEASURED,
                                     .time = {.count = 1, .median_ns = 1000 + 10 * (double)i}};
    const struct study study = {.results = results, .result_count = count};
    proposer_know(job->proposer, &study);
    free(results);
}

/* Has the first proposals compiled of the next search from job `index` on. */
static int prepare_from(struct run *run, size_t index, struct error *error)
{
    while (index < run->job_count && !is_to_do(&run->jobs[index]))
        index++;
    if (index == run->job_count || run->jobs[index].proposer == NULL)
        return 0;
    struct tuning_job *job = &run->jobs[index];
    int status = 0;
    if (!job->prepared) {
        tell_suggestions(run, job);
        status = tell_near(run, job, error);
    }
    return status != 0 ? status : tune_job_prepare(job, run->pool, error);
}

/* So that the compile workers are busy during a job's finals. */
static int prepare_next(void *user, const struct tuning_job *job, struct error *error)
{
    struct run *run = user;
    return prepare_from(run, (size_t)(job - run->jobs) + 1, error);
}

static int tune_one(struct run *run, struct tuning *tuning, size_t index, struct error *error)
{
    struct tuning_job *job = &run->jobs[index];
    int64_t now_ns = clock_ns();
    size_t of_kernel;
    size_t left = count_left(run, index, &of_kernel);
    int64_t end_ns = run_limits_end_ns(&run->limits, job->kernel, now_ns, left, of_kernel);
    int64_t last_ns =
        run_limits_end_ns(&run->limits, job->kernel, now_ns, (left + 1) / 2, (of_kernel + 1) / 2);
    allowance_begin(&tuning->allowance, now_ns, end_ns, last_ns);
    run->progress.end_ns = end_ns;
    int status = prepare_from(run, index, error);
    return status != 0 ? status : tune_job(tuning, job, error);
}

static int tune_jobs(struct run *run, struct error *error)
{
    struct tuning tuning = {.pool = run->pool,
                            .ahead = &run->ahead,
                            .client = run->client,
                            .record = run->record,
                            .progress = &run->progress,
                            .timings = &run->timings,
                            .launch_timeout_s = run->sweep->launch_timeout_s,
                            .before_finals = prepare_next,
                            .user = run};
    if (run->options.exhaustive > 0)
        tuning.rules = (struct race_rules){.everyone = true,
                                           .minimum_rounds = run->options.exhaustive,
                                           .maximum_rounds = run->options.exhaustive};
    int status = 0;
    if (!nothing_to_do(run)) {
        status = tune_job_request_support(run->pool, &tuning.support, error);
        if (status == 0)
            status = prepare_from(run, 0, error);
        if (status == 0)
            status = confirm_gpu(run, error);
    }
    for (size_t i = 0; i < run->job_count && status == 0; i++) {
        struct tuning_job *job = &run->jobs[i];
        if (job->refused)
            continue;
        if (is_to_do(job))
            status = tune_one(run, &tuning, i, error);
        if (status == 0)
            status = finish_job(run, job, error);
        if (status == ERROR_MEMORY || (status != 0 && job->not_prepared && run->job_count > 1)) {
            refuse_job(run, job, error);
            status = 0;
        }
    }
    return status;
}

/* After a run that ended early: the tuned INI gets the best so far of each job that is not complete,
 * marked as incomplete. The run's own error is what the user must know, so failures only show as a
 * missing notice. */
static void keep_best_so_far(struct run *run)
{
    struct tuned_entry *entries = NULL;
    size_t count = 0;
    size_t taken = 0;
    for (size_t i = 0; i < run->job_count; i++) {
        const struct study *study = &run->jobs[i].study;
        if (!study->complete && study_best(study) < study->result_count)
            tuned_entry_from_study(study, ARRAY_APPEND(entries, count));
    }
    if (count > 0 && tuned_file_update(run->tuned, entries, count, &taken, NULL) == 0 && taken > 0)
        notify(run, "'%s' has the best so far of %zu problem%s, marked as incomplete", run->tuned,
               taken, taken == 1 ? "" : "s");
    free(entries);
}

/* --- the end --- */

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
    if (tuning_job_is_searching(job))
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

static void say_interrupted(const struct run *run, struct error *error)
{
    char total_text[32] = "";
    size_t known = 0;
    size_t total = 0;
    bool searched = false;
    for (size_t i = 0; i < run->job_count; i++) {
        known += run->jobs[i].known_count;
        total += run->jobs[i].study.result_count;
        searched = searched || run->jobs[i].proposer != NULL;
    }
    if (!searched)
        (void)snprintf(total_text, sizeof total_text, " of %zu", total);
    (void)error_set(error, ERROR_INTERRUPTED,
                    "interrupted; %zu%s variants are in the record; run the same command to go on",
                    known, total_text);
}

/* --- the pipeline --- */

void run_init(struct run *run, const struct run_options *options)
{
    *run = (struct run){.options = *options, .lock.file = -1, .cache_use.file = -1};
    run->limits = (struct run_limits){.asked = options->limits, .begin_ns = clock_ns()};
    run->progress.quiet = true; /* until there is something to show */
    timings_start(&run->timings);
}

/* The GPU, the compiler and the record; then every job of the sweep. */
static int prepare_run(struct run *run, struct error *error)
{
    describe_run(run);
    int status = cubin_cache_limit(&run->cache_limit_bytes, error);
    if (status == 0)
        status = check_tuned(run, error);
    if (status == 0)
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
    return status != 0 ? status : make_jobs(run, error);
}

int run_sweep(struct run *run, const struct sweep *sweep, struct error *error)
{
    run->sweep = sweep;
    run->watch = (struct compile_watch){.doubt = &run->doubt, .doubted = pass_doubt, .user = run};
    run->limits.sweep = sweep;
    run->tuned = run->options.tuned != NULL ? run->options.tuned : sweep->tuned;
    run->results = run->options.results != NULL ? run->options.results : sweep->results;
    int status = prepare_run(run, error);
    bool prepared = status == 0;
    if (status == 0 && nothing_to_do(run) && run->refused_count == 0 && !run->options.quiet &&
        !run->options.part)
        notify(run, "nothing to do: everything is in the record; --remeasure measures again");
    if (status == 0)
        status = run->environment.static_mode ? check_jobs(run, error) : tune_jobs(run, error);
    progress_end(&run->progress);
    if (run->client != NULL && gpu_client_monitor_error(run->client) != NULL && !run->options.quiet)
        notify(run, "%s: cannot detect throttling or other GPU processes",
               gpu_client_monitor_error(run->client));
    if (prepared && status != 0 && !run->environment.static_mode && !run->options.part)
        keep_best_so_far(run);
    if (status == ERROR_INTERRUPTED)
        say_interrupted(run, error);
    return status;
}
