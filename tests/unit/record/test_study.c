#include "record/study.h"

#include "unit/study_fixture.h"
#include "unit/test.h"

static struct study study; /* of the test that runs */

static int enter(void **state)
{
    fixture_study(&study);
    return 0;
}

static int leave(void **state)
{
    study_release(&study);
    return 0;
}

static void assert_ranking(const size_t expected[6])
{
    size_t indices[6];
    assert_int_equal(study.result_count, 6);
    study_rank(&study, indices);
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(indices[i], expected[i]);
}

UNIT_TEST_WITH(test_ranks_the_winner_then_by_time_then_the_rest_by_parameters, enter, leave)
{
    assert_ranking((const size_t[]){1, 3, 0, 4, 5, 2});
    study.has_winner = false;
    assert_ranking((const size_t[]){3, 1, 0, 4, 5, 2});
}

UNIT_TEST_WITH(test_ranks_compiled_variants_by_occupancy, enter, leave)
{
    const double occupancies[] = {0.5, 1, 0, 0.75, 0.5, 0};
    for (size_t i = 0; i < study.result_count; i++) {
        if (study.results[i].outcome != OUTCOME_COMPILE_ERROR)
            study.results[i].outcome = OUTCOME_COMPILED;
        study.results[i].stats.occupancy = occupancies[i];
    }
    study.has_winner = false;
    assert_ranking((const size_t[]){1, 3, 0, 4, 5, 2});
}

/* Its twin's time and figures, but no samples: these were taken once. */
UNIT_TEST_WITH(test_a_duplicate_has_what_was_measured_for_its_twin, enter, leave)
{
    fixture_duplicate(&study, 0);
    study_link_twins(&study);
    const struct result *twin = &study.results[0];
    const struct result *duplicate = &study.results[6];
    assert_int_equal(duplicate->twin, 0);
    assert_ptr_equal(study_run(&study, duplicate), twin);
    assert_ptr_equal(study_run(&study, twin), twin);
    assert_string_equal(duplicate->reason, "block_size=256 min_blocks=0 finish=two_pass scale=2.0");
    assert_true(duplicate->time.median_ns == twin->time.median_ns);
    assert_int_equal(duplicate->stats.registers, 40);
    assert_int_equal(duplicate->sample_count, 0);
    assert_int_equal(duplicate->runs, 1);
}

UNIT_TEST_WITH(test_a_duplicate_without_its_twin_has_no_time, enter, leave)
{
    fixture_duplicate(&study, 0);
    study.results[0].run_hash[0] = '\0';
    study_link_twins(&study);
    const struct result *duplicate = &study.results[6];
    assert_int_equal(duplicate->twin, study.result_count);
    assert_ptr_equal(study_run(&study, duplicate), duplicate);
    assert_string_equal(duplicate->reason, "as an earlier sweep had it");
    assert_int_equal(duplicate->time.count, 0);
}

/* A twin that failed leaves its duplicates without a time; of several twins, the first counts. */
UNIT_TEST_WITH(test_duplicates_follow_the_first_twin, enter, leave)
{
    for (size_t i = 2; i < 4; i++) /* a compile error and one that was measured */
        strcpy(study.results[i].run_hash, "ffeeddccbbaa99887766554433221100");
    fixture_duplicate(&study, 3);
    fixture_duplicate(&study, 0);
    study_link_twins(&study);
    assert_int_equal(study.results[6].twin, 2);
    assert_int_equal(study.results[6].time.count, 0);
    assert_int_equal(study.results[7].twin, 0);
    assert_int_equal(study_count(&study, OUTCOME_MEASURED), 3);
}
