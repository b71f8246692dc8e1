#include "tune/finals.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/statistics.h"
#include "base/task.h"
#include "tune/finals_rounds.h"
#include "tune/tuning.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    LEAST_CHECKS = 4,   /* rounds of a check, however soon the finals are over */
    FINAL_DATA_SET = 1, /* other random numbers than in the screening */
    PASSES = 8 /* of the verification on both, if workers are lost, and one for each finalist */
};

static bool has_both(const struct finals *finals)
{
    return !finals->tuning->one_data_set && template_draws_data(&finals->job->kernel->template);
}

/* Data that cannot be made from other random numbers are not the contender's fault. For the others they
 * may be made nevertheless, since what is made can depend on a variant's parameters. */
static void give_up_data(struct finals *finals, size_t contender, const char *reason)
{
    struct error notice;
    bool told = finals->job->study.one_data_set;
    finals->job->study.one_data_set = true;
    finals->usual[contender] = finals->proven[contender] = true;
    if (told)
        return;
    (void)error_set_at(
        &notice, ERROR_OK, finals->job->kernel->template.path, 0,
        "the finalists are verified on one data set, because with other random numbers: %s",
        reason);
    if (finals->tuning->notice != NULL)
        finals->tuning->notice(finals->tuning->user, &notice);
}

/*
 * Verifies a contender with two consecutive runs; the `last` time with four, so that each kind of poison
 * has its turn, after as many more as it has samples: each round used another copy of the code, and what
 * a variant leaves from run to run in variables of the source, or in a worker that was lost, has
 * not seen so many runs. `*again` says that it is to be asked for again.
 */
static int verify_one(struct finals *finals, size_t contender, bool last, bool *again,
                      struct error *error)
{
    struct gpu_client *client = finals->gpu->client;
    const struct gpu_client_check check = {
        .unchecked_runs = last ? (int)finals->sample_counts[contender] : 0,
        .runs = last ? 4 : 2,
        .data_set = finals->usual[contender] ? 0 : finals->data_set,
        .careful = finals->job->careful};
    struct gpu_client_answer answer;
    timings_stage(finals->tuning->timings, TIMING_VERIFY);
    int status =
        gpu_client_verify(client, (int64_t)finals->indices[contender], &check, &answer, error);
    *again = status == 0 && answer.again;
    if (status != 0 || *again)
        return status;
    unsigned losses = gpu_client_losses(client);
    if (answer.unfit && check.data_set > 0)
        give_up_data(finals, contender, answer.reason);
    else if (answer.outcome != OUTCOME_MEASURED)
        finals_disqualify(finals, contender, &answer);
    else if (check.data_set == 0)
        finals->seen_losses[contender] = losses;
    else
        finals->proven[contender] =
            finals->proven[contender] || finals->seen_losses[contender] == losses;
    return 0;
}

/* Those who are in; before the `last` time, those that are not proven. */
static int verify_all(struct finals *finals, bool last, struct error *error)
{
    bool again = false;
    int status = 0;
    for (size_t i = 0; i < finals->count && status == 0; i += !again) {
        again = false;
        if (!last && finals->proven[i])
            continue;
        status = finals_load(finals, error);
        if (status == 0 && !finals->contenders[i].out)
            status = verify_one(finals, i, last, &again, error);
    }
    return status;
}

static bool all_are_proven(const struct finals *finals)
{
    for (size_t i = 0; i < finals->count; i++)
        if (!finals->contenders[i].out && !finals->proven[i])
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
            return error_set(error, ERROR_WORKER,
                             "GPU workers are lost too often to verify the finalists");
        finals->data_set = 0;
        status = verify_all(finals, false, error);
        finals->data_set = FINAL_DATA_SET;
        if (status == 0)
            status = verify_all(finals, false, error);
    }
    finals->anew = finals->anew || finals->failed > 0;
    finals->rounds_data = finals->data_set;
    for (size_t i = 0; i < finals->count; i++)
        if (finals->usual[i])
            finals->rounds_data = 0;
    return status;
}

