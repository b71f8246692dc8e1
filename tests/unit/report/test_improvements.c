#include "report/report_text.h"

#include "unit/study_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static void add(struct study *study, enum outcome outcome, double median_ns, double seen_s)
{
    struct result *result = fixture_add(study, (int64_t)study->result_count, "two_pass", outcome);
    result->time.median_ns = median_ns;
    result->seen_s = seen_s;
}

static void those_that_were_faster_than_all_before_in_the_order_tried(void **state)
{
    (void)state;
    struct study study = {0};
    size_t count;
    add(&study, OUTCOME_MEASURED, 50, 4);
    add(&study, OUTCOME_MEASURED, 90, 2);
    add(&study, OUTCOME_WRONG_RESULT, 0, 1);
    add(&study, OUTCOME_MEASURED, 95, 3);
    add(&study, OUTCOME_MEASURED, 40, 5);
    add(&study, OUTCOME_MEASURED, 10, 0); /* it is not known when */
    struct improvement *improvements = improvements_of(&study, &count);
    assert_int_equal(count, 3);
    assert_ptr_equal(improvements[0].result, &study.results[1]);
    assert_int_equal(improvements[0].number, 2);
    assert_ptr_equal(improvements[1].result, &study.results[0]);
    assert_int_equal(improvements[1].number, 4);
    assert_ptr_equal(improvements[2].result, &study.results[4]);
    assert_int_equal(improvements[2].number, 5);
    free(improvements);
    study_release(&study);
}

static void none_if_nothing_was_measured(void **state)
{
    (void)state;
    struct study study = {0};
    size_t count;
    free(improvements_of(&study, &count));
    assert_int_equal(count, 0);
    add(&study, OUTCOME_FAULT, 0, 1);
    free(improvements_of(&study, &count));
    assert_int_equal(count, 0);
    study_release(&study);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(those_that_were_faster_than_all_before_in_the_order_tried),
        cmocka_unit_test(none_if_nothing_was_measured),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
