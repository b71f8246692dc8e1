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
#include <stdarg.h>

/* A driver with a context, a bundle in the current folder, and the kernel of it that was got last. */
static struct world {
    struct driver driver;
    CUcontext context;
    char hash[HASH_BYTES];
    struct tuned_kernels *kernels;
    struct tuned_kernel *kernel;
    struct tuned_error error;
} world;

__attribute__((format(printf, 1, 2))) static void shell(const char *format, ...)
{
    char *command = NULL;
    va_list arguments;
    va_start(arguments, format);
    assert_true(vasprintf(&command, format, arguments) >= 0);
    va_end(arguments);
    if (system(command) != 0)
        fail_msg("%s", command);
    free(command);
}

#define SED "sed -i "
#define IN_TEMPLATE " b/templates/scale.ini"

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

/* What has changed in the template is what was tuned. */
static void tune_anew(void)
{
    struct template template;
    struct error error;
    assert_int_equal(template_load(&template, "b/templates/scale.ini", &error), 0);
    memcpy(world.hash, template.hash, sizeof world.hash);
    template_release(&template);
    write_tuned(world.hash);
}

static void make_bundle(void)
{
    shell("mkdir -p b/cubin b/templates && cp '%s'/tests/standin/templates/scale.* b/templates",
          getenv("SOURCE_DIR"));
    tune_anew();
}

static void free_kernel(void)
{
    tuned_kernel_free(world.kernel);
    world.kernel = NULL;
}

static void close_bundle(void)
{
    free_kernel();
    tuned_kernels_close(world.kernels);
    world.kernels = NULL;
}

static void open_bundle(void)
{
    close_bundle();
    if (tuned_kernels_open(&world.kernels, "b", NULL, &world.error) != 0)
        fail_msg("%s", world.error.message);
}

static void hide_compiler(void)
{
    assert_int_equal(setenv("AUTOTUNE_NVRTC", "/nowhere/libnvrtc.so", 1), 0);
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
    close_bundle();
    (void)unsetenv("AUTOTUNE_NVRTC");
    (void)world.driver.cuCtxSetCurrent(NULL);
    (void)world.driver.cuDevicePrimaryCtxRelease(0);
    driver_close(&world.driver);
    return scratch_leave(state);
}

/* Asks for the kernel of `n` elements, also of another version; the code. */
static int ask(int64_t n)
{
    const struct tuned_value problem[] = {tuned_integer("n", n), tuned_real("factor", 2.5)};
    const struct tuned_query query = {
        .kernel = "scale", .problem = problem, .problem_count = 2, .accept_other_versions = 1};
    free_kernel();
    int code = tuned_kernel_get(world.kernels, &query, &world.kernel, &world.error);
    assert_true((code == 0) == (world.kernel != NULL));
    return code;
}

static struct tuned_kernel *get(int64_t n)
{
    if (ask(n) != 0)
        fail_msg("%s:%d: %s", world.error.file, world.error.line, world.error.message);
    return world.kernel;
}

static void assert_origin(int64_t n, enum tuned_origin origin)
{
    assert_int_equal(get(n)->origin, origin);
}

static int run_kernel(const struct tuned_buffer *buffers, size_t count)
{
    int code = tuned_kernel_launch(world.kernel, buffers, count, NULL, 0, NULL, &world.error);
    return code != 0 ? code : (int)world.driver.cuStreamSynchronize(NULL);
}

static CUdeviceptr allocate(size_t bytes)
{
    CUdeviceptr memory;
    assert_int_equal(world.driver.cuMemAlloc(&memory, bytes), 0);
    return memory;
}

static void test_runs_what_was_tuned(void **state)
{
    enum { N = 777 };
    float host[N];
    open_bundle();
    struct tuned_kernel *kernel = get(N);
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
    CUdeviceptr memory = allocate(2 * sizeof host);
    assert_int_equal(world.driver.cuMemcpyHtoD(memory, host, sizeof host), 0);
    const struct tuned_buffer buffers[] = {{"in", memory}, {"out", memory + sizeof host}};
    assert_int_equal(run_kernel(buffers, 1), TUNED_INVALID);
    assert_string_equal(world.error.message, "buffer 'out' is missing");
    assert_int_equal(run_kernel(buffers, 2), 0);
    assert_int_equal(world.driver.cuMemcpyDtoH(host, memory + sizeof host, sizeof host), 0);
    for (int i = 0; i < N; i++)
        assert_true(fabsf(host[i] - 2.5f * (float)i) <= 0);
    (void)world.driver.cuMemFree(memory);
}

