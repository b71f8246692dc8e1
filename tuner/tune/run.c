#include "tune/run.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file_system.h"
#include "base/task.h"
#include "base/worker.h"
#include "base/write_file.h"
#include "compile/compile_worker.h"
#include "compile/cubin_cache.h"
#include "record/tuned_file.h"
#include "template/value.h"
#include "tune/device_lock.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- where a run keeps its files --- */

int storage_check_record(const char *results, bool allowed, struct error *error)
{
    const char *network = file_system_network(results);
    if (network == NULL || allowed)
        return 0;
    return error_set(error, ERROR_USAGE,
                     "the record would be in '%s', which is on a network file system (%s): two "
                     "machines that write to it can damage it, and every result waits for the "
                     "server; choose a folder on a local disk with --results, or allow it with "
                     "--record-on-network",
                     results, network);
}

void storage_notice(const char *results, const char *cache,
                    void (*notice)(void *user, const struct error *notice), void *user)
{
    char *locks = device_lock_folder();
    const struct {
        const char *what, *folder, *cost;
    } places[] = {
        {"the record is", results,
         "every result waits for the server, and only one machine at a time may write to it"},
        {"the cubin cache is", cache,
         "every compiled kernel is written to the server and read from it; set AUTOTUNE_CACHE to a "
         "folder on a local disk"},
        {"the locks of GPUs are", locks,
         "a lock may outlive a crash, and some servers grant it to everybody; set "
         "AUTOTUNE_LOCK_FOLDER to a folder on a local disk"},
    };
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        struct error text;
        const char *network = file_system_network(places[i].folder);
        if (network == NULL)
            continue;
        (void)error_set(&text, ERROR_OK, "%s in '%s', which is on a network file system (%s): %s",
                        places[i].what, places[i].folder, network, places[i].cost);
        notice(user, &text);
    }
    free(locks);
}

/* --- a run --- */

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

static void forget_jobs(struct run *run)
{
    for (size_t i = 0; i < run->job_count; i++)
        tuning_job_release(&run->jobs[i]);
    free(run->jobs);
    run->jobs = NULL;
    run->job_count = run->refused_count = 0;
    run->refusal = (struct error){0};
    run->overtaken = false;
}

void run_next(struct run *run, const struct run_options *options)
{
    forget_jobs(run);
    run->options = *options;
    run->limits = (struct run_limits){.asked = options->limits, .begin_ns = clock_ns()};
}

void run_release(struct run *run)
{
    run_next(run, &run->options);
    free(run->environment.command);
    record_close(run->record);
    for (size_t i = 0; i < run->group_count; i++)
        team_release(&run->groups[i].team);
    free(run->groups);
    fleet_release(&run->fleet);
    struct error error;
    uint64_t written = run->pool != NULL ? compile_pool_counts(run->pool).written_bytes : 0;
    if (cubin_cache_use_end(&run->cache_use, run->cache, written, run->cache_limit_bytes, &error) !=
        0) /* last, since there may be much to remove */
        notify(run, "the cubin cache was not trimmed to its limit: %s", error.message);
    free(run->cache);
    compile_pool_free(run->pool);
    event_loop_release(&run->loop);
}

/* --- starting --- */

static void describe_run(struct run *run)
{
    struct environment *environment = &run->environment;
    (void)snprintf(environment->autotune, sizeof environment->autotune, "%s", AUTOTUNE_VERSION);
    if (gethostname(environment->host, sizeof environment->host - 1) != 0)
        environment->host[0] = '\0';
    clock_date(environment->date);
    environment->command = alloc_string(run->options.command);
    environment->static_mode = run->options.arch != NULL;
}

static int start_workers(struct run *run, struct error *error)
{
    const struct device_list *devices =
        device_list_is_stated(&run->options.devices) ? &run->options.devices : &run->sweep->devices;
    struct compile_pool_options options = {.workers = run->options.workers,
                                           .nodes = run->options.nodes,
                                           .compile_timeout_s = run->sweep->compile_timeout_s,
                                           .cache_folder = run->cache};
    int status = 0;
    if (!cubin_cache_use_begin(&run->cache_use, run->cache)) { /* then nobody removes entries */
        notify(run,
               "waiting for another process, which is removing entries of the cubin cache in '%s'",
               run->cache);
        status = cubin_cache_use_wait(&run->cache_use, error);
    }
    if (status == 0 && !run->environment.static_mode) /* first: the driver takes longest */
        status = fleet_start(&run->fleet, devices, run->options.nodes, &run->loop, error);
    return status != 0 ? status : compile_pool_new(&run->pool, &run->loop, &options, error);
}

