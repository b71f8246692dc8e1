/* Covers in the look-up of applications: what decides inside and outside of their range. */
#include "autotune/tuned.h"

#include "base/alloc.h"

#include "unit/cover_fixture.h"
#include "unit/scratch.h"
#include "unit/test.h"

#include <math.h>
#include <time.h>

static const struct tuned_gpu alpha = {"Alpha", 80, 100, 1000, 0};

/* An entry for one size. */
#define ENTRY(n, block)                                                                            \
    "[sum " n "]\nkernel = sum\ntemplate = sum\n" COVER_GPU "problem.type = float\nproblem.n = " n \
    "\nparameter.block_size = " block "\n"

static struct tuned_table *load(const char *text)
{
    struct tuned_table *table;
    struct tuned_error error = {0};
    if (tuned_load_text(&table, "cover.ini", text, strlen(text), &error) != 0 ||
        error.message[0] != '\0')
        fail_msg("%s:%d: %s", error.file, error.line, error.message);
    return table;
}

/* The block size that `n` numbers get; 0 if they get none. */
static int64_t find_with(const struct tuned_table *table, const struct tuned_gpu *gpu, int64_t n,
                         struct tuned_query *query, struct tuned_match *match)
{
    struct tuned_value problem[] = {tuned_integer("n", n), tuned_word("type", "float")};
    query->kernel = "sum";
    query->gpu = gpu;
    query->problem = problem;
    query->problem_count = 2;
    int code = tuned_find(table, query, match);
    query->problem = NULL;
    query->problem_count = 0;
    assert_int_equal(code, match->rule == TUNED_NOTHING ? TUNED_NOT_FOUND : 0);
    return tuned_integer_of(match, "block_size", 0);
}

static int64_t find(const struct tuned_table *table, int64_t n, struct tuned_match *match)
{
    struct tuned_query query = {0};
    return find_with(table, &alpha, n, &query, match);
}

static void test_the_nearest_measured_sizes_decide(void **state)
{
    (void)state;
    struct tuned_table *table = load(COVER);
    const struct {
        int64_t n, block_size;
        size_t size;
    } cases[] = {
        {1024, 128, 0},   {8000, 128, 0},   {8400, 128, 1},    {65536, 128, 1},
        {200000, 128, 1}, {300000, 512, 2}, {1048576, 512, 2},
    };
    struct tuned_match match;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(find(table, cases[i].n, &match), cases[i].block_size);
        assert_int_equal(match.rule, TUNED_COVER);
        assert_int_equal(match.from->number, cases[i].block_size == 128 ? 1 : 2);
        assert_ptr_equal(match.size, &match.from->cover->sizes[cases[i].size]);
        assert_false(match.outside);
        assert_true(match.size_distance <= 0);
    }
    tuned_free(table);
}

/* Configuration 2 takes tiles of 512: between whole numbers of them, only the estimate tells. */
static void test_an_estimate_tells_what_happens_between_measured_sizes(void **state)
{
    (void)state;
    static const char *const estimates[] = {
        "", "figure.tiles = ceil_div(n, block_size)\nestimate = tiles * block_size\n",
        "estimate = 1 / ((n - 1600) * (n - 1600))\n"};
    static const int64_t block_sizes[][3] = {{512, 512, 512}, {512, 128, 128}, {512, 512, 0}};
    for (size_t i = 0; i < sizeof estimates / sizeof *estimates; i++) {
        struct tuned_match match;
        char *text =
            alloc_format("%s%s", COVER_TOP COVER_RANGE COVER_CONFIGURATIONS_2, estimates[i]);
        alloc_append(&text, "measured.1 = n=1024: 2.2 2 us\nmeasured.2 = n=4096: 8.8 8 us\n");
        struct tuned_table *table = load(text);
        assert_int_equal(find(table, 1536, &match), block_sizes[i][0]);
        assert_int_equal(find(table, 1537, &match), block_sizes[i][1]);
        assert_int_equal(find(table, 1600, &match), block_sizes[i][2]);
        tuned_free(table);
        free(text);
    }
}

