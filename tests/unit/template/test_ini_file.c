#include "template/ini_file.h"

#include "base/alloc.h"

#include "unit/cases.h"
#include "unit/scratch.h"

static struct ini_file read_text(const char *text)
{
    struct ini_file ini;
    struct error error;
    if (ini_file_read_text(&ini, "a.ini", text, &error) != 0)
        fail_msg("line %d is refused: %s", error.line, error.message);
    return ini;
}

static void assert_refused(const char *text, int line, const char *message)
{
    struct ini_file ini;
    struct error error = {0};
    if (ini_file_read_text(&ini, "a.ini", text, &error) != ERROR_CONFIG)
        fail_msg("'%s' is accepted", text);
    assert_string_equal(error.message, message);
    assert_string_equal(error.file, "a.ini");
    assert_int_equal(error.line, line);
    assert_int_equal(ini.count, 0);
    assert_null(ini.path);
}

static void check_case(void *user, const struct test_case *test)
{
    (void)user;
    if (test->count == 3) {
        assert_refused(test->fields[0], (int)strtol(test->fields[1], NULL, 10), test->fields[2]);
        return;
    }
    struct ini_file ini = read_text(test->fields[0]);
    char *text = alloc_string(ini.count == 0 ? "nothing" : "");
    for (size_t i = 0; i < ini.count; i++) {
        const struct ini_entry *entry = &ini.entries[i];
        if (entry->key == NULL)
            alloc_append(&text, "%s%d [%s]", i > 0 ? " " : "", entry->line, entry->section);
        else
            alloc_append(&text, "%s%d %s.%s='%s'", i > 0 ? " " : "", entry->line, entry->section,
                         entry->key, entry->value);
    }
    case_assert_text(test, text, test->fields[1]);
    free(text);
    ini_file_release(&ini);
}

UNIT_TEST(texts)
{
    cases_run(CASES, check_case, NULL);
}

/* "[a]\nk = xxx…": a line of `length` bytes. */
static char *long_line(size_t length, const char *ending)
{
    char *text = malloc(length + 32);
    assert_non_null(text);
    memcpy(text, "[a]\nk = ", 8);
    memset(text + 8, 'x', length - 4);
    memcpy(text + 4 + length, ending, strlen(ending) + 1);
    return text;
}

UNIT_TEST(lines_end_at_197_bytes)
{
    static const char *const endings[] = {"", "\n", "\r\n", "\nother = 1\n"};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        char *text = long_line(197, endings[i]);
        struct ini_file ini = read_text(text);
        assert_int_equal(strlen(ini_file_get(&ini, "a", "k")->value), 193);
        assert_int_equal(ini.count, strlen(endings[i]) > 2 ? 3 : 2);
        ini_file_release(&ini);
        free(text);
        text = long_line(198, endings[i]);
        assert_refused(text, 2,
                       "line is longer than 197 bytes, which inih would split; continue it on a "
                       "line that begins with white space");
        free(text);
    }
}

UNIT_TEST(long_comments_are_refused_too)
{
    char text[256];
    memset(text, ';', 220);
    text[220] = '\0';
    assert_refused(text, 1,
                   "line is longer than 197 bytes, which inih would split; continue it on a line "
                   "that begins with white space");
}

UNIT_TEST(section_names_end_at_49_bytes)
{
    char name[64];
    char text[128];
    char message[256];
    memset(name, 's', sizeof name);
    name[49] = '\0';
    assert_true(snprintf(text, sizeof text, "[%s]\nk = 1\n", name) > 0);
    struct ini_file ini = read_text(text);
    assert_string_equal(ini_file_get(&ini, name, "k")->value, "1");
    ini_file_release(&ini);
    name[49] = 's';
    name[50] = '\0';
    assert_true(snprintf(text, sizeof text, "\n[%s]\nk = 1\n", name) > 0);
    assert_true(snprintf(message, sizeof message,
                         "section name '%s' is longer than 49 bytes, which inih would cut",
                         name) > 0);
    assert_refused(text, 2, message);
}

/* inih cuts only what it would repeat for a continuation, which is read without it. */
UNIT_TEST(keys_may_be_long)
{
    char key[101];
    char text[128];
    memset(key, 'k', sizeof key);
    key[100] = '\0';
    assert_true(snprintf(text, sizeof text, "[a]\n%s = 1\n  2\n", key) > 0);
    struct ini_file ini = read_text(text);
    assert_string_equal(ini_file_get(&ini, "a", key)->value, "1 2");
    ini_file_release(&ini);
}

/* --- files --- */

static const char path[] = "a.ini";

static void write_file(const char *bytes, size_t count)
{
    FILE *stream = fopen(path, "wb");
    assert_non_null(stream);
    assert_int_equal(fwrite(bytes, 1, count, stream), count);
    assert_int_equal(fclose(stream), 0);
}

UNIT_TEST_WITH(files_are_read, scratch_enter, scratch_leave)
{
    struct ini_file ini;
    struct error error;
    write_file("[a]\r\nk = v\r\n", 12);
    assert_int_equal(ini_file_read(&ini, path, &error), 0);
    assert_string_equal(ini.path, path);
    assert_string_equal(ini_file_get(&ini, "a", "k")->value, "v");
    ini_file_release(&ini);
    write_file("", 0);
    assert_int_equal(ini_file_read(&ini, path, &error), 0);
    assert_int_equal(ini.count, 0);
    ini_file_release(&ini);
}

static void assert_file_refused(int line, const char *message)
{
    struct ini_file ini;
    struct error error;
    assert_int_equal(ini_file_read(&ini, path, &error), ERROR_CONFIG);
    assert_string_equal(error.file, path);
    assert_int_equal(error.line, line);
    assert_string_equal(error.message, message);
    assert_int_equal(ini.count, 0);
}

UNIT_TEST_WITH(files_that_are_no_ini, scratch_enter, scratch_leave)
{
    assert_file_refused(0, "cannot open the file: No such file or directory");
    write_file("[a]\nk = \0v\n", 11);
    assert_file_refused(2, "line has a zero byte; is this a text file?");
    size_t size = 16 * 1024 * 1024 + 1; /* libtuned's limit, too */
    char *large = malloc(size);
    assert_non_null(large);
    memset(large, '\n', size);
    write_file(large, size - 1);
    struct ini_file ini;
    struct error error;
    assert_int_equal(ini_file_read(&ini, path, &error), 0);
    ini_file_release(&ini);
    write_file(large, size);
    assert_file_refused(0, "file is larger than 16 MiB; is it INI?");
    free(large);
}
