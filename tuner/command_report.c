#include "command.h"

#include "alloc.h"
#include "record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_wanted(char *const *kernels, const char *kernel)
{
    for (; kernels != NULL && *kernels != NULL; kernels++)
        if (strcmp(*kernels, kernel) == 0)
            return true;
    return false;
}

/* Keeps the studies of --kernel's choice; all where there is none. */
static int choose(const struct command_options *options, struct study *studies, size_t *count,
                  struct error *error)
{
    size_t kept = 0;
    if (options->kernels == NULL)
        return 0;
    for (size_t i = 0; i < *count; i++) {
        if (is_wanted(options->kernels, studies[i].kernel))
            studies[kept++] = studies[i];
        else
            study_release(&studies[i]);
    }
    *count = kept;
    return kept > 0 ? 0
                    : error_set(error, ERROR_USAGE, "the record has no kernel '%s'",
                                options->kernels[0]);
}

int command_report(int argc, const char **argv, struct error *error)
{
    struct command_options options = {0};
    const struct poptOption table[] = {{"results", 'r', POPT_ARG_STRING, &options.results, 0,
                                        "the folder of the record (default: results)", "DIR"},
                                       OPTION_KERNEL(&options),
                                       OPTION_FORMAT(&options),
                                       OPTION_TOP(&options),
                                       POPT_TABLEEND};
    struct record *record = NULL;
    struct study *studies = NULL;
    size_t count = 0;
    enum report_format format;
    int status = command_parse(argc, argv, table,
                               "report\n\nPrints the stored results again; needs no GPU.\n"
                               "Example: autotune report --kernel reduce_sum --format csv",
                               error);
    if (status != 0)
        goto done;
    status = command_check(&options, false, &format, error);
    char *path =
        alloc_format("%s/record.sqlite", options.results != NULL ? options.results : "results");
    if (status == 0)
        status = record_open_existing(&record, path, error);
    if (status == 0)
        status = record_studies(record, &studies, &count, error);
    if (status == 0)
        status = choose(&options, studies, &count, error);
    struct report_options report = {.format = format, .top = (size_t)options.top};
    if (status == 0)
        status = report_print(stdout, studies, count, &report, error);
    for (size_t i = 0; i < count; i++)
        study_release(&studies[i]);
    free(studies);
    record_close(record);
    free(path);
done:
    command_options_release(&options);
    return status < 0 ? status : 0;
}
