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

struct single {
    struct command_variant variant;
    int device;
    int differences;
    int no_wait;
};

/* --- printing --- */

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
    const struct result *result = &run->job.study.results[0];
    char median[REPORT_NUMBER_BYTES];
    char low[REPORT_NUMBER_BYTES];
    char high[REPORT_NUMBER_BYTES];
    char empty[REPORT_NUMBER_BYTES];
    printf("  result   correct\n  time     %s us, 95 %% %s-%s us, %zu samples",
           report_time(result->time.median_ns, median), report_time(result->time.low_ns, low),
           report_time(result->time.high_ns, high), result->time.count);
    print_rate(result->bytes, result->time.median_ns, "GB/s");
    print_rate(result->operations, result->time.median_ns, "GFLOP/s");
    printf("; an empty kernel takes %s us\n",
           report_time(study_empty_ns(&run->job.study, result), empty));
}

/* Returns 0, or ERROR_NOTHING_VALID if the variant failed. */
static int print_result(const struct command_variant *variant, const struct single_run *run,
                        struct error *error)
{
    const struct result *result = &run->job.study.results[0];
    const struct kernel_stats *stats = &result->stats;
    if (run->compiler_log != NULL && run->compiler_log[0] != '\0')
        fprintf(stderr, "%s\n", run->compiler_log);
    char *problem = bindings_text(&variant->problem);
    char *parameters = bindings_text(&variant->parameters);
    printf("%s%s%s on %s\n", variant->template.name, problem[0] != '\0' ? " " : "", problem,
           run->environment.gpu.name);
    if (parameters[0] != '\0')
        printf("  variant  %s\n", parameters);
    free(problem);
    free(parameters);
    if (stats->known)
        printf("  kernel   %d registers, %" PRId64 " bytes spilled, %" PRId64
               " bytes of shared memory, %d blocks per SM, occupancy %.0f %%\n",
               stats->registers, stats->spill_bytes,
               stats->static_shared_bytes + stats->dynamic_shared_bytes, stats->blocks_per_sm,
               100 * stats->occupancy);
    if (result->outcome == OUTCOME_MEASURED) {
        print_time(run);
        return 0;
    }
    printf("  result   %s: %s\n", outcome_name(result->outcome),
           result->reason != NULL ? result->reason : outcome_meaning(result->outcome));
    print_differences(run);
    return error_set(error, ERROR_NOTHING_VALID, "%s", outcome_meaning(result->outcome));
}

static int perform(void *user, struct command_input *input, struct error *error)
{
    struct single *single = user;
    struct command_variant *variant = &single->variant;
    struct single_run run = {
        0}; /* a signal ends it at once: nothing is stored, and workers go with it */
    const struct single_run_request request = {
        .template = &variant->template,
        .parameters = &variant->parameters,
        .problem = &variant->problem,
        .device = single->device,
        .no_wait = single->no_wait != 0,
        .differences = (size_t)single->differences,
        .launch_timeout_s = LAUNCH_TIMEOUT_S,
        .notice = command_notice,
    };
    if (single->differences < 0 || single->device < 0)
        return error_set(error, ERROR_USAGE, "--differences and --device must not be negative");
    (void)setenv("CUDA_CACHE_DISABLE", "1", 1); /* what comes from it has no figures */
    int status = command_variant_load(variant, input, error);
    if (status == 0)
        status = macro_check(&variant->template, error);
    if (status == 0)
        status = single_run_perform(&run, &request, error);
    if (status == 0)
        status = print_result(variant, &run, error);
    single_run_release(&run);
    command_variant_release(variant);
    return status;
}

int command_run(int argc, const char **argv, struct error *error)
{
    struct single single = {.differences = 10};
    struct poptOption table[VARIANT_OPTIONS + 4] = {
        [VARIANT_OPTIONS] = option_number(
            "differences", 0, &single.differences,
            "how many elements of a wrong result to print (default: 10, at most 100)"),
        option_number("device", 'd', &single.device, "the GPU, counted from 0 (default: 0)"),
        option_flag("no-wait", 0, &single.no_wait,
                    "fail if another run is using the GPU (default: wait for it)"),
        POPT_TABLEEND};
    const struct command_line line = {
        table, TAKES_VALUES,
        "run {--kernel NAME | --template FILE} [OPTION...]\n\n"
        "Runs one variant: compiles it, verifies its result and times it. If the result\n"
        "is wrong, prints elements that differ from what is expected. Needs no sweep\n"
        "file, and stores nothing.\n\n"
        "Example: autotune run --kernel reduce_sum --set block_size=256 --set n=2^20",
        perform, &single};
    command_variant_options(&single.variant, table);
    return command_perform(argc, argv, &line, error);
}
