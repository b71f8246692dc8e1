#include "command/command.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/interrupt.h"
#include "base/node.h"
#include "tune/run.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void report_doubt(void *user, const char *kernel, const struct compile_doubt *doubt,
                         size_t left)
{
    bool terminal = isatty(STDIN_FILENO) && isatty(STDERR_FILENO);
    (void)user;
    fprintf(stderr, "autotune: the first %zu variants of '%s' do not compile, all with: %s\n",
            doubt->failures, kernel, doubt->reason);
    fprintf(stderr,
            "autotune: `autotune check --compile` shows the compiler's whole message; %zu "
            "variants are left%s\n",
            left, terminal ? "" : ", and the run goes on");
    if (!terminal)
        return;
    char answer = '\0'; /* waits for it or Ctrl-C; "no" ends the run as Ctrl-C does */
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    fputs("autotune: go on? [y/N] ", stderr);
    if (interrupt_poll(&input, 1, -1) != 1 || read(STDIN_FILENO, &answer, 1) != 1 ||
        (answer != 'y' && answer != 'Y'))
        (void)raise(SIGINT);
}

static int write_csv(void *user, const struct study *study, struct error *error)
{
    const struct run *run = user;
    const struct report_options csv = {.format = REPORT_CSV};
    char *folder = alloc_format("%s/", run->results);
    int status = report_write(folder, study, 1, &csv, error);
    free(folder);
    return status;
}

/* "node 'b': 16 cores 83 % busy with 210 compilations; GPU 0 71 % busy" */
static void print_node_timings(const struct run *run)
{
    double elapsed_s = (double)(clock_ns() - run->limits.begin_ns) * 1e-9;
    struct nodes *nodes = run->options.nodes;
    for (size_t i = 0; i < nodes_count(nodes); i++) {
        const struct node *node = nodes_at(nodes, i);
        const struct compile_pool_share share = compile_pool_share(run->pool, i);
        fprintf(stderr, "node '%s': %zu core%s %.0f %% busy with %zu compilation%s", node->host,
                share.workers, share.workers == 1 ? "" : "s",
                100 * share.busy_s / (elapsed_s * (double)share.workers), share.jobs,
                share.jobs == 1 ? "" : "s");
        for (size_t j = 0; j < run->fleet.count; j++)
            if (run->fleet.gpus[j].node == node)
                fprintf(stderr, "; GPU %d %.0f %% busy", run->fleet.gpus[j].ordinal,
                        100 * ((double)run->fleet.gpus[j].client->busy_ns * 1e-9) / elapsed_s);
        fprintf(stderr, "%s\n", node->lost ? "; lost" : "");
    }
}

/* Whether a search suits the other options. */
static int check_limits(const struct command_options *options, const struct sweep_limits *limits,
                        struct error *error)
{
    if (limits->budget_s <= 0 && limits->evaluations == 0)
        return 0;
    const char *option = limits->budget_s > 0 ? "--budget" : "--evaluations";
    if (options->arch != NULL)
        return error_set(error, ERROR_USAGE,
                         "%s limits a search for the fastest variant, and static mode times "
                         "nothing; leave out one of %s and --arch",
                         option, option);
    if (options->exhaustive > 0)
        return error_set(error, ERROR_USAGE,
                         "--exhaustive measures every variant; leave out one of it and %s", option);
    return 0;
}

static int tune(struct command_options *options, const struct run_options *run_options,
                const struct report_options *report, struct error *error)
{
    struct run run;
    struct sweep sweep = {0};
    run_init(&run, run_options);
    run.options.user = &run;
    int status = command_load_sweep(options, false, &sweep, error);
    run.options.tuned = options->tuned;
    if (status == 0)
        status = run_sweep(&run, &sweep, error);
    if (status == 0) {
        struct study *studies = alloc_zeroed(run.job_count, sizeof *studies); /* still the jobs' */
        size_t count = 0;
        timings_stage(&run.timings, TIMING_REPORT);
        interrupt_end();
        for (size_t i = 0; i < run.job_count; i++)
            if (!run.jobs[i].refused)
                studies[count++] = run.jobs[i].study;
        status = report_print(stdout, studies, count, report, error);
        free(studies);
    }
    if (status == 0)
        status = run_check_winners(&run, error);
    else if (status == ERROR_DEVICE && run.group_count == 0)
        command_advise(error, "--arch sm_90 reports registers and occupancy without a GPU");
    if (options->timings)
        timings_print(&run.timings, stderr);
    if (options->timings && run.pool != NULL)
        print_node_timings(&run);
    if (status == ERROR_INTERRUPTED) { /* now: mpirun kills a second after its signal */
        error_print(error, stderr);
        error->message[0] = '\0';
    }
    run_release(&run);
    sweep_release(&sweep);
    return status;
}

