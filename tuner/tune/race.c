#include "tune/race.h"

#include "base/alloc.h"
#include "base/statistics.h"

#include <math.h>
#include <stdlib.h>

/* Screening never rules out by less than this: a few samples say no more. */
#define SCREENING_NOISE 0.02

#define LOOK_GROWTH 1.4
/* Of the tolerance: how much slower than the leader who wins by the stated rule may be. */
#define SLOWER_SHARE 0.5

struct race_rules race_rules_complete(struct race_rules rules)
{
    if (!(rules.tie_tolerance > 0))
        rules.tie_tolerance = 0.005;
    if (rules.finalists == 0)
        rules.finalists = 16;
    if (rules.minimum_rounds == 0)
        rules.minimum_rounds = 10;
    if (rules.maximum_rounds == 0)
        rules.maximum_rounds = 150;
    if (rules.maximum_rounds < rules.minimum_rounds)
        rules.maximum_rounds = rules.minimum_rounds;
    if (rules.copies == 0)
        rules.copies = 64;
    if (!(rules.confidence > 0))
        rules.confidence = 0.95;
    return rules;
}

/* The stated rule: negative where `a` comes before `b`. */
static int compare_by_rule(const struct contender *a, const struct contender *b)
{
    if (a->registers != b->registers)
        return a->registers < b->registers ? -1 : 1;
    if (a->block_threads != b->block_threads)
        return a->block_threads < b->block_threads ? -1 : 1;
    return (a->order > b->order) - (a->order < b->order);
}

struct candidate {
    size_t index;
    const struct contender *contender;
    struct summary screening;
};

static int compare_candidates(const void *left, const void *right)
{
    const struct candidate *a = left;
    const struct candidate *b = right;
    if (a->screening.median_ns != b->screening.median_ns)
        return a->screening.median_ns < b->screening.median_ns ? -1 : 1;
    return compare_by_rule(a->contender, b->contender);
}

size_t race_finalists(const struct contender *contenders, size_t count,
                      const struct race_rules *rules, bool *chosen)
{
    struct race_rules complete = race_rules_complete(*rules);
    struct candidate *candidates = alloc_zeroed(count, sizeof *candidates);
    size_t candidate_count = 0;
    for (size_t i = 0; i < count; i++) {
        chosen[i] = false;
        if (contenders[i].count == 0)
            continue;
        struct candidate *candidate = &candidates[candidate_count++];
        candidate->index = i;
        candidate->contender = &contenders[i];
        candidate->screening = statistics_summarise(contenders[i].samples_ns, contenders[i].count);
    }
    qsort(candidates, candidate_count, sizeof *candidates, compare_candidates);
    size_t chosen_count = 0;
    size_t most = complete.everyone ? candidate_count : complete.finalists;
    for (size_t i = 0; i < candidate_count && chosen_count < most; i++) {
        const struct summary *candidate = &candidates[i].screening;
        const struct summary *leader = &candidates[0].screening;
        double noise = fmax(SCREENING_NOISE, fmax(candidate->relative_iqr, leader->relative_iqr));
        if (!complete.everyone &&
            candidate->minimum_ns > leader->median_ns * (1.0 + noise + complete.spread))
            continue;
        chosen[candidates[i].index] = true;
        chosen_count++;
    }
    free(candidates);
    return chosen_count;
}

static bool is_in(const struct contender *contender)
{
    return !contender->out && contender->count > 0;
}

/*
 * The paired time ratios of `a` and `b`, both of which have samples, one per copy of the code and
 * place of the buffers: rounds with the same copies are one observation, their median. Free them.
 */
static double *ratios_by_copy(const struct contender *a, const struct contender *b, size_t copies,
                              size_t *count)
{
    size_t rounds = least_of(a->count, b->count);
    double *of_copy = alloc_zeroed(rounds / copies + 1, sizeof *of_copy);
    *count = least_of(rounds, copies);
    double *ratios = alloc_zeroed(*count, sizeof *ratios);
    for (size_t copy = 0; copy < *count; copy++) {
        size_t visits = 0;
        for (size_t round = copy; round < rounds; round += copies)
            of_copy[visits++] = statistics_ratio(a->samples_ns[round], b->samples_ns[round]);
        ratios[copy] = statistics_median(of_copy, visits);
    }
    free(of_copy);
    return ratios;
}

