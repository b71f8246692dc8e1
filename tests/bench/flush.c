/*
 * Shows that flushing the L2 by reading, as the tuner does before each cold sample, leaves no dirty
 * lines to be written back during the sample.
 *
 *     flush FOLDER TEMPLATE.ini [NAME=VALUE...] [TEMPLATE.ini [NAME=VALUE...]]...
 *
 * Writes FOLDER/flush.csv; DETAILS.md beside this file describes the rows. It times the tuner's own
 * flush, kernels, problems and variants.
 */
#include "base/alloc.h"
#include "base/clock.h"
#include "base/statistics.h"
#include "base/write_file.h"
#include "command/command.h"
#include "compile/application.h"
#include "compile/build.h"
#include "gpu/measure.h"
#include "gpu/verify.h"
#include "template/template_load.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    ROUNDS = 201,
    HOLD_NS = 150000,  /* delay in front of each sample, so that the host stays ahead */
    REST_NS = 2000000, /* 80 times as long as writing back the whole L2 at 2.4 TB/s */
    ATTEMPTS = 20,     /* to take a sample for which the host was ahead */
    ROTATION = 3,      /* size of the rotating inputs, in multiples of the L2 */
};

enum { READ = 0, PREPARATION_COUNT = 8 }; /* places in `preparations` */

/* --- a kernel on its problem --- */

struct bench {
    struct device_context device;
    struct application_compiler compiler;
    struct device_problem problem;
    struct device_variant variant;
    struct measure measure;
    CUdeviceptr *copies; /* of input buffers: copy c of buffer i is at c * buffers + i */
    size_t copy_count;   /* without the buffers themselves */
    double samples_ns[PREPARATION_COUNT][ROUNDS];
    unsigned late; /* samples for which the host was never ahead */
};

static int load_support(struct bench *bench, struct error *error)
{
    struct options options = {0};
    struct compilation compilation = {0};
    bool compiled;
    int status =
        application_compile_source(&bench->compiler, device_kernels(), &options,
                                   bench->device.gpu.arch, "", &compilation, &compiled, error);
    if (status == 0)
        status = device_load_support(&bench->device, compilation.cubin, error);
    compilation_release(&compilation);
    return status;
}

/* Runs the variant once and checks what it computes. */
static int check_result(struct bench *bench, const char *path, struct error *error)
{
    struct verify verify = {.problem = &bench->problem,
                            .variant = &bench->variant,
                            .everything = true,
                            .guard = GUARD_PATTERN};
    int status = verify_prepare(&bench->problem, error);
    if (status == 0)
        status = verify_run(&verify, error);
    if (status == 0 && verify.finding != FINDING_RIGHT)
        status =
            error_set_at(error, ERROR_CONFIG, path, 0, "the result is wrong: %s", verify.reason);
    return status;
}

/* Copies all inputs until, together, they are ROTATION times the size of the L2. */
static int make_copies(struct bench *bench, struct error *error)
{
    const struct template *template = &bench->problem.template;
    struct device_context *device = &bench->device;
    uint64_t bytes = 0;
    int status = 0;
    for (size_t i = 0; i < template->buffer_count; i++)
        if (template->buffers[i].access == ACCESS_READ)
            bytes += bench->variant.data.buffers[i].bytes;
    uint64_t wanted = ROTATION * (uint64_t)device->gpu.attributes[GPU_l2_bytes];
    bench->copy_count = bytes > 0 ? (size_t)((wanted + bytes - 1) / bytes) : 0;
    bench->copies = alloc_zeroed(bench->copy_count * template->buffer_count, sizeof(CUdeviceptr));
    for (size_t c = 0; c < bench->copy_count; c++)
        for (size_t i = 0; i < template->buffer_count && status == 0; i++) {
            const struct device_buffer *buffer = &bench->variant.data.buffers[i];
            CUdeviceptr *copy = &bench->copies[c * template->buffer_count + i];
            if (template->buffers[i].access != ACCESS_READ || buffer->bytes == 0)
                continue;
            status = CUDA(device, cuMemAlloc, copy, buffer->bytes);
            if (status == 0)
                status = CUDA(device, cuMemcpyDtoDAsync, *copy, buffer->data, buffer->bytes,
                              device->stream);
        }
    return status;
}