/* What failed at the nearest size is not expected to work; what was not measured there is expected as it was
 * elsewhere. */
static void test_configurations_without_a_time_at_the_nearest_size(void **state)
{
    (void)state;
    static const struct {
        const char *measured;
        int64_t block_size;
    } cases[] = {
        {"measured.1 = n=1024: 2 1 us\nmeasured.2 = n=4096: 4 failed us\n", 128},
        {"measured.1 = n=1024: 2 1 us\nmeasured.2 = n=4096: 4 - us\n", 512},
        {"measured.1 = n=1024: 1 2 us\nmeasured.2 = n=4096: 4 - us\n", 128},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tuned_match match;
        char *text =
            alloc_format("%s%s", COVER_TOP COVER_RANGE COVER_CONFIGURATIONS_2, cases[i].measured);
        struct tuned_table *table = load(text);
        assert_int_equal(find(table, 4096, &match), cases[i].block_size);
        assert_ptr_equal(match.size, &match.from->cover->sizes[cases[i].block_size == 128]);
        tuned_free(table);
        free(text);
    }
}

static void test_so_it_does_outside_the_range(void **state)
{
    (void)state;
    struct tuned_table *table = load(COVER);
    struct tuned_match match;
    assert_int_equal(find(table, 1048577, &match), 512);
    assert_int_equal(match.rule, TUNED_OUTSIDE_COVER);
    assert_true(match.outside);
    assert_ptr_equal(match.size, &match.from->cover->sizes[2]);
    assert_true(match.size_distance > 0 && match.size_distance < 1e-5);
    assert_int_equal(find(table, 1, &match), 128);
    assert_int_equal(match.rule, TUNED_OUTSIDE_COVER);
    assert_true(fabs(match.size_distance - log2(1025 / 2.0)) < 1e-9);
    tuned_free(table);
}

static void test_what_the_constraint_excludes_gets_nothing_in_the_range_or_not(void **state)
{
    (void)state;
    struct tuned_match match;
    struct tuned_table *table = load(
        COVER_TOP COVER_RANGE
        "constraint = n % 2 == 0 and 10 / (n - 2000) ~= 1\n" COVER_CONFIGURATIONS_2 COVER_MEASURED);
    assert_int_equal(find(table, 2048, &match), 128);
    assert_int_equal(match.rule, TUNED_COVER);
    assert_int_equal(find(table, 2049, &match), 0);
    assert_int_equal(match.refused_problems, 2);
    assert_int_equal(find(table, 2000, &match), 0); /* a division by zero */
    assert_int_equal(find(table, 1048578, &match), 512);
    assert_int_equal(match.rule, TUNED_OUTSIDE_COVER);
    assert_int_equal(find(table, 1048577, &match), 0);
    tuned_free(table);
}

/* Configuration 2, which is the fastest of the largest size, takes multiples of 64. */
static void test_only_what_is_allowed_is_chosen_in_the_range_or_not(void **state)
{
    (void)state;
    struct tuned_match match;
    struct tuned_table *table =
        load(COVER_TOP COVER_RANGE
             "allowed.1 = block_size == 128 or n % 64 == 0\n" COVER_CONFIGURATIONS_2 COVER_LOSS
                 COVER_MEASURED);
    for (int64_t n = 1048576 - 64; n <= 1048576 + 64; n += 64) {
        assert_int_equal(find(table, n, &match), 512);
        assert_int_equal(find(table, n + 1, &match), 128);
        assert_int_equal(match.rule, n < 1048576 ? TUNED_COVER : TUNED_OUTSIDE_COVER);
    }
    tuned_free(table);
    table = load(COVER_TOP COVER_RANGE
                 "allowed.1 = n % block_size == 0\nallowed.2 = blocks_per_sm * sm_count > "
                 "registers\n" COVER_CONFIGURATIONS_2
                 "compiled.1.registers = 30\ncompiled.1.blocks_per_sm = 1\n"
                 "compiled.2.registers = 30\ncompiled.2.blocks_per_sm = 1\n" COVER_MEASURED);
    assert_int_equal(find(table, 1048576, &match), 512);
    assert_int_equal(find(table, 1048576 + 128, &match), 128);
    assert_int_equal(find(table, 1024 + 1, &match), 0);
    assert_int_equal(match.refused_problems, 2);
    const struct tuned_gpu small = {"Alpha Minus", 80, 30, 1000, 0};
    struct tuned_query query = {0};
    assert_int_equal(find_with(table, &small, 1048576, &query, &match), 0); /* its own SMs count */
    tuned_free(table);
}

