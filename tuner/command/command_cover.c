#include "command/command.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/interrupt.h"
#include "base/write_file.h"
#include "command/cover_print.h"
#include "compile/cubin_cache.h"
#include "tune/run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int keep_study(void *user, const struct study *study, struct error *error)
{
    (void)user;
    (void)study;
    (void)error;
    return 0;
}

/* What is wrong with the options, before anything is loaded; reads --budget and --evaluations. */
static int read_options(struct command_options *options, struct sweep_limits *limits,
                        struct error *error)
{
    enum report_format unused;
    int status = command_check(options, true, &unused, error);
    return status == 0 ? command_read_limits(options, limits, error) : status;
}

/* Puts the cover into the tuned INI in place of an earlier one, and reports it. */
static int finish_cover(const struct cover_session *session, const char *page, struct error *error)
{
    struct tuned_entry entry;
    size_t taken;
    int status = cover_entry_make(session, &entry, error);
    if (status == 0 && page != NULL)
        status = cover_print_page(session, &entry, page, error);
    if (status == 0)
        status = tuned_file_update(session->tuned_path, &entry, 1, &taken, error);
    if (status == 0)
        cover_print(session);
    tuned_entry_release(&entry);
    return status;
}

/* The cover is written all the same; what is missing is the user's to know. */
static int check_left_out(const struct cover_session *session, struct error *error)
{
    char text[ERROR_TEXT_BYTES];
    size_t count = session->refused_count;
    if (count == 0)
        return 0;
    return error_set(error, session->refusal.code,
                     "the cover of '%s' leaves out %zu size%s of its range: %s", session->kernel,
                     count, count == 1 ? "" : "s", error_text(&session->refusal, text));
}

static int cover_kernel(const struct sweep *sweep, const struct sweep_kernel *kernel,
                        const struct command_options *options, struct run_options run,
                        struct error *error)
{
    const struct run_limits limits = {.asked = run.limits, .sweep = sweep};
    struct cover_session session;
    struct write_file file;
    char *page =
        options->output != NULL ? alloc_format("%s/%s.html", options->output, kernel->label) : NULL;
    run.limits = run_limits_of(&limits, kernel);
    const struct sweep_request source = command_sweep_request(options);
    int status = cover_session_init(&session, sweep, &source, kernel, &run, error);
    if (status == 0)
        status = cover_entry_check(&session, error);
    if (status == 0 && page != NULL) { /* whether it can be written, before anything is measured */
        status = write_file_begin(&file, page, error);
        if (status == 0)
            write_file_abandon(&file);
    }
    if (status == 0)
        status = cover_measure(&session, error);
    if (status == 0)
        status = finish_cover(&session, page, error);
    if (status == 0)
        status = check_left_out(&session, error);
    cover_session_release(&session);
    free(page);
    return status;
}

/* Covers each kernel that states a range, also if one before it lacks sizes. Of --budget, each gets its
 * part of what is left. */
static int cover_kernels(const struct sweep *sweep, const struct command_options *options,
                         const struct run_options *run, struct error *error)
{
    const double end_s = (double)clock_ns() * 1e-9 + run->limits.budget_s;
    size_t left = 0;
    int status = 0;
    struct error own_error = {0};
    for (size_t i = 0; i < sweep->kernel_count; i++)
        left += sweep->kernels[i].cover.axis_count > 0;
    if (left == 0)
        return error_set_at(error, ERROR_CONFIG, sweep->path, 0,
                            "no kernel has a range to cover; state one in its section, like cover "
                            "= n = 2^10 .. 2^30");
    for (size_t i = 0; i < sweep->kernel_count; i++) {
        struct run_options own = *run;
        if (sweep->kernels[i].cover.axis_count == 0)
            continue;
        if (run->limits.budget_s > 0)
            own.limits.budget_s = fmax((end_s - (double)clock_ns() * 1e-9) / (double)left, 0.001);
        left--;
        int own_status = cover_kernel(sweep, &sweep->kernels[i], options, own, &own_error);
        if (own_status == 0)
            continue;
        if (status != 0) /* the last one is printed by the caller */
            error_print(error, stderr);
        *error = own_error;
        status = own_status;
        if (status != ERROR_NOTHING_VALID && status != ERROR_MEMORY && status != ERROR_CONFIG)
            break;
    }
    return status;
}

