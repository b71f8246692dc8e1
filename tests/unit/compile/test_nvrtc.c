#include "compile/nvrtc.h"

#include "base/alloc.h"
#include "base/interrupt.h"
#include "compile/nvrtc_library.h"
#include "template/compiler_option.h"

#include "unit/scratch.h"
#include "unit/test.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* --- the log, without the library ------------------------------------------------------------- */

/* Of NVRTC 13.0 for sm_90: no constant memory; barriers; a function that is not inlined. */
static const char log_13[] =
    "k.cu(11): warning #177-D: variable \"unused\" was declared but never referenced\n"
    "\n"
    "ptxas info    : 0 bytes gmem\n"
    "ptxas info    : Compiling entry function 'spills' for 'sm_90'\n"
    "ptxas info    : Function properties for spills\n"
    "ptxas         .     776 bytes stack frame, 1524 bytes spill stores, 1576 bytes spill loads\n"
    "ptxas info    : Used 32 registers, used 1 barriers, 800 bytes cumulative stack size\n"
    "ptxas info    : Compile time = 25.316 ms\n"
    "ptxas info    : Function properties for _Z2fni\n"
    "ptxas         .     16 bytes stack frame, 8 bytes spill stores, 8 bytes spill loads\n"
    "ptxas info    : Compiling entry function '_Z5tiledIfEvPT_' for 'sm_90'\n"
    "ptxas info    : Function properties for _Z5tiledIfEvPT_\n"
    "ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
    "ptxas info    : Used 10 registers, used 2 barriers, 4096 bytes smem\n"
    "ptxas info    : Compile time = 1.529 ms\n"
    "\n";

/* Of NVRTC 12.0 for sm_80: constant memory; no barriers. */
static const char log_12[] =
    "ptxas info    : 304 bytes gmem, 40 bytes cmem[3]\n"
    "ptxas info    : Compiling entry function 'shared_k' for 'sm_80'\n"
    "ptxas info    : Function properties for shared_k\n"
    "ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
    "ptxas info    : Used 9 registers, 4096 bytes smem, 364 bytes cmem[0], 8 bytes cmem[2]\n"
    "\n";

static void release_kernels(struct compiled_kernel *kernels, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(kernels[i].entry);
    free(kernels);
}

