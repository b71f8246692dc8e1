#include "command/command.h"

#include "base/alloc.h"

#include <stdio.h>
#include <stdlib.h>

static int report(void *user, struct command_input *input, struct error *error)
{
    struct command_options *options = user;
    struct study *studies = NULL;
    size_t count = 0;
    size_t chosen_count = 0;
    struct report_options report = {.top = (size_t)options->top};
    (void)input;
    char *path =
        alloc_format("%s/record.sqlite", options->results != NULL ? options->results : "results");
    int status = command_check(options, false, &report.format, error);
    if (status == 0)
        status = command_read_record(path, &studies, &count, error);
    if (status == 0 && count == 0) /* the run that made it was interrupted before its first study */
        status = error_set_at(error, ERROR_RECORD, path, 0,
                              "the record is empty; run `autotune --config FILE` first");
    report.record = studies;
    report.record_count = count;
    const char **names = alloc_zeroed(count, sizeof *names);
    struct study *chosen = alloc_zeroed(count, sizeof *chosen); /* by --kernel, or all; borrowed */
    for (size_t i = 0; i < count; i++) {
        names[i] = studies[i].kernel;
        if (command_wants_kernel(options->kernels, names[i]))
            chosen[chosen_count++] = studies[i];
    }
    if (status == 0)
        status = command_check_kernels(options->kernels, names, count, error);
    if (status == 0)
        status = options->output != NULL
                     ? report_write(options->output, chosen, chosen_count, &report, error)
                     : report_print(stdout, chosen, chosen_count, &report, error);
    free(chosen);
    free(names);
    command_free_studies(studies, count);
    free(path);
    return status;
}

int command_report(int argc, const char **argv, struct error *error)
{
    struct command_options options = {0};
    const struct poptOption table[] = {
        option_text("results", 'r', &options.results, "the folder of the record (default: results)",
                    "DIR"),
        option_kernels(&options),
        option_format(&options),
        option_text("output", 'o', &options.output,
                    "write to this file; if PATH ends in /, write one file per study (html: per "
                    "kernel) into that folder",
                    "PATH"),
        option_top(&options),
        POPT_TABLEEND};
    const struct command_line line = {
        table, TAKES_OPTIONS,
        "report [OPTION...]\n\n"
        "Prints the stored results again, or writes them as a page with charts. Needs\n"
        "no GPU.\n\n"
        "Example: autotune report --kernel reduce_sum --format html --output sum.html",
        report, &options};
    return command_perform(argc, argv, &line, error);
}
