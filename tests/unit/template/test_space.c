#include "template/space.h"

#include "base/alloc.h"

#include "unit/cases.h"

#include <time.h>

#define PARAMETERS_MAX 8
#define CONSTRAINTS_MAX 8

/* A search space of its own: parameters a, b, c, … with lists, and constraints. */
struct field {
    struct template template;
    struct parameter parameters[PARAMETERS_MAX];
    struct value_list values[PARAMETERS_MAX];
    struct expression *constraints[CONSTRAINTS_MAX];
    size_t constraint_count;
    struct bindings fixed;
};

static const char *const letters[PARAMETERS_MAX] = {"aa", "bb", "cc", "dd", "ee", "ff", "gg", "hh"};

static int make_field(void **state)
{
    struct field *field = alloc_zeroed(1, sizeof *field);
    field->template.parameters = field->parameters;
    bindings_set(&field->fixed, "n", value_integer(1000));
    bindings_set(&field->fixed, "max_threads_per_sm", value_integer(2048));
    *state = field;
    return 0;
}

static void drop_constraints(struct field *field)
{
    for (size_t i = 0; i < field->constraint_count; i++)
        expression_free(field->constraints[i]);
    field->constraint_count = 0;
}

static void drop_parameters(struct field *field)
{
    for (size_t i = 0; i < field->template.parameter_count; i++)
        value_list_release(&field->values[i]);
    field->template.parameter_count = 0;
}

static int free_field(void **state)
{
    struct field *field = *state;
    drop_constraints(field);
    drop_parameters(field);
    bindings_release(&field->fixed);
    free(field);
    return 0;
}

static void add_parameter(struct field *field, const char *list)
{
    size_t index = field->template.parameter_count++;
    struct error error;
    field->parameters[index].name = letters[index];
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

static struct space *start(const struct field *field)
{
    return space_new(&field->template, field->values,
                     (const struct expression *const *)field->constraints, field->constraint_count,
                     &field->fixed);
}

/* All combinations as "aa=1 bb=2; aa=1 bb=3; ". */
static char *all(const struct field *field)
{
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    assert_non_null(stream);
    struct space *space = start(field);
    struct bindings parameters = {0};
    struct error error;
    int status;
    while ((status = space_next(space, &parameters, &error)) == 1) {
        char *line = bindings_text(&parameters);
        assert_true(fprintf(stream, "%s; ", line) > 0);
        free(line);
    }
    assert_int_equal(status, 0);
    assert_int_equal(space_next(space, &parameters, &error), 0); /* the end is the end */
    bindings_release(&parameters);
    space_free(space);
    assert_int_equal(fclose(stream), 0);
    return text;
}

static void assert_all(const struct field *field, const char *expected)
{
    char *text = all(field);
    assert_string_equal(text, expected);
    free(text);
}

static void add_parameters(struct field *field, const char *lists)
{
    char **parts;
    size_t count = text_split(lists, ';', &parts);
    for (size_t i = 0; i < count; i++)
        add_parameter(field, parts[i]);
    free(parts);
}

static void add_constraints(struct field *field, const char *texts)
{
    char **parts;
    size_t count = text_split(texts, ';', &parts);
    for (size_t i = 0; i < count; i++)
        add_constraint(field, parts[i]);
    free(parts);
}

/* The number of points, of those left, and of those that each constraint rejected; or the error. A new string. */
static char *counts(const struct field *field, bool *failed)
{
    struct space *space = start(field);
    struct error error = {0};
    int accepted = 0;
    int status;
    while ((status = space_skip(space, &error)) == 1)
        accepted++;
    uint64_t points = space_points(space);
    char *text = alloc_format("%llu points: %d", (unsigned long long)points, accepted);
    uint64_t rejected = 0;
    for (size_t i = 0; i < field->constraint_count; i++) {
        rejected += space_rejected_by(space, i);
        alloc_append(&text, " - %llu", (unsigned long long)space_rejected_by(space, i));
    }
    assert_true(rejected == space_rejected(space));
    *failed = status != 0;
    if (*failed) {
        free(text);
        assert_int_equal(status, ERROR_CONFIG);
        text = alloc_format("line %d of %s: %s", error.line, error.file, error.message);
    }
    space_free(space);
    return text;
}

static void check_case(void *user, const struct test_case *test)
{
    struct field *field = user;
    bool failed;
    add_parameters(field, test->fields[0]);
    add_constraints(field, test->fields[1]);
    char *text = counts(field, &failed);
    case_assert_text(test, text, test->fields[2]);
    free(text);
    if (!failed && test->count == 4) {
        text = all(field);
        case_assert_text(test, text, test->fields[3]);
        free(text);
    }
    drop_constraints(field);
    drop_parameters(field);
}

UNIT_TEST_WITH(spaces, make_field, free_field)
{
    cases_run(CASES, check_case, *state);
}

UNIT_TEST_WITH(points_saturate, make_field, free_field)
{
    struct field *field = *state;
    for (size_t i = 0; i < 5; i++)
        add_parameter(field, "1..4096");
    struct space *space = start(field);
    assert_int_equal(space_points(space), (uint64_t)1 << 60);
    space_free(space);
    add_parameter(field, "1..4096");
    space = start(field);
    assert_int_equal(space_points(space), INT64_MAX);
    struct error error;
    assert_int_equal(space_skip(space, &error), 1);
    space_free(space);
    add_constraint(field, "aa < 0");
    space = start(field);
    assert_int_equal(space_skip(space, &error), 0);
    assert_int_equal(space_rejected(space), INT64_MAX);
    space_free(space);
    space_free(NULL);
}

/* --- time --- */

UNIT_TEST_WITH(an_enumeration_that_time_ends_goes_on, make_field, free_field)
{
    struct field *field = *state;
    add_parameter(field, "1, 2, 3");
    add_parameter(field, "1, 2, 3");
    add_constraint(field, "aa + bb <= 4");
    struct space *space = start(field);
    struct error error;
    int accepted = 0;
    for (int i = 0; i < 100; i++) {
        space_limit(space, 0);
        assert_true(space_is_over(space));
        assert_int_equal(space_skip(space, &error), 0);
        space_limit(space, INT64_MAX);
        assert_false(space_is_over(space));
        if (space_skip(space, &error) != 1)
            break;
        accepted++;
    }
    assert_int_equal(accepted, 6);
    assert_int_equal(space_rejected(space), 3);
    space_free(space);
}

/* --- against brute force --- */

static uint32_t random_below(uint64_t *random, uint32_t bound)
{
    *random = *random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*random >> 33) % bound;
}

