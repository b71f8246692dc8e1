#include "tune/tuning.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/statistics.h"
#include "tune/fleet.h"
#include "tune/kernel_stats.h"
#include "tune/race.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    FINAL_SAMPLES = 3,  /* samples a round, whose mean is the round's */
    FINAL_DATA_SET = 1, /* other random numbers than in the screening */
    LAST_RUNS = 4,      /* so that each kind of poison has its turn */
    PASSES = 8 /* of the verification on both, if workers are lost, and one for each finalist */
};

struct finalist {
    size_t index;       /* into the study's results */
    double *rounds_ns;  /* what its contender's samples point to */
    double *samples_ns; /* raw */
    size_t sample_count;
    int runs;             /* of which a sample is the mean: as in the screening, or 1 for all */
    bool loaded;          /* in the present worker */
    bool proven;          /* verified on both data sets by one worker */
    bool usual;           /* only the usual data can be made for it */
    unsigned seen_losses; /* of workers, when it was verified on the first */
};

/* Finals under way on one GPU. */
struct finals {
    struct tuning *tuning;
    struct tuning_job *job;
    struct race_rules rules; /* as the job's time allows */
    struct fleet_gpu *gpu;   /* that they are held on */
    unsigned losses;         /* of its workers, when the finalists were loaded */
    unsigned data_set;       /* that the last word on correctness is spoken on */
    unsigned rounds_data;    /* that of the rounds: one that can be made for all */
    size_t failed;           /* contenders that failed */
    unsigned round;          /* the next one */
    struct verdict verdict;  /* of the last look */
    size_t leader;           /* by it; SIZE_MAX: there was none */
    size_t endured;          /* the winner of the last verification; SIZE_MAX: none */
    bool careful;            /* all of them; job->careful: the next ones, too */
    bool anew;               /* what was measured does not hold */
    struct finalist *list;
    struct contender *contenders; /* the same ones; samples_ns[i]: the mean of round i */
    size_t count;
    uint64_t random, random_checks; /* for the order of turns, and where results are checked */
};

/* --- the finalists --- */

/* Times of batches and of single runs do not compare: if one that could win cannot be batched, for
 * want of memory, the finals begin anew with single runs for all. */
static void give_up_batches(struct finals *finals)
{
    for (size_t i = 0; i < finals->count; i++) {
        const struct result *result = &finals->job->study.results[finals->list[i].index];
        finals->list[i].runs = 1;
        finals->list[i].sample_count = 0;
        finals->contenders[i].count = finals->contenders[i].reading_count = 0;
        finals->contenders[i].out = result->outcome != OUTCOME_MEASURED;
    }
}

/* The finalists, by finals->rules. */
static void choose(struct finals *finals)
{
    const struct study *study = &finals->job->study;
    size_t chosen_count;
    size_t contender_count = 0;
    bool *chosen = tuning_choose(finals->tuning, study, finals->rules.finalists, &chosen_count);
    for (size_t i = 0; i < study->result_count; i++) {
        if (!chosen[i])
            continue;
        *ARRAY_APPEND(finals->list, finals->count) =
            (struct finalist){.index = i, .runs = study->results[i].runs};
        struct contender *contender = ARRAY_APPEND(finals->contenders, contender_count);
        *contender = tuning_contender(&study->results[i], i);
        contender->samples_ns = NULL;
        contender->count = 0;
    }
    free(chosen);
    bool batched = false; /* some, and others that could win are not */
    bool single = false;
    for (size_t i = 0; i < finals->count; i++) {
        const struct result *result = &study->results[finals->list[i].index];
        batched = batched || finals->list[i].runs > 1;
        single =
            single || (finals->list[i].runs == 1 && result->time.median_ns < TUNING_COMPARABLE_NS);
    }
    if (batched && single)
        give_up_batches(finals);
}

/* Whether another finalist may have led this one astray, unseen: outside all memory, or into a loop without an end, by
 * an input that it changed; or to a wrong result, by a write into its state. */
