#include "tune/screening.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/interrupt.h"
#include "tune/kernel_stats.h"
#include "tune/static_check.h"
#include "tune/tuning.h"
#include "tune/twins.h"

#include <stdlib.h>
#include <string.h>

enum {
    SCREENING_SAMPLES = 3,
    READY_VARIANTS = 2, /* compiled proposals that wait for the GPU: the search learns from each */
    CLOSER_SAMPLES = 6,
    HOPELESS = 2, /* a first sample so many times the best median gets no further ones */
    LONG_NS = 100000,
};

/* A verified run so many times the best median is the only sample: with a margin, since it is not
 * measured like one. */
#define HOPELESS_RUN 2.5

/* The variants of a screening that are on their way. */
struct screening {
    struct tuning *tuning;
    struct tuning_job *job;
    size_t *waiting; /* for the compiler; those that were requested come first */
    size_t waiting_count;
    size_t compiled; /* so many of these wait no longer */
    size_t *ready;   /* compiled, but not begun */
    size_t ready_count;
    uint64_t seen;             /* what there was when `ready` was last filled */
    size_t trials[GPU_TRIALS]; /* queued on the device, the oldest first */
    size_t trial_count;
    size_t samples;      /* of a trial */
    double best_ns;      /* median of single samples so far; 0: none yet */
    double short_ns;     /* below it, batches */
    struct twins *twins; /* NULL: a closer look at variants that have samples */
};

/* Puts a variant's outcome into the record and on the progress line. */
static int keep_screened(struct screening *screening, size_t index, struct error *error)
{
    struct tuning *tuning = screening->tuning;
    const struct study *study = &screening->job->study;
    const struct result *result = &study->results[index];
    if (screening->twins != NULL)
        progress_add(tuning->progress, study->kernel, result->outcome, result->time.median_ns);
    tuning_job_drop(screening->job, tuning->pool, index);
    return tuning_keep(tuning, screening->job, index, "screening", error);
}

/* Variants that are not run do not wait for anything that would notice a Ctrl-C. */
static int check_interrupt(struct error *error)
{
    return interrupt_requested() ? error_set(error, ERROR_INTERRUPTED, "interrupted") : 0;
}

/* Keeps the duplicates whose twins have their results, and what one of them may take over from a
 * twin. */
static int keep_duplicates(struct screening *screening, struct error *error)
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
            status = tuning_keep(tuning, job, i, "screening", error);
        if (status == 0)
            status = tuning_keep(tuning, job, duplicate, "screening", error);
        if (status == 0)
            status = check_interrupt(error);
    }
    return status;
}

/* So long does the verified run of a variant take that needs no sample; 0: it says nothing. Its cache
 * is warmer than a sample's, if these are cold, and what else a first run has to do takes microseconds.
 * Behind another trial, it cannot meet a GPU that has lowered its clocks for want of work. */
static double hopeless_run_ns(const struct screening *screening)
{
    bool compares = screening->job->kernel->cold && screening->best_ns >= LONG_NS &&
                    screening->trial_count > 0 && screening->twins != NULL;
    return compares ? HOPELESS_RUN * screening->best_ns : 0;
}

/* Sends the variant to the GPU, unless its outcome is known from compiling it, or it has a twin. */
static int begin_trial(struct screening *screening, size_t index, struct error *error)
{
    struct tuning *tuning = screening->tuning;
    struct tuning_job *job = screening->job;
    struct result *result = &job->study.results[index];
    timings_stage(tuning->timings, TIMING_SPACE);
    if (!static_check_variant(job, index))
        return keep_screened(screening, index, error);
    if (screening->twins != NULL && twins_wait(screening->twins, index)) {
        tuning_job_drop(job, tuning->pool, index);
        progress_add(tuning->progress, job->study.kernel, OUTCOME_DUPLICATE, 0);
        return job->proposer != NULL ? keep_duplicates(screening, error) : 0;
    }
    const struct gpu_client_trial trial = {.samples = screening->samples,
                                           .hopeless_ns = hopeless_run_ns(screening),
                                           .enough_ns = HOPELESS * screening->best_ns,
                                           .short_ns = screening->short_ns};
    screening->trials[screening->trial_count++] = index;
    gpu_client_trial_send(tuning->client, job->compile_jobs[index]->path, &result->parameters,
                          &trial);
    return 0;
}

