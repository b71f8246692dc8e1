#include "base/error.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* What error_print() prints; a new string. */
static char *printed(const struct error *error)
{
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    assert_non_null(stream);
    error_print(error, stream);
    assert_int_equal(fclose(stream), 0);
    return text;
}

static void assert_prints(const struct error *error, const char *expected)
{
    char *text = printed(error);
    assert_string_equal(text, expected);
    free(text);
}

static void set_returns_the_code_and_clears_the_place(void **state)
{
    (void)state;
    struct error error;
    memset(&error, 0x5a, sizeof error);
    assert_int_equal(error_set(&error, ERROR_DEVICE, "no %s at %d", "device", 3), ERROR_DEVICE);
    assert_int_equal(error.code, ERROR_DEVICE);
    assert_int_equal(error.line, 0);
    assert_string_equal(error.file, "");
    assert_string_equal(error.message, "no device at 3");
    assert_prints(&error, "autotune: no device at 3\n");
}

static void place_is_printed_as_compilers_do(void **state)
{
    (void)state;
    struct error error;
    assert_int_equal(error_set_at(&error, ERROR_CONFIG, "a.ini", 7, "unknown key '%s'", "k"),
                     ERROR_CONFIG);
    assert_prints(&error, "autotune: a.ini:7: unknown key 'k'\n");
    assert_int_equal(error_set_at(&error, ERROR_CONFIG, "a.npy", 0, "not an array"), ERROR_CONFIG);
    assert_prints(&error, "autotune: a.npy: not an array\n");
}

static void errno_is_appended(void **state)
{
    (void)state;
    struct error error;
    char expected[256];
    errno = ENOENT;
    assert_int_equal(error_set_errno(&error, ERROR_RECORD, "cannot open '%s'", "x"), ERROR_RECORD);
    assert_true(snprintf(expected, sizeof expected, "cannot open 'x': %s", strerror(ENOENT)) > 0);
    assert_string_equal(error.message, expected);
}

static void limit_on_open_files_is_named_with_what_to_do(void **state)
{
    (void)state;
    struct error error;
    errno = EMFILE;
    assert_int_equal(error_set_errno(&error, ERROR_RECORD, "cannot open '%s'", "x"), ERROR_RECORD);
    assert_string_equal(
        error.message,
        "cannot open 'x': too many open files; raise the limit with 'ulimit -n 1024'");
    assert_true(error_is_file_limit(EMFILE));
    assert_true(error_is_file_limit(ENFILE));
    assert_false(error_is_file_limit(ENOSPC));
    assert_non_null(strstr(error_reason(ENFILE), "fs.file-max"));
}

static void long_texts_are_cut(void **state)
{
    (void)state;
    struct error error;
    char text[4000];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    errno = ENOENT;
    assert_int_equal(error_set_errno(&error, ERROR_RECORD, "%s", text), ERROR_RECORD);
    assert_int_equal(strlen(error.message), sizeof error.message - 1);
    assert_int_equal(error_set_at(&error, ERROR_CONFIG, text, 1, "%s", text), ERROR_CONFIG);
    assert_int_equal(strlen(error.file), sizeof error.file - 1);
    assert_int_equal(strlen(error.message), sizeof error.message - 1);
}

static void nobody_need_listen(void **state)
{
    (void)state;
    assert_int_equal(error_set(NULL, ERROR_USAGE, "x"), ERROR_USAGE);
    assert_int_equal(error_set_at(NULL, ERROR_CONFIG, "f", 1, "x"), ERROR_CONFIG);
    assert_int_equal(error_set_errno(NULL, ERROR_RECORD, "x"), ERROR_RECORD);
}

static void exit_statuses(void **state)
{
    (void)state;
    static const struct {
        int code;
        int status;
    } cases[] = {
        {ERROR_OK, 0},     {ERROR_NOTHING_VALID, 1}, {ERROR_USAGE, 2},
        {ERROR_CONFIG, 2}, {ERROR_DEVICE, 3},        {ERROR_WORKER, 4},
        {ERROR_RECORD, 4}, {ERROR_INTERRUPTED, 130}, {-99, 4},
        {17, 4},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(error_exit_status(cases[i].code), cases[i].status);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(set_returns_the_code_and_clears_the_place),
        cmocka_unit_test(place_is_printed_as_compilers_do),
        cmocka_unit_test(errno_is_appended),
        cmocka_unit_test(limit_on_open_files_is_named_with_what_to_do),
        cmocka_unit_test(long_texts_are_cut),
        cmocka_unit_test(nobody_need_listen),
        cmocka_unit_test(exit_statuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