static bool is_suspect(const struct finals *finals, const struct device_client_answer *answer)
{
    if (finals->careful || finals->count == 1 || answer->passing || answer->damaging)
        return false;
    return answer->outcome == OUTCOME_FAULT || answer->outcome == OUTCOME_TIMEOUT ||
           (answer->outcome == OUTCOME_WRONG_RESULT &&
            template_has_state(&finals->job->kernel->template));
}

/* Of the variant that endured last; SIZE_MAX: of none. */
static size_t endured_index(const struct finals *finals)
{
    return finals->endured == SIZE_MAX ? SIZE_MAX : finals->list[finals->endured].index;
}

/*
 * A finalist that fails now, after passing the screening, is out with that outcome. If it led, or nobody
 * knows who leads, others may have been ruled out by its times, and the finals begin anew. So do they,
 * carefully (gpu/trial.h), if another one may be to blame: then it is only out of these.
 */
static void disqualify(struct finals *finals, size_t contender,
                       const struct device_client_answer *answer)
{
    struct tuning_job *job = finals->job;
    const size_t index = finals->list[contender].index;
    const bool suspect = !answer->doubtful && is_suspect(finals, answer);
    finals->contenders[contender].out = true;
    finals->failed++;
    finals->anew = finals->anew || answer->doubtful || suspect || contender == finals->leader ||
                   finals->leader == SIZE_MAX;
    job->careful = job->careful || answer->doubtful || suspect;
    if (answer->damaging) /* which excuses them */
        job->suspect_count = 0;
    /* who is out does not do again what it may have done to suspects */
    for (size_t i = 0; i < job->suspect_count && !suspect && !answer->doubtful; i++)
        job->suspects[i].answer.passing = true;
    if (suspect) {
        struct suspect *added = ARRAY_APPEND(job->suspects, job->suspect_count);
        *added = (struct suspect){index, *answer, finals->gpu, endured_index(finals)};
        added->answer.passing = finals->failed > 1;
    } else if (!answer->doubtful) {
        tuning_job_take_answer(job, index, answer);
    }
}

/* The finals found nobody who damages what others use, so the suspects have failed. If not all that came before them was
 * done again there (`whole`: no worker was lost, and nothing interrupted it), the next run tries them again. Returns whether
 * any suspect was still in; stores their outcomes. */
static bool condemn_suspects(struct finals *finals, bool whole)
{
    struct tuning_job *job = finals->job;
    bool condemned = false;
    for (size_t i = 0; i < job->suspect_count; i++) {
        struct suspect *suspect = &job->suspects[i];
        const struct result *result = &job->study.results[suspect->index];
        if (result->outcome != OUTCOME_MEASURED)
            continue;
        condemned = true;
        suspect->answer.passing =
            suspect->answer.passing || !whole || suspect->gpu != finals->gpu ||
            (suspect->behind != SIZE_MAX && suspect->behind != endured_index(finals));
        tuning_job_take_answer(job, suspect->index, &suspect->answer);
        (void)record_result(finals->tuning->record, job->record_id, result, "finals", NULL);
    }
    job->suspect_count = 0;
    return condemned;
}

/* Whether another GPU holds the finals after this status. */
static bool is_taken_over(const struct finals *finals, int status)
{
    const struct team *team = finals->tuning->team;
    const struct fleet_gpu *failed = status != 0 ? team_culprit(team, status) : NULL;
    return failed != NULL && team_other(team, failed) != NULL;
}

/* Careful finals take as long as they need: no victim may be out, and no culprit win, for want of time. */
static bool is_time_over(const struct finals *finals)
{
    return !finals->careful && clock_ns() >= allowance_end(&finals->tuning->allowance);
}

/* How many are in. */
static size_t count_in(const struct finals *finals)
{
    size_t in = 0;
    for (size_t i = 0; i < finals->count; i++)
        in += !finals->contenders[i].out;
    return in;
}

