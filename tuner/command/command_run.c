#include "command/command.h"

#include "base/alloc.h"
#include "base/write_file.h"
#include "compile/launch_check.h"
#include "compile/single_compile.h"
#include "report/report_text.h"
#include "template/problem_check.h"
#include "template/template_load.h"
#include "tune/run.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SLOW_ROUNDS = 1, /* of the finals, of a variant that takes longer than SLOW_NS */
    LISTED_RUNS =
        4, /* of a variant that is wrong, until one of them is: each kind of poison has its turn */
    DIFFERENCES = 100, /* the most that are listed */
    COMPILE_TIMEOUT_S = 600,
};
#define SLOW_NS 10e6

/* A run of a sweep that has one variant alone, and that keeps nothing. */
struct one_run {
    /* options */
    struct command_variant variant;
    int device;
    int wanted; /* differences */
    int no_wait;
    char *dump; /* folder; NULL: none */

    struct sweep_kernel kernel; /* borrows the template and its values */
    struct sweep sweep;
    struct run run;
    char *compiler_log; /* of the variant; NULL or "": nothing to say */
    struct device_difference differences[DIFFERENCES];
    size_t difference_count;
    bool dumped;
};

/* --- printing --- */

static void print_differences(const struct one_run *one)
{
    if (one->difference_count == 0)
        return;
    printf("\n  %-24s %-24s %s\n", "element", "got", "expected");
    for (size_t i = 0; i < one->difference_count; i++) {
        const struct device_difference *difference = &one->differences[i];
        char element[96];
        (void)snprintf(element, sizeof element, "%s[%" PRIu64 "]", difference->buffer,
                       difference->index);
        printf("  %-24s %-24s %s\n", element, difference->got, difference->expected);
    }
}

static void print_dump(const struct one_run *one)
{
    if (one->dumped)
        printf("  arrays   in %s\n", one->dump);
    else if (one->dump != NULL)
        printf("  arrays   none: the variant did not end\n");
}

static void print_rate(double amount, double time_ns, const char *unit)
{
    char number[REPORT_NUMBER_BYTES];
    if (amount > 0)
        printf(", %s %s", report_number(amount / time_ns, number), unit);
}

static void print_time(const struct one_run *one)
{
    const struct result *result = &one->run.jobs[0].study.results[0];
    char median[REPORT_NUMBER_BYTES];
    char low[REPORT_NUMBER_BYTES];
    char high[REPORT_NUMBER_BYTES];
    char empty[REPORT_NUMBER_BYTES];
    printf("  result   correct%s%s\n  time     %s us, 95 %% %s-%s us, %zu samples",
           result->reason != NULL ? ": " : "", result->reason != NULL ? result->reason : "",
           report_time(result->time.median_ns, median), report_time(result->time.low_ns, low),
           report_time(result->time.high_ns, high), result->time.count);
    print_rate(result->bytes, result->time.median_ns, "GB/s");
    print_rate(result->operations, result->time.median_ns, "GFLOP/s");
    printf("; an empty kernel takes %s us\n",
           report_time(study_empty_ns(&one->run.jobs[0].study, result), empty));
}

/* Returns 0, or ERROR_NOTHING_VALID if the variant failed. */
static int print_result(const struct command_variant *variant, const struct one_run *one,
                        struct error *error)
{
    const struct result *result = &one->run.jobs[0].study.results[0];
    const struct kernel_stats *stats = &result->stats;
    if (one->compiler_log != NULL && one->compiler_log[0] != '\0')
        fprintf(stderr, "%s\n", one->compiler_log);
    char *problem = bindings_text(&variant->problem);
    char *parameters = bindings_text(&variant->parameters);
    printf("%s%s%s on %s\n", variant->template.name, problem[0] != '\0' ? " " : "", problem,
           one->run.groups[0].environment.gpu.name);
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
    if (result->other_launches != NULL)
        printf("  others   %s\n", result->other_launches);
    if (result->outcome == OUTCOME_MEASURED) {
        print_time(one);
        print_dump(one);
        return 0;
    }
    printf("  result   %s: %s\n", outcome_name(result->outcome),
           result->reason != NULL ? result->reason : outcome_meaning(result->outcome));
    print_dump(one);
    print_differences(one);
    return error_set(error, ERROR_NOTHING_VALID, "%s", outcome_meaning(result->outcome));
}