/* After how many rounds the finals may be decided next. */
static unsigned next_look(unsigned rounds, const struct race_rules *rules)
{
    do
        rounds++;
    while (!race_looks(rounds, rules));
    return rounds;
}

static int run_rounds(struct finals *finals, struct verdict *verdict, struct error *error)
{
    struct race_rules *rules = &finals->rules;
    unsigned round = 0;
    int status = 0;
    *verdict = (struct verdict){0};
    while (round < rules->maximum_rounds && !verdict->decided && finals_count(finals) > 0 &&
           !finals->anew) {
        status = finals_run_rounds(finals, &round, next_look(round, rules), error);
        if (status != 0)
            return status;
        if (round > 0 && clock_ns() >= allowance_end(&finals->tuning->allowance))
            rules->minimum_rounds = rules->maximum_rounds = round;
        if (round == 0 || !race_looks(round, rules))
            continue;
        *verdict = race_judge(finals->contenders, finals->count, rules);
        finals->leader = verdict->leader;
    }
    return status;
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
        struct result *result = &job->study.results[finals->indices[i]];
        if (!over && result->outcome == OUTCOME_MEASURED)
            continue;
        stored[stored_count++] = finals->indices[i];
        result->finalist = true;
        result->runs = finals->runs[i];
        (void)snprintf(result->gpu, sizeof result->gpu, "%s", finals->gpu->gpu.uuid);
        result->tied = finals->contenders[i].tied;
        free(result->samples_ns);
        result->samples_ns = finals->samples_ns[i];
        result->sample_count = finals->sample_counts[i];
        finals->samples_ns[i] = NULL;
        tuning_summarise(result);
    }
    int status = record_results(tuning->record, job->record_id, job->study.results, stored,
                                stored_count, "finals", error);
    free(stored);
    return status;
}

/* --- on one GPU, and checked on another --- */

/* Finals under way. */
struct held {
    struct finals finals;
    struct verdict verdict;
    struct finals check; /* the same finalists on another GPU; without a GPU: there is no check */
};

static int run_finals(void *owner, struct error *error)
{
    struct held *held = owner;
    int status = team_join(held->finals.tuning->team, held->finals.gpu, error);
    if (status == 0)
        status = verify_on_both(&held->finals, error);
    if (status == 0)
        status = run_rounds(&held->finals, &held->verdict, error);
    if (status == 0 &&
        !held->finals.anew) /* the last word: a rare race may show only after many runs */
        status = verify_all(&held->finals, true, error);
    held->finals.over = true;
    return status;
}

/* Who is out of the finals need not be measured any more. */
static void follow(struct finals *check)
{
    for (size_t i = 0; i < check->count; i++)
        check->contenders[i].out = check->contenders[i].out || check->checked->contenders[i].out;
}

/* A few rounds while the finals are held. If they fail, there is no check. */
static int run_check(void *owner, struct error *error)
{
    struct held *held = owner;
    struct finals *check = &held->check;
    const struct tuning *tuning = check->tuning;
    int status = team_join(tuning->team, check->gpu, error);
    for (unsigned round = 0; round < check->rules.minimum_rounds && status == 0;) {
        if (round >= LEAST_CHECKS)
            follow(check);
        if (finals_count(check) == 0 || (held->finals.over && round >= LEAST_CHECKS))
            break;
        status = finals_run_rounds(check, &round, round + 1, error);
    }
    if (status == 0)
        status = verify_all(check, true, error);
    check->over = status == 0;
    if (status == 0 || status == ERROR_INTERRUPTED || status == ERROR_RECORD)
        return status;
    tuning_notice(tuning, check->gpu, "failed", error->message, "the finals are not checked");
    team_leave(tuning->team, check->gpu, true);
    return 0;
}

static double median_of(const struct finals *finals, size_t contender)
{
    size_t count = finals->sample_counts[contender];
    return count > 0 ? statistics_median(finals->samples_ns[contender], count) : 0;
}

