/* Covers in the look-up of applications: what decides inside and outside of their range. */
#include "autotune/tuned.h"

#include "unit/cover_fixture.h"
#include "unit/scratch.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

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

static void test_the_first_line_that_holds_decides(void **state)
{
    (void)state;
    struct tuned_table *table = load(COVER);
    const struct {
        int64_t n, block_size;
        size_t line;
    } cases[] = {
        {1024, 128, 0},
        {4095, 128, 0},
        {4096, 128, 2},          /* less than two waves */
        {512 * 400, 512, 1},     /* 2 waves; 4 of configuration 1, no tail */
        {512 * 400 + 1, 128, 2}, /* the tail of configuration 1 is nearly a whole wave */
        {512 * 400 + 128 * 200, 512, 1},
        {1048576, 128, 2},
    };
    struct tuned_match match;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(find(table, cases[i].n, &match), cases[i].block_size);
        assert_int_equal(match.rule, TUNED_COVER);
        assert_int_equal(match.line, cases[i].line);
        assert_int_equal(match.from->number, cases[i].block_size == 128 ? 1 : 2);
        assert_null(match.size);
        assert_true(match.size_distance <= 0);
    }
    tuned_free(table);
}

static void test_outside_the_range_the_nearest_measured_size_decides(void **state)
{
    (void)state;
    struct tuned_table *table = load(COVER);
    struct tuned_match match;
    assert_int_equal(find(table, 1048577, &match), 512);
    assert_int_equal(match.rule, TUNED_OUTSIDE_COVER);
    assert_int_equal(match.line, match.from->cover->line_count);
    assert_ptr_equal(match.size, &match.from->cover->sizes[2]);
    assert_true(match.size_distance > 0 && match.size_distance < 1e-5);
    assert_int_equal(find(table, 1, &match), 128);
    assert_int_equal(match.rule, TUNED_OUTSIDE_COVER);
    assert_true(fabs(match.size_distance - log2(1025 / 2.0)) < 1e-9);
    tuned_free(table);
    table = load(COVER_TOP COVER_RANGE "constraint = n % 2 == 0\n" COVER_CONFIGURATIONS_2
                                       "rule.1 = 2\n" COVER_MEASURED);
    assert_int_equal(find(table, 2048, &match), 512);
    assert_int_equal(match.rule, TUNED_COVER);
    assert_int_equal(find(table, 1048578, &match), 512);
    assert_int_equal(match.rule, TUNED_OUTSIDE_COVER);
    assert_int_equal(find(table, 2049, &match), 0); /* the constraint does not hold */
    assert_int_equal(match.refused_problems, 2);
    assert_int_equal(find(table, 1048577, &match), 0);
    tuned_free(table);
}

