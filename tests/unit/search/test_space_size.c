#include "search/space_size.h"

#include "base/alloc.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

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

static void without_constraints_all_points(void **state)
{
    (void)state;
    assert_estimate("aa >= 0", 1e-9);
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

static void none_is(void **state)
{
    (void)state;
    assert_estimate("aa < 0", 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_constraints_all_points),
        cmocka_unit_test(most_are_accepted),
        cmocka_unit_test(hardly_any_is_accepted),
        cmocka_unit_test(none_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
