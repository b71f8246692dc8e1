#include "search/search_space.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "search/point_table.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include <cmocka.h>

#define PARAMETERS_MAX 16
#define CONSTRAINTS_MAX 4

/* A sweep's space: parameters pa, pb, pc, … with lists, and constraints. */
struct field {
    struct template template;
    struct parameter parameters[PARAMETERS_MAX];
    char names[PARAMETERS_MAX][3];
    struct value_list values[PARAMETERS_MAX];
    struct expression *constraints[CONSTRAINTS_MAX];
    size_t constraint_count;
    struct bindings fixed;
    struct search_space *space;
};

static int make_field(void **state)
{
    struct field *field = alloc_zeroed(1, sizeof *field);
    field->template.parameters = field->parameters;
    *state = field;
    return 0;
}

static int free_field(void **state)
{
    struct field *field = *state;
    search_space_free(field->space);
    for (size_t i = 0; i < field->constraint_count; i++)
        expression_free(field->constraints[i]);
    for (size_t i = 0; i < field->template.parameter_count; i++)
        value_list_release(&field->values[i]);
    free(field);
    return 0;
}

static void add_parameter(struct field *field, const char *list)
{
    size_t index = field->template.parameter_count++;
    struct error error;
    field->names[index][0] = 'p';
    field->names[index][1] = (char)('a' + (int)index);
    field->parameters[index].name = field->names[index];
    field->parameters[index].compiled = true;
    assert_int_equal(value_list_parse(&field->values[index], list, "s.ini", 1, &error), 0);
}

static void add_constraint(struct field *field, const char *text)
{
    struct error error;
    if (expression_new(&field->constraints[field->constraint_count], text, "s.ini",
                       (int)field->constraint_count + 10, &error) != 0)
        fail_msg("'%s': %s", text, error.message);
    field->constraint_count++;
}

static struct search_space *open_space(struct field *field)
{
    field->space = search_space_new(&field->template, field->values,
                                    (const struct expression *const *)field->constraints,
                                    field->constraint_count, &field->fixed);
    return field->space;
}

/* The points of the space, by enumeration. */
static struct point_table enumerate(struct search_space *space)
{
    struct point_table points = {.dimensions = search_space_dimensions(space)};
    uint32_t point[PARAMETERS_MAX];
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
    uint32_t point[PARAMETERS_MAX];
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

static void every_point_is_equally_likely(void **state)
{
    struct field *field = *state;
    add_parameter(field, "1, 2, 4, 8, 16");
    add_parameter(field, "1..10");
    add_parameter(field, "red, green");
    add_constraint(field, "pa * pb <= 16");
    double uneven = unevenness(open_space(field), 20000);
    assert_true(uneven > 0.4 && uneven < 1.6);
}

/* 40 points of 10^5 combinations, in branches of very different sizes: pa = 1 has 36 of them. */
static void of_few_points_none_is_much_likelier(void **state)
{
    struct field *field = *state;
    add_parameter(field, "1..10");
    add_parameter(field, "1..10");
    add_parameter(field, "1..10");
    add_parameter(field, "1..10");
    add_parameter(field, "1..10");
    add_constraint(field, "pa == 1 and pb <= 6 and pc <= 6 or pa <= 5 and pb == 1 and pc == 1");
    add_constraint(field, "pd == 1 and pe == 1");
    struct search_space *space = open_space(field);
    struct point_table points = enumerate(space);
    assert_int_equal(points.count, 40);
    size_t frequencies[40] = {0};
    uint64_t random = 7;
    uint32_t point[PARAMETERS_MAX];
    struct error error;
    for (int i = 0; i < 4000; i++) {
        assert_int_equal(search_space_draw(space, &random, point, &error), 1);
        frequencies[point_table_find(&points, point)]++;
    }
    for (size_t i = 0; i < points.count; i++) /* 100 would be even */
        assert_true(frequencies[i] > 50 && frequencies[i] < 200);
    point_table_release(&points);
}

static void the_only_point_is_found(void **state)
{
    struct field *field = *state;
    for (int i = 0; i < 12; i++)
        add_parameter(field, "1..10");
    add_constraint(field, "pa + pb + pc + pd + pe + pf == 60");
    add_constraint(field, "pg + ph + pi + pj + pk + pl == 60");
    struct search_space *space = open_space(field);
    uint64_t random = 1;
    uint32_t point[PARAMETERS_MAX];
    struct error error;
    for (int repeat = 0; repeat < 2; repeat++) {
        assert_int_equal(search_space_draw(space, &random, point, &error), 1);
        for (size_t i = 0; i < 12; i++)
            assert_int_equal(point[i], 9);
    }
}

static void a_space_without_points_is_empty(void **state)
{
    struct field *field = *state;
    add_parameter(field, "1..100");
    add_parameter(field, "1..100");
    add_constraint(field, "pa + pb == 1");
    struct search_space *space = open_space(field);
    uint64_t random = 1;
    uint32_t point[PARAMETERS_MAX];
    struct error error;
    assert_int_equal(search_space_draw(space, &random, point, &error), 0);
    assert_int_equal(search_space_next(space, point, &error), 0);
}

/* Of 10^20 points one is allowed, and no condition can be tested before all are bound. */
static void drawing_ends_in_time(void **state)
{
    struct field *field = *state;
    for (int i = 0; i < 10; i++)
        add_parameter(field, "1..100");
    add_constraint(field, "pa + pb + pc + pd + pe + pf + pg + ph + pi + pj == 1000");
    struct search_space *space = open_space(field);
    uint64_t random = 1;
    uint32_t point[PARAMETERS_MAX];
    struct error error;
    assert_false(search_space_is_over(space));
    search_space_limit(space, clock_ns() + 50000000);
    assert_int_equal(search_space_draw(space, &random, point, &error), 0);
    assert_true(search_space_is_over(space));
    assert_int_equal(search_space_next(space, point, &error), 0);
}

static void a_template_without_parameters_has_one_point(void **state)
{
    struct field *field = *state;
    add_constraint(field, "1 < 2");
    struct search_space *space = open_space(field);
    uint64_t random = 1;
    uint32_t point[1];
    struct error error;
    assert_int_equal(search_space_draw(space, &random, point, &error), 1);
    assert_int_equal(search_space_has(space, point, &error), 1);
    assert_int_equal(search_space_next(space, point, &error), 1);
    assert_int_equal(search_space_next(space, point, &error), 0);
}

static void a_constraint_that_cannot_be_evaluated_is_an_error(void **state)
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

static void a_space_of_a_billion_points_is_not_enumerated(void **state)
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
    uint32_t point[PARAMETERS_MAX];
    struct error error;
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(search_space_draw(space, &random, point, &error), 1);
        assert_int_equal(search_space_has(space, point, &error), 1);
    }
    assert_int_equal(getrusage(RUSAGE_SELF, &after), 0);
    assert_true(after.ru_maxrss - before.ru_maxrss < 100L * 1024); /* KiB */
    assert_true(cpu_seconds() - start_s < 20);                     /* enumerating takes hours */
}

