#include "base/alloc.h"

#include "base/clock.h"
#include "search/search_space.h"

#include "unit/search_field.h"
#include "unit/test.h"

#include <math.h>
#include <sys/resource.h>
#include <time.h>

/* The points of the space, by enumeration. */
static struct point_table enumerate(struct search_space *space)
{
    struct point_table points = {.dimensions = search_space_dimensions(space)};
    uint32_t point[FIELD_PARAMETERS];
    struct error error;
    while (search_space_next(space, point, &error) == 1) {
        assert_int_equal(point_table_find(&points, point), POINT_NONE);
        (void)point_table_add(&points, point);
    }
    return points;
}

/* Pearson's statistic of `draws` draws against equal frequencies, per degree of freedom: 1 if they
 * are equal. Every draw must be a point of the space. */
static double unevenness(struct search_space *space, size_t draws)
{
    struct point_table points = enumerate(space);
    size_t *frequencies = alloc_zeroed(points.count, sizeof *frequencies);
    uint64_t random = 1;
    uint32_t point[FIELD_PARAMETERS];
    struct error error;
    for (size_t i = 0; i < draws; i++) {
        assert_int_equal(search_space_draw(space, &random, point, &error), 1);
        ptrdiff_t index = point_table_find(&points, point);
        assert_true(index != POINT_NONE);
        frequencies[index]++;
    }
    double expected = (double)draws / (double)points.count;
    double sum = 0;
    for (size_t i = 0; i < points.count; i++)
        sum += pow((double)frequencies[i] - expected, 2) / expected;
    double result = sum / (double)(points.count - 1);
    free(frequencies);
    point_table_release(&points);
    return result;
}

#define TEST(function) UNIT_TEST_WITH(function, make_field, free_field)

TEST(every_point_is_equally_likely)
{
    struct field *field = *state;
    add_parameter(field, "1, 2, 4, 8, 16");
    add_parameter(field, "1..10");
    add_parameter(field, "red, green");
    add_constraint(field, "pa * pb <= 16");
    double uneven = unevenness(open_space(field), 20000);
    assert_true(uneven > 0.4 && uneven < 1.6);
}

TEST(the_only_point_is_found)
{
    struct field *field = *state;
    for (int i = 0; i < 12; i++)
        add_parameter(field, "1..10");
    add_constraint(field, "pa + pb + pc + pd + pe + pf == 60");
    add_constraint(field, "pg + ph + pi + pj + pk + pl == 60");
    struct search_space *space = open_space(field);
    uint64_t random = 1;
    uint32_t point[FIELD_PARAMETERS];
    struct error error;
    for (int repeat = 0; repeat < 2; repeat++) {
        assert_int_equal(search_space_draw(space, &random, point, &error), 1);
        for (size_t i = 0; i < 12; i++)
            assert_int_equal(point[i], 9);
    }
}

TEST(a_space_without_points_is_empty)
{
    struct field *field = *state;
    add_parameter(field, "1..100");
    add_parameter(field, "1..100");
    add_constraint(field, "pa + pb == 1");
    struct search_space *space = open_space(field);
    uint64_t random = 1;
    uint32_t point[FIELD_PARAMETERS];
    struct error error;
    assert_int_equal(search_space_draw(space, &random, point, &error), 0);
    assert_int_equal(search_space_next(space, point, &error), 0);
}

TEST(a_constraint_that_cannot_be_evaluated_is_an_error)
{
    struct field *field = *state;
    add_parameter(field, "0");
    add_constraint(field, "1 % pa == 1");
    struct search_space *space = open_space(field);
    uint64_t random = 1;
    uint32_t point[1] = {0};
    struct error error;
    assert_int_equal(search_space_draw(space, &random, point, &error), ERROR_CONFIG);
    assert_int_equal(error.line, 10);
    assert_int_equal(search_space_has(space, point, &error), ERROR_CONFIG);
}

static double cpu_seconds(void)
{
    struct timespec now;
    assert_int_equal(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now), 0);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

TEST(a_space_of_a_billion_points_is_not_enumerated)
{
    struct field *field = *state;
    struct rusage before;
    struct rusage after;
    assert_int_equal(getrusage(RUSAGE_SELF, &before), 0);
    double start_s = cpu_seconds();
    for (int i = 0; i < 12; i++)
        add_parameter(field, "1, 2, 4, 8, 16, 32, 64");
    add_constraint(field, "pa * pb * pc * pd <= 1024");
    add_constraint(field, "pd * pe * pf * pg * ph * pi <= 4096");
    add_constraint(field, "(pj + pk + pl) % 3 == 0");
    struct search_space *space = open_space(field);
    uint64_t random = 1;
    uint32_t point[FIELD_PARAMETERS];
    struct error error;
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(search_space_draw(space, &random, point, &error), 1);
        assert_int_equal(search_space_has(space, point, &error), 1);
    }
    assert_int_equal(getrusage(RUSAGE_SELF, &after), 0);
    assert_true(after.ru_maxrss - before.ru_maxrss < 100L * 1024); /* KiB */
    assert_true(cpu_seconds() - start_s < 20);                     /* enumerating takes hours */
}

/* --- how large it is --- */

/* Four parameters of 0 … 39 and a constraint: the estimate is to be within `tolerance` of the count. */
TEST(test_estimates)
{
    static const struct {
        const char *constraint;
        double tolerance;
    } cases[] = {
        {"pa + pb + pc <= 60", 0.05},                                      /* most are accepted */
        {"(pa * pb + pc) % 7 == pd % 7", 0.1}, {"pa == pb * 13 + 1", 0.5}, /* hardly any is */
        {"pa + pb * 40 == 821", 0.5},          {"pa * pb * pc > 50000", 0.5},
    };
    struct field *field = *state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t count;
        double size;
        for (int j = 0; j < 4; j++)
            add_parameter(field, "0..39");
        add_constraint(field, cases[i].constraint);
        (void)open_space(field);
        const struct expression *const *constraints =
            (const struct expression *const *)field->constraints;
        struct space *counted =
            space_new(&field->template, field->values, constraints, 1, &field->fixed);
        struct space *estimated =
            space_new(&field->template, field->values, constraints, 1, &field->fixed);
        assert_int_equal(space_count(counted, UINT64_MAX - 1, &count, NULL), 0);
        assert_int_equal(space_size_estimate(estimated, field->values, 4, &size, NULL), 0);
        if (fabs(size - (double)count) > cases[i].tolerance * (double)count)
            fail_msg("%s: %g estimated, %g counted", cases[i].constraint, size, (double)count);
        space_free(counted);
        space_free(estimated);
        field_release(field);
    }
}
