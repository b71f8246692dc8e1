#include "record/tuned_file.h"
#include "unit/scratch.h"
#include "unit/study_fixture.h"

#include <ini.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* Equal to the last bit. */
static void assert_real(double actual, double expected)
{
    assert_memory_equal(&actual, &expected, sizeof actual);
}

static struct tuned_entry fixture_entry(void)
{
    struct study study;
    struct tuned_entry entry;
    fixture_study(&study);
    tuned_entry_from_study(&study, &entry);
    study_release(&study);
    return entry;
}

static void write_entry(const char *path, struct tuned_entry entry)
{
    struct tuned_file tuned = {0};
    struct error error;
    tuned_file_merge(&tuned, &entry);
    assert_int_equal(tuned_file_write(path, &tuned, &error), 0);
    tuned_file_release(&tuned);
}

static void assert_entries_equal(const struct tuned_entry *actual,
                                 const struct tuned_entry *expected)
{
    assert_string_equal(actual->section, expected->section);
    assert_string_equal(actual->kernel, expected->kernel);
    assert_string_equal(actual->template_name, expected->template_name);
    assert_string_equal(actual->template_hash, expected->template_hash);
    assert_string_equal(actual->gpu, expected->gpu);
    assert_string_equal(actual->arch, expected->arch);
    assert_int_equal(actual->compute_capability, expected->compute_capability);
    assert_int_equal(actual->sm_count, expected->sm_count);
    assert_int_equal(actual->l2_bytes, expected->l2_bytes);
    assert_int_equal(actual->memory_bytes, expected->memory_bytes);
    assert_real(actual->memory_gb_per_s, expected->memory_gb_per_s);
    assert_string_equal(actual->driver, expected->driver);
    assert_string_equal(actual->nvrtc, expected->nvrtc);
    assert_string_equal(actual->autotune, expected->autotune);
    assert_string_equal(actual->date, expected->date);
    assert_string_equal(actual->command, expected->command);
    assert_string_equal(actual->cache, expected->cache);
    assert_true(bindings_equal(&actual->problem, &expected->problem));
    assert_true(bindings_equal(&actual->parameters, &expected->parameters));
    assert_real(actual->median_ns, expected->median_ns);
    assert_real(actual->low_ns, expected->low_ns);
    assert_real(actual->high_ns, expected->high_ns);
    assert_int_equal(actual->samples, expected->samples);
    assert_real(actual->gb_per_s, expected->gb_per_s);
    assert_real(actual->gflop_per_s, expected->gflop_per_s);
    assert_real(actual->empty_kernel_ns, expected->empty_kernel_ns);
    assert_int_equal(actual->runs, expected->runs);
    assert_real(actual->sm_clock_mhz, expected->sm_clock_mhz);
    assert_int_equal(actual->dropped_samples, expected->dropped_samples);
    assert_int_equal(actual->throttled_samples, expected->throttled_samples);
    assert_int_equal(actual->other_processes, expected->other_processes);
    assert_int_equal(actual->registers, expected->registers);
    assert_int_equal(actual->blocks_per_sm, expected->blocks_per_sm);
    assert_real(actual->occupancy, expected->occupancy);
    assert_int_equal(actual->tie_count, expected->tie_count);
    for (size_t i = 0; i < expected->tie_count; i++)
        assert_true(bindings_equal(&actual->ties[i], &expected->ties[i]));
}

static void test_entry_says_what_the_study_found(void **state)
{
    (void)state;
    struct tuned_entry entry = fixture_entry();
    assert_int_equal(strncmp(entry.section, "reduce_sum ", 11), 0);
    assert_int_equal(strlen(entry.section), 11 + 8);
    assert_int_equal(bindings_find(&entry.parameters, "block_size")->as.integer, 512);
    assert_int_equal(entry.sm_count, 132);
    assert_true(fabs(entry.memory_gb_per_s - 2 * 3201e3 * 6144 / 8 / 1e6) < 1e-6);
    assert_int_equal(entry.samples, 3);
    assert_int_equal(entry.registers, 32);
    assert_real(entry.median_ns, 24096);
    assert_real(entry.gb_per_s, 67108864 / 24096.0);
    assert_real(entry.gflop_per_s, 16777216 / 24096.0);
    assert_int_equal(entry.tie_count, 1);
    assert_int_equal(bindings_find(&entry.ties[0], "block_size")->as.integer, 256);
    tuned_entry_release(&entry);
}

