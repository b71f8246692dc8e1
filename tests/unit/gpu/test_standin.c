/* The stand-in driver does what the tests that stand on it take for granted. */
#include "base/alloc.h"
#include "gpu/driver.h"
#include "template/fill.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <elf.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* --- A driver with a control of its own --- */

struct fixture {
    void *library;
    struct driver driver;
    CUcontext context;
    CUstream stream;
};

static void load_library(struct fixture *fixture, const char *standin)
{
    const char *build = getenv("BUILD_DIR");
    if (build == NULL)
        fail_msg("BUILD_DIR is not set: it is the build folder, in which tests/standin lies");
    char path[4096];
    int length = snprintf(path, sizeof path, "%s/tests/standin/libcuda.so.1", build);
    assert_in_range(length, 1, sizeof path - 1);
    setenv("AUTOTUNE_STANDIN", standin, 1);
    *fixture = (struct fixture){0};
    fixture->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (fixture->library == NULL)
        fail_msg("%s", dlerror());
}

/* The library that is loaded already answers to its soname, so the tuner's own driver_open() finds
 * it. */
static int open_driver(struct fixture *fixture, const char *standin, struct error *error)
{
    load_library(fixture, standin);
    return driver_open(&fixture->driver, error);
}

static void begin(struct fixture *fixture, const char *standin)
{
    struct error error = {0};
    if (open_driver(fixture, standin, &error) != 0)
        fail_msg("%s", error.message);
    const struct driver *cuda = &fixture->driver;
    CUdevice device;
    assert_int_equal(cuda->cuDeviceGet(&device, 0), CUDA_SUCCESS);
    assert_int_equal(cuda->cuDevicePrimaryCtxRetain(&fixture->context, device), CUDA_SUCCESS);
    assert_int_equal(cuda->cuCtxSetCurrent(fixture->context), CUDA_SUCCESS);
    assert_int_equal(cuda->cuStreamCreate(&fixture->stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
}

static void end(struct fixture *fixture)
{
    if (fixture->driver.library != NULL)
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

static CUevent make_event(const struct fixture *fixture)
{
    CUevent event;
    assert_int_equal(fixture->driver.cuEventCreate(&event, CU_EVENT_DEFAULT), CUDA_SUCCESS);
    return event;
}

/* (in, out, factor, n), the launch of the kernels of the test template `scale` */
static CUresult launch_scale(const struct fixture *fixture, CUfunction function, CUdeviceptr in,
                             CUdeviceptr out, unsigned blocks, unsigned threads)
{
    float factor = 3;
    unsigned long long n = 1000;
    void *parameters[] = {&in, &out, &factor, &n};
    return fixture->driver.cuLaunchKernel(function, blocks, 1, 1, threads, 1, 1, 0, fixture->stream,
                                          parameters, NULL);
}

/* --- Finding it --- */

static void test_every_entry_point_is_found(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture, "devices=1");
#define X(function, version) assert_non_null(fixture.driver.function);
    DRIVER_FUNCTIONS(X)
#undef X
    end(&fixture);
}

static void test_a_missing_entry_point_is_named(void **state)
{
    (void)state;
    struct fixture fixture;
    struct error error = {0};
    assert_int_equal(open_driver(&fixture, "missing=cuEventQuery", &error), ERROR_DEVICE);
    assert_non_null(strstr(error.message, "'cuEventQuery'"));
    end(&fixture);
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
    (void)state;
    struct fixture fixture;
    begin(&fixture, "devices=1");
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

/* How many elements of `out` autotune_compare finds different from the reference's, exactly. */
static uint64_t count_mismatches(const struct fixture *fixture, const void *out,
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
    int exact = 1, nan_equal = 0, poison = element_poison(out_type);
    int reference_poison = element_poison(reference_type);
    double absolute = 0, relative = 0;
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
    (void)state;
    struct fixture fixture;
    begin(&fixture, "devices=1");
    assert_int_equal(count_mismatches(&fixture, out, ELEMENT_UINT64, whole, ELEMENT_INT64, 5), 3);
    assert_int_equal(count_mismatches(&fixture, out, ELEMENT_UINT64, real, ELEMENT_DOUBLE, 5), 3);
    assert_int_equal(count_mismatches(&fixture, out, ELEMENT_UINT64, out, ELEMENT_UINT64, 5), 0);
    assert_int_equal(count_mismatches(&fixture, narrow, ELEMENT_INT8, wide, ELEMENT_INT64, 2), 1);
    end(&fixture);
}

/* --- Memory --- */

static void test_memory_is_limited_and_comes_back(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture, "memory_bytes=10000");
    const struct driver *cuda = &fixture.driver;
    CUdeviceptr first = allocate(&fixture, 6000), second = 0;
    size_t available = 0, total = 0;
    assert_int_equal(cuda->cuMemAlloc(&second, 4001), CUDA_ERROR_OUT_OF_MEMORY);
    assert_int_equal(cuda->cuMemGetInfo(&available, &total), CUDA_SUCCESS);
    assert_int_equal(available, 4000);
    assert_int_equal(cuda->cuMemFree(first), CUDA_SUCCESS);
    assert_int_equal(cuda->cuMemFree(first), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuda->cuMemAlloc(&second, 10000), CUDA_SUCCESS);
    end(&fixture);
}

static void test_copies_stay_within_allocations(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture, "");
    const struct driver *cuda = &fixture.driver;
    CUdeviceptr memory = allocate(&fixture, 100);
    char bytes[101] = "hello";
    char back[6] = "";
    assert_int_equal(cuda->cuMemcpyHtoD(memory, bytes, 100), CUDA_SUCCESS);
    assert_int_equal(cuda->cuMemcpyHtoD(memory, bytes, 101), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuda->cuMemcpyHtoD(memory + 100, bytes, 1), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuda->cuMemcpyDtoH(bytes, memory + 99, 2), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuda->cuMemsetD8Async(memory + 50, 7, 51, fixture.stream),
                     CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuda->cuMemcpyDtoDAsync(memory + 50, memory, 5, fixture.stream), CUDA_SUCCESS);
    assert_int_equal(cuda->cuMemcpyDtoH(back, memory + 50, 5), CUDA_SUCCESS);
    assert_string_equal(back, "hello");
    end(&fixture);
}

/* --- Launches --- */

static void test_launches_that_the_driver_refuses(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture, "sm_count=2");
    CUdeviceptr memory = allocate(&fixture, 4000);
    CUfunction function = load(&fixture, "scale_good");
    void *parameters[4] = {NULL};
    assert_int_equal(launch_scale(&fixture, function, memory, memory, 0, 256),
                     CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(launch_scale(&fixture, function, memory, memory, 1, 513),
                     CUDA_ERROR_INVALID_VALUE); /* launch bounds */
    assert_int_equal(fixture.driver.cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 49152,
                                                   fixture.stream, parameters, NULL),
                     CUDA_ERROR_INVALID_VALUE); /* 400 bytes are static */
    assert_int_equal(fixture.driver.cuLaunchCooperativeKernel(function, 7, 1, 1, 512, 1, 1, 0,
                                                              fixture.stream, parameters),
                     CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE); /* 2 SMs of 3 blocks */
    assert_int_equal(launch_scale(&fixture, load(&fixture, "unheard_of"), memory, memory, 1, 32),
                     CUDA_ERROR_NOT_SUPPORTED);
    end(&fixture);
}

