/*
 * An application that ships a bundle: it sums an array with the tuned reduction, and again in a
 * kernel of its own that uses the tuned grid barrier, and checks both against a sum in double
 * precision.
 *     sum BUNDLE TWO_PHASE.CU
 * Exit status 77 without a GPU; 1 where a sum is wrong or slower than the tuner said.
 */
#include "gpu.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { RUNS = 50, STATE_BYTES = 4 << 20 };

/* Larger than any cache, so that runs in a row find nothing in it. */
static const int64_t n = INT64_C(1) << 28;

struct application {
    struct gpu gpu;
    struct tuned_kernels *kernels;
    uint64_t in;
    double expected;
    struct tuned_error error;
};

static int say(const struct tuned_error *error)
{
    fprintf(stderr, "%s%s%s\n", error->file, error->file[0] != '\0' ? ": " : "", error->message);
    return 1;
}

static int failed(const char *what)
{
    fprintf(stderr, "%s failed\n", what);
    return 1;
}

/* Small whole numbers: their sum is the same in any order. */
static int make_input(struct application *application)
{
    float *numbers = malloc((size_t)n * sizeof *numbers);
    uint32_t random = 1;
    if (numbers == NULL)
        return failed("malloc");
    for (int64_t i = 0; i < n; i++) {
        random = random * 1664525 + 1013904223;
        numbers[i] = (float)(random >> 28) - 7;
        application->expected += numbers[i];
    }
    int code = application->gpu.allocate(&application->in, (size_t)n * sizeof *numbers);
    if (code == 0)
        code = application->gpu.upload(application->in, numbers, (size_t)n * sizeof *numbers);
    free(numbers);
    return code != 0 ? failed("the upload") : 0;
}

static int check(const char *what, double sum, double expected)
{
    int wrong = !(fabs(sum - expected) <= 1e-6 * fabs(expected) + 0.5);
    printf("%s: %.1f, expected %.1f%s\n", what, sum, expected, wrong ? ": WRONG" : "");
    return wrong;
}

/* -- the tuned reduction -------------------------------------------------------------------------
 */

static int time_runs(struct application *application, const struct tuned_kernel *kernel,
                     const struct tuned_buffer *buffers, double *microseconds)
{
    struct gpu *gpu = &application->gpu;
    float milliseconds = 0;
    int code = 0;
    for (int i = -3; i < RUNS && code == 0; i++) { /* three to warm up */
        if (i == 0)
            code = gpu->event_record(gpu->start, NULL);
        if (code == 0)
            code = tuned_kernel_launch(kernel, buffers, 2, NULL, &application->error);
    }
    if (code == 0)
        code = gpu->event_record(gpu->stop, NULL);
    if (code == 0)
        code = gpu->synchronise();
    if (code == 0)
        code = gpu->event_elapsed(&milliseconds, gpu->start, gpu->stop);
    *microseconds = milliseconds * 1e3 / RUNS;
    return code;
}

/* 5 % more than the tuner measured, where it measured this very case. */
static int compare_time(const struct tuned_match *match, double microseconds)
{
    printf("%.2f us a run", microseconds);
    if (match->from == NULL || match->rule != TUNED_EXACT) {
        puts("");
        return 0;
    }
    double promised = match->from->median_ns * 1e-3;
    printf(", the tuner said %.2f us\n", promised);
    return microseconds > 1.05 * promised;
}

static int tuned_sum(struct application *application)
{
    const struct tuned_value problem[] = {tuned_integer("n", n), tuned_word("value_type", "float")};
    const struct tuned_query query = {
        .kernel = "reduce_sum", .problem = problem, .problem_count = 2};
    struct tuned_kernel *kernel;
    uint64_t out = 0;
    float sum = 0;
    double microseconds = 0;
    if (tuned_kernel_get(application->kernels, &query, &kernel, &application->error) != 0)
        return say(&application->error);
    printf("reduction: %s, from the %s, %zu launch%s a run\n", tuned_rule_text(kernel->match.rule),
           tuned_origin_text(kernel->origin), kernel->launch_count,
           kernel->launch_count > 1 ? "es" : "");
    int code = application->gpu.allocate(&out, sizeof sum);
    const struct tuned_buffer buffers[] = {{"in", application->in}, {"out", out}};
    if (code == 0)
        code = time_runs(application, kernel, buffers, &microseconds);
    if (code == 0)
        code = application->gpu.download(&sum, out, sizeof sum);
    if (code != 0)
        return say(&application->error), failed("the reduction");
    code = check("tuned sum", sum, application->expected);
    code |= compare_time(&kernel->match, microseconds);
    (void)application->gpu.release(out);
    tuned_kernel_free(kernel);
    return code;
}

