/* Covers as the tuner writes them: into the tuned INI and back, and what they choose. */
#include "record/cover_choice.h"

#include "base/alloc.h"
#include "record/tuned_file.h"
#include "unit/cover_fixture.h"
#include "unit/scratch.h"

#include <autotune/tuned.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static char *read_text(const char *path)
{
    char *text = alloc_zeroed(1 << 16, 1);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_true(fread(text, 1, (1 << 16) - 1, file) > 0);
    assert_int_equal(fclose(file), 0);
    return text;
}

static struct bindings size_of(int64_t n)
{
    struct bindings problem = {0};
    bindings_set(&problem, "n", value_integer(n));
    return problem;
}

static void add_configuration(struct cover_entry *cover, int64_t block_size, const char *finish,
                              int registers, int blocks_per_sm)
{
    struct bindings parameters = {0};
    bindings_set(&parameters, "block_size", value_integer(block_size));
    bindings_set(&parameters, "finish", value_word(finish));
    cover_entry_add_configuration(cover, &parameters, registers, blocks_per_sm);
    bindings_release(&parameters);
}

static void add_size(struct cover_entry *cover, int64_t n, size_t fastest, double median_ns,
                     double loss_percent)
{
    struct bindings problem = size_of(n);
    cover_entry_add_size(cover, &problem, fastest, median_ns, loss_percent);
    bindings_release(&problem);
}

/* What COVER says. */
static struct tuned_entry fixture_entry(void)
{
    struct tuned_entry entry = {.kernel = alloc_string("sum"),
                                .template_name = alloc_string("sum"),
                                .template_hash = alloc_string(COVER_HASH),
                                .gpu = alloc_string("Alpha"),
                                .arch = alloc_string("sm_80"),
                                .compute_capability = 80,
                                .sm_count = 100,
                                .l2_bytes = 1000,
                                .memory_bytes = 1000,
                                .driver = alloc_string("13.0"),
                                .nvrtc = alloc_string("13.0"),
                                .autotune = alloc_string("0.1.0"),
                                .date = alloc_string("2026-11-22T03:00:00Z"),
                                .cache = alloc_string("cold"),
                                .cover = cover_entry_new()};
    struct cover_entry *cover = entry.cover;
    bindings_set(&entry.problem, "type", value_word("float"));
    cover_entry_add_range(cover, "n", value_integer(1024), value_integer(1048576));
    add_configuration(cover, 128, "atomic", 0, 4);
    add_configuration(cover, 512, "two_pass", 40, 2);
    cover_entry_add_figure(cover, "blocks", "ceil_div(n, block_size)");
    cover_entry_add_figure(cover, "waves", "blocks / (sm_count * blocks_per_sm)");
    cover_entry_add_figure(cover, "tail", "ceil(waves) - waves");
    cover_entry_add_line(cover, 0, "n < 4096");
    cover_entry_add_line(cover, 1, "waves >= 2 and tail(1) <= 0.5");
    cover_entry_add_line(cover, 0, NULL);
    cover->mean_loss_percent = 0.5;
    cover->worst_loss_percent = 2.25;
    cover->held_out_sizes = 7;
    add_size(cover, 1024, 0, 2000, 0);
    add_size(cover, 65536, 0, 3000.5, 1.25);
    add_size(cover, 1048576, 1, 9000, 0);
    return entry;
}

static void write_entry(const char *path, struct tuned_entry *entry)
{
    struct error error;
    size_t taken;
    if (tuned_file_update(path, entry, 1, &taken, &error) != 0)
        fail_msg("%s", error.message);
    assert_int_equal(taken, 1);
}

static void test_a_cover_is_written_as_the_format_says(void **state)
{
    (void)state;
    struct tuned_entry entry = fixture_entry();
    write_entry("tuned.ini", &entry);
    char *text = read_text("tuned.ini");
    static const char *const parts[] = {
        "\ncover = 1\nproblem.type = float\nrange.n = 1024 .. 1048576\n"
        "configuration.1.block_size = 128\n",
        COVER_FIGURES_2 COVER_RULE_2 COVER_LOSS COVER_MEASURED};
    for (size_t i = 0; i < 2; i++)
        if (strstr(text, parts[i]) == NULL)
            fail_msg("'%s' is not in '%s'", parts[i], text);
    assert_null(strstr(text, "median_ns"));
    assert_null(strstr(text, "occupancy"));
    free(text);
}