/* A worker that is lost takes the variants with it that it had loaded. Returns whether one was lost
 * since the last call. */
static bool note_losses(struct finals *finals)
{
    unsigned losses = finals->gpu->client->worker.losses;
    bool lost = losses != finals->losses;
    finals->losses = losses;
    for (size_t i = 0; i < finals->count && lost; i++)
        finals->list[i].loaded = false;
    return lost;
}

/* The driver's statistics replace the compiler's; what only the compiler knows stays. */
static int load(struct finals *finals, size_t contender, struct error *error)
{
    struct tuning *tuning = finals->tuning;
    size_t index = finals->list[contender].index;
    struct result *result = &finals->job->study.results[index];
    struct device_client_answer answer;
    struct tuning_job *job = finals->job;
    int status = 0;
    if (job->compile_jobs[index] == NULL) /* results from the record have none yet */
        status = tuning_job_request(job, index, error);
    timings_stage(tuning->timings, TIMING_COMPILE);
    if (status == 0)
        status = compile_pool_wait(tuning->pool, job->compile_jobs[index], error);
    if (status != 0)
        return status;
    const struct kernel_stats_source source = tuning_job_stats_source(finals->job, index);
    bool unreadable;
    do {
        timings_stage(tuning->timings, TIMING_LOAD);
        status = device_client_load(finals->gpu->client, (int64_t)index,
                                    finals->job->compile_jobs[index]->path, &result->parameters,
                                    result, &answer, error);
        unreadable = status == ERROR_RECORD && answer.unreadable;
        if (unreadable)
            status = tuning_job_recompile(finals->job, index, error);
    } while (unreadable && status == 0);
    if (status != 0 || answer.again)
        return status;
    if (answer.outcome != OUTCOME_MEASURED) {
        disqualify(finals, contender, &answer);
        return 0;
    }
    kernel_stats_limit(&source, answer.entry, &result->stats);
    finals->list[contender].loaded = true;
    return 0;
}

/* Loads those that are in and not loaded: all of them again if the worker is lost on the way. No
 * request may be under way. */
static int load_all(struct finals *finals, struct error *error)
{
    int status = 0;
    (void)note_losses(finals);
    for (size_t i = 0; i < finals->count && status == 0; i = note_losses(finals) ? 0 : i + 1)
        if (!finals->contenders[i].out && !finals->list[i].loaded)
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
        *ARRAY_APPEND(finals->list[contender].samples_ns, finals->list[contender].sample_count) =
            samples[i];
        sum_ns += samples[i];
    }
    while (who->count <= round)
        *ARRAY_APPEND(finals->list[contender].rounds_ns, who->count) = 0;
    finals->list[contender].rounds_ns[round] = sum_ns / (double)count;
    who->samples_ns = finals->list[contender].rounds_ns;
    who->readings_ns = finals->list[contender].samples_ns;
    who->reading_count = finals->list[contender].sample_count;
}

/* --- rounds --- */

/* One measurement. */
struct turn {
    size_t contender;
    size_t round; /* each in another copy of the code, and with the buffers in another place */
};

struct rounds {
    struct turn *waiting; /* the next one last */
    size_t waiting_count;
    struct turn sent[DEVICE_TRIALS]; /* the oldest first */
    size_t sent_count;
    size_t next, end; /* rounds that have not begun */
    size_t *checked;  /* of each contender, the round in which its results are checked */
    bool anew;        /* one cannot be batched: the finals begin anew */
};

