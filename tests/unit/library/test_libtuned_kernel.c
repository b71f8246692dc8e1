/*
 * libtuned_kernel against the stand-in driver: a bundle of its `scale` template, made by hand with
 * the compiler. Compiled in: the library hides its parts.
 */
#include "../../tuner/library/kernel/kernel.c"

#include "../../tuner/library/kernel/kernels.c"
#include "../../tuner/library/kernel/launch.c"
#include "../../tuner/library/kernel/scalars.c"
#include "compile/cubin_cache.h"
#include "compile/nvrtc.h"
#include "template/template_load.h"

#include "unit/scratch.h"
#include "unit/test.h"

#include <dlfcn.h>
#include <math.h>
#include <pthread.h>

/* A driver with a context, and a bundle in the current folder. */
struct world {
    struct driver driver;
    CUcontext context;
    char hash[HASH_BYTES];
};

static struct world world;

static void write_tuned(const char *hash)
{
    FILE *file = fopen("b/tuned.ini", "w");
    assert_non_null(file);
    fprintf(file,
            "[scale 00000001]\nkernel = scale\ntemplate = scale\ntemplate_hash = %s\n"
            "gpu = Stand-in H200\narch = sm_90\ncompute_capability = 90\nsm_count = 132\n"
            "l2_bytes = 62914560\nmemory_bytes = 1000\ndriver = 13.0\nnvrtc = 13.0\n"
            "autotune = 0.1.0\ndate = 2026-11-21T07:00:00Z\ncache = cold\nlow_ns = 1000\n"
            "high_ns = 1000\nsamples = 30\nregisters = 10\nblocks_per_sm = 4\noccupancy = 1\n"
            "problem.n = 1000\nproblem.factor = 1.5\nparameter.block_size = 64\n"
            "parameter.num_load = 2\nparameter.mode = good\nmedian_ns = 1000\n",
            hash);
    assert_int_equal(fclose(file), 0);
}

static void make_bundle(void)
{
    struct template template;
    struct error error;
    const char *source = getenv("SOURCE_DIR");
    assert_non_null(source);
    char *command = alloc_format("mkdir -p b/cubin b/templates && cp "
                                 "'%s'/tests/standin/templates/scale.* b/templates",
                                 source);
    assert_int_equal(system(command), 0);
    free(command);
    assert_int_equal(template_load(&template, "b/templates/scale.ini", &error), 0);
    memcpy(world.hash, template.hash, sizeof world.hash);
    template_release(&template);
    write_tuned(world.hash);
}

static int enter(void **state)
{
    struct error error;
    CUdevice device;
    if (scratch_enter(state) != 0 || setenv("AUTOTUNE_CACHE", "cache", 1) != 0)
        return -1;
    make_bundle();
    return driver_open(&world.driver, &error) != 0 || world.driver.cuDeviceGet(&device, 0) != 0 ||
           world.driver.cuDevicePrimaryCtxRetain(&world.context, device) != 0 ||
           world.driver.cuCtxSetCurrent(world.context) != 0;
}

static int leave(void **state)
{
    (void)world.driver.cuCtxSetCurrent(NULL);
    (void)world.driver.cuDevicePrimaryCtxRelease(0);
    driver_close(&world.driver);
    return scratch_leave(state);
}

static struct tuned_kernels *open_bundle(void)
{
    struct tuned_kernels *kernels;
    struct tuned_error error;
    if (tuned_kernels_open(&kernels, "b", NULL, &error) != 0)
        fail_msg("%s", error.message);
    return kernels;
}

/* The kernel for `n` elements; NULL if it has to be compiled and there is no compiler. */
static struct tuned_kernel *get(struct tuned_kernels *kernels, int64_t n)
{
    struct tuned_value problem[] = {tuned_integer("n", n), tuned_real("factor", 2.5)};
    struct tuned_query query = {.kernel = "scale", .problem = problem, .problem_count = 2};
    struct tuned_kernel *kernel;
    struct tuned_error error;
    int code = tuned_kernel_get(kernels, &query, &kernel, &error);
    if (code == TUNED_COMPILER) {
        print_message("%s\n", error.message);
        return NULL;
    }
    if (code != 0)
        fail_msg("%s: %s", error.file, error.message);
    return kernel;
}

static void test_runs_what_was_tuned(void **state)
{
    enum { N = 777 };
    struct tuned_kernels *kernels = open_bundle();
    struct tuned_kernel *kernel = get(kernels, N);
    assert_non_null(kernel);
    float host[N];
    CUdeviceptr in;
    CUdeviceptr out;
    struct tuned_error error;
    assert_int_equal(kernel->match.rule, TUNED_NEAREST_SIZE);
    assert_int_equal(kernel->origin, TUNED_FROM_COMPILER);
    assert_int_equal(kernel->launch_count, 1);
    assert_string_equal(kernel->launches[0].entry, "scale_good");
    assert_int_equal(kernel->launches[0].block[0], 64);
    assert_int_equal(kernel->launches[0].grid[0], (N + 127) / 128);
    assert_int_equal(tuned_kernel_buffer(kernel, "in")->bytes, 4 * N);
    assert_string_equal(tuned_kernel_buffer(kernel, "out")->type, "float");
    assert_null(tuned_kernel_buffer(kernel, "nothing"));
    for (int i = 0; i < N; i++)
        host[i] = (float)i;
    assert_int_equal(world.driver.cuMemAlloc(&in, sizeof host), 0);
    assert_int_equal(world.driver.cuMemAlloc(&out, sizeof host), 0);
    assert_int_equal(world.driver.cuMemcpyHtoD(in, host, sizeof host), 0);
    const struct tuned_buffer buffers[] = {{"in", in}, {"out", out}};
    assert_int_equal(tuned_kernel_launch(kernel, buffers, 1, NULL, 0, NULL, &error), TUNED_INVALID);
    assert_string_equal(error.message, "buffer 'out' is missing");
    assert_int_equal(tuned_kernel_launch(kernel, buffers, 2, NULL, 0, NULL, &error), 0);
    assert_int_equal(world.driver.cuStreamSynchronize(NULL), 0);
    assert_int_equal(world.driver.cuMemcpyDtoH(host, out, sizeof host), 0);
    for (int i = 0; i < N; i++)
        assert_true(fabsf(host[i] - 2.5f * (float)i) <= 0);
    (void)world.driver.cuMemFree(in);
    (void)world.driver.cuMemFree(out);
    tuned_kernel_free(kernel);
    tuned_kernels_close(kernels);
}

