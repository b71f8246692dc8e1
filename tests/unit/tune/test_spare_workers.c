#include "tune/spare_workers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void one_fault_alone_starts_none(void **state)
{
    (void)state;
    struct spare_workers spares = {0};
    assert_int_equal(spare_workers_heat(&spares), 0);
    assert_false(spare_workers_cool(&spares));
    assert_int_equal(spare_workers_heat(&spares), 0);
    assert_int_equal(spare_workers_heat(&spares), SPARE_WORKERS);
}

static void once_one_has_failed_there_are_no_more(void **state)
{
    (void)state;
    struct spare_workers spares = {.refused = true};
    for (int i = 0; i < 10; i++)
        assert_int_equal(spare_workers_heat(&spares), 0);
}

/* What was disturbed says nothing of whether variants fault. */
static void only_undisturbed_variants_cool(void **state)
{
    (void)state;
    struct spare_workers spares = {.heat = 2, .beside = 2};
    assert_true(spare_workers_cool(&spares));
    assert_true(spare_workers_cool(&spares));
    assert_int_equal(spares.heat, 2);
    assert_false(spare_workers_cool(&spares));
    assert_int_equal(spares.heat, 1);
}

static void one_without_memory_does_not_open_the_problem(void **state)
{
    (void)state;
    struct spare_worker with = {.opens = true};
    struct spare_worker without = {0};
    assert_string_equal(spare_worker_event(&with, 1), "opened");
    assert_string_equal(spare_worker_event(&with, 2), "waited");
    assert_null(spare_worker_event(&with, 3));
    assert_string_equal(spare_worker_event(&without, 0), "ready");
    assert_string_equal(spare_worker_event(&without, 1), "waited");
    assert_null(spare_worker_event(&without, 2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_fault_alone_starts_none),
        cmocka_unit_test(once_one_has_failed_there_are_no_more),
        cmocka_unit_test(only_undisturbed_variants_cool),
        cmocka_unit_test(one_without_memory_does_not_open_the_problem),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
