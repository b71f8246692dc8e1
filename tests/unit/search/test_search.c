#include "base/alloc.h"

#include "search/search.h"
#include "search/search_space.h"

#include "unit/search_field.h"
#include "unit/test.h"

#include <math.h>

enum { DIMENSIONS = 6 };

/* The shipped strategy and `random` on a space of 6 parameters, or fewer. */
struct bench {
    struct field field;
    struct search *search;
};

static int make_bench(void **state)
{
    *state = alloc_zeroed(1, sizeof(struct bench));
    return 0;
}

static int free_bench(void **state)
{
    struct bench *bench = *state;
    search_free(bench->search);
    field_release(&bench->field);
    free(bench);
    return 0;
}

/* Opens a space of these lists, which end with NULL, in place of the one before. */
static void open_lists(struct bench *bench, const char *const *lists, const char *constraint)
{
    field_release(&bench->field);
    for (; *lists != NULL; lists++)
        add_parameter(&bench->field, *lists);
    if (constraint != NULL)
        add_constraint(&bench->field, constraint);
    (void)open_space(&bench->field);
}

/* 31,250 points */
static void open_usual_space(struct bench *bench)
{
    static const char *const lists[DIMENSIONS + 1] = {
        "32, 64, 96, 128, 160, 192, 224, 256, 288, 320",
        "1, 2, 4, 8, 16",
        "1, 2, 3, 4, 5",
        "0, 1, 2, 3, 4",
        "red, green, blue, white, black",
        "1..5"};
    open_lists(bench, lists, NULL);
}

static void start(struct bench *bench, const char *strategy, uint64_t seed)
{
    const struct search_options options = {.strategy = search_strategy_find(strategy),
                                           .seed = seed};
    assert_non_null(options.strategy);
    search_free(bench->search);
    bench->search = search_new(bench->field.space, &options);
}

/* A time with interactions, an unordered parameter and failures; 100 at its fastest. */
static double time_of(const uint32_t *point)
{
    if (point[0] * point[1] > 28)
        return SEARCH_FAILED;
    double slow = 0.1 * fabs((double)point[0] - 3) + 0.2 * fabs((double)point[1] - 3) +
                  0.1 * fabs((double)point[2] + (double)point[3] - 5) + (point[4] == 2 ? 0 : 0.3) +
                  (point[0] % 2 == 1 ? 0 : 0.2);
    return 100 * exp(slow);
}

/* Proposes and tells `count` points, one at a time; returns the best time. */
static double run(struct bench *bench, size_t count, double (*measure)(const uint32_t *))
{
    double best = INFINITY;
    for (size_t i = 0; i < count; i++) {
        uint32_t point[DIMENSIONS];
        struct error error;
        assert_int_equal(search_propose(bench->search, 1, point, &error), 1);
        assert_int_equal(search_space_has(bench->field.space, point, &error), 1);
        search_tell(bench->search, point, measure(point));
        best = fmin(best, measure(point));
    }
    return best;
}

#define TEST(function) UNIT_TEST_WITH(function, make_bench, free_bench)

TEST(the_optimum_of_31250_points_is_found_in_150)
{
    struct bench *bench = *state;
    open_usual_space(bench);
    int found = 0;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        start(bench, NULL, seed);
        found += run(bench, 150, time_of) < 100.001;
    }
    assert_true(found >= 9);
}

static double never(const uint32_t *point)
{
    (void)point;
    return SEARCH_FAILED;
}

static double always_the_same(const uint32_t *point)
{
    (void)point;
    return 1000;
}

TEST(points_that_all_fail_or_are_all_alike_end_nothing)
{
    struct bench *bench = *state;
    open_usual_space(bench);
    start(bench, NULL, 1);
    assert_true(isinf(run(bench, 300, never)));
    (void)run(bench, 100, always_the_same);
    start(bench, NULL, 1);
    (void)run(bench, 300, always_the_same);
}

/* Until nothing is proposed, `batch` at a time; every point once. Returns how many. */
static size_t exhaust(struct bench *bench, size_t batch)
{
    struct point_table seen = {.dimensions = search_space_dimensions(bench->field.space)};
    uint32_t *points = alloc_zeroed(batch * DIMENSIONS, sizeof *points);
    struct error error;
    int proposed;
    do {
        proposed = search_propose(bench->search, batch, points, &error);
        assert_true(proposed >= 0);
        for (int i = 0; i < proposed; i++) {
            const uint32_t *point = points + (size_t)i * seen.dimensions;
            assert_int_equal(point_table_find(&seen, point), POINT_NONE);
            (void)point_table_add(&seen, point);
            search_tell(bench->search, point, 1000 + (double)point[0]);
        }
    } while (proposed == (int)batch);
    assert_int_equal(search_propose(bench->search, 1, points, &error), 0);
    size_t count = seen.count;
    point_table_release(&seen);
    free(points);
    return count;
}