static void test_a_fault_ends_the_context(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture, "");
    const struct driver *cuda = &fixture.driver;
    CUdeviceptr in = allocate(&fixture, 4000), out = allocate(&fixture, 4000);
    CUfunction good = load(&fixture, "scale_good");
    assert_int_equal(launch_scale(&fixture, load(&fixture, "scale_fault"), in, out, 4, 256),
                     CUDA_SUCCESS); /* as on a GPU, the host learns of it later */
    assert_int_equal(cuda->cuStreamSynchronize(fixture.stream), CUDA_ERROR_ILLEGAL_ADDRESS);
    assert_int_equal(launch_scale(&fixture, good, in, out, 4, 256), CUDA_ERROR_ILLEGAL_ADDRESS);
    assert_int_equal(cuda->cuMemFree(in), CUDA_ERROR_ILLEGAL_ADDRESS);
    end(&fixture);
}

/* --- Waiting --- */

static void test_queued_work_is_pending(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture, "");
    const struct driver *cuda = &fixture.driver;
    CUevent event = make_event(&fixture);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(cuda->cuEventRecord(event, fixture.stream), CUDA_SUCCESS);
        assert_int_equal(cuda->cuEventQuery(event), CUDA_ERROR_NOT_READY);
    }
    assert_int_equal(cuda->cuStreamSynchronize(fixture.stream), CUDA_SUCCESS);
    assert_int_equal(cuda->cuEventQuery(event), CUDA_SUCCESS);
    assert_int_equal(cuda->cuEventRecord(event, fixture.stream), CUDA_SUCCESS);
    assert_int_equal(cuda->cuEventQuery(event), CUDA_ERROR_NOT_READY);
    assert_int_equal(cuda->cuEventQuery(event), CUDA_SUCCESS); /* who asks again waits for it */
    end(&fixture);

    begin(&fixture, "unhidden=1");
    event = make_event(&fixture);
    assert_int_equal(fixture.driver.cuEventRecord(event, fixture.stream), CUDA_SUCCESS);
    assert_int_equal(fixture.driver.cuEventQuery(event), CUDA_SUCCESS);
    assert_int_equal(fixture.driver.cuEventRecord(event, fixture.stream), CUDA_SUCCESS);
    assert_int_equal(fixture.driver.cuEventQuery(event), CUDA_ERROR_NOT_READY);
    end(&fixture);
}