/* The group of GPUs like this one; a new one if there is none. Machine code may be the same for two drivers; what they
 * do with it is not. */
static int find_group(struct run *run, const struct fleet_gpu *gpu, struct run_group **group,
                      struct error *error)
{
    char node[NODE_SUFFIX_BYTES];
    char lead_node[NODE_SUFFIX_BYTES];
    for (size_t i = 0; i < run->group_count; i++) {
        const struct gpu *other = &run->groups[i].environment.gpu;
        const struct fleet_gpu *lead = team_lead(&run->groups[i].team);
        *group = &run->groups[i];
        bool alike = gpu_alike(&gpu->gpu, other);
        if (alike && strcmp(gpu->gpu.driver, other->driver) != 0)
            return error_set(error, ERROR_DEVICE,
                             "node '%s' has driver %s, and '%s' has %s for the same GPU, '%s'; "
                             "install the same on both",
                             gpu->node != NULL ? gpu->node->host : "", gpu->gpu.driver,
                             lead->node != NULL ? lead->node->host : "", lead->gpu.driver,
                             gpu->gpu.name);
        if (alike)
            return 0;
        if (strcmp(gpu->gpu.name, other->name) == 0 && strcmp(gpu->gpu.arch, other->arch) == 0)
            return error_set(error, ERROR_USAGE,
                             "GPU %d%s is a '%s' like GPU %d%s, but with other memory, clocks or "
                             "limits; choose one of them with --device",
                             gpu->ordinal, node_suffix(gpu->node, node), lead->gpu.name,
                             lead->ordinal, node_suffix(lead->node, lead_node));
    }
    *group = &run->groups[run->group_count++];
    **group = (struct run_group){.run = run, .environment = run->environment};
    (*group)->environment.gpu = gpu->gpu;
    if (strchr(gpu->gpu.driver, '(') == NULL && !run->options.quiet && !run->options.part)
        notify(run,
               "the driver of '%s' tells only its CUDA version, %s: after an update within that "
               "version, use --remeasure; NVML (libnvidia-ml.so.1) would tell the release",
               gpu->gpu.name, gpu->gpu.driver);
    return 0;
}

static int make_groups(struct run *run, struct error *error)
{
    int status = 0;
    run->groups = alloc_zeroed(run->fleet.count + 1, sizeof *run->groups);
    for (size_t i = 0; i < run->fleet.count && status == 0; i++) {
        struct run_group *group;
        status = find_group(run, &run->fleet.gpus[i], &group, error);
        if (status == 0)
            team_add(&group->team, &run->fleet.gpus[i]);
    }
    if (run->fleet.count == 0) { /* static mode */
        run->groups[0] = (struct run_group){.run = run, .environment = run->environment};
        run->group_count = 1;
    }
    return status;
}

/* "4 nodes, 12 GPUs, 64 cores" */
static void describe_cluster(struct run *run)
{
    struct nodes *nodes = run->options.nodes;
    size_t count = nodes_count(nodes);
    if (count < 2)
        return;
    size_t cores = compile_pool_counts(run->pool).workers;
    (void)snprintf(run->cluster, sizeof run->cluster, "%zu nodes, %zu GPU%s, %zu core%s", count,
                   run->fleet.count, run->fleet.count == 1 ? "" : "s", cores,
                   cores == 1 ? "" : "s");
    if (!run->options.quiet && !run->options.part)
        notify(run, "%s", run->cluster);
}

static int open_record(struct run *run, struct error *error)
{
    char *path = alloc_format("%s/record.sqlite", run->results);
    struct record_repair repair = {0};
    timings_stage(&run->timings, TIMING_RECORD);
    int status = run->options.unrecorded ? 0 : write_file_make_folders(path, error);
    if (status == 0 && !run->options.unrecorded)
        status = record_open(&run->record, path, &repair, error);
    if (repair.set_aside != NULL)
        notify(run, "'%s' %s; it is now '%s', and everything is measured again", path,
               repair.was_old ? "was written by an older autotune" : "was damaged or not a record",
               repair.set_aside);
    free(repair.set_aside);
    free(path);
    return status;
}