static void a_log_is_read(void **state)
{
    const struct {
        const char *log;
        size_t count, index;
        struct compiled_kernel kernel;
    } cases[] = {
        {log_13,
         2,
         0,
         {.entry = (char[]){"spills"},
          .registers = 32,
          .barriers = 1,
          .stack_bytes = 800,
          .spill_store_bytes = 1524, /* not those of the other function */
          .spill_load_bytes = 1576}},
        {log_13,
         2,
         1,
         {.entry = (char[]){"_Z5tiledIfEvPT_"},
          .registers = 10,
          .barriers = 2,
          .shared_bytes = 4096}},
        {log_12, 1, 0, {.entry = (char[]){"shared_k"}, .registers = 9, .shared_bytes = 4096}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct compiled_kernel *kernels = NULL;
        size_t count = 0;
        nvrtc_parse_log(cases[i].log, &kernels, &count);
        assert_int_equal(count, cases[i].count);
        struct compiled_kernel found = kernels[cases[i].index];
        assert_string_equal(found.entry, cases[i].kernel.entry);
        found.entry = cases[i].kernel.entry;
        assert_memory_equal(&found, &cases[i].kernel, sizeof found);
        release_kernels(kernels, count);
    }
}

static void a_log_without_figures_has_no_kernels(void **state)
{
    static const char *const logs[] = {
        "",
        "\n\n",
        "k.cu(1): error: Used 3 registers\n",
        "ptxas info    : Used 3 registers\n", /* of no kernel */
        "ptxas info    : Function properties for f\nptxas         .     1 bytes stack frame\n",
    };
    for (size_t i = 0; i < sizeof logs / sizeof *logs; i++) {
        struct compiled_kernel *kernels = NULL;
        size_t count = 1;
        nvrtc_parse_log(logs[i], &kernels, &count);
        assert_int_equal(count, 0);
        assert_null(kernels);
    }
}

static void stripping_leaves_what_people_read(void **state)
{
    char *log = alloc_string(log_13);
    nvrtc_strip_log(log);
    assert_string_equal(
        log, "k.cu(11): warning #177-D: variable \"unused\" was declared but never referenced");
    free(log);
    log = alloc_string(log_12);
    nvrtc_strip_log(log);
    assert_string_equal(log, "");
    free(log);
    log = alloc_string("ptxas warning : kept\nptxas info    : not\nlast, without an end");
    nvrtc_strip_log(log);
    assert_string_equal(log, "ptxas warning : kept\nlast, without an end");
    free(log);
}

static void a_message_is_short_and_harmless(void **state)
{
    enum { BYTES = 10 << 20 };
    char *log = alloc_zeroed(BYTES + 1, 1);
    memset(log, 'x', BYTES);
    memcpy(log, "k.cu(1): error: \x1b[2J\a\tend\n", 26);
    nvrtc_strip_log(log);
    assert_true(strlen(log) < (65 << 10));
    assert_non_null(strstr(log, "more bytes)"));
    assert_memory_equal(log, "k.cu(1): error: ?[2J?\tend\n", 26);
    free(log);
}

/* What ptxas says of the memory itself, it writes to standard error. */
static void a_lack_of_memory_is_not_the_source_s_fault(void **state)
{
    assert_true(nvrtc_log_lacks_memory("ptxas info    : 0 bytes gmem\n"
                                       "ptxas fatal   : Ptx assembly aborted due to errors\n"));
    assert_true(nvrtc_log_lacks_memory("ptxas fatal   : Memory allocation failure\n"));
    assert_true(nvrtc_log_lacks_memory("k.cu: catastrophic error: out of memory\n"));
    assert_false(nvrtc_log_lacks_memory(
        "ptxas application ptx input, line 83; error   : Not a name of any known instruction: 'b'\n"
        "ptxas fatal   : Ptx assembly aborted due to errors\n"));
    assert_false(nvrtc_log_lacks_memory("ptxas fatal   : Unresolved extern function 'f'\n"));
    assert_false(nvrtc_log_lacks_memory(log_13));
}

/* --- the real library ------------------------------------------------------------------------- */

static struct nvrtc *nvrtc;

static int open_nvrtc(void **state)
{
    struct error error = {0};
    if (nvrtc_open(&nvrtc, NULL, &error) == 0)
        return 0;
    error_print(&error, stderr);
    return -1;
}

static int close_nvrtc(void **state)
{
    nvrtc_close(nvrtc);
    return 0;
}

static const struct nvrtc_job trivial = {
    .name = "k.cu", .text = "extern \"C\" __global__ void k() {}", .arch = "sm_90"};

static struct compilation compile(const char *text, const char *arch, const char *const *options,
                                  size_t option_count)
{
    struct compilation compilation;
    struct error error = {0};
    const struct nvrtc_job job = {.name = "k.cu",
                                  .text = text,
                                  .arch = arch,
                                  .options = options,
                                  .option_count = option_count};
    if (nvrtc_compile(nvrtc, &job, &compilation, &error) != 0)
        fail_msg("%s", error.message);
    return compilation;
}

static struct compilation compile_good(const char *text, const char *arch,
                                       const char *const *options, size_t option_count)
{
    struct compilation compilation = compile(text, arch, options, option_count);
    if (compilation.cubin == NULL)
        fail_msg("refused: %s", compilation.log);
    return compilation;
}

static void expect_refused(const char *text, const char *const *options, size_t option_count,
                           const char *reason)
{
    struct compilation compilation = compile(text, "sm_90", options, option_count);
    assert_null(compilation.cubin);
    assert_int_equal(compilation.cubin_bytes, 0);
    assert_int_equal(compilation.kernel_count, 0);
    if (strstr(compilation.log, reason) == NULL)
        fail_msg("'%s' not in '%s'", reason, compilation.log);
    compilation_release(&compilation);
}

static const struct compiled_kernel *kernel_named(const struct compilation *compilation,
                                                  const char *entry)
{
    for (size_t i = 0; i < compilation->kernel_count; i++)
        if (strcmp(compilation->kernels[i].entry, entry) == 0)
            return &compilation->kernels[i];
    fail_msg("no kernel '%s'", entry);
    return NULL;
}

static const char several_kernels[] =
    "extern \"C\" __global__ void plain(float *o) { o[threadIdx.x] = 1; }\n"
    "extern \"C\" __global__ void __launch_bounds__(256, 2) tiled(float *o, int n) {\n"
    "  __shared__ float tile[1024];\n"
    "  tile[threadIdx.x] = o[threadIdx.x];\n"
    "  __syncthreads();\n"
    "  o[threadIdx.x] = tile[(threadIdx.x + n) % 256];\n"
    "}\n"
    "extern \"C\" __global__ void __launch_bounds__(1024, 2) spills(float *o, int n) {\n"
    "  float a[64];\n"
    "  for (int i = 0; i < 64; i++) a[i] = o[i * 1024 + threadIdx.x];\n"
    "  for (int k = 0; k < n; k++)\n"
    "    for (int i = 0; i < 64; i++) a[i] = a[i] * a[(i + 7) % 64] + o[i + k];\n"
    "  for (int i = 0; i < 64; i++) o[i * 1024 + threadIdx.x] = a[i];\n"
    "}\n"
    "extern \"C\" __global__ void stack(int *o, int n) {\n"
    "  int a[200];\n"
    "  for (int i = 0; i < n; i++) a[i * 7 % 200] = o[i];\n"
    "  for (int i = 0; i < n; i++) o[i] = a[i * n % 200];\n"
    "}\n";

static void figures_of_several_kernels(void **state)
{
    struct compilation compilation = compile_good(several_kernels, "sm_90", NULL, 0);
    assert_int_equal(compilation.kernel_count, 4);
    assert_string_equal(compilation.log, "");
    assert_memory_equal(compilation.cubin,
                        "\x7f"
                        "ELF",
                        4);

    const struct compiled_kernel *plain = kernel_named(&compilation, "plain");
    assert_in_range(plain->registers, 1, 32);
    assert_int_equal(plain->shared_bytes + plain->stack_bytes + plain->spill_store_bytes, 0);
    assert_int_equal(plain->max_threads_per_block, 0);

    const struct compiled_kernel *tiled = kernel_named(&compilation, "tiled");
    assert_int_equal(tiled->shared_bytes, 4096);
    assert_int_equal(tiled->max_threads_per_block, 256);

    /* 65,536 registers for 2 blocks of 1,024 threads: 32 each */
    const struct compiled_kernel *spills = kernel_named(&compilation, "spills");
    assert_in_range(spills->registers, 1, 32);
    assert_true(spills->spill_store_bytes > 0 && spills->spill_load_bytes > 0);
    assert_int_equal(spills->max_threads_per_block, 1024);

    const struct compiled_kernel *stack = kernel_named(&compilation, "stack");
    assert_int_equal(stack->stack_bytes, 800);
    assert_int_equal(stack->spill_store_bytes, 0);
    compilation_release(&compilation);
}

static void refusals_give_the_reason(void **state)
{
    const char *const nonsense[] = {"--nonsense"};
    expect_refused("extern \"C\" __global__ void k() { x = 1; }\n", NULL, 0, "k.cu(1): error");
    expect_refused("#include \"nowhere.h\"\n", NULL, 0, "nowhere.h");
    expect_refused("extern \"C\" __global__ void k() { asm(\"nonsense.f32 x;\"); }\n", NULL, 0,
                   "nonsense");
    expect_refused("extern \"C\" __global__ void k() {}\n", nonsense, 1, "--nonsense");
    /* 80,000 bytes, 49,152 at most */
    expect_refused("extern \"C\" __global__ void k(float *o) {\n"
                   "  __shared__ float s[20000];\n"
                   "  s[threadIdx.x] = o[threadIdx.x];\n"
                   "  __syncthreads();\n"
                   "  o[threadIdx.x] = s[threadIdx.x + 1];\n"
                   "}\n",
                   NULL, 0, "too much shared");
}

static void entries_with_cpp_names_are_found_under_them(void **state)
{
    static const char text[] =
        "namespace ns { template <typename T, int N> __global__ void __launch_bounds__(N)\n"
        "scale(T *x) { *x *= N; } }\n"
        "__global__ void plain(float *x) { *x = 1; }\n"
        "extern \"C\" __global__ void other(float *x) { *x = 2; }\n";
    static const char *const options[] = {
        "-DTILE=64", COMPILER_OPTION_ENTRY "ns::scale<float, TILE>",
        COMPILER_OPTION_ENTRY "ns::scale<float, 64>", COMPILER_OPTION_ENTRY "::plain"};
    struct compilation compilation = compile_good(text, "sm_75", options, 4);
    assert_int_equal(compilation.kernel_count, 4);
    for (size_t i = 1; i < 3; i++) {
        const char *entry = compiler_option_value(options[i], COMPILER_OPTION_ENTRY);
        const struct compiled_kernel *kernel = compilation_kernel(&compilation, entry);
        assert_non_null(kernel);
        assert_string_equal(kernel->symbol, "_ZN2ns5scaleIfLi64EEEvPT_");
        assert_int_equal(kernel->max_threads_per_block, 64);
        assert_true(kernel->registers > 0);
    }
    assert_string_equal(compilation_symbol(&compilation, "::plain"), "_Z5plainPf");
    assert_string_equal(compilation_symbol(&compilation, "other"), "other");
    compilation_release(&compilation);
}

/* What is compiled of `text` if `k` is launched and `reference` is not. */
static struct compilation compile_launched(const char *text)
{
    static const char *const options[] = {COMPILER_OPTION_UNLAUNCHED "reference"};
    return compile_good(text, "sm_90", options, 1);
}

static void kernels_that_are_not_launched_are_not_compiled(void **state)
{
    static const char launched[] =
        "extern \"C\" __global__ void __launch_bounds__(64) k(float *x) { *x = 2; }\n";
    /* in forms that kernels have: declared first, with attributes, in a block of declarations */
    static const char *const references[] = {
        "extern \"C\" __global__ void reference(float *x);\n"
        "extern \"C\" __global__ void __launch_bounds__(128, 2) reference(float *x)\n"
        "{ __shared__ float s[9]; s[threadIdx.x] = *x; __syncthreads(); *x = s[1]; }\n",
        "extern \"C\" {\n__global__ void reference(const __grid_constant__ int n, float *x)\n"
        "{ extern __shared__ float s[]; *x = s[n]; }\n}\n",
        "__global__ void reference(float *x) { asm(\"nonsense\"); }\n"};
    struct compilation alone = compile_good(launched, "sm_90", NULL, 0);
    for (size_t i = 0; i < 3; i++) {
        char *text = alloc_format("%s%s", launched, references[i]);
        struct compilation compilation = compile_launched(text);
        assert_int_equal(compilation.kernel_count, 1);
        assert_string_equal(compilation.kernels[0].entry, "k");
        assert_int_equal(compilation.kernels[0].max_threads_per_block, 64);
        assert_string_equal(compilation.log, "");
        assert_int_equal(compilation.cubin_bytes, alone.cubin_bytes);
        assert_memory_equal(compilation.cubin, alone.cubin, alone.cubin_bytes);
        compilation_release(&compilation);
        free(text);
    }
    compilation_release(&alone);
}

static void a_name_with_another_use_is_compiled_as_it_stands(void **state)
{
    static const char text[] =
        "struct S { int reference; };\n"
        "extern \"C\" __global__ void reference(int *x) { *x = 1; }\n"
        "extern \"C\" __global__ void k(int *x) { S s; s.reference = *x; *x = s.reference + 1; }\n";
    struct compilation compilation = compile_launched(text);
    assert_int_equal(compilation.kernel_count, 2);
    assert_non_null(compilation_kernel(&compilation, "k"));
    assert_string_equal(compilation.log, "");
    compilation_release(&compilation);
}

/* --minimal leaves out textures, and the header's own macro leaves out cuda::std. */
static void what_the_quick_way_lacks_is_compiled_all_the_same(void **state)
{
    static const char text[] = "extern \"C\" __global__ void k(cudaTextureObject_t t, float *x)\n"
                               "{ *x = tex1Dfetch<float>(t, 0); }\n";
    struct compilation compilation = compile_good(text, "sm_90", NULL, 0);
    assert_string_equal(compilation.log, "");
    compilation_release(&compilation);
}

#ifdef __SANITIZE_ADDRESS__
/* nvJitLink 13.0 does not free everything if it refuses its input. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libnvJitLink.so";
}
#endif

/* --- several units ---------------------------------------------------------------------------- */

static const char first_unit[] = "__device__ float twice(float x);\n"
                                 "extern \"C\" __global__ void first(float *x) {\n"
                                 "    __shared__ float shared[32];\n"
                                 "    shared[threadIdx.x] = twice(*x);\n"
                                 "    __syncthreads();\n"
                                 "    *x = shared[31 - threadIdx.x]; }\n";

static void write_unit(const char *text)
{
    assert_int_equal(scratch_write("unit.cu", text), 0);
}

static const char *const second_unit[] = {COMPILER_OPTION_UNIT "unit.cu",
                                          COMPILER_OPTION_ENTRY "second<float>"};

static void units_are_linked(void **state)
{
    static const char *const architectures[] = {"sm_75", "sm_90", "sm_100"};
    write_unit("__device__ float twice(float x)\n"
               "{ for (int i = 0; i < 8; i++) x += __sinf(x) * clock(); return x; }\n"
               "template <typename T> __global__ void second(T *x) { *x = twice(*x); }\n");
    for (size_t i = 0; i < 3; i++) {
        struct compilation compilation = compile_good(first_unit, architectures[i], second_unit, 2);
        assert_int_equal(compilation.kernel_count, 2);
        assert_string_equal(compilation.kernels[0].entry, "first");
        assert_int_equal(compilation.kernels[0].shared_bytes, 128);
        assert_int_equal(compilation.kernels[0].barriers, 1);
        assert_string_equal(compilation.kernels[1].entry, "second<float>");
        assert_string_equal(compilation.kernels[1].symbol, "_Z6secondIfEvPT_");
        assert_true(compilation.kernels[1].registers > 0);
        assert_string_equal(compilation.log, "");
        compilation_release(&compilation);
    }
}

static void without_the_linker_it_says_what_to_install(void **state)
{
    struct linker *linker;
    struct error error;
    assert_int_equal(linker_open(&linker, "/nowhere/libnvrtc.so.13", "13.0", &error), ERROR_DEVICE);
    assert_null(linker);
    assert_non_null(strstr(error.message, "libnvJitLink.so.13 is not in '/nowhere'"));
}

static atomic_int compiling;
static atomic_int most_compiling;
static __typeof__(nvrtcCompileProgram) *compile_program;

static nvrtcResult count_compiling(nvrtcProgram program, int count, const char *const *options)
{
    const struct timespec while_others_come = {.tv_nsec = 20000000};
    int at_once = atomic_fetch_add(&compiling, 1) + 1;
    if (at_once > atomic_load(&most_compiling))
        atomic_store(&most_compiling, at_once);
    (void)nanosleep(&while_others_come, NULL);
    nvrtcResult result = compile_program(program, count, options);
    (void)atomic_fetch_sub(&compiling, 1);
    return result;
}

static void *compile_in_thread(void *good)
{
    struct nvrtc *own = NULL;
    struct compilation compilation = {0};
    if (nvrtc_open(&own, NULL, NULL) != 0)
        return NULL;
    own->CompileProgram = count_compiling;
    int status = nvrtc_compile(own, &trivial, &compilation, NULL);
    *(bool *)good = status == 0 && compilation.cubin != NULL;
    compilation_release(&compilation);
    nvrtc_close(own);
    return NULL;
}

/* As two tuned_kernels of an application do. */
static void threads_compile_one_after_the_other(void **state)
{
    enum { THREADS = 3 };
    pthread_t threads[THREADS];
    bool good[THREADS] = {false};
    compile_program = nvrtc->CompileProgram;
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, compile_in_thread, &good[i]), 0);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_true(good[i]);
    }
    assert_int_equal(most_compiling, 1);
}