/* Everyone who is in waits for a turn, in shuffled order. */
static void begin_round(struct finals *finals, struct rounds *rounds)
{
    size_t *order = alloc_zeroed(finals->count, sizeof *order);
    char text[96];
    (void)snprintf(text, sizeof text, "finals, round %zu of at most %u, %zu in", rounds->next + 1,
                   finals->rules.maximum_rounds, count_in(finals));
    progress_note(finals->tuning->progress, finals->job->study.kernel, text);
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
    bool checked = turn.round == rounds->checked[turn.contender];
    const struct device_client_sampling sampling = {
        .count = FINAL_SAMPLES,
        .copy = turn.round,
        .batched = finals->list[turn.contender].runs > 1,
        .check_after = checked ? 1 + draw(finals, FINAL_SAMPLES - 1) : 0,
        .careful = finals->careful,
        .data_set = finals->rounds_data};
    if (finals->contenders[turn.contender].out)
        return;
    device_client_measure_send(finals->gpu->client, (int64_t)finals->list[turn.contender].index,
                               &sampling);
    rounds->sent[rounds->sent_count++] = turn;
}

static int take_oldest(struct finals *finals, struct rounds *rounds, struct error *error)
{
    struct device_client_answer answer;
    double *samples = NULL;
    size_t count = 0;
    int runs;
    const struct turn turn = rounds->sent[0];
    timings_stage(finals->tuning->timings, TIMING_FINALS);
    int status =
        device_client_measure_take(finals->gpu->client, &samples, &count, &runs, &answer, error);
    rounds->sent_count--;
    memmove(rounds->sent, rounds->sent + 1, rounds->sent_count * sizeof *rounds->sent);
    if (answer.outcome != OUTCOME_MEASURED)
        disqualify(finals, turn.contender, &answer);
    else if (status == 0 && answer.again)
        *ARRAY_APPEND(rounds->waiting, rounds->waiting_count) = turn;
    else if (status == 0 && (runs > 1) != (finals->list[turn.contender].runs > 1))
        rounds->anew = true;
    else if (status == 0)
        store_samples(finals, turn.contender, turn.round, samples, count);
    free(samples);
    return status;
}

/* One step: send a request ahead, if it can be sent, else take the oldest answer. */
static int rounds_step(struct finals *finals, struct rounds *rounds, struct error *error)
{
    bool ready = rounds->waiting_count > 0 && rounds->sent_count < DEVICE_TRIALS && !rounds->anew &&
                 !finals->anew;
    if (note_losses(finals)) { /* what was sent is forgotten */
        while (rounds->sent_count > 0)
            *ARRAY_APPEND(rounds->waiting, rounds->waiting_count) =
                rounds->sent[--rounds->sent_count];
        return 0;
    }
    if (!ready)
        return take_oldest(finals, rounds, error);
    int status = rounds->sent_count == 0 ? load_all(finals, error) : 0; /* may put some out */
    if (status == 0)
        send_next(finals, rounds);
    return status;
}

/* Whether another round is to begin while the last answers of the one before are on their way. */
static bool is_due(const struct finals *finals, const struct rounds *rounds, size_t first)
{
    return rounds->waiting_count == 0 && rounds->next < rounds->end && !rounds->anew &&
           !finals->anew && (rounds->next == first || !is_time_over(finals));
}

/*
 * Measures everyone who is in once a round, from finals->round to before `end`, or until the job's time
 * is over. Of each, the results of two consecutive samples are checked at a random place. A round begins
 * while the last answers of the one before are on their way, so that the GPU does not wait in between.
 * finals->round becomes 0 if the rounds begin anew, because one cannot be batched.
 */
static int run_some_rounds(struct finals *finals, unsigned end, struct error *error)
{
    const unsigned first = finals->round;
    struct rounds rounds = {.next = first, .end = end};
    int status = 0;
    rounds.checked = alloc_zeroed(finals->count, sizeof *rounds.checked);
    for (size_t i = 0; i < finals->count; i++)
        rounds.checked[i] = first + draw(finals, end - first);
    while (status == 0) {
        if (is_due(finals, &rounds, first))
            begin_round(finals, &rounds);
        if ((rounds.waiting_count == 0 || rounds.anew || finals->anew) && rounds.sent_count == 0)
            break;
        status = rounds_step(finals, &rounds, error);
    }
    finals->round = rounds.anew ? 0 : (unsigned)rounds.next;
    if (rounds.anew)
        give_up_batches(finals);
    free(rounds.checked);
    free(rounds.waiting);
    return status;
}

