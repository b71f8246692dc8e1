#include "compile/cubin_elf.h"

#include "base/alloc.h"
#include "compile/nvrtc.h"

#include "unit/test.h"

static const char source[] =
    "extern \"C\" __global__ void plain(int *o) { o[0] = 1; }\n"
    "extern \"C\" __global__ void __launch_bounds__(256) bounded(int *o) { o[0] = 1; }\n"
    "struct triple { int a, b, c; };\n"
    "struct thousands { char bytes[20000]; };\n"
    "extern \"C\" __global__ void many(int *o, char c, short s, triple t, long long n)\n"
    "{ o[n] = c + s + t.b; }\n"
    "extern \"C\" __global__ void large(thousands t, char *o) { *o = t.bytes[*o]; }\n"
    "extern \"C\" __global__ void none() {}\n"
    "extern \"C\" __global__ void __launch_bounds__(96, 4) bounded_twice(int *o) { o[0] = 1; }\n";

/* A real cubin: there is no other description of the format. */
static int compile_source(void **state)
{
    static struct compilation compilation;
    struct nvrtc *nvrtc = NULL;
    struct error error = {0};
    if (nvrtc_open(&nvrtc, NULL, &error) != 0 ||
        nvrtc_compile(nvrtc, &(struct nvrtc_job){.name = "k.cu", .text = source, .arch = "sm_90"},
                      &compilation, &error) != 0 ||
        compilation.cubin == NULL) {
        error_print(&error, stderr);
        return -1;
    }
    nvrtc_close(nvrtc);
    *state = &compilation;
    return 0;
}

static int release_compilation(void **state)
{
    compilation_release(*state);
    return 0;
}

static void launch_bounds_are_read(void **state)
{
    const struct compilation *good = *state;
    assert_int_equal(cubin_elf_max_threads(good->cubin, good->cubin_bytes, "bounded"), 256);
    assert_int_equal(cubin_elf_max_threads(good->cubin, good->cubin_bytes, "bounded_twice"), 96);
    assert_int_equal(cubin_elf_max_threads(good->cubin, good->cubin_bytes, "plain"), 0);
    assert_int_equal(cubin_elf_max_threads(good->cubin, good->cubin_bytes, "bound"), 0);
    assert_int_equal(cubin_elf_max_threads(good->cubin, good->cubin_bytes, ""), 0);
}

static void parameters_are_read(void **state)
{
    const struct compilation *good = *state;
    struct cubin_parameters parameters;
    assert_true(cubin_elf_parameters(good->cubin, good->cubin_bytes, "plain", &parameters));
    assert_int_equal(parameters.count, 1);
    assert_int_equal(parameters.bytes[0], 8);
    assert_true(cubin_elf_parameters(good->cubin, good->cubin_bytes, "many", &parameters));
    assert_int_equal(parameters.count, 5);
    static const uint16_t expected[] = {8, 1, 2, 12, 8};
    assert_memory_equal(parameters.bytes, expected, sizeof expected);
    assert_true(cubin_elf_parameters(good->cubin, good->cubin_bytes, "large", &parameters));
    assert_int_equal(parameters.count, 2);
    assert_int_equal(parameters.bytes[0], 20000);
    assert_int_equal(parameters.bytes[1], 8);
    assert_true(cubin_elf_parameters(good->cubin, good->cubin_bytes, "none", &parameters));
    assert_int_equal(parameters.count, 0);
    assert_false(cubin_elf_parameters(good->cubin, good->cubin_bytes, "missing", &parameters));
}

/* In memory of its own size, so that a sanitizer sees a read beyond it. */
static int threads_of_copy(const void *bytes, size_t count)
{
    unsigned char *copy = alloc_zeroed(count, 1);
    memcpy(copy, bytes, count);
    int threads = cubin_elf_max_threads(copy, count, "bounded");
    struct cubin_parameters parameters;
    (void)cubin_elf_parameters(copy, count, "many", &parameters);
    free(copy);
    return threads;
}

static void a_cut_file_gives_the_truth_or_nothing(void **state)
{
    const struct compilation *good = *state;
    for (size_t count = 0; count < good->cubin_bytes; count += 1 + count / 512) {
        int threads = threads_of_copy(good->cubin, count);
        if (threads != 0 && threads != 256)
            fail_msg("%zu bytes: %d threads", count, threads);
    }
    assert_int_equal(threads_of_copy(good->cubin, 0), 0);
    assert_int_equal(threads_of_copy(good->cubin, 64), 0);
}

/* Every byte of the ELF header, and every fourth of the rest, made 0x00, 0x7f and 0xff. */
static void damaged_bytes_are_survived(void **state)
{
    static const unsigned char values[] = {0x00, 0x7f, 0xff};
    const struct compilation *good = *state;
    unsigned char *bytes = alloc_zeroed(good->cubin_bytes, 1);
    memcpy(bytes, good->cubin, good->cubin_bytes);
    for (size_t at = 0; at < good->cubin_bytes; at += at < 64 ? 1 : 4) {
        unsigned char before = bytes[at];
        for (size_t i = 0; i < sizeof values; i++) {
            bytes[at] = values[i];
            assert_true(cubin_elf_max_threads(bytes, good->cubin_bytes, "bounded") >= 0);
        }
        bytes[at] = before;
    }
    assert_int_equal(cubin_elf_max_threads(bytes, good->cubin_bytes, "bounded"), 256);
    memset(bytes, 0xff, good->cubin_bytes);
    memcpy(bytes, good->cubin, 20); /* a good beginning, then offsets beyond everything */
    assert_int_equal(cubin_elf_max_threads(bytes, good->cubin_bytes, "bounded"), 0);
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(launch_bounds_are_read),
        cmocka_unit_test(parameters_are_read),
        cmocka_unit_test(a_cut_file_gives_the_truth_or_nothing),
        cmocka_unit_test(damaged_bytes_are_survived),
    };
    return cmocka_run_group_tests(tests, compile_source, release_compilation);
}
