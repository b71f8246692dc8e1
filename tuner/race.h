/*
 * Who is still in the race: decides, from samples alone, which variants go to the finals, when the finals
 * are over, and who won. Knows neither kernels nor devices; the caller measures.
 *
 * Calling sequence:
 *     screening: measure every variant a few times; race_finalists() picks those that could still win
 *     finals:    rounds; in each, every contender still in is measured once more, in shuffled order, one
 *                sample (the median of a short batch) per contender and round, so that sample i of one
 *                is paired with sample i of another and drifting clocks hit all alike
 *                after each round: race_judge()
 *     the end:   when the verdict says decided, or at the round limit; race_judge() names the winner and
 *                the tie set. What is reported is the finals' median, never the screening's best.
 */
#ifndef AUTOTUNE_RACE_H
#define AUTOTUNE_RACE_H

#include "statistics.h"

#include <stdbool.h>
#include <stddef.h>

struct race_rules {              /* zero members mean the defaults in parentheses */
    double tie_tolerance;        /* ratios within 1 ± this are a tie (0.005) */
    unsigned finalists;          /* at most this many reach the finals (16) */
    unsigned minimum_rounds;     /* before anyone is ruled out or a winner named (10) */
    unsigned maximum_rounds;     /* then whoever is not separated from the leader is tied (60) */
    unsigned resamples;          /* of the bootstrap (500) */
};

struct race_rules race_rules_complete(struct race_rules rules);

/*
 * One variant in the screening or in the finals. In the finals samples_ns[i] is its time in round i, and
 * contenders that were ruled out keep the samples they have.
 */
struct contender {
    const double *samples_ns;
    size_t count;
    /* the stated rule that breaks a tie: fewer registers, then fewer threads a block, then order */
    int registers;
    int block_threads;
    size_t order;
    bool out;          /* ruled out by race_judge(): slower than the leader, separated */
    bool tied;         /* set by race_judge() when decided: in the winner's tie set (the winner too) */
};

/*
 * Marks in `chosen` (of `count`) who goes to the finals: everyone whose screening samples do not rule them
 * out (their fastest sample is within the noise of the leading median: no slower than the leader's median times
 * 1 + the larger of 2 % and both relative IQRs), at most rules.finalists, by median. Contenders without samples
 * are never chosen. Returns how many.
 */
size_t race_finalists(const struct contender *contenders, size_t count,
                      const struct race_rules *rules, bool *chosen);

struct verdict {
    bool decided;
    size_t winner;          /* index; valid where decided (the leader so far otherwise) */
    size_t tie_count;       /* contenders in the tie set, the winner included; 1: separated */
    struct interval margin; /* runner-up's time over the leader's, paired; {1,1,1} where alone */
};

/*
 * Judges the finals after a round. The leader is the contender with the lowest median; another is `out` when
 * the interval of its paired ratio to the leader lies above 1 + tie_tolerance is certain or wholly above 1 with
 * its estimate above 1 + tie_tolerance; it is tied when the whole interval lies within 1 ± tie_tolerance. Decided
 * when every other contender is out or tied, or at maximum_rounds. Among the tied, the stated rule picks the winner.
 */
struct verdict race_judge(struct contender *contenders, size_t count,
                          const struct race_rules *rules);

#endif