static void test_a_size_that_was_tuned_itself_comes_before_the_cover(void **state)
{
    (void)state;
    struct tuned_table *table = load(ENTRY("8192", "64") COVER ENTRY("4194304", "32"));
    struct tuned_match match;
    assert_int_equal(find(table, 8192, &match), 64);
    assert_int_equal(match.rule, TUNED_EXACT);
    assert_int_equal(find(table, 8193, &match), 128); /* however near the entry is */
    assert_int_equal(match.rule, TUNED_COVER);
    assert_int_equal(find(table, 1100000, &match), 512); /* outside, the nearer one */
    assert_int_equal(match.rule, TUNED_OUTSIDE_COVER);
    assert_int_equal(find(table, 4000000, &match), 32);
    assert_int_equal(match.rule, TUNED_NEAREST_SIZE);
    assert_int_equal(match.candidates, 4);
    tuned_free(table);
}

/* Also if the one with more ranges comes first in the file. */
static void test_of_two_covers_the_one_with_fewer_ranges_decides(void **state)
{
    (void)state;
    struct tuned_table *table =
        load(COVER_TOP COVER_RANGE
             "range.batch = 1 .. 8\n" COVER_CONFIGURATIONS_2 "measured.1 = n=1024 batch=1: 2 3 us\n"
             "[sum 0000c0e5]\nkernel = sum\ntemplate = sum\n" COVER_GPU
             "cover = 3\nproblem.batch = 3\n" COVER_RANGE COVER_CONFIGURATIONS_2
             "measured.1 = n=1024: 3 2 us\n");
    for (int64_t batch = 2; batch <= 3; batch++) {
        const struct tuned_value problem[] = {tuned_integer("n", 2048), tuned_word("type", "float"),
                                              tuned_integer("batch", batch)};
        const struct tuned_query query = {
            .kernel = "sum", .gpu = &alpha, .problem = problem, .problem_count = 3};
        struct tuned_match match;
        assert_int_equal(tuned_find(table, &query, &match), 0);
        assert_int_equal(match.rule, TUNED_COVER);
        assert_int_equal(tuned_integer_of(&match, "block_size", 0), batch == 3 ? 512 : 128);
    }
    tuned_free(table);
}

static void test_the_caller_limits_covers(void **state)
{
    (void)state;
    struct tuned_table *table = load(COVER ENTRY("4194304", "32"));
    struct tuned_match match;
    struct tuned_query query = {.limit = TUNED_EXACT};
    assert_int_equal(find_with(table, &alpha, 8192, &query, &match), 0);
    assert_int_equal(match.refused_gpus, 3);
    query.limit = TUNED_COVER;
    assert_int_equal(find_with(table, &alpha, 8192, &query, &match), 128);
    assert_int_equal(find_with(table, &alpha, 2000000, &query, &match), 0);
    query.limit = TUNED_OUTSIDE_COVER;
    assert_int_equal(find_with(table, &alpha, 2000000, &query, &match), 512);
    assert_int_equal(find_with(table, &alpha, 4194305, &query, &match), 512);
    query.limit = TUNED_NEAREST_SIZE;
    assert_int_equal(find_with(table, &alpha, 4194305, &query, &match), 32);
    tuned_free(table);
}

