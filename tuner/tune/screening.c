#include "tune/screening.h"

#include "tune/earlier_gpus.h"
#include "tune/screener.h"
#include "tune/screening_run.h"
#include "tune/tuning.h"
#include "tune/twins.h"

#include <stdlib.h>

enum { SCREENING_SAMPLES = 3, CLOSER_SAMPLES = 6 };

static bool has_batches(const struct study *study)
{
    bool any = false;
    for (size_t i = 0; i < study->result_count; i++)
        any = any || study->results[i].runs > 1;
    return any;
}

/* A few samples of every variant that is not known, or that a search proposes, and of twins one. */
static int screen_pending(struct tuning *tuning, struct tuning_job *job, struct result_batch *batch,
                          struct error *error)
{
    struct twins twins;
    struct screening screening = {.tuning = tuning,
                                  .job = job,
                                  .samples = SCREENING_SAMPLES,
                                  .twins = &twins,
                                  .batch = batch};
    twins_init(&twins, job);
    for (size_t i = 0; i < job->order_count; i++)
        if (!job->known[job->order[i]])
            screening_queue_add(&screening.queue, job->order[i]);
    screening.short_ns = has_batches(&job->study) ? TUNING_COMPARABLE_NS : TUNING_SHORT_NS;
    int status = screening_run(&screening, error);
    if (status == 0)
        status = screening_keep_duplicates(&screening, error);
    twins_release(&twins);
    if (status == 0 && job->proposer != NULL)
        tuning_job_drop_untried(job, tuning->pool);
    return status;
}

/* Puts a variant that has samples in line for more. */
static int ask_again(struct screening *screening, size_t index, struct error *error)
{
    struct tuning_job *job = screening->job;
    screening_queue_add(&screening->queue, index);
    /* without a job its samples are from the record */
    return job->compile_jobs[index] == NULL
               ? tuning_job_request(job, screening->tuning->pool, index, error)
               : 0;
}

/* Times a few variants again whose times are another GPU's, from earlier runs. */
static int screen_again(struct tuning *tuning, struct tuning_job *job, struct result_batch *batch,
                        const struct earlier_times *times, struct error *error)
{
    struct screening screening = {
        .tuning = tuning, .job = job, .samples = SCREENING_SAMPLES, .batch = batch};
    int status = 0;
    screening.short_ns = has_batches(&job->study) ? TUNING_COMPARABLE_NS : TUNING_SHORT_NS;
    for (size_t i = 0; i < times->count && status == 0; i++)
        status = ask_again(&screening, times->fastest[i].index, error);
    if (status == 0)
        return screening_run(&screening, error);
    screening_queue_release(&screening.queue);
    return status;
}

/* Makes times of earlier runs comparable, if other GPUs took them. */
static int screen_earlier(struct tuning *tuning, struct tuning_job *job, struct result_batch *batch,
                          struct error *error)
{
    struct earlier_times times;
    int status = 0;
    while (status == 0 && earlier_gpus_next(tuning->team, &job->study, &times)) {
        status = screen_again(tuning, job, batch, &times, error);
        if (status == 0)
            earlier_gpus_judge(tuning->team, &job->study, &times);
        team_describe(tuning->team, &job->study);
    }
    return status;
}

/* Whether the one sample that a variant has was enough only beside a faster one that has been disqualified
 * since. Single runs take longer than those in batches. */
static bool was_cut_short(const struct result *result, double best_ns)
{
    return result->outcome == OUTCOME_MEASURED && result->sample_count < SCREENING_SAMPLES &&
           result->time.median_ns <= SCREENER_HOPELESS * best_ns;
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

/* After a disqualification: those that deserve all samples by the best that is left. */
static int screen_cut_short(struct tuning *tuning, struct tuning_job *job,
                            struct result_batch *batch, struct error *error)
{
    struct screening screening = {
        .tuning = tuning, .job = job, .samples = SCREENING_SAMPLES, .batch = batch};
    double best_ns = best_of(&job->study);
    int status = 0;
    screening.short_ns = has_batches(&job->study) ? TUNING_COMPARABLE_NS : TUNING_SHORT_NS;
    for (size_t i = 0; i < job->study.result_count && status == 0; i++)
        if (was_cut_short(&job->study.results[i], best_ns))
            status = ask_again(&screening, i, error);
    if (status == 0)
        return screening_run(&screening, error);
    screening_queue_release(&screening.queue);
    return status;
}

/* Once one variant is batched: those that were sampled singly and could be compared with it. */
static int screen_alike(struct tuning *tuning, struct tuning_job *job, struct result_batch *batch,
                        struct error *error)
{
    struct screening screening = {.tuning = tuning,
                                  .job = job,
                                  .samples = SCREENING_SAMPLES,
                                  .batch = batch,
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
        return screening_run(&screening, error);
    screening_queue_release(&screening.queue);
    return status;
}

/* If more could still win than the finals hold, a closer look decides who goes there. */
static int screen_closer(struct tuning *tuning, struct tuning_job *job, struct result_batch *batch,
                         struct error *error)
{
    struct screening screening = {
        .tuning = tuning, .job = job, .samples = CLOSER_SAMPLES, .batch = batch};
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
        return screening_run(&screening, error);
    screening_queue_release(&screening.queue);
    return status;
}

/* What the finals are chosen by. */
static int screen_best(struct tuning *tuning, struct tuning_job *job, struct result_batch *batch,
                       struct error *error)
{
    int status = job->disqualified ? screen_cut_short(tuning, job, batch, error) : 0;
    job->disqualified = false;
    if (status == 0)
        status = screen_alike(tuning, job, batch, error);
    return status != 0 ? status : screen_closer(tuning, job, batch, error);
}

int screening_hold(struct tuning *tuning, struct tuning_job *job, struct error *error)
{
    struct result_batch batch = {
        .record = tuning->record, .loop = tuning->loop, .timings = tuning->timings};
    int status = screen_pending(tuning, job, &batch, error);
    if (status == 0)
        status = screen_earlier(tuning, job, &batch, error);
    do {
        if (status == 0)
            status = screen_best(tuning, job, &batch, error);
    } while (status == 0 && job->disqualified);
    return result_batch_end(&batch, status, error);
}
