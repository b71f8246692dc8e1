/* The tuner's own kernels (gpu/device_kernels.cu), as the stand-in driver runs them on the host. */
#include "gpu/driver.h"

#include "compile/nvrtc.h"
#include "template/fill.h"

#include "unit/test.h"

#include <dlfcn.h>

static struct {
    void *library;
    struct driver driver;
    CUcontext context;
    CUstream stream;
    CUfunction fill, compare;
} fixture;

/* The stand-in runs these kernels by their names, whatever their code. */
static const char source[] = "extern \"C\" __global__ void autotune_fill() {}\n"
                             "extern \"C\" __global__ void autotune_compare() {}\n";

static void load_kernels(void)
{
    struct nvrtc *nvrtc;
    struct compilation compilation;
    struct error error;
    CUmodule module;
    if (nvrtc_open(&nvrtc, NULL, &error) != 0 ||
        nvrtc_compile(nvrtc, &(struct nvrtc_job){.name = "k.cu", .text = source, .arch = "sm_90"},
                      &compilation, &error) != 0)
        fail_msg("%s", error.message);
    const struct driver *cuda = &fixture.driver;
    assert_int_equal(cuda->cuModuleLoadData(&module, compilation.cubin), CUDA_SUCCESS);
    assert_int_equal(cuda->cuModuleGetFunction(&fixture.fill, module, "autotune_fill"), 0);
    assert_int_equal(cuda->cuModuleGetFunction(&fixture.compare, module, "autotune_compare"), 0);
    compilation_release(&compilation);
    nvrtc_close(nvrtc);
}

