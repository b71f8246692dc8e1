#include "tune/finals_rounds.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/statistics.h"
#include "tune/kernel_stats.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FINAL_SAMPLES = 3 /* samples a round, whose mean is the round's */ };

/* Times of batches and of single runs do not compare: if one that could win cannot be batched, for
 * want of memory, the finals begin anew with single runs for all. */
static void give_up_batches(struct finals *finals)
{
    for (size_t i = 0; i < finals->count; i++) {
        const struct result *result = &finals->job->study.results[finals->indices[i]];
        finals->runs[i] = 1;
        finals->sample_counts[i] = 0;
        finals->contenders[i].count = finals->contenders[i].reading_count = 0;
        finals->contenders[i].out = result->outcome != OUTCOME_MEASURED;
    }
}

/* Whether some are batched and others that could win are not. */
static bool is_mixed(const struct finals *finals)
{
    bool batched = false;
    bool single = false;
    for (size_t i = 0; i < finals->count; i++) {
        const struct result *result = &finals->job->study.results[finals->indices[i]];
        batched = batched || finals->runs[i] > 1;
        single = single || (finals->runs[i] == 1 && result->time.median_ns < TUNING_COMPARABLE_NS);
    }
    return batched && single;
}

void finals_choose(struct finals *finals)
{
    const struct study *study = &finals->job->study;
    size_t chosen_count;
    size_t contender_count = 0;
    size_t runs_count = 0;
    bool *chosen = tuning_choose(finals->tuning, study, finals->rules.finalists, &chosen_count);
    for (size_t i = 0; i < study->result_count; i++) {
        if (!chosen[i])
            continue;
        *ARRAY_APPEND(finals->indices, finals->count) = i;
        struct contender *contender = ARRAY_APPEND(finals->contenders, contender_count);
        *contender = tuning_contender(&study->results[i], i);
        contender->samples_ns = NULL;
        contender->count = 0;
        *ARRAY_APPEND(finals->runs, runs_count) = study->results[i].runs;
    }
    free(chosen);
    finals->rounds_ns = alloc_zeroed(finals->count, sizeof *finals->rounds_ns);
    finals->samples_ns = alloc_zeroed(finals->count, sizeof *finals->samples_ns);
    finals->sample_counts = alloc_zeroed(finals->count, sizeof *finals->sample_counts);
    finals->loaded = alloc_zeroed(finals->count, sizeof *finals->loaded);
    finals->proven = alloc_zeroed(finals->count, sizeof *finals->proven);
    finals->usual = alloc_zeroed(finals->count, sizeof *finals->usual);
    finals->seen_losses = alloc_zeroed(finals->count, sizeof *finals->seen_losses);
    if (is_mixed(finals))
        give_up_batches(finals);
}

void finals_release(struct finals *finals)
{
    for (size_t i = 0; i < finals->count; i++) {
        free(finals->rounds_ns[i]);
        free(finals->samples_ns[i]);
    }
    free(finals->rounds_ns);
    free(finals->samples_ns);
    free(finals->sample_counts);
    free(finals->contenders);
    free(finals->runs);
    free(finals->loaded);
    free(finals->proven);
    free(finals->usual);
    free(finals->seen_losses);
    free(finals->indices);
}

void finals_disqualify(struct finals *finals, size_t contender,
                       const struct gpu_client_answer *answer)
{
    finals->contenders[contender].out = true;
    finals->failed++;
    if (finals->checked != NULL) {
        finals->sample_counts[contender] = 0;
        return;
    }
    finals->anew = finals->anew || answer->doubtful || contender == finals->leader ||
                   finals->leader == SIZE_MAX;
    if (answer->doubtful)
        finals->job->careful = true;
    else
        tuning_job_take_answer(finals->job, finals->indices[contender], answer);
}

size_t finals_count(const struct finals *finals)
{
    size_t in = 0;
    for (size_t i = 0; i < finals->count; i++)
        in += !finals->contenders[i].out;
    return in;
}

/* Results from the record have no job yet. */
static int ensure_job(struct finals *finals, size_t index, struct error *error)
{
    struct tuning_job *job = finals->job;
    struct tuning *tuning = finals->tuning;
    int status = 0;
    if (job->compile_jobs[index] == NULL)
        status = tuning_job_request(job, tuning->pool, index, error);
    timings_stage(tuning->timings, TIMING_COMPILE);
    return status != 0 ? status : compile_pool_wait(tuning->pool, job->compile_jobs[index], error);
}