static void test_another_gpu_gets_the_cover_too(void **state)
{
    (void)state;
    struct tuned_table *table = load(ENTRY("204800", "64") COVER);
    struct tuned_gpu larger = {"Alpha Plus", 80, 200, 1000, 0};
    struct tuned_gpu family = {"Beta", 86, 100, 1000, 0};
    struct tuned_gpu stranger = {"Gamma", 90, 100, 1000, 0};
    struct tuned_query query = {0};
    struct tuned_match match;
    assert_int_equal(find_with(table, &larger, 524288, &query, &match), 512);
    assert_int_equal(match.rule, TUNED_NEAREST_GPU);
    assert_false(match.outside);
    assert_true(fabs(match.gpu_distance - 0.5) < 1e-9); /* twice the SMs, the same L2 */
    assert_int_equal(find_with(table, &larger, 4000000, &query, &match), 512);
    assert_true(match.outside);
    assert_int_equal(find_with(table, &family, 524288, &query, &match), 512);
    assert_int_equal(match.rule, TUNED_SAME_FAMILY);
    assert_int_equal(find_with(table, &stranger, 524288, &query, &match), 0);
    assert_int_equal(match.refused_gpus, 3);
    tuned_free(table);
}

static void test_a_cover_is_for_its_own_words_and_version(void **state)
{
    (void)state;
    struct tuned_table *table = load(COVER);
    struct tuned_value problem[] = {tuned_integer("n", 8192), tuned_word("type", "double"),
                                    tuned_integer("rows", 3)};
    struct tuned_query query = {
        .kernel = "sum", .gpu = &alpha, .problem = problem, .problem_count = 2};
    struct tuned_match match;
    assert_int_equal(tuned_find(table, &query, &match), TUNED_NOT_FOUND);
    assert_int_equal(match.refused_problems, 2);
    problem[1] = tuned_word("type", "float");
    query.problem_count = 3; /* a value that the cover does not have */
    assert_int_equal(tuned_find(table, &query, &match), TUNED_NOT_FOUND);
    query.problem_count = 0; /* the number is needed */
    assert_int_equal(tuned_find(table, &query, &match), TUNED_NOT_FOUND);
    query.problem_count = 1;
    assert_int_equal(tuned_find(table, &query, &match), 0);
    const struct tuned_value unknown = tuned_real("n", NAN);
    query.problem = &unknown;
    assert_int_equal(tuned_find(table, &query, &match), TUNED_NOT_FOUND);
    const struct tuned_value infinite = tuned_real("n", INFINITY);
    query.problem = &infinite;
    assert_int_equal(tuned_find(table, &query, &match), 0);
    assert_int_equal(match.rule, TUNED_OUTSIDE_COVER);
    assert_ptr_equal(match.size, &match.from->cover->sizes[match.from->cover->size_count - 1]);
    query.problem = problem;
    query.template_hash = "fedcba9876543210fedcba9876543210";
    assert_int_equal(tuned_find(table, &query, &match), TUNED_NOT_FOUND);
    assert_int_equal(match.refused_versions, 2);
    query.accept_other_versions = 1;
    assert_int_equal(tuned_find(table, &query, &match), 0);
    assert_true(match.other_version);
    tuned_free(table);
}

static void test_what_a_cover_says_of_itself(void **state)
{
    (void)state;
    struct tuned_table *table = load(COVER);
    struct tuned_match match;
    assert_int_equal(tuned_count(table), 2);
    assert_int_equal(find(table, 8192, &match), 128);
    const struct tuned_cover *cover = match.from->cover;
    assert_ptr_equal(cover, tuned_at(table, 1)->cover);
    assert_int_equal(cover->count, 2);
    assert_string_equal(cover->configurations[1].parameters[1].text, "two_pass");
    assert_int_equal(cover->range_count, 1);
    assert_string_equal(cover->ranges[0].name, "n");
    assert_true(cover->ranges[0].low >= 1024 && cover->ranges[0].high <= 1048576);
    assert_null(cover->constraint);
    assert_true(fabs(cover->worst_loss_percent - 2.25) < 1e-9);
    assert_int_equal(cover->held_out_sizes, 7);
    assert_int_equal(cover->size_count, 3);
    assert_int_equal(cover->sizes[2].fastest, 1);
    assert_true(fabs(cover->sizes[1].times_ns[0] - 3000.5) < 1e-9);
    assert_true(fabs(cover->sizes[1].times_ns[1] - 3600) < 1e-9);
    tuned_free(table);
}

