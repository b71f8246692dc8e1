#include "mpi/mirror.h"

#include "base/alloc.h"
#include "base/write_file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static int make_mirror(void **state)
{
    struct mirror *mirror = alloc_zeroed(1, sizeof *mirror);
    struct error error;
    *state = mirror;
    return mirror_init(mirror, "/home/user/project", &error);
}

static int remove_mirror(void **state)
{
    struct mirror *mirror = *state;
    char *root = alloc_string(mirror->root);
    mirror_release(mirror);
    int left = access(root, F_OK) == 0;
    free(root);
    free(mirror);
    return left;
}

/* What is compared with `text` has ROOT in place of the root's path. */
static void expect(const struct mirror *mirror, json_t *object, const char *text)
{
    char *actual = json_dumps(object, JSON_COMPACT);
    char shown[2048] = "";
    for (const char *at = actual; *at != '\0';) {
        size_t root = strlen(mirror->root);
        bool is_root = strncmp(at, mirror->root, root) == 0;
        strncat(shown, is_root ? "ROOT" : at, is_root ? 4 : 1);
        at += is_root ? root : 1;
    }
    assert_string_equal(shown, text);
    free(actual);
    json_decref(object);
}

static void test_open(void **state)
{
    const struct mirror *mirror = *state;
    json_t *request = json_loads("{\"do\":\"open\",\"template\":\"/t/k.ini\","
                                 "\"files\":[\"t/k.ini\",\"/a/inc/\"],\"cold\":true}",
                                 0, NULL);
    expect(mirror, request_files(mirror, request), "[\"/home/user/project/t/k.ini\",\"/a/inc/\"]");
    request_move(mirror, request);
    expect(mirror, request, "{\"do\":\"open\",\"template\":\"ROOT/t/k.ini\",\"cold\":true}");
}

static void test_what_is_there(void **state)
{
    struct mirror *mirror = *state;
    char *here = mirror_path(mirror, "/a/x.h");
    assert_false(mirror_has(mirror, "/a/x.h"));
    assert_int_equal(write_file_bytes(here, "x", 1, NULL), 0);
    assert_true(mirror_has(mirror, "/a/x.h"));
    assert_false(mirror_has(mirror, "/a/")); /* its links may be missing */
    mirror_note(mirror, "/a/");
    assert_true(mirror_has(mirror, "/a/"));
    assert_false(mirror_has(mirror, "/a/y.h"));
    mirror_note(mirror, "/a/y.h");
    assert_true(mirror_has(mirror, "/a/y.h")); /* the worker says that it is missing */
    free(here);
}

static void test_links(void **state)
{
    const struct mirror *mirror = *state;
    json_t *links = json_pack("[[s, s], [s, s]]", "/p/link", "real", "/p/away", "/q/there");
    mirror_link(mirror, links);
    json_decref(links);
    char *near = mirror_path(mirror, "/p/real/x");
    char *far = mirror_path(mirror, "/q/there/y");
    assert_int_equal(write_file_bytes(near, "x", 1, NULL), 0);
    assert_int_equal(write_file_bytes(far, "y", 1, NULL), 0);
    assert_true(mirror_has(mirror, "/p/link/x"));
    assert_true(mirror_has(mirror, "/p/away/y"));
    free(near);
    free(far);
}

static void test_strip(void **state)
{
    const struct mirror *mirror = *state;
    char *text = alloc_format("'%s/a/x.h' and '%s/b'", mirror->root, mirror->root);
    size_t length = mirror_strip(mirror, text, strlen(text));
    text[length] = '\0';
    assert_string_equal(text, "'/a/x.h' and '/b'");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_open, make_mirror, remove_mirror),
        cmocka_unit_test_setup_teardown(test_what_is_there, make_mirror, remove_mirror),
        cmocka_unit_test_setup_teardown(test_links, make_mirror, remove_mirror),
        cmocka_unit_test_setup_teardown(test_strip, make_mirror, remove_mirror),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