/* -- a kernel of our own -------------------------------------------------------------------------
 */

struct two_phase {
    uint64_t partials, state, out;
    unsigned blocks, threads;
    int cooperative;
    struct CUfunc_st *function;
};

static int launch_two_phase(struct application *application, struct two_phase *phase)
{
    uint64_t count = (uint64_t)n;
    void *arguments[] = {&application->in, &count, &phase->partials, &phase->state, &phase->out};
    struct gpu *gpu = &application->gpu;
    return phase->cooperative ? gpu->launch_cooperative(phase->function, phase->blocks, 1, 1,
                                                        phase->threads, 1, 1, 0, NULL, arguments)
                              : gpu->launch(phase->function, phase->blocks, 1, 1, phase->threads, 1,
                                            1, 0, NULL, arguments, NULL);
}

static int run_two_phase(struct application *application, struct two_phase *phase)
{
    struct gpu *gpu = &application->gpu;
    size_t bytes = phase->blocks * sizeof(double);
    double *sums = malloc(bytes);
    int code = sums == NULL;
    if (code == 0)
        code = gpu->allocate(&phase->partials, bytes) || gpu->allocate(&phase->out, bytes) ||
               gpu->allocate(&phase->state, STATE_BYTES) || gpu->set(phase->state, 0, STATE_BYTES);
    for (int i = 0; i < 3 && code == 0; i++) /* the barrier keeps its state */
        code = launch_two_phase(application, phase);
    if (code == 0)
        code = gpu->synchronise() || gpu->download(sums, phase->out, bytes);
    if (code != 0)
        code = failed("the kernel of two phases");
    else
        for (unsigned i = 0; i < phase->blocks && code == 0; i++)
            code = i == 0 || sums[i] != application->expected
                       ? check("sum behind the barrier", sums[i], application->expected)
                       : 0;
    free(sums);
    return code;
}

static int barrier_sum(struct application *application, const char *source)
{
    const struct tuned_value problem[] = {tuned_word("test", "latency")};
    const struct tuned_query query = {
        .kernel = "grid_barrier", .problem = problem, .problem_count = 1};
    struct tuned_match match;
    struct CUmod_st *module;
    enum tuned_origin origin;
    struct two_phase phase = {0};
    if (tuned_module_get(application->kernels, &query, source, &module, &match, &origin,
                         &application->error) != 0)
        return say(&application->error);
    printf("barrier: %s, %s, from the %s\n", tuned_word_of(&match, "barrier", "?"),
           tuned_rule_text(match.rule), tuned_origin_text(origin));
    phase.threads = (unsigned)tuned_integer_of(&match, "block_size", 256);
    phase.blocks = (unsigned)tuned_kernels_gpu(application->kernels)->sm_count *
                   (unsigned)tuned_integer_of(&match, "blocks_per_sm_wanted", 1);
    phase.cooperative =
        tuned_word_of(&match, "barrier", "")[0] == 'c' && /* cooperative, not cluster */
        tuned_word_of(&match, "barrier", "")[1] == 'o';
    if (application->gpu.function(&phase.function, module, "two_phase") != 0)
        return failed("cuModuleGetFunction");
    return run_two_phase(application, &phase);
}

int main(int argc, char **argv)
{
    struct application application = {0};
    const char *why;
    if (argc != 3) {
        fprintf(stderr, "usage: sum BUNDLE TWO_PHASE.CU\n");
        return 2;
    }
    if (gpu_open(&application.gpu, &why) != 0) {
        printf("skipped: %s\n", why);
        return 77;
    }
    if (tuned_kernels_open(&application.kernels, argv[1], NULL, &application.error) != 0)
        return say(&application.error);
    printf("on %s\n", tuned_kernels_gpu(application.kernels)->name);
    int code = make_input(&application);
    if (code == 0)
        code = tuned_sum(&application) | barrier_sum(&application, argv[2]);
    tuned_kernels_close(application.kernels);
    return code;
}