/* --- running --- */

/* One that takes long is not measured as often. */
static int choose_rounds(void *user, const struct tuning_job *job, struct error *error)
{
    const struct run *run = user;
    struct race_rules *rules = &run->groups[0].tuning.rules;
    (void)error;
    if (job->study.results[0].time.median_ns > SLOW_NS)
        rules->minimum_rounds = rules->maximum_rounds = SLOW_ROUNDS;
    return 0;
}

/* Compiles the variant, first, for the compiler's messages. */
static int compile(struct one_run *one, struct error *error)
{
    struct tuning_job *job = &one->run.jobs[0];
    if (job->compile_jobs[0] == NULL) /* its outcome is known */
        return 0;
    int status = compile_pool_wait(one->run.pool, job->compile_jobs[0], error);
    if (status != 0)
        return status;
    one->compiler_log = alloc_string(job->compile_jobs[0]->compilation.log);
    return launch_check_refusal(&job->kernel->template, one->compiler_log, error);
}

/* What differs in the first run that is wrong, as far as it is wrong again; and all arrays, if they are wanted. */
static int look_closer(void *user, const struct study *study, struct error *error)
{
    struct one_run *one = user;
    const enum outcome outcome = study->results[0].outcome;
    const bool wrong = outcome == OUTCOME_WRONG_RESULT;
    const size_t wanted = one->wanted < DIFFERENCES ? (size_t)one->wanted : DIFFERENCES;
    const bool dumps = one->dump != NULL && (wrong || outcome == OUTCOME_MEASURED);
    if (!dumps && !(wrong && wanted > 0))
        return 0;
    struct tuning_job *job = &one->run.jobs[0];
    struct device_client *client = team_lead(&one->run.groups[0].team)->client;
    struct device_client_answer answer = {0};
    struct device_client_check check = {.runs = LISTED_RUNS,
                                        .careful = true,
                                        .differences = one->differences,
                                        .count = &one->difference_count,
                                        .dump = one->dump};
    const unsigned data_sets = wrong && template_draws_data(&job->kernel->template) ? 2 : 1;
    int status = tuning_job_request(job, 0, error);
    if (status == 0)
        status = compile_pool_wait(one->run.pool, job->compile_jobs[0], error);
    if (status == 0)
        status = device_client_load(client, 1, job->compile_jobs[0]->path,
                                    &job->study.results[0].parameters, &job->study.results[0],
                                    &answer, error);
    for (; check.data_set < data_sets && status == 0 && one->difference_count == 0 &&
           answer.outcome == OUTCOME_MEASURED && !answer.again;
         check.data_set++) {
        one->difference_count = wanted;
        status = device_client_verify(client, 1, &check, &answer, error);
        one->dumped = dumps && status == 0 && !answer.again;
    }
    return status;
}

/* Creates the folder, and finds its path, which the worker needs. */
static int make_dump(struct one_run *one, struct error *error)
{
    char *inside = alloc_format("%s/x", one->dump);
    int status = write_file_make_folders(inside, error);
    char *real = status == 0 ? realpath(one->dump, NULL) : NULL;
    if (status == 0 && real == NULL)
        status = error_set(error, ERROR_RECORD, "'%s': %s", one->dump, strerror(errno));
    free(inside);
    if (real != NULL) {
        free(one->dump);
        one->dump = real;
    }
    return status;
}