static void test_explanations_of_covers(void **state)
{
    (void)state;
    struct tuned_table *table = load(COVER);
    struct tuned_value problem[] = {tuned_integer("n", 8192), tuned_word("type", "float")};
    struct tuned_query query = {
        .kernel = "sum", .gpu = &alpha, .problem = problem, .problem_count = 2};
    struct tuned_match match;
    char text[512];
    assert_int_equal(tuned_find(table, &query, &match), 0);
    (void)tuned_explain(&query, &match, text, sizeof text);
    assert_string_equal(
        text, "sum for n=8192 type=float on Alpha: [sum 0000c0e4] of Alpha, configuration 1 of its "
              "cover, type=float (same GPU, in the range of a cover, by the nearest measured "
              "sizes, expected loss 0.5 %, worst 2.25 %)");
    problem[0] = tuned_integer("n", 1 << 21);
    assert_int_equal(tuned_find(table, &query, &match), 0);
    (void)tuned_explain(&query, &match, text, sizeof text);
    assert_string_equal(
        text, "sum for n=2097152 type=float on Alpha: [sum 0000c0e4] of Alpha, configuration 2 of "
              "its cover, type=float (same GPU, outside the range of a cover, by the nearest "
              "measured sizes, size distance 1.00)");
    tuned_free(table);
}

/* --- edits by hand, and newer versions --- */

