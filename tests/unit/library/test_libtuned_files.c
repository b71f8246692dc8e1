/*
 * Bad files, and memory that runs out: the reading half of libtuned, compiled in with allocations
 * that can be made to fail.
 */
#include <stdlib.h>
#include <string.h>

static long allocations_left = -1; /* negative: no limit */

static int may_allocate(void)
{
    return allocations_left < 0 || allocations_left-- > 0;
}

static void *limited_calloc(size_t count, size_t size)
{
    return may_allocate() ? calloc(count, size) : NULL;
}

static void *limited_realloc(void *pointer, size_t size)
{
    return may_allocate() ? realloc(pointer, size) : NULL;
}

static char *limited_strdup(const char *text)
{
    return may_allocate() ? strdup(text) : NULL;
}

#define calloc limited_calloc
#define realloc limited_realloc
#undef strdup
#define strdup limited_strdup
#include "base/cover.c"
#include "base/expression.c"
#include "base/ini_reader.c"
#include "base/literal.c"
#include "base/tuned_reader.c"
#include "library/defaults.c"
#include "library/groups.c"
#include "library/load.c"
#include "library/table.c"
#undef calloc
#undef realloc
#undef strdup

#include "unit/cover_fixture.h"
#include "unit/scratch.h"
#include "unit/test.h"

#define HEAD                                                                                       \
    "[sum 1]\nkernel = sum\ntemplate = sum\ntemplate_hash = 0123\ngpu = Alpha\n"                   \
    "compute_capability = 80\n"

static const char good[] = "; a comment\n" HEAD "sm_count = 100\nl2_bytes = 1000\n"
                           "memory_gb_per_s = 1555.2\nproblem.n = 1024\nproblem.type = float\n"
                           "parameter.block_size = 256\nmedian_ns = 10.5\n"
                           "tie.1.block_size = 128\nsomething.new = 1 2 3 ;\n\n"
                           "[sum 2]\r\nkernel = sum\r\ntemplate = sum\r\ntemplate_hash = 0123\r\n"
                           "gpu = Beta\r\ncompute_capability = 80\r\nproblem.n = 2^11\r\n";

static void write_bytes(const char *path, const char *text, size_t length)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
}

/* Of the test that runs: what it loaded last. */
static struct tuned_table *table;
static struct tuned_error error;

static int leave_files(void **state)
{
    tuned_free(table);
    table = NULL;
    return scratch_leave(state);
}

/* Loads a copy that ends where the text does, so that a sanitizer sees a step behind it. */
static int load_exactly(const char *text, size_t length)
{
    char *copy = malloc(length > 0 ? length : 1);
    assert_non_null(copy);
    memcpy(copy, text, length);
    tuned_free(table);
    int code = tuned_load_text(&table, "file.ini", copy, length, &error);
    free(copy);
    return code;
}

UNIT_TEST_WITH(test_what_a_file_says, scratch_enter, leave_files)
{
    assert_int_equal(load_exactly(good, strlen(good)), 0);
    assert_int_equal(tuned_count(table), 2);
    const struct tuned_configuration *first = tuned_at(table, 0);
    const struct tuned_configuration *second = tuned_at(table, 1);
    assert_string_equal(first->section, "sum 1");
    assert_string_equal(first->kernel, "sum");
    assert_string_equal(first->template_hash, "0123");
    assert_string_equal(first->gpu->name, "Alpha");
    assert_int_equal(first->gpu->sm_count, 100);
    assert_int_equal(first->gpu->l2_bytes, 1000);
    assert_int_equal((int)(first->gpu->memory_gb_per_s * 10), 15552);
    assert_int_equal((int)(first->median_ns * 10), 105);
    assert_int_equal(first->problem_count, 2);
    assert_string_equal(first->problem[1].text, "float");
    assert_int_equal(first->parameter_count, 1);
    assert_int_equal(first->parameters[0].integer, 256);
    assert_string_equal(first->parameters[0].text, "256");
    assert_int_equal(second->problem[0].integer, 2048);
    assert_int_equal(second->parameter_count, 0);
    assert_null(tuned_at(table, 2));
    tuned_free(NULL);
}

