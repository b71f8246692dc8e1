#include "cover/selection.h"

#include "base/statistics.h"

#include "unit/cover/cover_fixture.h"
#include "unit/test.h"

/* What these lose together. */
static struct loss choice_loss(const struct losses *losses, const size_t *chosen, size_t count)
{
    struct loss loss = {0};
    for (size_t size = 0; size < losses->sizes; size++) {
        double least = LOSS_FAILED;
        for (size_t i = 0; i < count; i++)
            least = fmin(least, losses_alone(losses, chosen[i], size));
        loss_add(&loss, losses->sizes, least);
    }
    return loss;
}

/* Configuration 3 wins everywhere. */
static double one_wins(size_t configuration, double n)
{
    return n * (configuration == 3 ? 1.0 : 1.1 + (double)configuration * 0.1);
}

static double all_alike(size_t configuration, double n)
{
    return n;
}

/* 0 is never bad, 1 and 2 are each best at one end and bad at the other. */
static double crossing(size_t configuration, double n)
{
    static const double powers[] = {1.0, 0.9, 1.1};
    double middle = 1024 * pow(2, 9);
    return middle * pow(n / middle, powers[configuration]) * (configuration == 0 ? 1.02 : 1);
}

/* 0 is the fastest, but fails above 2^14. */
static double fails_above(size_t configuration, double n)
{
    if (configuration == 0)
        return n > 16384 ? TIME_FAILED : n;
    return n * (1 + 0.3 * (double)configuration);
}

static double not_measured(size_t configuration, double n)
{
    return configuration == 0 && n > 4096 ? TIME_MISSING : n * (1 + 0.05 * (double)configuration);
}

UNIT_TEST(test_the_few_that_lose_least_together_are_chosen)
{
    static const struct {
        const char *name;
        invented_time *time;
        size_t configurations, sizes;
        double step;
        size_t limit, count, chosen[2]; /* in order of their numbers */
    } cases[] = {
        {"one that wins everywhere is enough", one_wins, 6, 10, 4, 4, 1, {3}},
        {"of equals, the first", all_alike, 5, 7, 4, 4, 1, {0}},
        {"the robust one alone", crossing, 3, 19, 2, 1, 1, {0}},
        {"the specialists together", crossing, 3, 19, 2, 2, 2, {1, 2}},
        {"what fails somewhere, not alone", fails_above, 3, 10, 2, 1, 1, {1}},
        {"what fails somewhere, beside another", fails_above, 3, 10, 2, 2, 2, {0, 1}},
        {"what was hardly measured is not trusted", not_measured, 2, 10, 2, 1, 1, {1}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct invented invented;
        size_t chosen[4];
        invented_init(&invented, cases[i].time, cases[i].configurations, cases[i].sizes,
                      cases[i].step);
        size_t count = choice_make(&invented.losses, cases[i].limit, CHOICE_WORTH, chosen);
        bool swap = count == 2 && chosen[0] > chosen[1];
        if (count != cases[i].count || chosen[swap] != cases[i].chosen[0] ||
            (count == 2 && chosen[!swap] != cases[i].chosen[1]))
            fail_msg("%s: %zu, first %zu", cases[i].name, count, chosen[0]);
        if (cases[i].time == crossing && count == 2)
            assert_true(choice_loss(&invented.losses, chosen, 2).worst < 1e-9);
        invented_release(&invented);
    }
}

static double none_works(size_t configuration, double n)
{
    return n > 4096 ? TIME_FAILED : n;
}

UNIT_TEST(test_a_size_at_which_everything_fails_counts_for_nothing)
{
    struct invented invented;
    size_t chosen[1] = {0};
    invented_init(&invented, none_works, 2, 10, 2);
    assert_true(choice_loss(&invented.losses, chosen, 1).worst < 1e-9);
    invented_release(&invented);
}

static double jumbled(size_t configuration, double n)
{
    uint64_t state = (uint64_t)n * 31 + configuration + 1;
    (void)statistics_random(&state);
    return 1 + (double)(statistics_random(&state) >> 40) * 0x1p-24;
}

/* The least objective of all sets of three. */
static double best_three(const struct losses *losses)
{
    double least = INFINITY;
    size_t chosen[3];
    for (chosen[0] = 0; chosen[0] < losses->configurations; chosen[0]++)
        for (chosen[1] = 0; chosen[1] < chosen[0]; chosen[1]++)
            for (chosen[2] = 0; chosen[2] < chosen[1]; chosen[2]++)
                least = fmin(least, loss_objective(choice_loss(losses, chosen, 3)));
    return least;
}

UNIT_TEST(test_the_choice_is_near_the_best_of_all_sets)
{
    for (size_t sizes = 3; sizes < 12; sizes++) {
        struct invented invented;
        size_t chosen[3];
        invented_init(&invented, jumbled, 12, sizes, 3);
        size_t count = choice_make(&invented.losses, 3, CHOICE_WORTH, chosen);
        double objective = loss_objective(choice_loss(&invented.losses, chosen, count));
        assert_true(objective <= 1.15 * best_three(&invented.losses) + 0.001);
        invented_release(&invented);
    }
}

static double bad_from;

/* 0 is best up to a size, and bad from there on; 1 is never bad. */
static double bad_at_the_end(size_t configuration, double n)
{
    bool bad = n > bad_from;
    return n * (configuration == 1 ? (bad ? 1 : 1.06) : bad ? 1.5 : 1);
}

/* Of these two, at 20 sizes: 1024, 2048, … */
static void assert_chosen_alone(double from, size_t expected)
{
    struct invented invented;
    size_t chosen[1];
    bad_from = from;
    invented_init(&invented, bad_at_the_end, 2, 20, 2);
    assert_int_equal(choice_make(&invented.losses, 1, CHOICE_WORTH, chosen), 1);
    assert_int_equal(chosen[0], expected);
    invented_release(&invented);
}

UNIT_TEST(test_a_single_bad_size_does_not_decide_but_several_do)
{
    assert_chosen_alone(1024 * pow(2, 18.5), 0); /* the last size is bad */
    assert_chosen_alone(1024 * pow(2, 15.5), 1); /* a fifth of them are */
}
