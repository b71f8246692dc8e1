/*
 * Who is still in the race: decides, from samples alone, which variants go to the finals, when the
 * finals are over, and who won. Knows neither kernels nor devices; the caller measures.
 *
 * Calling sequence, in three steps:
 *
 * - Screening: every variant is measured a few times; race_finalists() picks who could still win.
 *
 * - Finals, in rounds: in each, every contender still in is measured once more, in shuffled order,
 *   one time (the mean of a few samples) per contender and round, so that sample i of one is
 *   paired with sample i of another and drifting clocks hit all alike. After those rounds that
 *   race_looks() names: race_judge().
 *
 * - The end, when the verdict says decided, at the round limit at the latest: it names the winner
 *   and the tie set. What is reported is the finals' median, never the screening's best.
 */
#ifndef AUTOTUNE_RACE_H
#define AUTOTUNE_RACE_H

#include "base/statistics.h"

#include <stdbool.h>
#include <stddef.h>

struct race_rules {          /* zero members mean the defaults in parentheses */
    double tie_tolerance;    /* ratios within 1 ± this are a tie (0.005) */
    unsigned finalists;      /* at most this many reach the finals (16) */
    unsigned minimum_rounds; /* before anyone is ruled out or a winner named (10) */
    unsigned maximum_rounds; /* then whoever is not separated from the leader is tied (150) */
    unsigned copies;         /* of each contender's code, and places of its buffers, one per round
                                in turn (64) */
    double confidence;       /* of the intervals (0.95) */
    double spread; /* how wrong comparisons in the screening may be beyond noise, as a share (0) */
    bool everyone; /* all that have samples reach the finals, and none is ruled out */
};

/* With the defaults filled in, and maximum_rounds no less than minimum_rounds. */
struct race_rules race_rules_complete(struct race_rules rules);

/*
 * One variant in the screening or in the finals. In the finals samples_ns[i] is its time in round
 * i, and contenders that were ruled out keep the samples they have. A sample that had to be
 * dropped (throttling) is taken again in its round, before the next round begins, so that each has
 * one in every round and pairs do not shift.
 */
struct contender {
    const double *samples_ns;
    size_t count;
    /* the timer's readings, of which the samples are means; NULL: the samples themselves */
    const double *readings_ns;
    size_t reading_count;
    /* the stated rule that breaks a tie: fewer registers, then fewer threads a block, then order */
    int registers;
    int block_threads;
    size_t order;
    /* ruled out by race_judge(), for good: slower than the leader, separated; the caller may set it
     * for a contender that failed in the finals */
    bool out;
    /* set by race_judge() when decided: in the winner's tie set (the winner too) */
    bool tied;
};

/*
 * Marks in `chosen` (of `count`) who goes to the finals: everyone whose screening samples do not
 * rule them out (their fastest sample is no slower than the leading median times 1 + the larger of
 * 2 % and both relative interquartile ranges, plus the spread), at most rules->finalists, by median and then by the
 * stated rule. Contenders without samples are never chosen. Returns how many.
 */
size_t race_finalists(const struct contender *contenders, size_t count,
                      const struct race_rules *rules, bool *chosen);

/*
 * Whether the finals can be decided after so many rounds: after minimum_rounds, each time 1.4 times
 * as many, and maximum_rounds. Whoever looks after every round finds, sooner or later, the one in
 * which chance separates equals. `rules` are complete.
 */
bool race_looks(size_t rounds, const struct race_rules *rules);

struct verdict {
    bool decided;
    size_t winner;    /* index; valid where decided (the leader so far otherwise) */
    size_t leader;    /* index of the one that all others were compared with */
    size_t tie_count; /* in the tie set, the winner included; 1: separated; 0: undecided */
};

/*
 * Judges the finals after a round.
 *
 * Contenders that are not out and have samples are in. Each round's level is the mean of its
 * times over those who are in; the leader is the contender with the lowest times relative to the
 * level. Then, after a round that race_looks() names, every other contender that is in is compared
 * with the leader by the centre of their paired time ratios and its interval [l, h] of `confidence`
 * (statistics_centre()).
 *
 * Round i runs in copy i modulo `copies` of a contender's code, each at another address, and with
 * the buffers in another place. Both change the speed (gpu/device_code.h, gpu/device_buffer.h), and
 * more rounds with the same ones say nothing about that: rounds with the same copies count as one
 * observation, the median of their ratios.
 *
 * Let t be the tolerance, and s the timer's step over the leader's median, which is what rounding
 * alone can put between two times; the step is the smallest difference between unequal readings,
 * next to nothing where the timer is fine (a difference above 1.1 µs is no timer's step).
 *
 * A contender is ruled out, for good, when the centre is above 1 + t + s, and the signed-rank test
 * agrees that it is above 1 + s: at a level p, or, in as few rounds as cannot reach p, with every
 * ratio above 1 + s. The look that decides has the level (1 - confidence) / 4, and all looks before
 * it share as much (a single look has both). p is a look's level divided by the number of others
 * who are in, since the leader is the luckiest of all. At most 5 % of equally fast contenders are
 * ruled out (simulated in tests/unit/tune/test_race.c).
 *
 * The finals are decided once nobody who is in can be faster than the leader by more than the
 * tolerance, 1 - t + s <= l, and at maximum_rounds in any case. Whoever is in then forms the tie set.
 * The stated rule picks the winner among the leader and those of the tie set that cannot be
 * slower by more than half the tolerance, h <= 1 + t / 2.
 *
 * Where nobody is in, the verdict is undecided and its winner means nothing.
 */
struct verdict race_judge(struct contender *contenders, size_t count,
                          const struct race_rules *rules);

#endif