static void test_entry_says_how_it_was_measured(void **state)
{
    (void)state;
    struct study study;
    struct tuned_entry entry;
    fixture_study(&study);
    study.empty_batch_ns = 1312.5;
    study.conditions = (struct gpu_conditions){true, 12, 3, 1950.25, 1};
    tuned_entry_from_study(&study, &entry);
    assert_int_equal(entry.runs, 0); /* single runs */
    assert_real(entry.empty_kernel_ns, 2660.25);
    assert_real(entry.sm_clock_mhz, 1950.25);
    assert_int_equal(entry.dropped_samples, 12);
    assert_int_equal(entry.throttled_samples, 3);
    assert_int_equal(entry.other_processes, 1);
    tuned_entry_release(&entry);
    study.results[study.winner].runs = 32;
    tuned_entry_from_study(&study, &entry);
    assert_int_equal(entry.runs, 32);
    assert_real(entry.empty_kernel_ns, 1312.5);
    tuned_entry_release(&entry);
    study_release(&study);
}

static void test_reads_back_what_was_written(void **state)
{
    (void)state;
    struct tuned_entry entry = fixture_entry();
    bindings_set(&entry.parameters, "third", value_real(1.0 / 3));
    bindings_set(&entry.parameters, "tiny", value_real(1e-300));
    bindings_set(&entry.parameters, "huge", value_integer(INT64_MAX));
    bindings_set(&entry.parameters, "negative", value_integer(INT64_MIN));
    bindings_set(&entry.parameters, "whole", value_real(-4096));
    entry.low_ns = nextafter(24096, 0);
    entry.high_ns = nextafter(24096, INFINITY);
    entry.gflop_per_s = 0;
    entry.runs = 32;
    entry.sm_clock_mhz = 1755.25;
    entry.dropped_samples = 12;
    entry.throttled_samples = 3;
    entry.other_processes = 1;
    struct tuned_file written = {&entry, 1};
    struct tuned_file read;
    struct error error;
    assert_int_equal(tuned_file_write("tuned.ini", &written, &error), 0);
    assert_int_equal(tuned_file_read("tuned.ini", &read, &error), 0);
    assert_int_equal(read.count, 1);
    assert_entries_equal(&read.entries[0], &entry);
    tuned_file_release(&read);
    tuned_entry_release(&entry);
}

/* What an application's own inih makes of the file. */
struct plain_reader {
    size_t keys;
    size_t found;
};

static int plain_handler(void *user, const char *section, const char *name, const char *value)
{
    static const char *const expected[][2] = {
        {"kernel", "reduce_sum"},       {"gpu", "NVIDIA H200"},
        {"compute_capability", "90"},   {"template_hash", "0123456789abcdef0123456789abcdef"},
        {"problem.n", "16777216"},      {"problem.tolerance", "0.1"},
        {"parameter.scale", "2.0"},     {"parameter.finish", "two_pass"},
        {"median_ns", "24096"},         {"date", "2026-11-21T06:12:00Z"},
        {"tie.1.block_size", "256"},    {"tie.1.finish", "last_block"},
        {"empty_kernel_ns", "2660.25"}, {"command", "autotune --config sweep.ini"},
    };
    struct plain_reader *reader = user;
    reader->keys++;
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        if (strcmp(name, expected[i][0]) == 0 && strcmp(value, expected[i][1]) == 0)
            reader->found++;
    return strncmp(section, "reduce_sum ", 11) == 0;
}

static void test_plain_inih_reads_it(void **state)
{
    (void)state;
    struct plain_reader reader = {0};
    write_entry("tuned.ini", fixture_entry());
    assert_int_equal(ini_parse("tuned.ini", plain_handler, &reader), 0);
    assert_int_equal(reader.found, 14);
    assert_int_equal(reader.keys, 16 + 2 + 4 + 10 + 4);
}

