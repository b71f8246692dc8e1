/*
 * An application that ships a bundle: it sums arrays of any size with the tuned reduction and its cover, and one of
 * them again in a kernel of its own that uses the tuned grid barrier, checks the sums against one in double
 * precision, and times the reduction as the tuner did. If the bundle has sgemm, it multiplies with
 * an alpha that it gives at each launch.
 *     sum BUNDLE KERNELS.CU N…
 * KERNELS.CU are the application's own kernels. Exit status 77 without a GPU; 1 if a sum is wrong, or
 * takes more than 5 % longer than the tuner said.
 */
#define _POSIX_C_SOURCE 200809L
#include "gpu.h"
#include "product.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double most_slowdown = 1.05;

struct application {
    struct gpu gpu;
    struct tuned_kernels *kernels;
    struct flush flush;
    struct CUfunc_st *two_phase;
    struct tuned_match barrier; /* of two_phase */
    float *numbers;             /* the input, also in `in` */
    uint64_t in;
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

/* --- the input --- */

/* Whole numbers from -8 to 8, whose sums in single precision are exact in any order. */
static int make_input(struct application *application, int64_t n)
{
    size_t bytes = (size_t)n * sizeof *application->numbers;
    uint32_t random = 1;
    application->numbers = malloc(bytes);
    if (application->numbers == NULL)
        return failed("malloc");
    for (int64_t i = 0; i < n; i++) {
        random = random * 1664525 + 1013904223;
        application->numbers[i] = (float)((random >> 16) % 17) - 8;
    }
    if (application->gpu.allocate(&application->in, bytes) != 0 ||
        application->gpu.upload(application->in, application->numbers, bytes) != 0)
        return failed("the upload");
    return 0;
}

static double sum_in_double(const float *numbers, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += numbers[i];
    return sum;
}

/* --- the tuned reduction --- */

struct ours {
    struct application *application;
    struct tuned_kernel *kernel;
    struct tuned_buffer buffers[2];
};

static int queue_ours(void *context)
{
    struct ours *ours = context;
    struct application *application = ours->application;
    return tuned_kernel_launch(ours->kernel, ours->buffers, 2, NULL, 0, application->gpu.stream,
                               &application->error);
}

/* Poisons the result, runs once, and compares with the sum in double precision. */
static int check(struct gpu *gpu, const struct run *run, uint64_t out, const char *what,
                 double expected)
{
    float sum = 0;
    int code = gpu->set(out, 0xff, sizeof sum, gpu->stream);
    if (code == 0)
        code = run->queue(run->context);
    if (code == 0)
        code = gpu->synchronise(gpu->stream);
    if (code == 0)
        code = gpu->download(&sum, out, sizeof sum);
    if (code != 0)
        return failed(what);
    if (sum == expected)
        return 0;
    printf("%s is WRONG: %.1f, expected %.1f\n", what, (double)sum, expected);
    return 1;
}

/* What the tuner measured for the choice at this size, in microseconds; 0: it did not measure it. */
static double said_us(const struct tuned_match *match, int64_t n)
{
    const struct tuned_cover *cover = match->from != NULL ? match->from->cover : NULL;
    if (match->rule == TUNED_EXACT)
        return match->from->median_ns * 1e-3;
    for (size_t i = 0; cover != NULL && i < cover->size_count; i++) {
        const struct tuned_size *size = &cover->sizes[i];
        if (size->numbers[0] == (double)n)
            return size->times_ns[match->from->number - 1] * 1e-3;
    }
    return 0;
}

static int report(const struct tuned_kernel *kernel, int64_t n, double expected, double ours)
{
    double said = said_us(&kernel->match, n);
    printf("sum of %lld: %.0f as in double precision; %.2f us", (long long)n, expected, ours);
    if (said > 0)
        printf(", the tuner said %.2f us: ratio %.3f", said, ours / said);
    printf(" (%s, from the %s)\n", tuned_rule_text(kernel->match.rule),
           tuned_origin_text(kernel->origin));
    if (said <= 0 || ours <= most_slowdown * said)
        return 0;
    printf("more than %.0f %% SLOWER than the tuner said\n", 100 * (most_slowdown - 1));
    return 1;
}

static int sum_and_time(struct application *application, struct ours *ours, int64_t n)
{
    struct run run = {.queue = queue_ours, .context = ours};
    double expected = sum_in_double(application->numbers, n);
    int wrong = check(&application->gpu, &run, ours->buffers[1].address, "the tuned sum", expected);
    if (wrong == 0 && gpu_time_cold(&application->gpu, &application->flush, &run) != 0)
        return failed("the timing");
    if (wrong == 0) /* the same after hundreds of runs? */
        wrong = check(&application->gpu, &run, ours->buffers[1].address, "the last tuned sum",
                      expected);
    return wrong != 0 ? 1 : report(ours->kernel, n, expected, run.median_us);
}

static int tuned_sum(struct application *application, int64_t n)
{
    const struct tuned_value problem[] = {tuned_integer("n", n), tuned_word("value_type", "float")};
    const struct tuned_query query = {
        .kernel = "reduce_sum", .problem = problem, .problem_count = 2};
    struct ours ours = {.application = application,
                        .buffers = {{"in", application->in}, {"out", 0}}};
    if (tuned_kernel_get(application->kernels, &query, &ours.kernel, &application->error) != 0)
        return say(&application->error);
    int code = application->gpu.allocate(&ours.buffers[1].address, sizeof(float));
    code = code != 0 ? failed("an allocation") : sum_and_time(application, &ours, n);
    (void)application->gpu.release(ours.buffers[1].address);
    tuned_kernel_free(ours.kernel);
    return code;
}

/* --- kernels of our own --- */

static int load_own(struct application *application, const char *source)
{
    enum { FLUSH_BYTES_LEAST = 64 << 20 };
    const struct tuned_value problem[] = {tuned_word("test", "latency")};
    const struct tuned_query query = {
        .kernel = "grid_barrier", .problem = problem, .problem_count = 1};
    const struct tuned_gpu *about = tuned_kernels_gpu(application->kernels);
    struct gpu *gpu = &application->gpu;
    struct flush *flush = &application->flush;
    struct CUmod_st *module;
    enum tuned_origin origin;
    if (tuned_module_get(application->kernels, &query, source, &module, &application->barrier,
                         &origin, &application->error) != 0)
        return say(&application->error);
    printf("own kernels: barrier %s (%s), from the %s\n",
           tuned_word_of(&application->barrier, "barrier", "?"),
           tuned_rule_text(application->barrier.rule), tuned_origin_text(origin));
    flush->blocks = 8 * (unsigned)about->sm_count;
    flush->bytes = 2 * (uint64_t)about->l2_bytes;
    if (flush->bytes < FLUSH_BYTES_LEAST)
        flush->bytes = FLUSH_BYTES_LEAST;
    if (gpu->function(&application->two_phase, module, "two_phase") != 0 ||
        gpu->function(&flush->read_all, module, "read_all") != 0 ||
        gpu->allocate(&flush->memory, flush->bytes + 16) != 0 ||
        gpu->set(flush->memory, 1, flush->bytes + 16, gpu->stream) != 0)
        return failed("the loading of our own kernels");
    return 0;
}

struct two_phase {
    uint64_t partials, state, out;
    unsigned blocks, threads;
};

static int launch_two_phase(struct application *application, struct two_phase *phase, int64_t n)
{
    struct gpu *gpu = &application->gpu;
    uint64_t count = (uint64_t)n;
    void *arguments[] = {&application->in, &count, &phase->partials, &phase->state, &phase->out};
    const char *barrier = tuned_word_of(&application->barrier, "barrier", "");
    return strcmp(barrier, "cooperative") == 0
               ? gpu->launch_cooperative(application->two_phase, phase->blocks, 1, 1,
                                         phase->threads, 1, 1, 0, gpu->stream, arguments)
               : gpu->launch(application->two_phase, phase->blocks, 1, 1, phase->threads, 1, 1, 0,
                             gpu->stream, arguments, NULL);
}

static int run_two_phase(struct application *application, struct two_phase *phase, int64_t n,
                         double *sums)
{
    enum { STATE_BYTES = 4 << 20 };
    struct gpu *gpu = &application->gpu;
    size_t bytes = phase->blocks * sizeof *sums;
    int code = gpu->allocate(&phase->partials, bytes);
    if (code == 0)
        code = gpu->allocate(&phase->out, bytes);
    if (code == 0)
        code = gpu->allocate(&phase->state, STATE_BYTES);
    if (code == 0)
        code = gpu->set(phase->state, 0, STATE_BYTES, gpu->stream);
    for (int i = 0; i < 3 && code == 0; i++) /* the barrier keeps its state */
        code = launch_two_phase(application, phase, n);
    if (code == 0)
        code = gpu->synchronise(gpu->stream);
    if (code == 0)
        code = gpu->download(sums, phase->out, bytes);
    (void)gpu->release(phase->partials);
    (void)gpu->release(phase->out);
    (void)gpu->release(phase->state);
    return code;
}

/* Every block of the kernel must have the whole sum. */
static int barrier_sum(struct application *application, int64_t n)
{
    struct two_phase phase = {
        .threads = (unsigned)tuned_integer_of(&application->barrier, "block_size", 256),
        .blocks = (unsigned)tuned_kernels_gpu(application->kernels)->sm_count *
                  (unsigned)tuned_integer_of(&application->barrier, "blocks_per_sm_wanted", 1)};
    double expected = sum_in_double(application->numbers, n);
    double *sums = calloc(phase.blocks, sizeof *sums);
    unsigned right = 0;
    int code = sums == NULL || run_two_phase(application, &phase, n, sums) != 0;
    if (code != 0) {
        free(sums);
        return failed("the kernel of two phases");
    }
    for (unsigned i = 0; i < phase.blocks; i++)
        right += sums[i] == expected;
    printf("sum of %lld behind the barrier: %u of %u blocks have %.0f%s\n", (long long)n, right,
           phase.blocks, expected, right < phase.blocks ? ": WRONG" : "");
    free(sums);
    return right < phase.blocks;
}

/* --- the application --- */

static int run(struct application *application, const char *source, const int64_t *sizes,
               size_t count)
{
    int64_t largest = 0;
    printf("on %s\n", tuned_kernels_gpu(application->kernels)->name);
    for (size_t i = 0; i < count; i++)
        largest = sizes[i] > largest ? sizes[i] : largest;
    int code = load_own(application, source);
    if (code == 0)
        code = make_input(application, largest);
    if (code != 0)
        return code;
    for (size_t i = 0; i < count; i++)
        code |= tuned_sum(application, sizes[i]);
    const struct product product = {application->kernels, &application->gpu, application->in,
                                    application->numbers, &application->error};
    return code | barrier_sum(application, largest) | product_with_scalars(&product);
}

static int read_sizes(char **arguments, int count, int64_t *sizes)
{
    int bad = count < 1;
    for (int i = 0; i < count; i++) {
        char *end;
        sizes[i] = strtoll(arguments[i], &end, 10);
        bad |= *end != '\0' || sizes[i] < 1 || sizes[i] > INT32_MAX;
    }
    return bad;
}

int main(int argc, char **argv)
{
    enum { SIZES = 16 };
    struct application application = {0};
    const char *why;
    int64_t sizes[SIZES];
    if (argc - 3 > SIZES || read_sizes(argv + 3, argc - 3, sizes) != 0) {
        fprintf(stderr, "usage: sum BUNDLE KERNELS.CU N...\n");
        return 2;
    }
    if (gpu_open(&application.gpu, &why) != 0) {
        printf("skipped: %s\n", why);
        return 77;
    }
    if (tuned_kernels_open(&application.kernels, argv[1], NULL, &application.error) != 0)
        return say(&application.error);
    int code = run(&application, argv[2], sizes, (size_t)(argc - 3));
    tuned_kernels_close(application.kernels);
    free(application.numbers);
    return code;
}