/* Configuration 2, which is the fastest of the largest size, takes multiples of 64. */
static void test_outside_the_range_only_what_is_allowed_is_chosen(void **state)
{
    (void)state;
    struct tuned_match match;
    struct tuned_table *table =
        load(COVER_TOP COVER_RANGE COVER_CONFIGURATIONS_2 COVER_FIGURES_2
             "figure.allowed = (block_size == 128 or n % 64 == 0) ? 1 : 0\n"
             "rule.1 = 2 if waves >= 2 and allowed > 0\nrule.2 = 1\n" COVER_LOSS COVER_MEASURED);
    assert_int_equal(find(table, 1048576 + 64, &match), 512);
    assert_int_equal(find(table, 1048577, &match), 128);
    assert_int_equal(match.rule, TUNED_OUTSIDE_COVER);
    assert_ptr_equal(match.size, &match.from->cover->sizes[1]);
    tuned_free(table);
    table = load(COVER_TOP COVER_RANGE
                 "constraint = max(allowed(1), allowed(2)) > 0\n" COVER_CONFIGURATIONS_2
                 "figure.allowed = n % block_size == 0 ? 1 : 0\n"
                 "rule.1 = 2 if allowed > 0\nrule.2 = 1\n" COVER_MEASURED);
    assert_int_equal(find(table, 1024, &match), 512);
    assert_int_equal(find(table, 1024 + 128, &match), 128);
    assert_int_equal(find(table, 1048576 + 512, &match), 512);
    assert_int_equal(find(table, 1048576 + 128, &match), 128);
    assert_int_equal(find(table, 1024 + 1, &match), 0);
    assert_int_equal(match.refused_problems, 2);
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
    struct tuned_table *table = load(
        COVER_TOP COVER_RANGE "range.batch = 1 .. 8\n" COVER_CONFIGURATIONS_2
                              "rule.1 = 1\nmeasured.1 = n=1024 batch=1: 1, 2000.0 ns, 0.0 %\n"
                              "[sum 0000c0e5]\nkernel = sum\ntemplate = sum\n" COVER_GPU
                              "cover = 1\nproblem.batch = 3\n" COVER_RANGE COVER_CONFIGURATIONS_2
                              "rule.1 = 2\n" COVER_MEASURED);
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

static void test_another_gpu_gets_the_cover_with_its_own_number_of_sms(void **state)
{
    (void)state;
    struct tuned_table *table = load(ENTRY("204800", "64") COVER);
    struct tuned_gpu larger = {"Alpha Plus", 80, 200, 1000, 0};
    struct tuned_gpu unknown = {"Alpha Plus", 80, 0, 1000, 0};
    struct tuned_gpu family = {"Beta", 86, 100, 1000, 0};
    struct tuned_gpu stranger = {"Gamma", 90, 100, 1000, 0};
    struct tuned_query query = {0};
    struct tuned_match match;
    assert_int_equal(find_with(table, &larger, 204800, &query, &match), 128); /* half the waves */
    assert_int_equal(match.rule, TUNED_NEAREST_GPU);
    assert_int_equal(match.line, 2);
    assert_true(fabs(match.gpu_distance - 0.5) < 1e-9); /* twice the SMs, the same L2 */
    assert_int_equal(find_with(table, &unknown, 204800, &query, &match), 512);
    assert_int_equal(find_with(table, &family, 204800, &query, &match), 512);
    assert_int_equal(match.rule, TUNED_SAME_FAMILY);
    assert_int_equal(find_with(table, &stranger, 204800, &query, &match), 0);
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
    assert_int_equal(cover->line_count, 3);
    assert_string_equal(cover->lines[1], "2 if waves >= 2 and tail(1) <= 0.5");
    assert_true(fabs(cover->worst_loss_percent - 2.25) < 1e-9);
    assert_int_equal(cover->held_out_sizes, 7);
    assert_int_equal(cover->size_count, 3);
    assert_int_equal(cover->sizes[2].fastest, 1);
    assert_true(fabs(cover->sizes[1].median_ns - 3000.5) < 1e-9);
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
              "cover, type=float (same GPU, in the range of a cover, by line 3 of its rule, "
              "expected loss 0.5 %, worst 2.25 %)");
    problem[0] = tuned_integer("n", 1 << 21);
    assert_int_equal(tuned_find(table, &query, &match), 0);
    (void)tuned_explain(&query, &match, text, sizeof text);
    assert_string_equal(
        text, "sum for n=2097152 type=float on Alpha: [sum 0000c0e4] of Alpha, configuration 2 of "
              "its cover, type=float (same GPU, outside the range of a cover, by its nearest "
              "measured size, size distance 1.00)");
    tuned_free(table);
}

/* --- edits by hand, and newer versions --- */

