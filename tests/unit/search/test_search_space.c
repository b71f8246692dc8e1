#include "base/alloc.h"
#include "base/clock.h"
#include "search/search_space.h"

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

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_field, free_field)

/* --- how large it is --- */

enum { DIMENSIONS = 4, VALUES = 40 };

/* Four parameters aa … dd of 0 … 39, and one constraint. The estimate is to be within `tolerance`
 * of the count. */
static void assert_estimate(const char *text, double tolerance)
{
    static const char *const names[DIMENSIONS] = {"aa", "bb", "cc", "dd"};
    struct parameter parameters[DIMENSIONS] = {0};
    const struct template template = {.parameters = parameters, .parameter_count = DIMENSIONS};
    struct value_list values[DIMENSIONS];
    struct bindings fixed = {0};
    struct expression *constraint = NULL;
    for (size_t i = 0; i < DIMENSIONS; i++) {
        parameters[i].name = (char *)(uintptr_t)names[i];
        assert_int_equal(value_list_parse(&values[i], "0..39", "test", 1, NULL), 0);
    }
    assert_int_equal(expression_new(&constraint, text, "test", 1, NULL), 0);
    const struct expression *const constraints[] = {constraint};
    struct space *counted = space_new(&template, values, constraints, 1, &fixed);
    struct space *estimated = space_new(&template, values, constraints, 1, &fixed);
    uint64_t count;
    double size;
    assert_int_equal(space_count(counted, UINT64_MAX - 1, &count, NULL), 0);
    assert_int_equal(space_size_estimate(estimated, values, DIMENSIONS, &size, NULL), 0);
    if (fabs(size - (double)count) > tolerance * (double)count)
        fail_msg("%s: %g estimated, %g counted", text, size, (double)count);
    space_free(counted);
    space_free(estimated);
    expression_free(constraint);
    for (size_t i = 0; i < DIMENSIONS; i++)
        value_list_release(&values[i]);
}

static void most_are_accepted(void **state)
{
    (void)state;
    assert_estimate("aa + bb + cc <= 60", 0.05);
    assert_estimate("(aa * bb + cc) % 7 == dd % 7", 0.1);
}

static void hardly_any_is_accepted(void **state)
{
    (void)state;
    assert_estimate("aa == bb * 13 + 1", 0.5);
    assert_estimate("aa + bb * 40 == 821", 0.5);
    assert_estimate("aa * bb * cc > 50000", 0.5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_point_is_equally_likely),
        TEST(the_only_point_is_found),
        TEST(a_space_without_points_is_empty),
        TEST(a_constraint_that_cannot_be_evaluated_is_an_error),
        TEST(a_space_of_a_billion_points_is_not_enumerated),
        cmocka_unit_test(most_are_accepted),
        cmocka_unit_test(hardly_any_is_accepted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