/* Once, and not for each of the runs. */
static void notice_storage(const struct command_options *options, const struct sweep *sweep)
{
    char *cache = cubin_cache_default_folder();
    storage_notice(options->results != NULL ? options->results : sweep->results, cache,
                   command_notice, NULL);
    free(cache);
}

static int cover(void *user, struct command_input *input, struct error *error)
{
    struct command_options *options = user;
    struct sweep sweep = {0};
    struct sweep_limits limits = {0};
    int status = read_options(options, &limits, error);
    if (status == 0)
        status = command_load_sweep(options, false, &sweep, error);
    if (status != 0)
        return status;
    char *arguments = command_join(input->argc, input->argv);
    char *command = alloc_format("autotune cover%s", arguments + strlen("autotune"));
    const struct run_options run = {
        .command = command,
        .tuned = options->tuned,
        .results = options->results,
        .devices = {.ordinals = {options->device}, .count = 1},
        .workers = options->jobs != JOBS_ALL ? (size_t)options->jobs : 0,
        .limits = limits,
        .remeasure = false,
        .no_wait = options->no_wait != 0,
        .record_on_network = options->record_on_network != 0,
        .quiet = options->quiet != 0,
        .notice = command_notice,
        .study_done = keep_study,
    };
    interrupt_install();
    notice_storage(options, &sweep);
    status = cover_kernels(&sweep, options, &run, error);
    free(command);
    free(arguments);
    sweep_release(&sweep);
    return status;
}

int command_cover(int argc, const char **argv, struct error *error)
{
    struct command_options options = {.jobs = JOBS_ALL, .evaluations = EVALUATIONS_ALL};
    struct poptOption table[SOURCE_OPTIONS + 12] = {
        [SOURCE_OPTIONS] =
            option_text("range", 0, &options.range,
                        "the range, in place of the sweep's; a template has none of its own",
                        "\"n = 2^10 .. 2^30\""),
        option_number("device", 'd', &options.device, "the GPU, counted from 0 (default: 0)"),
        option_number("jobs", 'j', &options.jobs, "compile workers (default: one per core)"),
        option_text("tuned", 't', &options.tuned,
                    "the tuned INI to write (default: the sweep's, or results/tuned.ini)", "FILE"),
        option_text("results", 'r', &options.results,
                    "the folder of the record (default: the sweep's, or results)", "DIR"),
        option_text("output", 'o', &options.output,
                    "also write a page with a heat map for each kernel into this folder", "DIR"),
        option_text(
            "budget", 0, &options.budget,
            "end after this time: 90s, 10m, 2h (default: the sweep's, or as long as trying all "
            "variants at each chosen size takes)",
            "TIME"),
        option_number("evaluations", 0, &options.evaluations,
                      "try at most N variants per size (default: the sweep's, or all)"),
        option_flag("quiet", 'q', &options.quiet, "no progress on stderr"),
        option_flag("no-wait", 0, &options.no_wait,
                    "fail if another run is using the GPU (default: wait for it)"),
        option_record_on_network(&options),
        POPT_TABLEEND};
    const struct command_line line = {
        table, TAKES_OPTIONS,
        "cover {SWEEP | --template FILE | --kernel NAME} [OPTION...]\n\n"
        "Finds a few configurations that serve a whole range of problems: applications\n"
        "get the one that is expected to be the fastest, by its times at the nearest\n"
        "measured sizes. The kernel's section of the sweep states the range:\n"
        "    cover = n = 2^10 .. 2^30\n"
        "    cover_configurations = 4\n"
        "It tunes the kernel at a few sizes, and measures the best configurations at\n"
        "many. What is already in the record is not measured again.\n\n"
        "Example: autotune cover configs/cover.ini --budget 2m",
        cover, &options};
    option_sources(&options, table);
    return command_perform(argc, argv, &line, error);
}
