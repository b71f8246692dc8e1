#include "tune/race.h"

#include "unit/recorded_finals.h"
#include "unit/test.h"

#include <math.h>

#define LENGTH(array) (sizeof(array) / sizeof *(array))
#define ROUNDS 150
#define FIELD 16
#define COPIES 64
#define FIRST_LOOK 10 /* rounds before anyone is ruled out */

/* Equal within `tolerance`, and so no NaN. cmocka has had this for doubles only since 2.0. */
#define assert_near(actual, expected, tolerance)                                                   \
    assert_true(fabs((actual) - (expected)) <= (tolerance))

/* Uniform in (0, 1). */
static double uniform(uint64_t *random)
{
    return ((double)(statistics_random(random) >> 11) + 0.5) / 9007199254740992.0;
}

/* Standard normal (Box and Muller). */
static double normal(uint64_t *random)
{
    double radius = sqrt(-2.0 * log(uniform(random)));
    return radius * cos(6.283185307179586 * uniform(random));
}

/* Contenders whose every sample is known beforehand, round by round. */
struct finals {
    double samples_ns[FIELD][ROUNDS];
    struct contender contenders[FIELD];
    size_t count;
    size_t rounds; /* run so far */
};

/* A contender of `time_ns` with normal noise, later ones losing ties. */
static size_t add(struct finals *finals, double time_ns, double noise, uint64_t *random)
{
    size_t index = finals->count++;
    for (size_t i = 0; i < ROUNDS; i++)
        finals->samples_ns[index][i] = time_ns * (1.0 + noise * normal(random));
    finals->contenders[index].samples_ns = finals->samples_ns[index];
    finals->contenders[index].registers = 32;
    finals->contenders[index].block_threads = 256;
    finals->contenders[index].order = index;
    return index;
}

/* What a timer that counts steps would have read. */
static void quantise(struct finals *finals, double step_ns)
{
    for (size_t i = 0; i < finals->count; i++) {
        for (size_t round = 0; round < ROUNDS; round++) {
            double *sample = &finals->samples_ns[i][round];
            *sample = step_ns * floor(*sample / step_ns);
        }
    }
}

/* Runs rounds until the verdict, and checks at each look that nobody who was out comes back. */
static struct verdict run(struct finals *finals, struct race_rules rules)
{
    const struct race_rules complete = race_rules_complete(rules);
    struct verdict verdict = {0};
    while (!verdict.decided) {
        assert_true(finals->rounds < ROUNDS);
        bool was_out[FIELD] = {false};
        finals->rounds++;
        for (size_t i = 0; i < finals->count; i++) {
            was_out[i] = finals->contenders[i].out;
            if (!was_out[i])
                finals->contenders[i].count = finals->rounds;
        }
        if (!race_looks(finals->rounds, &complete))
            continue;
        verdict = race_judge(finals->contenders, finals->count, &rules);
        size_t tied = 0;
        for (size_t i = 0; i < finals->count; i++) {
            assert_true(finals->contenders[i].out || !was_out[i]);
            assert_false(finals->contenders[i].out && finals->contenders[i].tied);
            tied += finals->contenders[i].tied;
        }
        assert_int_equal(tied, verdict.tie_count);
        assert_false(finals->contenders[verdict.winner].out);
        assert_true(verdict.decided == finals->contenders[verdict.winner].tied);
    }
    return verdict;
}

/* The time of `a` over that of `b`, in the rounds run so far. */
static double paired_ratio(const struct finals *finals, size_t a, size_t b)
{
    double ratios[ROUNDS];
    for (size_t i = 0; i < finals->rounds; i++)
        ratios[i] = statistics_ratio(finals->samples_ns[a][i], finals->samples_ns[b][i]);
    return statistics_centre_estimate(ratios, finals->rounds);
}

static const struct race_rules DEFAULTS = {0};

UNIT_TEST(test_screening_keeps_who_could_win)
{
    const double leader[] = {1000, 1002, 1001};
    const double near[] = {1030, 1018, 1040};      /* its best is within 2 % of 1001 */
    const double far[] = {1030, 1031, 1032};       /* its best is not */
    const double throttled[] = {1000, 1400, 1400}; /* noisy, and its best would win */
    const double noisy[] = {1090, 1300, 1410};     /* an IQR of 12 % keeps it in */
    const struct contender contenders[] = {
        {.samples_ns = far, .count = 3},       {.samples_ns = near, .count = 3},
        {.samples_ns = NULL, .count = 0},      {.samples_ns = leader, .count = 3},
        {.samples_ns = throttled, .count = 3}, {.samples_ns = noisy, .count = 3}};
    const bool expected[] = {false, true, false, true, true, true};
    bool chosen[LENGTH(contenders)];
    assert_int_equal(race_finalists(contenders, LENGTH(contenders), &DEFAULTS, chosen), 4);
    assert_memory_equal(chosen, expected, sizeof chosen);
}

