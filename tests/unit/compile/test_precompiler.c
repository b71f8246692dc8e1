#include "compile/precompiler.h"

#include "template/compiler_option.h"

#include "unit/scratch.h"
#include "unit/test.h"

#include <sys/stat.h>

/* A header that is wrong where it sees the definition, or does not see the option. */
static const char header[] = "#ifndef HEAVY_H\n"
                             "#define HEAVY_H\n"
                             "#ifdef BLOCK_SIZE\n"
                             "#error the header sees a definition\n"
                             "#endif\n"
                             "#ifndef MODE\n"
                             "#error the header does not see the option\n"
                             "#endif\n"
                             "__device__ inline float twice(float x) { return MODE * x; }\n"
                             "#endif\n";
static const char kernel[] =
    "#include <heavy.h>\n"
    "extern \"C\" __global__ void __launch_bounds__(BLOCK_SIZE) k(float *x)\n"
    "{ x[threadIdx.x * BLOCK_SIZE] = twice(x[0]); }\n";
static const char *const heavy[] = {"heavy.h"};

static struct nvrtc *nvrtc;
static bool available; /* NVRTC has precompiled headers */

static int open_nvrtc(void **state)
{
    struct error error = {0};
    if (nvrtc_open(&nvrtc, NULL, &error) != 0) {
        error_print(&error, stderr);
        return -1;
    }
    available = nvrtc_reserve_precompiled(nvrtc, (size_t)64 << 20);
    return 0;
}

static int close_nvrtc(void **state)
{
    nvrtc_close(nvrtc);
    return 0;
}

static struct precompiler new_precompiler(void)
{
    struct precompiler precompiler;
    precompiler_init(&precompiler, nvrtc, "folder");
    return precompiler;
}

static struct nvrtc_job job_of(const char *text, const char *const *options, size_t count)
{
    return (struct nvrtc_job){
        .name = "k.cu",
        .text = text,
        .arch = "sm_90",
        .options = options,
        .option_count = count,
        .definition_count = 1,
        .headers = heavy,
        .header_count = 1,
    };
}

static struct compilation compile(struct precompiler *precompiler, const struct nvrtc_job *job)
{
    struct compilation compilation;
    struct error error = {0};
    if (precompiler_compile(precompiler, job, &compilation, &error) != 0)
        fail_msg("%s", error.message);
    return compilation;
}

/* Compiles with that block size, which the launch bounds show. */
static void expect_block_size(struct precompiler *precompiler, const char *definition, int expected)
{
    const char *const options[] = {"-I.", "-DMODE=2", definition};
    struct nvrtc_job job = job_of(kernel, options, 3);
    struct compilation compilation = compile(precompiler, &job);
    if (compilation.cubin == NULL)
        fail_msg("refused: %s", compilation.log);
    assert_int_equal(compilation.kernel_count, 1);
    assert_int_equal(compilation.kernels[0].max_threads_per_block, expected);
    assert_string_equal(compilation.log, "");
    compilation_release(&compilation);
}

/* Compiled in any other way, the header would refuse. */
static void definitions_come_after_the_header_and_options_before(void **state)
{
    if (!available)
        skip();
    assert_int_equal(scratch_write("heavy.h", header), 0);
    struct precompiler precompiler = new_precompiler();
    expect_block_size(&precompiler, "-DBLOCK_SIZE=64", 64);
    assert_true(precompiler.descriptor >= 0);
    assert_int_equal(precompiler.uses, 0);
    expect_block_size(&precompiler, "-DBLOCK_SIZE=128", 128);
    expect_block_size(&precompiler, "-DBLOCK_SIZE=256", 256);
    assert_int_equal(precompiler.uses, 2);
    assert_int_not_equal(access("folder/pch", F_OK), 0);
    precompiler_release(&precompiler);
}

static void a_source_that_does_not_begin_with_the_header_is_compiled_as_it_is(void **state)
{
    static const char text[] = "#define SIZE 64\n#include <heavy.h>\n"
                               "extern \"C\" __global__ void k(float *x) { *x = twice(*x); }\n";
    const char *const options[] = {"-I.", "-DMODE=2", "-DBLOCK_SIZE=1"};
    assert_int_equal(scratch_write("heavy.h", "#ifdef SIZE\n#define BY SIZE\n#else\n#define BY 1\n"
                                              "#endif\n__device__ inline float twice(float x)\n"
                                              "{ return BY * x; }\n"),
                     0);
    struct precompiler precompiler = new_precompiler();
    struct nvrtc_job job = job_of(text, options, 3);
    struct compilation plain;
    struct compilation compilation = compile(&precompiler, &job);
    assert_int_equal(nvrtc_compile(nvrtc, &job, &plain, NULL), 0);
    assert_int_equal(compilation.cubin_bytes, plain.cubin_bytes);
    assert_memory_equal(compilation.cubin, plain.cubin, plain.cubin_bytes);
    assert_int_equal(precompiler.descriptor, -1);
    compilation_release(&compilation);
    compilation_release(&plain);
    precompiler_release(&precompiler);
}

static void standard_headers_and_cpp_names_are_no_obstacle(void **state)
{
    static const char text[] = "#include <type_traits>\n"
                               "template <typename T, int N> __global__ void __launch_bounds__(N)\n"
                               "k(T *x) { static_assert(std::is_integral_v<T>); *x = N; }\n";
    static const char *const wanted[] = {"type_traits"};
    static const char *const definitions[] = {"-DTHREADS=64", "-DTHREADS=128"};
    char *header_option = standard_header_option("type_traits");
    int descriptor = -1;
    if (!available)
        skip();
    struct precompiler precompiler = new_precompiler();
    for (size_t i = 0; i < 2; i++) {
        const char *const options[] = {header_option, COMPILER_OPTION_ENTRY "k<int, THREADS>",
                                       definitions[i]};
        struct nvrtc_job job = job_of(text, options, 3);
        job.headers = wanted;
        struct compilation compilation = compile(&precompiler, &job);
        if (compilation.cubin == NULL)
            fail_msg("refused: %s", compilation.log);
        const struct compiled_kernel *sized = compilation_kernel(&compilation, "k<int, THREADS>");
        assert_non_null(sized);
        assert_int_equal(sized->max_threads_per_block, i == 0 ? 64 : 128);
        compilation_release(&compilation);
        assert_true(precompiler.descriptor >= 0);
        assert_true(i == 0 || precompiler.descriptor == descriptor);
        descriptor = precompiler.descriptor;
    }
    precompiler_release(&precompiler);
    free(header_option);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCRATCH_TEST(definitions_come_after_the_header_and_options_before),
        SCRATCH_TEST(a_source_that_does_not_begin_with_the_header_is_compiled_as_it_is),
        SCRATCH_TEST(standard_headers_and_cpp_names_are_no_obstacle),
    };
    return cmocka_run_group_tests(tests, open_nvrtc, close_nvrtc);
}