/* The last element that a run with these scalars writes, of an input of 1, 2, …; the rest are 0. */
static float last_written(const struct tuned_value *scalars, size_t count, size_t *written)
{
    enum { N = 100 };
    float host[N] = {0};
    CUdeviceptr memory = allocate(2 * sizeof host);
    assert_int_equal(world.driver.cuMemcpyHtoD(memory + sizeof host, host, sizeof host), 0);
    for (int i = 0; i < N; i++)
        host[i] = (float)(i + 1);
    assert_int_equal(world.driver.cuMemcpyHtoD(memory, host, sizeof host), 0);
    const struct tuned_buffer buffers[] = {{"in", memory}, {"out", memory + sizeof host}};
    if (tuned_kernel_launch(world.kernel, buffers, 2, scalars, count, NULL, &world.error) != 0)
        fail_msg("%s", world.error.message);
    assert_int_equal(world.driver.cuStreamSynchronize(NULL), 0);
    assert_int_equal(world.driver.cuMemcpyDtoH(host, memory + sizeof host, sizeof host), 0);
    (void)world.driver.cuMemFree(memory);
    *written = N;
    while (*written > 0 && !(fabsf(host[*written - 1]) > 0))
        --*written;
    return *written > 0 ? host[*written - 1] : 0;
}

static void test_scalars_are_given_at_a_launch(void **state)
{
    size_t written;
    shell(SED "-e 's/^factor = 1.5/factor = 1.5\\nless = 0/' -e 's/uint64 n$/uint64 n - "
              "less/'" IN_TEMPLATE);
    open_bundle();
    struct tuned_kernel *kernel = get(100);
    assert_int_equal(kernel->scalar_count, 2);
    assert_string_equal(kernel->scalars[0].name, "factor");
    assert_true(fabs(kernel->scalars[0].real - 2.5) <= 0); /* the query's */
    assert_string_equal(kernel->scalars[1].name, "less");
    assert_int_equal(kernel->scalars[1].integer, 0); /* the template's */
    assert_true(fabsf(last_written(NULL, 0, &written) - 250) <= 0);
    struct tuned_value scalars[] = {tuned_integer("less", 10), tuned_real("factor", -0.5)};
    assert_true(fabsf(last_written(scalars, 2, &written) + 45) <= 0);
    assert_int_equal(written, 90);
    scalars[1] = tuned_integer("factor", 3); /* a whole number is a real one, too */
    assert_true(fabsf(last_written(&scalars[1], 1, &written) - 300) <= 0);
    assert_int_equal(written, 100); /* what is left out is as it was */
}

static void test_scalars_that_are_none_launch_nothing(void **state)
{
    shell(SED
          "-e 's/^factor = 1.5/factor = 1.5\\nless = 0\\nsort = aa | bb\\nedge = 1\\nlimit = 1/' "
          "-e '0,/^constraint/s//constraint = limit < 2 or num_load < 2\\n&/' "
          "-e 's/uint64 n$/uint64 n - less/' -e '$a [buffer.pad]\\ntype = float\\nlength = 9\\n"
          "access = scratch\\nfill = border(edge, constant(1))'" IN_TEMPLATE);
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
         "another kernel for it"},
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
    open_bundle();
    struct tuned_kernel *kernel = get(100);
    const struct tuned_buffer buffers[] = {{"in", 1}, {"out", 1}}; /* a launch would fault */
    const struct tuned_value twice[] = {tuned_real("factor", 1), tuned_real("factor", 2)};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(
            tuned_kernel_launch(kernel, buffers, 2, &cases[i].scalar, 1, NULL, &world.error),
            TUNED_INVALID);
        if (strncmp(world.error.message, cases[i].message, strlen(cases[i].message)) != 0)
            fail_msg("'%s' instead of '%s'", world.error.message, cases[i].message);
    }
    assert_int_equal(tuned_kernel_launch(kernel, buffers, 2, twice, 2, NULL, &world.error),
                     TUNED_INVALID);
    assert_string_equal(world.error.message, "scalar 'factor' is given twice");
}

/* Only the plan knew the grid of an earlier iteration. */
static void test_scalars_of_a_loop_are_not_computed_again(void **state)
{
    const struct tuned_value less = tuned_integer("less", 10);
    const struct tuned_buffer buffers[] = {{"in", 1}, {"out", 1}}; /* a launch would fault */
    shell(SED "-e 's/^factor = 1.5/factor = 1.5\\nless = 0/' "
              "-e '/^\\[launch.good\\]/,/^arguments/s/uint64 n$/uint64 n - less * none_grid/' "
              "-e '0,/^\\[launch.good\\]/s//[launch.none]\\nentry = scale_good\\nwhen = no\\n"
              "grid = 1\\nblock = 1\\narguments = in, out, float factor, uint64 n\\n&/' "
              "-e '$a [loop.pass]\\nlaunches = none, good\\nfrom = 0\\nwhile = pass < 1\\n"
              "next = pass + 1'" IN_TEMPLATE);
    open_bundle();
    assert_int_equal(tuned_kernel_launch(get(100), buffers, 2, &less, 1, NULL, &world.error),
                     TUNED_INVALID);
    assert_non_null(strstr(world.error.message, "computed from it and the problem alone"));
}