/* Finds out now, and not after measuring, whether the tuned INI can be read and written. */
static int check_tuned(struct run *run, struct error *error)
{
    struct tuned_file tuned;
    struct write_file file;
    if (run->environment.static_mode || run->options.unrecorded)
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

/* Ends the progress line, for what the user is told or asked. */
static void pass_doubt(void *user, const struct tuning_job *job, const struct compile_doubt *doubt)
{
    struct run *run = user;
    progress_end(&run->progress);
    if (run->options.doubted != NULL)
        run->options.doubted(run->options.user, job->study.kernel, doubt,
                             job->study.result_count - job->known_count);
}

/* Requests compile jobs for each group in turn, so that none waits for those of the others. Hands them out now and
 * then, if there are enough for all workers. */
static int compile_first(struct run *run, struct error *error)
{
    int status = 1;
    for (size_t requests = 1; status == 1; requests++) {
        const struct compile_pool_counts counts = compile_pool_counts(run->pool);
        status = requests % 32 == 0 && counts.waiting >= 2 * counts.workers
                     ? event_loop_step(&run->loop, 0, error)
                     : 0;
        for (size_t i = 0; i < run->group_count && status >= 0; i++) {
            int requested = compile_ahead_next(&run->groups[i].ahead, error);
            status = requested != 0 ? requested : status;
        }
    }
    return status;
}

/* All jobs first, and their compile jobs, so that the compiler works ahead of the GPUs. */
static int make_jobs(struct run *run, struct error *error)
{
    size_t count = 0;
    size_t total = 0;
    bool searched = false;
    int status = 0;
    timings_stage(&run->timings, TIMING_SPACE);
    for (size_t i = 0; i < run->sweep->kernel_count; i++)
        count += run->sweep->kernels[i].problem_count;
    run->jobs = alloc_zeroed(count * run->group_count, sizeof *run->jobs);
    for (size_t i = 0; i < run->group_count && status == 0; i++)
        status = run_group_plan(&run->groups[i], &run->jobs[i * count], &total, &searched, error);
    size_t refuted = 0;
    for (size_t i = 0; i < run->job_count; i++)
        for (size_t j = 0; j < run->jobs[i].study.result_count; j++)
            refuted += result_is_refuted(&run->jobs[i].study.results[j]);
    if (status == 0 && run->options.remeasure && refuted > 0 && !run->options.quiet)
        notify(
            run,
            "%zu variant%s not measured again: wrong or crashed before, with the same code, data "
            "and driver; another folder for --results would forget that",
            refuted, refuted == 1 ? " is" : "s are");
    if (status == 0)
        status = compile_first(run, error);
    progress_start(&run->progress, searched ? 0 : total, run->options.quiet);
    run->progress.history = run->options.history;
    run->progress.cluster = run->cluster;
    run->progress.can_search = !run->environment.static_mode && run->options.exhaustive == 0;
    return status;
}

/* --- working --- */

/* Every group at the same time. */
int run_work(struct run *run, struct error *error)
{
    if (run->environment.static_mode)
        return run_group_check(&run->groups[0], error);
    if (run->group_count == 1)
        return run_group_tune(&run->groups[0], error);
    struct task *tasks = alloc_zeroed(run->group_count, sizeof *tasks);
    for (size_t i = 0; i < run->group_count; i++)
        tasks[i] = (struct task){.run = run_group_tune, .owner = &run->groups[i]};
    int status = tasks_run(&run->loop, tasks, run->group_count, error);
    free(tasks);
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
        struct study *study = &run->jobs[i].study;
        bool refuted = !study->complete;
        while (refuted &&
               record_check(run->record, run->jobs[i].record_id, study, &refuted, NULL) == 0)
            ;
        /* not while any finalist may be the one that has damaged what all use */
        if (!study->complete && !run->jobs[i].careful && study_best(study) < study->result_count)
            tuned_entry_from_study(study, ARRAY_APPEND(entries, count));
    }
    if (count > 0 && tuned_file_update(run->tuned, entries, count, &taken, NULL) == 0 && taken > 0)
        notify(run, "'%s' has the best so far of %zu problem%s, marked as incomplete", run->tuned,
               taken, taken == 1 ? "" : "s");
    free(entries);
}

/* What is known, and how to go on. */
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
    *run = (struct run){.cache_use.file = -1};
    run_next(run, options);
    run->progress.quiet = true; /* until there is something to show */
    timings_start(&run->timings);
}