static void points_and_values_are_the_same(void **state)
{
    struct field *field = *state;
    add_parameter(field, "1, 2, 4");
    add_parameter(field, "red, green");
    struct search_space *space = open_space(field);
    assert_true(search_space_parameter(space, 0)->ordered);
    assert_false(search_space_parameter(space, 1)->ordered);
    const uint32_t point[] = {2, 1};
    uint32_t back[2];
    struct bindings parameters = {0};
    search_space_bindings(space, point, &parameters);
    char *text = bindings_text(&parameters);
    assert_string_equal(text, "pa=4 pb=green");
    assert_true(search_space_point(space, &parameters, back));
    assert_memory_equal(point, back, sizeof point);
    bindings_set(&parameters, "pa", value_integer(3));
    assert_false(search_space_point(space, &parameters, back));
    free(text);
    bindings_release(&parameters);
}

static void listed_points_are_the_space(void **state)
{
    struct field *field = *state;
    add_parameter(field, "1, 2, 4");
    add_parameter(field, "red, green");
    const char *const names[] = {"pa", "pb"};
    const uint32_t points[] = {0, 0, 2, 1, 0, 0}; /* the last one is the first again */
    field->space = search_space_of_points(2, names, field->values, points, 3);
    const uint32_t other[] = {2, 0};
    struct error error;
    assert_int_equal(search_space_has(field->space, points + 2, &error), 1);
    assert_int_equal(search_space_has(field->space, other, &error), 0);
    struct point_table all = enumerate(field->space);
    assert_int_equal(all.count, 2);
    point_table_release(&all);
    search_space_rewind(field->space);
    double uneven = unevenness(field->space, 1000);
    assert_true(uneven < 8); /* 99.5 % of all seeds */
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_field, free_field)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_point_is_equally_likely),
        TEST(of_few_points_none_is_much_likelier),
        TEST(the_only_point_is_found),
        TEST(a_space_without_points_is_empty),
        TEST(a_template_without_parameters_has_one_point),
        TEST(a_constraint_that_cannot_be_evaluated_is_an_error),
        TEST(a_space_of_a_billion_points_is_not_enumerated),
        TEST(points_and_values_are_the_same),
        TEST(listed_points_are_the_space),
        TEST(drawing_ends_in_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
