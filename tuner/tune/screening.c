#include "tune/tuning.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/interrupt.h"
#include "base/statistics.h"
#include "base/task.h"
#include "tune/kernel_stats.h"
#include "tune/twins.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    READY_VARIANTS = 2 /* compiled proposals that wait for a GPU: the search learns from each */
};

/* A first sample so many times the best median gets no further ones. */
enum { SCREENER_HOPELESS = 2 };

struct screener;

/* What the GPUs share. Set the first five, and add to the queue. */
struct screening {
    struct tuning *tuning;
    struct tuning_job *job;
    size_t samples;      /* of a trial */
    double short_ns;     /* below it, batches */
    struct twins *twins; /* NULL: a closer look at variants that have samples */
    /* the variants that no GPU has yet: those that the compiler has, and those that it is done with; a search's
     * proposals are added as they are needed */
    size_t *waiting; /* for the compiler; those that were requested come first */
    size_t waiting_count;
    size_t compiled; /* how many of these, from the first on, wait no longer */
    size_t *ready;   /* compiled, the next one last */
    size_t ready_count;
    uint64_t seen; /* jobs requested plus jobs done when `ready` was last filled; 0: look again */
    struct screener *screeners; /* one for each GPU */
    size_t screener_count;
    size_t under_way; /* trials, on all GPUs */
    bool failed;      /* on one of them: the others begin nothing any more */
    double best_ns;   /* median of single samples so far; 0: none yet */
};

struct trial {
    size_t index;  /* of the variant */
    bool compares; /* GPUs, by a variant that has its result: */
    size_t slot;   /* this one of team->comparison */
};

/* One GPU's part in a screening. */
struct screener {
    struct screening *screening;
    struct fleet_gpu *gpu;
    size_t place;                       /* of the GPU in the team */
    bool active;                        /* it takes work */
    bool joining;                       /* it is going to */
    bool finished;                      /* it found nothing left to do */
    bool ended;                         /* it does nothing any more */
    struct task *task;                  /* NULL: there is only one */
    struct trial trials[DEVICE_TRIALS]; /* queued on the device, the oldest first */
    size_t trial_count;
};

static void queue_add(struct screening *screening, size_t index)
{
    *ARRAY_APPEND(screening->waiting, screening->waiting_count) = index;
    screening->seen = 0;
}

/* Adds one that was taken and is to be tried again. Others go first: what disturbed it may not be
 * over. */
static void queue_return(struct screening *screening, size_t index)
{
    (void)ARRAY_APPEND(screening->ready, screening->ready_count);
    memmove(screening->ready + 1, screening->ready,
            (screening->ready_count - 1) * sizeof *screening->ready);
    screening->ready[0] = index;
}

/* Moves what is compiled from `waiting` to `ready`, unless there is enough for every GPU: it looks at
 * everything that is being compiled. */
static void collect_compiled(struct screening *screening)
{
    const struct tuning_job *job = screening->job;
    size_t *waiting = screening->waiting;
    uint64_t seen = compile_pool_counts(screening->tuning->pool).done + job->requested;
    size_t begin = screening->compiled;
    size_t end = begin;
    if (seen == screening->seen ||
        screening->ready_count >= READY_VARIANTS * screening->tuning->team->count)
        return;
    screening->seen = seen;
    while (end < screening->waiting_count && job->compile_jobs[waiting[end]] != NULL)
        end++;
    screening->compiled = end;
    for (size_t i = end; i-- > begin;)
        if (job->compile_jobs[waiting[i]]->done)
            *ARRAY_APPEND(screening->ready, screening->ready_count) = waiting[i];
        else
            waiting[--screening->compiled] = waiting[i];
}

/* Asks the search for more, so that the compile workers are busy and no GPU need wait, but for no more
 * than that. */