/* A worker that is lost takes the variants with it that it had loaded. Returns whether one was lost
 * since the last call. */
static bool note_losses(struct finals *finals)
{
    unsigned losses = gpu_client_losses(finals->gpu->client);
    bool lost = losses != finals->losses;
    finals->losses = losses;
    for (size_t i = 0; i < finals->count && lost; i++)
        finals->loaded[i] = false;
    return lost;
}

/* The driver's statistics replace the compiler's; what only the compiler knows stays. */
static int load(struct finals *finals, size_t contender, struct error *error)
{
    struct tuning *tuning = finals->tuning;
    size_t index = finals->indices[contender];
    struct result *result = &finals->job->study.results[index];
    struct gpu_client_answer answer;
    int status = ensure_job(finals, index, error);
    if (status != 0)
        return status;
    const struct kernel_stats_source source = tuning_job_stats_source(finals->job, index);
    bool unreadable;
    do {
        timings_stage(tuning->timings, TIMING_LOAD);
        status = gpu_client_load(finals->gpu->client, (int64_t)index,
                                 finals->job->compile_jobs[index]->path, &result->parameters,
                                 result, &answer, error);
        unreadable = status == ERROR_RECORD && answer.unreadable;
        if (unreadable)
            status = tuning_job_recompile(finals->job, tuning->pool, index, error);
    } while (unreadable && status == 0);
    if (status != 0 || answer.again)
        return status;
    if (answer.outcome != OUTCOME_MEASURED) {
        finals_disqualify(finals, contender, &answer);
        return 0;
    }
    kernel_stats_limit(&source, answer.entry, &result->stats);
    finals->loaded[contender] = true;
    return 0;
}

int finals_load(struct finals *finals, struct error *error)
{
    int status = 0;
    (void)note_losses(finals);
    for (size_t i = 0; i < finals->count && status == 0; i = note_losses(finals) ? 0 : i + 1)
        if (!finals->contenders[i].out && !finals->loaded[i])
            status = load(finals, i, error);
    return status;
}

/* A sample that was taken again may come behind those of the next round. */
static void store_samples(struct finals *finals, size_t contender, size_t round,
                          const double *samples, size_t count)
{
    struct contender *who = &finals->contenders[contender];
    double sum_ns = 0;
    for (size_t i = 0; i < count; i++) {
        *ARRAY_APPEND(finals->samples_ns[contender], finals->sample_counts[contender]) = samples[i];
        sum_ns += samples[i];
    }
    while (who->count <= round)
        *ARRAY_APPEND(finals->rounds_ns[contender], who->count) = 0;
    finals->rounds_ns[contender][round] = sum_ns / (double)count;
    who->samples_ns = finals->rounds_ns[contender];
    who->readings_ns = finals->samples_ns[contender];
    who->reading_count = finals->sample_counts[contender];
}

/* One measurement. */
struct turn {
    size_t contender;
    size_t round; /* each in another copy of the code, and with the buffers in another place */
};

struct rounds {
    struct turn *waiting; /* the next one last */
    size_t waiting_count;
    struct turn sent[GPU_TRIALS]; /* the oldest first */
    size_t sent_count;
    size_t next, end; /* rounds that have not begun */
    size_t *checked;  /* of each contender, the round in which its results are checked */
    bool anew;        /* one cannot be batched: the finals begin anew */
};

static void note_round(const struct finals *finals, size_t round)
{
    const struct tuning *tuning = finals->tuning;
    char text[96];
    (void)snprintf(text, sizeof text, "finals, round %zu of at most %u, %zu in", round + 1,
                   finals->rules.maximum_rounds, finals_count(finals));
    progress_note(tuning->progress, finals->job->study.kernel, text);
}

/* Everyone who is in waits for a turn, in shuffled order. */
static void begin_round(struct finals *finals, struct rounds *rounds)
{
    size_t *order = alloc_zeroed(finals->count, sizeof *order);
    if (finals->checked == NULL)
        note_round(finals, rounds->next);
    for (size_t i = 0; i < finals->count; i++)
        order[i] = i;
    statistics_shuffle(order, finals->count, &finals->random);
    for (size_t i = 0; i < finals->count; i++)
        *ARRAY_APPEND(rounds->waiting, rounds->waiting_count) =
            (struct turn){order[i], rounds->next};
    rounds->next++;
    free(order);
}

/* Not always at the same place, since a variant may be wrong in every third run, say. */
static size_t draw(struct finals *finals, size_t below)
{
    return (size_t)((statistics_random(&finals->random_checks) >> 8) % below);
}

