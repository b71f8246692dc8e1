/* The tuner's own kernels (gpu/device_kernels.cu), as the stand-in driver runs them on the host. */
#include "gpu/driver.h"

#include "template/fill.h"

#include "unit/test.h"

#include <dlfcn.h>
#include <elf.h>

/* --- A driver with a control of its own --- */

struct fixture {
    void *library;
    struct driver driver;
    CUcontext context;
    CUstream stream;
};

/* The tuner's driver_open() finds the library that is loaded already, by its soname. */
static void begin(struct fixture *fixture)
{
    const char *build = getenv("BUILD_DIR");
    struct error error = {0};
    char path[4096];
    CUdevice device;
    if (build == NULL)
        fail_msg("BUILD_DIR is not set: it is the build folder, in which tests/standin lies");
    (void)snprintf(path, sizeof path, "%s/tests/standin/libcuda.so.1", build);
    setenv("AUTOTUNE_STANDIN", "devices=1", 1);
    *fixture = (struct fixture){0};
    fixture->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (fixture->library == NULL)
        fail_msg("%s", dlerror());
    if (driver_open(&fixture->driver, &error) != 0)
        fail_msg("%s", error.message);
    const struct driver *cuda = &fixture->driver;
    assert_int_equal(cuda->cuDeviceGet(&device, 0), CUDA_SUCCESS);
    assert_int_equal(cuda->cuDevicePrimaryCtxRetain(&fixture->context, device), CUDA_SUCCESS);
    assert_int_equal(cuda->cuCtxSetCurrent(fixture->context), CUDA_SUCCESS);
    assert_int_equal(cuda->cuStreamCreate(&fixture->stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
}

static void end(struct fixture *fixture)
{
    driver_close(&fixture->driver);
    dlclose(fixture->library);
    unsetenv("AUTOTUNE_STANDIN");
}

/* --- The smallest cubin: one kernel, its registers, its launch bounds, its shared memory --- */

#define IMAGE_BYTES 2048
#define MACHINE_CUDA 190

struct image {
    _Alignas(8) unsigned char bytes[IMAGE_BYTES];
    size_t used;
};

static size_t append(struct image *image, const void *data, size_t bytes)
{
    size_t at = (image->used + 7) / 8 * 8;
    assert_true(at + bytes <= sizeof image->bytes);
    if (data != NULL)
        memcpy(image->bytes + at, data, bytes);
    image->used = at + bytes;
    return at;
}

static void add_section(Elf64_Shdr *section, unsigned name, unsigned type, size_t at, size_t bytes)
{
    section->sh_name = name;
    section->sh_type = type;
    section->sh_offset = at;
    section->sh_size = bytes;
}

static void make_image(struct image *image, const char *kernel, unsigned architecture)
{
    char names[256] = "";
    memset(image, 0, sizeof *image);
    int length = snprintf(names, sizeof names,
                          "%c.names%c.text.%s%c.nv.info%c.nv.info.%s%c.nv.shared.%s%c.symtab%c%s",
                          0, 0, kernel, 0, 0, kernel, 0, kernel, 0, 0, kernel);
    assert_in_range(length, 1, sizeof names - 1);
    unsigned k = (unsigned)strlen(kernel);
    unsigned text = 8, info = text + 6 + k + 1, bounds = info + 9, shared = bounds + 9 + k + 1;
    unsigned symtab = shared + 11 + k + 1, symbol_name = symtab + 8;
    const uint32_t registers[] = {0x00082f04, 1, 40, 0x00081104, 1, 64};
    const uint32_t threads[] = {0x000c0504, 256, 2, 1};
    const Elf64_Sym symbols[2] = {
        {0}, {.st_name = symbol_name, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC)}};

    append(image, NULL, sizeof(Elf64_Ehdr));
    Elf64_Shdr sections[7] = {0};
    add_section(&sections[1], 1, SHT_STRTAB, append(image, names, sizeof names), sizeof names);
    add_section(&sections[2], text, SHT_PROGBITS, image->used, 0);
    add_section(&sections[3], info, SHT_LOPROC, append(image, registers, sizeof registers),
                sizeof registers);
    add_section(&sections[4], bounds, SHT_LOPROC, append(image, threads, sizeof threads),
                sizeof threads);
    add_section(&sections[5], shared, SHT_NOBITS, 0, 1024 + 400);
    add_section(&sections[6], symtab, SHT_SYMTAB, append(image, symbols, sizeof symbols),
                sizeof symbols);
    sections[6].sh_link = 1;
    size_t table = append(image, sections, sizeof sections);

    const Elf64_Ehdr header = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
                                           ELFDATA2LSB, EV_CURRENT, 0x41, 8},
                               .e_machine = MACHINE_CUDA,
                               .e_flags = architecture << 8,
                               .e_shoff = table,
                               .e_shentsize = sizeof(Elf64_Shdr),
                               .e_shnum = 7,
                               .e_shstrndx = 1};
    memcpy(image->bytes, &header, sizeof header);
}