/* Puts the binaries into the bundle. */
static void put_into_bundle(void)
{
    shell("env -u AUTOTUNE_NVRTC \"$AUTOTUNE\" bundle --tuned b/tuned.ini --templates b/templates "
          "--output made >/dev/null && cp -r made/cubin b && rm -r made");
}

static void test_compiles_once_then_takes_the_cache_then_the_bundle(void **state)
{
    open_bundle();
    assert_origin(1000, TUNED_FROM_COMPILER);
    hide_compiler();
    open_bundle();
    assert_origin(1000, TUNED_FROM_CACHE);
    put_into_bundle();
    assert_origin(1000, TUNED_FROM_BUNDLE);
    shell("rm -r cache");
    assert_origin(5, TUNED_FROM_BUNDLE);
    shell("echo broken >b/cubin/scale-00000001.cubin");
    assert_int_equal(ask(1000), TUNED_COMPILER); /* it would have to be compiled */
}

/* As scale_good(), in a namespace and with a template's argument that tuning chooses. */
static void test_a_kernel_with_a_cpp_name_is_found_in_the_bundle(void **state)
{
    shell("cat >>b/templates/scale.cu <<'END'\n"
          "namespace ns {\n"
          "template <int LOAD> __global__ void scale_good(const float *in, float *out,\n"
          "                                               float factor, u64 n)\n"
          "{\n"
          "    for (u64 i = FIRST; i < n; i += STEP)\n"
          "        out[i] = LOAD > 0 ? factor * in[i] : 0;\n"
          "}\n"
          "} // namespace ns\n"
          "END\n" SED "'s/entry = scale_good/entry = ns::scale_good<NUM_LOAD>/'" IN_TEMPLATE);
    tune_anew();
    put_into_bundle();
    hide_compiler();
    open_bundle();
    assert_origin(1000, TUNED_FROM_BUNDLE);
    assert_string_equal(world.kernel->launches[0].entry, "ns::scale_good<NUM_LOAD>");
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
    "--output other >/dev/null && cp other/cubin/* b/cubin && "
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
            "problem.factor = 2.5\nrange.n = 1 .. 100000\n"
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
    put_into_bundle();
    hide_compiler();
    open_bundle();
    for (int number = 1; number <= 2; number++) {
        assert_origin(number == 1 ? 4999 : 5000, TUNED_FROM_BUNDLE);
        assert_int_equal(world.kernel->match.rule, TUNED_COVER);
        assert_int_equal(world.kernel->match.from->number, number);
        assert_int_equal(world.kernel->launches[0].block[0], 64 * number);
    }
}

static void test_a_damaged_or_foreign_binary_is_not_loaded(void **state)
{
    for (size_t i = 0; i < sizeof cubin_damages / sizeof *cubin_damages; i++) {
        make_bundle();
        put_into_bundle();
        open_bundle();
        assert_origin(1000, TUNED_FROM_BUNDLE);
        shell("%s", cubin_damages[i]);
        open_bundle();
        if (get(1000)->origin == TUNED_FROM_BUNDLE)
            fail_msg("loaded after %s", cubin_damages[i]);
    }
}

static void test_without_a_compiler_a_damaged_binary_is_a_clear_error(void **state)
{
    put_into_bundle();
    shell("%s", cubin_damages[0]);
    hide_compiler();
    assert_int_equal(setenv("AUTOTUNE_CACHE", "empty", 1), 0);
    open_bundle();
    assert_int_equal(ask(1000), TUNED_COMPILER);
    assert_non_null(strstr(world.error.message, "b/cubin/scale-00000001.cubin' is damaged"));
    assert_non_null(strstr(world.error.message, "/nowhere/libnvrtc.so"));
}

/* No reference can use what is scratch. */
#define EXPECT_CONSTANT                                                                            \
    "/^\\[expect/,/^compare/{s/^reference = .*/reference = constant(0)/;/^arguments/d};"