TEST(every_point_is_proposed_exactly_once)
{
    struct bench *bench = *state;
    static const char *const lists[] = {"1..10", "1..10", "1..10", NULL};
    open_lists(bench, lists, "(pa + pb + pc) % 2 == 0");
    for (size_t i = 0; search_strategy_name(i) != NULL; i++) {
        start(bench, search_strategy_name(i), 5);
        assert_int_equal(exhaust(bench, 1), 500);
        start(bench, search_strategy_name(i), 5);
        assert_int_equal(exhaust(bench, 16), 500);
    }
}

TEST(spaces_of_one_point_and_of_none)
{
    struct bench *bench = *state;
    static const char *const lists[] = {"1..10", "7", NULL};
    for (size_t points = 0; points < 2; points++) {
        search_free(bench->search);
        bench->search = NULL;
        open_lists(bench, lists, points == 1 ? "pa == 3" : "pa == 11");
        for (size_t i = 0; search_strategy_name(i) != NULL; i++) {
            start(bench, search_strategy_name(i), 1);
            assert_int_equal(exhaust(bench, 4), points);
        }
    }
}

/* Proposals come in batches of 16, and are told 40 later and in another order. */
static double run_asynchronously(struct bench *bench, size_t count, struct point_table *proposed)
{
    double best = INFINITY;
    size_t told = 0;
    struct error error;
    while (told < count) {
        uint32_t points[16 * DIMENSIONS];
        if (proposed->count < count)
            assert_int_equal(search_propose(bench->search, 16, points, &error), 16);
        for (size_t i = 0; i < 16 && proposed->count < count; i++) {
            assert_int_equal(point_table_find(proposed, points + i * DIMENSIONS), POINT_NONE);
            (void)point_table_add(proposed, points + i * DIMENSIONS);
        }
        while (told + 40 < proposed->count || (proposed->count == count && told < count)) {
            const uint32_t *point = point_table_at(proposed, told ^ 1);
            search_tell(bench->search, point, time_of(point));
            best = fmin(best, time_of(point));
            told++;
        }
    }
    return best;
}

TEST(proposals_may_be_outstanding)
{
    struct bench *bench = *state;
    struct point_table proposed = {.dimensions = DIMENSIONS};
    open_usual_space(bench);
    start(bench, NULL, 3);
    assert_true(run_asynchronously(bench, 320, &proposed) < 105);
    point_table_release(&proposed);
}

TEST(the_same_seed_gives_the_same_proposals)
{
    struct bench *bench = *state;
    open_usual_space(bench);
    for (size_t s = 0; search_strategy_name(s) != NULL; s++) {
        struct point_table first = {.dimensions = DIMENSIONS};
        struct point_table second = {.dimensions = DIMENSIONS};
        struct point_table other = {.dimensions = DIMENSIONS};
        start(bench, search_strategy_name(s), 11);
        (void)run_asynchronously(bench, 160, &first);
        start(bench, search_strategy_name(s), 11);
        (void)run_asynchronously(bench, 160, &second);
        start(bench, search_strategy_name(s), 12);
        (void)run_asynchronously(bench, 160, &other);
        size_t bytes = (size_t)160 * DIMENSIONS * sizeof *first.points;
        assert_memory_equal(first.points, second.points, bytes);
        assert_memory_not_equal(first.points, other.points, bytes);
        point_table_release(&first);
        point_table_release(&second);
        point_table_release(&other);
    }
}

/* --- estimate --- */

enum { POINTS = 500 };

/* The best is point `best`; those before take twice as long, those after half as long again. */
static double estimate_after(size_t best, size_t count, size_t *in_vain)
{
    double times_ns[POINTS];
    for (size_t i = 0; i < count; i++)
        times_ns[i] = i < best ? 2000 : i == best ? 1000 : 1500;
    return search_estimate(times_ns, count, in_vain);
}

UNIT_TEST(the_longer_in_vain_the_nearer)
{
    size_t in_vain;
    assert_true(isnan(estimate_after(10, 50, &in_vain)));
    assert_int_equal(in_vain, 39);
    assert_true(estimate_after(10, 111, &in_vain) == 0.1);
    assert_true(estimate_after(10, 161, &in_vain) == 0.03);
    assert_true(estimate_after(10, 411, &in_vain) == 0.01);
    assert_int_equal(in_vain, 400);
    assert_true(isnan(estimate_after(490, 500, &in_vain)));
}

UNIT_TEST(nothing_is_said_of_nothing)
{
    double times_ns[POINTS];
    size_t in_vain;
    for (size_t i = 0; i < POINTS; i++)
        times_ns[i] = INFINITY;
    assert_true(isnan(search_estimate(times_ns, POINTS, &in_vain)));
    assert_true(isnan(search_estimate(times_ns, 0, &in_vain)));
}