/* What all sweeps of the run need. */
static int open_run(struct run *run, struct error *error)
{
    run->cache = cubin_cache_default_folder();
    describe_run(run);
    int status = cubin_cache_limit(&run->cache_limit_bytes, error);
    if (status == 0)
        status = compile_worker_check_memory(error);
    if (status == 0)
        status = worker_check_timeout(error);
    if (status == 0)
        status = cubin_cache_check_folder(run->cache, error);
    if (status == 0 && !run->options.unrecorded)
        status = storage_check_record(run->results, run->options.record_on_network, error);
    if (status == 0 && !run->options.part)
        storage_notice(run->results, run->cache, run->options.notice, run->options.user);
    if (status == 0)
        status = check_tuned(run, error);
    if (status == 0)
        status = start_workers(run, error);
    if (status == 0)
        status = open_record(run, error);
    timings_stage(&run->timings, TIMING_CONTEXT);
    if (status == 0)
        status = run->environment.static_mode
                     ? gpu_from_arch(run->options.arch, &run->environment.gpu, error)
                     : fleet_identify(&run->fleet, error);
    if (status == 0) {
        describe_cluster(run);
        status = make_groups(run, error);
    }
    timings_stage(&run->timings, TIMING_COMPILE);
    const char *nvrtc = "";
    if (status == 0)
        status = compile_pool_nvrtc_version(run->pool, &nvrtc, error);
    for (size_t i = 0; i < run->group_count && status == 0; i++) {
        struct environment *environment = &run->groups[i].environment;
        status = compile_pool_set_arch(run->pool, environment->gpu.arch, error);
        (void)snprintf(environment->nvrtc, sizeof environment->nvrtc, "%s", nvrtc);
    }
    if (status ==
        0) { /* before the record is asked, so that what another run measured is known to this one */
        const struct fleet_notice notice = {run->options.notice, run->options.user};
        int64_t waited_ns;
        status = fleet_lock(&run->fleet, run->options.no_wait, &notice, &waited_ns, error);
        run->limits.begin_ns += waited_ns; /* waiting is free */
    }
    return status;
}

int run_prepare(struct run *run, const struct sweep *sweep, struct error *error)
{
    run->sweep = sweep;
    run->doubt = (struct compile_doubt){.doubted = pass_doubt, .user = run};
    run->limits.sweep = sweep;
    run->tuned = run->options.tuned != NULL ? run->options.tuned : sweep->tuned;
    run->results = run->options.results != NULL ? run->options.results : sweep->results;
    int status = run->cache == NULL ? open_run(run, error) : 0;
    for (size_t i = 0; i < run->group_count; i++)
        run->groups[i].limits = run->limits;
    return status != 0 ? status : make_jobs(run, error);
}

/* Once, whichever GPU it is. */
static void warn_of_blindness(const struct run *run)
{
    for (size_t i = 0; i < run->fleet.count && !run->options.quiet; i++) {
        const struct device_client *client = run->fleet.gpus[i].client;
        if (client == NULL || client->monitor_error[0] == '\0')
            continue;
        notify(run, "%s: cannot detect throttling or other GPU processes", client->monitor_error);
        return;
    }
}

int run_sweep(struct run *run, const struct sweep *sweep, struct error *error)
{
    int status = run_prepare(run, sweep, error);
    bool prepared = status == 0;
    bool nothing_to_do = true;
    for (size_t i = 0; i < run->group_count; i++)
        nothing_to_do = nothing_to_do && run_group_is_done(&run->groups[i]);
    if (status == 0 && nothing_to_do && run->refused_count == 0 && !run->options.quiet &&
        !run->options.part)
        notify(run, "nothing to do: everything is in the record; --remeasure measures again");
    if (status == 0)
        status = run_work(run, error);
    while (status == 0 && run->overtaken) { /* as another run would go on */
        forget_jobs(run);
        run->options.remeasure = false;
        status = make_jobs(run, error);
        if (status == 0)
            status = run_work(run, error);
    }
    if (!run->options.part) /* meanwhile, the results are reported and the record is closed */
        fleet_end_begin(&run->fleet);
    progress_end(&run->progress);
    warn_of_blindness(run);
    /* if the toolkit has changed, the results of studies that are not complete may be of another one */
    bool changed = prepared && status != 0 && compile_pool_toolkit_changed(run->pool);
    for (size_t i = 0; i < run->job_count && changed; i++)
        if (run->jobs[i].record_id != 0 && !run->jobs[i].study.complete)
            (void)record_withdraw(run->record, run->jobs[i].record_id, NULL);
    if (!changed && prepared && status != 0 && !run->environment.static_mode && !run->options.part)
        keep_best_so_far(run);
    if (status == ERROR_INTERRUPTED)
        say_interrupted(run, error);
    return status;
}

/* --- winners --- */

int run_say_no_winner(const struct tuning_job *job, struct error *error)
{
    const struct study *study = &job->study;
    const char *common =
        study->result_count > 0 ? study->results[0].reason : NULL; /* of all variants */
    for (size_t i = 1; i < study->result_count && common != NULL; i++)
        if (study->results[i].reason == NULL || strcmp(study->results[i].reason, common) != 0)
            common = NULL;
    const char *reason = common != NULL ? common : "the report says why";
    const char *before = common != NULL ? ": " : "; ";
    char *text = bindings_text(&study->problem);
    const char *problem = text[0] != '\0' ? text : "its problem";
    size_t tried = study->result_count;
    if (!study->complete)
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