/* Others go first: what disturbed it may not be over. */
static void put_last(struct screening *screening, size_t index)
{
    (void)ARRAY_APPEND(screening->ready, screening->ready_count);
    memmove(screening->ready + 1, screening->ready,
            (screening->ready_count - 1) * sizeof *screening->ready);
    screening->ready[0] = index;
}

static int end_trial(struct screening *screening, struct error *error)
{
    struct tuning *tuning = screening->tuning;
    struct tuning_job *job = screening->job;
    size_t index = screening->trials[0];
    struct result *result = &job->study.results[index];
    const struct kernel_stats_source source = tuning_job_stats_source(job, index);
    struct gpu_client_answer answer;
    struct trial_times times;
    timings_stage(tuning->timings, TIMING_MEASURE);
    int status = gpu_client_trial_take(tuning->client, result, &times, &answer, error);
    timings_share(tuning->timings, times.load_ns, times.verify_ns, times.measure_ns);
    if (status != 0)
        return status;
    screening->trial_count--;
    memmove(screening->trials, screening->trials + 1,
            screening->trial_count * sizeof *screening->trials);
    if (answer.again) { /* its samples were dropped */
        put_last(screening, index);
        return 0;
    }
    if (answer.outcome == OUTCOME_MEASURED)
        kernel_stats_limit(&source, answer.entry, &result->stats);
    tuning_summarise(result);
    if (result->runs > 1)
        screening->short_ns = TUNING_COMPARABLE_NS;
    if (answer.outcome == OUTCOME_MEASURED)
        allowance_note(&tuning->allowance, result->time.median_ns, (double)times.load_ns,
                       (double)times.verify_ns, (double)times.measure_ns, result->sample_count);
    if (answer.outcome == OUTCOME_MEASURED &&
        (screening->best_ns <= 0 || answer.single_ns < screening->best_ns))
        screening->best_ns = answer.single_ns;
    tuning_job_take_answer(job, index, &answer);
    status = keep_screened(screening, index, error);
    if (status == 0 && screening->twins != NULL && job->proposer != NULL)
        status = keep_duplicates(screening, error);
    return status;
}

/* Moves what is compiled from `waiting` to `ready`. */
static void collect_compiled(struct screening *screening)
{
    const struct tuning_job *job = screening->job;
    size_t *waiting = screening->waiting;
    uint64_t seen = compile_pool_done_count(screening->tuning->pool) + job->requested;
    size_t begin = screening->compiled;
    size_t end = begin;
    if (seen == screening->seen)
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

/* Asks the search for more, so that the compile workers are busy and the GPU need not wait, but for
 * no more than that. */
static int propose(struct screening *screening, struct error *error)
{
    struct tuning *tuning = screening->tuning;
    struct tuning_job *job = screening->job;
    const size_t most = 2 * compile_pool_workers(tuning->pool);
    if (screening->twins == NULL || job->proposer == NULL)
        return 0;
    timings_stage(tuning->timings, TIMING_SEARCH);
    while (screening->ready_count < READY_VARIANTS &&
           screening->waiting_count - screening->compiled < most) {
        size_t index;
        int status = tuning_job_propose(job, &index, error);
        if (status != 1)
            return status;
        *ARRAY_APPEND(screening->waiting, screening->waiting_count) = index;
        screening->seen = 0;
        status = tuning_job_request(job, tuning->pool, index, error);
        if (status != 0)
            return status;
        collect_compiled(screening);
    }
    return 0;
}

/* When nothing more should begin. */
static int64_t screening_end_ns(const struct screening *screening)
{
    const struct allowance *allowance = &screening->tuning->allowance;
    return screening->twins != NULL ? allowance_search_end(allowance)
                                    : allowance_look_end(allowance);
}

/* Waits until one more is compiled. */
static int wait_for_compiler(struct screening *screening, struct error *error)
{
    struct tuning *tuning = screening->tuning;
    struct tuning_job *job = screening->job;
    size_t first = screening->waiting[screening->compiled];
    timings_stage(tuning->timings, TIMING_COMPILE);
    if (job->compile_jobs[first] == NULL) { /* others hold the compiler's queue */
        screening->seen = 0;
        return tuning_job_request(job, tuning->pool, first, error);
    }
    return compile_pool_wait_any(tuning->pool, screening_end_ns(screening), error);
}

/* One step: begin a trial if one can begin, else take an answer, else wait for the compiler. */
static int screen_step(struct screening *screening, bool over, struct error *error)
{
    if (!over && screening->trial_count < GPU_TRIALS && screening->ready_count > 0)
        return begin_trial(screening, screening->ready[--screening->ready_count], error);
    if (screening->trial_count > 0)
        return end_trial(screening, error);
    return wait_for_compiler(screening, error);
}

/* Has everything compiled, and by a search proposed, that can be begun soon. */
static int look_ahead(struct screening *screening, struct error *error)
{
    int status = check_interrupt(error);
    if (status == 0)
        status = compile_ahead_fill(screening->tuning->ahead, error);
    collect_compiled(screening);
    return status != 0 ? status : propose(screening, error);
}

static bool has_more(const struct screening *screening, bool over)
{
    return screening->trial_count > 0 ||
           (!over &&
            (screening->compiled < screening->waiting_count || screening->ready_count > 0));
}

static int screen_all(struct screening *screening, struct error *error)
{
    bool more = true;
    int status = 0;
    while (status == 0 && more) {
        bool over = clock_ns() >= screening_end_ns(screening);
        if (!over)
            status = look_ahead(screening, error);
        more = has_more(screening, over);
        if (status == 0 && more)
            status = screen_step(screening, over, error);
    }
    free(screening->waiting);
    free(screening->ready);
    return status;
}

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
            *ARRAY_APPEND(screening.waiting, screening.waiting_count) = job->order[i];
    screening.short_ns = has_batches(&job->study) ? TUNING_COMPARABLE_NS : TUNING_SHORT_NS;
    int status = screen_all(&screening, error);
    if (status == 0)
        status = keep_duplicates(&screening, error);
    twins_release(&twins);
    if (status == 0 && job->proposer != NULL)
        tuning_job_drop_untried(job, tuning->pool);
    return status;
}