/* --- verification --- */

static bool has_both(const struct finals *finals)
{
    return template_draws_data(&finals->job->kernel->template);
}

/* Data that cannot be made from other random numbers are not the contender's fault, unless a variant may
 * have damaged what they are made of: then the finals are checked carefully first. For the others they may
 * be made nevertheless, since what is made can depend on a variant's parameters. */
static void give_up_data(struct finals *finals, size_t contender, const char *reason)
{
    struct error notice;
    bool told = finals->job->study.one_data_set;
    finals->job->study.one_data_set = true;
    finals->list[contender].usual = finals->list[contender].proven = true;
    if (told)
        return;
    (void)error_set_at(
        &notice, ERROR_OK, finals->job->kernel->template.path, 0,
        "results are verified on one data set, because with other random numbers: %s", reason);
    if (finals->tuning->notice != NULL)
        finals->tuning->notice(finals->tuning->user, &notice);
}

/*
 * Verifies a contender with `runs` consecutive runs. The winner, at the `last`, is also watched for changes to what is the
 * others'; on the data of the rounds it first runs as often as it was measured: each round used another copy of the code,
 * and what a variant leaves from run to run in variables of the source, or in a worker that was lost, has not seen so many
 * runs. `*again` says that it is to be asked for again.
 */
static int verify_one(struct finals *finals, size_t contender, int runs, bool last, bool *again,
                      struct error *error)
{
    struct device_client *client = finals->gpu->client;
    const bool endures = last && finals->data_set == finals->rounds_data;
    int samples = endures ? (int)finals->list[contender].sample_count : 0;
    const struct device_client_check check = {
        .unchecked_runs = samples * finals->list[contender].runs,
        .runs = runs,
        .data_set = finals->list[contender].usual ? 0 : finals->data_set,
        .last = last,
        .careful = finals->careful};
    struct device_client_answer answer;
    timings_stage(finals->tuning->timings, TIMING_VERIFY);
    int status = device_client_verify(client, (int64_t)finals->list[contender].index, &check,
                                      &answer, error);
    *again = status == 0 && answer.again;
    if (*again || (status != 0 && answer.outcome == OUTCOME_MEASURED))
        return status;
    unsigned losses = client->worker.losses;
    if (answer.unfit && check.data_set > 0 && !answer.doubtful)
        give_up_data(finals, contender, answer.reason);
    else if (answer.outcome != OUTCOME_MEASURED)
        disqualify(finals, contender, &answer);
    else if (check.data_set == 0)
        finals->list[contender].seen_losses = losses;
    else
        finals->list[contender].proven =
            finals->list[contender].proven || finals->list[contender].seen_losses == losses;
    return status;
}

/* One that is in, as often as it takes. */
static int verify_in(struct finals *finals, size_t contender, int runs, bool last,
                     struct error *error)
{
    bool again = true;
    int status = 0;
    while (status == 0 && again) {
        again = false;
        status = load_all(finals, error);
        if (status == 0 && !finals->contenders[contender].out)
            status = verify_one(finals, contender, runs, last, &again, error);
    }
    return status;
}

/* Those who are in and not proven. */
static int verify_unproven(struct finals *finals, struct error *error)
{
    int status = 0;
    for (size_t i = 0; i < finals->count && status == 0; i++)
        if (!finals->list[i].proven)
            status = verify_in(finals, i, 2, false, error);
    return status;
}

static int refuse_losses(struct error *error)
{
    return error_set(error, ERROR_WORKER, "GPU workers are lost too often to verify the finalists");
}

/* The winner endures, which may take as long as its samples did, on the data of the rounds; then the same
 * worker verifies it on the other data: what one has begun to remember during the rounds is wrong there, unless
 * the worker is replaced, and forgets it. */
