/* What is seen of the GPU while samples are taken, through the stand-in's libnvidia-ml.so.1, which a
 * thread opens. */
#include "base/alloc.h"
#include "base/clock.h"
#include "gpu/gpu_monitor.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define UUID "GPU-00010203-0405-0607-0809-0a0b0c0d0e0f"
#define ANOTHER_UUID "GPU-ffffffff-0000-0000-0000-000000000000"

/* As the device worker does with every request; until it tells something. */
static json_t *read_until_reported(struct gpu_monitor *monitor)
{
    int64_t begin_ns = clock_ns();
    json_t *message = json_object();
    while (json_object_size(message) == 0 && clock_ns() - begin_ns < INT64_C(20000000000)) {
        gpu_monitor_read(monitor, begin_ns);
        gpu_monitor_report(monitor, message);
    }
    return message;
}

static void test_tells_readings_once_it_is_open(void **state)
{
    (void)state;
    struct gpu_monitor monitor;
    gpu_monitor_start(&monitor, UUID);
    json_t *message = read_until_reported(&monitor);
    assert_int_equal(json_integer_value(json_object_get(message, "sm_clock_mhz")), 1755);
    assert_int_equal(json_integer_value(json_object_get(message, "other_processes")), 1);
    assert_true(json_is_true(json_object_get(message, "throttled")));
    json_decref(message);
    gpu_monitor_stop(&monitor);
}

static void test_says_once_why_it_is_blind(void **state)
{
    (void)state;
    struct gpu_monitor monitor;
    gpu_monitor_start(&monitor, ANOTHER_UUID);
    json_t *message = read_until_reported(&monitor);
    assert_int_equal(json_object_size(message), 1);
    assert_string_equal(json_string_value(json_object_get(message, "monitor_error")),
                        "nvmlDeviceGetHandleByUUID failed: Not Found");
    json_object_clear(message);
    gpu_monitor_read(&monitor, clock_ns());
    gpu_monitor_report(&monitor, message);
    assert_int_equal(json_object_size(message), 0);
    json_decref(message);
    gpu_monitor_stop(&monitor);
}

static void test_ends_at_any_time(void **state)
{
    (void)state;
    struct gpu_monitor monitor = {0};
    gpu_monitor_stop(&monitor);
    for (int i = 0; i < 20; i++) {
        gpu_monitor_start(&monitor, i % 2 == 0 ? UUID : ANOTHER_UUID);
        gpu_monitor_read(&monitor, clock_ns());
        gpu_monitor_stop(&monitor);
        json_t *message = json_object();
        gpu_monitor_read(&monitor, clock_ns());
        gpu_monitor_report(&monitor, message);
        assert_null(json_object_get(message, "monitor_error"));
        json_decref(message);
    }
}

/* The search path of libraries is read when a process starts. No process has the last number, so it
 * has ended. */
static void start_with_standin(char **argv)
{
    const char *build = getenv("BUILD_DIR");
    const char *path = getenv("LD_LIBRARY_PATH");
    if (build == NULL || (path != NULL && strstr(path, "tests/standin") != NULL))
        return;
    char *folder = alloc_format("%s/tests/standin", build);
    (void)setenv("LD_LIBRARY_PATH", folder, 1);
    (void)setenv("AUTOTUNE_STANDIN", "sm_clock_mhz=1755,throttled_readings=2,processes=1:4194304",
                 1);
    (void)execv(argv[0], argv);
    free(folder);
}

int main(int argc, char **argv)
{
    (void)argc;
    start_with_standin(argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tells_readings_once_it_is_open),
        cmocka_unit_test(test_says_once_why_it_is_blind),
        cmocka_unit_test(test_ends_at_any_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
