#include "tune/screener.h"

#include "base/clock.h"
#include "base/interrupt.h"
#include "base/statistics.h"
#include "tune/kernel_stats.h"
#include "tune/static_check.h"

#include <stdio.h>
#include <string.h>

enum {
    LONG_NS = 100000,
    SLOW_NS = 10000000, /* one sample compares GPUs well enough */
};

/* A verified run so many times the best median is the only sample: with a margin, since it is not
 * measured like one. */
#define HOPELESS_RUN 2.5

int64_t screening_end_ns(const struct screening *screening)
{
    const struct allowance *allowance = &screening->tuning->allowance;
    return screening->twins != NULL ? allowance_search_end(allowance)
                                    : allowance_look_end(allowance);
}

bool screening_is_over(const struct screening *screening)
{
    return screening->failed || clock_ns() >= screening_end_ns(screening);
}

int screening_check_interrupt(struct error *error)
{
    return interrupt_requested() ? error_set(error, ERROR_INTERRUPTED, "interrupted") : 0;
}

/* Puts a variant's outcome into the record and on the progress line. */
static int keep_screened(struct screening *screening, size_t index, struct error *error)
{
    struct tuning *tuning = screening->tuning;
    const struct study *study = &screening->job->study;
    const struct result *result = &study->results[index];
    if (screening->twins != NULL)
        progress_add(tuning->progress, study->kernel, result->outcome, result->time.median_ns);
    tuning_job_drop(screening->job, tuning->pool, index);
    return result_batch_add(screening->batch, screening->job, index, error);
}

int screening_keep_duplicates(struct screening *screening, struct error *error)
{
    struct tuning *tuning = screening->tuning;
    struct tuning_job *job = screening->job;
    int status = 0;
    for (size_t i = 0; i < screening->twins->count && status == 0; i++) {
        if (!twins_is_over(screening->twins, i))
            continue;
        size_t duplicate = twins_conclude(screening->twins, i);
        tuning_job_drop(job, tuning->pool, i);
        if (duplicate != i)
            status = result_batch_add(screening->batch, job, i, error);
        if (status == 0)
            status = result_batch_add(screening->batch, job, duplicate, error);
        if (status == 0)
            status = screening_check_interrupt(error);
    }
    return status;
}

/* So long does the verified run of a variant take that needs no sample; 0: it says nothing. Its cache
 * is warmer than a sample's, if these are cold, and what else a first run has to do takes microseconds.
 * Behind another trial, it cannot meet a GPU that has lowered its clocks for want of work. */
static double hopeless_run_ns(const struct screener *screener)
{
    const struct screening *screening = screener->screening;
    bool compares = screening->job->kernel->cold && screening->best_ns >= LONG_NS &&
                    screener->trial_count > 0 && screening->twins != NULL;
    return compares ? HOPELESS_RUN * screening->best_ns : 0;
}

void screener_activate(struct screener *screener, bool active)
{
    size_t *count = &screener->screening->active_with[screener->trial_count];
    *count += active && !screener->active;
    *count -= !active && screener->active;
    screener->active = active;
}

/* One trial more, or one fewer. */
static void count_trials(struct screener *screener, size_t count)
{
    const bool active = screener->active;
    screener->screening->under_way += count - screener->trial_count;
    screener_activate(screener, false);
    screener->trial_count = count;
    screener_activate(screener, active);
}

static void add_trial(struct screener *screener, struct trial trial)
{
    screener->trials[screener->trial_count] = trial;
    count_trials(screener, screener->trial_count + 1);
}