static void test_merging_replaces_the_same_section_only(void **state)
{
    (void)state;
    struct tuned_file tuned = {0};
    struct tuned_entry first = fixture_entry();
    struct tuned_entry second = fixture_entry();
    second.registers = 99;
    struct study other_gpu;
    struct tuned_entry third;
    fixture_study(&other_gpu);
    strcpy(other_gpu.environment.gpu.name, "NVIDIA A100");
    tuned_entry_from_study(&other_gpu, &third);
    study_release(&other_gpu);
    tuned_file_merge(&tuned, &first);
    tuned_file_merge(&tuned, &third);
    tuned_file_merge(&tuned, &second);
    assert_null(second.section);
    assert_int_equal(tuned.count, 2);
    assert_int_equal(tuned.entries[0].registers, 99);
    assert_string_equal(tuned.entries[0].gpu, "NVIDIA H200");
    assert_string_equal(tuned.entries[1].gpu, "NVIDIA A100");
    tuned_file_release(&tuned);
}

static void test_missing_file_is_no_entries(void **state)
{
    (void)state;
    struct tuned_file tuned;
    assert_int_equal(tuned_file_read("nowhere/tuned.ini", &tuned, NULL), 0);
    assert_int_equal(tuned.count, 0);
}

/* Writes a good file with `from` replaced by `to`, and reads it. */
static void assert_refused(const char *from, const char *to, int line, const char *message)
{
    struct tuned_file tuned;
    struct error error = {0};
    write_entry("good.ini", fixture_entry());
    char *text = scratch_read("good.ini");
    assert_non_null(text);
    char *place = strstr(text, from);
    assert_non_null(place);
    *place = '\0';
    char *changed = alloc_format("%s%s%s", text, to, place + strlen(from));
    assert_int_equal(scratch_write("bad.ini", changed), 0);
    assert_int_equal(tuned_file_read("bad.ini", &tuned, &error), ERROR_CONFIG);
    assert_int_equal(tuned.count, 0);
    assert_string_equal(error.file, "bad.ini");
    assert_int_equal(error.line, line);
    assert_non_null(strstr(error.message, message));
    free(changed);
    free(text);
}

static void test_refuses_damaged_files_at_their_line(void **state)
{
    (void)state;
    enum { SECTION = 9 }; /* behind seven lines of comment and an empty one */
    assert_refused("registers", "registres", SECTION + 30,
                   "unknown key 'registres'; did you mean 'registers'?");
    assert_refused("gpu = NVIDIA H200\n", "", SECTION, "has no key 'gpu'");
    assert_refused("sm_count = 132", "sm_count = many", SECTION + 7,
                   "'many' of key 'sm_count' is not a whole number");
    assert_refused("sm_count = 132", "sm_count = 99999999999", SECTION + 7, "whole number");
    assert_refused("sm_count = 132", "sm_count = -1", SECTION + 7, "whole number");
    assert_refused("median_ns = 24096", "median_ns = nan", SECTION + 23,
                   "'nan' of key 'median_ns'");
    assert_refused("median_ns = 24096", "median_ns = 24096 ns", SECTION + 23, "'24096 ns'");
    assert_refused("parameter.block_size = 512", "parameter.block_size = A B", SECTION + 19,
                   "'A B' of key 'parameter.block_size' is not a number or a lower-case word");
    assert_refused("tie.1.", "tie.2.", SECTION + 33, "ties are numbered from 1");
    assert_refused("; The fastest", "stray = 1\n; ", 1, "'stray' is in no section");
    assert_refused("kernel = reduce_sum", "kernel", SECTION + 1, "");
}

static void test_refuses_lines_that_readers_cut(void **state)
{
    (void)state;
    char text[400] = "gpu = ";
    memset(text + strlen(text), 'x', 300);
    assert_refused("gpu = NVIDIA H200", text, 9 + 4, "longer than 197 bytes");
}

