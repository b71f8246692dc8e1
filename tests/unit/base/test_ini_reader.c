/* The reader alone, compiled in with memory that can run out and an inih that can fail.
 * template/test_ini_file.c has what is refused, and where. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static long allocations_left = -1; /* negative: no limit */

static void *limited_realloc(void *pointer, size_t size)
{
    if (allocations_left == 0)
        return NULL;
    allocations_left -= allocations_left > 0;
    return realloc(pointer, size);
}

#include <ini.h>

static int inih_line_bytes = 200;

/* inih, or one that was built with other limits, or one whose memory ran out. */
static int limited_parse(ini_reader read, void *stream, ini_handler handler, void *user)
{
    char line[64] = "";
    if (inih_line_bytes == 0)
        return -2;
    if (inih_line_bytes < 200)
        return read(line, inih_line_bytes, stream) != NULL ? 0 : 1;
    return ini_parse_stream(read, stream, handler, user);
}

#define realloc limited_realloc
#define ini_parse_stream limited_parse
#include "base/ini_reader.c"
#include "base/read_file.c"
#undef realloc
#undef ini_parse_stream

#include "unit/scratch.h"
#include "unit/test.h"

/* What the callbacks were told, one line each: "2 section a". */
struct log {
    char text[512];
    const char *stop; /* the callback that is told this returns 42 */
};

static int note(struct ini_reader *reader, const char *what, const char *a, const char *b)
{
    struct log *log = reader->user;
    size_t used = strlen(log->text);
    (void)snprintf(log->text + used, sizeof log->text - used, "%d %s %s%s%s\n", reader->line, what,
                   a, b != NULL ? "=" : "", b != NULL ? b : "");
    return log->stop != NULL && strcmp(log->stop, a) == 0 ? 42 : 0;
}

static int on_section(struct ini_reader *reader, const char *name)
{
    return note(reader, "section", name, NULL);
}

static int on_entry(struct ini_reader *reader, const char *key, const char *value)
{
    return note(reader, "entry", key, value);
}

static int on_more(struct ini_reader *reader, const char *text)
{
    return note(reader, "more", text, NULL);
}

/* Reads a copy that ends where the text does, so that a sanitizer sees a step behind it. */
static int read_exactly(struct ini_reader *reader, struct log *log, const char *text)
{
    size_t length = strlen(text);
    char *copy = malloc(length > 0 ? length : 1);
    assert_non_null(copy);
    memcpy(copy, text, length);
    reader->section = on_section;
    reader->entry = on_entry;
    reader->user = log;
    log->text[0] = '\0';
    int status = ini_reader_read(reader, copy, length);
    free(copy);
    return status;
}

static const char sample[] = "; about\n"
                             "top = 1\n"
                             "[first]\r\n"
                             "key = value ; comment\r\n"
                             "   and more ; comment\r\n"
                             "  # comment\n"
                             "\n"
                             "\tand again\n"
                             "[second] # comment\n"
                             "other: a = b";

UNIT_TEST(everything_in_order)
{
    struct log log = {0};
    struct ini_reader reader = {.more = on_more};
    assert_int_equal(read_exactly(&reader, &log, sample), 0);
    assert_string_equal(log.text, "2 entry top=1\n"
                                  "3 section first\n"
                                  "4 entry key=value\n"
                                  "5 more and more\n"
                                  "8 more and again\n"
                                  "9 section second\n"
                                  "10 entry other=a = b\n");
    assert_int_equal(read_exactly(&reader, &log, "\xef\xbb\xbf[a]\n"), 0); /* once more */
    assert_string_equal(log.text, "1 section a\n");
    assert_int_equal(read_exactly(&reader, &log, ""), 0);
    assert_string_equal(log.text, "");
}

UNIT_TEST(some_files_continue_no_values)
{
    struct log log = {0};
    struct ini_reader reader = {0};
    assert_int_equal(read_exactly(&reader, &log, "[a]\nk = 1\n  2\n"), INI_READER_BAD_FILE);
    assert_int_equal(reader.line, 3);
    assert_string_equal(reader.message, "line '2' begins with white space, but values in this file "
                                        "may not continue on the next line");
    assert_int_equal(read_exactly(&reader, &log, "[a]\n  ; comment\n \t\n"), 0);
    char text[256];
    memset(text, 'x', 198);
    text[198] = '\0';
    assert_int_equal(read_exactly(&reader, &log, text), INI_READER_BAD_FILE);
    assert_string_equal(reader.message, "line is longer than 197 bytes, which inih would split");
}

UNIT_TEST(an_inih_of_other_limits_is_refused)
{
    struct log log = {0};
    struct ini_reader reader = {0};
    inih_line_bytes = 50;
    int status = read_exactly(&reader, &log, "k = 1\n");
    inih_line_bytes = 200;
    assert_int_equal(status, INI_READER_BAD_FILE);
    assert_string_equal(reader.message, "this build of inih takes lines of less than 197 bytes");
}

UNIT_TEST_WITH(memory_runs_out, scratch_enter, scratch_leave)
{
    struct log log = {0};
    struct ini_reader reader = {0};
    char *text;
    size_t length;
    inih_line_bytes = 0;
    int status = read_exactly(&reader, &log, "k = 1\n");
    inih_line_bytes = 200;
    assert_int_equal(status, INI_READER_NO_MEMORY);
    assert_string_equal(reader.message, "out of memory");
    size_t size = 200000; /* grows twice */
    char *large = malloc(size + 1);
    assert_non_null(large);
    memset(large, '\n', size);
    large[size] = '\0';
    assert_int_equal(scratch_write("large.ini", large), 0);
    for (long limit = 0;; limit++) {
        reader = (struct ini_reader){0};
        allocations_left = limit;
        status = ini_reader_load(&reader, "large.ini", &text, &length);
        allocations_left = -1;
        if (status == 0) {
            assert_int_equal(limit, 3);
            break;
        }
        assert_int_equal(status, INI_READER_NO_MEMORY);
        assert_string_equal(reader.message, "out of memory");
        assert_null(text);
    }
    assert_int_equal(length, size);
    assert_string_equal(text, large);
    free(text);
    free(large);
}

UNIT_TEST(files_that_cannot_be_read)
{
    struct ini_reader reader = {0};
    char *text;
    size_t length;
    assert_int_equal(ini_reader_load(&reader, "nowhere.ini", &text, &length), INI_READER_BAD_FILE);
    assert_string_equal(reader.message, "cannot open the file: No such file or directory");
    assert_null(text);
    assert_int_equal(ini_reader_load(&reader, ".", &text, &length), INI_READER_BAD_FILE);
    assert_string_equal(reader.message, "cannot read the file: Is a directory");
    assert_null(text);
    assert_int_equal(ini_reader_load(&reader, "/dev/zero", &text, &length), INI_READER_BAD_FILE);
    assert_string_equal(reader.message, "cannot open the file: Invalid argument");
    assert_null(text);
}