int screener_begin(struct screener *screener, size_t index, struct error *error)
{
    struct screening *screening = screener->screening;
    struct tuning *tuning = screening->tuning;
    struct tuning_job *job = screening->job;
    struct result *result = &job->study.results[index];
    timings_stage(tuning->timings, TIMING_SPACE);
    if (!static_check_variant(job, index))
        return keep_screened(screening, index, error);
    if (screening->twins != NULL && twins_wait(screening->twins, index)) {
        tuning_job_drop(job, tuning->pool, index);
        progress_add(tuning->progress, job->study.kernel, OUTCOME_DUPLICATE, 0);
        return job->proposer != NULL ? screening_keep_duplicates(screening, error) : 0;
    }
    const struct gpu_client_trial trial = {.samples = screening->samples,
                                           .hopeless_ns = hopeless_run_ns(screener),
                                           .enough_ns = SCREENER_HOPELESS * screening->best_ns,
                                           .short_ns = screening->short_ns};
    add_trial(screener, (struct trial){.index = index});
    gpu_client_trial_send(screener->gpu->client, job->compile_jobs[index]->path,
                          &result->parameters, &trial);
    return 0;
}

/* What a measured variant says about those to come. */
static void learn(struct screening *screening, const struct result *result,
                  const struct gpu_client_answer *answer, const struct trial_times *times)
{
    if (result->runs > 1)
        screening->short_ns = TUNING_COMPARABLE_NS;
    if (answer->outcome != OUTCOME_MEASURED)
        return;
    allowance_note(&screening->tuning->allowance, result->time.median_ns, (double)times->load_ns,
                   (double)times->verify_ns, (double)times->measure_ns, result->sample_count);
    if (screening->best_ns <= 0 || answer->single_ns < screening->best_ns)
        screening->best_ns = answer->single_ns;
}

/* --- ending trials --- */

/* The oldest trial is over. */
static struct trial forget_trial(struct screener *screener)
{
    struct trial trial = screener->trials[0];
    count_trials(screener, screener->trial_count - 1);
    memmove(screener->trials, screener->trials + 1,
            screener->trial_count * sizeof *screener->trials);
    event_loop_wake(screener->screening->tuning->loop);
    return trial;
}

/* The oldest trial is to be done again. */
static void return_trial(struct screener *screener)
{
    struct screening *screening = screener->screening;
    const struct trial trial = forget_trial(screener);
    if (trial.compares)
        gpu_comparison_again(&screening->tuning->team->comparison, trial.slot, screener->place);
    else
        screening_queue_return(&screening->queue, trial.index);
}

/* The worker could not read the oldest trial's cubin: it is compiled, and the variant tried, again. */
static int recompile(struct screener *screener, struct error *error)
{
    struct screening *screening = screener->screening;
    int status = tuning_job_recompile(screening->job, screening->tuning->pool,
                                      screener->trials[0].index, error);
    return_trial(screener);
    return status;
}

bool screener_is_disturbed(const struct screener *screener)
{
    const struct screening *screening = screener->screening;
    return screening->twins != NULL && !screening_is_over(screening) &&
           gpu_client_disturbance(screener->gpu->client) != NULL &&
           team_other(screening->tuning->team, screener->gpu) != NULL;
}

/* Samples of several GPUs do not mix. Meanwhile others may add results, so that the array moves. */
static int take_trial(const struct screener *screener, struct trial_times *times,
                      struct gpu_client_answer *answer, struct error *error)
{
    struct study *study = &screener->screening->job->study;
    size_t index = screener->trials[0].index;
    const char *uuid = screener->gpu->gpu.uuid;
    struct result result = study->results[index];
    int runs = result.runs;
    bool moves = strcmp(result.gpu, uuid) != 0;
    if (moves)
        result.runs = 0; /* new samples replace those it has */
    int status = gpu_client_trial_take(screener->gpu->client, &result, times, answer, error);
    if (status == 0 && screener_is_disturbed(screener))
        answer->again = true;
    bool sampled = status == 0 && !answer->again && answer->outcome == OUTCOME_MEASURED;
    if (moves && !sampled) {
        result.runs = runs;
        result.sample_count = study->results[index].sample_count;
    }
    if (sampled)
        (void)snprintf(result.gpu, sizeof result.gpu, "%s", uuid);
    study->results[index] = result;
    return status;
}

/* --- comparing GPUs --- */