/* The last element that a run with these scalars writes, of an input of 1, 2, …; the rest are 0. */
static float last_written(struct tuned_kernel *kernel, const struct tuned_value *scalars,
                          size_t count, size_t *written)
{
    enum { N = 100 };
    float host[N] = {0};
    CUdeviceptr memory;
    struct tuned_error error;
    assert_int_equal(world.driver.cuMemAlloc(&memory, 2 * sizeof host), 0);
    assert_int_equal(world.driver.cuMemcpyHtoD(memory + sizeof host, host, sizeof host), 0);
    for (int i = 0; i < N; i++)
        host[i] = (float)(i + 1);
    assert_int_equal(world.driver.cuMemcpyHtoD(memory, host, sizeof host), 0);
    const struct tuned_buffer buffers[] = {{"in", memory}, {"out", memory + sizeof host}};
    if (tuned_kernel_launch(kernel, buffers, 2, scalars, count, NULL, &error) != 0)
        fail_msg("%s", error.message);
    assert_int_equal(world.driver.cuStreamSynchronize(NULL), 0);
    assert_int_equal(world.driver.cuMemcpyDtoH(host, memory + sizeof host, sizeof host), 0);
    (void)world.driver.cuMemFree(memory);
    *written = N;
    while (*written > 0 && !(fabsf(host[*written - 1]) > 0))
        --*written;
    return *written > 0 ? host[*written - 1] : 0;
}

static struct tuned_kernel *get_with_scalars(struct tuned_kernels *kernels)
{
    struct tuned_value problem[] = {tuned_integer("n", 100), tuned_real("factor", 2.5)};
    struct tuned_query query = {
        .kernel = "scale", .problem = problem, .problem_count = 2, .accept_other_versions = 1};
    struct tuned_kernel *kernel;
    struct tuned_error error;
    if (tuned_kernel_get(kernels, &query, &kernel, &error) != 0)
        fail_msg("%s:%d: %s", error.file, error.line, error.message);
    return kernel;
}

static void test_scalars_are_given_at_a_launch(void **state)
{
    size_t written;
    make_bundle();
    assert_int_equal(system("sed -i -e 's/^factor = 1.5/factor = 1.5\\nless = 0/' "
                            "-e 's/uint64 n$/uint64 n - less/' b/templates/scale.ini"),
                     0);
    struct tuned_kernels *kernels = open_bundle();
    struct tuned_kernel *kernel = get_with_scalars(kernels);
    assert_int_equal(kernel->scalar_count, 2);
    assert_string_equal(kernel->scalars[0].name, "factor");
    assert_true(fabs(kernel->scalars[0].real - 2.5) <= 0); /* the query's */
    assert_string_equal(kernel->scalars[1].name, "less");
    assert_int_equal(kernel->scalars[1].integer, 0); /* the template's */
    assert_true(fabsf(last_written(kernel, NULL, 0, &written) - 250) <= 0);
    struct tuned_value scalars[] = {tuned_integer("less", 10), tuned_real("factor", -0.5)};
    assert_true(fabsf(last_written(kernel, scalars, 2, &written) + 45) <= 0);
    assert_int_equal(written, 90);
    scalars[1] = tuned_integer("factor", 3); /* a whole number is a real one, too */
    assert_true(fabsf(last_written(kernel, &scalars[1], 1, &written) - 300) <= 0);
    assert_int_equal(written, 100); /* what is left out is as it was */
    tuned_kernel_free(kernel);
    tuned_kernels_close(kernels);
}

static void test_scalars_that_are_none_launch_nothing(void **state)
{
    make_bundle();
    assert_int_equal(
        system(
            "sed -i -e 's/^factor = 1.5/factor = 1.5\\nless = 0\\nsort = aa | bb\\nedge = 1\\n"
            "limit = 1/' -e '0,/^constraint/s//constraint = limit < 2 or num_load < 2\\n&/' "
            "-e 's/uint64 n$/uint64 n - less/' -e '$a [buffer.pad]\\ntype = float\\nlength = 9\\n"
            "access = scratch\\nfill = border(edge, constant(1))' b/templates/scale.ini"),
        0);
    static const struct {
        struct tuned_value scalar;
        const char *message;
    } cases[] = {
        {{"n", TUNED_INTEGER, 5, 5, NULL},
         "'n' cannot be given at a launch: the length of buffer 'in' depends on it; get another "
         "kernel for it"},
        {{"sort", TUNED_WORD, 0, 0, "aa"},
         "'sort' cannot be given at a launch: it is a word; get another kernel for it"},
        {{"edge", TUNED_INTEGER, 2, 2, NULL},
         "'edge' cannot be given at a launch: the contents of buffer 'pad' depend on it; get "
         "another "
         "kernel for it"},
        {{"limit", TUNED_INTEGER, 2, 2, NULL},
         "'limit' cannot be given at a launch: a constraint depends on it; get another kernel for "
         "it"},
        {{"facto", TUNED_REAL, 0, 1, NULL}, "'facto' is not a value of the problem of 'scale'"},
        {{NULL, TUNED_REAL, 0, 1, NULL}, "'' is not a value of the problem of 'scale'"},
        {{"factor", TUNED_WORD, 0, 1, "two"}, "scalar 'factor' is a number"},
        {{"less", TUNED_INTEGER, 101, 101, NULL},
         "argument 'n - less' of launch 'good' does not fit uint64: -1"},
        {{"less", TUNED_REAL, 0, 0.5, NULL}, "cannot evaluate 'n - less'"},
    };
    struct tuned_kernels *kernels = open_bundle();
    struct tuned_kernel *kernel = get_with_scalars(kernels);
    const struct tuned_buffer buffers[] = {{"in", 1}, {"out", 1}}; /* a launch would fault */
    const struct tuned_value twice[] = {tuned_real("factor", 1), tuned_real("factor", 2)};
    struct tuned_error error;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(tuned_kernel_launch(kernel, buffers, 2, &cases[i].scalar, 1, NULL, &error),
                         TUNED_INVALID);
        if (strncmp(error.message, cases[i].message, strlen(cases[i].message)) != 0)
            fail_msg("'%s' instead of '%s'", error.message, cases[i].message);
    }
    assert_int_equal(tuned_kernel_launch(kernel, buffers, 2, twice, 2, NULL, &error),
                     TUNED_INVALID);
    assert_string_equal(error.message, "scalar 'factor' is given twice");
    tuned_kernel_free(kernel);
    tuned_kernels_close(kernels);
}

