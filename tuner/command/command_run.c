#include "command/command.h"

#include "compile/single_compile.h"
#include "report/report_text.h"
#include "template/problem_check.h"
#include "template/template_load.h"
#include "tune/single_run.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* As a sweep's. */
#define LAUNCH_TIMEOUT_S 2.0

struct variant {
    char *kernel;
    char *path;
    char *templates;
    char **settings;
    int device;
    int differences;
    int no_wait;
    struct template template;
    struct bindings parameters, problem;
};

static void variant_release(struct variant *variant)
{
    command_arguments_release(variant->settings);
    free(variant->kernel);
    free(variant->path);
    free(variant->templates);
    bindings_release(&variant->parameters);
    bindings_release(&variant->problem);
    template_release(&variant->template);
}

static int load(struct variant *variant, struct error *error)
{
    if ((variant->kernel == NULL) == (variant->path == NULL))
        return error_set(error, ERROR_USAGE,
                         "name one template, for example --kernel reduce_sum or --template "
                         "kernel_templates/reduce_sum.ini");
    if (variant->path == NULL)
        variant->path = build_find_template(variant->templates, variant->kernel, error);
    if (variant->path == NULL)
        return error->code;
    int status = template_load(&variant->template, variant->path, error);
    return status != 0 ? status : macro_check(&variant->template, error);
}

static int bind(struct variant *variant, struct bindings *values, struct error *error)
{
    int status = command_values_set(values, variant->settings, error);
    return status != 0 ? status
                       : build_bind(&variant->template, values, false, &variant->parameters,
                                    &variant->problem, error);
}

static void print_notice(const struct error *notice)
{
    error_print(notice, stderr);
}

/* --- printing --- */

static void print_head(const struct variant *variant, const struct single_run *run)
{
    char *problem = bindings_text(&variant->problem);
    char *parameters = bindings_text(&variant->parameters);
    printf("%s%s%s on %s\n", variant->template.name, problem[0] != '\0' ? " " : "", problem,
           run->gpu.name);
    if (parameters[0] != '\0')
        printf("  variant  %s\n", parameters);
    free(problem);
    free(parameters);
}

static void print_kernel(const struct kernel_stats *stats)
{
    int64_t shared_bytes = stats->static_shared_bytes + stats->dynamic_shared_bytes;
    printf("  kernel   %d registers, %" PRId64 " bytes spilled, %" PRId64
           " bytes of shared memory, %d blocks per SM, occupancy %.0f %%\n",
           stats->registers, stats->spill_bytes, shared_bytes, stats->blocks_per_sm,
           100 * stats->occupancy);
}

static void print_differences(const struct single_run *run)
{
    if (run->difference_count == 0)
        return;
    printf("\n  %-24s %-24s %s\n", "element", "got", "expected");
    for (size_t i = 0; i < run->difference_count; i++) {
        const struct device_difference *difference = &run->differences[i];
        char element[96];
        (void)snprintf(element, sizeof element, "%s[%" PRIu64 "]", difference->buffer,
                       difference->index);
        printf("  %-24s %-24s %s\n", element, difference->got, difference->expected);
    }
}

static void print_rate(double amount, double time_ns, const char *unit)
{
    char number[REPORT_NUMBER_BYTES];
    if (amount > 0)
        printf(", %s %s", report_number(amount / time_ns, number), unit);
}

static void print_time(const struct single_run *run)
{
    const struct result *result = &run->result;
    char median[REPORT_NUMBER_BYTES];
    char low[REPORT_NUMBER_BYTES];
    char high[REPORT_NUMBER_BYTES];
    char empty[REPORT_NUMBER_BYTES];
    printf("  result   correct\n  time     %s us, 95 %% %s-%s us, %zu samples",
           report_time(result->time.median_ns, median), report_time(result->time.low_ns, low),
           report_time(result->time.high_ns, high), result->time.count);
    print_rate(result->bytes, result->time.median_ns, "GB/s");
    print_rate(result->operations, result->time.median_ns, "GFLOP/s");
    printf("; an empty kernel takes %s us\n", report_time(run->empty_ns, empty));
}

/* Returns 0, or ERROR_NOTHING_VALID if the variant failed. */
static int print_result(const struct variant *variant, const struct single_run *run,
                        struct error *error)
{
    const struct result *result = &run->result;
    if (run->compiler_log != NULL && run->compiler_log[0] != '\0')
        fprintf(stderr, "%s\n", run->compiler_log);
    print_head(variant, run);
    if (result->stats.known)
        print_kernel(&result->stats);
    if (result->outcome == OUTCOME_MEASURED) {
        print_time(run);
        return 0;
    }
    printf("  result   %s: %s\n", outcome_name(result->outcome),
           result->reason != NULL ? result->reason : outcome_meaning(result->outcome));
    print_differences(run);
    return error_set(error, ERROR_NOTHING_VALID, "%s", outcome_meaning(result->outcome));
}

static int perform(const struct variant *variant, struct error *error)
{
    struct single_run run;
    const struct single_run_request request = {
        .template = &variant->template,
        .parameters = &variant->parameters,
        .problem = &variant->problem,
        .device = variant->device,
        .no_wait = variant->no_wait != 0,
        .differences = variant->differences > 0 ? (size_t)variant->differences : 0,
        .launch_timeout_s = LAUNCH_TIMEOUT_S,
        .notice = print_notice,
    };
    (void)setenv("CUDA_CACHE_DISABLE", "1", 1); /* what comes from it has no figures */
    single_run_init(&run); /* a signal ends it at once: nothing is stored, and workers go with it */
    int status = single_run_perform(&run, &request, error);
    if (status == 0)
        status = print_result(variant, &run, error);
    single_run_release(&run);
    return status;
}

static int run(struct variant *variant, struct bindings *values, struct error *error)
{
    if (variant->differences < 0 || variant->device < 0)
        return error_set(error, ERROR_USAGE, "--differences and --device must not be negative");
    int status = load(variant, error);
    if (status == 0)
        status = bind(variant, values, error);
    return status != 0 ? status : perform(variant, error);
}

int command_run(int argc, const char **argv, struct error *error)
{
    struct variant variant = {.differences = 10};
    const struct poptOption table[] = {
        option_text("kernel", 'k', &variant.kernel, "the template, by its name", "NAME"),
        option_text("template", 0, &variant.path, "the template, by its file", "FILE"),
        option_variant(&variant.settings),
        option_number("differences", 0, &variant.differences,
                      "how many elements of a wrong result to print (default: 10, at most 100)"),
        option_number("device", 'd', &variant.device, "the GPU, counted from 0 (default: 0)"),
        option_flag("no-wait", 0, &variant.no_wait,
                    "fail if another run is using the GPU (default: wait for it)"),
        option_templates(&variant.templates),
        POPT_TABLEEND};
    struct command_values taken;
    int status = command_values_take(&taken, argc, argv, table, error);
    if (status == 0)
        status = command_parse(
            taken.argc, taken.argv, table,
            "run {--kernel NAME | --template FILE} [OPTION...]\n\n"
            "Runs one variant: compiles it, verifies its result and times it. If the result\n"
            "is wrong, prints elements that differ from what is expected. Needs no sweep\n"
            "file, and stores nothing.\n\n"
            "Example: autotune run --kernel reduce_sum --set block_size=256 --set n=2^20",
            error);
    if (status == 0)
        status = run(&variant, &taken.values, error);
    command_values_release(&taken);
    variant_release(&variant);
    return status < 0 ? status : 0;
}
