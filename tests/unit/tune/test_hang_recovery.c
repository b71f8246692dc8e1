#include "tune/hang_recovery.h"

#include "tune/standby_worker.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void from_the_deadline_to_the_samples(void **state)
{
    (void)state;
    struct hang_recovery hangs = {0};
    hang_recovery_add(&hangs, 1000);
    hang_recovery_measured(&hangs, 1090);
    hang_recovery_measured(&hangs, 5000); /* follows no hang */
    assert_int_equal(hangs.count, 1);
    assert_int_equal(hangs.recovery_count, 1);
    assert_true(hangs.recoveries_ns[0] == 90);
    hang_recovery_release(&hangs);
}

static void time_in_which_nothing_is_asked_is_left_out(void **state)
{
    (void)state;
    struct hang_recovery hangs = {0};
    hang_recovery_add(&hangs, 1000);
    hang_recovery_idle(&hangs, 1080);
    hang_recovery_busy(&hangs, 3080);
    hang_recovery_busy(&hangs, 3085); /* a further request ends no idle time */
    hang_recovery_measured(&hangs, 3090);
    assert_true(hangs.recoveries_ns[0] == 90);
    hang_recovery_idle(&hangs, 4000); /* not after a hang */
    hang_recovery_add(&hangs, 5000);
    hang_recovery_measured(&hangs, 5100);
    assert_true(hangs.recoveries_ns[1] == 100);
    hang_recovery_release(&hangs);
}

static void what_fails_next_gives_no_figure(void **state)
{
    (void)state;
    struct hang_recovery hangs = {0};
    hang_recovery_add(&hangs, 1000);
    hang_recovery_failed(&hangs);
    hang_recovery_measured(&hangs, 1090);
    hang_recovery_add(&hangs, 2000);
    hang_recovery_add(&hangs, 4000); /* the next one hangs as well: the first has no successor */
    hang_recovery_measured(&hangs, 4070);
    assert_int_equal(hangs.count, 3);
    assert_int_equal(hangs.recovery_count, 1);
    assert_true(hangs.recoveries_ns[0] == 70);
    hang_recovery_release(&hangs);
}

static void a_quarter_of_the_deadline_is_overdue(void **state)
{
    (void)state;
    struct standby_worker standby = {0};
    assert_true(standby_worker_patience_s(&standby, 2) == 0.5);
    assert_false(standby_worker_settle(&standby, 0.1)); /* none was there */
    assert_true(standby_worker_patience_s(&standby, 2) == 0.5);
    assert_false(standby_worker_settle(&standby, 0.4));
    assert_true(standby_worker_patience_s(&standby, 2) == 0.8);
    assert_false(standby_worker_settle(&standby, 0.1));
    assert_true(standby_worker_patience_s(&standby, 2) == 0.8);
    assert_true(standby_worker_patience_s(&standby, 40) == 10);
}

static void all_that_was_under_way_ran_beside_it(void **state)
{
    (void)state;
    struct standby_worker standby = {.beside = 2};
    assert_true(standby_worker_settle(&standby, 1));
    assert_true(standby_worker_settle(&standby, 1));
    assert_false(standby_worker_settle(&standby, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(from_the_deadline_to_the_samples),
        cmocka_unit_test(time_in_which_nothing_is_asked_is_left_out),
        cmocka_unit_test(what_fails_next_gives_no_figure),
        cmocka_unit_test(a_quarter_of_the_deadline_is_overdue),
        cmocka_unit_test(all_that_was_under_way_ran_beside_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
