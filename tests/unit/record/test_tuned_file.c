#include "record/tuned_file.h"

#include "unit/comma_locale.h"
#include "unit/scratch.h"
#include "unit/study_fixture.h"
#include "unit/test.h"

#include <autotune/tuned.h>
#include <ini.h>
#include <math.h>
#include <sys/wait.h>
#include <unistd.h>

static struct error error; /* the last one */

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
    tuned_file_merge(&tuned, &entry);
    assert_int_equal(tuned_file_write(path, &tuned, &error), 0);
    tuned_file_release(&tuned);
}

/* What is written of an entry, a new string: all that can be known of it. */
static char *text_of(const struct tuned_entry *entry)
{
    struct tuned_entry plain = *entry;
    const struct tuned_file tuned = {.entries = &plain, .count = 1};
    plain.other = NULL; /* comments, if it was read */
    assert_int_equal(tuned_file_write("entry.ini", &tuned, &error), 0);
    return scratch_read("entry.ini");
}

static void assert_entries_equal(const struct tuned_entry *actual,
                                 const struct tuned_entry *expected)
{
    char *left = text_of(actual);
    char *right = text_of(expected);
    assert_string_equal(left, right);
    free(left);
    free(right);
}

UNIT_TEST_WITH(test_entry_says_what_the_study_found, scratch_enter, scratch_leave)
{
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

/* Writes a good file with `from` replaced by `to`. */
static void write_changed(const char *path, const char *from, const char *to)
{
    write_entry("good.ini", fixture_entry());
    char *text = scratch_read("good.ini");
    char *place = strstr(text, from);
    assert_non_null(place);
    *place = '\0';
    char *changed = alloc_format("%s%s%s", text, to, place + strlen(from));
    assert_int_equal(scratch_write(path, changed), 0);
    free(changed);
    free(text);
}

UNIT_TEST_WITH(test_tie_is_written_where_it_differs, scratch_enter, scratch_leave)
{
    struct tuned_entry entry = fixture_entry();
    struct tuned_file tuned;
    bindings_set(&entry.ties[0], "min_blocks", *bindings_find(&entry.parameters, "min_blocks"));
    write_entry("tuned.ini", entry);
    char *text = scratch_read("tuned.ini");
    assert_non_null(strstr(text, "\ntie.1.block_size = 256\n"));
    assert_null(strstr(text, "tie.1.min_blocks"));
    free(text);
    assert_int_equal(tuned_file_read("tuned.ini", &tuned, &error), 0);
    assert_int_equal(tuned.entries[0].tie_count, 1);
    assert_int_equal(tuned.entries[0].ties[0].count, tuned.entries[0].parameters.count);
    assert_int_equal(bindings_find(&tuned.entries[0].ties[0], "block_size")->as.integer, 256);
    tuned_file_release(&tuned);
}

/* Such a file is refused. */
static void assert_refused(const char *from, const char *to, int line, const char *message)
{
    struct tuned_file tuned;
    write_changed("bad.ini", from, to);
    assert_int_equal(tuned_file_read("bad.ini", &tuned, &error), ERROR_CONFIG);
    assert_int_equal(tuned.count, 0);
    assert_string_equal(error.file, "bad.ini");
    assert_int_equal(error.line, line);
    assert_non_null(strstr(error.message, message));
}

UNIT_TEST_WITH(test_refuses_damaged_files_at_their_line, scratch_enter, scratch_leave)
{
    enum { SECTION = 9 }; /* behind seven lines of comment and an empty one */
    static const struct {
        const char *from, *to;
        int line; /* behind that of the section */
        const char *message;
    } cases[] = {
        {"registers", "registres", 0, "has no key 'registers'"},
        {"gpu = NVIDIA H200\n", "", 0, "has no key 'gpu'"},
        {"cache = cold", "cache = cold\nincomplete = maybe", 17,
         "'maybe' of key 'incomplete' is not yes or no"},
        {"sm_count = 132", "sm_count = many", 7, "'many' of key 'sm_count' is not a whole number"},
        {"sm_count = 132", "sm_count = 99999999999", 7, "whole number"},
        {"sm_count = 132", "sm_count = -1", 7, "whole number"},
        {"median_ns = 24096", "median_ns = nan", 23, "'nan' of key 'median_ns'"},
        {"median_ns = 24096", "median_ns = 24096 ns", 23, "'24096 ns'"},
        {"parameter.block_size = 512", "parameter.block_size = A B", 19,
         "'A B' of key 'parameter.block_size' is not a number or a lower-case word"},
        {"tie.1.", "tie.2.", 33, "ties are numbered from 1"},
        {"tie.1.", "tie.01.", 33, "ties are numbered from 1"},
        {"tie.1.", "tie.-1.", 33, "ties are numbered from 1"},
        {"tie.1.", "tie.", 33, "ties are numbered from 1"},
        {"tie.1.block_size", "tie.1.block_size = 1\ntie.1.block_size", 34,
         "'block_size' is given twice"},
        {"parameter.min_blocks", "parameter.block_size", 20, "'block_size' is given twice"},
        {"parameter.min_blocks", "parameter.NUM", 20,
         "'NUM' is not a lower-case name of at most 31 letters"},
        {"arch = sm_90", "gpu = Other", 5, "key 'gpu' is given twice"},
        {"kernel = reduce_sum", "kernel = ../sum", 1,
         "'../sum' of key 'kernel' is not a lower-case name; restore the file or remove the "
         "section"},
        {"gpu = NVIDIA H200", "gpu =", 4, "is not a GPU's name"},
        {"samples = 3", "samples = 3\n  4", 27, "begins with white space"},
        {"; The fastest", "stray = 1\n; ", 1 - SECTION, "'stray' is in no section"},
        {"kernel = reduce_sum", "kernel", 1, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_refused(cases[i].from, cases[i].to, SECTION + cases[i].line, cases[i].message);
    char text[400] = "gpu = "; /* readers cut it */
    memset(text + strlen(text), 'x', 300);
    assert_refused("gpu = NVIDIA H200", text, SECTION + 4, "longer than 197 bytes");
}

UNIT_TEST_WITH(test_long_commands_are_cut_to_their_line, scratch_enter, scratch_leave)
{
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

UNIT_TEST_WITH(test_does_not_write_what_would_not_read_back, scratch_enter, scratch_leave)
{
    write_entry("tuned.ini", fixture_entry());
    char *before = scratch_read("tuned.ini");
    struct tuned_entry entry = fixture_entry();
    free(entry.gpu);
    entry.gpu = alloc_string("a ;b");
    struct tuned_file tuned = {.entries = &entry, .count = 1};
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
    size_t taken;
    return tuned_file_update("results/tuned.ini", &entry, 1, &taken, NULL);
}

UNIT_TEST_WITH(test_updates_at_once_lose_no_entry, scratch_enter, scratch_leave)
{
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

/* Updates tuned.ini with the fixture's entry; returns whether it was taken. */
static size_t update(bool incomplete, char hash_digit, int registers)
{
    struct tuned_entry entry = fixture_entry();
    size_t taken = 9;
    entry.incomplete = incomplete;
    entry.template_hash[0] = hash_digit;
    entry.registers = registers;
    assert_int_equal(tuned_file_update("tuned.ini", &entry, 1, &taken, &error), 0);
    assert_null(entry.section);
    return taken;
}

static void assert_only_entry(bool incomplete, int registers)
{
    struct tuned_file tuned;
    assert_int_equal(tuned_file_read("tuned.ini", &tuned, NULL), 0);
    assert_int_equal(tuned.count, 1);
    assert_int_equal(tuned.entries[0].incomplete, incomplete);
    assert_int_equal(tuned.entries[0].registers, registers);
    tuned_file_release(&tuned);
}

UNIT_TEST_WITH(test_an_incomplete_entry_does_not_replace_a_complete_one, scratch_enter,
               scratch_leave)
{
    assert_int_equal(update(true, '0', 1), 1);
    assert_int_equal(update(true, '0', 2), 1);
    assert_only_entry(true, 2);
    assert_int_equal(update(false, '0', 3), 1);
    assert_int_equal(update(true, '0', 4), 0);
    assert_only_entry(false, 3);
    assert_int_equal(update(true, 'f', 5), 1); /* the template is another */
    assert_only_entry(true, 5);
    assert_int_equal(update(false, 'f', 6), 1);
    assert_only_entry(false, 6);
}

/* --- what the tuner and libtuned read --- */

static uint64_t seed;

static uint64_t draw_below(uint64_t limit)
{
    seed = seed * 6364136223846793005U + 1442695040888963407U;
    return (seed >> 33) % limit;
}

static double random_real(void)
{
    double real = NAN;
    while (!isfinite(real)) {
        uint64_t bits = draw_below((uint64_t)1 << 31) << 33 ^ draw_below((uint64_t)1 << 31) << 2;
        memcpy(&real, &bits, sizeof real);
    }
    return real;
}

/* Up to `limit` values of all kinds. */
static void random_values(struct bindings *bindings, size_t limit)
{
    size_t count = draw_below(limit + 1);
    for (size_t i = 0; i < count; i++) {
        char name[24];
        char word[64];
        size_t letters = 1 + draw_below(63);
        memset(word, 'w', letters);
        word[letters] = '\0';
        (void)snprintf(name, sizeof name, "v_%zu", i);
        switch (draw_below(4)) {
        case 0:
            bindings_set(bindings, name, value_integer((int64_t)(seed ^ seed << 20)));
            break;
        case 1:
            bindings_set(bindings, name, value_real((double)draw_below(100)));
            break;
        case 2:
            bindings_set(bindings, name, value_real(random_real()));
            break;
        default:
            bindings_set(bindings, name, value_word(word));
        }
    }
}

static struct tuned_entry random_entry(size_t index)
{
    struct tuned_entry entry = fixture_entry();
    free(entry.section);
    free(entry.gpu);
    entry.section = alloc_format("reduce_sum %08zx", index);
    entry.gpu = alloc_format("GPU %d = [a; b]", (int)draw_below(3));
    bindings_release(&entry.problem);
    bindings_release(&entry.parameters);
    random_values(&entry.problem, TUNED_PROBLEM_VALUES);
    random_values(&entry.parameters, TUNED_PARAMETERS);
    bindings_release(&entry.ties[0]);
    random_values(&entry.ties[0], TUNED_PARAMETERS);
    bindings_set(&entry.ties[0], "v_0", value_integer(1)); /* a tie without values is not written */
    entry.runs = (int)draw_below(33);
    entry.sm_clock_mhz = (double)draw_below(8000) / 4;
    entry.dropped_samples = (int64_t)draw_below(20);
    entry.throttled_samples = (int64_t)draw_below(20);
    entry.other_processes = (int64_t)draw_below(3);
    entry.gflop_per_s = draw_below(2) == 0 ? 0 : fabs(random_real());
    entry.compute_capability = (int)draw_below(200);
    entry.sm_count = (int)draw_below(INT32_MAX);
    entry.l2_bytes = (int64_t)draw_below((uint64_t)1 << 31) << 31;
    entry.memory_gb_per_s = fabs(random_real());
    entry.median_ns = entry.low_ns = fabs(random_real());
    entry.high_ns = nextafter(entry.low_ns, INFINITY);
    return entry;
}

static void assert_same_values(const struct tuned_value *values, size_t count,
                               const struct bindings *bindings)
{
    assert_int_equal(count, bindings->count);
    for (size_t i = 0; i < count; i++) {
        const struct value *value = &bindings->items[i].value;
        assert_string_equal(values[i].name, bindings->items[i].name);
        if (value->kind == VALUE_INTEGER) {
            assert_int_equal(values[i].kind, TUNED_INTEGER);
            assert_true(values[i].integer == value->as.integer);
        } else if (value->kind == VALUE_REAL) {
            assert_int_equal(values[i].kind, TUNED_REAL);
            assert_real(values[i].real, value->as.real);
        } else {
            assert_int_equal(values[i].kind, TUNED_WORD);
            assert_string_equal(values[i].text, value->as.word);
        }
    }
}

static const struct tuned_configuration *find_configuration(const struct tuned_table *table,
                                                            const char *section)
{
    for (size_t i = 0; i < tuned_count(table); i++)
        if (strcmp(tuned_at(table, i)->section, section) == 0)
            return tuned_at(table, i);
    fail_msg("libtuned has no section '%s'", section);
    return NULL;
}

/* What libtuned has of the file is what the tuner has of it. */
static void assert_same_file(const char *path, const struct tuned_file *tuned)
{
    struct tuned_table *table;
    struct tuned_error theirs;
    if (tuned_load(&table, path, &theirs) != 0)
        fail_msg("%s:%d: %s", theirs.file, theirs.line, theirs.message);
    assert_int_equal(tuned_count(table), tuned->count);
    for (size_t i = 0; i < tuned->count; i++) {
        const struct tuned_entry *entry = &tuned->entries[i];
        const struct tuned_configuration *from = find_configuration(table, entry->section);
        assert_string_equal(from->kernel, entry->kernel);
        assert_string_equal(from->template_name, entry->template_name);
        assert_string_equal(from->template_hash, entry->template_hash);
        assert_string_equal(from->gpu->name, entry->gpu);
        assert_int_equal(from->gpu->compute_capability, entry->compute_capability);
        assert_int_equal(from->gpu->sm_count, entry->sm_count);
        assert_true(from->gpu->l2_bytes == entry->l2_bytes);
        assert_real(from->gpu->memory_gb_per_s, entry->memory_gb_per_s);
        assert_real(from->median_ns, entry->median_ns);
        assert_same_values(from->problem, from->problem_count, &entry->problem);
        assert_same_values(from->parameters, from->parameter_count, &entry->parameters);
    }
    tuned_free(table);
}

UNIT_TEST_WITH(test_tuner_and_library_read_what_was_written, scratch_enter, scratch_leave)
{
    struct tuned_file written = {0};
    struct tuned_file read;
    seed = 9;
    for (size_t i = 0; i < 200; i++) {
        struct tuned_entry entry = random_entry(i);
        tuned_file_merge(&written, &entry);
    }
    if (tuned_file_write("tuned.ini", &written, &error) != 0 ||
        tuned_file_read("tuned.ini", &read, &error) != 0)
        fail_msg("%s:%d: %s", error.file, error.line, error.message);
    assert_int_equal(read.count, written.count);
    for (size_t i = 0; i < read.count; i++)
        assert_entries_equal(&read.entries[i], &written.entries[i]);
    assert_same_file("tuned.ini", &read);
    tuned_file_release(&read);
    tuned_file_release(&written);
}

UNIT_TEST_WITH(test_the_locale_changes_nothing, scratch_enter, scratch_leave)
{
    if (!comma_locale_enter())
        skip();
    write_entry("comma.ini", fixture_entry());
    test_tuner_and_library_read_what_was_written(state);
    comma_locale_leave();
    write_entry("plain.ini", fixture_entry());
    char *comma = scratch_read("comma.ini");
    char *plain = scratch_read("plain.ini");
    assert_string_equal(comma, plain);
    assert_non_null(strstr(comma, "empty_kernel_ns = 2660.25\n"));
    free(comma);
    free(plain);
}

/* A good file with `text` for the value of a parameter. */
static void write_spelling(const char *text)
{
    char *line = alloc_format("parameter.block_size = %s\n", text);
    write_changed("tuned.ini", "parameter.block_size = 512\n", line);
    free(line);
}

UNIT_TEST_WITH(test_every_spelling_is_the_same_to_both, scratch_enter, scratch_leave)
{
    static const struct {
        const char *text;
        bool good;
    } cases[] = {
        {"512", true},       {"+512", true},
        {"2^9", true},       {"-2^63", true},
        {"0007", true},      {"5.", true},
        {".5", true},        {"1E5", true},
        {"1e-310", true},    {"word", true},
        {"inf", true},       {"512 ; comment", true},
        {"2^63", false},     {"1e999", false},
        {"1e-999", false},   {"9223372036854775808", false},
        {"0x10", false},     {"1,5", false},
        {"-inf", false},     {"Word", false},
        {"two ws", false},   {"", false},
        {"5\n  12", false},  {"1\nparameter.block_size = 1", false},
        {"2^", false},       {"1e", false},
        {"\"word\"", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tuned_file tuned;
        struct tuned_table *table;
        struct tuned_error theirs = {0};
        write_spelling(cases[i].text);
        int status = tuned_file_read("tuned.ini", &tuned, &error);
        if (status != (cases[i].good ? 0 : ERROR_CONFIG))
            fail_msg("'%s': status %d, %s", cases[i].text, status, error.message);
        if (cases[i].good) {
            assert_same_file("tuned.ini", &tuned);
            tuned_file_release(&tuned);
        } else {
            assert_int_equal(tuned_load(&table, "tuned.ini", &theirs), TUNED_BAD_FILE);
            assert_int_equal(theirs.line, error.line);
            assert_string_equal(theirs.message, error.message);
        }
    }
}

UNIT_TEST_WITH(test_comment_on_a_replaced_line_survives, scratch_enter, scratch_leave)
{
    struct tuned_entry entry = fixture_entry();
    write_spelling("512 ; slower with 1024");
    assert_int_equal(tuned_file_update("tuned.ini", &entry, 1, &(size_t){0}, NULL), 0);
    char *text = scratch_read("tuned.ini");
    assert_non_null(strstr(text, "\n; slower with 1024\n"));
    free(text);
}
