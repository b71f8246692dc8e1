#include "command.h"

#include <stdio.h>
#include <stdlib.h>

int command_parse(int argc, const char **argv, const struct poptOption *options,
                  const char *summary, struct error *error)
{
    int help = 0;
    struct poptOption table[] = {
        {NULL, 0, POPT_ARG_INCLUDE_TABLE, (void *)(uintptr_t)options, 0, "Options:", NULL},
        {"help", 'h', POPT_ARG_NONE, &help, 0, "this help", NULL},
        POPT_TABLEEND};
    poptContext context = poptGetContext("autotune", argc, argv, table, 0);
    poptSetOtherOptionHelp(context, summary);
    int result = poptGetNextOpt(context);
    int status = 0;
    const char *left = poptPeekArg(context);
    if (result < -1)
        status = error_set(error, ERROR_USAGE, "%s: %s; see `autotune %s --help`",
                           poptBadOption(context, POPT_BADOPTION_NOALIAS), poptStrerror(result),
                           argv[0]);
    else if (help)
        poptPrintHelp(context, stdout, 0);
    else if (left != NULL)
        status = error_set(error, ERROR_USAGE, "unexpected argument '%s'; see `autotune %s --help`",
                           left, argv[0]);
    poptFreeContext(context);
    return status != 0 ? status : help;
}

void command_options_release(struct command_options *options)
{
    free(options->config);
    free(options->arch);
    free(options->tuned);
    free(options->results);
    free(options->format);
    free(options->output);
    for (size_t i = 0; options->kernels != NULL && options->kernels[i] != NULL; i++)
        free(options->kernels[i]);
    free(options->kernels);
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
    return sweep_load(sweep, options->config, (const char *const *)options->kernels, count, error);
}