static void send_next(struct finals *finals, struct rounds *rounds)
{
    const struct turn turn = rounds->waiting[--rounds->waiting_count];
    bool checked = finals->checked == NULL && turn.round == rounds->checked[turn.contender];
    const struct gpu_client_sampling sampling = {
        .count = FINAL_SAMPLES,
        .copy = turn.round,
        .batched = finals->runs[turn.contender] > 1,
        .check_after = checked ? 1 + draw(finals, FINAL_SAMPLES - 1) : 0,
        .careful = finals->job->careful,
        .data_set = finals->rounds_data};
    if (finals->contenders[turn.contender].out)
        return;
    gpu_client_measure_send(finals->gpu->client, (int64_t)finals->indices[turn.contender],
                            &sampling);
    rounds->sent[rounds->sent_count++] = turn;
}

static int take_oldest(struct finals *finals, struct rounds *rounds, struct error *error)
{
    struct gpu_client_answer answer;
    double *samples = NULL;
    size_t count = 0;
    int runs;
    const struct turn turn = rounds->sent[0];
    timings_stage(finals->tuning->timings, TIMING_FINALS);
    int status =
        gpu_client_measure_take(finals->gpu->client, &samples, &count, &runs, &answer, error);
    rounds->sent_count--;
    memmove(rounds->sent, rounds->sent + 1, rounds->sent_count * sizeof *rounds->sent);
    if (status == 0 && answer.outcome != OUTCOME_MEASURED)
        finals_disqualify(finals, turn.contender, &answer);
    else if (status == 0 && answer.again)
        *ARRAY_APPEND(rounds->waiting, rounds->waiting_count) = turn;
    else if (status == 0 && (runs > 1) != (finals->runs[turn.contender] > 1))
        rounds->anew = true;
    else if (status == 0)
        store_samples(finals, turn.contender, turn.round, samples, count);
    free(samples);
    return status;
}

/* One step: send a request ahead, if it can be sent, else take the oldest answer. */
static int rounds_step(struct finals *finals, struct rounds *rounds, struct error *error)
{
    bool ready = rounds->waiting_count > 0 && rounds->sent_count < GPU_TRIALS && !rounds->anew &&
                 !finals->anew;
    if (note_losses(finals)) { /* what was sent is forgotten */
        while (rounds->sent_count > 0)
            *ARRAY_APPEND(rounds->waiting, rounds->waiting_count) =
                rounds->sent[--rounds->sent_count];
        return 0;
    }
    if (!ready)
        return take_oldest(finals, rounds, error);
    int status = rounds->sent_count == 0 ? finals_load(finals, error) : 0; /* may put some out */
    if (status == 0)
        send_next(finals, rounds);
    return status;
}

/* Whether another round is to begin while the last answers of the one before are on their way. */
static bool is_due(const struct finals *finals, const struct rounds *rounds, size_t first)
{
    return rounds->waiting_count == 0 && rounds->next < rounds->end && !rounds->anew &&
           !finals->anew &&
           (rounds->next == first || clock_ns() < allowance_end(&finals->tuning->allowance));
}

int finals_run_rounds(struct finals *finals, unsigned *number, unsigned end, struct error *error)
{
    struct rounds rounds = {.next = *number, .end = end};
    int status = 0;
    rounds.checked = alloc_zeroed(finals->count, sizeof *rounds.checked);
    for (size_t i = 0; i < finals->count; i++)
        rounds.checked[i] = *number + draw(finals, end - *number);
    while (status == 0) {
        if (is_due(finals, &rounds, *number))
            begin_round(finals, &rounds);
        if ((rounds.waiting_count == 0 || rounds.anew || finals->anew) && rounds.sent_count == 0)
            break;
        status = rounds_step(finals, &rounds, error);
    }
    *number = rounds.anew ? 0 : (unsigned)rounds.next;
    if (rounds.anew)
        give_up_batches(finals);
    free(rounds.checked);
    free(rounds.waiting);
    return status;
}

int finals_unload(struct finals *finals, struct error *error)
{
    int status = 0;
    timings_stage(finals->tuning->timings, TIMING_LOAD);
    for (size_t i = 0; i < finals->count && status == 0; i++) {
        (void)note_losses(finals);
        if (finals->loaded[i])
            status = gpu_client_unload(finals->gpu->client, (int64_t)finals->indices[i], error);
    }
    return status;
}