/* A constraint over one to three parameters, as "aa * cc + 3 <= 40". */
static void add_random_constraint(struct field *field, uint64_t *random)
{
    static const char *const operators[] = {" + ", " * ", " - ", " % "};
    static const char *const comparisons[] = {" <= ", " > ", " ~= ", " >= "};
    char text[128] = "";
    uint32_t terms = 1 + random_below(random, 3);
    for (uint32_t i = 0; i < terms; i++) {
        strcat(text, letters[random_below(random, (uint32_t)field->template.parameter_count)]);
        strcat(text, operators[random_below(random, 4)]);
    }
    size_t length = strlen(text);
    (void)snprintf(text + length, sizeof text - length, "%u%s%u", 1 + random_below(random, 9),
                   comparisons[random_below(random, 4)], random_below(random, 40));
    add_constraint(field, text);
}

static bool accepted(const struct field *field, const struct bindings *parameters)
{
    struct scope outside = {&field->fixed, NULL};
    struct scope scope = {parameters, &outside};
    for (size_t i = 0; i < field->constraint_count; i++) {
        bool holds;
        struct error error;
        assert_int_equal(expression_boolean(field->constraints[i], &scope, &holds, &error), 0);
        if (!holds)
            return false;
    }
    return true;
}

/* All combinations by counting, each tested whole. */
static char *brute_force(const struct field *field, uint64_t *points)
{
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    assert_non_null(stream);
    *points = 1;
    for (size_t i = 0; i < field->template.parameter_count; i++)
        *points *= field->values[i].count;
    for (uint64_t point = 0; point < *points; point++) {
        struct bindings parameters = {0};
        uint64_t below = *points;
        for (size_t i = 0; i < field->template.parameter_count; i++) {
            below /= field->values[i].count;
            bindings_set(&parameters, letters[i],
                         field->values[i].values[point / below % field->values[i].count]);
        }
        if (accepted(field, &parameters)) {
            char *line = bindings_text(&parameters);
            assert_true(fprintf(stream, "%s; ", line) > 0);
            free(line);
        }
        bindings_release(&parameters);
    }
    assert_int_equal(fclose(stream), 0);
    return text;
}

UNIT_TEST_WITH(as_brute_force_has_it, make_field, free_field)
{
    struct field *field = *state;
    uint64_t random = 20240607;
    for (int round = 0; round < 150; round++) {
        uint32_t parameters = 1 + random_below(&random, 5);
        uint32_t constraints = random_below(&random, 6);
        for (uint32_t i = 0; i < parameters; i++) {
            char list[32];
            (void)snprintf(list, sizeof list, "1..%u", 1 + random_below(&random, 5));
            add_parameter(field, list);
        }
        for (uint32_t i = 0; i < constraints; i++)
            add_random_constraint(field, &random);
        uint64_t points;
        char *expected = brute_force(field, &points);
        assert_all(field, expected);
        free(expected);

        struct space *space = start(field);
        struct error error;
        uint64_t count = 0;
        while (space_skip(space, &error) == 1)
            count++;
        assert_int_equal(space_points(space), points);
        assert_int_equal(count + space_rejected(space), points);
        space_free(space);
        drop_constraints(field);
        drop_parameters(field);
    }
}