/* The input of `scale` made a scratch buffer with this fill: what the kernel makes of element 0, 2.5 times it. */
static float scaled_first(const char *fill)
{
    float first = -1;
    make_bundle();
    shell(SED "'" EXPECT_CONSTANT "/^\\[buffer.in\\]/,/^fill/{s/^access = .*/access = scratch/;"
              "s/^fill = .*/fill = %s/}'" IN_TEMPLATE,
          fill);
    open_bundle();
    const struct tuned_buffer buffer = {"out", allocate(get(1000)->buffers[1].bytes)};
    assert_int_equal(run_kernel(&buffer, 1), 0);
    assert_int_equal(world.driver.cuMemcpyDtoH(&first, buffer.address, sizeof first), 0);
    (void)world.driver.cuMemFree(buffer.address);
    return first;
}

static void test_scratch_buffers_begin_with_any_fill(void **state)
{
    assert_true(scaled_first("constant(2)") == 5);
    assert_true(scaled_first("counting(4, 1)") == 10);
    assert_true(fabsf(scaled_first("uniform(-1, 1, 7)") - 2.5F * -0x1.1714036630d58p-3F) < 1e-6F);
    assert_true(scaled_first("integers(1, 1)") == 2.5F);
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
    shell(SED "'" EXPECT_CONSTANT "/^\\[buffer.in\\]/,/^fill/s/^access = .*/access = scratch/;"
              "/^entry = scale_good/{n;a cluster = 2\\nshared_carveout = 50\\n"
              "cluster_scheduling = spread\n}'" IN_TEMPLATE);
    open_bundle();
    world.kernels->device.driver.cuLaunchKernelEx = note_launch;
    const struct tuned_launch *first = &get(1000)->launches[0];
    assert_int_equal(first->cluster[0], 2);
    assert_int_equal(first->cluster[1], 1);
    assert_int_equal(first->programmatic, 0);
    assert_int_equal(first->cluster_scheduling, CU_CLUSTER_SCHEDULING_POLICY_SPREAD);
    assert_int_equal(first->shared_carveout, 50);
    const struct tuned_buffer buffer = {"out", allocate(world.kernel->buffers[1].bytes)};
    assert_int_equal(run_kernel(&buffer, 1), 0);
    assert_int_equal(noted_count, 3);
    assert_int_equal(noted[0].id, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
    assert_int_equal(noted[0].value.clusterDim.x, 2);
    assert_int_equal(noted[1].id, CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE);
    assert_int_equal(noted[2].id, 14); /* the preferred carve-out */
    assert_int_equal(noted[2].value.pad[0], 50);
    (void)world.driver.cuMemFree(buffer.address);
}

static void test_variables_of_the_source_are_the_callers_to_fill(void **state)
{
    const float values[4] = {1, 2, 3, 4};
    CUdeviceptr address;
    size_t bytes;
    shell("printf '\\n[buffer.weights]\\nsymbol = weights\\ntype = float\\nlength = 4\\n"
          "access = read\\nfill = constant(1)\\n' >>b/templates/scale.ini && "
          "echo '__device__ float weights[4];' >>b/templates/scale.cu");
    open_bundle();
    struct tuned_kernel *kernel = get(1000);
    assert_int_equal(world.driver.cuModuleGetGlobal(&address, &bytes, kernel->module, "weights"),
                     0);
    assert_int_equal(tuned_kernel_buffer(kernel, "weights")->address, address);
    assert_int_equal(world.driver.cuMemcpyHtoD(address, values, sizeof values), 0);
    CUdeviceptr memory = allocate(2 * kernel->buffers[1].bytes);
    const struct tuned_buffer buffers[] = {
        {"in", memory}, {"out", memory + kernel->buffers[1].bytes}, {"weights", memory}};
    assert_int_equal(run_kernel(buffers, 2), 0);
    assert_int_equal(run_kernel(buffers, 3), TUNED_INVALID);
    assert_string_equal(world.error.message, "'weights' is not a buffer that the caller provides");
    (void)world.driver.cuMemFree(memory);
}

/* The template NAME of the stand-in takes the place of `scale`, without the parameter `mode`. */
#define TAKE_TEMPLATE(name)                                                                        \
    "for suffix in cu ini; do cp \"$SOURCE_DIR\"/tests/standin/templates/" name                    \
    ".$suffix b/templates/scale.$suffix; done; sed -i '/^parameter.mode/d' b/tuned.ini"

static void test_tensor_maps_are_over_the_callers_buffers(void **state)
{
    static float values[104 * 70];
    static float results[128 * 96];
    shell(TAKE_TEMPLATE("tensor"));
    open_bundle();
    const struct tuned_query query = {.kernel = "scale", .accept_other_versions = 1};
    assert_int_equal(tuned_kernel_get(world.kernels, &query, &world.kernel, &world.error), 0);
    for (int i = 0; i < 104 * 70; i++)
        values[i] = (float)i;
    CUdeviceptr in[] = {allocate(sizeof values), allocate(sizeof values)};
    CUdeviceptr out = allocate(sizeof results);
    for (int i = 0; i < 2; i++) {
        values[0] = (float)(1000 + i);
        assert_int_equal(world.driver.cuMemcpyHtoD(in[i], values, sizeof values), 0);
        const struct tuned_buffer buffers[] = {{"in", in[i]}, {"out", out}};
        assert_int_equal(run_kernel(buffers, 2), 0);
        assert_int_equal(world.driver.cuMemcpyDtoH(results, out, sizeof results), 0);
        assert_float_equal(results[0], values[0], 0);
        assert_float_equal(results[128 * 69 + 99], 104 * 69 + 99, 0);
        assert_float_equal(results[128 * 69 + 100], 0, 0);
    }
    const struct tuned_buffer odd[] = {{"in", in[0] + 4}, {"out", out}};
    assert_int_equal(run_kernel(odd, 2), TUNED_CUDA);
    assert_non_null(strstr(world.error.message, "is its address a multiple of 16?"));
    for (int i = 0; i < 2; i++)
        (void)world.driver.cuMemFree(in[i]);
    (void)world.driver.cuMemFree(out);
}

/* 8 in + 7 (plus + 3 in), after three steps between `out` and the library's own buffer. */
static void test_structs_have_the_callers_buffers_and_scalars(void **state)
{
    const struct tuned_query query = {.kernel = "scale", .accept_other_versions = 1};
    float values[1000];
    shell(TAKE_TEMPLATE("members"));
    open_bundle();
    assert_int_equal(tuned_kernel_get(world.kernels, &query, &world.kernel, &world.error), 0);
    CUdeviceptr in[] = {allocate(sizeof values), allocate(sizeof values)};
    CUdeviceptr plus = allocate(sizeof values), out = allocate(sizeof values);
    for (int i = 0; i < 2; i++) {
        const struct tuned_buffer buffers[] = {{"in", in[i]}, {"plus", plus}, {"out", out}};
        const float first = (float)(i + 1);
        values[0] = 2;
        assert_int_equal(world.driver.cuMemcpyHtoD(plus, values, sizeof values), 0);
        values[0] = first;
        assert_int_equal(world.driver.cuMemcpyHtoD(in[i], values, sizeof values), 0);
        assert_int_equal(run_kernel(buffers, 3), 0);
        assert_int_equal(world.driver.cuMemcpyDtoH(values, out, sizeof values), 0);
        assert_float_equal(values[0], 8 * first + 7 * (2 + 3 * first), 0);
        const struct tuned_value factor = tuned_real("factor", 1);
        assert_int_equal(
            tuned_kernel_launch(world.kernel, buffers, 3, &factor, 1, NULL, &world.error), 0);
        assert_int_equal(world.driver.cuMemcpyDtoH(values, out, sizeof values), 0);
        assert_float_equal(values[0], first + 3 * (2 + 3 * first), 0);
    }
    const CUdeviceptr all[] = {in[0], in[1], plus, out};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        (void)world.driver.cuMemFree(all[i]);
}

/* The nearest tuned size may have a configuration that is not valid at the size asked for. */
static void test_a_configuration_that_a_constraint_rules_out_is_refused(void **state)
{
    const struct tuned_value factor = tuned_real("factor", 3);
    shell(SED "-e '0,/^constraint/s//constraint = n %% (4 * num_load) == 0\\n"
              "constraint = factor == 2.5 or num_load < 0\\n&/'" IN_TEMPLATE);
    open_bundle();
    assert_int_equal(tuned_kernel_launch(get(1000), NULL, 0, &factor, 1, NULL, &world.error),
                     TUNED_INVALID);
    assert_int_equal(ask(1001), TUNED_INVALID);
    assert_non_null(strstr(world.error.message, "n % (4 * num_load) == 0"));
}

static void test_refuses_other_versions(void **state)
{
    const struct tuned_query query = {.kernel = "scale", .limit = TUNED_SAME_FAMILY};
    struct CUmod_st *module;
    write_tuned("fedcba9876543210fedcba9876543210");
    open_bundle();
    assert_int_equal(tuned_kernel_get(world.kernels, &query, &world.kernel, &world.error),
                     TUNED_NOT_FOUND);
    assert_non_null(strstr(world.error.message, "1 is of another version of the template"));
    assert_null(world.kernel);
    shell("echo '#include \"scale.cu\"' >own.cu");
    assert_int_equal(
        tuned_module_get(world.kernels, &query, "own.cu", &module, NULL, NULL, &world.error),
        TUNED_NOT_FOUND);
    assert_null(module);
}

static void test_what_cannot_be_launched_as_the_template_says_is_refused(void **state)
{
    static const struct {
        const char *change, *message;
    } cases[] = {
        {TAKE_TEMPLATE("gather"), "has an array of pointers, which libtuned_kernel does"},
        {TAKE_TEMPLATE("constants"), "libtuned_kernel does not set [constants]"},
        {SED "'s/= in, out, float/= texture(in), out, float/'" IN_TEMPLATE,
         "has a texture, which libtuned_kernel does not make"},
        {SED "'s/in, out, float factor, uint64 n/in, out, float factor/'" IN_TEMPLATE,
         "kernel 'scale_good' has 4 parameters: const float *in, float *out, float factor, u64 n; "
         "'arguments' gives 3: in, out, float factor"},
        {"printf '\\n[buffer.weights]\\nsymbol = weights\\ntype = float\\nlength = 3\\n"
         "access = read\\nfill = constant(1)\\n' >>b/templates/scale.ini && "
         "echo '__device__ float weights[4];' >>b/templates/scale.cu",
         "buffer 'weights': its length takes 12 bytes, but the variable 'weights' has 16"},
        {"echo '[kernel' >b/templates/scale.ini", ""},
        {"rm b/templates/scale.cu", ""},
        {SED "'s/^block = block_size/block = block_siz/'" IN_TEMPLATE, ""},
    };
    const struct tuned_query query = {.kernel = "scale", .accept_other_versions = 1};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        make_bundle();
        open_bundle();
        shell("%s", cases[i].change);
        if (cases[i].message[0] != '\0') /* the others are not even opened then */
            open_bundle();
        assert_int_equal(tuned_kernel_get(world.kernels, &query, &world.kernel, &world.error),
                         TUNED_BAD_FILE);
        if (world.error.message[0] == '\0' || strstr(world.error.message, cases[i].message) == NULL)
            fail_msg("'%s' instead of '%s'", world.error.message, cases[i].message);
        assert_null(world.kernel);
    }
}