/* --- Faults on demand --- */

static void test_the_nth_call_fails(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture, "fault=cuMemAlloc:2:CUDA_ERROR_OUT_OF_MEMORY,fault=cuEventCreate:2+:999");
    CUdeviceptr address;
    CUevent event;
    assert_int_equal(fixture.driver.cuMemAlloc(&address, 1), CUDA_SUCCESS);
    assert_int_equal(fixture.driver.cuMemAlloc(&address, 1), CUDA_ERROR_OUT_OF_MEMORY);
    assert_int_equal(fixture.driver.cuMemAlloc(&address, 1), CUDA_SUCCESS);
    assert_int_equal(fixture.driver.cuEventCreate(&event, 0), CUDA_SUCCESS);
    assert_int_equal(fixture.driver.cuEventCreate(&event, 0), CUDA_ERROR_UNKNOWN);
    assert_int_equal(fixture.driver.cuEventCreate(&event, 0), CUDA_ERROR_UNKNOWN);
    end(&fixture);
}

static void test_a_planted_fault_of_the_kernel_is_sticky(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture, "fault=cuStreamSynchronize:1:CUDA_ERROR_ASSERT");
    CUdeviceptr address;
    assert_int_equal(fixture.driver.cuStreamSynchronize(fixture.stream), CUDA_ERROR_ASSERT);
    assert_int_equal(fixture.driver.cuMemAlloc(&address, 1), CUDA_ERROR_ASSERT);
    end(&fixture);
}

/* Runs `scenario` in a process; its wait status, or -1 where it is still there after half a second.
 */
static int status_of(void (*scenario)(const struct fixture *), const char *standin)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct fixture fixture;
        begin(&fixture, standin);
        scenario(&fixture);
        _exit(0);
    }
    int status = -1;
    for (int i = 0; i < 50; i++) {
        if (waitpid(child, &status, WNOHANG) == child)
            return status;
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    return -1;
}

static void allocate_once(const struct fixture *fixture)
{
    allocate(fixture, 1);
}

