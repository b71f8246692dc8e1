#include "base/error.h"

#include "base/suggestion.h"

#include "unit/test.h"

#include <errno.h>

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

UNIT_TEST(place_is_printed_as_compilers_do)
{
    struct error error;
    assert_int_equal(error_set_at(&error, ERROR_CONFIG, "a.ini", 7, "unknown key '%s'", "k"),
                     ERROR_CONFIG);
    assert_prints(&error, "autotune: a.ini:7: unknown key 'k'\n");
    assert_int_equal(error_set_at(&error, ERROR_CONFIG, "a.npy", 0, "not an array"), ERROR_CONFIG);
    assert_prints(&error, "autotune: a.npy: not an array\n");
}

UNIT_TEST(limit_on_open_files_is_named_with_what_to_do)
{
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

UNIT_TEST(long_texts_are_cut)
{
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

/* --- suggestions --- */

static const char *const known[] = {"block_size", "num_load", "n", "grid", "access", NULL};

UNIT_TEST(nearest_names)
{
    static const struct {
        const char *name;
        const char *nearest;
    } cases[] = {
        {"blok_size", "block_size"},
        {"block_sizes", "block_size"},
        {"blocksize", "block_size"},
        {"num_laod", "num_load"},
        {"gird", "grid"},
        {"acess", "access"},
        {"grid", "grid"},
        {"m", NULL},
        {"tile_width", NULL},
        {"", NULL},
        {"loads", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *nearest = suggestion_nearest(cases[i].name, known);
        if (cases[i].nearest == NULL)
            assert_null(nearest);
        else
            assert_string_equal(nearest, cases[i].nearest);
    }
}

UNIT_TEST(unknown_names)
{
    struct error error;
    assert_int_equal(suggestion_unknown("a.ini", 5, "key", "blok_size", known, &error),
                     ERROR_CONFIG);
    assert_string_equal(error.message, "unknown key 'blok_size'; did you mean 'block_size'?");
    assert_string_equal(error.file, "a.ini");
    assert_int_equal(error.line, 5);
    assert_int_equal(suggestion_unknown("a.ini", 6, "name", "tile", known, &error), ERROR_CONFIG);
    assert_string_equal(
        error.message,
        "unknown name 'tile'; expected one of: block_size, num_load, n, grid, access");
}
