/* How many cores a process may use. */
#include "base/cores.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void only_cores_that_the_process_may_run_on_count(void **state)
{
    (void)state;
    cpu_set_t before;
    cpu_set_t one;
    assert_true(sched_getaffinity(0, sizeof before, &before) == 0);
    assert_int_equal(cores_usable(), CPU_COUNT(&before));

    size_t core = 0;
    while (!CPU_ISSET(core, &before))
        core++;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    assert_true(sched_setaffinity(0, sizeof one, &one) == 0);
    assert_int_equal(cores_usable(), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_cores_that_the_process_may_run_on_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
