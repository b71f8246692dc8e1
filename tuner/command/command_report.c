#include "command/command.h"

#include "base/alloc.h"

#include <stdio.h>
#include <stdlib.h>

/*
 * Copies the studies that --kernel chooses, or all, into a new array. Their contents still belong
 * to the caller.
 */
static int choose(const struct command_options *options, const struct study *studies, size_t count,
                  struct study **chosen, size_t *chosen_count, struct error *error)
{
    const char **names = alloc_zeroed(count, sizeof *names);
    *chosen = alloc_zeroed(count, sizeof **chosen);
    *chosen_count = 0;
    for (size_t i = 0; i < count; i++)
        names[i] = studies[i].kernel;
    for (size_t i = 0; i < count; i++)
        if (command_wants_kernel(options->kernels, studies[i].kernel))
            (*chosen)[(*chosen_count)++] = studies[i];
    int status = command_check_kernels(options->kernels, names, count, error);
    free(names);
    return status;
}

static int print(const struct command_options *options, enum report_format format,
                 const struct study *studies, size_t count, struct error *error)
{
    struct study *chosen = NULL;
    size_t chosen_count = 0;
    const struct report_options report = {
        .format = format, .top = (size_t)options->top, .record = studies, .record_count = count};
    int status = choose(options, studies, count, &chosen, &chosen_count, error);
    if (status == 0 && options->output != NULL)
        status = report_write(options->output, chosen, chosen_count, &report, error);
    else if (status == 0)
        status = report_print(stdout, chosen, chosen_count, &report, error);
    free(chosen);
    return status;
}

static int report(void *user, struct command_input *input, struct error *error)
{
    const struct command_options *options = user;
    struct study *studies = NULL;
    size_t count = 0;
    enum report_format format;
    (void)input;
    char *path =
        alloc_format("%s/record.sqlite", options->results != NULL ? options->results : "results");
    int status = command_check(options, false, &format, error);
    if (status == 0)
        status = command_read_record(path, &studies, &count, error);
    if (status == 0 && count == 0) /* the run that made it was interrupted before its first study */
        status = error_set_at(error, ERROR_RECORD, path, 0,
                              "the record is empty; run `autotune --config FILE` first");
    if (status == 0)
        status = print(options, format, studies, count, error);
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