/* The paired time ratios of `a` and `b`, both of which have samples; `tail` as in
 * statistics_centre(). */
static struct interval compare_times(const struct contender *a, const struct contender *b,
                                     double tail, const struct race_rules *rules)
{
    size_t count;
    double *ratios = ratios_by_copy(a, b, rules->copies, &count);
    struct interval ratio = statistics_centre(ratios, count, tail);
    free(ratios);
    return ratio;
}

/* Of an interval of the rules' confidence. */
static double tail_of(const struct race_rules *rules)
{
    return (1.0 - rules->confidence) / 2;
}

/* How many rounds everyone who is in has run; 0 where nobody is in. */
static size_t common_rounds(const struct contender *contenders, size_t count)
{
    size_t rounds = 0;
    for (size_t i = 0; i < count; i++) {
        if (is_in(&contenders[i]))
            rounds = rounds == 0 ? contenders[i].count : least_of(rounds, contenders[i].count);
    }
    return rounds;
}

/*
 * The mean of each round's times over those who are in; the caller's to free. Not their median:
 * that is one contender's own time, so that of a few close ones each has a median ratio of
 * exactly 1.
 */
static double *round_levels(const struct contender *contenders, size_t count, size_t rounds)
{
    double *levels = alloc_zeroed(rounds, sizeof *levels);
    size_t in = 0;
    for (size_t i = 0; i < count; i++) {
        if (!is_in(&contenders[i]))
            continue;
        in++;
        for (size_t round = 0; round < rounds; round++)
            levels[round] += contenders[i].samples_ns[round];
    }
    for (size_t round = 0; round < rounds; round++)
        levels[round] /= (double)in;
    return levels;
}

/* Index of the contender with the lowest times relative to the rounds' levels, by the stated rule
 * where several share it. `rounds` > 0. */
static size_t find_leader(const struct contender *contenders, size_t count, size_t rounds,
                          const struct race_rules *rules)
{
    double *levels = round_levels(contenders, count, rounds);
    const struct contender level = {.samples_ns = levels, .count = rounds};
    size_t leader = count;
    double lowest = INFINITY;
    for (size_t i = 0; i < count; i++) {
        if (!is_in(&contenders[i]))
            continue;
        size_t ratio_count;
        double *ratios = ratios_by_copy(&contenders[i], &level, rules->copies, &ratio_count);
        double relative = statistics_centre_estimate(ratios, ratio_count);
        free(ratios);
        if (leader == count || relative < lowest ||
            (relative == lowest && compare_by_rule(&contenders[i], &contenders[leader]) < 0)) {
            leader = i;
            lowest = relative;
        }
    }
    free(levels);
    return leader;
}

/* The timer's step by all readings there are. */
static double timer_step_ns(const struct contender *contenders, size_t count)
{
    double *readings = NULL;
    size_t filled = 0;
    for (size_t i = 0; i < count; i++) {
        const struct contender *who = &contenders[i];
        bool single = who->readings_ns == NULL;
        size_t more = single ? who->count : who->reading_count;
        readings = alloc_resize(readings, filled + more, sizeof *readings);
        for (size_t j = 0; j < more; j++)
            readings[filled++] = single ? who->samples_ns[j] : who->readings_ns[j];
    }
    double step = statistics_timer_step_ns(readings, filled);
    free(readings);
    return step;
}

/* How often the finals can be decided. */
static unsigned count_looks(const struct race_rules *rules)
{
    unsigned looks = 1; /* after maximum_rounds */
    double look = rules->minimum_rounds;
    while ((size_t)look < rules->maximum_rounds) {
        look *= LOOK_GROWTH;
        looks++;
    }
    return looks;
}