static int compile(struct application_compiler *compiler, const struct build *build,
                   struct compilation *compilation, struct error *error)
{
    struct options options;
    bool compiled;
    int status = build_options(build, &options, error);
    if (status == 0)
        status = application_compile_source(compiler, &build->template->source, &options,
                                            build->arch, "", compilation, &compiled, error);
    options_release(&options);
    return status;
}

static int open_problem(struct bench *bench, const char *path, const struct template *template,
                        const struct bindings *values, struct error *error)
{
    struct bindings parameters = {0};
    struct bindings problem = {0};
    struct bindings defaults = {0};
    struct compilation variant = {0};
    struct compilation reference = {0};
    enum outcome outcome = OUTCOME_MEASURED;
    const char *arch = bench->device.gpu.arch;
    int status = build_bind(template, values, false, &parameters, &problem, error);
    variant_defaults(template, &defaults);
    const struct build tuned = {template, &parameters, &problem, arch, false, false};
    const struct build plain = {template, &defaults, &problem, arch, true, false};
    if (status == 0)
        status = compile(&bench->compiler, &tuned, &variant, error);
    if (status == 0)
        status = compile(&bench->compiler, &plain, &reference, error);
    struct template own = {0};
    if (status == 0)
        status = template_load(&own, path, error);
    const struct problem_request request = {
        .template = &own, .problem = &problem, .helpers = &reference, .cold = true};
    if (status == 0)
        status = device_problem_open(&bench->problem, &bench->device, &request, error);
    bool moved;
    bindings_copy(&bench->variant.parameters, &parameters);
    if (status == 0)
        status = device_variant_prepare(&bench->variant, &bench->problem, 0, &moved, error);
    if (status == 0)
        status = device_variant_load(&bench->variant, &bench->problem, &variant, &outcome, error);
    if (status == 0 && outcome != OUTCOME_MEASURED)
        status = error->code;
    if (status == 0)
        status = check_result(bench, path, error);
    if (status == 0)
        status = make_copies(bench, error);
    compilation_release(&variant);
    compilation_release(&reference);
    bindings_release(&defaults);
    bindings_release(&parameters);
    bindings_release(&problem);
    return status;
}

static void close_problem(struct bench *bench)
{
    size_t buffers = bench->problem.template.buffer_count;
    for (size_t i = 0; bench->copies != NULL && i < bench->copy_count * buffers; i++)
        if (bench->copies[i] != 0)
            (void)bench->device.driver.cuMemFree(bench->copies[i]);
    free(bench->copies);
    bench->copies = NULL;
    if (bench->problem.device != NULL) {
        device_variant_unload(&bench->variant, &bench->problem);
        device_problem_close(&bench->problem);
    }
}

/* --- samples --- */

static int queue_hold(struct bench *bench, unsigned long long ns, struct error *error)
{
    void *arguments[] = {&ns};
    return device_launch_single(&bench->device, SUPPORT_delay, arguments, error);
}

static int queue_run(struct bench *bench, struct error *error)
{
    return device_variant_run(&bench->variant, &bench->problem, error);
}

static int queue_memset(struct bench *bench, struct error *error)
{
    return CUDA(&bench->device, cuMemsetD8Async, bench->problem.flush, 1,
                bench->problem.flush_bytes, bench->device.stream);
}

/* Runs the kernel once on each copy of its inputs. Each is evicted before it is read again. */
static int queue_rotation(struct bench *bench, struct error *error)
{
    struct device_problem *problem = &bench->problem;
    struct device_buffer *buffers = bench->variant.data.buffers;
    size_t count = problem->template.buffer_count;
    CUdeviceptr *own = alloc_zeroed(count, sizeof *own);
    int status = 0;
    for (size_t i = 0; i < count; i++)
        own[i] = buffers[i].data;
    for (size_t c = 0; c < bench->copy_count && status == 0; c++) {
        for (size_t i = 0; i < count; i++)
            if (bench->copies[c * count + i] != 0)
                buffers[i].data = bench->copies[c * count + i];
        status = queue_run(bench, error);
    }
    for (size_t i = 0; i < count; i++)
        buffers[i].data = own[i];
    free(own);
    return status;
}