UNIT_TEST(test_screening_is_capped_by_median_then_by_rule)
{
    const double fast[] = {1000, 1000, 1000};
    const double equal[] = {1004, 1004, 1004};
    const struct contender contenders[] = {
        {.samples_ns = equal, .count = 3, .registers = 40, .order = 0},
        {.samples_ns = equal, .count = 3, .registers = 32, .block_threads = 128, .order = 1},
        {.samples_ns = equal, .count = 3, .registers = 32, .block_threads = 64, .order = 2},
        {.samples_ns = fast, .count = 3, .registers = 90, .order = 3}};
    const bool expected[] = {false, true, true, true};
    bool chosen[LENGTH(contenders)];
    struct race_rules rules = {.finalists = 3};
    assert_int_equal(race_finalists(contenders, LENGTH(contenders), &rules, chosen), 3);
    assert_memory_equal(chosen, expected, sizeof chosen);
}

UNIT_TEST(test_tie_is_broken_by_the_stated_rule)
{
    struct finals finals = {0};
    uint64_t random = 2;
    add(&finals, 24600, 0.001, &random);
    add(&finals, 24605, 0.001, &random);
    add(&finals, 24600, 0.001, &random);
    size_t slower = add(&finals, 25200, 0.001, &random);
    finals.contenders[1].registers = 24;
    finals.contenders[2].registers = 24;
    finals.contenders[2].block_threads = 128;
    finals.contenders[slower].registers = 16;
    struct verdict verdict = run(&finals, DEFAULTS);
    assert_int_equal(verdict.winner, 2);
    assert_int_equal(verdict.tie_count, 3);
    assert_true(finals.contenders[slower].out);
    assert_true(finals.rounds < ROUNDS); /* a tie is found, not run into */
}

/*
 * Clocks fall by a third during the finals, which hits both alike; in two early rounds a neighbour
 * delays the faster one only. Its unpaired median is the higher one, and the unpaired intervals
 * overlap; the paired ratio is 1.01 in 25 rounds of 27, when the judge looks.
 */
UNIT_TEST(test_common_drift_is_cancelled)
{
    double faster[27];
    double slower[27];
    for (int i = 0; i < 27; i++) {
        double level = 1000.0 * (1.0 + 0.017 * i);
        faster[i] = i >= 2 && i < 4 ? 1.25 * level : level;
        slower[i] = 1.01 * level;
    }
    assert_true(statistics_median(faster, 27) > statistics_median(slower, 27));
    struct contender contenders[] = {{.samples_ns = slower, .count = 27, .order = 0},
                                     {.samples_ns = faster, .count = 27, .order = 1}};
    struct verdict verdict = race_judge(contenders, 2, &DEFAULTS);
    assert_true(verdict.decided);
    assert_int_equal(verdict.winner, 1);
    assert_int_equal(verdict.tie_count, 1);
    assert_true(contenders[0].out);
}

/*
 * Recorded on an H200: each of three is the middle one of about every third round, and each is ahead of
 * another in about half. By medians over all rounds the first is 0.9 % ahead of both others; a
 * tie-break must not hand the race to the one with the smallest block.
 */
UNIT_TEST(test_recorded_finals_of_close_contenders)
{
    struct contender contenders[] = {
        {.samples_ns = recorded_block_256_ns, .registers = 32, .block_threads = 256, .order = 0},
        {.samples_ns = recorded_block_512_ns, .registers = 32, .block_threads = 512, .order = 1},
        {.samples_ns = recorded_block_1024_ns, .registers = 32, .block_threads = 1024, .order = 2}};
    for (size_t i = 0; i < LENGTH(contenders); i++)
        contenders[i].count = RECORDED_ROUNDS;
    const struct race_rules rules = {.copies = RECORDED_ROUNDS};
    struct verdict verdict = race_judge(contenders, LENGTH(contenders), &rules);
    assert_true(verdict.decided);
    assert_int_equal(verdict.winner, 2);
}