static void hang_in_kernel(const struct fixture *fixture)
{
    CUdeviceptr in = allocate(fixture, 4000);
    CUevent event = make_event(fixture);
    if (launch_scale(fixture, load(fixture, "scale_hang"), in, in, 1, 32) != CUDA_SUCCESS ||
        fixture->driver.cuEventRecord(event, fixture->stream) != CUDA_SUCCESS)
        _exit(1);
    for (int i = 0; i < 10; i++)
        if (fixture->driver.cuEventQuery(event) != CUDA_ERROR_NOT_READY)
            _exit(2);
    fixture->driver.cuStreamSynchronize(fixture->stream);
}

static void test_hangs_and_kills(void **state)
{
    (void)state;
    assert_int_equal(status_of(allocate_once, ""), 0);
    int status = status_of(allocate_once, "fault=cuMemAlloc:1:kill");
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    assert_int_equal(status_of(allocate_once, "fault=cuMemAlloc:1:hang"), -1);
    assert_int_equal(status_of(hang_in_kernel, ""), -1);
}

static char *read_text(const char *path)
{
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    char *text = alloc_zeroed(4096, 1);
    size_t length = fread(text, 1, 4095, file);
    text[length] = '\0';
    fclose(file);
    return text;
}

static void test_calls_are_counted_over_processes_and_logged(void **state)
{
    (void)state;
    char folder[] = "/tmp/autotune_standin_XXXXXX";
    char control[128], counts[128], log[128];
    assert_non_null(mkdtemp(folder));
    assert_true(snprintf(control, sizeof control, "%s/control", folder) < (int)sizeof control);
    assert_true(snprintf(counts, sizeof counts, "%s.state", control) < (int)sizeof counts);
    assert_true(snprintf(log, sizeof log, "%s/log", folder) < (int)sizeof log);
    FILE *file = fopen(control, "w");
    assert_non_null(file);
    assert_true(fprintf(file, "# the second call\nfault = cuMemAlloc:2:kill\nlog = %s\n", log) > 0);
    assert_int_equal(fclose(file), 0);

    assert_int_equal(status_of(allocate_once, control), 0);
    assert_true(WIFSIGNALED(status_of(allocate_once, control)));
    assert_int_equal(status_of(allocate_once, control), 0);
    char *text = read_text(log);
    size_t allocations = 0;
    for (const char *at = text; (at = strstr(at, "cuMemAlloc")) != NULL; at++)
        allocations++;
    assert_int_equal(allocations, 3);
    assert_non_null(strstr(text, " cuMemAlloc kill\n"));
    free(text);
    assert_int_equal(unlink(log) | unlink(control) | unlink(counts) | rmdir(folder), 0);
}

static void test_a_wrong_control_ends_the_process(void **state)
{
    (void)state;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct fixture fixture;
        struct error error = {0};
        assert_non_null(freopen("/dev/null", "w", stderr));
        (void)open_driver(&fixture, "devcies=1", &error);
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 99);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_entry_point_is_found),
        cmocka_unit_test(test_a_missing_entry_point_is_named),
        cmocka_unit_test(test_fills_are_those_of_the_host),
        cmocka_unit_test(test_exact_is_exact_for_integers_of_64_bits),
        cmocka_unit_test(test_memory_is_limited_and_comes_back),
        cmocka_unit_test(test_copies_stay_within_allocations),
        cmocka_unit_test(test_launches_that_the_driver_refuses),
        cmocka_unit_test(test_a_fault_ends_the_context),
        cmocka_unit_test(test_queued_work_is_pending),
        cmocka_unit_test(test_the_nth_call_fails),
        cmocka_unit_test(test_a_planted_fault_of_the_kernel_is_sticky),
        cmocka_unit_test(test_hangs_and_kills),
        cmocka_unit_test(test_calls_are_counted_over_processes_and_logged),
        cmocka_unit_test(test_a_wrong_control_ends_the_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