/* Puts the binaries into the bundle; `arguments` are more of `autotune bundle`. */
static void put_into_bundle(const char *arguments)
{
    const char *program = getenv("AUTOTUNE");
    assert_non_null(program);
    char *command = alloc_format(
        "env -u AUTOTUNE_NVRTC '%s' bundle --tuned b/tuned.ini --templates b/templates "
        "--output made %s >/dev/null && cp -r made/cubin b && rm -r made",
        program, arguments);
    assert_int_equal(system(command), 0);
    free(command);
}

static void test_compiles_once_then_takes_the_cache_then_the_bundle(void **state)
{
    struct tuned_kernels *kernels = open_bundle();
    struct tuned_kernel *kernel = get(kernels, 1000);
    tuned_kernel_free(kernel);
    tuned_kernels_close(kernels);
    assert_non_null(kernel);
    /* from now on there is no compiler */
    assert_int_equal(setenv("AUTOTUNE_NVRTC", "/nowhere/libnvrtc.so", 1), 0);
    kernels = open_bundle();
    kernel = get(kernels, 1000);
    assert_non_null(kernel);
    assert_int_equal(kernel->origin, TUNED_FROM_CACHE);
    tuned_kernel_free(kernel);
    put_into_bundle("");
    kernel = get(kernels, 1000);
    assert_non_null(kernel);
    assert_int_equal(kernel->origin, TUNED_FROM_BUNDLE);
    tuned_kernel_free(kernel);
    assert_int_equal(system("rm -r cache"), 0);
    kernel = get(kernels, 5);
    assert_non_null(kernel);
    assert_int_equal(kernel->origin, TUNED_FROM_BUNDLE);
    tuned_kernel_free(kernel);
    assert_int_equal(system("echo broken >b/cubin/scale-00000001.cubin"), 0);
    assert_null(get(kernels, 1000)); /* it would have to be compiled */
    tuned_kernels_close(kernels);
    assert_int_equal(unsetenv("AUTOTUNE_NVRTC"), 0);
}

/* As scale_good(), in a namespace and with a template's argument that tuning chooses. */
static void test_a_kernel_with_a_cpp_name_is_found_in_the_bundle(void **state)
{
    assert_int_equal(
        system("cp -r b whole && cat >>b/templates/scale.cu <<'END'\n"
               "namespace ns {\n"
               "template <int LOAD> __global__ void scale_good(const float *in, float *out,\n"
               "                                               float factor, u64 n)\n"
               "{\n"
               "    for (u64 i = FIRST; i < n; i += STEP)\n"
               "        out[i] = LOAD > 0 ? factor * in[i] : 0;\n"
               "}\n"
               "} // namespace ns\n"
               "END\n"
               "sed -i 's/entry = scale_good/entry = ns::scale_good<NUM_LOAD>/' b/templates/*.ini"),
        0);
    struct template template;
    assert_int_equal(template_load(&template, "b/templates/scale.ini", NULL), 0);
    write_tuned(template.hash);
    template_release(&template);
    put_into_bundle("");
    assert_int_equal(setenv("AUTOTUNE_NVRTC", "/nowhere/libnvrtc.so", 1), 0);
    struct tuned_kernels *kernels = open_bundle();
    struct tuned_kernel *kernel = get(kernels, 1000);
    assert_non_null(kernel);
    assert_int_equal(kernel->origin, TUNED_FROM_BUNDLE);
    assert_string_equal(kernel->launches[0].entry, "ns::scale_good<NUM_LOAD>");
    tuned_kernel_free(kernel);
    tuned_kernels_close(kernels);
    assert_int_equal(unsetenv("AUTOTUNE_NVRTC"), 0);
    assert_int_equal(system("rm -r b && mv whole b"), 0);
}

static const char *const cubin_damages[] = {
    /* a flipped bit, in the middle and at the end */
    "perl -0777 -pi -e 'substr($_, length($_) / 2, 1) ^= \"\\1\"' b/cubin/scale-00000001.cubin",
    "perl -0777 -pi -e 'substr($_, -1) ^= \"\\1\"' b/cubin/scale-00000001.cubin",
    "truncate -s 1000 b/cubin/scale-00000001.cubin", /* cut */
    "truncate -s 0 b/cubin/scale-00000001.cubin",
    "rm b/cubin/scale-00000001.cubin.hash",
    "echo 0 >b/cubin/scale-00000001.cubin.hash",
    /* of another variant, as a whole */
    "sed -i s/block_size.=.64/block_size' = '128/ b/tuned.ini && "
    "env -u AUTOTUNE_NVRTC \"$AUTOTUNE\" bundle --tuned b/tuned.ini --templates b/templates "
    "--output "
    "other >/dev/null && cp other/cubin/* b/cubin && "
    "sed -i s/block_size.=.128/block_size' = '64/ b/tuned.ini",
    /* of a source that was different */
    "sed -i '1i #define NEWER' b/templates/scale.cu",
};

/* A cover beside what was tuned for n = 1000. */
static void append_cover(void)
{
    FILE *file = fopen("b/tuned.ini", "a");
    assert_non_null(file);
    fprintf(file,
            "[scale 0000c0e4]\nkernel = scale\ntemplate = scale\ntemplate_hash = %s\n"
            "gpu = Stand-in H200\narch = sm_90\ncompute_capability = 90\nsm_count = 132\n"
            "l2_bytes = 62914560\nmemory_bytes = 1000\ndriver = 13.0\nnvrtc = 13.0\n"
            "autotune = 0.1.0\ndate = 2026-11-21T07:00:00Z\ncache = cold\ncover = 3\n"
            "problem.factor = 1.5\nrange.n = 1 .. 100000\n"
            "configuration.1.block_size = 64\nconfiguration.1.num_load = 2\n"
            "configuration.1.mode = good\nconfiguration.2.block_size = 128\n"
            "configuration.2.num_load = 4\nconfiguration.2.mode = good\n"
            "measured.1 = n=4900: 1 2 us\n"
            "measured.2 = n=5100: 2 1 us\n",
            world.hash);
    assert_int_equal(fclose(file), 0);
}