/*
 * One contender has two modes, the other none. With the slow mode in one round of ten the
 * bimodal one is faster; with it in every other round neither is.
 */
UNIT_TEST(test_bimodal)
{
    uint64_t random = 5;
    struct finals finals = {0};
    size_t steady = add(&finals, 10500, 0.001, &random);
    size_t bimodal = add(&finals, 10000, 0.001, &random);
    for (int i = 0; i < ROUNDS; i++)
        finals.samples_ns[bimodal][i] *= i % 10 == 1 ? 1.2 : 1.0;
    struct verdict verdict = run(&finals, DEFAULTS);
    assert_int_equal(verdict.winner, bimodal);
    assert_true(finals.contenders[steady].out);

    struct finals even = {0};
    (void)add(&even, 11000, 0.001, &random);
    bimodal = add(&even, 10000, 0.001, &random);
    for (int i = 0; i < ROUNDS; i++)
        even.samples_ns[bimodal][i] *= i % 2 == 0 ? 1.2 : 1.0;
    verdict = run(&even, DEFAULTS);
    assert_int_equal(verdict.tie_count, 2);
}

/* A few rounds under throttling are far slower: the faster contender still wins, and with one such
 * round it does not even tie. */
UNIT_TEST(test_throttled)
{
    for (size_t more = 0; more < 2; more++) {
        struct finals finals = {0};
        uint64_t random = 6;
        size_t throttled = add(&finals, 10000, 0.002, &random);
        add(&finals, 10150, 0.002, &random);
        finals.samples_ns[throttled][4] *= 2.1;
        finals.samples_ns[throttled][1] *= more ? 1.4 : 1;
        finals.samples_ns[throttled][5] *= more ? 1.8 : 1;
        struct verdict verdict = run(&finals, DEFAULTS);
        assert_int_equal(verdict.winner, throttled);
        assert_true(more || verdict.tie_count == 1);
    }
}

/*
 * A kernel of 2 µs under a timer that steps by 32 ns, 1.6 %: contenders that differ by at most 0.4
 * % may read one step apart in every round, and must not be told apart, wherever the step falls and
 * however much or little noise there is.
 */
UNIT_TEST(test_quantised_times_do_not_separate_equals)
{
    const double noises[] = {0.0, 0.0005, 0.002, 0.01};
    uint64_t random = 7;
    bool misread = false;
    for (int phase = 0; phase < 32; phase++) {
        for (size_t n = 0; n < LENGTH(noises); n++) {
            struct finals finals = {0};
            add(&finals, 1984.0 + phase, noises[n], &random);
            add(&finals, (1984.0 + phase) * 1.004, noises[n], &random);
            quantise(&finals, 32.0);
            struct verdict verdict = run(&finals, DEFAULTS);
            assert_int_equal(verdict.tie_count, 2);
            misread = misread || paired_ratio(&finals, 1, 0) > 1.01;
        }
    }
    assert_true(misread); /* or the step would not have been put to the test */
}

/* Whether two contenders are decided at the first look, if the second is faster by `share` in half of the
 * rounds, and slower by as much in the others. */
static bool is_decided_at_once(double share)
{
    struct finals finals = {0};
    uint64_t random = 12;
    add(&finals, 10000, 0.00001, &random);
    size_t other = add(&finals, 10000, 0.00001, &random);
    for (int i = 0; i < ROUNDS; i++)
        finals.samples_ns[other][i] *= i % 2 == 0 ? 1 - share : 1 + share;
    (void)run(&finals, DEFAULTS);
    return finals.rounds == FIRST_LOOK;
}

UNIT_TEST(test_ends_when_nobody_can_be_much_faster)
{
    assert_true(is_decided_at_once(0.0045));
    assert_false(is_decided_at_once(0.0055));
}

/* At the round limit whoever is not separated is tied, but the rule only picks who cannot be slower by
 * more than half the tolerance. */
UNIT_TEST(test_round_limit)
{
    struct finals finals = {0};
    uint64_t random = 9;
    size_t fastest = add(&finals, 10000, 0.0005, &random);
    size_t unclear = add(&finals, 10000, 0.0005, &random);
    const double modes[] = {0.91, 0.96, 1.0626, 1.121}; /* the centre is 1.01 */
    for (int i = 0; i < ROUNDS; i++)
        finals.samples_ns[unclear][i] *= modes[i % 4];
    finals.contenders[unclear].registers = 16;
    struct verdict verdict = run(&finals, DEFAULTS);
    assert_int_equal(finals.rounds, ROUNDS);
    assert_int_equal(verdict.tie_count, 2);
    assert_int_equal(verdict.winner, fastest);
}