/* What is read is written back to the byte, with comments, and is one cover. */
static void test_a_cover_reads_back_as_it_was(void **state)
{
    (void)state;
    struct tuned_file tuned;
    struct error error;
    write_text("tuned.ini", "; mine\n" COVER "; a comment on the rule\n");
    char *before = read_text("tuned.ini");
    assert_int_equal(tuned_file_read("tuned.ini", &tuned, &error), 0);
    assert_int_equal(tuned.count, 1);
    assert_int_equal(tuned.skipped_count, 0);
    const struct cover_entry *cover = tuned.entries[0].cover;
    assert_non_null(cover);
    assert_int_equal(cover->configuration_count, 2);
    assert_int_equal(cover->configurations[1].registers, 40);
    assert_int_equal(cover->line_count, 3);
    assert_null(cover->lines[2].condition);
    assert_int_equal(cover->sizes[2].fastest, 1);
    assert_int_equal(tuned_file_write("tuned.ini", &tuned, &error), 0);
    char *after = read_text("tuned.ini");
    assert_string_equal(after, before);
    tuned_file_release(&tuned);
    free(before);
    free(after);
}

/* Tuning a size leaves it alone; a new cover takes its place. */
static void test_a_cover_is_kept_until_a_cover_replaces_it(void **state)
{
    (void)state;
    struct tuned_file tuned;
    struct error error;
    struct tuned_entry size = fixture_entry();
    cover_entry_free(size.cover);
    size.cover = NULL;
    size.section = alloc_string("sum 00000001");
    bindings_set(&size.parameters, "block_size", value_integer(1));
    write_text("tuned.ini", COVER);
    write_entry("tuned.ini", &size);
    struct tuned_entry newer = fixture_entry();
    cover_entry_add_figure(newer.cover, "spare", "n + 1");
    write_entry("tuned.ini", &newer);
    assert_int_equal(tuned_file_read("tuned.ini", &tuned, &error), 0);
    assert_int_equal(tuned.count, 2);
    assert_string_equal(tuned.entries[0].section, "sum 0000c0e4");
    assert_int_equal(tuned.entries[0].cover->figure_count, 4);
    assert_null(tuned.entries[1].cover);
    tuned_file_release(&tuned);
}

static void test_a_cover_of_a_newer_version_stays_in_the_file(void **state)
{
    (void)state;
    struct error error;
    struct tuned_file tuned;
    struct tuned_entry size = fixture_entry();
    static const char newer[] = "[sum 0000c0e5]\nkernel = sum\ntemplate = sum\n" COVER_GPU
                                "cover = 2\nrange.n = 1 to 5\nbest = unknown\n";
    write_text("tuned.ini", COVER "\n");
    char *before = read_text("tuned.ini");
    char *text = alloc_format("%s%s", before, newer);
    write_text("tuned.ini", text);
    assert_int_equal(tuned_file_read("tuned.ini", &tuned, &error), 0);
    assert_int_equal(tuned.count, 1);
    assert_int_equal(tuned.skipped_count, 1);
    assert_non_null(strstr(tuned.skipped[0].reason.message,
                           "the cover is of version 2, which a newer autotune reads"));
    tuned_file_release(&tuned);
    write_entry("tuned.ini", &size);
    char *after = read_text("tuned.ini");
    assert_non_null(strstr(after, newer));
    free(before);
    free(text);
    free(after);
}

static void test_libtuned_chooses_the_same(void **state)
{
    (void)state;
    struct tuned_entry entry = fixture_entry();
    struct tuned_table *table;
    struct tuned_gpu gpu = {"Alpha", 80, 150, 1000, 0};
    struct error error;
    write_text("tuned.ini", COVER);
    assert_int_equal(tuned_load(&table, "tuned.ini", NULL), 0);
    for (int64_t n = 1; n < 4000000; n = n * 9 / 8 + 1) {
        struct bindings problem = size_of(n);
        struct tuned_value values[] = {tuned_integer("n", n)};
        struct tuned_query query = {
            .kernel = "sum", .gpu = &gpu, .problem = values, .problem_count = 1};
        struct tuned_match match;
        size_t line;
        size_t configuration;
        int inside =
            cover_entry_choose(&entry, &problem, gpu.sm_count, &line, &configuration, &error);
        assert_int_equal(inside, n >= 1024 && n <= 1048576);
        assert_int_equal(tuned_find(table, &query, &match), 0);
        if (inside == 1) {
            assert_int_equal(match.line, line);
            assert_int_equal(match.from->number, configuration + 1);
        }
        bindings_release(&problem);
    }
    tuned_free(table);
    tuned_entry_release(&entry);
}