/* The tuner's driver_open() finds the library that is loaded already, by its soname. */
static int begin(void **state)
{
    const char *build = getenv("BUILD_DIR");
    struct error error = {0};
    char path[4096];
    CUdevice device;
    if (build == NULL)
        fail_msg("BUILD_DIR is not set: it is the build folder, in which tests/standin lies");
    (void)snprintf(path, sizeof path, "%s/tests/standin/libcuda.so.1", build);
    setenv("AUTOTUNE_STANDIN", "devices=1", 1);
    fixture.library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (fixture.library == NULL)
        fail_msg("%s", dlerror());
    if (driver_open(&fixture.driver, &error) != 0)
        fail_msg("%s", error.message);
    const struct driver *cuda = &fixture.driver;
    assert_int_equal(cuda->cuDeviceGet(&device, 0), CUDA_SUCCESS);
    assert_int_equal(cuda->cuDevicePrimaryCtxRetain(&fixture.context, device), CUDA_SUCCESS);
    assert_int_equal(cuda->cuCtxSetCurrent(fixture.context), CUDA_SUCCESS);
    assert_int_equal(cuda->cuStreamCreate(&fixture.stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    load_kernels();
    return 0;
}

static int end(void **state)
{
    driver_close(&fixture.driver);
    dlclose(fixture.library);
    return unsetenv("AUTOTUNE_STANDIN");
}

static CUdeviceptr allocate(size_t bytes)
{
    CUdeviceptr address = 0;
    assert_int_equal(fixture.driver.cuMemAlloc(&address, bytes), CUDA_SUCCESS);
    return address;
}

/* fill.c fills an application's scratch buffers, device_kernels.cu all others. The arguments are such
 * that it does not matter whether a compiler contracts multiplications and additions. */
static void test_fills_are_those_of_the_host(void **state)
{
    enum { LENGTH = 4096 };
    static unsigned char here[8 * LENGTH], there[8 * LENGTH];
    static const struct {
        enum fill_kind kind;
        const char *a, *b;
    } cases[] = {{FILL_CONSTANT, "2^53 + 1", "0"},
                 {FILL_UNIFORM, "-1", "1"},
                 {FILL_UNIFORM, "-3", "-1"},
                 {FILL_INTEGERS, "-8", "8"},
                 {FILL_INTEGERS, "2^62", "2^62 + 2"},
                 {FILL_COUNTING, "2^53 + 1", "3"},
                 {FILL_NORMAL, "10", "2"}};
    CUdeviceptr data = allocate(sizeof there);
    struct bindings none = {0};
    const struct scope scope = {&none, NULL};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fill fill = {.kind = cases[i].kind, .buffer = "in", .argument_count = 2};
        struct error error;
        assert_int_equal(expression_new(&fill.arguments[0], cases[i].a, "x", 1, &error), 0);
        assert_int_equal(expression_new(&fill.arguments[1], cases[i].b, "x", 1, &error), 0);
        for (int type = 0; type < ELEMENT_TYPE_COUNT; type++) {
            size_t bytes = LENGTH * element_bytes((enum element_type)type);
            unsigned long long count = LENGTH;
            int kind = (int)fill.kind;
            struct fill_numbers numbers;
            void *parameters[] = {&data,      &count,     &type,          &kind,
                                  &numbers.a, &numbers.b, &numbers.whole, &numbers.key};
            assert_int_equal(
                fill_elements(&fill, &scope, (enum element_type)type, LENGTH, here, &error), 0);
            assert_int_equal(fill_read_numbers(&fill, (enum element_type)type, FILL_USUAL_DATA,
                                               &scope, &numbers, &error),
                             0);
            assert_int_equal(fixture.driver.cuLaunchKernel(fixture.fill, 1, 1, 1, 256, 1, 1, 0,
                                                           fixture.stream, parameters, NULL),
                             CUDA_SUCCESS);
            assert_int_equal(fixture.driver.cuStreamSynchronize(fixture.stream), CUDA_SUCCESS);
            assert_int_equal(fixture.driver.cuMemcpyDtoH(there, data, bytes), CUDA_SUCCESS);
            if (memcmp(here, there, bytes) != 0)
                fail_msg("case %zu, %s", i, element_name((enum element_type)type));
        }
        expression_free(fill.arguments[0]);
        expression_free(fill.arguments[1]);
    }
}

/* How many elements of `out` autotune_compare finds different from the reference's: exactly, if `tolerance` is
 * negative. NaN is equal to NaN. */
static uint64_t count_mismatches(double tolerance, const void *out, enum element_type out_type,
                                 const void *reference, enum element_type reference_type,
                                 unsigned long long count)
{
    const struct driver *cuda = &fixture.driver;
    CUdeviceptr a = allocate(count * element_bytes(out_type));
    CUdeviceptr b = allocate(count * element_bytes(reference_type));
    uint64_t found[4] = {0};
    CUdeviceptr result = allocate(sizeof found);
    int type = (int)out_type, type_of_reference = (int)reference_type;
    int exact = tolerance < 0, nan_equal = 1, poison = element_poison_of(out_type, POISON_LARGE);
    int reference_poison = element_poison(reference_type);
    double absolute = tolerance, relative = 0;
    void *parameters[] = {
        &a,        &type,      &b,      &type_of_reference, &count, &exact, &absolute,
        &relative, &nan_equal, &poison, &reference_poison,  &result};
    assert_int_equal(cuda->cuMemcpyHtoD(a, out, count * element_bytes(out_type)), CUDA_SUCCESS);
    assert_int_equal(cuda->cuMemcpyHtoD(b, reference, count * element_bytes(reference_type)),
                     CUDA_SUCCESS);
    assert_int_equal(cuda->cuMemcpyHtoD(result, found, sizeof found), CUDA_SUCCESS);
    assert_int_equal(cuda->cuStreamSynchronize(NULL), CUDA_SUCCESS); /* the copies have arrived */
    assert_int_equal(cuda->cuLaunchKernel(fixture.compare, 1, 1, 1, 256, 1, 1, 0, fixture.stream,
                                          parameters, NULL),
                     CUDA_SUCCESS);
    assert_int_equal(cuda->cuStreamSynchronize(fixture.stream), CUDA_SUCCESS);
    assert_int_equal(cuda->cuMemcpyDtoH(found, result, sizeof found), CUDA_SUCCESS);
    return found[0];
}

static void test_what_differs_from_the_reference(void **state)
{
    static const uint64_t out[] = {7, 1ull << 60, (1ull << 60) + 100, UINT64_MAX, UINT64_MAX};
    static const int64_t whole[] = {7, 1ll << 60, 1ll << 60, -1, INT64_MAX};
    static const double real[] = {7, 0x1p60, 0x1p60, 0x1p64, 0x1p63};
    static const int8_t narrow[] = {-1, 100};
    static const int64_t wide[] = {-1, 356}; /* which wraps to 100 */
    static const uint64_t far[] = {(1ull << 60) + 100, 5, UINT64_MAX};
    static const uint64_t near[] = {1ull << 60, 7, 0};
    static const int64_t low[] = {-(1ll << 60) - 100, -1, 3};
    static const int64_t high[] = {-(1ll << 60), 1, INT64_MAX};
    static const uint16_t half[] = {0x3c01, 0x3c00, 0x7c00, 0xbc01};
    static const double real16[] = {1 + 0x1p-11 + 0x1p-40, 1 + 0x1p-11, 65520,
                                    -1 - 0x1p-11 - 0x1p-40};
    static const uint16_t bfloat16[] = {0x3f81, 0x3f80};
    static const double real8[] = {1 + 0x1p-8 + 0x1p-40, 1 + 0x1p-8};
    static const uint32_t nans[] = {0x7fc00000, 0x7fc00000};
    static const uint32_t missing[] = {0xffffffff, 0x7fc00001};
    static const struct {
        double tolerance; /* below 0: exactly */
        const void *out;
        enum element_type type;
        const void *reference;
        enum element_type reference_type;
        size_t count;
        uint64_t wrong;
    } cases[] = {
        /* integers of 64 bits are exact, and have tolerances */
        {-1, out, ELEMENT_UINT64, whole, ELEMENT_INT64, 5, 3},
        {-1, out, ELEMENT_UINT64, real, ELEMENT_DOUBLE, 5, 3},
        {-1, out, ELEMENT_UINT64, out, ELEMENT_UINT64, 5, 0},
        {-1, narrow, ELEMENT_INT8, wide, ELEMENT_INT64, 2, 1},
        {0, far, ELEMENT_UINT64, near, ELEMENT_UINT64, 3, 3},
        {99, far, ELEMENT_UINT64, near, ELEMENT_UINT64, 3, 2},
        {100, far, ELEMENT_UINT64, near, ELEMENT_UINT64, 3, 1},
        {2, low, ELEMENT_INT64, high, ELEMENT_INT64, 3, 2},
        {100, low, ELEMENT_INT64, high, ELEMENT_INT64, 3, 1},
        /* the reference is rounded once: by way of float, 1 + 2^-11 + 2^-40 would become 1 */
        {-1, half, ELEMENT_HALF, real16, ELEMENT_DOUBLE, 4, 0},
        {-1, bfloat16, ELEMENT_BFLOAT16, real8, ELEMENT_DOUBLE, 2, 0},
        /* the poison of a reference is NaN, and so can a result be */
        {-1, nans, ELEMENT_FLOAT, missing, ELEMENT_FLOAT, 2, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t wrong =
            count_mismatches(cases[i].tolerance, cases[i].out, cases[i].type, cases[i].reference,
                             cases[i].reference_type, cases[i].count);
        if (wrong != cases[i].wrong)
            fail_msg("case %zu: %d wrong elements", i, (int)wrong);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fills_are_those_of_the_host),
        cmocka_unit_test(test_what_differs_from_the_reference),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
