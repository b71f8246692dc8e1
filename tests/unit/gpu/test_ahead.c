/* A request is received ahead, with its code, and served in its turn. */
#include "gpu/ahead.h"

#include "base/alloc.h"
#include "compile/cubin_cache.h"
#include "unit/scratch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* --- a driver that counts --- */

static int loads;
static int unloads;
static CUresult answer;

static CUresult load(CUmodule *module, const void *image)
{
    assert_non_null(image);
    loads++;
    *module = answer == CUDA_SUCCESS ? (CUmodule)&loads : NULL;
    return answer;
}

static CUresult unload(CUmodule module)
{
    assert_ptr_equal(module, &loads);
    unloads++;
    return CUDA_SUCCESS;
}

struct fixture {
    struct device_context device;
    struct channel sender, receiver;
    struct ahead ahead;
    void *folder; /* the current one */
};

static int set_up(void **state)
{
    struct fixture *fixture = alloc_zeroed(1, sizeof *fixture);
    struct compilation compilation = {
        .cubin = alloc_string("code"), .cubin_bytes = 4, .log = alloc_string("")};
    int sockets[2];
    loads = unloads = 0;
    answer = CUDA_SUCCESS;
    fixture->device.driver.cuModuleLoadData = load;
    fixture->device.driver.cuModuleUnload = unload;
    assert_int_equal(scratch_enter(&fixture->folder), 0);
    assert_int_equal(cubin_cache_write("entry", &compilation, NULL), 0);
    compilation_release(&compilation);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
    channel_init(&fixture->sender, sockets[0], sockets[0]);
    channel_init(&fixture->receiver, sockets[1], sockets[1]);
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    ahead_release(&fixture->ahead);
    channel_release(&fixture->sender);
    channel_release(&fixture->receiver);
    assert_int_equal(scratch_leave(&fixture->folder), 0);
    free(fixture);
    return 0;
}

static void send_request(struct fixture *fixture, const char *what, const char *cubin)
{
    json_t *request = json_pack("{s:s, s:s}", "do", what, "cubin", cubin);
    assert_int_equal(channel_send(&fixture->sender, request, NULL), 0);
}

static void look(struct fixture *fixture)
{
    ahead_load(&fixture->ahead, &fixture->device, &fixture->receiver);
}

/* The next request must be this one. Returns whether its code is loaded, and `*read` whether it is read. */
static bool receives_code(struct fixture *fixture, const char *what, bool *read)
{
    json_t *request;
    assert_int_equal(
        ahead_receive(&fixture->ahead, &fixture->device, &fixture->receiver, &request, NULL), 1);
    assert_string_equal(json_string_value(json_object_get(request, "do")), what);
    json_decref(request);
    struct loaded_code code = ahead_take(&fixture->ahead);
    bool loaded = code.module != NULL;
    *read = code.compilation.cubin != NULL;
    assert_true(*read || !loaded);
    compilation_release(&code.compilation);
    return loaded;
}

static bool receives(struct fixture *fixture, const char *what)
{
    bool read;
    return receives_code(fixture, what, &read);
}

/* --- tests --- */

static void test_a_trial_comes_with_its_code(void **state)
{
    struct fixture *fixture = *state;
    look(fixture); /* nothing has come: it does not wait */
    send_request(fixture, "trial", "entry");
    send_request(fixture, "trial", "entry");
    look(fixture);
    look(fixture); /* one at a time */
    assert_int_equal(loads, 1);
    assert_true(receives(fixture, "trial"));
    assert_false(receives(fixture, "trial"));
}

static void test_the_code_of_two_trials_is_read_without_the_driver(void **state)
{
    struct fixture *fixture = *state;
    bool read;
    ahead_read(&fixture->ahead, &fixture->receiver); /* nothing has come: it does not wait */
    for (int i = 0; i < 3; i++)
        send_request(fixture, "trial", "entry");
    ahead_read(&fixture->ahead, &fixture->receiver);
    ahead_read(&fixture->ahead, &fixture->receiver);
    assert_int_equal(loads, 0);
    assert_int_equal(remove("entry"), 0); /* it is not read again */
    look(fixture);
    assert_int_equal(loads, 1);
    assert_true(receives_code(fixture, "trial", &read));
    assert_false(receives_code(fixture, "trial", &read));
    assert_true(read);
    assert_false(receives_code(fixture, "trial", &read));
    assert_false(read);
}

static void test_other_requests_come_without(void **state)
{
    struct fixture *fixture = *state;
    send_request(fixture, "load", "entry");
    send_request(fixture, "trial", "/nowhere");
    look(fixture);
    assert_false(receives(fixture, "load"));
    look(fixture);
    assert_false(receives(fixture, "trial"));
    assert_int_equal(loads, 0);
}

static void test_a_failure_is_left_to_the_trial(void **state)
{
    struct fixture *fixture = *state;
    answer = CUDA_ERROR_OUT_OF_MEMORY;
    send_request(fixture, "trial", "entry");
    look(fixture);
    assert_int_equal(loads, 1);
    assert_false(receives(fixture, "trial"));
    assert_int_equal(unloads, 0);
    assert_int_equal(fixture->device.last, CUDA_SUCCESS);
}

static void test_what_may_be_damaged_or_is_not_taken_is_unloaded(void **state)
{
    struct fixture *fixture = *state;
    json_t *request;
    send_request(fixture, "trial", "entry");
    look(fixture);
    ahead_unload(&fixture->ahead, &fixture->device);
    assert_int_equal(unloads, 1);
    assert_false(receives(fixture, "trial"));
    send_request(fixture, "trial", "entry");
    send_request(fixture, "close", "entry");
    look(fixture);
    assert_int_equal(
        ahead_receive(&fixture->ahead, &fixture->device, &fixture->receiver, &request, NULL), 1);
    json_decref(request); /* the trial, whose code nobody takes */
    assert_false(receives(fixture, "close"));
    assert_int_equal(unloads, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_trial_comes_with_its_code, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_the_code_of_two_trials_is_read_without_the_driver,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_other_requests_come_without, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_failure_is_left_to_the_trial, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_may_be_damaged_or_is_not_taken_is_unloaded,
                                        set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