/* The level at which a contender is ruled out. Half of the tail is for the look that decides, the
 * other half for all looks before, unless there is only one look. Whoever is in shares it: the leader
 * is the luckiest. */
static double level_of(const struct contender *contenders, size_t count, bool decides,
                       const struct race_rules *rules)
{
    size_t in = 0;
    unsigned looks = count_looks(rules);
    for (size_t i = 0; i < count; i++)
        in += is_in(&contenders[i]);
    double others = in > 1 ? (double)(in - 1) : 1.0;
    double parts = looks == 1 ? 1.0 : decides ? 2.0 : 2.0 * (looks - 1);
    return tail_of(rules) / parts / others;
}

/* Rules out who is separated from the leader: slower by more than the tolerance, and at `level` slower at all, or in
 * all rounds if these are too few for that. */
static void rule_out(struct contender *contenders, size_t count, size_t leader, double resolution,
                     double level, const struct race_rules *rules)
{
    for (size_t i = 0; i < count; i++) {
        if (i == leader || !is_in(&contenders[i]))
            continue;
        struct interval ratio = compare_times(&contenders[i], &contenders[leader], level, rules);
        contenders[i].out = ratio.low > 1.0 + resolution &&
                            ratio.estimate > 1.0 + rules->tie_tolerance + resolution;
    }
}

/* True if nobody else still in can be faster than the leader by more than the tolerance. */
static bool is_resolved(const struct contender *contenders, size_t count, size_t leader,
                        double resolution, const struct race_rules *rules)
{
    double least = 1.0 - rules->tie_tolerance + resolution;
    for (size_t i = 0; i < count; i++)
        if (i != leader && is_in(&contenders[i]) &&
            compare_times(&contenders[i], &contenders[leader], tail_of(rules), rules).low < least)
            return false;
    return true;
}

/* Forms the tie set of those who are in, and picks its winner. */
static size_t break_tie(struct contender *contenders, size_t count, size_t leader,
                        const struct race_rules *rules, size_t *tie_count)
{
    size_t winner = leader;
    *tie_count = 0;
    for (size_t i = 0; i < count; i++) {
        if (!is_in(&contenders[i]))
            continue;
        contenders[i].tied = true;
        ++*tie_count;
        struct interval ratio =
            compare_times(&contenders[i], &contenders[leader], tail_of(rules), rules);
        if (ratio.high <= 1.0 + SLOWER_SHARE * rules->tie_tolerance &&
            compare_by_rule(&contenders[i], &contenders[winner]) < 0)
            winner = i;
    }
    return winner;
}

bool race_looks(size_t rounds, const struct race_rules *rules)
{
    double look = rules->minimum_rounds;
    while ((size_t)look < rounds)
        look *= LOOK_GROWTH;
    return (size_t)look == rounds || rounds >= rules->maximum_rounds;
}

struct verdict race_judge(struct contender *contenders, size_t count,
                          const struct race_rules *rules)
{
    struct race_rules complete = race_rules_complete(*rules);
    struct verdict verdict = {0};
    for (size_t i = 0; i < count; i++)
        contenders[i].tied = false;
    size_t rounds = common_rounds(contenders, count);
    if (rounds == 0)
        return verdict;
    size_t leader = find_leader(contenders, count, rounds, &complete);
    double median_ns = statistics_median(contenders[leader].samples_ns, contenders[leader].count);
    double resolution = median_ns > 0 ? timer_step_ns(contenders, count) / median_ns : 0.0;
    verdict.winner = verdict.leader = leader;
    if (race_looks(rounds, &complete)) {
        double level = level_of(contenders, count, false, &complete);
        rule_out(contenders, count, leader, resolution, level, &complete);
        verdict.decided = rounds >= complete.maximum_rounds ||
                          is_resolved(contenders, count, leader, resolution, &complete);
    }
    if (verdict.decided) {
        double level = level_of(contenders, count, true, &complete);
        rule_out(contenders, count, leader, resolution, level, &complete);
        verdict.winner = break_tie(contenders, count, leader, &complete, &verdict.tie_count);
    }
    return verdict;
}