/* Returns 0 with the variant's outcome, whatever it is, or an error. */
static int run_one(struct one_run *one, struct error *error)
{
    const struct command_variant *variant = &one->variant;
    const struct template *template = &variant->template;
    const struct run_options options = {
        .devices = {.ordinals = {one->device}, .count = 1},
        .workers = 2, /* the variant and the reference */
        .no_wait = one->no_wait != 0,
        .quiet = true,
        .unrecorded = true,
        .part = true,
        .user = one,
        .notice = command_notice,
        .study_done = look_closer,
    };
    struct value_list *values = alloc_zeroed(template->parameter_count, sizeof *values);
    struct bindings problem = variant->problem; /* borrowed, as the values are */
    for (size_t i = 0; i < template->parameter_count; i++)
        values[i] = (struct value_list){.values = &variant->parameters.items[i].value, .count = 1};
    one->kernel = (struct sweep_kernel){.label = template->name,
                                        .template = *template,
                                        .values = values,
                                        .problems = &problem,
                                        .problem_count = 1,
                                        .cold = variant->cold};
    one->sweep = (struct sweep){.launch_timeout_s = variant->launch_timeout_s,
                                .compile_timeout_s = COMPILE_TIMEOUT_S,
                                .kernels = &one->kernel,
                                .kernel_count = 1};
    run_init(&one->run, &options);
    int status = run_prepare(&one->run, &one->sweep, error);
    if (status == 0)
        one->run.groups[0].tuning.before_finals = choose_rounds;
    if (status == 0)
        status = problem_check(&one->kernel.template, &one->run.jobs[0].fixed, error);
    if (status == 0)
        status = compile(one, error);
    if (status == 0 && one->run.jobs[0].compile_jobs[0] != NULL &&
        static_check_variant(&one->run.jobs[0], 0))
        status = run_work(&one->run, error);
    if (status == 0 && one->run.refused_count > 0) /* the user knows why */
        status = one->run.refusal.code;
    if (status == 0)
        status = print_result(variant, one, error);
    else if (status == ERROR_DEVICE && one->run.group_count == 0)
        command_advise(error, "`autotune check --compile` compiles it without a GPU");
    run_release(&one->run);
    free(one->compiler_log);
    free(values);
    return status;
}

static int perform(void *user, struct command_input *input, struct error *error)
{
    struct one_run *one =
        user; /* a signal ends it at once: nothing is stored, and workers go with it */
    struct command_variant *variant = &one->variant;
    if (one->wanted < 0 || one->device < 0)
        return error_set(error, ERROR_USAGE, "--differences and --device must not be negative");
    (void)setenv("CUDA_CACHE_DISABLE", "1", 1); /* what comes from it has no figures */
    int status = command_variant_load(variant, input, error);
    if (status == 0 && one->dump != NULL)
        status = make_dump(one, error);
    if (status == 0)
        status = macro_check(&variant->template, error);
    if (status == 0)
        status = run_one(one, error);
    command_variant_release(variant);
    return status;
}

int command_run(int argc, const char **argv, struct error *error)
{
    struct one_run one = {.wanted = 10};
    struct poptOption table[SOURCE_OPTIONS + 5] = {
        [SOURCE_OPTIONS] = option_number(
            "differences", 0, &one.wanted,
            "how many elements of a wrong result to print (default: 10, at most 100)"),
        option_text("dump", 0, &one.dump,
                    "write the variant's arrays and the expected results there, for NumPy",
                    "FOLDER"),
        option_number("device", 'd', &one.device, "the GPU, counted from 0 (default: 0)"),
        option_flag("no-wait", 0, &one.no_wait,
                    "fail if another run is using the GPU (default: wait for it)"),
        POPT_TABLEEND};
    const struct command_line line = {
        table, TAKES_VALUES,
        "run {SWEEP | --template FILE | --kernel NAME} [OPTION...]\n\n"
        "Runs one variant: compiles it, verifies its result and times it. If the result\n"
        "is wrong, prints elements that differ from what is expected. Needs no sweep\n"
        "file, and stores nothing.\n\n"
        "Example: autotune run --kernel reduce_sum --set block_size=256 --set n=2^20",
        perform, &one};
    option_sources(&one.variant.source, table);
    return command_perform(argc, argv, &line, error);
}
