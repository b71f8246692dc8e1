#include "base/alloc.h"

#include "record/compare.h"

#include "unit/test.h"

#include <math.h>

enum { SAMPLES = 200 };

/* --- Sets of winners --- */

static void fill_texts(struct tuned_entry *entry, const char *kernel, const char *gpu)
{
    entry->kernel = alloc_string(kernel);
    entry->gpu = alloc_string(gpu);
    entry->arch = alloc_string("sm_90");
    entry->cache = alloc_string("cold");
    entry->driver = alloc_string("13.0");
    entry->nvrtc = alloc_string("13.0");
    entry->template_hash = alloc_string("0123");
}

/* A winner as a tuned INI has it: no samples, an interval of +-1 %. */
static struct compare_item *add(struct compare_set *set, const char *kernel, int64_t n,
                                int64_t block_size, double median_ns)
{
    struct compare_item *item = ARRAY_APPEND(set->items, set->count);
    struct tuned_entry *entry = &item->entry;
    fill_texts(entry, kernel, "NVIDIA H200");
    bindings_set(&entry->problem, "n", value_integer(n));
    bindings_set(&entry->parameters, "block_size", value_integer(block_size));
    bindings_set(&entry->parameters, "load", value_word("cached"));
    entry->median_ns = median_ns;
    entry->low_ns = 0.99 * median_ns;
    entry->high_ns = 1.01 * median_ns;
    return item;
}

/* Raw samples: uniform within `spread` around the median, rounded to the timer's `step_ns`. */
static void sample(struct compare_item *item, double spread, double step_ns, uint64_t seed)
{
    double median_ns = item->entry.median_ns;
    item->samples_ns = alloc_zeroed(SAMPLES, sizeof *item->samples_ns);
    item->sample_count = SAMPLES;
    for (size_t i = 0; i < SAMPLES; i++) {
        double uniform = (double)(statistics_random(&seed) >> 11) / 9007199254740992.0;
        double ns = median_ns * (1 + spread * (2 * uniform - 1));
        item->samples_ns[i] = round(ns / step_ns) * step_ns;
    }
    struct summary summary = statistics_summarise(item->samples_ns, item->sample_count);
    item->entry.median_ns = summary.median_ns;
    item->entry.low_ns = summary.low_ns;
    item->entry.high_ns = summary.high_ns;
}

struct sides {
    struct compare_set a, b;
    struct comparison *comparisons;
    size_t count;
};

static void compare(struct sides *sides)
{
    sides->comparisons = compare_sets(&sides->a, &sides->b, &sides->count);
}

static void release(struct sides *sides)
{
    free(sides->comparisons);
    compare_set_release(&sides->a);
    compare_set_release(&sides->b);
}

/* The status of one kernel whose samples have these medians. */
static enum compare_status status_of(double a_ns, double b_ns, double spread, double step_ns)
{
    struct sides sides = {0};
    sample(add(&sides.a, "sum", 1024, 256, a_ns), spread, step_ns, 11);
    sample(add(&sides.b, "sum", 1024, 256, b_ns), spread, step_ns, 12);
    compare(&sides);
    assert_int_equal(sides.count, 1);
    assert_true(sides.comparisons[0].sampled);
    enum compare_status status = sides.comparisons[0].status;
    release(&sides);
    return status;
}

/* --- Times --- */

UNIT_TEST(test_samples_tell_a_difference_from_noise)
{
    assert_int_equal(status_of(20000, 20000, 0.02, 32), COMPARE_SAME);
    assert_int_equal(status_of(20000, 20600, 0.02, 32), COMPARE_SLOWER);
    assert_int_equal(status_of(20000, 19400, 0.02, 32), COMPARE_FASTER);
    /* 3 % more, but each run is good to 20 % only */
    assert_int_equal(status_of(20000, 20600, 0.8, 32), COMPARE_SAME);
}