/* The leader changes while others are out: none of them comes back, whatever it would be now. */
UNIT_TEST(test_out_stays_out)
{
    struct finals finals = {0};
    uint64_t random = 10;
    size_t early = add(&finals, 10000, 0.0005, &random);
    size_t late = add(&finals, 10000, 0.0005, &random);
    size_t third = add(&finals, 10600, 0.0005, &random);
    for (int i = 0; i < FIRST_LOOK + 2; i++)
        finals.samples_ns[late][i] *= i % 2 == 0 ? 1.02 : 0.99; /* slower, but not separated */
    for (int i = FIRST_LOOK + 2; i < ROUNDS; i++)
        finals.samples_ns[early][i] *= 1.08; /* slower than the third was */
    struct verdict verdict = {0};
    size_t first_leader = 0;
    while (!verdict.decided) {
        finals.rounds++;
        for (size_t i = 0; i < 3; i++) {
            if (!finals.contenders[i].out)
                finals.contenders[i].count = finals.rounds;
        }
        verdict = race_judge(finals.contenders, 3, &DEFAULTS);
        if (finals.rounds == FIRST_LOOK) {
            first_leader = verdict.winner;
            assert_true(finals.contenders[third].out);
            assert_false(verdict.decided);
        }
        assert_true(finals.contenders[third].out == (finals.rounds >= FIRST_LOOK));
    }
    assert_int_equal(first_leader, early);
    assert_int_equal(verdict.winner, late);
    assert_int_equal(finals.contenders[third].count, FIRST_LOOK);
}

UNIT_TEST(test_nothing_is_decided_early)
{
    struct finals finals = {0};
    uint64_t random = 11;
    add(&finals, 20000, 0.001, &random);
    add(&finals, 10000, 0.001, &random);
    finals.contenders[0].count = finals.contenders[1].count = FIRST_LOOK - 1;
    struct verdict verdict = race_judge(finals.contenders, 2, &DEFAULTS);
    assert_false(verdict.decided);
    assert_int_equal(verdict.winner, 1); /* the leader so far */
    assert_int_equal(verdict.tie_count, 0);
    assert_false(finals.contenders[0].out);
}

/* Unmeasured contenders and those that the caller took out neither lead nor hold up the verdict. */
UNIT_TEST(test_absent_contenders)
{
    struct finals finals = {0};
    uint64_t random = 13;
    size_t failed = add(&finals, 9000, 0.001, &random);
    size_t present = add(&finals, 10000, 0.001, &random);
    size_t unmeasured = add(&finals, 8000, 0.001, &random);
    finals.contenders[failed].count = 3;
    finals.contenders[failed].out = true;
    finals.contenders[present].count = FIRST_LOOK;
    struct verdict verdict = race_judge(finals.contenders, finals.count, &DEFAULTS);
    assert_true(verdict.decided);
    assert_int_equal(verdict.winner, present);
    assert_int_equal(verdict.tie_count, 1);
    assert_false(finals.contenders[unmeasured].tied);

    finals.contenders[present].out = true;
    verdict = race_judge(finals.contenders, finals.count, &DEFAULTS);
    assert_false(verdict.decided);
    assert_false(race_judge(NULL, 0, &DEFAULTS).decided);
}

/* Readings of 0, and readings that never differ, are ties without a NaN anywhere. */
UNIT_TEST(test_identical_and_zero_samples)
{
    const double times[] = {0.0, 4096.0};
    for (size_t t = 0; t < LENGTH(times); t++) {
        struct finals finals = {0};
        uint64_t random = 14;
        add(&finals, times[t], 0.0, &random);
        add(&finals, times[t], 0.0, &random);
        struct verdict verdict = run(&finals, DEFAULTS);
        assert_int_equal(finals.rounds, FIRST_LOOK);
        assert_int_equal(verdict.winner, 0);
        assert_int_equal(verdict.tie_count, 2);
    }
}