/* A query that leaves a value out asks for the template's default, also where the templates are no bundle's. */
static void test_a_value_that_is_left_out_is_the_default(void **state)
{
    const struct tuned_value problem[] = {tuned_integer("n", 1000)};
    const struct tuned_query query = {.kernel = "scale", .problem = problem, .problem_count = 1};
    shell("cd b && sed 's/00000001/00000002/; s/factor = 1.5/factor = 3.0/; s/block_size = "
          "64/block_size = 128/' "
          "tuned.ini >both && cat tuned.ini >>both && mv both tuned.ini");
    const char *const paths[][2] = {{"b", NULL}, {"b/tuned.ini", "b/templates"}};
    for (size_t i = 0; i < 2; i++) {
        close_bundle();
        assert_int_equal(tuned_kernels_open(&world.kernels, paths[i][0], paths[i][1], NULL), 0);
        assert_int_equal(tuned_kernel_get(world.kernels, &query, &world.kernel, NULL), 0);
        assert_int_equal(world.kernel->match.rule, TUNED_EXACT);
        assert_int_equal(world.kernel->launches[0].block[0], 64);
    }
}

static void test_names_that_are_none(void **state)
{
    struct tuned_query query = {.kernel = "../scale"};
    assert_int_equal(tuned_kernels_open(&world.kernels, "nowhere", NULL, NULL), TUNED_BAD_FILE);
    assert_int_equal(tuned_kernels_open(&world.kernels, "b/tuned.ini", NULL, NULL), TUNED_INVALID);
    open_bundle();
    assert_int_equal(tuned_kernel_get(world.kernels, &query, &world.kernel, NULL), TUNED_INVALID);
    query.kernel = "nothing";
    assert_int_equal(tuned_kernel_get(world.kernels, &query, &world.kernel, NULL), TUNED_BAD_FILE);
}

