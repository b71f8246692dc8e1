#include "base/suggestion.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const char *const known[] = {"block_size", "num_load", "n", "grid", "access", NULL};

static void nearest_names(void **state)
{
    (void)state;
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

static void very_long_names_are_near_to_none(void **state)
{
    (void)state;
    char name[100];
    memset(name, 'a', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    const char *const same[] = {name, NULL};
    assert_null(suggestion_nearest(name, same));
    name[63] = '\0';
    assert_ptr_equal(suggestion_nearest(name, same), name);
}

static void unknown_names(void **state)
{
    (void)state;
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

static void long_lists_of_names_end_with_a_whole_name(void **state)
{
    (void)state;
    const char *names[201];
    for (size_t i = 0; i < 200; i++)
        names[i] = "block_size";
    names[200] = NULL;
    struct error error;
    assert_int_equal(suggestion_unknown("a.ini", 1, "name", "x", names, &error), ERROR_CONFIG);
    const char *start = strstr(error.message, "expected one of: ");
    assert_non_null(start);
    assert_true(strlen(start) > 400);
    assert_true(strlen(start) < 600);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nearest_names),
        cmocka_unit_test(very_long_names_are_near_to_none),
        cmocka_unit_test(unknown_names),
        cmocka_unit_test(long_lists_of_names_end_with_a_whole_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