/* Single samples have `noise`, or two modes 3 % apart; a round's time is the mean of three. Where the
 * buffers lie changes the ratio of two contenders' times by `places` (standard deviation); the rounds
 * use `place_count` places in turn. */
struct measuring {
    double noise;
    bool bimodal;
    double places;
    int place_count;
};

static double round_time(double time_ns, struct measuring how, uint64_t *random)
{
    double sum = 0;
    for (size_t i = 0; i < 3; i++) {
        bool slow = how.bimodal && uniform(random) < 0.5;
        sum += time_ns * (slow ? 1.03 : 1.0) * (1.0 + how.noise * normal(random));
    }
    return sum / 3;
}

/* Finals of contenders that take so much longer than 20 µs. Each has COPIES loaded copies of its
 * code, one per round in turn, whose speeds have the standard deviation measured on an H200, and
 * another speed for each place of the buffers. */
static struct verdict simulate(struct finals *finals, const double *slower, size_t count,
                               struct measuring how, uint64_t *random)
{
    memset(finals, 0, sizeof *finals);
    for (size_t i = 0; i < count; i++) {
        double copies[COPIES];
        double places[COPIES];
        size_t index = add(finals, 0, 0, random);
        for (int copy = 0; copy < COPIES; copy++)
            copies[copy] = 20000 * (1.0 + slower[i]) * (1.0 + 0.0035 * normal(random));
        for (int place = 0; place < how.place_count; place++)
            places[place] = 1.0 + how.places / sqrt(2) * normal(random);
        for (int round = 0; round < ROUNDS; round++) {
            double place = how.place_count > 0 ? places[round % how.place_count] : 1;
            finals->samples_ns[index][round] =
                round_time(copies[round % COPIES] * place, how, random);
        }
        finals->contenders[index].registers = 16 + (int)(4.0 * uniform(random)) * 8;
    }
    return run(finals, DEFAULTS);
}

static const struct measuring measurings[] = {
    {.noise = 0.001}, {.noise = 0.005}, {.noise = 0.01}, {.noise = 0.002, .bimodal = true}};

/* The share of contenders that are separated, of `count` that are equal on average. */
static double separated(size_t count, int simulations, struct measuring how, uint64_t random)
{
    static const double equal[FIELD] = {0};
    static struct finals finals;
    int out = 0;
    for (int i = 0; i < simulations; i++) {
        (void)simulate(&finals, equal, count, how, &random);
        for (size_t k = 0; k < count; k++)
            out += finals.contenders[k].out;
    }
    double share = (double)out / (simulations * (int)(count - 1));
    print_message("%zu equals, noise %.1f %%%s: %.1f %% separated\n", count, 100 * how.noise,
                  how.bimodal ? " in two modes" : "", 100 * share);
    return share;
}

UNIT_TEST(test_equals_are_rarely_separated)
{
    for (size_t i = 0; i < LENGTH(measurings); i++) {
        assert_true(separated(2, 100, measurings[i], 5) <= 0.05);
        assert_true(separated(4, 60, measurings[i], 5) <= 0.05);
        assert_true(separated(FIELD, 12, measurings[i], 5) <= 0.05);
    }
    /* every look compares all with the luckiest */
    assert_true(separated(FIELD, 30, (struct measuring){.noise = 0.03}, 7) <= 0.05);
}

/* They are equal on average over the places of their buffers, but not in any one of them. */
UNIT_TEST(test_equals_that_differ_from_place_to_place_are_rarely_separated)
{
    const struct measuring many = {.noise = 0.01, .places = 0.008, .place_count = COPIES};
    const struct measuring one = {.noise = 0.01, .places = 0.008, .place_count = 1};
    assert_true(separated(2, 100, many, 9) <= 0.05);
    assert_true(separated(4, 20, many, 9) <= 0.05);
    assert_true(separated(2, 50, one, 9) > 0.2); /* why one place is not enough */
}

/* The winner is fast on average over all places. In finals with one place, one in ten is 1 % slower or more. */
UNIT_TEST(test_the_winner_is_fast_in_other_places_too)
{
    static const double slower[] = {0, 0.003, 0.01, 0.012, 0.02, 0.02, 0.02, 0.02};
    static struct finals finals;
    const struct measuring how = {.noise = 0.01, .places = 0.008, .place_count = COPIES};
    uint64_t random = 10;
    for (int i = 0; i < 20; i++) {
        struct verdict verdict = simulate(&finals, slower, LENGTH(slower), how, &random);
        assert_true(slower[verdict.winner] < 0.01);
    }
}