static volatile sig_atomic_t noted;

static void note(int number)
{
    noted = number;
}

/* Compiles in a child, to which the signal is sent all the time. Returns the status from waitpid(). */
static int compile_under(int number, void (*handler)(int))
{
    const struct timespec pause = {.tv_nsec = 500000};
    int status = 0;
    void (*before)(int) = signal(number, handler);
    pid_t child = fork();
    if (child == 0) {
        while (noted == 0 && handler != SIG_DFL)
            (void)nanosleep(&pause, NULL);
        noted = 0;
        struct compilation compilation =
            compile_good("extern \"C\" __global__ void k() {}", "sm_90", NULL, 0);
        compilation_release(&compilation);
        _exit(noted == number ? 0 : 1);
    }
    while (waitpid(child, &status, WNOHANG) == 0) {
        (void)kill(child, number);
        (void)nanosleep(&pause, NULL);
    }
    (void)signal(number, before);
    return status;
}

static void a_signal_is_answered_by_the_program_and_not_by_the_compiler(void **state)
{
    const int numbers[] = {SIGINT, SIGTERM};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        assert_int_equal(compile_under(numbers[i], note), 0);
        int status = compile_under(numbers[i], SIG_DFL);
        assert_true(WIFSIGNALED(status));
        assert_int_equal(WTERMSIG(status), numbers[i]);
    }
}