UNIT_TEST(test_intervals_stand_in_for_samples)
{
    struct sides sides = {0};
    add(&sides.a, "sum", 1, 256, 20000);
    add(&sides.b, "sum", 1, 256, 20300); /* the intervals of +-1 % overlap */
    add(&sides.a, "sum", 2, 256, 20000);
    add(&sides.b, "sum", 2, 256, 22000);
    add(&sides.a, "sum", 3, 256, 20000);
    sample(add(&sides.b, "sum", 3, 256, 18000), 0.01, 32,
           5); /* one side's samples are not enough */
    compare(&sides);
    assert_int_equal(sides.count, 3);
    assert_int_equal(sides.comparisons[0].status, COMPARE_SAME);
    assert_int_equal(sides.comparisons[1].status, COMPARE_SLOWER);
    assert_int_equal(sides.comparisons[2].status, COMPARE_FASTER);
    assert_true(fabs(sides.comparisons[1].ratio.estimate - 1.1) < 1e-12);
    assert_true(fabs(sides.comparisons[1].ratio.low - 1.1 * 0.99 / 1.01) < 1e-12);
    assert_true(fabs(sides.comparisons[1].ratio.high - 1.1 * 1.01 / 0.99) < 1e-12);
    assert_false(sides.comparisons[2].sampled);
    release(&sides);
}

/* Halves of one run are the same, however often: no more than 1 in 20 may be told apart. */
UNIT_TEST(test_false_alarms_are_rare)
{
    int alarms = 0;
    for (uint64_t run = 1; run <= 100; run++) {
        struct sides sides = {0};
        sample(add(&sides.a, "sum", 1, 256, 20000), 0.1, 32, 1000 + run);
        sample(add(&sides.b, "sum", 1, 256, 20000), 0.1, 32, 9000 + run);
        compare(&sides);
        alarms += sides.comparisons[0].status != COMPARE_SAME;
        release(&sides);
    }
    assert_in_range(alarms, 0, 5);
}

/* --- What is compared with what --- */

static void set_cache(struct compare_item *item, const char *cache)
{
    free(item->entry.cache);
    item->entry.cache = alloc_string(cache);
}

/* Only what has no counterpart in its own cache state is compared with the other state. */
UNIT_TEST(test_cold_is_compared_with_cold)
{
    struct sides sides = {0};
    set_cache(add(&sides.a, "sum", 1, 256, 10000), "warm");
    add(&sides.a, "scan", 1, 256, 20000);
    add(&sides.b, "sum", 1, 256, 20000);
    set_cache(add(&sides.b, "sum", 1, 256, 10000), "warm");
    set_cache(add(&sides.b, "scan", 1, 256, 20000), "warm");
    compare(&sides);
    assert_int_equal(sides.count, 3);
    assert_ptr_equal(sides.comparisons[0].b, &sides.b.items[1]);
    assert_ptr_equal(sides.comparisons[1].b, &sides.b.items[2]);
    assert_ptr_equal(sides.comparisons[2].b, &sides.b.items[0]);
    assert_int_equal(sides.comparisons[2].status, COMPARE_ONLY_B);
    release(&sides);
}

static void add_tie(struct compare_item *item, const struct bindings *parameters)
{
    bindings_copy(ARRAY_APPEND(item->entry.ties, item->entry.tie_count), parameters);
}

UNIT_TEST(test_winners_of_one_tie_set_are_tied)
{
    struct sides sides = {0};
    add(&sides.a, "sum", 1, 256, 20000);
    struct compare_item *item = add(&sides.b, "sum", 1, 512, 20000);
    compare(&sides);
    assert_int_equal(sides.comparisons[0].configuration, COMPARE_DIFFERENT);
    free(sides.comparisons);
    add_tie(item, &sides.a.items[0].entry.parameters);
    compare(&sides);
    assert_int_equal(sides.comparisons[0].configuration, COMPARE_TIED);
    free(sides.comparisons);
    struct compare_set swapped = sides.a;
    sides.a = sides.b;
    sides.b = swapped;
    compare(&sides);
    assert_int_equal(sides.comparisons[0].configuration, COMPARE_TIED);
    release(&sides);
}
