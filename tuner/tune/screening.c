#include "tune/screening.h"

#include "base/alloc.h"
#include "base/statistics.h"
#include "tune/kernel_stats.h"
#include "tune/static_check.h"
#include "tune/tuning.h"
#include "tune/twins.h"

#include <stdlib.h>
#include <string.h>

enum {
    SCREENING_SAMPLES = 3,
    CLOSER_VARIANTS = 64, /* at most so many get a closer look before the finals */
    CLOSER_SAMPLES = 6,
    HOPELESS = 2, /* a first sample so many times the best median gets no further ones */
};

/* The variants of a screening that are on their way. */
struct screening {
    struct tuning *tuning;
    struct tuning_job *job;
    size_t *pending; /* not begun */
    size_t pending_count;
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
    return tuning_keep(tuning, screening->job, index, "screening", error);
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
    if (screening->twins != NULL && twins_wait(screening->twins, index))
        return 0;
    screening->trials[screening->trial_count++] = index;
    gpu_client_trial_send(tuning->client, job->compile_jobs[index]->path, &result->parameters,
                          screening->samples, HOPELESS * screening->best_ns, screening->short_ns);
    return 0;
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
        screening->pending[screening->pending_count++] = index;
        return 0;
    }
    if (answer.outcome == OUTCOME_MEASURED)
        kernel_stats_limit(&source, answer.entry, &result->stats);
    tuning_summarise(result);
    if (answer.outcome == OUTCOME_MEASURED &&
        (screening->best_ns <= 0 || answer.single_ns < screening->best_ns))
        screening->best_ns = answer.single_ns;
    tuning_job_take_answer(job, index, &answer);
    return keep_screened(screening, index, error);
}

/* The variants that are not known, shuffled so that slow drift does not favour a corner of the
 * space. */
static size_t *shuffled_pending(const struct tuning_job *job, size_t *count)
{
    uint64_t state = 0x9e3779b97f4a7c15u;
    size_t *pending = NULL;
    *count = 0;
    for (size_t i = 0; i < job->study.result_count; i++)
        if (!job->known[i])
            *ARRAY_APPEND(pending, *count) = i;
    statistics_shuffle(pending, *count, &state);
    return pending;
}

/* Takes a pending variant whose cubin is there; false where there is none yet. */
static bool take_compiled(struct screening *screening, size_t *index)
{
    for (size_t i = screening->pending_count; i-- > 0;) {
        if (!screening->job->compile_jobs[screening->pending[i]]->done)
            continue;
        *index = screening->pending[i];
        screening->pending[i] = screening->pending[--screening->pending_count];
        return true;
    }
    return false;
}

/* One step: begin a trial where one can begin, else take an answer, else wait for the compiler. */
static int screen_step(struct screening *screening, struct error *error)
{
    size_t index;
    if (screening->trial_count < GPU_TRIALS && take_compiled(screening, &index))
        return begin_trial(screening, index, error);
    if (screening->trial_count > 0)
        return end_trial(screening, error);
    timings_stage(screening->tuning->timings, TIMING_COMPILE);
    return compile_pool_wait_any(screening->tuning->pool, error);
}

static int screen_all(struct screening *screening, struct error *error)
{
    int status = 0;
    while (status == 0 && (screening->pending_count > 0 || screening->trial_count > 0))
        status = screen_step(screening, error);
    free(screening->pending);
    return status;
}

/* Once nothing is running: keeps the duplicates, and what one of them may take over from a twin. */
static int keep_duplicates(struct screening *screening, struct error *error)
{
    int status = 0;
    for (size_t i = 0; i < screening->job->study.result_count && status == 0; i++) {
        if (!screening->twins->waiting[i])
            continue;
        size_t duplicate = twins_conclude(screening->twins, i);
        if (duplicate != i)
            status = tuning_keep(screening->tuning, screening->job, i, "screening", error);
        if (status == 0)
            status = keep_screened(screening, duplicate, error);
    }
    return status;
}

/* A few samples of every variant that is not known, and of twins one. */
static int screen_pending(struct tuning *tuning, struct tuning_job *job, struct error *error)
{
    struct twins twins;
    struct screening screening = {
        .tuning = tuning, .job = job, .samples = SCREENING_SAMPLES, .twins = &twins};
    twins_init(&twins, job);
    screening.pending = shuffled_pending(job, &screening.pending_count);
    screening.short_ns = TUNING_SHORT_NS;
    int status = screen_all(&screening, error);
    if (status == 0)
        status = keep_duplicates(&screening, error);
    twins_release(&twins);
    return status;
}

static bool has_batches(const struct study *study)
{
    bool any = false;
    for (size_t i = 0; i < study->result_count; i++)
        any = any || study->results[i].runs > 1;
    return any;
}

/* Puts a variant that has samples in line for more. */
static int ask_again(struct screening *screening, size_t index, struct error *error)
{
    struct tuning_job *job = screening->job;
    *ARRAY_APPEND(screening->pending, screening->pending_count) = index;
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
    free(screening.pending);
    return status;
}

/* If more could still win than the finals hold, a closer look decides who goes there. */
static int screen_closer(struct tuning *tuning, struct tuning_job *job, struct error *error)
{
    struct screening screening = {.tuning = tuning, .job = job, .samples = CLOSER_SAMPLES};
    screening.short_ns = has_batches(&job->study) ? TUNING_COMPARABLE_NS : TUNING_SHORT_NS;
    size_t count;
    bool *chosen = tuning_choose(tuning, &job->study, CLOSER_VARIANTS, &count);
    int status = 0;
    for (size_t i = 0; i < job->study.result_count && status == 0; i++) {
        if (!chosen[i] || tuning->rules.everyone || count <= tuning->rules.finalists)
            continue;
        status = ask_again(&screening, i, error);
    }
    free(chosen);
    if (status == 0)
        return screen_all(&screening, error);
    free(screening.pending);
    return status;
}

int screening_hold(struct tuning *tuning, struct tuning_job *job, struct error *error)
{
    int status = screen_pending(tuning, job, error);
    if (status == 0)
        status = screen_alike(tuning, job, error);
    return status != 0 ? status : screen_closer(tuning, job, error);
}
