#include "tune/trials.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/interrupt.h"
#include "base/statistics.h"
#include "tune/kernel_stats.h"
#include "tune/static_check.h"

#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- twins --- */

/* The one of its twins that is run. */
struct twin {
    char run_hash[HASH_BYTES]; /* first, for comparing */
    size_t index;
};

static int compare_twins(const void *a, const void *b)
{
    return strcmp(((const struct twin *)a)->run_hash, ((const struct twin *)b)->run_hash);
}

/* The one that is run of all that are the same as result `index`: that one, if it is the first. */
static struct twin *find_or_add(struct twins *twins, size_t index)
{
    struct twin *twin = alloc_zeroed(1, sizeof *twin);
    memcpy(twin->run_hash, twins->job->study.results[index].run_hash, sizeof twin->run_hash);
    twin->index = index;
    struct twin **found = tsearch(twin, &twins->by_hash, compare_twins);
    if (found == NULL)
        abort();
    if (*found != twin)
        free(twin);
    return *found;
}

void twins_init(struct twins *twins, struct tuning_job *job)
{
    const struct study *study = &job->study;
    *twins = (struct twins){.job = job};
    for (size_t i = 0; i < study->result_count; i++) {
        const struct result *result = &study->results[i];
        if (job->known[i] && result->outcome != OUTCOME_DUPLICATE && result->run_hash[0] != '\0')
            (void)find_or_add(twins, i);
    }
}

void twins_release(struct twins *twins)
{
    tdestroy(twins->by_hash, free);
    free(twins->waiting);
    *twins = (struct twins){0};
}

bool twins_wait(struct twins *twins, size_t index)
{
    if (twins->job->study.results[index].run_hash[0] == '\0')
        return false;
    while (twins->count <= index)
        *ARRAY_APPEND(twins->waiting, twins->count) = false;
    twins->waiting[index] = find_or_add(twins, index)->index != index;
    return twins->waiting[index];
}

bool twins_is_over(struct twins *twins, size_t index)
{
    return index < twins->count && twins->waiting[index] &&
           twins->job->known[find_or_add(twins, index)->index];
}

/* Everything but the parameters. */
static void swap_results(struct result *a, struct result *b)
{
    const struct result first = *a;
    const struct bindings parameters = b->parameters;
    *a = *b;
    *b = first;
    b->parameters = parameters;
    a->parameters = first.parameters;
}

size_t twins_conclude(struct twins *twins, size_t index)
{
    struct tuning_job *job = twins->job;
    struct result *results = job->study.results;
    struct twin *twin = find_or_add(twins, index);
    size_t duplicate = index;
    if (index < twin->index) {
        duplicate = twin->index;
        twin->index = index;
        swap_results(&results[index], &results[duplicate]);
        job->known_count += !job->known[index];
        job->known[index] = true;
    }
    char *reason = bindings_text(&results[twin->index].parameters);
    tuning_job_conclude(job, duplicate, OUTCOME_DUPLICATE, reason);
    free(reason);
    twins->waiting[index] = false;
    tuning_job_tell(job, index, &results[twin->index]);
    return duplicate;
}

/* --- the queue --- */

enum {
    READY_VARIANTS = 2 /* compiled proposals that wait for a GPU: the search learns from each */
};

void screening_queue_release(struct screening_queue *queue)
{
    free(queue->waiting);
    free(queue->ready);
    *queue = (struct screening_queue){0};
}

void screening_queue_add(struct screening_queue *queue, size_t index)
{
    *ARRAY_APPEND(queue->waiting, queue->waiting_count) = index;
    queue->seen = 0;
}

void screening_queue_return(struct screening_queue *queue, size_t index)
{
    (void)ARRAY_APPEND(queue->ready, queue->ready_count);
    memmove(queue->ready + 1, queue->ready, (queue->ready_count - 1) * sizeof *queue->ready);
    queue->ready[0] = index;
}

