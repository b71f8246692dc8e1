/* A buffer that moves is the same buffer elsewhere; the stand-in driver holds the memory. */
#include "gpu/device_buffer.h"

#include "unit/test.h"

#include <dlfcn.h>

enum { BYTES = 1000, TOTAL = 1008 + 2 * GUARD_BYTES, PLENTY = 1 << 30 };

static struct fixture {
    void *library;
    struct device_context device;
    struct device_buffer buffer;
    struct buffer_places places;
    uint64_t left_bytes;
    struct error error;
} fixture;

static void check(int status)
{
    if (status != 0)
        fail_msg("%s", fixture.error.message);
}

/* The tuner's driver_open() finds the library that is loaded already, by its soname. */
static void begin(const char *standin)
{
    char path[4096];
    const char *build = getenv("BUILD_DIR");
    if (build == NULL)
        fail_msg("BUILD_DIR is not set: it is the build folder, in which tests/standin lies");
    (void)snprintf(path, sizeof path, "%s/tests/standin/libcuda.so.1", build);
    setenv("AUTOTUNE_STANDIN", standin, 1);
    fixture = (struct fixture){.left_bytes = PLENTY};
    fixture.library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(fixture.library);
    struct device_context *device = &fixture.device;
    check(driver_open(&device->driver, &fixture.error));
    check(device_describe(device, 0, &fixture.error));
    check(device_start(device, &fixture.error));
}

static int end(void **state)
{
    device_buffer_release_places(&fixture.places, &fixture.device, &fixture.buffer,
                                 &fixture.left_bytes);
    device_buffer_free(&fixture.device, &fixture.buffer);
    driver_close(&fixture.device.driver);
    dlclose(fixture.library);
    return unsetenv("AUTOTUNE_STANDIN");
}

static void make(uint64_t bytes)
{
    check(device_buffer_new(&fixture.device, &fixture.buffer, NULL, ELEMENT_UINT8, bytes,
                            &fixture.error));
}

static void move(size_t number)
{
    check(device_buffer_place(&fixture.places, &fixture.device, &fixture.buffer, number,
                              &fixture.left_bytes, &fixture.error));
    check(device_synchronise(&fixture.device, &fixture.error));
}

static size_t free_bytes(void)
{
    size_t available = 0;
    size_t total = 0;
    assert_int_equal(fixture.device.driver.cuMemGetInfo(&available, &total), CUDA_SUCCESS);
    return available;
}

UNIT_TEST_WITH(test_contents_and_guards_move_along, NULL, end)
{
    unsigned char before[BYTES + 2 * GUARD_BYTES];
    unsigned char after[sizeof before];
    begin("");
    make(BYTES);
    for (size_t i = 0; i < BYTES; i++)
        before[GUARD_BYTES + i] = (unsigned char)(i * i);
    memset(before, GUARD_PATTERN, GUARD_BYTES);
    memset(before + GUARD_BYTES + BYTES, GUARD_PATTERN, GUARD_BYTES);
    before[1] = before[sizeof before - 1] = 0; /* damaged guards must be found, too */
    const struct driver *cuda = &fixture.device.driver;
    check(
        device_upload(&fixture.device, fixture.buffer.base, before, sizeof before, &fixture.error));
    for (size_t number = 1; number < 5; number++) {
        CUdeviceptr last = fixture.buffer.data;
        move(number % 4);
        assert_true(fixture.buffer.data != last);
        assert_true(fixture.buffer.data == fixture.buffer.base + GUARD_BYTES);
        assert_int_equal(cuda->cuMemcpyDtoH(after, fixture.buffer.base, sizeof after),
                         CUDA_SUCCESS);
        assert_memory_equal(before, after, sizeof before);
    }
}

UNIT_TEST_WITH(test_a_number_is_always_the_same_place, NULL, end)
{
    CUdeviceptr bases[BUFFER_PLACES];
    begin("");
    make(BYTES);
    CUdeviceptr own = fixture.buffer.base;
    for (size_t i = 0; i < BUFFER_PLACES; i++) {
        move(i);
        bases[i] = fixture.buffer.base;
        for (size_t j = 0; j < i; j++)
            assert_true(bases[j] != bases[i]);
    }
    assert_true(bases[0] == own);
    size_t available = free_bytes();
    for (size_t i = BUFFER_PLACES; i-- > 0;) {
        move(i + BUFFER_PLACES);
        assert_true(fixture.buffer.base == bases[i]);
    }
    assert_int_equal(free_bytes(), available); /* nothing new was needed */
}

UNIT_TEST_WITH(test_places_take_no_more_than_they_may, NULL, end)
{
    begin("");
    make(BYTES);
    size_t available = free_bytes();
    fixture.left_bytes = 2 * TOTAL + 100;
    for (size_t i = 0; i < 10; i++)
        move(i);
    assert_int_equal(fixture.places.count, 3);
    assert_int_equal(fixture.left_bytes, 100);
    assert_int_equal(free_bytes(), available - 2 * (size_t)TOTAL);
    move(9);
    assert_true(device_buffer_shrink_places(&fixture.places, &fixture.device, &fixture.buffer,
                                            &fixture.left_bytes));
    assert_false(device_buffer_shrink_places(&fixture.places, &fixture.device, &fixture.buffer,
                                             &fixture.left_bytes));
    assert_int_equal(free_bytes(), available); /* it was at its first place */
    move(1);
    move(2);
    (void)device_buffer_shrink_places(&fixture.places, &fixture.device, &fixture.buffer,
                                      &fixture.left_bytes);
    assert_int_equal(free_bytes(), available - (size_t)TOTAL);
    device_buffer_release_places(&fixture.places, &fixture.device, &fixture.buffer,
                                 &fixture.left_bytes);
    assert_int_equal(fixture.left_bytes, 2 * TOTAL + 100);
    assert_int_equal(free_bytes(), available);
}

UNIT_TEST_WITH(test_where_memory_is_short_it_stays, NULL, end)
{
    begin("memory_bytes=25000"); /* enough for two */
    make(BYTES);
    for (size_t i = 0; i < 10; i++)
        move(i);
    assert_int_equal(fixture.places.count, 2);
    assert_int_equal(fixture.left_bytes, 0); /* others need not try */
}

UNIT_TEST_WITH(test_what_is_large_or_not_there_does_not_move, NULL, end)
{
    begin("");
    move(1);
    assert_int_equal(fixture.buffer.base, 0);
    make(PLACES_LARGEST + 1);
    CUdeviceptr base = fixture.buffer.base;
    move(1);
    assert_true(fixture.buffer.base == base);
}