static void test_a_cover_that_is_wrong_is_skipped_with_a_message(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        {COVER_TOP COVER_RANGE COVER_CONFIGURATIONS_2 "figure.waves = n / sm_count\n"
                                                      "rule.1 = 1 if wavs < 2\n"
                                                      "rule.2 = 2\n" COVER_MEASURED,
         "'wavs < 2' of key 'rule.1': unknown name 'wavs'"},
        {COVER_TOP COVER_RANGE COVER_CONFIGURATIONS_2
         "rule.1 = 1 if n < 2\nrule.2 = 3\n" COVER_MEASURED,
         "'3' of key 'rule.2': there is no configuration with this number"},
        {COVER_TOP COVER_RANGE COVER_CONFIGURATIONS_2
         "rule.1 = 1 if n < 2\nrulle.2 = 2\n" COVER_MEASURED,
         "unknown key 'rulle.2' in a cover; a newer autotune may have written it"},
        {COVER_TOP COVER_RANGE COVER_CONFIGURATIONS_2
         "rule.1 = 1 if n < 2\nrule.3 = 2\n" COVER_MEASURED,
         "key 'rule.3' is out of order; they are numbered from 1"},
        {COVER_TOP COVER_RANGE COVER_CONFIGURATIONS_2 "rule.1 = 1 if n < 2\n" COVER_MEASURED,
         "'1 if n < 2' of key 'rule.1': the last line of the rule must not have a condition"},
        {COVER_TOP COVER_RANGE COVER_CONFIGURATIONS_2 "rule.1 = 1\nrule.2 = 2\n" COVER_MEASURED,
         "'1' of key 'rule.1': only the last line of the rule has no condition"},
        {COVER_TOP COVER_RANGE COVER_CONFIGURATIONS_2 "rule.1 = 1 of n < 2\n" COVER_MEASURED,
         "'1 of n < 2' of key 'rule.1' is not a configuration's number, or NUMBER if CONDITION"},
        {COVER_TOP COVER_RANGE COVER_CONFIGURATIONS_2
         "rule.1 = 1 if n\nrule.2 = 2\n" COVER_MEASURED,
         "'n' of key 'rule.1': a condition is needed at the end"},
        {COVER_TOP COVER_RANGE COVER_CONFIGURATIONS_2 "figure.n = 3\nrule.1 = 2\n" COVER_MEASURED,
         "'n' is given twice in this section"},
        {COVER_TOP COVER_RANGE COVER_CONFIGURATIONS_2
         "figure.block_size = 3\nrule.1 = 2\n" COVER_MEASURED,
         "'block_size' is a parameter and something else in this cover"},
        {COVER_TOP COVER_RANGE COVER_CONFIGURATIONS_2
         "figure.sm_count = 3\nrule.1 = 2\n" COVER_MEASURED,
         "'sm_count' has a meaning of its own in a cover"},
        {COVER_TOP COVER_RANGE "configuration.1.block_size = 1\nconfiguration.2.blok_size = 2\n"
                               "rule.1 = 2\n" COVER_MEASURED,
         "configuration 2 does not have the same parameters in the same order as configuration 1"},
        {COVER_TOP COVER_RANGE "rule.1 = 1\n" COVER_MEASURED,
         "the cover has no key 'configuration.1.'"},
        {COVER_TOP COVER_RANGE COVER_CONFIGURATIONS_2 "rule.1 = 1\n",
         "the cover has no key 'measured.1'"},
        {COVER_TOP "range.n = 4096 .. 1024\n" COVER_CONFIGURATIONS_2 "rule.1 = 1\n" COVER_MEASURED,
         "'4096 .. 1024' of key 'range.n' is not a range: it is empty"},
        {COVER_TOP "range.n = 1024 - 4096\n" COVER_CONFIGURATIONS_2 "rule.1 = 1\n" COVER_MEASURED,
         "'1024 - 4096' of key 'range.n' is not LOW .. HIGH"},
        {COVER_TOP COVER_RANGE COVER_CONFIGURATIONS_2
         "rule.1 = 1\nmeasured.1 = m=3: 1, 2 ns, 0 %\n",
         "'m=3: 1, 2 ns, 0 %' of key 'measured.1' is not NAME=NUMBER"},
        {COVER_TOP COVER_RANGE COVER_CONFIGURATIONS_2
         "rule.1 = 1\nparameter.a = 1\n" COVER_MEASURED,
         "section 'sum 0000c0e4' has a cover and key 'parameter.', which is for one problem"},
        {"[sum 0000c0e4]\nkernel = sum\ntemplate = sum\n" COVER_GPU "cover = 2\n" COVER_RANGE
         "rule.1 = 1 when n in 1 to 2\n",
         "the cover is of version 2, which a newer autotune reads"},
        {"[sum 0000c0e4]\nkernel = sum\ntemplate = sum\n" COVER_GPU "cver = 1\n" COVER_RANGE,
         "key 'range.n' belongs to a cover; put 'cover = 1' above it"},
        {"[sum 0000c0e4]\nkernel = sum\ntemplate = sum\n" COVER_GPU "problem.n = 1\ncover = 1\n",
         "key 'cover' must come before the problem's values"},
        {"[sum 0000c0e4]\nkernel = sum\ntemplate = sum\nlimit = 3\n" COVER_GPU "cover = 1\n",
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

static FILE *begin_cover(char **text, size_t *length)
{
    FILE *stream = open_memstream(text, length);
    assert_non_null(stream);
    fputs(COVER_TOP COVER_RANGE, stream);
    for (int i = 1; i <= 6; i++)
        fprintf(stream, "configuration.%d.block_size = %d\n", i, 32 << i);
    for (int i = 1; i <= 6; i++)
        fprintf(stream, "compiled.%d.blocks_per_sm = %d\n", i, i);
    fputs(COVER_FIGURES_2, stream);
    return stream;
}

/* 12 lines of two comparisons, each with the waves of another configuration. */
static char *long_cover(void)
{
    char *text = NULL;
    size_t length = 0;
    FILE *stream = begin_cover(&text, &length);
    for (int i = 1; i < 12; i++)
        fprintf(stream, "rule.%d = %d if tail(%d) > 2 or waves < 0\n", i, i % 6 + 1, i % 6 + 1);
    fputs("rule.12 = 1\n" COVER_MEASURED, stream);
    assert_int_equal(fclose(stream), 0);
    return text;
}

/* A rule like sgemm's: the least of six estimates, each of eight terms of the launch. */
static char *cover_by_times(void)
{
    char *text = NULL;
    size_t length = 0;
    FILE *stream = begin_cover(&text, &length);
    fputs("figure.whole = ceil(waves)\n"
          "figure.grid = block_size == 64 ? max(1, min(n // 512, 132 - n // 1024)) : blocks\n"
          "figure.share = blocks / grid\n"
          "figure.busiest = ceil(grid / sm_count)\n"
          "figure.filled = whole * max(0.5, min(1, busiest / blocks_per_sm))\n",
          stream);
    for (int i = 1; i <= 6; i++)
        fprintf(
            stream,
            "figure.rest_%d = 1.%d * n + 2.5 * min(n %% 4, 1) * busiest * share * n + 3 * grid\n"
            "figure.time_%d = 2%d.5 * whole * share * n + 486.4 * busiest + 3796 + 0.25 * "
            "filled * n + 17 * min(n %% 8, 1) * blocks + rest_%d\n",
            i, i, i, 10 - i, i);
    for (int i = 1; i < 6; i++) {
        fprintf(stream, "rule.%d = %d if time_%d <= min(", i, i, i);
        for (int j = i + 1; j <= 6; j++)
            fprintf(stream, "time_%d(%d), ", j, j);
        fputs("1e30)\n", stream);
    }
    fputs("rule.6 = 6\n" COVER_MEASURED, stream);
    assert_int_equal(fclose(stream), 0);
    return text;
}

/* How long a look-up takes; fails if it takes as long as many comparisons of strings, which show how
 * fast this machine is. */
static void check_speed(char *text, const char *rule, size_t line)
{
    enum { ROUNDS = 100, ATTEMPTS = 50, STRINGS = 300 };
    struct tuned_table *table = load(text);
    struct tuned_match match;
    double lookup_us = INFINITY;
    double strings_us = INFINITY;
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        double start = now_us();
        for (int round = 0; round < ROUNDS; round++)
            assert_true(find(table, 2000 + round, &match) > 0);
        lookup_us = fmin(lookup_us, (now_us() - start) / ROUNDS);
        volatile int sum = 0;
        start = now_us();
        for (int i = 0; i < STRINGS; i++)
            sum += strcmp(text + i, text + i / 2) > 0;
        strings_us = fmin(strings_us, now_us() - start);
    }
    print_message("look-up with %s: %.2f us; %d strings: %.2f us\n", rule, lookup_us, STRINGS,
                  strings_us);
    assert_int_equal(match.line, line);
    assert_true(lookup_us < 4 * strings_us);
    tuned_free(table);
    free(text);
}

/* 1 µs is promised. */
static void test_a_long_rule_is_evaluated_quickly(void **state)
{
    (void)state;
    check_speed(long_cover(), "a rule of 12 lines", 11);
    check_speed(cover_by_times(), "a rule by six estimates of eight terms", 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_first_line_that_holds_decides),
        cmocka_unit_test(test_outside_the_range_the_nearest_measured_size_decides),
        cmocka_unit_test(test_outside_the_range_only_what_is_allowed_is_chosen),
        cmocka_unit_test(test_a_size_that_was_tuned_itself_comes_before_the_cover),
        cmocka_unit_test(test_of_two_covers_the_one_with_fewer_ranges_decides),
        cmocka_unit_test(test_the_caller_limits_covers),
        cmocka_unit_test(test_another_gpu_gets_the_cover_with_its_own_number_of_sms),
        cmocka_unit_test(test_a_cover_is_for_its_own_words_and_version),
        cmocka_unit_test(test_what_a_cover_says_of_itself),
        cmocka_unit_test(test_explanations_of_covers),
        cmocka_unit_test(test_a_cover_that_is_wrong_is_skipped_with_a_message),
        cmocka_unit_test(test_a_long_rule_is_evaluated_quickly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