/* Asks for the kernel of a bundle whose tuned INI says that it was tuned with that NVRTC; the code. */
static int ask_tuned_with(const char *nvrtc)
{
    shell(SED "'s/^nvrtc = .*/nvrtc = %s/' b/tuned.ini", nvrtc);
    open_bundle();
    return ask(1000);
}

static void test_a_cached_binary_is_of_the_same_tuning(void **state)
{
    struct nvrtc *nvrtc;
    assert_int_equal(nvrtc_open(&nvrtc, NULL, NULL), 0);
    char *here = alloc_string(nvrtc_build(nvrtc));
    nvrtc_close(nvrtc);
    assert_int_equal(ask_tuned_with("12.0"), 0);
    assert_int_equal(world.kernel->origin, TUNED_FROM_COMPILER);
    hide_compiler();
    assert_int_equal(ask_tuned_with("12.0"), 0); /* whichever NVRTC compiled it */
    assert_int_equal(world.kernel->origin, TUNED_FROM_CACHE);
    assert_int_equal(ask_tuned_with(here), 0); /* the very binary that is tuned with this NVRTC */
    assert_int_equal(world.kernel->origin, TUNED_FROM_CACHE);
    assert_int_equal(ask_tuned_with("99.0"), TUNED_COMPILER); /* a later tuning */
    free(here);
}