static int queue_flush(struct bench *bench, struct error *error)
{
    return measure_flush(&bench->problem, error);
}

static int queue_rest(struct bench *bench, struct error *error)
{
    return queue_hold(bench, REST_NS, error);
}

/* What happens before a sample. */
static const struct {
    const char *name;
    int (*steps[2])(struct bench *bench, struct error *error);
} preparations[PREPARATION_COUNT] = {
    {"read", {queue_flush}},                    /* the tuner's flush: twice the L2's size is read */
    {"none", {queue_run, queue_run}},           /* the kernel has just run twice: warm */
    {"read_twice", {queue_flush, queue_flush}}, /* the tuner's flush, again after itself */
    {"read_rest", {queue_flush, queue_rest}},   /* the tuner's flush, then the GPU rests */
    {"rotate", {queue_rotation}}, /* no flush: the kernel runs on other inputs, 3 times the L2 */
    {"memset", {queue_memset}},   /* twice the L2's size is written */
    {"memset_rest", {queue_memset, queue_rest}},  /* the same, then the GPU rests */
    {"memset_read", {queue_memset, queue_flush}}, /* the same, then the tuner's flush */
};

static int queue_preparation(struct bench *bench, size_t preparation, struct error *error)
{
    int status = queue_hold(bench, HOLD_NS, error);
    if (status == 0)
        status = device_variant_reset(&bench->variant, &bench->problem, error);
    for (size_t i = 0; i < 2 && status == 0; i++)
        if (preparations[preparation].steps[i] != NULL)
            status = preparations[preparation].steps[i](bench, error);
    return status;
}

/* Takes one sample. Sets `*late` if the GPU reached it before the host had queued all of it. */
static int try_sample(struct bench *bench, size_t preparation, double *sample_ns, bool *late,
                      struct error *error)
{
    struct device_context *device = &bench->device;
    CUevent begin = bench->measure.begin[0];
    CUevent end = bench->measure.end[0];
    float milliseconds = 0;
    int status = queue_preparation(bench, preparation, error);
    if (status == 0)
        status = CUDA(device, cuEventRecord, begin, device->stream);
    if (status == 0)
        status = queue_run(bench, error);
    if (status == 0)
        status = CUDA(device, cuEventRecord, end, device->stream);
    if (status != 0)
        return status;
    *late = device->driver.cuEventQuery(begin) == CUDA_SUCCESS;
    status = device_synchronise(device, error);
    if (status == 0)
        status = CUDA(device, cuEventElapsedTime, &milliseconds, begin, end);
    *sample_ns = (double)milliseconds * 1e6;
    return status;
}

static int take_sample(struct bench *bench, size_t preparation, double *sample_ns,
                       struct error *error)
{
    bool late = true;
    int status = 0;
    for (int attempt = 0; attempt < ATTEMPTS && late && status == 0; attempt++)
        status = try_sample(bench, preparation, sample_ns, &late, error);
    bench->late += late;
    return status;
}

/* Takes the samples in rounds of one sample each, in shuffled order, so that drift affects all. */
static int take_samples(struct bench *bench, struct error *error)
{
    uint64_t random = 0x2545f4914f6cdd1du;
    size_t order[PREPARATION_COUNT];
    int status = 0;
    for (size_t i = 0; i < PREPARATION_COUNT; i++)
        order[i] = i;
    bench->late = 0;
    for (size_t round = 0; round < ROUNDS && status == 0; round++) {
        statistics_shuffle(order, PREPARATION_COUNT, &random);
        for (size_t i = 0; i < PREPARATION_COUNT && status == 0; i++)
            status = take_sample(bench, order[i], &bench->samples_ns[order[i]][round], error);
    }
    return status;
}

/* --- output --- */

/* How a preparation's times compare with ours, round by round. */
static struct interval compare(const double *theirs_ns, const double *ours_ns)
{
    double ratios[ROUNDS];
    for (size_t i = 0; i < ROUNDS; i++)
        ratios[i] = statistics_ratio(theirs_ns[i], ours_ns[i]);
    return statistics_centre(ratios, ROUNDS, 0.025);
}

