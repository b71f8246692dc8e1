#include "command/command.h"

#include "template/paths.h"

#include "base/alloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* popt's arguments live as long as its context; a new array of new strings, ended by NULL. */
static char **copy_arguments(poptContext context)
{
    char **copies = NULL;
    size_t count = 0;
    const char *argument;
    while ((argument = poptGetArg(context)) != NULL)
        *ARRAY_APPEND(copies, count) = alloc_string(argument);
    *ARRAY_APPEND(copies, count) = NULL;
    return copies;
}

int command_parse_arguments(int argc, const char **argv, const struct poptOption *options,
                            const char *summary, char ***arguments, struct error *error)
{
    int help = 0;
    struct poptOption table[] = {
        {NULL, 0, POPT_ARG_INCLUDE_TABLE, (void *)(uintptr_t)options, 0, "Options:", NULL},
        {"help", 'h', POPT_ARG_NONE, &help, 0, "this help", NULL},
        POPT_TABLEEND};
    const char **named = alloc_zeroed((size_t)argc + 1, sizeof *named);
    memcpy(named, argv, (size_t)argc * sizeof *named);
    named[0] = "autotune"; /* the summary begins with the command */
    poptContext context = poptGetContext("autotune", argc, named, table, 0);
    poptSetOtherOptionHelp(context, summary);
    int result = poptGetNextOpt(context);
    int status = 0;
    if (result < -1)
        status = error_set(error, ERROR_USAGE, "%s: %s; see `autotune %s --help`",
                           poptBadOption(context, POPT_BADOPTION_NOALIAS), poptStrerror(result),
                           argv[0]);
    else if (help)
        poptPrintHelp(context, stdout, 0);
    *arguments = copy_arguments(context);
    poptFreeContext(context);
    free(named);
    return status != 0 ? status : help;
}

void command_arguments_release(char **arguments)
{
    for (size_t i = 0; arguments != NULL && arguments[i] != NULL; i++)
        free(arguments[i]);
    free(arguments);
}

int command_parse(int argc, const char **argv, const struct poptOption *options,
                  const char *summary, struct error *error)
{
    char **left;
    int status = command_parse_arguments(argc, argv, options, summary, &left, error);
    if (status == 0 && left[0] != NULL)
        status = error_set(error, ERROR_USAGE, "unexpected argument '%s'; see `autotune %s --help`",
                           left[0], argv[0]);
    command_arguments_release(left);
    return status;
}

void command_options_release(struct command_options *options)
{
    free(options->config);
    free(options->arch);
    free(options->tuned);
    free(options->results);
    free(options->format);
    free(options->output);
    command_arguments_release(options->kernels);
    *options = (struct command_options){0};
}

int command_check(const struct command_options *options, bool needs_config,
                  enum report_format *format, struct error *error)
{
    int known = report_format_from_name(options->format != NULL ? options->format : "table");
    if (needs_config && options->config == NULL)
        return error_set(error, ERROR_USAGE,
                         "no sweep file; name one with --config, as --config configs/sweep.ini");
    if (known < 0)
        return error_set(error, ERROR_USAGE,
                         "unknown format '%s'; there are table, csv, json, html and t4",
                         options->format);
    if (options->top < 0 || options->device < 0)
        return error_set(error, ERROR_USAGE, "--top and --device take no negative number");
    *format = (enum report_format)known;
    return 0;
}

int command_load_sweep(const struct command_options *options, struct sweep *sweep,
                       struct error *error)
{
    size_t count = 0;
    while (options->kernels != NULL && options->kernels[count] != NULL)
        count++;
    int status =
        sweep_load(sweep, options->config, (const char *const *)options->kernels, count, error);
    if (status == 0 && !options->allow_path)
        status = paths_check(sweep, options->tuned == NULL, options->results == NULL, error);
    return status;
}