/* What the check says of the winner, by samples of the same number of runs. */
static void store_check(const struct held *held, struct study *study)
{
    const struct finals *check = &held->check;
    size_t winner = held->verdict.winner;
    double fastest_ns = 0;
    struct study_gpu *gpu = team_find(check->gpu, study);
    if (!check->over || gpu == NULL)
        return;
    for (size_t i = 0; i < check->count; i++) {
        double ns = median_of(check, i);
        bool valid = study->results[check->indices[i]].outcome == OUTCOME_MEASURED;
        if (ns > 0 && valid && (fastest_ns <= 0 || ns < fastest_ns))
            fastest_ns = ns;
    }
    gpu->failed += check->failed;
    double there_ns = median_of(check, winner);
    double here_ns = median_of(&held->finals, winner);
    if (there_ns <= 0 || here_ns <= 0 || check->runs[winner] != held->finals.runs[winner])
        return;
    gpu->winner_ratio = there_ns / here_ns;
    gpu->winner_loss = there_ns / fastest_ns - 1;
}

/* Whoever checks the finals; NULL: nobody. */
static struct fleet_gpu *choose_checker(const struct tuning *tuning)
{
    struct fleet_gpu *other = team_other(tuning->team, team_lead(tuning->team));
    return tuning->rules.everyone || other == NULL || !other->open ? NULL : other;
}

static int hold(struct held *held, struct error *error)
{
    struct tuning *tuning = held->finals.tuning;
    struct task tasks[] = {{.run = run_finals, .owner = held}, {.run = run_check, .owner = held}};
    finals_choose(&held->finals);
    if (held->check.gpu == NULL)
        return run_finals(held, error);
    finals_choose(&held->check);
    return tasks_run(tuning->loop, tasks, 2, error);
}

/* They may go with the problem. */
static int end(struct held *held, struct error *error)
{
    const struct tuning_job *job = held->finals.job;
    if (job->study.has_winner && !tuning_job_is_searching(job))
        return 0;
    int status = finals_unload(&held->finals, error);
    if (status == 0 && held->check.over)
        status = finals_unload(&held->check, error);
    if (status == 0 || held->check.gpu == NULL || !team_is_loss(held->check.gpu, status))
        return status;
    tuning_notice(held->check.tuning, held->check.gpu, "failed",
                  error != NULL ? error->message : "", "after it had checked the finals");
    team_leave(held->check.tuning->team, held->check.gpu, true);
    return 0;
}

int finals_hold(struct tuning *tuning, struct tuning_job *job, struct error *error)
{
    struct study *study = &job->study;
    struct finals *finals;
    struct held held = {
        .finals = {.tuning = tuning,
                   .job = job,
                   .rules = allowance_rules(&tuning->allowance, tuning->rules, clock_ns()),
                   .gpu = team_lead(tuning->team),
                   .leader = SIZE_MAX,
                   .random = 0x2545f4914f6cdd1du,
                   .random_checks = (uint64_t)clock_ns() | 1}};
    finals = &held.finals;
    held.check = *finals;
    held.check.gpu = choose_checker(tuning);
    held.check.checked = finals;
    study->has_winner = false;
    team_describe(tuning->team, study);
    int status = hold(&held, error);
    if (status == 0 && finals_count(finals) > 0 && !finals->anew) {
        held.verdict = race_judge(finals->contenders, finals->count, &finals->rules);
        study->has_winner = true;
        study->winner = finals->indices[held.verdict.winner];
        store_check(&held, study);
    }
    if (status == ERROR_INTERRUPTED)
        (void)store_finalists(finals, false, NULL);
    if (status == 0)
        status = store_finalists(finals, !finals->anew, error);
    if (status == 0)
        status = end(&held, error);
    else if (status != ERROR_INTERRUPTED && held.check.over) /* it may hold the finals next */
        (void)finals_unload(&held.check, NULL);
    finals_release(finals);
    finals_release(&held.check);
    return status;
}
