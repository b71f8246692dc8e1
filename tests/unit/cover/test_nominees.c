#include "cover/nominees.h"

#include "base/alloc.h"
#include "cover/selection.h"

#include "unit/test.h"

enum { SIZES = 3 };

static const int64_t values[SIZES] = {1024, 4096, 16384};

/* Studies of a parameter `block` at these sizes, of a space of `points` variants. */
static struct scene {
    struct study studies[SIZES];
    struct sizes sizes;
    struct nominees nominees;
    struct nominees refuted;
} scene;

static void scene_init(uint64_t points)
{
    scene = (struct scene){.sizes = {.axes = 1}};
    for (size_t i = 0; i < SIZES; i++) {
        (void)sizes_add(&scene.sizes, &values[i]);
        scene.studies[i].points = points;
    }
}

static int leave(void **state)
{
    for (size_t i = 0; i < SIZES; i++)
        study_release(&scene.studies[i]);
    sizes_release(&scene.sizes);
    nominees_release(&scene.nominees);
    nominees_release(&scene.refuted);
    return 0;
}

/* A time of 0 is a wrong result. */
static void add(size_t size, int64_t block, double time_ns)
{
    struct study *study = &scene.studies[size];
    struct result *result = ARRAY_APPEND(study->results, study->result_count);
    bindings_set(&result->parameters, "block", value_integer(block));
    result->outcome = time_ns > 0 ? OUTCOME_MEASURED : OUTCOME_WRONG_RESULT;
    result->time.median_ns = time_ns;
}

static int64_t block_of(size_t nominee)
{
    return bindings_find(&scene.nominees.items[nominee], "block")->as.integer;
}

static bool nominate(size_t limit)
{
    return nominees_nominate(&scene.nominees, &scene.refuted, scene.studies, &scene.sizes, limit,
                             limit);
}

UNIT_TEST_WITH(test_what_is_refuted_is_not_nominated, NULL, leave)
{
    scene_init(3);
    for (size_t i = 0; i < SIZES; i++) {
        add(i, 64, i < 2 ? 100 : 0);
        add(i, 128, 200);
        add(i, 256, 210);
    }
    (void)nominees_add(&scene.refuted, &scene.studies[0].results[0].parameters);
    assert_true(nominate(8));
    assert_int_equal(scene.nominees.count, 2); /* the third is near the fastest of the others */
    assert_int_equal(block_of(0), 128);
    assert_int_equal(block_of(1), 256);
}

UNIT_TEST_WITH(test_the_fastest_of_each_size_are_nominated, NULL, leave)
{
    scene_init(4);
    for (size_t i = 0; i < SIZES; i++) {
        add(i, 64, i == 0 ? 100 : 200);
        add(i, 128, i == 0 ? 120 : 150); /* second, but needed nowhere */
        add(i, 256, 140);
        add(i, 512, 300); /* far behind */
    }
    assert_true(nominate(8));
    assert_int_equal(scene.nominees.count, 3);
    assert_int_equal(block_of(0) + block_of(1), 64 + 256);
    assert_int_equal(block_of(2), 128);
    assert_false(nominate(8)); /* nothing new */
}

/* First those that lose least together, then the second of each size. */
UNIT_TEST_WITH(test_the_limit_leaves_out_lower_ranks, NULL, leave)
{
    scene_init(1000);
    for (size_t i = 0; i < SIZES; i++)
        for (int64_t rank = 0; rank < 4; rank++)
            add(i, 1000 * (rank + 1) + (int64_t)i, 100 + (double)rank);
    assert_true(nominate(5));
    assert_int_equal(scene.nominees.count, 5);
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(block_of(i) / 1000, i < SIZES ? 1 : 2);
}

UNIT_TEST_WITH(test_a_winner_that_was_not_tried_elsewhere_is_nominated, NULL, leave)
{
    scene_init(1000);
    for (size_t i = 0; i < SIZES; i++)
        add(i, 64, 100);
    add(1, 512, 80);
    assert_true(nominate(8));
    assert_int_equal(scene.nominees.count, 2);
    assert_int_equal(block_of(0) + block_of(1), 64 + 512);
}

UNIT_TEST_WITH(test_times_tell_failed_from_not_tried, NULL, leave)
{
    scene_init(2);
    add(0, 64, 100);
    add(0, 128, 0);
    add(1, 64, 100); /* 128 was not tried: one of two points */
    add(2, 64, 100); /* a constraint rules 128 out */
    scene.studies[2].rejected = 1;
    struct bindings parameters = {0};
    for (int64_t block = 64; block <= 128; block *= 2) {
        bindings_set(&parameters, "block", value_integer(block));
        assert_true(nominees_add(&scene.nominees, &parameters));
    }
    double *times = nominees_times(&scene.nominees, scene.studies, SIZES);
    assert_true(times[0] == 100 && times[1] == 100 && times[2] == 100);
    assert_true(times[SIZES] == TIME_FAILED);
    assert_true(times[SIZES + 1] == TIME_MISSING);
    assert_true(times[SIZES + 2] == TIME_RULED_OUT);
    free(times);
    bindings_release(&parameters);
}