/* An application may have its compiler open while the toolkit is updated: what it compiles then is not what was
 * tuned, if that becomes the toolkit again. */
static void test_what_a_changed_toolkit_compiles_is_not_taken_for_the_tunings(void **state)
{
    struct nvrtc *nvrtc;
    assert_int_equal(nvrtc_open(&nvrtc, NULL, NULL), 0);
    shell("mkdir -p toolkit/lib toolkit/include/cuda/std && cp '%s' toolkit/lib/compiler.so && "
          "cp \"$(dirname '%s')\"/libnvrtc-builtins.so.?*.* toolkit/lib && "
          "touch toolkit/include/cooperative_groups.h toolkit/include/cuda/std/version && "
          "echo '// first' >toolkit/include/factor.h && sed -i '1i #include <factor.h>' "
          "b/templates/scale.cu",
          nvrtc_path(nvrtc), nvrtc_path(nvrtc));
    nvrtc_close(nvrtc);
    assert_int_equal(setenv("AUTOTUNE_NVRTC", "toolkit/lib/compiler.so", 1), 0);
    tune_anew();
    assert_int_equal(nvrtc_open(&nvrtc, NULL, NULL), 0);
    char *here = alloc_string(nvrtc_build(nvrtc));
    nvrtc_close(nvrtc);
    assert_int_equal(ask_tuned_with("12.0"), 0);
    shell("rm -r cache/cubin && echo '// second' >toolkit/include/factor.h");
    assert_origin(1000, TUNED_FROM_COMPILER);
    hide_compiler();
    assert_int_equal(ask_tuned_with(here), TUNED_COMPILER);
    free(here);
}

static void test_a_header_that_has_changed_is_not_mixed_with_an_older_source(void **state)
{
    shell("echo '#include \"new.h\"' >>b/templates/scale.cu && echo '// first' >b/templates/new.h");
    tune_anew();
    open_bundle();
    (void)get(1000);
    shell("rm -r cache && echo '// second' >b/templates/new.h");
    assert_int_equal(ask(1000), TUNED_COMPILER);
    shell("! find cache/cubin -type f 2>/dev/null | grep -q .");
    open_bundle(); /* reads it again */
    (void)get(1000);
}

static void test_a_scratch_file_that_has_changed_is_not_mixed_with_an_older_template(void **state)
{
    shell("printf '\\223NUMPY\\1\\0\\166\\0%%-118s' \"{'descr': '|u1', 'fortran_order': False, "
          "'shape': (2,), "
          "}\" >b/templates/t.npy; printf ab >>b/templates/t.npy");
    shell("printf '[buffer.table]\\ntype = uint8\\nlength = 2\\naccess = scratch\\nfill = "
          "file(t.npy)\\n' "
          ">>" IN_TEMPLATE);
    tune_anew();
    open_bundle();
    (void)get(1000);
    shell("printf c | dd of=b/templates/t.npy bs=1 seek=129 conv=notrunc 2>/dev/null");
    assert_int_equal(ask(1000), TUNED_BAD_FILE);
    assert_non_null(strstr(world.error.message, "the file has changed since the run started"));
    open_bundle(); /* reads it again */
    (void)get(1000);
}

/* The module of the application's own source; the code. */
static int take_module(const char *path, enum tuned_origin *origin)
{
    const struct tuned_query query = {.kernel = "scale"};
    struct tuned_match match;
    struct CUmod_st *module;
    int code = tuned_module_get(world.kernels, &query, path, &module, &match, origin, &world.error);
    assert_true((code == 0) == (module != NULL));
    if (code == 0) {
        assert_int_equal(match.rule, TUNED_NEAREST_SIZE);
        (void)world.driver.cuModuleUnload(module);
    }
    return code;
}

static void test_a_source_of_the_application(void **state)
{
    enum tuned_origin origin;
    shell("printf '%%s\\n' '#if BLOCK_SIZE != 64' '#error not tuned' '#endif' "
          "'#include \"scale.cu\"' >own.cu");
    open_bundle();
    assert_int_equal(take_module("own.cu", &origin), 0);
    assert_int_equal(origin, TUNED_FROM_COMPILER);
    assert_int_equal(take_module("none.cu", &origin), TUNED_BAD_FILE);
}