static void test_a_bundle_has_the_binaries_of_a_cover(void **state)
{
    append_cover();
    put_into_bundle("");
    assert_int_equal(setenv("AUTOTUNE_NVRTC", "/nowhere/libnvrtc.so", 1), 0);
    struct tuned_kernels *kernels = open_bundle();
    for (int number = 1; number <= 2; number++) {
        const int64_t n = number == 1 ? 4999 : 5000;
        struct tuned_value problem[] = {tuned_integer("n", n), tuned_real("factor", 1.5)};
        struct tuned_query query = {.kernel = "scale", .problem = problem, .problem_count = 2};
        struct tuned_kernel *kernel;
        struct tuned_error error;
        if (tuned_kernel_get(kernels, &query, &kernel, &error) != 0)
            fail_msg("%s", error.message);
        assert_int_equal(kernel->match.rule, TUNED_COVER);
        assert_int_equal(kernel->match.from->number, number);
        assert_int_equal(kernel->origin, TUNED_FROM_BUNDLE);
        assert_int_equal(kernel->launches[0].block[0], 64 * number);
        tuned_kernel_free(kernel);
    }
    tuned_kernels_close(kernels);
    assert_int_equal(unsetenv("AUTOTUNE_NVRTC"), 0);
}

static void test_a_damaged_or_foreign_binary_is_not_loaded(void **state)
{
    struct tuned_query query = {.kernel = "scale", .accept_other_versions = 1};
    struct tuned_kernel *kernel;
    struct tuned_error error;
    for (size_t i = 0; i < sizeof cubin_damages / sizeof *cubin_damages; i++) {
        make_bundle();
        put_into_bundle("");
        struct tuned_kernels *kernels = open_bundle();
        assert_int_equal(tuned_kernel_get(kernels, &query, &kernel, &error), 0);
        assert_int_equal(kernel->origin, TUNED_FROM_BUNDLE);
        tuned_kernel_free(kernel);
        tuned_kernels_close(kernels);
        assert_int_equal(system(cubin_damages[i]), 0);
        kernels = open_bundle();
        assert_int_equal(tuned_kernel_get(kernels, &query, &kernel, &error), 0);
        if (kernel->origin == TUNED_FROM_BUNDLE)
            fail_msg("loaded after %s", cubin_damages[i]);
        tuned_kernel_free(kernel);
        tuned_kernels_close(kernels);
    }
}

static void test_without_a_compiler_a_damaged_binary_is_a_clear_error(void **state)
{
    struct tuned_query query = {.kernel = "scale"};
    struct tuned_kernel *kernel;
    struct tuned_error error;
    put_into_bundle("");
    assert_int_equal(system(cubin_damages[0]), 0);
    assert_int_equal(setenv("AUTOTUNE_NVRTC", "/nowhere/libnvrtc.so", 1), 0);
    assert_int_equal(setenv("AUTOTUNE_CACHE", "empty", 1), 0);
    struct tuned_kernels *kernels = open_bundle();
    assert_int_equal(tuned_kernel_get(kernels, &query, &kernel, &error), TUNED_COMPILER);
    assert_non_null(strstr(error.message, "b/cubin/scale-00000001.cubin' is damaged"));
    assert_non_null(strstr(error.message, "/nowhere/libnvrtc.so"));
    assert_null(kernel);
    tuned_kernels_close(kernels);
    assert_int_equal(unsetenv("AUTOTUNE_NVRTC"), 0);
}

/* No reference can use what is scratch. */
#define EXPECT_CONSTANT                                                                            \
    "/^\\[expect/,/^compare/{s/^reference = .*/reference = constant(0)/;/^arguments/d};"

/* The input of `scale` made a scratch buffer with this fill: what the kernel makes of element 0, 1.5
 * times it. */
static float scaled_first(const char *fill)
{
    struct tuned_query query = {.kernel = "scale", .accept_other_versions = 1};
    struct tuned_kernel *kernel;
    struct tuned_error error;
    float first = -1;
    CUdeviceptr out;
    char *command = alloc_format("sed -i '" EXPECT_CONSTANT
                                 "/^\\[buffer.in\\]/,/^fill/{s/^access = .*/access = scratch/;"
                                 "s/^fill = .*/fill = %s/}' b/templates/scale.ini",
                                 fill);
    make_bundle();
    assert_int_equal(system(command), 0);
    free(command);
    struct tuned_kernels *kernels = open_bundle();
    int code = tuned_kernel_get(kernels, &query, &kernel, &error);
    if (code != 0)
        fail_msg("%s: %s", error.file, error.message);
    assert_int_equal(world.driver.cuMemAlloc(&out, kernel->buffers[1].bytes), 0);
    const struct tuned_buffer buffer = {"out", out};
    assert_int_equal(tuned_kernel_launch(kernel, &buffer, 1, NULL, 0, NULL, &error), 0);
    assert_int_equal(world.driver.cuMemcpyDtoH(&first, out, sizeof first), 0);
    (void)world.driver.cuMemFree(out);
    tuned_kernel_free(kernel);
    tuned_kernels_close(kernels);
    return first;
}

static void test_scratch_buffers_begin_with_any_fill(void **state)
{
    assert_true(scaled_first("constant(2)") == 3);
    assert_true(scaled_first("counting(4, 1)") == 6);
    assert_true(fabsf(scaled_first("uniform(-1, 1, 7)") - 1.5F * -0x1.1714036630d58p-3F) < 1e-6F);
    assert_true(scaled_first("integers(1, 1)") == 1.5F);
}

/* What the last cuLaunchKernelEx() asked for. */
static CUlaunchAttribute noted[8];
static unsigned noted_count;

