#include "template/ini_file.h"

#include "unit/scratch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

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

/* Reads `text` and compares the value of [a] k. */
static void assert_value(const char *text, const char *value)
{
    struct ini_file ini = read_text(text);
    const struct ini_entry *entry = ini_file_get(&ini, "a", "k");
    assert_non_null(entry);
    assert_string_equal(entry->value, value);
    ini_file_release(&ini);
}

static void assert_entry(const struct ini_file *ini, size_t index, const char *section,
                         const char *key, const char *value, int line)
{
    const struct ini_entry *entry = &ini->entries[index];
    assert_true(index < ini->count);
    assert_string_equal(entry->section, section);
    if (key == NULL)
        assert_null(entry->key);
    else
        assert_string_equal(entry->key, key);
    assert_string_equal(entry->value, value);
    assert_int_equal(entry->line, line);
}

static void entries_in_order_with_their_lines(void **state)
{
    (void)state;
    struct ini_file ini = read_text("; about\n"
                                    "top = 1\n"
                                    "\n"
                                    "[first]\n"
                                    "key = value ; comment\n"
                                    "# comment\n"
                                    "other=a = b\n"
                                    "[empty]   ; nothing in it\n"
                                    "[last.one]\n"
                                    "none =\n");
    assert_int_equal(ini.count, 7);
    assert_string_equal(ini.path, "a.ini");
    assert_entry(&ini, 0, "", "top", "1", 2);
    assert_entry(&ini, 1, "first", NULL, "", 4);
    assert_entry(&ini, 2, "first", "key", "value", 5);
    assert_entry(&ini, 3, "first", "other", "a = b", 7);
    assert_entry(&ini, 4, "empty", NULL, "", 8);
    assert_entry(&ini, 5, "last.one", NULL, "", 9);
    assert_entry(&ini, 6, "last.one", "none", "", 10);
    ini_file_release(&ini);
}

static void nothing_at_all(void **state)
{
    (void)state;
    static const char *const texts[] = {"", "\n", "\n\n  \n\t\n", "; only\n# comments", "\r\n"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct ini_file ini = read_text(texts[i]);
        assert_int_equal(ini.count, 0);
        assert_null(ini_file_get(&ini, "", ""));
        ini_file_release(&ini);
    }
}

static void values_may_continue(void **state)
{
    (void)state;
    assert_value("[a]\nk = one\n  two\n\tthree", "one two three");
    assert_value("[a]\nk = one ; first\n  two ; second\n", "one two");
    assert_value("[a]\nk =\n  one\n", "one");
    assert_value("[a]\nk = one\n\n; between\n  ; and this\n  two\n", "one two");
    assert_value("[a]\nk = one\n  b = c\n", "one b = c");
    assert_value("[a]\nk = one\n  [b]\n", "one [b]");
    assert_value("[a]\nk = \"x;y\"\n  z;w\n", "\"x;y\" z;w");
}

static void continued_lines_count(void **state)
{
    (void)state;
    struct ini_file ini = read_text("[a]\nk = one\n two\n three\nnext = 1\n");
    assert_int_equal(ini_file_get(&ini, "a", "k")->line, 2);
    assert_int_equal(ini_file_get(&ini, "a", "next")->line, 5);
    ini_file_release(&ini);
}