UNIT_TEST_WITH(test_no_sections_are_an_empty_table, scratch_enter, leave_files)
{
    assert_int_equal(load_exactly("", 0), 0);
    assert_int_equal(tuned_count(table), 0);
}

UNIT_TEST_WITH(test_what_is_refused_and_where, scratch_enter, leave_files)
{
    static const struct {
        const char *text;
        int line;
        const char *message; /* a part of it */
    } cases[] = {
        {"kernel = sum\n", 1, "in no section"},
        {"[sum 1]\n", 1, "no key 'kernel'"},
        {"[sum 1]\nkernel = sum\n[sum 2]\n", 1, "no key 'template'"},
        {HEAD "nonsense\n", 7, "expected [section], key = value or a comment"},
        {HEAD "sm_count = -1\n", 7, "'-1' of key 'sm_count' is not a whole number"},
        {HEAD "sm_count = 99999999999\n", 7, "not a whole number in range"},
        {HEAD "l2_bytes = 99999999999999999999\n", 7, "not a whole number in range"},
        {HEAD "memory_gb_per_s = nan\n", 7,
         "'nan' of key 'memory_gb_per_s' is not a number of 0 or more"},
        {HEAD "median_ns = -5\n", 7, "'-5' of key 'median_ns' is not a number of 0 or more"},
        {HEAD "median_ns = 1e999\n", 7, "'1e999' of key 'median_ns' is not a number of 0 or more"},
        {HEAD "kernel = other\n", 7, "'kernel' is given twice"},
        {HEAD "parameter.a = 1\nparameter.a = 2\n", 8, "'a' is given twice"},
        {HEAD "parameter.A = 1\n", 7, "'A' is not a lower-case name of at most 31 letters"},
        {HEAD "parameter. = 1\n", 7, "not a lower-case name"},
        {HEAD "parameter.a b = 1\n", 7, "not a lower-case name"},
        {HEAD "parameter.abcdefghijklmnopqrstuvwxyz012345 = 1\n", 7, "not a lower-case name"},
        {HEAD "parameter.a = 1 -I/\n", 7,
         "'1 -I/' of key 'parameter.a' is not a number or a lower-case word"},
        {HEAD "parameter.a = 0x10\n", 7, "'0x10' of key"},
        {HEAD "parameter.a = 2^64\n", 7, "'2^64' of key"},
        {HEAD "parameter.a = inf\nproblem.b = Inf\n", 8, "'Inf' of key"},
        {HEAD "parameter.a = 1\n  2\n", 8, "begins with white space"},
        {HEAD "parameter.a =\n", 7, "'' of key"},
        {HEAD " [sum 2]\n", 7, "begins with white space"},
        {"[sum 1\n", 1, "no ']'"},
        {"[]\n", 1, "no name"},
        {"[abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz]\n", 1, "longer than 49 bytes"},
        {"[k 1]\nkernel = ../k\n", 2, "not a lower-case name"},
        {"[k 1]\ntemplate = ../../etc/passwd\n", 2, "not a lower-case name"},
        {"[sum 1] junk\n", 1, "unexpected text after a section heading: 'junk'"},
        {HEAD "parameter.a = 99999999999999999999\n", 7, "not a number"},
        {"[k 1]\ngpu =\n", 2, "'' of key 'gpu' is not a GPU's name, of 1 to 127 bytes"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int code = load_exactly(cases[i].text, strlen(cases[i].text));
        if (code != TUNED_BAD_FILE || strstr(error.message, cases[i].message) == NULL)
            fail_msg("case %zu: code %d, '%s'", i, code, error.message);
        assert_null(table);
        assert_string_equal(error.file, "file.ini");
        assert_int_equal(error.line, cases[i].line);
        assert_int_equal(error.code, code);
        assert_int_equal(tuned_load_text(&table, "x", cases[i].text, strlen(cases[i].text), NULL),
                         TUNED_BAD_FILE); /* whoever does not want to know why */
    }
}

UNIT_TEST_WITH(test_one_bad_section_costs_itself_alone, scratch_enter, leave_files)
{
    static const char text[] = HEAD "parameter.a = 1\n"
                                    "[my 1]\nproblem.n = 1\nparameter.a = 7\nkernel = My-Kernel\n"
                                    "parameter.a = 8\n";
    assert_int_equal(load_exactly(text, strlen(text)), 0);
    assert_int_equal(tuned_count(table), 1);
    assert_int_equal(tuned_at(table, 0)->parameter_count, 1);
    assert_int_equal(error.code, TUNED_OK);
    assert_int_equal(error.line, 11);
    assert_non_null(strstr(error.message, "'My-Kernel' of key 'kernel'"));
    assert_int_equal(load_exactly(HEAD, strlen(HEAD)), 0);
    assert_string_equal(error.message, "");
}

UNIT_TEST_WITH(test_lines_and_bytes_that_inih_would_cut, scratch_enter, leave_files)
{
    char line[400];
    memset(line, 'x', sizeof line);
    memcpy(line, "[a 1]\nkernel = ", 15);
    assert_int_equal(load_exactly(line, sizeof line), TUNED_BAD_FILE);
    assert_int_equal(error.line, 2);
    assert_non_null(strstr(error.message, "197"));
    assert_int_equal(load_exactly("[a 1]\n\0\0", 8), TUNED_BAD_FILE);
    assert_non_null(strstr(error.message, "zero byte"));
}

UNIT_TEST_WITH(test_too_many_values, scratch_enter, leave_files)
{
    char text[8192] = HEAD;
    for (int i = 0; i <= TUNED_PARAMETERS; i++)
        (void)snprintf(text + strlen(text), sizeof text - strlen(text), "parameter.p%d = 1\n", i);
    assert_int_equal(load_exactly(text, strlen(text)), TUNED_BAD_FILE);
    assert_int_equal(error.line, 6 + TUNED_PARAMETERS + 1);
    assert_string_equal(error.message, "section has more than 64 values of this kind");
}

/* Every beginning of a good file, and every byte of it changed: refused or not, nothing breaks. */
UNIT_TEST_WITH(test_damaged_files, scratch_enter, leave_files)
{
    static const char bytes[] = {'\0', '\n', '[', ']', '=', ' ', ';', '^', '.', '9', (char)0xff};
    char text[sizeof good];
    size_t refused = 0;
    for (size_t length = 0; length < sizeof good; length++)
        refused += load_exactly(good, length) != 0;
    assert_true(refused > 100);
    for (size_t i = 0; i < sizeof good - 1; i++)
        for (size_t j = 0; j < sizeof bytes; j++) {
            memcpy(text, good, sizeof good);
            text[i] = bytes[j];
            int code = load_exactly(text, sizeof good - 1);
            assert_true(code == 0 ? table != NULL : table == NULL);
        }
}

UNIT_TEST_WITH(test_missing_files, scratch_enter, leave_files)
{
    assert_int_equal(tuned_load(&table, "nowhere.ini", &error), TUNED_BAD_FILE);
    assert_string_equal(error.file, "nowhere.ini");
    assert_int_equal(mkdir("empty", 0700), 0);
    assert_int_equal(tuned_load(&table, "empty", &error), TUNED_BAD_FILE);
    assert_string_equal(error.file, "empty/tuned.ini");
    assert_null(table);
}

UNIT_TEST_WITH(test_files_have_a_limit, scratch_enter, leave_files)
{
    size_t size = 16 * 1024 * 1024 + 1; /* the tuner's limit, too */
    char *large = malloc(size);
    assert_non_null(large);
    memset(large, '\n', size);
    write_bytes("large.ini", large, size - 1);
    assert_int_equal(tuned_load(&table, "large.ini", &error), 0);
    tuned_free(table);
    write_bytes("large.ini", large, size);
    assert_int_equal(tuned_load(&table, "large.ini", &error), TUNED_BAD_FILE);
    assert_string_equal(error.message, "file is larger than 16 MiB; is it INI?");
    assert_null(table);
    free(large);
}

UNIT_TEST_WITH(test_bad_templates, scratch_enter, leave_files)
{
    static const char *const texts[] = {"[parameters]\nBlock = 1\n",
                                        "[parameters]\nblock = ?\n",
                                        "[parameters]\nblock = 1\nblock = 2\n",
                                        "[parameters\n",
                                        "[parameters]\nblock =\n",
                                        "[problem]\nn =\n[kernel]\n",
                                        "[parameters]\na = 1\n[launch_parameters]\na = 2\n"};
    assert_int_equal(load_exactly(good, strlen(good)), 0);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        write_bytes("sum.ini", texts[i], strlen(texts[i]));
        assert_int_equal(tuned_add_template(table, "sum.ini", &error), TUNED_BAD_FILE);
        assert_string_equal(error.file, "sum.ini");
    }
    assert_int_equal(tuned_add_template(table, "nowhere.ini", &error), TUNED_BAD_FILE);
    assert_null(table->templates); /* as it was */
}