static CUresult note_launch(const CUlaunchConfig *config, CUfunction function, void **arguments,
                            void **extra)
{
    noted_count = config->numAttrs;
    memcpy(noted, config->attrs, noted_count * sizeof *noted);
    return world.driver.cuLaunchKernelEx(config, function, arguments, extra);
}

static void test_launches_with_the_attributes_of_the_template(void **state)
{
    struct tuned_query query = {.kernel = "scale", .accept_other_versions = 1};
    struct tuned_kernel *kernel;
    struct tuned_error error;
    CUdeviceptr out;
    make_bundle();
    assert_int_equal(system("sed -i '" EXPECT_CONSTANT
                            "/^\\[buffer.in\\]/,/^fill/s/^access = .*/access = scratch/;"
                            "/^entry = scale_good/{n;a cluster = 2\\nshared_carveout = 50\\n"
                            "cluster_scheduling = spread\n}' b/templates/scale.ini"),
                     0);
    struct tuned_kernels *kernels = open_bundle();
    kernels->device.driver.cuLaunchKernelEx = note_launch;
    if (tuned_kernel_get(kernels, &query, &kernel, &error) != 0)
        fail_msg("%s:%d: %s", error.file, error.line, error.message);
    assert_int_equal(kernel->launches[0].cluster[0], 2);
    assert_int_equal(kernel->launches[0].cluster[1], 1);
    assert_int_equal(kernel->launches[0].programmatic, 0);
    assert_int_equal(kernel->launches[0].cluster_scheduling, CU_CLUSTER_SCHEDULING_POLICY_SPREAD);
    assert_int_equal(kernel->launches[0].shared_carveout, 50);
    assert_int_equal(world.driver.cuMemAlloc(&out, kernel->buffers[1].bytes), 0);
    const struct tuned_buffer buffer = {"out", out};
    assert_int_equal(tuned_kernel_launch(kernel, &buffer, 1, NULL, 0, NULL, &error), 0);
    assert_int_equal(noted_count, 3);
    assert_int_equal(noted[0].id, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
    assert_int_equal(noted[0].value.clusterDim.x, 2);
    assert_int_equal(noted[1].id, CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE);
    assert_int_equal(noted[2].id, 14); /* the preferred carve-out */
    assert_int_equal(noted[2].value.pad[0], 50);
    (void)world.driver.cuMemFree(out);
    tuned_kernel_free(kernel);
    tuned_kernels_close(kernels);
}

static void test_variables_of_the_source_are_the_callers_to_fill(void **state)
{
    struct tuned_query query = {.kernel = "scale", .accept_other_versions = 1};
    struct tuned_kernel *kernel;
    struct tuned_error error;
    make_bundle();
    assert_int_equal(system("printf '\\n[buffer.weights]\\nsymbol = weights\\ntype = float\\n"
                            "length = 3\\naccess = read\\nfill = constant(1)\\n' "
                            ">>b/templates/scale.ini && "
                            "echo '__device__ float weights[4];' >>b/templates/scale.cu"),
                     0);
    struct tuned_kernels *kernels = open_bundle();
    assert_int_equal(tuned_kernel_get(kernels, &query, &kernel, &error), TUNED_BAD_FILE);
    assert_non_null(strstr(error.message, "buffer 'weights': its length takes 12 bytes, but the "
                                          "variable 'weights' has 16"));
    tuned_kernels_close(kernels);
    assert_int_equal(system("sed -i 's/^length = 3/length = 4/' b/templates/scale.ini"), 0);
    kernels = open_bundle();
    if (tuned_kernel_get(kernels, &query, &kernel, &error) != 0)
        fail_msg("%s:%d: %s", error.file, error.line, error.message);
    const struct tuned_kernel_buffer *weights = tuned_kernel_buffer(kernel, "weights");
    const float values[4] = {1, 2, 3, 4};
    CUdeviceptr address;
    size_t bytes;
    assert_int_equal(world.driver.cuModuleGetGlobal(&address, &bytes, kernel->module, "weights"),
                     0);
    assert_int_equal(weights->address, address);
    assert_int_equal(world.driver.cuMemcpyHtoD(address, values, sizeof values), 0);
    CUdeviceptr memory;
    assert_int_equal(world.driver.cuMemAlloc(&memory, 2 * kernel->buffers[1].bytes), 0);
    const struct tuned_buffer buffers[] = {
        {"in", memory}, {"out", memory + kernel->buffers[1].bytes}, {"weights", memory}};
    assert_int_equal(tuned_kernel_launch(kernel, buffers, 2, NULL, 0, NULL, &error), 0);
    assert_int_equal(tuned_kernel_launch(kernel, buffers, 3, NULL, 0, NULL, &error), TUNED_INVALID);
    assert_string_equal(error.message, "'weights' is not a buffer that the caller provides");
    (void)world.driver.cuMemFree(memory);
    tuned_kernel_free(kernel);
    tuned_kernels_close(kernels);
}

/* The template `name` of the stand-in takes the place of `scale`, without the parameter `mode`. */
static void replace_template(const char *name)
{
    char *command =
        alloc_format("for suffix in cu ini; do cp '%s'/tests/standin/templates/%s.$suffix "
                     "b/templates/scale.$suffix; done; sed -i '/^parameter.mode/d' b/tuned.ini",
                     getenv("SOURCE_DIR"), name);
    make_bundle();
    assert_int_equal(system(command), 0);
    free(command);
}

static void test_tensor_maps_are_over_the_callers_buffers(void **state)
{
    struct tuned_query query = {.kernel = "scale", .accept_other_versions = 1};
    struct tuned_kernel *kernel;
    struct tuned_error error;
    float values[104 * 70];
    float results[128 * 96];
    replace_template("tensor");
    struct tuned_kernels *kernels = open_bundle();
    if (tuned_kernel_get(kernels, &query, &kernel, &error) != 0)
        fail_msg("%s:%d: %s", error.file, error.line, error.message);
    for (int i = 0; i < 104 * 70; i++)
        values[i] = (float)i;
    CUdeviceptr in[2];
    CUdeviceptr out;
    assert_int_equal(world.driver.cuMemAlloc(&out, sizeof results), 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(world.driver.cuMemAlloc(&in[i], sizeof values), 0);
        values[0] = (float)(1000 + i);
        assert_int_equal(world.driver.cuMemcpyHtoD(in[i], values, sizeof values), 0);
        const struct tuned_buffer buffers[] = {{"in", in[i]}, {"out", out}};
        if (tuned_kernel_launch(kernel, buffers, 2, NULL, 0, NULL, &error) != 0)
            fail_msg("%s", error.message);
        assert_int_equal(world.driver.cuMemcpyDtoH(results, out, sizeof results), 0);
        assert_float_equal(results[0], values[0], 0);
        assert_float_equal(results[128 * 69 + 99], 104 * 69 + 99, 0);
        assert_float_equal(results[128 * 69 + 100], 0, 0);
    }
    const struct tuned_buffer odd[] = {{"in", in[0] + 4}, {"out", out}};
    assert_int_equal(tuned_kernel_launch(kernel, odd, 2, NULL, 0, NULL, &error), TUNED_CUDA);
    assert_non_null(strstr(error.message, "is its address a multiple of 16?"));
    for (int i = 0; i < 2; i++)
        (void)world.driver.cuMemFree(in[i]);
    (void)world.driver.cuMemFree(out);
    tuned_kernel_free(kernel);
    tuned_kernels_close(kernels);
}

static void test_an_array_of_pointers_is_refused(void **state)
{
    struct tuned_query query = {.kernel = "scale", .accept_other_versions = 1};
    struct tuned_kernel *kernel;
    struct tuned_error error;
    replace_template("gather");
    struct tuned_kernels *kernels = open_bundle();
    assert_int_equal(tuned_kernel_get(kernels, &query, &kernel, &error), TUNED_BAD_FILE);
    assert_non_null(strstr(error.message, "has an array of pointers, which libtuned_kernel does"));
    tuned_kernels_close(kernels);
}

static void test_a_texture_is_refused(void **state)
{
    struct tuned_query query = {.kernel = "scale", .accept_other_versions = 1};
    struct tuned_kernel *kernel;
    struct tuned_error error;
    make_bundle();
    assert_int_equal(
        system("sed -i 's/= in, out, float/= texture(in), out, float/' b/templates/scale.ini"), 0);
    struct tuned_kernels *kernels = open_bundle();
    assert_int_equal(tuned_kernel_get(kernels, &query, &kernel, &error), TUNED_BAD_FILE);
    assert_non_null(strstr(error.message, "has a texture, which libtuned_kernel does not make"));
    tuned_kernels_close(kernels);
}

/* The nearest tuned size may have a configuration that is not valid at the size asked for. */
static void test_a_configuration_that_a_constraint_rules_out_is_refused(void **state)
{
    struct tuned_value problem[] = {tuned_integer("n", 1000), tuned_real("factor", 2)};
    struct tuned_query query = {
        .kernel = "scale", .problem = problem, .problem_count = 2, .accept_other_versions = 1};
    const struct tuned_value factor = tuned_real("factor", 3);
    struct tuned_kernel *kernel;
    struct tuned_error error;
    make_bundle();
    assert_int_equal(system("sed -i -e '0,/^constraint/s//constraint = n % (4 * num_load) == 0\\n"
                            "constraint = factor == 2 or num_load < 0\\n&/' "
                            "b/templates/scale.ini"),
                     0);
    struct tuned_kernels *kernels = open_bundle();
    assert_int_equal(tuned_kernel_get(kernels, &query, &kernel, &error), 0);
    assert_int_equal(tuned_kernel_launch(kernel, NULL, 0, &factor, 1, NULL, &error), TUNED_INVALID);
    tuned_kernel_free(kernel);
    problem[0] = tuned_integer("n", 1001);
    assert_int_equal(tuned_kernel_get(kernels, &query, &kernel, &error), TUNED_INVALID);
    assert_null(kernel);
    assert_non_null(strstr(error.message, "n % (4 * num_load) == 0"));
    tuned_kernels_close(kernels);
}

static void test_refuses_other_versions(void **state)
{
    struct tuned_value problem[] = {tuned_integer("n", 1000), tuned_real("factor", 1.5)};
    struct tuned_query query = {
        .kernel = "scale", .problem = problem, .problem_count = 2, .limit = TUNED_SAME_FAMILY};
    struct tuned_kernel *kernel;
    struct tuned_error error;
    write_tuned("fedcba9876543210fedcba9876543210");
    struct tuned_kernels *kernels = open_bundle();
    assert_int_equal(tuned_kernel_get(kernels, &query, &kernel, &error), TUNED_NOT_FOUND);
    assert_non_null(strstr(error.message, "1 is of another version of the template"));
    assert_null(kernel);
    struct CUmod_st *module;
    assert_int_equal(system("echo '#include \"scale.cu\"' >own.cu"), 0);
    assert_int_equal(tuned_module_get(kernels, &query, "own.cu", &module, NULL, NULL, &error),
                     TUNED_NOT_FOUND);
    assert_null(module);
    tuned_kernels_close(kernels);
}

static void test_arguments_are_the_kernels(void **state)
{
    struct tuned_query query = {.kernel = "scale"};
    struct tuned_kernel *kernel;
    struct tuned_error error;
    make_bundle();
    assert_int_equal(system("sed -i 's/in, out, float factor, uint64 n/in, out, float factor/' "
                            "b/templates/scale.ini"),
                     0);
    struct tuned_kernels *kernels = open_bundle();
    assert_int_not_equal(tuned_kernel_get(kernels, &query, &kernel, &error), 0);
    assert_non_null(strstr(error.message,
                           "kernel 'scale_good' has 4 parameters: const float *in, float *out, "
                           "float factor, u64 n; 'arguments' gives 3: in, out, float factor"));
    assert_null(kernel);
    tuned_kernels_close(kernels);
}

static void test_bad_files_are_errors(void **state)
{
    static const char *const damages[] = {
        "echo '[kernel' >b/templates/scale.ini",
        "rm b/templates/scale.cu",
        "sed -i 's/^block = block_size/block = block_siz/' b/templates/scale.ini",
    };
    struct tuned_kernels *kernels;
    struct tuned_kernel *kernel;
    struct tuned_error error;
    struct tuned_query query = {.kernel = "scale"};
    assert_int_equal(tuned_kernels_open(&kernels, "nowhere", NULL, &error), TUNED_BAD_FILE);
    assert_int_equal(tuned_kernels_open(&kernels, "b/tuned.ini", NULL, &error), TUNED_INVALID);
    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
        make_bundle();
        kernels = open_bundle();
        assert_int_equal(system(damages[i]), 0);
        assert_int_equal(tuned_kernel_get(kernels, &query, &kernel, &error), TUNED_BAD_FILE);
        assert_true(strlen(error.message) > 0);
        assert_null(kernel);
        tuned_kernels_close(kernels);
    }
    make_bundle();
    kernels = open_bundle();
    query.kernel = "../scale";
    assert_int_equal(tuned_kernel_get(kernels, &query, &kernel, &error), TUNED_INVALID);
    query.kernel = "nothing";
    assert_int_equal(tuned_kernel_get(kernels, &query, &kernel, &error), TUNED_BAD_FILE);
    tuned_kernels_close(kernels);
}