static CUfunction load(const struct fixture *fixture, const char *kernel)
{
    struct image image;
    CUmodule module;
    CUfunction function;
    make_image(&image, kernel, 90);
    assert_int_equal(fixture->driver.cuModuleLoadData(&module, image.bytes), CUDA_SUCCESS);
    assert_int_equal(fixture->driver.cuModuleGetFunction(&function, module, kernel), CUDA_SUCCESS);
    return function;
}

static CUdeviceptr allocate(const struct fixture *fixture, size_t bytes)
{
    CUdeviceptr address = 0;
    assert_int_equal(fixture->driver.cuMemAlloc(&address, bytes), CUDA_SUCCESS);
    return address;
}

/* --- The tuner's own kernels --- */

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
    struct fixture fixture;
    begin(&fixture);
    CUfunction function = load(&fixture, "autotune_fill");
    CUdeviceptr data = allocate(&fixture, sizeof there);
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
            assert_int_equal(fixture.driver.cuLaunchKernel(function, 1, 1, 1, 256, 1, 1, 0,
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
    end(&fixture);
}

/* How many elements of `out` autotune_compare finds different from the reference's: exactly, if `tolerance` is
 * negative. NaN is equal to NaN. */
static uint64_t count_mismatches(const struct fixture *fixture, double tolerance, const void *out,
                                 enum element_type out_type, const void *reference,
                                 enum element_type reference_type, unsigned long long count)
{
    const struct driver *cuda = &fixture->driver;
    CUfunction function = load(fixture, "autotune_compare");
    CUdeviceptr a = allocate(fixture, count * element_bytes(out_type));
    CUdeviceptr b = allocate(fixture, count * element_bytes(reference_type));
    uint64_t found[3] = {0};
    CUdeviceptr result = allocate(fixture, sizeof found);
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
    assert_int_equal(
        cuda->cuLaunchKernel(function, 1, 1, 1, 256, 1, 1, 0, fixture->stream, parameters, NULL),
        CUDA_SUCCESS);
    assert_int_equal(cuda->cuStreamSynchronize(fixture->stream), CUDA_SUCCESS);
    assert_int_equal(cuda->cuMemcpyDtoH(found, result, sizeof found), CUDA_SUCCESS);
    return found[0];
}

static void test_exact_is_exact_for_integers_of_64_bits(void **state)
{
    static const uint64_t out[] = {7, 1ull << 60, (1ull << 60) + 100, UINT64_MAX, UINT64_MAX};
    static const int64_t whole[] = {7, 1ll << 60, 1ll << 60, -1, INT64_MAX};
    static const double real[] = {7, 0x1p60, 0x1p60, 0x1p64, 0x1p63};
    static const int8_t narrow[] = {-1, 100};
    static const int64_t wide[] = {-1, 356}; /* which wraps to 100 */
    struct fixture fixture;
    begin(&fixture);
    assert_int_equal(count_mismatches(&fixture, -1, out, ELEMENT_UINT64, whole, ELEMENT_INT64, 5),
                     3);
    assert_int_equal(count_mismatches(&fixture, -1, out, ELEMENT_UINT64, real, ELEMENT_DOUBLE, 5),
                     3);
    assert_int_equal(count_mismatches(&fixture, -1, out, ELEMENT_UINT64, out, ELEMENT_UINT64, 5),
                     0);
    assert_int_equal(count_mismatches(&fixture, -1, narrow, ELEMENT_INT8, wide, ELEMENT_INT64, 2),
                     1);
    end(&fixture);
}

static void test_tolerances_hold_for_integers_of_64_bits(void **state)
{
    static const uint64_t out[] = {(1ull << 60) + 100, 5, UINT64_MAX};
    static const uint64_t near[] = {1ull << 60, 7, 0};
    static const int64_t low[] = {-(1ll << 60) - 100, -1, 3};
    static const int64_t high[] = {-(1ll << 60), 1, INT64_MAX};
    struct fixture fixture;
    begin(&fixture);
    assert_int_equal(count_mismatches(&fixture, 0, out, ELEMENT_UINT64, near, ELEMENT_UINT64, 3),
                     3);
    assert_int_equal(count_mismatches(&fixture, 99, out, ELEMENT_UINT64, near, ELEMENT_UINT64, 3),
                     2);
    assert_int_equal(count_mismatches(&fixture, 100, out, ELEMENT_UINT64, near, ELEMENT_UINT64, 3),
                     1);
    assert_int_equal(count_mismatches(&fixture, 2, low, ELEMENT_INT64, high, ELEMENT_INT64, 3), 2);
    assert_int_equal(count_mismatches(&fixture, 100, low, ELEMENT_INT64, high, ELEMENT_INT64, 3),
                     1);
    end(&fixture);
}

/* The reference is rounded once: by way of float, 1 + 2^-11 + 2^-40 would become 1. */
static void test_half_is_rounded_once(void **state)
{
    static const uint16_t half[] = {0x3c01, 0x3c00, 0x7c00, 0xbc01};
    static const double real[] = {1 + 0x1p-11 + 0x1p-40, 1 + 0x1p-11, 65520,
                                  -1 - 0x1p-11 - 0x1p-40};
    static const uint16_t bfloat16[] = {0x3f81, 0x3f80};
    static const double real8[] = {1 + 0x1p-8 + 0x1p-40, 1 + 0x1p-8};
    struct fixture fixture;
    begin(&fixture);
    assert_int_equal(count_mismatches(&fixture, -1, half, ELEMENT_HALF, real, ELEMENT_DOUBLE, 4),
                     0);
    assert_int_equal(
        count_mismatches(&fixture, -1, bfloat16, ELEMENT_BFLOAT16, real8, ELEMENT_DOUBLE, 2), 0);
    end(&fixture);
}

/* The poison of a reference is NaN, and so can a result be. */
static void test_a_result_where_the_reference_has_none_is_wrong(void **state)
{
    static const uint32_t out[] = {0x7fc00000, 0x7fc00000};
    static const uint32_t reference[] = {0xffffffff, 0x7fc00001};
    struct fixture fixture;
    begin(&fixture);
    assert_int_equal(
        count_mismatches(&fixture, -1, out, ELEMENT_FLOAT, reference, ELEMENT_FLOAT, 2), 1);
    end(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fills_are_those_of_the_host),
        cmocka_unit_test(test_exact_is_exact_for_integers_of_64_bits),
        cmocka_unit_test(test_tolerances_hold_for_integers_of_64_bits),
        cmocka_unit_test(test_half_is_rounded_once),
        cmocka_unit_test(test_a_result_where_the_reference_has_none_is_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