UNIT_TEST_WITH(test_defaults_of_templates, scratch_enter, leave_files)
{
    static const char text[] = "[kernel]\nsource = sum.cu\n  and more\n"
                               "[parameters]\nfinish = two_pass | atomic\n  | last_block\n"
                               "block_size =\n  256\n"
                               "[launch_parameters]\nblocks = 2^3\n"
                               "[problem]\nscale = 0.5 ; half\n";
    assert_int_equal(load_exactly(good, strlen(good)), 0);
    write_bytes("sum.ini", text, strlen(text));
    assert_int_equal(tuned_add_template(table, "sum.ini", NULL), 0);
    const struct defaults *defaults = tuned_defaults_of(table, "sum");
    assert_non_null(defaults);
    assert_int_equal(defaults->parameters.count, 3);
    assert_string_equal(defaults->parameters.items[0].text, "two_pass");
    assert_string_equal(defaults->parameters.items[1].name, "block_size");
    assert_int_equal(defaults->parameters.items[1].integer, 256);
    assert_int_equal(defaults->parameters.items[2].integer, 8);
    assert_int_equal(defaults->problem.count, 1);
    assert_int_equal(defaults->problem.items[0].kind, TUNED_REAL);
    assert_true(defaults->problem.items[0].real * 2 == 1);
}

UNIT_TEST_WITH(test_out_of_memory, scratch_enter, leave_files)
{
    int code = TUNED_NO_MEMORY;
    long limit = 0;
    assert_int_equal(system("mkdir -p b/templates"), 0);
    char *text = NULL;
    size_t length;
    FILE *stream = open_memstream(&text, &length);
    assert_non_null(stream);
    fprintf(stream, "%s\n%s", good, COVER);
    assert_int_equal(fclose(stream), 0);
    write_bytes("b/tuned.ini", text, length);
    write_bytes("b/templates/sum.ini", "[parameters]\nblock_size = 64\n", 29);
    for (; code == TUNED_NO_MEMORY; limit++) {
        assert_true(limit < 100);
        allocations_left = limit;
        code = tuned_load(&table, "b", &error);
        allocations_left = -1;
        assert_true(code == 0 || (table == NULL && error.code == TUNED_NO_MEMORY));
    }
    assert_int_equal(code, 0);
    assert_true(limit > 15); /* each allocation has failed once */
    assert_true(table != NULL && tuned_at(table, tuned_count(table) - 1)->number == 2);
    free(text);
}