/* In a child: the compiler's answer after Ctrl-C. */
static int compile_after_an_interrupt(void)
{
    struct compilation compilation = {0};
    struct error error;
    interrupt_install();
    (void)raise(SIGINT);
    int status = nvrtc_compile(nvrtc, &trivial, &compilation, &error);
    compilation_release(&compilation);
    return status;
}

static void an_interrupted_program_is_not_kept_by_the_compiler(void **state)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0)
        _exit(compile_after_an_interrupt() == ERROR_INTERRUPTED ? 0 : 1);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest log_tests[] = {
        cmocka_unit_test(a_log_is_read),
        cmocka_unit_test(a_log_without_figures_has_no_kernels),
        cmocka_unit_test(stripping_leaves_what_people_read),
        cmocka_unit_test(a_message_is_short_and_harmless),
        cmocka_unit_test(a_lack_of_memory_is_not_the_source_s_fault),
    };
    const struct CMUnitTest library_tests[] = {
        /* first: NVRTC handles signals while a process compiles for the first time */
        cmocka_unit_test(a_signal_is_answered_by_the_program_and_not_by_the_compiler),
        cmocka_unit_test(an_interrupted_program_is_not_kept_by_the_compiler),
        /* before others: that a source was refused is remembered */
        cmocka_unit_test(kernels_that_are_not_launched_are_not_compiled),
        cmocka_unit_test(figures_of_several_kernels),
        cmocka_unit_test(refusals_give_the_reason),
        cmocka_unit_test(entries_with_cpp_names_are_found_under_them),
        cmocka_unit_test(a_name_with_another_use_is_compiled_as_it_stands),
        cmocka_unit_test(what_the_quick_way_lacks_is_compiled_all_the_same),
        SCRATCH_TEST(units_are_linked),
        cmocka_unit_test(without_the_linker_it_says_what_to_install),
        cmocka_unit_test(threads_compile_one_after_the_other),
    };
    int failures = cmocka_run_group_tests(log_tests, NULL, NULL);
    return failures + cmocka_run_group_tests(library_tests, open_nvrtc, close_nvrtc);
}