static void test_a_cover_that_is_wrong_is_skipped_with_a_message(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        {COVER_TOP COVER_RANGE "constraint = m < 2\n" COVER_CONFIGURATIONS_2 COVER_MEASURED,
         "'m < 2' of key 'constraint': unknown name 'm'"},
        {COVER_TOP COVER_RANGE
         "constraint = block_size < 2\n" COVER_CONFIGURATIONS_2 COVER_MEASURED,
         "'block_size < 2' of key 'constraint': unknown name 'block_size'"},
        {COVER_TOP COVER_RANGE "allowed.1 = wavs < 2\n" COVER_CONFIGURATIONS_2 COVER_MEASURED,
         "'wavs < 2' of key 'allowed.1': unknown name 'wavs'"},
        {COVER_TOP COVER_RANGE "allowed.1 = n <\n" COVER_CONFIGURATIONS_2 COVER_MEASURED,
         "key 'allowed.1': cannot parse expression 'n <': expected a value at the end"},
        {COVER_TOP COVER_RANGE "allowed.2 = n > 1\n" COVER_CONFIGURATIONS_2 COVER_MEASURED,
         "key 'allowed.2' is out of order; they are numbered from 1"},
        {COVER_TOP COVER_RANGE COVER_CONFIGURATIONS_2 "rule = nearest\n" COVER_MEASURED,
         "unknown key 'rule' in a cover; a newer autotune may have written it"},
        {COVER_TOP COVER_RANGE COVER_CONFIGURATIONS_2 "estimate = tiles\n" COVER_MEASURED,
         "'tiles' of key 'estimate': unknown name 'tiles'"},
        {COVER_TOP COVER_RANGE COVER_CONFIGURATIONS_2
         "figure.a = b + 1\nfigure.b = n\nestimate = a\n" COVER_MEASURED,
         "'b + 1' of key 'figure.a': unknown name 'b'"},
        {COVER_TOP COVER_RANGE COVER_CONFIGURATIONS_2 "measured.2 = n=1024: 1 2 us\n",
         "key 'measured.2' is out of order; they are numbered from 1"},
        {COVER_TOP COVER_RANGE COVER_CONFIGURATIONS_2 "measured.1 = n=1024: 1 2 3 us\n",
         "'n=1024: 1 2 3 us' of key 'measured.1' is not NAME=NUMBER"},
        {COVER_TOP COVER_RANGE COVER_CONFIGURATIONS_2 "measured.1 = n=1024: - failed us\n",
         "'n=1024: - failed us' of key 'measured.1' is not a size: it has no time"},
        {COVER_TOP COVER_RANGE COVER_CONFIGURATIONS_2 "measured.1 = m=3: 1 2 us\n",
         "'m=3: 1 2 us' of key 'measured.1' is not NAME=NUMBER"},
        {COVER_TOP COVER_RANGE COVER_CONFIGURATIONS_2, "the cover has no key 'measured.1'"},
        {COVER_TOP COVER_RANGE "range.block_size = 1 .. 2\n" COVER_CONFIGURATIONS_2
                               "measured.1 = n=1024 block_size=1: 1 2 us\n",
         "'block_size' is a parameter and something else in this cover"},
        {COVER_TOP COVER_RANGE "range.sm_count = 1 .. 2\n" COVER_CONFIGURATIONS_2,
         "'sm_count' has a meaning of its own in a cover"},
        {COVER_TOP COVER_RANGE "range.n = 1 .. 2\n" COVER_CONFIGURATIONS_2,
         "'n' is given twice in this section"},
        {COVER_TOP COVER_RANGE
         "configuration.1.block_size = 1\nconfiguration.2.blok_size = 2\n" COVER_MEASURED,
         "configuration 2 does not have the same parameters in the same order as configuration "
         "1"},
        {COVER_TOP COVER_RANGE, "the cover has no key 'configuration.1.'"},
        {COVER_TOP "range.n = 4096 .. 1024\n" COVER_CONFIGURATIONS_2 COVER_MEASURED,
         "'4096 .. 1024' of key 'range.n' is not a range: it is empty"},
        {COVER_TOP "range.n = 1024 - 4096\n" COVER_CONFIGURATIONS_2 COVER_MEASURED,
         "'1024 - 4096' of key 'range.n' is not LOW .. HIGH"},
        {COVER_TOP COVER_RANGE COVER_CONFIGURATIONS_2 "parameter.a = 1\n" COVER_MEASURED,
         "section 'sum 0000c0e4' has a cover and key 'parameter.', which is for one problem"},
        {"[sum 0000c0e4]\nkernel = sum\ntemplate = sum\n" COVER_GPU "cover = 4\n" COVER_RANGE,
         "the cover is of version 4, which a newer autotune reads"},
        {"[sum 0000c0e4]\nkernel = sum\ntemplate = sum\n" COVER_GPU "cover = 2\n" COVER_RANGE
         "rule = nearest\n",
         "the cover is of version 2, which is no longer read; make it again with `autotune "
         "cover`"},
        {"[sum 0000c0e4]\nkernel = sum\ntemplate = sum\n" COVER_GPU "cver = 3\n" COVER_RANGE,
         "key 'range.n' belongs to a cover; put 'cover = 3' above it"},
        {"[sum 0000c0e4]\nkernel = sum\ntemplate = sum\n" COVER_GPU "problem.n = 1\ncover = 3\n",
         "key 'cover' must come before the problem's values"},
        {"[sum 0000c0e4]\nkernel = sum\ntemplate = sum\nlimit = 3\n" COVER_GPU "cover = 3\n",
         "a key above 'cover' is unknown; a newer autotune may have written it"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[8192];
        struct tuned_table *table;
        struct tuned_error error;
        struct tuned_match match;
        (void)snprintf(text, sizeof text, "%s%s", ENTRY("1024", "64"), cases[i].text);
        assert_int_equal(tuned_load_text(&table, "x.ini", text, strlen(text), &error), 0);
        if (strncmp(error.message, cases[i].message, strlen(cases[i].message)) != 0)
            fail_msg("case %zu: '%s' instead of '%s'", i, error.message, cases[i].message);
        assert_int_equal(tuned_count(table), 1);
        assert_int_equal(find(table, 2048, &match), 64);
        assert_int_equal(match.rule, TUNED_NEAREST_SIZE);
        tuned_free(table);
    }
}