static void line_endings_and_marks(void **state)
{
    (void)state;
    assert_value("[a]\r\nk = v\r\n", "v");
    assert_value("[a]\r\nk = v\r\n  w\r\n", "v w");
    assert_value("[a]\nk = v", "v");
    assert_value("\xef\xbb\xbf[a]\nk = v\n", "v");
    assert_value("\xef\xbb\xbf; comment\n[a]\nk = v\n", "v");
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

static void lines_end_at_197_bytes(void **state)
{
    (void)state;
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

static void long_comments_are_refused_too(void **state)
{
    (void)state;
    char text[256];
    memset(text, ';', 220);
    text[220] = '\0';
    assert_refused(text, 1,
                   "line is longer than 197 bytes, which inih would split; continue it on a line "
                   "that begins with white space");
}

static void section_names_end_at_49_bytes(void **state)
{
    (void)state;
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
static void keys_may_be_long(void **state)
{
    (void)state;
    char key[101];
    char text[128];
    memset(key, 'k', sizeof key);
    key[100] = '\0';
    assert_true(snprintf(text, sizeof text, "[a]\n%s = 1\n  2\n", key) > 0);
    struct ini_file ini = read_text(text);
    assert_string_equal(ini_file_get(&ini, "a", key)->value, "1 2");
    ini_file_release(&ini);
}

static void lines_that_are_nothing(void **state)
{
    (void)state;
    static const char nothing[] =
        "expected [section], key = value or a comment; comments begin with ';'";
    assert_refused("[a]\nk = 1\nwords\n", 3, nothing);
    assert_refused("[a]\nk ; = 1\n", 2, nothing);
    assert_refused("]\n", 1, nothing);
    /* the first of two faults counts */
    assert_refused("[a]\nwords\nk = 1\nk = 1\n", 2, nothing);
    assert_refused("[a]\nwords\n[b\n", 2, nothing);
    assert_refused("[a]\nk = 1\nk = 1\nwords\n", 3, "key 'k' is given twice in this section");
}

static void malformed_headings(void **state)
{
    (void)state;
    assert_refused("[a\nk = 1\n", 1, "section heading '[a' has no ']'");
    assert_refused("[a]\n[b] k = 1\n", 2, "unexpected text after a section heading: 'k = 1'");
    assert_refused("[]\n", 1, "section heading '[]' has no name");
    assert_refused("[a]\nk = 1\n[b]\n[a]\n", 4,
                   "section 'a' is given twice; put its keys in one place");
}

static void continuations_of_nothing(void **state)
{
    (void)state;
#define REFUSED(line)                                                                              \
    "line '" line "' begins with white space, but there is no value above it to continue"
    assert_refused("  k = 1\n", 1, REFUSED("k = 1"));
    assert_refused("[a]\n  k = 1\n", 2, REFUSED("k = 1"));
    assert_refused("[a]\n\t[b]\nk = 1\n", 2, REFUSED("[b]"));
    assert_refused(" [a]\n", 1, REFUSED("[a]"));
    assert_refused("[a]\nk = 1\n[b]\n  2 = 3\n", 4, REFUSED("2 = 3"));
#undef REFUSED
}

static void keys_once_but_constraints(void **state)
{
    (void)state;
    assert_refused("k = 1\nk = 2\n", 2, "key 'k' is given twice in this section");
    assert_refused("[a]\nk = 1\nl = 1\nk = 1\n", 4, "key 'k' is given twice in this section");
    assert_refused("[a]\n= 1\n", 2, "'= 1' has no key");
    struct ini_file ini =
        read_text("[a]\nconstraint = x\nconstraint = y\n[b]\nk = 1\n[c]\nk = 2\n");
    assert_int_equal(ini.count, 7);
    assert_string_equal(ini_file_get(&ini, "a", "constraint")->value, "x");
    assert_string_equal(ini_file_get(&ini, "b", "k")->value, "1");
    assert_string_equal(ini_file_get(&ini, "c", "k")->value, "2");
    assert_null(ini_file_get(&ini, "a", "k"));
    assert_null(ini_file_get(&ini, "d", "k"));
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

static void files_are_read(void **state)
{
    (void)state;
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

static void files_that_are_no_ini(void **state)
{
    (void)state;
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

static void a_folder_is_no_file(void **state)
{
    (void)state;
    struct ini_file ini;
    struct error error;
    assert_int_equal(ini_file_read(&ini, ".", &error), ERROR_CONFIG);
    assert_string_equal(error.message, "cannot read the file: Is a directory");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entries_in_order_with_their_lines),
        cmocka_unit_test(nothing_at_all),
        cmocka_unit_test(values_may_continue),
        cmocka_unit_test(continued_lines_count),
        cmocka_unit_test(line_endings_and_marks),
        cmocka_unit_test(lines_end_at_197_bytes),
        cmocka_unit_test(long_comments_are_refused_too),
        cmocka_unit_test(section_names_end_at_49_bytes),
        cmocka_unit_test(keys_may_be_long),
        cmocka_unit_test(lines_that_are_nothing),
        cmocka_unit_test(malformed_headings),
        cmocka_unit_test(continuations_of_nothing),
        cmocka_unit_test(keys_once_but_constraints),
        SCRATCH_TEST(files_are_read),
        SCRATCH_TEST(files_that_are_no_ini),
        SCRATCH_TEST(a_folder_is_no_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