/* The kernel of a bundle whose tuned INI says that it was tuned with that NVRTC; false if it has to be compiled and
 * there is no compiler. */
static bool get_tuned_with(const char *nvrtc, enum tuned_origin *origin)
{
    char *command = alloc_format("sed -i 's/^nvrtc = .*/nvrtc = %s/' b/tuned.ini", nvrtc);
    assert_int_equal(system(command), 0);
    free(command);
    struct tuned_kernels *kernels = open_bundle();
    struct tuned_kernel *kernel = get(kernels, 1000);
    bool found = kernel != NULL;
    if (found)
        *origin = kernel->origin;
    tuned_kernel_free(kernel);
    tuned_kernels_close(kernels);
    return found;
}

static void test_a_cached_binary_is_of_the_same_tuning(void **state)
{
    enum tuned_origin origin;
    struct nvrtc *nvrtc;
    assert_int_equal(nvrtc_open(&nvrtc, NULL, NULL), 0);
    char *here = alloc_string(nvrtc_build(nvrtc));
    nvrtc_close(nvrtc);
    assert_true(get_tuned_with("12.0", &origin));
    assert_int_equal(origin, TUNED_FROM_COMPILER);
    assert_int_equal(setenv("AUTOTUNE_NVRTC", "/nowhere/libnvrtc.so", 1), 0);
    assert_true(get_tuned_with("12.0", &origin)); /* whichever NVRTC compiled it */
    assert_int_equal(origin, TUNED_FROM_CACHE);
    assert_true(get_tuned_with(here, &origin)); /* the very binary that is tuned with this NVRTC */
    assert_int_equal(origin, TUNED_FROM_CACHE);
    assert_false(get_tuned_with("99.0", &origin)); /* a later tuning */
    assert_int_equal(unsetenv("AUTOTUNE_NVRTC"), 0);
    free(here);
}