static int propose(struct screening *screening, struct error *error)
{
    struct tuning *tuning = screening->tuning;
    struct tuning_job *job = screening->job;
    if (screening->twins == NULL || job->proposer == NULL)
        return 0;
    const size_t gpus = tuning->team->count;
    const size_t most = 2 * compile_pool_counts(tuning->pool).workers + gpus - 1;
    timings_stage(tuning->timings, TIMING_SEARCH);
    while (screening->ready_count < READY_VARIANTS * gpus &&
           screening->waiting_count - screening->compiled < most) {
        size_t index;
        int64_t end_ns = allowance_search_end(&tuning->allowance);
        int status = tuning_job_propose(job, end_ns, &index, error);
        if (status != 1)
            return status;
        queue_add(screening, index);
        status = tuning_job_request(job, index, error);
        if (status != 0)
            return status;
        collect_compiled(screening);
    }
    return 0;
}

/* Waits until something happens, at most until `until_ns`: another variant may be compiled then. */
static int queue_wait(struct screening *screening, int64_t until_ns, struct error *error)
{
    struct tuning *tuning = screening->tuning;
    struct tuning_job *job = screening->job;
    timings_stage(tuning->timings, TIMING_COMPILE);
    if (screening->compiled < screening->waiting_count) {
        size_t first = screening->waiting[screening->compiled];
        if (job->compile_jobs[first] == NULL) { /* others hold the compiler's queue */
            screening->seen = 0;
            return tuning_job_request(job, first, error);
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

/* When nothing more should begin. */
static int64_t end_of(const struct screening *screening)
{
    const struct allowance *allowance = &screening->tuning->allowance;
    return screening->twins != NULL ? allowance_search_end(allowance)
                                    : allowance_look_end(allowance);
}

static bool is_over(const struct screening *screening)
{
    return screening->failed || clock_ns() >= end_of(screening);
}

/* Variants that are not run do not wait for anything that would notice a signal. */
static int check_interrupt(struct error *error)
{
    return interrupt_requested() ? error_set(error, ERROR_INTERRUPTED, "interrupted") : 0;
}

static int store(const struct screening *screening, const size_t *indices, size_t count,
                 struct error *error)
{
    const struct tuning_job *job = screening->job;
    struct timings *timings = screening->tuning->timings;
    enum timing_stage stage = timings->stage;
    timings_stage(timings, TIMING_RECORD);
    int status = record_results(screening->tuning->record, job->record_id, job->study.results,
                                indices, count, "screening", error);
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
    tuning_job_drop(screening->job, index);
    return store(screening, &index, 1, error);
}

/* Keeps the duplicates whose twins have their results, and what one of them may take over from a
 * twin: many at once, because each transaction costs more than what it stores. */
static int keep_duplicates(struct screening *screening, struct error *error)
{
    enum { AT_ONCE = 1000 };
    struct tuning_job *job = screening->job;
    size_t kept[AT_ONCE + 1];
    size_t count = 0;
    int status = 0;
    for (size_t i = 0; i < screening->twins->count && status == 0; i++) {
        if (!twins_is_over(screening->twins, i))
            continue;
        size_t duplicate = twins_conclude(screening->twins, i);
        tuning_job_drop(job, i);
        kept[count++] = duplicate;
        if (duplicate != i)
            kept[count++] = i;
        if (count < AT_ONCE)
            continue;
        status = store(screening, kept, count, error);
        count = 0;
        if (status == 0)
            status = check_interrupt(error);
    }
    return status == 0 && count > 0 ? store(screening, kept, count, error) : status;
}

/* Sends the variant to the GPU, unless its outcome is known from compiling it, or it has a twin. */
static int begin_trial(struct screener *screener, size_t index, struct error *error)
{
    struct screening *screening = screener->screening;
    struct tuning *tuning = screening->tuning;
    struct tuning_job *job = screening->job;
    struct result *result = &job->study.results[index];
    timings_stage(tuning->timings, TIMING_SPACE);
    if (!static_check_variant(job, index))
        return keep_screened(screening, index, error);
    if (screening->twins != NULL && twins_wait(screening->twins, index)) {
        tuning_job_drop(job, index);
        progress_add(tuning->progress, job->study.kernel, OUTCOME_DUPLICATE, 0);
        return job->proposer != NULL ? keep_duplicates(screening, error) : 0;
    }
    /* a verified run's cache is warmer than a sample's, if these are cold, and what else a first run has to do
     * takes microseconds; behind another trial, it cannot meet a GPU that has lowered its clocks for want of work */
    bool compares = job->kernel->cold && screening->best_ns >= LONG_NS &&
                    screener->trial_count > 0 && screening->twins != NULL;
    const struct device_client_trial trial = {.samples = screening->samples,
                                              .hopeless_ns =
                                                  compares ? HOPELESS_RUN * screening->best_ns : 0,
                                              .enough_ns = SCREENER_HOPELESS * screening->best_ns,
                                              .short_ns = screening->short_ns};
    screener->trials[screener->trial_count++] = (struct trial){.index = index};
    screening->under_way++;
    device_client_trial_send(screener->gpu->client, job->compile_jobs[index]->path,
                             &result->parameters, &trial);
    return 0;
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
        queue_return(screening, trial.index);
}

/* The worker could not read the oldest trial's cubin: it is compiled, and the variant tried, again. */
static int recompile(struct screener *screener, struct error *error)
{
    struct screening *screening = screener->screening;
    int status = tuning_job_recompile(screening->job, screener->trials[0].index, error);
    return_trial(screener);
    return status;
}

/* Whether what this GPU measures should be measured by another one. */
static bool is_disturbed(const struct screener *screener)
{
    const struct screening *screening = screener->screening;
    return screening->twins != NULL && !is_over(screening) &&
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
    if (status == 0 && answer->outcome == OUTCOME_MEASURED && is_disturbed(screener))
        answer->again = true; /* its speed alone was disturbed: a failure stays one */
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

/* Sends one that has its result already, `variants[slot]` of team->comparison, once it is compiled
 * again, which takes no time. `*begun` is false if that is still to come. */
static int begin_comparison(struct screener *screener, size_t slot, bool *begun,
                            struct error *error)
{
    struct screening *screening = screener->screening;
    struct tuning_job *job = screening->job;
    struct comparison *comparison = &screening->tuning->team->comparison;
    size_t index = comparison->variants[slot].index;
    const struct result *result = &job->study.results[index];
    int status = job->compile_jobs[index] == NULL ? tuning_job_request(job, index, error) : 0;
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

/* A variant that was right on another GPU has failed on this one. It cannot win, unless it merely does
 * not fit here. */
static int end_failed_comparison(const struct screener *screener, const struct trial *trial,
                                 const struct device_client_answer *answer, struct error *error)
{
    const struct screening *screening = screener->screening;
    struct tuning_job *job = screening->job;
    const struct result failed = {.outcome = answer->outcome};
    size_t index = twins_run(screening->twins, trial->index);
    comparison_take(&screening->tuning->team->comparison, trial->slot, screener->place, -1);
    if (!result_is_refuted(&failed) || answer->passing ||
        job->study.results[index].outcome != OUTCOME_MEASURED)
        return 0;
    tuning_job_take_answer(job, index, answer);
    return store(screening, &index, 1, error);
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
        if (answer.outcome != OUTCOME_MEASURED)
            status = end_failed_comparison(screener, &trial, &answer, error);
        else if (answer.again || is_disturbed(screener))
            comparison_again(&team->comparison, trial.slot, screener->place);
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
    size_t index = screener->trials[0].index;
    if (status != 0 && answer.outcome != OUTCOME_MEASURED && job->known[index]) {
        /* in a closer look */
        tuning_job_take_answer(job, index, &answer);
        (void)store(screening, &index, 1, NULL);
    }
    if (status != 0)
        return status;
    (void)forget_trial(screener);
    if (answer.again) { /* its samples were dropped */
        queue_return(screening, index);
        return 0;
    }
    struct result *result = &job->study.results[index];
    const struct kernel_stats_source source = tuning_job_stats_source(job, index);
    if (answer.outcome == OUTCOME_MEASURED)
        kernel_stats_limit(&source, answer.entry, &result->stats);
    tuning_summarise(result);
    if (result->runs > 1)
        screening->short_ns = TUNING_COMPARABLE_NS;
    if (answer.outcome == OUTCOME_MEASURED) { /* which says something about those to come */
        allowance_note(&tuning->allowance, result->time.median_ns, (double)times.load_ns,
                       (double)times.verify_ns, (double)times.measure_ns, result->sample_count);
        if (screening->best_ns <= 0 || answer.single_ns < screening->best_ns)
            screening->best_ns = answer.single_ns;
    }
    if (answer.outcome == OUTCOME_MEASURED && screening->twins != NULL)
        comparison_note(&tuning->team->comparison, index, screener->place, result->time.median_ns);
    tuning_job_take_answer(job, index, &answer);
    status = keep_screened(screening, index, error);
    if (status == 0 && screening->twins != NULL && job->proposer != NULL)
        status = keep_duplicates(screening, error);
    return status;
}

/* --- trials on every GPU --- */

/* Whether another GPU goes on without this one; `later`: also one that only pauses. */
static bool others_go_on(const struct screener *screener, bool later)
{
    const struct screening *screening = screener->screening;
    for (size_t i = 0; i < screening->screener_count; i++) {
        const struct screener *other = &screening->screeners[i];
        bool pauses = other->gpu->pauses && !other->ended;
        if (other != screener && (other->active || other->joining || (later && pauses)))
            return true;
    }
    return false;
}

/* Whether GPUs with fewer trials leave anything to this one. */
static bool is_its_turn(const struct screener *screener)
{
    const struct screening *screening = screener->screening;
    const size_t ready = screening->ready_count;
    size_t before = 0;
    for (size_t i = 0; i < screening->screener_count; i++)
        before += screening->screeners[i].active &&
                  screening->screeners[i].trial_count < screener->trial_count;
    return ready > before;
}

/* One step: begin a trial if one can begin, else take an answer, else wait for the compiler or for
 * what another GPU may leave. */
static int screen_step(struct screener *screener, bool over, struct error *error)
{
    struct screening *screening = screener->screening;
    size_t slot;
    bool begun = false;
    bool takes = !over && screener->trial_count < DEVICE_TRIALS &&
                 !(is_disturbed(screener) && others_go_on(screener, false));
    if (takes && screening->twins != NULL &&
        comparison_next(&screening->tuning->team->comparison, screener->place, &slot)) {
        int status = begin_comparison(screener, slot, &begun, error);
        if (status != 0 || begun)
            return status;
    }
    if (takes && is_its_turn(screener))
        return begin_trial(screener, screening->ready[--screening->ready_count], error);
    if (screener->trial_count > 0)
        return screener->trials[0].compares ? end_comparison(screener, error)
                                            : end_measurement(screener, error);
    return queue_wait(screening, end_of(screening), error);
}

/* Another GPU's trial may have to be done again, and a search learns from it. */
static bool has_more(const struct screener *screener, bool over)
{
    const struct screening *screening = screener->screening;
    const struct comparison *comparison = &screening->tuning->team->comparison;
    return screener->trial_count > 0 ||
           (!over && (screening->compiled < screening->waiting_count ||
                      screening->ready_count > 0 || screening->under_way > 0 ||
                      (!screener->gpu->pauses && comparison_has(comparison, screener->place))));
}

/* --- GPUs that leave, or pause --- */

/* Whether another GPU has ended well: it waits for the trials of all. */
static bool all_is_done(const struct screening *screening)
{
    for (size_t i = 0; i < screening->screener_count; i++)
        if (screening->screeners[i].finished)
            return true;
    return false;
}

/* After a failure: returns 0 if the others go on without this GPU, or the failure. */
static int lose(struct screener *screener, int status, struct error *error)
{
    const struct tuning *tuning = screener->screening->tuning;
    screener->active = false;
    screener->joining = false;
    bool compares = true; /* what it has under way was measured elsewhere before */
    for (size_t i = 0; i < screener->trial_count; i++)
        compares = compares && screener->trials[i].compares;
    bool spared = all_is_done(screener->screening) && (compares || is_over(screener->screening)) &&
                  status != ERROR_INTERRUPTED && status != ERROR_RECORD;
    if (!spared && (!team_is_loss(screener->gpu, status) || !others_go_on(screener, true)))
        return status;
    while (screener->trial_count > 0)
        return_trial(screener);
    if (screener->task == NULL || !screener->task->cancelled)
        tuning_notice(tuning, screener->gpu, "failed", error != NULL ? error->message : "",
                      "the others take over its work");
    team_leave(tuning->team, screener->gpu, status != ERROR_MEMORY);
    return 0;
}

/* Waits until a GPU has opened the problem: as long as it takes while others screen, but not much
 * longer than they took to open it once they are done. Returns 1; 0 if it is given up; or an error. */
static int await_opening(const struct screener *screener, struct error *error)
{
    const struct screening *screening = screener->screening;
    const struct tuning *tuning = screening->tuning;
    int status = screener->gpu->open;
    while (status == 0) {
        bool done = is_over(screening) || all_is_done(screening);
        int64_t end_ns = done ? tuning->team->patience_ns : end_of(screening);
        if (screening->failed || (done && clock_ns() >= end_ns))
            return 0;
        status = team_await(tuning->loop, screener->gpu, end_ns, error);
    }
    return status;
}

/* The GPU begins to work, if it can. */
static int join(struct screener *screener, struct error *error)
{
    const struct tuning *tuning = screener->screening->tuning;
    screener->joining = true;
    int status = await_opening(screener, error);
    bool late = status == 0;
    if (status == 1)
        status = team_join(tuning->team, screener->gpu, error);
    screener->joining = false;
    screener->active = status == 0 && !late;
    if (late && !screener->screening->failed)
        tuning_notice(tuning, screener->gpu, "failed", "it did not open the problem in time",
                      "the others did its work");
    if (late)
        team_leave(tuning->team, screener->gpu, false);
    return status == 0 ? 0 : lose(screener, status, error);
}

/* One step of a GPU that may pause; `*more` is false if it was the last. */
static int step(struct screener *screener, bool *more, struct error *error)
{
    struct screening *screening = screener->screening;
    struct tuning *tuning = screening->tuning;
    struct fleet_gpu *gpu = screener->gpu;
    bool over = is_over(screening);
    int status = over ? 0 : check_interrupt(error);
    if (status == 0 && !over && !gpu->pauses) { /* what GPUs can begin soon is requested */
        status = compile_ahead_fill(tuning->ahead, error);
        collect_compiled(screening);
        if (status == 0)
            status = propose(screening, error);
    }
    *more = status == 0 && !gpu->away && has_more(screener, over);
    if (!*more)
        return status;
    if (gpu->pauses) {
        int64_t end_ns = end_of(screening);
        if (clock_ns() < gpu->back_ns) {
            status =
                event_loop_step(tuning->loop, gpu->back_ns < end_ns ? gpu->back_ns : end_ns, error);
        } else {
            team_resume(gpu);
            screener->active = true;
        }
        *more = screener->task == NULL || !screener->task->cancelled;
        return *more ? status : 0;
    }
    status = screen_step(screener, over, error);
    if (status != 0)
        return lose(screener, status, error);
    /* one that is throttled or used by somebody else pauses when its trials are over, unless nobody else goes on */
    if (screener->trial_count == 0 && is_disturbed(screener) && others_go_on(screener, false)) {
        screener->active = false;
        if (!gpu->has_paused)
            tuning_notice(tuning, gpu, "pauses", device_client_disturbance(gpu->client),
                          "the others take over its work");
        team_pause(tuning->team, gpu);
    }
    return 0;
}

static int screen_with(void *owner, struct error *error)
{
    struct screener *screener = owner;
    struct screening *screening = screener->screening;
    bool more = true;
    bool waits = screener->gpu->away || screener->gpu->pauses;
    int status = waits ? 0 : join(screener, error);
    if (status == 0 && screening->failed) /* meanwhile, on another one */
        more = false;
    while (status == 0 && more)
        status = step(screener, &more, error);
    screener->finished = screener->active && status == 0;
    for (size_t i = 0; i < screening->screener_count && screener->finished; i++) {
        const struct screener *other = &screening->screeners[i];
        if (other->gpu->pauses && other->task != NULL) /* it need not come back */
            other->task->cancelled = true;
    }
    screener->active = false;
    screener->ended = true;
    screening->failed = screening->failed || status != 0;
    event_loop_wake(screening->tuning->loop);
    return status;
}

/* Tries everything in the queue, and releases it. A closer look is the leading GPU's alone, because it
 * compares closely. */
static int screen(struct screening *screening, struct error *error)
{
    struct team *team = screening->tuning->team;
    const bool all = screening->twins != NULL;
    size_t count = all ? team->count : 1;
    struct task *tasks = alloc_zeroed(count, sizeof *tasks);
    screening->screeners = alloc_zeroed(count, sizeof *screening->screeners);
    screening->screener_count = count;
    for (size_t i = 0; i < count; i++) {
        size_t place = all ? i : team->lead;
        screening->screeners[i] =
            (struct screener){.screening = screening, .gpu = team->gpus[place], .place = place};
        tasks[i] = (struct task){.run = screen_with, .owner = &screening->screeners[i]};
        screening->screeners[i].joining = !team->gpus[place]->away && !team->gpus[place]->pauses;
        if (count > 1)
            screening->screeners[i].task = &tasks[i];
    }
    team_describe(team, &screening->job->study);
    int status = count > 1 ? tasks_run(screening->tuning->loop, tasks, count, error)
                           : screen_with(&screening->screeners[0], error);
    size_t index;
    while (comparison_close(&team->comparison, &index)) /* what was not compared by now never is */
        tuning_job_drop(screening->job, index);
    team_choose_lead(team); /* one may not have opened the problem */
    team_describe(team, &screening->job->study);
    free(tasks);
    free(screening->screeners);
    free(screening->waiting);
    free(screening->ready);
    return status;
}

/* --- the stages --- */

enum { SCREENING_SAMPLES = 3, CLOSER_SAMPLES = 6 };

/* Two GPUs of one model are a few percent apart. */
#define STRANGE_MARGIN 1.1

static bool has_batches(const struct study *study)
{
    bool any = false;
    for (size_t i = 0; i < study->result_count; i++)
        any = any || study->results[i].runs > 1;
    return any;
}

/* A few samples of every variant that is not known, or that a search proposes, and of twins one. */
static int screen_pending(struct tuning *tuning, struct tuning_job *job, struct error *error)
{
    struct twins twins;
    struct screening screening = {
        .tuning = tuning, .job = job, .samples = SCREENING_SAMPLES, .twins = &twins};
    twins_init(&twins, job);
    for (size_t i = 0; i < job->order_count; i++)
        if (!job->known[job->order[i]])
            queue_add(&screening, job->order[i]);
    screening.short_ns = has_batches(&job->study) ? TUNING_COMPARABLE_NS : TUNING_SHORT_NS;
    int status = screen(&screening, error);
    if (status == 0)
        status = keep_duplicates(&screening, error);
    twins_release(&twins);
    if (status == 0 && job->proposer != NULL)
        tuning_job_drop_untried(job);
    return status;
}

/* More samples of some variants that have samples already, on the leading GPU. */
static int screen_again(struct tuning *tuning, struct tuning_job *job, size_t samples,
                        const bool *wanted, struct error *error)
{
    struct screening screening = {.tuning = tuning, .job = job, .samples = samples};
    int status = 0;
    screening.short_ns = has_batches(&job->study) ? TUNING_COMPARABLE_NS : TUNING_SHORT_NS;
    for (size_t i = 0; i < job->study.result_count && status == 0; i++) {
        if (!wanted[i])
            continue;
        queue_add(&screening, i);
        if (job->compile_jobs[i] == NULL) /* its samples are from the record */
            status = tuning_job_request(job, i, error);
    }
    if (status == 0)
        return screen(&screening, error);
    free(screening.waiting);
    return status;
}

static double best_of(const struct study *study)
{
    double best_ns = 0;
    for (size_t i = 0; i < study->result_count; i++) {
        const struct result *result = &study->results[i];
        double ns = result->time.median_ns + (result->runs > 1 ? TUNING_SHORT_NS : 0);
        if (result->outcome == OUTCOME_MEASURED && (best_ns <= 0 || ns < best_ns))
            best_ns = ns;
    }
    return best_ns;
}

/* Whether nobody knows what its time is worth beside those of the leading GPU. */
static bool is_strange(const struct tuning *tuning, const struct study *study,
                       const struct result *result)
{
    return result->outcome == OUTCOME_MEASURED && result->gpu[0] != '\0' &&
           !team_compares(tuning->team, study, result->gpu);
}

/* Of times that an earlier run took on another GPU, those that could be the best are taken again: at first
 * those that are near the best of them. */
static int screen_strange(struct tuning *tuning, struct tuning_job *job, struct error *error)
{
    const struct study *study = &job->study;
    bool *wanted = alloc_zeroed(study->result_count, sizeof *wanted);
    double best_ns = 0;
    bool more = true;
    int status = 0;
    for (size_t i = 0; i < study->result_count; i++) {
        const struct result *result = &study->results[i];
        if (is_strange(tuning, study, result) && (best_ns <= 0 || result->time.median_ns < best_ns))
            best_ns = result->time.median_ns;
    }
    while (status == 0 && more && clock_ns() < allowance_look_end(&tuning->allowance)) {
        more = false;
        for (size_t i = 0; i < study->result_count; i++) {
            wanted[i] = is_strange(tuning, study, &study->results[i]) &&
                        study->results[i].time.median_ns <= STRANGE_MARGIN * best_ns;
            more = more || wanted[i];
        }
        if (more)
            status = screen_again(tuning, job, SCREENING_SAMPLES, wanted, error);
        best_ns = best_of(study);
    }
    free(wanted);
    return status;
}

/* After a disqualification, those that got fewer samples, which may have been enough only beside the one that is
 * disqualified, get the rest. Single runs take longer than those in batches. Once one variant is batched, so are
 * those that were sampled singly and could be compared with it. If more could still win than the finals
 * hold, a closer look decides who goes there, unless the same ones are to be held again, carefully. */
static int screen_best(struct tuning *tuning, struct tuning_job *job, struct error *error)
{
    const struct study *study = &job->study;
    const double best_ns = best_of(study);
    bool *wanted = alloc_zeroed(study->result_count, sizeof *wanted);
    size_t count;
    const bool disqualified = job->disqualified;
    for (size_t i = 0; i < study->result_count; i++) {
        const struct result *result = &study->results[i];
        wanted[i] = disqualified && result->outcome == OUTCOME_MEASURED &&
                    result->sample_count < SCREENING_SAMPLES &&
                    result->time.median_ns <= SCREENER_HOPELESS * best_ns;
    }
    job->disqualified = false;
    int status = screen_again(tuning, job, SCREENING_SAMPLES, wanted, error);
    if (status != 0) /* another GPU does it */
        job->disqualified = disqualified;
    const bool batched = has_batches(study);
    for (size_t i = 0; i < study->result_count; i++) {
        const struct result *result = &study->results[i];
        wanted[i] = batched && result->outcome == OUTCOME_MEASURED && result->runs == 1 &&
                    result->time.median_ns < TUNING_COMPARABLE_NS;
    }
    if (status == 0)
        status = screen_again(tuning, job, SCREENING_SAMPLES, wanted, error);
    free(wanted);
    wanted = tuning_choose(tuning, study, ALLOWANCE_LOOK, &count);
    if (status == 0 && !job->careful && !tuning->rules.everyone && count > tuning->rules.finalists)
        status = screen_again(tuning, job, CLOSER_SAMPLES, wanted, error);
    free(wanted);
    return status;
}

int screening_hold(struct tuning *tuning, struct tuning_job *job, struct error *error)
{
    int status = screen_pending(tuning, job, error);
    if (status == 0)
        status = screen_strange(tuning, job, error);
    do {
        if (status == 0)
            status = screen_best(tuning, job, error);
    } while (status == 0 && job->disqualified);
    return status;
}
