/* Results of another GPU or problem: of use where they agree, and no harm where they do not. */
#include "search/strategy.h"

#include "base/alloc.h"
#include "base/statistics.h"
#include "search/search.h"

#include "unit/search_field.h"
#include "unit/test.h"

#include <math.h>

enum { DIMENSIONS = 4, VALUES = 8, POINTS = 400 };

/* A space of 4,096 points, and results for some of them, of somewhere else. */
struct bench {
    struct field field;
    uint32_t points[POINTS * DIMENSIONS];
    double times_ns[POINTS];
};

static int make_bench(void **state)
{
    struct bench *bench = alloc_zeroed(1, sizeof *bench);
    uint64_t random = 3;
    for (size_t i = 0; i < DIMENSIONS; i++)
        add_parameter(&bench->field, "1..8");
    for (size_t i = 0; i < (size_t)POINTS * DIMENSIONS; i++)
        bench->points[i] = (uint32_t)((statistics_random(&random) >> 8) % VALUES);
    (void)open_space(&bench->field);
    *state = bench;
    return 0;
}

static int free_bench(void **state)
{
    struct bench *bench = *state;
    field_release(&bench->field);
    free(bench);
    return 0;
}

/* What the search measures: fastest at (6, 1, 2, 5). */
static double time_of(const uint32_t *point)
{
    static const double best[DIMENSIONS] = {6, 1, 2, 5};
    double slow = 0;
    for (size_t i = 0; i < DIMENSIONS; i++)
        slow += 0.1 * (double)(i + 1) * fabs((double)point[i] - best[i]);
    return 1000 * exp(slow);
}

/* Elsewhere everything takes three times as long, and the fastest is another. */
static double near_time(const uint32_t *point)
{
    uint32_t moved[DIMENSIONS];
    memcpy(moved, point, sizeof moved);
    moved[0] = moved[0] < VALUES - 1 ? moved[0] + 1 : moved[0];
    return 3 * time_of(moved);
}

static double contrary_time(const uint32_t *point)
{
    return 1e6 / time_of(point);
}

static void tell_elsewhere(struct bench *bench, struct search *search,
                           double (*time)(const uint32_t *))
{
    for (size_t i = 0; i < POINTS; i++)
        bench->times_ns[i] = time(bench->points + i * DIMENSIONS);
    search_know(search, bench->points, bench->times_ns, POINTS);
}

/* The best of `count` evaluations, a mean over some searches; `elsewhere` may be NULL. */
static double best_of(struct bench *bench, size_t count, double (*elsewhere)(const uint32_t *))
{
    enum { SEARCHES = 6 };
    double sum = 0;
    for (uint64_t seed = 0; seed < SEARCHES; seed++) {
        const struct search_options options = {.seed = seed};
        struct search *search = search_new(bench->field.space, &options);
        double best = INFINITY;
        if (elsewhere != NULL)
            tell_elsewhere(bench, search, elsewhere);
        for (size_t i = 0; i < count; i++) {
            uint32_t point[DIMENSIONS];
            assert_int_equal(search_propose(search, 1, point, NULL), 1);
            search_tell(search, point, time_of(point));
            best = fmin(best, time_of(point));
        }
        search_free(search);
        sum += best / SEARCHES;
    }
    return sum;
}

static void results_that_agree_save_evaluations(void **state)
{
    struct bench *bench = *state;
    assert_true(best_of(bench, 16, near_time) < 0.8 * best_of(bench, 16, NULL));
}

static void results_that_disagree_do_no_harm(void **state)
{
    struct bench *bench = *state;
    assert_true(best_of(bench, 40, contrary_time) < 1.1 * best_of(bench, 40, NULL));
}

/* Which source is chosen, if any, after evaluations of the bench's first points. */
static void the_source_that_agrees_is_chosen(void **state)
{
    struct bench *bench = *state;
    static double (*const sources[])(const uint32_t *) = {contrary_time, near_time};
    struct known_results known = {0};
    struct history history;
    history_init(&history, DIMENSIONS);
    for (size_t i = 0; i < 2; i++) {
        for (size_t j = 0; j < POINTS; j++)
            bench->times_ns[j] = sources[i](bench->points + j * DIMENSIONS);
        known_results_add(&known, DIMENSIONS, bench->points, bench->times_ns, POINTS);
        for (size_t j = 0; j < 12; j++)
            history_tell(&history, bench->points + j * DIMENSIONS,
                         time_of(bench->points + j * DIMENSIONS));
        known_results_choose(&known, &history, bench->field.space);
        assert_ptr_equal(known.chosen, i == 0 ? NULL : &known.sources[1]);
    }
    /* the faster, the lower; measured or not */
    assert_true(known_results_expect(&known, (const uint32_t[]){5, 1, 2, 5}) <
                known_results_expect(&known, (const uint32_t[]){1, 7, 7, 0}));
    known_results_release(&known);
    history_release(&history);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_that_agree_save_evaluations),
        cmocka_unit_test(results_that_disagree_do_no_harm),
        cmocka_unit_test(the_source_that_agrees_is_chosen),
    };
    return cmocka_run_group_tests(tests, make_bench, free_bench);
}