static void test_a_header_that_has_changed_is_not_mixed_with_an_older_source(void **state)
{
    assert_int_equal(system("echo '#include \"new.h\"' >>b/templates/scale.cu && "
                            "echo '// first' >b/templates/new.h"),
                     0);
    struct template template;
    assert_int_equal(template_load(&template, "b/templates/scale.ini", NULL), 0);
    write_tuned(template.hash);
    template_release(&template);
    struct tuned_kernels *kernels = open_bundle();
    struct tuned_kernel *kernel = get(kernels, 1000);
    assert_non_null(kernel);
    tuned_kernel_free(kernel);
    assert_int_equal(system("rm -r cache && echo '// second' >b/templates/new.h"), 0);
    assert_null(get(kernels, 1000));
    assert_int_not_equal(system("find cache/cubin -type f 2>/dev/null | grep -q ."), 0);
    tuned_kernels_close(kernels);
    kernels = open_bundle(); /* reads it again */
    kernel = get(kernels, 1000);
    assert_non_null(kernel);
    tuned_kernel_free(kernel);
    tuned_kernels_close(kernels);
}

static void test_a_source_of_the_application(void **state)
{
    struct tuned_kernels *kernels = open_bundle();
    struct tuned_query query = {.kernel = "scale"};
    struct tuned_match match;
    struct tuned_error error;
    enum tuned_origin origin;
    struct CUmod_st *module;
    FILE *file = fopen("own.cu", "w");
    assert_non_null(file);
    fputs("#if BLOCK_SIZE != 64\n#error not tuned\n#endif\n#include \"scale.cu\"\n", file);
    assert_int_equal(fclose(file), 0);
    int code = tuned_module_get(kernels, &query, "own.cu", &module, &match, &origin, &error);
    if (code != 0)
        fail_msg("%s", error.message);
    assert_int_equal(origin, TUNED_FROM_COMPILER);
    assert_int_equal(match.rule, TUNED_NEAREST_SIZE);
    (void)world.driver.cuModuleUnload(module);
    assert_int_equal(tuned_module_get(kernels, &query, "none.cu", &module, NULL, NULL, &error),
                     TUNED_BAD_FILE);
    tuned_kernels_close(kernels);
}

static void test_a_source_needs_no_compiler_where_the_bundle_has_it(void **state)
{
    const char *program = getenv("AUTOTUNE");
    struct tuned_query query = {.kernel = "scale"};
    struct tuned_error error;
    enum tuned_origin origin;
    struct CUmod_st *module;
    assert_non_null(program);
    assert_int_equal(system("echo '#include \"scale.cu\"' >own.cu && mv b made"), 0);
    char *command = alloc_format("'%s' bundle --tuned made/tuned.ini --templates made/templates "
                                 "--output b --source own.cu=scale >/dev/null",
                                 program);
    assert_int_equal(system(command), 0);
    free(command);
    assert_int_equal(setenv("AUTOTUNE_NVRTC", "/nowhere/libnvrtc.so", 1), 0);
    assert_int_equal(setenv("AUTOTUNE_CACHE", "empty", 1), 0);
    struct tuned_kernels *kernels = open_bundle();
    assert_int_equal(tuned_module_get(kernels, &query, "own.cu", &module, NULL, &origin, &error),
                     0);
    assert_int_equal(origin, TUNED_FROM_BUNDLE);
    (void)world.driver.cuModuleUnload(module);
    assert_int_equal(system("set -- b/cubin/scale-00000001-*.cubin && cp \"$1\" whole && "
                            "truncate -s -1 \"$1\""),
                     0);
    assert_int_equal(tuned_module_get(kernels, &query, "own.cu", &module, NULL, &origin, &error),
                     TUNED_COMPILER);
    assert_non_null(strstr(error.message, "is damaged"));
    assert_int_equal(system("set -- b/cubin/scale-00000001-*.cubin && cp whole \"$1\""), 0);
    /* the binary is not of this source any more */
    assert_int_equal(system("echo '#define NEWER 1' >>own.cu"), 0);
    assert_int_equal(tuned_module_get(kernels, &query, "own.cu", &module, NULL, &origin, &error),
                     TUNED_COMPILER);
    assert_null(module);
    tuned_kernels_close(kernels);
    assert_int_equal(unsetenv("AUTOTUNE_NVRTC"), 0);
}