/* A constraint over more combinations than are remembered is decided anew each time. */
UNIT_TEST_WITH(constraints_over_very_many_combinations, make_field, free_field)
{
    struct field *field = *state;
    add_parameter(field, "1..1024");
    add_parameter(field, "1..1025");
    add_constraint(field, "aa + bb >= 2049");
    assert_all(field, "aa=1024 bb=1025; ");
    drop_parameters(field);
    add_parameter(field, "1..1024");
    add_parameter(field, "1..1024");
    drop_constraints(field);
    add_constraint(field, "aa + bb >= 2048");
    assert_all(field, "aa=1024 bb=1024; ");
}

/* Seconds to enumerate the whole space, which has `points`; `*count` are left. */
static double enumerate(struct space *space, uint64_t points, uint64_t *count)
{
    struct timespec before;
    struct timespec after;
    struct error error;
    int status;
    *count = 0;
    assert_int_equal(clock_gettime(CLOCK_MONOTONIC, &before), 0);
    while ((status = space_skip(space, &error)) == 1)
        ++*count;
    assert_int_equal(clock_gettime(CLOCK_MONOTONIC, &after), 0);
    assert_int_equal(status, 0);
    assert_int_equal(space_points(space), points);
    assert_int_equal(*count + space_rejected(space), points);
    return (double)(after.tv_sec - before.tv_sec) + 1e-9 * (double)(after.tv_nsec - before.tv_nsec);
}

/* 10^7 points and five constraints; then one of them names every parameter, so that it is evaluated for every
 * point. The times are printed; the limit is for slow and busy machines and sanitizers (the goal, on a quiet one, is a
 * second). */
UNIT_TEST_WITH(ten_million_points, make_field, free_field)
{
    struct field *field = *state;
    static const struct {
        const char *constraints;
        uint64_t left;
        uint64_t rejected[5];
    } cases[] = {{"aa * bb * cc < 1000;"          /* 10^4 */
                  "bb + cc + dd + gg < 40;"       /* 10^3, of them 10^2 refused above */
                  "aa + ff + gg >= 4;"            /* 10^4 */
                  "dd * ee * gg < 1000;"          /* 10^4, of them 10^2 refused above */
                  "(aa + bb + cc + gg) % 2 >= 0", /* none */
                  10000000 - 30800,
                  {10000, 900, 10000, 9900, 0}},
                 {"aa * bb * cc * dd * ee * ff * gg < 10^7;" /* one */
                  "(bb + cc) % 2 == 0;"                      /* half */
                  "aa + ff + gg >= 4;"                       /* a thousandth of the half */
                  "dd <= 10 and ee > 0;"
                  "not (aa == 11) or bb == 12",
                  5000000 - 5000 - 1,
                  {1, 5000000, 5000, 0, 0}}};
    add_parameters(field, "1..10; 1..10; 1..10; 1..10; 1..10; 1..10; 1..10");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        add_constraints(field, cases[i].constraints);
        struct space *space = start(field);
        uint64_t count;
        double seconds = enumerate(space, 10000000, &count);
        print_message("10^7 points, 5 constraints: %.3f s\n", seconds);
        assert_int_equal(count, cases[i].left);
        for (size_t j = 0; j < 5; j++)
            assert_int_equal(space_rejected_by(space, j), cases[i].rejected[j]);
        assert_true(seconds < 30);
        space_free(space);
        drop_constraints(field);
    }
}

static uint64_t count_up_to(const struct field *field, uint64_t limit)
{
    struct space *space = start(field);
    uint64_t count;
    assert_int_equal(space_count(space, limit, &count, NULL), 0);
    space_free(space);
    return count;
}

/* 4096^3 points would take a minute to visit. */
UNIT_TEST_WITH(large_spaces_are_counted_at_once, make_field, free_field)
{
    struct field *field = *state;
    struct timespec began;
    struct timespec ended;
    assert_int_equal(clock_gettime(CLOCK_MONOTONIC, &began), 0);
    add_parameter(field, "1..4096");
    add_parameter(field, "1..4096");
    add_parameter(field, "1..4096");
    assert_true(count_up_to(field, UINT64_MAX - 1) == (uint64_t)1 << 36);
    add_constraint(field, "aa <= 3");
    assert_true(count_up_to(field, UINT64_MAX - 1) == (uint64_t)3 << 24);
    add_constraint(field, "aa + bb == 4");
    assert_int_equal(count_up_to(field, UINT64_MAX - 1), 3 * 4096);
    add_constraint(field, "cc > 4000");
    assert_int_equal(count_up_to(field, UINT64_MAX - 1), 3 * 96);
    assert_int_equal(count_up_to(field, 10), 11); /* there are more */
    assert_int_equal(clock_gettime(CLOCK_MONOTONIC, &ended), 0);
    assert_true(ended.tv_sec - began.tv_sec < 30);
}

UNIT_TEST_WITH(counting_agrees_with_visiting, make_field, free_field)
{
    struct field *field = *state;
    add_parameter(field, "1, 2, 3");
    add_parameter(field, "1, 2, 3");
    add_constraint(field, "aa + bb <= 4");
    assert_int_equal(count_up_to(field, 100), 6);
    add_parameter(field, "1, 2");
    assert_int_equal(count_up_to(field, 100), 12);
    add_constraint(field, "aa < 0");
    assert_int_equal(count_up_to(field, 100), 0);
}