static void write_rows(FILE *stream, const struct bench *bench, const char *kernel)
{
    const double *ours = bench->samples_ns[READ];
    for (size_t i = 0; i < PREPARATION_COUNT; i++) {
        struct summary summary = statistics_summarise(bench->samples_ns[i], ROUNDS);
        struct interval ratio = compare(bench->samples_ns[i], ours);
        fprintf(stream, "%s,%s,%zu,%.3f,%.3f,%.3f,%.4f,%.4f,%.4f\n", kernel, preparations[i].name,
                summary.count, summary.median_ns / 1e3, summary.low_ns / 1e3, summary.high_ns / 1e3,
                ratio.estimate, ratio.low, ratio.high);
        printf("%-12s %-12s %8.2f us %8.2f-%.2f  %.4f (%.4f-%.4f) of read\n", kernel,
               preparations[i].name, summary.median_ns / 1e3, summary.low_ns / 1e3,
               summary.high_ns / 1e3, ratio.estimate, ratio.low, ratio.high);
    }
    if (bench->late > 0)
        printf("%s: the host was behind in %u samples\n", kernel, bench->late);
}

static int bench_kernel(struct bench *bench, const char *path, const struct bindings *values,
                        FILE *stream, struct error *error)
{
    struct template template = {0};
    int status = template_load(&template, path, error);
    if (status == 0)
        status = open_problem(bench, path, &template, values, error);
    if (status == 0)
        status = take_samples(bench, error);
    if (status == 0)
        write_rows(stream, bench, template.name);
    close_problem(bench);
    template_release(&template);
    return status;
}

/* Takes NAME=VALUE… from the arguments and moves `*next` past them. */
static int take_values(char **arguments, size_t *next, struct bindings *values, struct error *error)
{
    int status = 0;
    for (; status == 0 && arguments[*next] != NULL && strchr(arguments[*next], '=') != NULL;
         ++*next)
        status = command_value_set(values, arguments[*next], error);
    return status;
}

static int bench_kernels(struct bench *bench, char **arguments, FILE *stream, struct error *error)
{
    int status = 0;
    fputs("kernel,flush,samples,median_us,low_us,high_us,ratio,ratio_low,ratio_high\n", stream);
    for (size_t next = 0; arguments[next] != NULL && status == 0;) {
        struct bindings values = {0};
        const char *path = arguments[next++];
        status = take_values(arguments, &next, &values, error);
        if (status == 0)
            status = bench_kernel(bench, path, &values, stream, error);
        bindings_release(&values);
    }
    return status;
}

static int start(struct bench *bench, struct error *error)
{
    int status = driver_open(&bench->device.driver, error);
    if (status == 0)
        status = device_describe(&bench->device, 0, error);
    if (status == 0)
        status = device_start(&bench->device, error);
    if (status == 0)
        status = load_support(bench, error);
    if (status == 0)
        status = measure_init(&bench->measure, &bench->device, error);
    return status;
}

static int write_table(struct bench *bench, const char *folder, char **arguments,
                       struct error *error)
{
    struct write_file file;
    char *path = alloc_format("%s/flush.csv", folder);
    int status = write_file_begin(&file, path, error);
    free(path);
    if (status != 0)
        return status;
    status = bench_kernels(bench, arguments, file.stream, error);
    if (status == 0)
        return write_file_commit(&file, WRITE_FILE_CACHED, error);
    write_file_abandon(&file);
    return status;
}

int main(int argc, char **argv)
{
    static struct bench bench;
    struct error error = {0};
    if (argc < 3) {
        fputs("usage: flush FOLDER TEMPLATE.ini [NAME=VALUE...]...\n", stderr);
        return 2;
    }
    (void)setenv("CUDA_CACHE_DISABLE", "1", 1); /* like a compile worker */
    int status = start(&bench, &error);
    if (status == 0)
        status = write_table(&bench, argv[1], argv + 2, &error);
    application_compiler_release(&bench.compiler);
    if (status != 0)
        error_print(&error, stderr);
    return status != 0 ? error_exit_status(status) : 0;
}