static void test_a_source_needs_no_compiler_where_the_bundle_has_it(void **state)
{
    enum tuned_origin origin;
    shell("echo '#include \"scale.cu\"' >own.cu && mv b made && "
          "\"$AUTOTUNE\" bundle --tuned made/tuned.ini --templates made/templates --output b "
          "--source own.cu=scale >/dev/null");
    hide_compiler();
    assert_int_equal(setenv("AUTOTUNE_CACHE", "empty", 1), 0);
    open_bundle();
    assert_int_equal(take_module("own.cu", &origin), 0);
    assert_int_equal(origin, TUNED_FROM_BUNDLE);
    shell("set -- b/cubin/scale-00000001-*.cubin && cp \"$1\" whole && truncate -s -1 \"$1\"");
    assert_int_equal(take_module("own.cu", &origin), TUNED_COMPILER);
    assert_non_null(strstr(world.error.message, "is damaged"));
    shell("set -- b/cubin/scale-00000001-*.cubin && cp whole \"$1\"");
    /* the binary is not of this source any more */
    shell("echo '#define NEWER 1' >>own.cu");
    assert_int_equal(take_module("own.cu", &origin), TUNED_COMPILER);
}

static void test_no_context(void **state)
{
    assert_int_equal(world.driver.cuCtxSetCurrent(NULL), 0);
    assert_int_equal(tuned_kernels_open(&world.kernels, "b", NULL, NULL), TUNED_NO_GPU);
    assert_null(world.kernels);
}

static void test_describes_the_current_gpu(void **state)
{
    open_bundle();
    const struct tuned_gpu *gpu = tuned_kernels_gpu(world.kernels);
    assert_string_equal(gpu->name, "Stand-in H200");
    assert_int_equal(gpu->compute_capability, 90);
    assert_int_equal(gpu->sm_count, 132);
    assert_int_equal(gpu->l2_bytes, 62914560);
    assert_true(gpu->memory_gb_per_s > 1000);
    assert_int_equal(tuned_count(tuned_kernels_table(world.kernels)), 1);
}

struct asker {
    pthread_t thread;
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
    asker->code = tuned_kernel_get(world.kernels, &query, &asker->kernel, NULL);
    return NULL;
}

static void test_threads_ask_at_once(void **state)
{
    struct asker askers[4] = {{0}};
    open_bundle();
    (void)get(1000);
    for (size_t i = 0; i < 4; i++) {
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
}

#define WORLD_TEST(function) cmocka_unit_test_setup_teardown(function, enter, leave)

/* test_libtuned_kernel [PATTERN]: only the tests whose names match. */
int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(test_runs_what_was_tuned),
        WORLD_TEST(test_scalars_are_given_at_a_launch),
        WORLD_TEST(test_scalars_that_are_none_launch_nothing),
        WORLD_TEST(test_scalars_of_a_loop_are_not_computed_again),
        WORLD_TEST(test_compiles_once_then_takes_the_cache_then_the_bundle),
        WORLD_TEST(test_a_kernel_with_a_cpp_name_is_found_in_the_bundle),
        WORLD_TEST(test_a_bundle_has_the_binaries_of_a_cover),
        WORLD_TEST(test_a_damaged_or_foreign_binary_is_not_loaded),
        WORLD_TEST(test_without_a_compiler_a_damaged_binary_is_a_clear_error),
        WORLD_TEST(test_scratch_buffers_begin_with_any_fill),
        WORLD_TEST(test_launches_with_the_attributes_of_the_template),
        WORLD_TEST(test_tensor_maps_are_over_the_callers_buffers),
        WORLD_TEST(test_structs_have_the_callers_buffers_and_scalars),
        WORLD_TEST(test_variables_of_the_source_are_the_callers_to_fill),
        WORLD_TEST(test_a_configuration_that_a_constraint_rules_out_is_refused),
        WORLD_TEST(test_refuses_other_versions),
        WORLD_TEST(test_what_cannot_be_launched_as_the_template_says_is_refused),
        WORLD_TEST(test_a_value_that_is_left_out_is_the_default),
        WORLD_TEST(test_names_that_are_none),
        WORLD_TEST(test_a_cached_binary_is_of_the_same_tuning),
        WORLD_TEST(test_what_a_changed_toolkit_compiles_is_not_taken_for_the_tunings),
        WORLD_TEST(test_a_header_that_has_changed_is_not_mixed_with_an_older_source),
        WORLD_TEST(test_a_scratch_file_that_has_changed_is_not_mixed_with_an_older_template),
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