/* Moves what is compiled from `waiting` to `ready`, unless there is enough for every GPU: it looks at
 * everything that is being compiled. */
static void collect_compiled(struct screening_queue *queue)
{
    const struct tuning_job *job = queue->job;
    size_t *waiting = queue->waiting;
    uint64_t seen = compile_pool_done_count(queue->tuning->pool) + job->requested;
    size_t begin = queue->compiled;
    size_t end = begin;
    if (seen == queue->seen || queue->ready_count >= READY_VARIANTS * queue->tuning->team->count)
        return;
    queue->seen = seen;
    while (end < queue->waiting_count && job->compile_jobs[waiting[end]] != NULL)
        end++;
    queue->compiled = end;
    for (size_t i = end; i-- > begin;)
        if (job->compile_jobs[waiting[i]]->done)
            *ARRAY_APPEND(queue->ready, queue->ready_count) = waiting[i];
        else
            waiting[--queue->compiled] = waiting[i];
}

/* Asks the search for more, so that the compile workers are busy and no GPU need wait, but for no more
 * than that. */
static int propose(struct screening_queue *queue, struct error *error)
{
    struct tuning *tuning = queue->tuning;
    struct tuning_job *job = queue->job;
    if (!queue->proposes || job->proposer == NULL)
        return 0;
    const size_t gpus = tuning->team->count;
    const size_t most = 2 * compile_pool_workers(tuning->pool) + gpus - 1;
    timings_stage(tuning->timings, TIMING_SEARCH);
    while (queue->ready_count < READY_VARIANTS * gpus &&
           queue->waiting_count - queue->compiled < most) {
        size_t index;
        int64_t end_ns = allowance_search_end(&tuning->allowance);
        int status = tuning_job_propose(job, end_ns, &index, error);
        if (status != 1)
            return status;
        screening_queue_add(queue, index);
        status = tuning_job_request(job, tuning->pool, index, error);
        if (status != 0)
            return status;
        collect_compiled(queue);
    }
    return 0;
}

int screening_queue_fill(struct screening_queue *queue, struct error *error)
{
    int status = compile_ahead_fill(queue->tuning->ahead, error);
    collect_compiled(queue);
    return status != 0 ? status : propose(queue, error);
}

bool screening_queue_take(struct screening_queue *queue, size_t *index)
{
    if (queue->ready_count == 0)
        return false;
    *index = queue->ready[--queue->ready_count];
    return true;
}

bool screening_queue_is_empty(const struct screening_queue *queue)
{
    return queue->compiled == queue->waiting_count && queue->ready_count == 0;
}

int screening_queue_wait(struct screening_queue *queue, int64_t until_ns, struct error *error)
{
    struct tuning *tuning = queue->tuning;
    struct tuning_job *job = queue->job;
    timings_stage(tuning->timings, TIMING_COMPILE);
    if (queue->compiled < queue->waiting_count) {
        size_t first = queue->waiting[queue->compiled];
        if (job->compile_jobs[first] == NULL) { /* others hold the compiler's queue */
            queue->seen = 0;
            return tuning_job_request(job, tuning->pool, first, error);
        }
    }
    return event_loop_step(tuning->loop, until_ns, error);
}

/* --- one GPU's trials --- */

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

static int store(const struct screening *screening, size_t index, struct error *error)
{
    const struct tuning_job *job = screening->job;
    struct timings *timings = screening->tuning->timings;
    enum timing_stage stage = timings->stage;
    timings_stage(timings, TIMING_RECORD);
    int status = record_result(screening->tuning->record, job->record_id,
                               &job->study.results[index], "screening", error);
    timings_stage(timings, stage);
    return status;
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
    return store(screening, index, error);
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
            status = store(screening, i, error);
        if (status == 0)
            status = store(screening, duplicate, error);
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
    const struct device_client_trial trial = {.samples = screening->samples,
                                              .hopeless_ns = hopeless_run_ns(screener),
                                              .enough_ns = SCREENER_HOPELESS * screening->best_ns,
                                              .short_ns = screening->short_ns};
    screener->trials[screener->trial_count++] = (struct trial){.index = index};
    screening->under_way++;
    device_client_trial_send(screener->gpu->client, job->compile_jobs[index]->path,
                             &result->parameters, &trial);
    return 0;
}