static void test_no_context(void **state)
{
    struct tuned_kernels *kernels;
    struct tuned_error error;
    assert_int_equal(world.driver.cuCtxSetCurrent(NULL), 0);
    assert_int_equal(tuned_kernels_open(&kernels, "b", NULL, &error), TUNED_NO_GPU);
    assert_null(kernels);
}

static void test_describes_the_current_gpu(void **state)
{
    struct tuned_kernels *kernels = open_bundle();
    const struct tuned_gpu *gpu = tuned_kernels_gpu(kernels);
    assert_string_equal(gpu->name, "Stand-in H200");
    assert_int_equal(gpu->compute_capability, 90);
    assert_int_equal(gpu->sm_count, 132);
    assert_int_equal(gpu->l2_bytes, 62914560);
    assert_true(gpu->memory_gb_per_s > 1000);
    assert_int_equal(tuned_count(tuned_kernels_table(kernels)), 1);
    tuned_kernels_close(kernels);
}

struct asker {
    pthread_t thread;
    struct tuned_kernels *kernels;
    int64_t n;
    struct tuned_kernel *kernel;
    int code;
};

/* The stand-in has one current context for all threads; it is called by one at a time, since a
 * kernel is got under a lock. */
static void *ask_for_kernel(void *user)
{
    struct asker *asker = user;
    struct tuned_value problem[] = {tuned_integer("n", asker->n), tuned_real("factor", 2.5)};
    struct tuned_query query = {.kernel = "scale", .problem = problem, .problem_count = 2};
    asker->code = tuned_kernel_get(asker->kernels, &query, &asker->kernel, NULL);
    return NULL;
}

static void test_threads_ask_at_once(void **state)
{
    struct asker askers[4] = {{0}};
    struct tuned_kernels *kernels = open_bundle();
    struct tuned_kernel *kernel = get(kernels, 1000);
    assert_non_null(kernel);
    for (size_t i = 0; i < 4; i++) {
        askers[i].kernels = kernels;
        askers[i].n = 500 + 500 * (int64_t)i;
        assert_int_equal(pthread_create(&askers[i].thread, NULL, ask_for_kernel, &askers[i]), 0);
    }
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(pthread_join(askers[i].thread, NULL), 0);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(askers[i].code, 0);
        assert_int_equal(askers[i].kernel->launches[0].grid[0], (askers[i].n + 127) / 128);
        tuned_kernel_free(askers[i].kernel);
    }
    tuned_kernel_free(kernel);
    tuned_kernels_close(kernels);
}

#define WORLD_TEST(function) cmocka_unit_test_setup_teardown(function, enter, leave)

/* test_libtuned_kernel [PATTERN]: only the tests whose names match. */
int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(test_runs_what_was_tuned),
        WORLD_TEST(test_scalars_are_given_at_a_launch),
        WORLD_TEST(test_scalars_that_are_none_launch_nothing),
        WORLD_TEST(test_compiles_once_then_takes_the_cache_then_the_bundle),
        WORLD_TEST(test_a_kernel_with_a_cpp_name_is_found_in_the_bundle),
        WORLD_TEST(test_a_bundle_has_the_binaries_of_a_cover),
        WORLD_TEST(test_a_damaged_or_foreign_binary_is_not_loaded),
        WORLD_TEST(test_without_a_compiler_a_damaged_binary_is_a_clear_error),
        WORLD_TEST(test_scratch_buffers_begin_with_any_fill),
        WORLD_TEST(test_launches_with_the_attributes_of_the_template),
        WORLD_TEST(test_tensor_maps_are_over_the_callers_buffers),
        WORLD_TEST(test_an_array_of_pointers_is_refused),
        WORLD_TEST(test_a_texture_is_refused),
        WORLD_TEST(test_variables_of_the_source_are_the_callers_to_fill),
        WORLD_TEST(test_a_configuration_that_a_constraint_rules_out_is_refused),
        WORLD_TEST(test_refuses_other_versions),
        WORLD_TEST(test_arguments_are_the_kernels),
        WORLD_TEST(test_bad_files_are_errors),
        WORLD_TEST(test_a_cached_binary_is_of_the_same_tuning),
        WORLD_TEST(test_a_header_that_has_changed_is_not_mixed_with_an_older_source),
        WORLD_TEST(test_a_source_of_the_application),
        WORLD_TEST(test_a_source_needs_no_compiler_where_the_bundle_has_it),
        WORLD_TEST(test_threads_ask_at_once),
        WORLD_TEST(test_no_context),
        WORLD_TEST(test_describes_the_current_gpu),
    };
    const char *build = getenv("BUILD_DIR");
    if (build == NULL) {
        fputs("BUILD_DIR is not set; ctest does\n", stderr);
        return 77;
    }
    /* loaded by path, found by its soname from now on, in place of a real driver */
    char *path = alloc_format("%s/tests/standin/libcuda.so.1", build);
    if (dlopen(path, RTLD_NOW | RTLD_GLOBAL) == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    free(path);
    (void)setenv("AUTOTUNE_STANDIN", "noise=0.002", 1);
    cmocka_set_test_filter(argc > 1 ? argv[1] : NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