/*
 * Much noise, 3.5 % a sample, and 16 contenders as close as on an H200: the fastest wins nearly every
 * time, and of the others one that is not 1 % slower, within half of the measurements that there may be.
 */
UNIT_TEST(test_the_fastest_of_a_close_field_wins)
{
    enum { FINALS = 20 };
    static const double slower[FIELD] = {0,      0.0065, 0.0115, 0.0125, 0.0145, 0.0145,
                                         0.0155, 0.016,  0.018,  0.02,   0.0215, 0.023,
                                         0.025,  0.0255, 0.027,  0.029};
    static struct finals finals;
    uint64_t random = 8;
    size_t samples = 0;
    int best = 0;
    for (int i = 0; i < FINALS; i++) {
        struct verdict verdict =
            simulate(&finals, slower, FIELD, (struct measuring){.noise = 0.035}, &random);
        best += verdict.winner == 0;
        assert_true(slower[verdict.winner] <= 0.01);
        for (size_t k = 0; k < FIELD; k++)
            samples += finals.contenders[k].count;
    }
    print_message("%d of %d, %.0f rounds each\n", best, FINALS, (double)samples / FIELD / FINALS);
    assert_true(best >= FINALS - 2);
    assert_true(samples <= (size_t)FINALS * FIELD * ROUNDS / 2);
}

/* Of contenders that are up to 2 % slower, one wins that is not 1 % slower; with 1 % noise, within
 * a quarter of the rounds that there may be. */
UNIT_TEST(test_nobody_slow_wins_simulated_finals)
{
    static const double slower[] = {0, 0.003, 0.006, 0.01, 0.02};
    static struct finals finals;
    for (size_t i = 0; i < LENGTH(measurings); i++) {
        uint64_t random = 6;
        size_t rounds = 0;
        for (int j = 0; j < 20; j++) {
            struct verdict verdict =
                simulate(&finals, slower, LENGTH(slower), measurings[i], &random);
            assert_true(slower[verdict.winner] <= 0.01);
            rounds += finals.rounds;
        }
        print_message("noise %.1f %%%s: %.1f rounds\n", 100 * measurings[i].noise,
                      measurings[i].bimodal ? " in two modes" : "", (double)rounds / 20);
        assert_true(measurings[i].bimodal || rounds <= 20 * ROUNDS / 4);
    }
}

enum { VARIANTS = 100, SCREENING = 5 };

/* The winner's regret in one sweep of variants with known times, 1 % noise and drifting clocks. */
static double simulated_regret(uint64_t *random)
{
    double truth[VARIANTS];
    double best = INFINITY;
    double screening[VARIANTS][SCREENING];
    struct contender contenders[VARIANTS] = {{0}};
    for (size_t v = 0; v < VARIANTS; v++) {
        truth[v] = 25000.0 * (1.0 + 0.3 * uniform(random));
        best = fmin(best, truth[v]);
        for (int i = 0; i < SCREENING; i++)
            screening[v][i] = truth[v] * (1.0 + 0.01 * normal(random));
        contenders[v] = (struct contender){.samples_ns = screening[v], .count = SCREENING};
    }
    bool chosen[VARIANTS];
    size_t chosen_count = race_finalists(contenders, VARIANTS, &DEFAULTS, chosen);
    assert_in_range(chosen_count, 1, FIELD);
    static struct finals finals;
    memset(&finals, 0, sizeof finals);
    size_t variant_of[FIELD];
    for (size_t v = 0; v < VARIANTS; v++) {
        if (!chosen[v])
            continue;
        size_t index = add(&finals, truth[v], 0.01, random);
        variant_of[index] = v;
        finals.contenders[index].registers = 16 + (int)(4.0 * uniform(random)) * 8;
        for (int round = 0; round < ROUNDS; round++)
            finals.samples_ns[index][round] *= 1.0 + 0.05 * sin(round / 7.0);
    }
    struct verdict verdict = run(&finals, DEFAULTS);
    return truth[variant_of[verdict.winner]] / best - 1.0;
}

UNIT_TEST(test_regret_of_simulated_sweeps)
{
    uint64_t random = 20;
    int good = 0;
    for (int sweep = 0; sweep < 20; sweep++)
        good += simulated_regret(&random) <= 0.01;
    assert_in_range(good, 19, 20);
}
