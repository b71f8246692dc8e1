/* NVML through the stand-in's libnvidia-ml.so.1. Each test controls its own, in a process of its
 * own. */
#include "base/alloc.h"
#include "gpu/nvml.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define UUID "GPU-00010203-0405-0607-0809-0a0b0c0d0e0f"

/* What a test does in its process; returns what it found as text, which the parent compares. */
typedef char *scene(void);

/* Calls `run` with the stand-in under `control`, and expects what it returns. */
static void play(const char *control, scene *run, const char *expected)
{
    int ends[2];
    char found[512] = "";
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)setenv("AUTOTUNE_STANDIN", control, 1);
        char *text = run();
        ssize_t written = write(ends[1], text, strlen(text));
        _exit(written == (ssize_t)strlen(text) ? 0 : 1);
    }
    (void)close(ends[1]);
    size_t length = 0;
    ssize_t got;
    while (length < sizeof found - 1 &&
           (got = read(ends[0], found + length, sizeof found - 1 - length)) > 0)
        length += (size_t)got;
    (void)close(ends[0]);
    (void)waitpid(child, NULL, 0);
    assert_string_equal(found, expected);
}

static char *read_once(void)
{
    struct nvml nvml;
    struct nvml_reading reading;
    struct error error = {0};
    if (nvml_open(&nvml, UUID, &error) != 0)
        return alloc_string(error.message);
    nvml_read(&nvml, &reading);
    nvml_close(&nvml);
    return alloc_format("%u MHz, %s", reading.sm_clock_mhz,
                        nvml_throttled(reading.reasons) ? "throttled" : "free");
}

static void test_reads_the_clock(void **state)
{
    (void)state;
    play("sm_clock_mhz=1755", read_once, "1755 MHz, free");
}

static void test_power_heat_and_hardware_are_throttling_and_nothing_else(void **state)
{
    (void)state;
    play("throttled_readings=1", read_once, "1980 MHz, throttled");
    play("throttled_readings=1,throttle_reasons=0x113", read_once, "1980 MHz, free");
    assert_true(nvml_throttled(0x8) && nvml_throttled(0x20) && nvml_throttled(0x40) &&
                nvml_throttled(0x80) && nvml_throttled(0x8000000000000004u));
    assert_false(nvml_throttled(0x8000000000000000u));
}

static char *read_twice(void)
{
    struct nvml nvml;
    struct nvml_reading first, second;
    if (nvml_open(&nvml, UUID, NULL) != 0)
        return alloc_string("not open");
    nvml_read(&nvml, &first);
    nvml_read(&nvml, &second);
    nvml_close(&nvml);
    return alloc_format("%d %d", nvml_throttled(first.reasons), nvml_throttled(second.reasons));
}

static void test_each_reading_is_of_its_moment(void **state)
{
    (void)state;
    play("throttled_readings=1", read_twice, "1 0");
}

static char *list_processes(void)
{
    struct nvml nvml;
    size_t count;
    if (nvml_open(&nvml, UUID, NULL) != 0)
        return alloc_string("not open");
    unsigned *pids = nvml_processes(&nvml, &count);
    char *text = alloc_format("%zu, %s, %u", count, pids[0] == (unsigned)getpid() ? "us" : "other",
                              count > 1 ? pids[count - 1] : 0);
    free(pids);
    nvml_close(&nvml);
    return text;
}

static void test_lists_processes(void **state)
{
    (void)state;
    char many[400] = "processes=1";
    for (int pid = 2; pid <= 40; pid++) { /* more than fit at first */
        size_t length = strlen(many);
        (void)snprintf(many + length, sizeof many - length, ":%d", pid);
    }
    play("", list_processes, "1, us, 0");
    play("processes=77:4242", list_processes, "3, us, 4242");
    play(many, list_processes, "41, us, 40");
    play("pid_offset=100000", list_processes, "1, other, 0");
}

static char *open_other(void)
{
    struct nvml nvml;
    struct error error = {0};
    int status = nvml_open(&nvml, "GPU-ffffffff-0000-0000-0000-000000000000", &error);
    nvml_close(&nvml);
    return alloc_format("%d %s", status == ERROR_DEVICE, error.message);
}

static void test_says_what_is_missing(void **state)
{
    (void)state;
    play("nvml=0", read_once, "nvmlInit failed: Driver Not Loaded");
    play("", open_other, "1 nvmlDeviceGetHandleByUUID failed: Not Found");
}

/* The search path of libraries is read when a process starts. */
static void start_with_standin(char **argv)
{
    const char *build = getenv("BUILD_DIR");
    const char *path = getenv("LD_LIBRARY_PATH");
    if (build == NULL || (path != NULL && strstr(path, "tests/standin") != NULL))
        return;
    char *folder = alloc_format("%s/tests/standin", build);
    (void)setenv("LD_LIBRARY_PATH", folder, 1);
    (void)execv(argv[0], argv);
    free(folder);
}

int main(int argc, char **argv)
{
    (void)argc;
    start_with_standin(argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reads_the_clock),
        cmocka_unit_test(test_power_heat_and_hardware_are_throttling_and_nothing_else),
        cmocka_unit_test(test_each_reading_is_of_its_moment),
        cmocka_unit_test(test_lists_processes),
        cmocka_unit_test(test_says_what_is_missing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