int screener_begin_comparison(struct screener *screener, size_t slot, bool *begun,
                              struct error *error)
{
    struct screening *screening = screener->screening;
    struct tuning_job *job = screening->job;
    struct gpu_comparison *comparison = &screening->tuning->team->comparison;
    size_t index = comparison->variants[slot].index;
    const struct result *result = &job->study.results[index];
    int status = job->compile_jobs[index] == NULL
                     ? tuning_job_request(job, screening->tuning->pool, index, error)
                     : 0;
    *begun = status == 0 && job->compile_jobs[index]->done;
    if (!*begun) {
        gpu_comparison_again(comparison, slot, screener->place);
        return status;
    }
    const struct gpu_client_trial trial = {
        .samples = result->time.median_ns < SLOW_NS ? screening->samples : 1,
        .short_ns = result->runs > 1 ? 1e12 : 0}; /* as it was measured */
    add_trial(screener, (struct trial){.index = index, .compares = true, .slot = slot});
    gpu_client_trial_send(screener->gpu->client, job->compile_jobs[index]->path,
                          &result->parameters, &trial);
    return 0;
}

/* How the variant's time on this GPU compares, if it was measured in the same way. */
static int end_comparison(struct screener *screener, struct error *error)
{
    struct screening *screening = screener->screening;
    struct team *team = screening->tuning->team;
    struct gpu_client_answer answer;
    struct trial_times times;
    struct result result = {0};
    int status = gpu_client_trial_take(screener->gpu->client, &result, &times, &answer, error);
    if (status == ERROR_RECORD && answer.unreadable) {
        status = recompile(screener, error);
    } else if (status == 0) {
        const struct trial trial = forget_trial(screener);
        bool alike = result.runs == screening->job->study.results[trial.index].runs;
        if (answer.again || screener_is_disturbed(screener))
            gpu_comparison_again(&team->comparison, trial.slot, screener->place);
        else if (answer.outcome != OUTCOME_MEASURED)
            gpu_comparison_take(&team->comparison, trial.slot, screener->place, -1);
        else if (alike && result.sample_count > 0)
            gpu_comparison_take(&team->comparison, trial.slot, screener->place,
                                statistics_median(result.samples_ns, result.sample_count));
        team_describe_one(team, screener->place, &screening->job->study);
    }
    result_release(&result);
    return status;
}

static int end_measurement(struct screener *screener, struct error *error)
{
    struct screening *screening = screener->screening;
    struct tuning *tuning = screening->tuning;
    struct tuning_job *job = screening->job;
    struct gpu_client_answer answer;
    struct trial_times times;
    timings_stage(tuning->timings, TIMING_MEASURE);
    int status = take_trial(screener, &times, &answer, error);
    timings_share(tuning->timings, times.load_ns, times.verify_ns, times.measure_ns);
    if (status == ERROR_RECORD && answer.unreadable)
        return recompile(screener, error);
    if (status != 0)
        return status;
    size_t index = forget_trial(screener).index;
    if (answer.again) { /* its samples were dropped */
        screening_queue_return(&screening->queue, index);
        return 0;
    }
    struct result *result = &job->study.results[index];
    const struct kernel_stats_source source = tuning_job_stats_source(job, index);
    if (answer.outcome == OUTCOME_MEASURED)
        kernel_stats_limit(&source, answer.entry, &result->stats);
    tuning_summarise(result);
    learn(screening, result, &answer, &times);
    if (answer.outcome == OUTCOME_MEASURED && screening->twins != NULL)
        gpu_comparison_note(&tuning->team->comparison, index, screener->place,
                            result->time.median_ns);
    tuning_job_take_answer(job, index, &answer);
    status = keep_screened(screening, index, error);
    if (status == 0 && screening->twins != NULL && job->proposer != NULL)
        status = screening_keep_duplicates(screening, error);
    return status;
}

void screener_return_trials(struct screener *screener)
{
    while (screener->trial_count > 0)
        return_trial(screener);
}

int screener_end(struct screener *screener, struct error *error)
{
    return screener->trials[0].compares ? end_comparison(screener, error)
                                        : end_measurement(screener, error);
}