static void test_figures_of_a_problem(void **state)
{
    (void)state;
    struct tuned_entry entry = fixture_entry();
    struct bindings problem = size_of(65536);
    struct error error;
    double value;
    const struct {
        const char *expression;
        size_t configuration;
        double value;
    } cases[] = {
        {"waves", 0, 512 / 400.0}, {"waves", 1, 128 / 200.0}, {"waves(2)", 0, 128 / 200.0},
        {"n * 2", 0, 131072},      {"tail(1)", 1, 2 - 1.28},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(cover_entry_figure(&entry, cases[i].expression, cases[i].configuration,
                                            &problem, 0, &value, &error),
                         0);
        assert_true(fabs(value - cases[i].value) < 1e-12);
    }
    assert_int_equal(cover_entry_figure(&entry, "wavs", 0, &problem, 0, &value, &error),
                     ERROR_CONFIG);
    assert_string_equal(error.message, "'wavs': unknown name 'wavs'");
    bindings_release(&problem);
    tuned_entry_release(&entry);
}

/* Two covers have the problem: one with a range of n alone, the other with one of m as well. */
static void test_an_entry_stays_unless_the_cover_that_decides_chooses_alike(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct tuned_file tuned = {0};
        struct tuned_entry entry = fixture_entry();
        cover_entry_free(entry.cover);
        entry.cover = NULL;
        bindings_set(&entry.problem, "n", value_integer(1024));
        bindings_set(&entry.problem, "m", value_integer(8));
        bindings_set(&entry.parameters, "block_size", value_integer(128));
        bindings_set(&entry.parameters, "finish", value_word("atomic"));
        struct tuned_entry narrow = fixture_entry();
        bindings_set(&narrow.problem, "m", value_integer(8));
        struct tuned_entry wide = fixture_entry();
        cover_entry_add_range(wide.cover, "m", value_integer(1), value_integer(64));
        for (size_t j = 0; j < wide.cover->size_count; j++)
            bindings_set(&wide.cover->sizes[j].problem, "m", value_integer(8));
        assert_int_equal(cover_entry_check(&wide, NULL), 0);
        (i == 0 ? narrow : wide).cover->lines[0].configuration = 1; /* unlike the entry */
        *ARRAY_APPEND(tuned.entries, tuned.count) = wide;
        *ARRAY_APPEND(tuned.entries, tuned.count) = narrow;
        *ARRAY_APPEND(tuned.entries, tuned.count) = entry;
        cover_drop_covered(&tuned);
        assert_int_equal(tuned.count, i == 0 ? 3 : 2);
        tuned_file_release(&tuned);
    }
}

static void test_what_no_reader_would_accept_is_refused(void **state)
{
    (void)state;
    struct tuned_entry entry = fixture_entry();
    struct error error;
    assert_int_equal(cover_entry_check(&entry, &error), 0);
    cover_entry_add_figure(entry.cover, "shared", "stages * 4");
    assert_int_equal(cover_entry_check(&entry, &error), ERROR_CONFIG);
    assert_string_equal(error.message, "the cover of 'sum' cannot be written: 'stages * 4' of key "
                                       "'figure.shared': unknown name 'stages'");
    tuned_entry_release(&entry);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCRATCH_TEST(test_a_cover_is_written_as_the_format_says),
        SCRATCH_TEST(test_a_cover_reads_back_as_it_was),
        SCRATCH_TEST(test_a_cover_is_kept_until_a_cover_replaces_it),
        SCRATCH_TEST(test_a_cover_of_a_newer_version_stays_in_the_file),
        SCRATCH_TEST(test_libtuned_chooses_the_same),
        SCRATCH_TEST(test_figures_of_a_problem),
        SCRATCH_TEST(test_an_entry_stays_unless_the_cover_that_decides_chooses_alike),
        SCRATCH_TEST(test_what_no_reader_would_accept_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