/* What a measured variant says about those to come. */
static void learn(struct screening *screening, const struct result *result,
                  const struct device_client_answer *answer, const struct trial_times *times)
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
    screener->trial_count--;
    screener->screening->under_way--;
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
        comparison_again(&screening->tuning->team->comparison, trial.slot, screener->place);
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
           device_client_disturbance(screener->gpu->client) != NULL &&
           team_other(screening->tuning->team, screener->gpu) != NULL;
}

/* Samples of several GPUs do not mix. Meanwhile others may add results, so that the array moves. */
static int take_trial(const struct screener *screener, struct trial_times *times,
                      struct device_client_answer *answer, struct error *error)
{
    struct study *study = &screener->screening->job->study;
    size_t index = screener->trials[0].index;
    const char *uuid = screener->gpu->gpu.uuid;
    struct result result = study->results[index];
    int runs = result.runs;
    bool moves = strcmp(result.gpu, uuid) != 0;
    if (moves)
        result.runs = 0; /* new samples replace those it has */
    int status = device_client_trial_take(screener->gpu->client, &result, times, answer, error);
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
    struct comparison *comparison = &screening->tuning->team->comparison;
    size_t index = comparison->variants[slot].index;
    const struct result *result = &job->study.results[index];
    int status = job->compile_jobs[index] == NULL
                     ? tuning_job_request(job, screening->tuning->pool, index, error)
                     : 0;
    *begun = status == 0 && job->compile_jobs[index]->done;
    if (!*begun) {
        comparison_again(comparison, slot, screener->place);
        return status;
    }
    const struct device_client_trial trial = {
        .samples = result->time.median_ns < SLOW_NS ? screening->samples : 1,
        .short_ns = result->runs > 1 ? 1e12 : 0}; /* as it was measured */
    screener->trials[screener->trial_count++] =
        (struct trial){.index = index, .compares = true, .slot = slot};
    screening->under_way++;
    device_client_trial_send(screener->gpu->client, job->compile_jobs[index]->path,
                             &result->parameters, &trial);
    return 0;
}

/* How the variant's time on this GPU compares, if it was measured in the same way. */
static int end_comparison(struct screener *screener, struct error *error)
{
    struct screening *screening = screener->screening;
    struct team *team = screening->tuning->team;
    struct device_client_answer answer;
    struct trial_times times;
    struct result result = {0};
    int status = device_client_trial_take(screener->gpu->client, &result, &times, &answer, error);
    if (status == ERROR_RECORD && answer.unreadable) {
        status = recompile(screener, error);
    } else if (status == 0) {
        const struct trial trial = forget_trial(screener);
        bool alike = result.runs == screening->job->study.results[trial.index].runs;
        if (answer.again || screener_is_disturbed(screener))
            comparison_again(&team->comparison, trial.slot, screener->place);
        else if (answer.outcome != OUTCOME_MEASURED)
            comparison_take(&team->comparison, trial.slot, screener->place, -1);
        else if (alike && result.sample_count > 0)
            comparison_take(&team->comparison, trial.slot, screener->place,
                            statistics_median(result.samples_ns, result.sample_count));
        team_describe(team, &screening->job->study);
    }
    result_release(&result);
    return status;
}

static int end_measurement(struct screener *screener, struct error *error)
{
    struct screening *screening = screener->screening;
    struct tuning *tuning = screening->tuning;
    struct tuning_job *job = screening->job;
    struct device_client_answer answer;
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
        comparison_note(&tuning->team->comparison, index, screener->place, result->time.median_ns);
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