static void test_long_commands_are_cut_to_their_line(void **state)
{
    (void)state;
    struct study study;
    struct tuned_entry entry;
    struct tuned_file tuned;
    fixture_study(&study);
    free(study.environment.command);
    study.environment.command = alloc_format("autotune --kernel 'a ;b'\t%0300d", 0);
    tuned_entry_from_study(&study, &entry);
    study_release(&study);
    assert_int_equal(strlen("command = ") + strlen(entry.command), 196);
    assert_int_equal(strncmp(entry.command, "autotune --kernel 'a ,b' 000", 28), 0);
    write_entry("tuned.ini", entry);
    assert_int_equal(tuned_file_read("tuned.ini", &tuned, NULL), 0);
    assert_int_equal(strlen(tuned.entries[0].command), 196 - strlen("command = "));
    tuned_file_release(&tuned);
}

static void test_does_not_write_what_would_not_read_back(void **state)
{
    (void)state;
    struct error error;
    write_entry("tuned.ini", fixture_entry());
    char *before = scratch_read("tuned.ini");
    struct tuned_entry entry = fixture_entry();
    free(entry.gpu);
    entry.gpu = alloc_string("a ;b");
    struct tuned_file tuned = {&entry, 1};
    assert_int_equal(tuned_file_write("tuned.ini", &tuned, &error), ERROR_RECORD);
    assert_non_null(strstr(error.message, "line 'gpu = a ;b"));
    char *after = scratch_read("tuned.ini");
    assert_string_equal(after, before);
    free(before);
    free(after);
    tuned_entry_release(&entry);
}

static int update_as(int number)
{
    struct study study;
    struct tuned_entry entry;
    fixture_study(&study);
    (void)snprintf(study.environment.gpu.name, sizeof study.environment.gpu.name, "GPU %d", number);
    tuned_entry_from_study(&study, &entry);
    study_release(&study);
    return tuned_file_update("results/tuned.ini", &entry, 1, NULL);
}

static void test_updates_at_once_lose_no_entry(void **state)
{
    (void)state;
    enum { WRITERS = 8 };
    pid_t children[WRITERS];
    for (int i = 0; i < WRITERS; i++) {
        children[i] = fork();
        if (children[i] == 0)
            _exit(update_as(i) == 0 ? 0 : 1);
    }
    for (int i = 0; i < WRITERS; i++) {
        int status = -1;
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_int_equal(status, 0);
    }
    struct tuned_file tuned;
    assert_int_equal(tuned_file_read("results/tuned.ini", &tuned, NULL), 0);
    assert_int_equal(tuned.count, WRITERS);
    tuned_file_release(&tuned);
}

static void test_update_leaves_a_foreign_file_alone(void **state)
{
    (void)state;
    struct tuned_entry entry = fixture_entry();
    struct error error;
    assert_int_equal(scratch_write("tuned.ini", "[mine]\nkey = 1\n"), 0);
    assert_int_equal(tuned_file_update("tuned.ini", &entry, 1, &error), ERROR_CONFIG);
    assert_null(entry.section);
    char *text = scratch_read("tuned.ini");
    assert_string_equal(text, "[mine]\nkey = 1\n");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCRATCH_TEST(test_entry_says_what_the_study_found),
        cmocka_unit_test(test_entry_says_how_it_was_measured),
        SCRATCH_TEST(test_reads_back_what_was_written),
        SCRATCH_TEST(test_plain_inih_reads_it),
        SCRATCH_TEST(test_merging_replaces_the_same_section_only),
        SCRATCH_TEST(test_missing_file_is_no_entries),
        SCRATCH_TEST(test_refuses_damaged_files_at_their_line),
        SCRATCH_TEST(test_refuses_lines_that_readers_cut),
        SCRATCH_TEST(test_long_commands_are_cut_to_their_line),
        SCRATCH_TEST(test_does_not_write_what_would_not_read_back),
        SCRATCH_TEST(test_updates_at_once_lose_no_entry),
        SCRATCH_TEST(test_update_leaves_a_foreign_file_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