/* --- speed --- */

/* This thread's own time: what else runs on the machine does not count. */
static double now_us(void)
{
    struct timespec time;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec * 1e6 + (double)time.tv_nsec * 1e-3;
}

/* 256 sizes of two values, six configurations and two constraints. */
static char *large_cover(void)
{
    char *text = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&text, &length);
    assert_non_null(stream);
    fputs(COVER_TOP COVER_RANGE
          "range.rows = 1 .. 4096\nallowed.1 = n % 64 == 0 or block_size < 512\n"
          "allowed.2 = rows * block_size <= 2^24\n",
          stream);
    for (int i = 1; i <= 6; i++)
        fprintf(stream, "configuration.%d.block_size = %d\n", i, 32 << i);
    for (int i = 0; i < 256; i++)
        fprintf(stream, "measured.%d = n=%d rows=%d: %d %d %d 5 6 7 us\n", i + 1, 1024 << i % 10,
                1 + i * 16, 2 + i % 3, 2 + i % 5, 2 + i % 7);
    assert_int_equal(fclose(stream), 0);
    return text;
}

/* 5 µs are promised. Fails if a look-up takes as long as many comparisons of strings, which show how fast this
 * machine is. */
static void test_a_large_cover_answers_quickly(void **state)
{
    (void)state;
    enum { ROUNDS = 100, ATTEMPTS = 50, STRINGS = 1000 };
    char *text = large_cover();
    struct tuned_table *table = load(text);
    double lookup_us = INFINITY;
    double strings_us = INFINITY;
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        double start = now_us();
        for (int round = 0; round < ROUNDS; round++) {
            const struct tuned_value problem[] = {tuned_integer("n", 2000 + round),
                                                  tuned_integer("rows", 3000 - 20 * round),
                                                  tuned_word("type", "float")};
            const struct tuned_query query = {
                .kernel = "sum", .gpu = &alpha, .problem = problem, .problem_count = 3};
            struct tuned_match match;
            assert_int_equal(tuned_find(table, &query, &match), 0);
        }
        lookup_us = fmin(lookup_us, (now_us() - start) / ROUNDS);
        volatile int sum = 0;
        start = now_us();
        for (int i = 0; i < STRINGS; i++)
            sum += strcmp(text + i, text + i / 2) > 0;
        strings_us = fmin(strings_us, now_us() - start);
    }
    print_message("look-up: %.2f us; %d strings: %.2f us\n", lookup_us, STRINGS, strings_us);
    assert_true(lookup_us < 4 * strings_us);
    tuned_free(table);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_nearest_measured_sizes_decide),
        cmocka_unit_test(test_an_estimate_tells_what_happens_between_measured_sizes),
        cmocka_unit_test(test_configurations_without_a_time_at_the_nearest_size),
        cmocka_unit_test(test_so_it_does_outside_the_range),
        cmocka_unit_test(test_what_the_constraint_excludes_gets_nothing_in_the_range_or_not),
        cmocka_unit_test(test_only_what_is_allowed_is_chosen_in_the_range_or_not),
        cmocka_unit_test(test_a_size_that_was_tuned_itself_comes_before_the_cover),
        cmocka_unit_test(test_of_two_covers_the_one_with_fewer_ranges_decides),
        cmocka_unit_test(test_the_caller_limits_covers),
        cmocka_unit_test(test_another_gpu_gets_the_cover_too),
        cmocka_unit_test(test_a_cover_is_for_its_own_words_and_version),
        cmocka_unit_test(test_what_a_cover_says_of_itself),
        cmocka_unit_test(test_explanations_of_covers),
        cmocka_unit_test(test_a_cover_that_is_wrong_is_skipped_with_a_message),
        cmocka_unit_test(test_a_large_cover_answers_quickly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