static int verify_winner(struct finals *finals, size_t winner, unsigned other_data,
                         struct error *error)
{
    const struct device_client *client = finals->gpu->client;
    bool lost = true;
    int status = 0;
    for (size_t pass = 0; status == 0 && lost && !finals->contenders[winner].out; pass++) {
        if (pass > PASSES)
            return refuse_losses(error);
        finals->data_set = finals->rounds_data;
        status = verify_in(finals, winner, LAST_RUNS, true, error);
        const unsigned losses = client->worker.losses;
        finals->data_set = other_data;
        if (status == 0 && has_both(finals))
            status = verify_in(finals, winner, LAST_RUNS, true, error);
        lost = client->worker.losses != losses;
    }
    finals->endured = winner;
    return status;
}

/* After the rounds: all on the other data. */
static int verify_last(struct finals *finals, struct error *error)
{
    const size_t winner = finals->verdict.winner;
    const unsigned other_data = has_both(finals) && finals->rounds_data == 0 ? FINAL_DATA_SET : 0;
    int status = count_in(finals) > 0 ? verify_winner(finals, winner, other_data, error) : 0;
    for (size_t i = 0; i < finals->count && status == 0; i++)
        if (i != winner)
            status = verify_in(finals, i, LAST_RUNS, false, error);
    return status;
}

static bool all_are_proven(const struct finals *finals)
{
    for (size_t i = 0; i < finals->count; i++)
        if (!finals->contenders[i].out && !finals->list[i].proven)
            return false;
    return true;
}

/*
 * Before the first round, each on both data sets by one worker, because a worker that replaces it forgets
 * what a variant has remembered: a variant that remembers a result, wherever that may be, repeats it on
 * other data. If one fails, others may have been given up in the screening because they were slower.
 */
static int verify_on_both(struct finals *finals, struct error *error)
{
    int status = 0;
    for (size_t pass = 0; status == 0 && has_both(finals) && !all_are_proven(finals); pass++) {
        if (pass > finals->count + PASSES)
            return refuse_losses(error);
        finals->data_set = 0;
        status = verify_unproven(finals, error);
        finals->data_set = FINAL_DATA_SET;
        if (status == 0)
            status = verify_unproven(finals, error);
    }
    finals->anew = finals->anew || finals->failed > 0;
    finals->rounds_data = finals->data_set;
    for (size_t i = 0; i < finals->count; i++)
        if (finals->list[i].usual)
            finals->rounds_data = 0;
    return status;
}

/* --- the verdict --- */

/* Until it is decided who wins, or the finals begin anew. */
static int run_rounds(struct finals *finals, struct error *error)
{
    struct race_rules *rules = &finals->rules;
    while (finals->round < rules->maximum_rounds && !finals->verdict.decided &&
           count_in(finals) > 0 && !finals->anew) {
        unsigned look = finals->round + 1; /* after so many rounds they may be decided next */
        while (!race_looks(look, rules))
            look++;
        int status = run_some_rounds(finals, look, error);
        if (status != 0)
            return status;
        if (finals->round > 0 && is_time_over(finals))
            rules->minimum_rounds = rules->maximum_rounds = finals->round;
        if (finals->round == 0 || !race_looks(finals->round, rules))
            continue;
        finals->verdict = race_judge(finals->contenders, finals->count, rules);
        finals->leader = finals->verdict.leader;
    }
    return 0;
}

/* The finals' samples take the place of the screening's in the results; if they are not `over`, only of
 * those that failed. */