/* Runs the sweep as the options say. */
static int tune_as_asked(void *user, struct command_input *input, struct error *error)
{
    struct command_options *options = user;
    struct report_options report = {.top = (size_t)options->top};
    struct sweep_limits limits = {0};
    struct device_list devices = {0};
    int status = command_check(options, true, &report.format, error);
    if (status == 0)
        status = command_read_limits(options, &limits, error);
    if (status == 0 && options->devices != NULL && !device_list_parse(options->devices, &devices))
        status = error_set(
            error, ERROR_USAGE,
            "--device '%s' is neither a list of at most %d GPUs, counted from 0, nor 'all'",
            options->devices, (int)DEVICES_MOST);
    if (status == 0)
        status = check_limits(options, &limits, error);
    if (status != 0)
        return status;
    char *command = command_join(input->argc, input->argv);
    struct run_options run_options = {
        .command = command,
        .arch = options->arch,
        .results = options->results,
        .devices = devices,
        .workers = options->jobs != JOBS_ALL ? (size_t)options->jobs : 0,
        .limits = limits,
        .exhaustive = options->exhaustive > 0 ? (unsigned)options->exhaustive : 0,
        .remeasure = options->remeasure != 0,
        .no_wait = options->no_wait != 0,
        .record_on_network = options->record_on_network != 0,
        .quiet = options->quiet != 0,
        .history = options->progress != 0,
        .notice = command_notice,
        .doubted = report_doubt,
        .study_done = write_csv,
    };
    interrupt_install();
    status = nodes_open(&run_options.nodes, error);
    if (status == 0)
        status = tune(options, &run_options, &report, error);
    nodes_close(run_options.nodes);
    free(command);
    return status;
}

int command_tune(int argc, const char **argv, struct error *error)
{
    struct command_options options = {.jobs = JOBS_ALL, .evaluations = EVALUATIONS_ALL};
    struct poptOption table[SOURCE_OPTIONS + 18] = {
        [SOURCE_OPTIONS] = option_text(
            "arch", 'a', &options.arch,
            "static mode: compile for this architecture and report; needs no GPU, times "
            "nothing, writes no tuned INI",
            "sm_XX"),
        option_text("device", 'd', &options.devices,
                    "the GPUs, counted from 0, or all of them; those of one model share the work "
                    "(default: the sweep's, or 0)",
                    "{N[,N...] | all}"),
        option_number("jobs", 'j', &options.jobs, "compile workers (default: one per core)"),
        option_text("tuned", 't', &options.tuned,
                    "the tuned INI to write (default: the sweep's, or results/tuned.ini)", "FILE"),
        option_text("results", 'r', &options.results,
                    "the folder of the record and CSV files (default: the sweep's, or results)",
                    "DIR"),
        option_format(&options),
        option_top(&options),
        option_flag("remeasure", 0, &options.remeasure,
                    "measure again what is already in the record"),
        option_flag("timings", 0, &options.timings, "print on stderr where the time went"),
        option_number("exhaustive", 0, &options.exhaustive,
                      "measure every variant in N rounds of finals, 3 samples per round; slow, for "
                      "evaluating tuners"),
        option_text("budget", 0, &options.budget,
                    "end after this time, finals and results included: 90s, 10m, 2h; a search then "
                    "chooses what to try (default: the sweep's, or as long as trying all takes)",
                    "TIME"),
        option_number("evaluations", 0, &options.evaluations,
                      "try at most N variants per problem, those in the record included (default: "
                      "the sweep's, or all)"),
        option_flag("quiet", 'q', &options.quiet, "no progress on stderr"),
        option_flag("progress", 0, &options.progress,
                    "on the progress line, show how the best time improved"),
        option_flag("no-wait", 0, &options.no_wait,
                    "fail if another run is using the GPU (default: wait for it)"),
        option_record_on_network(&options),
        POPT_TABLEEND};
    const struct command_line line = {
        table, TAKES_OPTIONS,
        "[tune] {SWEEP | --template FILE | --kernel NAME} [OPTION...]\n\n"
        "Tunes every kernel of a sweep and writes the fastest correct configurations to\n"
        "the tuned INI. What is already in the record is not measured again.\n\n"
        "Example: autotune configs/sweep.ini",
        tune_as_asked, &options};
    option_sources(&options, table);
    return command_perform(argc, argv, &line, error);
}