/* Puts a variant that has samples in line for more. */
static int ask_again(struct screening *screening, size_t index, struct error *error)
{
    struct tuning_job *job = screening->job;
    *ARRAY_APPEND(screening->waiting, screening->waiting_count) = index;
    /* without a job its samples are from the record */
    return job->compile_jobs[index] == NULL
               ? tuning_job_request(job, screening->tuning->pool, index, error)
               : 0;
}

/* Once one variant is batched: those that were sampled singly and could be compared with it. */
static int screen_alike(struct tuning *tuning, struct tuning_job *job, struct error *error)
{
    struct screening screening = {.tuning = tuning,
                                  .job = job,
                                  .samples = SCREENING_SAMPLES,
                                  .short_ns = TUNING_COMPARABLE_NS};
    int status = 0;
    if (!has_batches(&job->study))
        return 0;
    for (size_t i = 0; i < job->study.result_count && status == 0; i++) {
        const struct result *result = &job->study.results[i];
        if (result->outcome == OUTCOME_MEASURED && result->runs == 1 &&
            result->time.median_ns < TUNING_COMPARABLE_NS)
            status = ask_again(&screening, i, error);
    }
    if (status == 0)
        return screen_all(&screening, error);
    free(screening.waiting);
    return status;
}

/* If more could still win than the finals hold, a closer look decides who goes there. */
static int screen_closer(struct tuning *tuning, struct tuning_job *job, struct error *error)
{
    struct screening screening = {.tuning = tuning, .job = job, .samples = CLOSER_SAMPLES};
    screening.short_ns = has_batches(&job->study) ? TUNING_COMPARABLE_NS : TUNING_SHORT_NS;
    size_t count;
    bool *chosen = tuning_choose(tuning, &job->study, ALLOWANCE_LOOK, &count);
    int status = 0;
    for (size_t i = 0; i < job->study.result_count && status == 0; i++) {
        if (!chosen[i] || tuning->rules.everyone || count <= tuning->rules.finalists)
            continue;
        status = ask_again(&screening, i, error);
    }
    free(chosen);
    if (status == 0)
        return screen_all(&screening, error);
    free(screening.waiting);
    return status;
}

int screening_hold(struct tuning *tuning, struct tuning_job *job, struct error *error)
{
    int status = screen_pending(tuning, job, error);
    if (status == 0)
        status = screen_alike(tuning, job, error);
    return status != 0 ? status : screen_closer(tuning, job, error);
}