static int store_finalists(struct finals *finals, bool over, struct error *error)
{
    const struct tuning *tuning = finals->tuning;
    struct tuning_job *job = finals->job;
    timings_stage(tuning->timings, TIMING_RECORD);
    size_t *stored = alloc_zeroed(finals->count, sizeof *stored);
    size_t stored_count = 0;
    for (size_t i = 0; i < finals->count; i++) {
        struct result *result = &job->study.results[finals->list[i].index];
        if (!over && result->outcome == OUTCOME_MEASURED)
            continue;
        stored[stored_count++] = finals->list[i].index;
        result->finalist = true;
        result->runs = finals->list[i].runs;
        (void)snprintf(result->gpu, sizeof result->gpu, "%s", finals->gpu->gpu.uuid);
        result->tied = finals->contenders[i].tied;
        free(result->samples_ns);
        result->samples_ns = finals->list[i].samples_ns;
        result->sample_count = finals->list[i].sample_count;
        finals->list[i].samples_ns = NULL;
        tuning_summarise(result);
    }
    int status = record_results(tuning->record, job->record_id, job->study.results, stored,
                                stored_count, "finals", error);
    free(stored);
    return status;
}

/* The rounds, between two verifications. If one fails in the second (a rare race may show only after many
 * runs), it may be open again who wins. */
static int run(struct finals *finals, struct error *error)
{
    int status = team_join(finals->tuning->team, finals->gpu, error);
    if (status == 0)
        status = verify_on_both(finals, error);
    do {
        if (status == 0)
            status = run_rounds(finals, error);
        if (status == 0 && !finals->anew)
            status = verify_last(finals, error);
        finals->verdict = race_judge(finals->contenders, finals->count, &finals->rules);
        /* until it is decided who wins, and that the winner is right */
    } while (status == 0 && !finals->anew && count_in(finals) > 0 &&
             !(finals->verdict.decided && finals->verdict.winner == finals->endured));
    return status;
}

int finals_hold(struct tuning *tuning, struct tuning_job *job, struct error *error)
{
    struct study *study = &job->study;
    struct finals finals = {.tuning = tuning,
                            .job = job,
                            .careful = job->careful,
                            .rules = tuning->rules,
                            .gpu = team_lead(tuning->team),
                            .leader = SIZE_MAX,
                            .endured = SIZE_MAX,
                            .random = 0x2545f4914f6cdd1du,
                            .random_checks = (uint64_t)clock_ns() | 1};
    study->has_winner = false;
    if (!finals.careful)
        finals.rules = allowance_rules(&tuning->allowance, tuning->rules, clock_ns());
    else if (finals.rules.minimum_rounds < job->careful_rounds)
        finals.rules.minimum_rounds = job->careful_rounds;
    team_describe(tuning->team, study);
    choose(&finals);
    const unsigned losses = finals.gpu->client->worker.losses;
    int status = run(&finals, error);
    const bool whole = status == 0 && finals.gpu->client->worker.losses == losses;
    if (finals.round > job->careful_rounds)
        job->careful_rounds = finals.round;
    if (status != 0 ? !is_taken_over(&finals, status) : !finals.anew)
        finals.anew = condemn_suspects(&finals, whole) || finals.anew;
    study->has_winner = status == 0 && count_in(&finals) > 0 && !finals.anew;
    if (study->has_winner)
        study->winner = finals.list[finals.verdict.winner].index;
    if (status != 0) /* also where a cubin cannot be read */
        (void)store_finalists(&finals, false, NULL);
    if (status == 0)
        status = store_finalists(&finals, !finals.anew, error);
    bool goes_on =
        !study->has_winner || tuning_job_is_searching(job); /* else they go with the problem */
    if (goes_on)
        timings_stage(tuning->timings, TIMING_LOAD);
    for (size_t i = 0; i < finals.count && status == 0 && goes_on; i++) {
        (void)note_losses(&finals);
        if (finals.list[i].loaded)
            status = device_client_unload(finals.gpu->client, (int64_t)finals.list[i].index, error);
    }
    for (size_t i = 0; i < finals.count; i++) {
        free(finals.list[i].rounds_ns);
        free(finals.list[i].samples_ns);
    }
    free(finals.list);
    free(finals.contenders);
    return status;
}
