#include "command/command.h"

#include "base/alloc.h"
#include "base/literal.h"
#include "base/suggestion.h"
#include "compile/single_compile.h"
#include "record/gpu.h"
#include "record/record.h"
#include "template/space.h"
#include "template/sweep.h"
#include "template/template_load.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct poptOption option_text(const char *name, char letter, char **value, const char *help,
                              const char *argument)
{
    return (struct poptOption){name, letter, POPT_ARG_STRING, value, 0, help, argument};
}

struct poptOption option_list(const char *name, char letter, char ***values, const char *help,
                              const char *argument)
{
    return (struct poptOption){name, letter, POPT_ARG_ARGV, values, 0, help, argument};
}

struct poptOption option_number(const char *name, char letter, int *value, const char *help)
{
    return (struct poptOption){name, letter, POPT_ARG_INT, value, 0, help, "N"};
}

struct poptOption option_flag(const char *name, char letter, int *flag, const char *help)
{
    return (struct poptOption){name, letter, POPT_ARG_NONE, flag, 0, help, NULL};
}

struct poptOption option_config(struct command_options *options)
{
    return option_text("config", 'c', &options->config, "the sweep file", "FILE");
}

struct poptOption option_template(struct command_options *options)
{
    return option_text("template", 0, &options->template,
                       "a template, with its defaults, in place of a sweep file", "FILE");
}

struct poptOption option_settings(struct command_options *options)
{
    return option_list("set", 's', &options->settings,
                       "values of a parameter or of the problem, in place of the sweep's; may be "
                       "repeated",
                       "NAME=LIST");
}

struct poptOption option_kernels(struct command_options *options)
{
    return option_list("kernel", 'k', &options->kernels, "only this kernel; may be repeated",
                       "NAME");
}

struct poptOption option_templates(char **templates)
{
    return option_text("templates", 0, templates,
                       "the templates' folder (default: kernel_templates, or the installed ones)",
                       "DIR");
}

struct poptOption option_format(struct command_options *options)
{
    return option_text("format", 'f', &options->format,
                       "table, csv, json, html or t4 (default: table)", "FORMAT");
}

struct poptOption option_top(struct command_options *options)
{
    return option_number("top", 'n', &options->top, "rows per table (default: 10)");
}

struct poptOption option_record_on_network(struct command_options *options)
{
    return option_flag(
        "record-on-network", 0, &options->record_on_network,
        "allow the record on a network file system, where only one machine at a time "
        "may write to it");
}

/* Parses what is left of `command`'s arguments. Returns 0, 1 if help was printed, or an error. */
static int parse(int argc, const char **argv, const char *command, const struct command_line *line,
                 char ***arguments, struct error *error)
{
    int help_asked = 0;
    struct poptOption *table = NULL; /* the command's options and --help */
    size_t option_count = 0;
    size_t argument_count = 0;
    const char *argument;
    for (const struct poptOption *option = line->options; option->longName != NULL; option++)
        *ARRAY_APPEND(table, option_count) = *option;
    *ARRAY_APPEND(table, option_count) = option_flag("help", 'h', &help_asked, "show this help");
    *ARRAY_APPEND(table, option_count) = (struct poptOption)POPT_TABLEEND;
    char *intro = alloc_format("%s\n\nOptions:", line->help); /* popt's list of them follows */
    poptContext context = poptGetContext("autotune", argc, argv, table, 0);
    poptSetOtherOptionHelp(context, intro);
    int result = poptGetNextOpt(context);
    int status = 0;
    if (result < -1)
        status = error_set(error, ERROR_USAGE, "%s: %s; see `autotune %s --help`",
                           poptBadOption(context, POPT_BADOPTION_NOALIAS),
                           result == POPT_ERROR_BADNUMBER ? "expected a whole number"
                                                          : poptStrerror(result),
                           command);
    else if (help_asked)
        poptPrintHelp(context, stdout, 0);
    for (const struct poptOption *option = line->options;
         option->longName != NULL && status == 0 && !help_asked; option++) {
        bool is_text = (option->argInfo & POPT_ARG_MASK) == POPT_ARG_STRING;
        const char *value = is_text ? *(char *const *)option->arg : NULL;
        /* that of an unset variable; taken for a folder, it would be the root folder */
        if (value != NULL && value[0] == '\0')
            status = error_set(error, ERROR_USAGE,
                               "--%s is empty; give it a value, or leave it out; see `autotune %s "
                               "--help`",
                               option->longName, command);
    }
    while ((argument = poptGetArg(context)) != NULL) /* they belong to the context */
        *ARRAY_APPEND(*arguments, argument_count) = alloc_string(argument);
    *ARRAY_APPEND(*arguments, argument_count) = NULL;
    poptFreeContext(context);
    free(intro);
    free(table);
    if (status == 0 && !help_asked && line->takes != TAKES_ARGUMENTS && (*arguments)[0] != NULL)
        status = error_set(error, ERROR_USAGE, "unexpected argument '%s'; see `autotune %s --help`",
                           (*arguments)[0], command);
    return status != 0 ? status : help_asked;
}

static void free_list(char **items)
{
    for (size_t i = 0; items != NULL && items[i] != NULL; i++)
        free(items[i]);
    free(items);
}

bool command_is_among(const char *name, const char *const *names)
{
    while (*names != NULL && strcmp(*names, name) != 0)
        names++;
    return *names != NULL;
}

bool command_wants_kernel(char *const *kernels, const char *kernel)
{
    return kernels == NULL || command_is_among(kernel, (const char *const *)kernels);
}

int command_read_tuned(const char *path, struct tuned_file *tuned, struct error *error)
{
    int status = tuned_file_read(path, tuned, error);
    for (size_t i = 0; i < tuned->skipped_count; i++)
        error_print(&tuned->skipped[i].reason, stderr);
    return status;
}

int command_load_table(const char *path, struct tuned_table **table, struct error *error)
{
    struct tuned_error inner;
    struct error skipped;
    if (tuned_load(table, path, &inner) != 0)
        return error_set_at(error, ERROR_CONFIG, inner.file, inner.line, "%s", inner.message);
    (void)error_set_at(&skipped, ERROR_CONFIG, inner.file, inner.line, "a section is skipped: %s",
                       inner.message);
    if (inner.message[0] != '\0')
        error_print(&skipped, stderr);
    return 0;
}

int command_check_kernels(char *const *kernels, const char *const *names, size_t count,
                          struct error *error)
{
    const char **known = alloc_zeroed(count + 1, sizeof *known); /* each once */
    size_t known_count = 0;
    int status = 0;
    for (size_t i = 0; i < count; i++)
        if (!command_is_among(names[i], known))
            known[known_count++] = names[i];
    for (; kernels != NULL && *kernels != NULL && status == 0; kernels++)
        if (!command_is_among(*kernels, known)) {
            (void)suggestion_unknown("", 0, "kernel", *kernels, known, error);
            status = error->code = ERROR_USAGE;
        }
    free(known);
    return status;
}

int command_check(const struct command_options *options, bool needs_config,
                  enum report_format *format, struct error *error)
{
    int known = report_format_from_name(options->format != NULL ? options->format : "table");
    if (needs_config && options->config == NULL && options->template == NULL)
        return error_set(error, ERROR_USAGE,
                         "no sweep file; name one, for example --config configs/sweep.ini, or a "
                         "template with --template");
    if (options->template != NULL && (options->config != NULL || options->kernels != NULL))
        return error_set(error, ERROR_USAGE,
                         "--template names the only kernel; leave out --config and --kernel");
    if (known < 0)
        return error_set(error, ERROR_USAGE,
                         "unknown format '%s'; choose table, csv, json, html or t4",
                         options->format);
    if (options->top < 0 || options->device < 0)
        return error_set(error, ERROR_USAGE, "--top and --device must not be negative");
    *format = (enum report_format)known;
    return 0;
}

int command_load_sweep(const struct command_options *options, bool unfinished, struct sweep *sweep,
                       struct error *error)
{
    size_t count = 0;
    while (options->kernels != NULL && options->kernels[count] != NULL)
        count++;
    const struct sweep_request request = {
        .path = options->config,
        .template = options->template,
        .only = (const char *const *)options->kernels,
        .only_count = count,
        .settings = (const char *const *)options->settings,
        .unfinished = unfinished,
    };
    int status = sweep_open(sweep, &request, error);
    if (status == 0 && options->tuned == NULL)
        status = sweep_check_output(sweep, sweep->tuned, "tuned", error);
    if (status == 0 && options->results == NULL)
        status = sweep_check_output(sweep, sweep->results, "results", error);
    return status;
}

char *command_join(int argc, const char **argv)
{
    char *text = alloc_string("autotune");
    for (int i = 1; i < argc; i++)
        alloc_append(&text, " %s", argv[i]);
    return text;
}

int command_read_limits(const struct command_options *options, struct sweep_limits *limits,
                        struct error *error)
{
    if (options->jobs < 1 && options->jobs != JOBS_ALL)
        return error_set(error, ERROR_USAGE, "--jobs must be at least 1");
    if (options->budget != NULL && !duration_parse(options->budget, &limits->budget_s))
        return error_set(error, ERROR_USAGE,
                         "--budget '%s' is not a duration; write it as 90s, 10m or 2h",
                         options->budget);
    if (options->evaluations != EVALUATIONS_ALL && options->evaluations < 1)
        return error_set(error, ERROR_USAGE, "--evaluations must be at least 1");
    if (options->evaluations != EVALUATIONS_ALL)
        limits->evaluations = (size_t)options->evaluations;
    return 0;
}

/* --- values as options --- */

static int take_value(struct bindings *values, const char *name, size_t length, const char *text,
                      struct error *error)
{
    struct value value;
    struct value word;
    struct error reason;
    char *copy = alloc_string_n(name, length);
    int status = 0;
    if (value_parse(copy, &word, NULL) != 0 || word.kind != VALUE_WORD)
        status = error_set(error, ERROR_USAGE, "'%s' is neither an option nor the name of a value",
                           copy);
    else if (text == NULL)
        status =
            error_set(error, ERROR_USAGE, "no value for '%s'; write it like --%s 1024", copy, copy);
    else if (value_parse(text, &value, &reason) != 0)
        status = error_set(error, ERROR_USAGE, "value of '%s': %.1000s", copy, reason.message);
    else
        bindings_set(values, copy, value);
    free(copy);
    return status;
}

int command_value_set(struct bindings *values, const char *setting, struct error *error)
{
    size_t length = strcspn(setting, "=");
    return take_value(values, setting, length, setting[length] == '=' ? setting + length + 1 : NULL,
                      error);
}

/* Takes every --NAME VALUE and --NAME=VALUE whose NAME is not an option's, if the command takes values. The others are
 * in `rest`, an array with room for all arguments; `*count` is their number. */
static int take_values(struct command_input *input, const struct command_line *line,
                       const char **rest, int *count, struct error *error)
{
    int status = 0;
    for (int i = 0; i < input->argc && status == 0; i++) {
        bool is_long = strncmp(input->argv[i], "--", 2) == 0 && input->argv[i][2] != '\0';
        const char *name = input->argv[i] + (is_long ? 2 : 0);
        size_t length = strcspn(name, "=");
        bool is_option = length == strlen("help") && memcmp(name, "help", length) == 0;
        for (const struct poptOption *option = line->options; option->longName != NULL; option++)
            is_option = is_option || (strlen(option->longName) == length &&
                                      memcmp(option->longName, name, length) == 0);
        if (line->takes != TAKES_VALUES || i == 0 || !is_long || is_option)
            rest[(*count)++] = input->argv[i];
        else if (name[length] == '=')
            status = take_value(&input->values, name, length, name + length + 1, error);
        else
            status = take_value(&input->values, name, length,
                                i + 1 < input->argc ? input->argv[++i] : NULL, error);
    }
    return status;
}

int command_perform(int argc, const char **argv, const struct command_line *line,
                    struct error *error)
{
    struct command_input input = {.argc = argc, .argv = argv};
    const char **rest = alloc_zeroed((size_t)argc + 1, sizeof *rest);
    int count = 0;
    int status = take_values(&input, line, rest, &count, error);
    rest[0] = "autotune"; /* the usage begins with the command */
    if (status == 0)
        status = parse(count, rest, argv[0], line, &input.arguments, error);
    if (status == 0)
        status = line->run(line->user, &input, error);
    bindings_release(&input.values);
    free_list(input.arguments);
    for (const struct poptOption *option = line->options; option->longName != NULL; option++) {
        if ((option->argInfo & POPT_ARG_MASK) == POPT_ARG_STRING)
            free(*(char **)option->arg);
        else if ((option->argInfo & POPT_ARG_MASK) == POPT_ARG_ARGV)
            free_list(*(char ***)option->arg);
    }
    free(rest);
    return status < 0 ? status : 0;
}

/* --- one variant --- */

void command_variant_options(struct command_variant *variant, struct poptOption *table)
{
    table[0] = option_text("kernel", 'k', &variant->kernel, "the template, by its name", "NAME");
    table[1] = option_text("template", 0, &variant->path, "the template, by its file", "FILE");
    table[2] = option_list(
        "set", 's', &variant->settings,
        "a parameter or problem value; may be repeated (default: the template's)", "NAME=VALUE");
    table[3] = option_templates(&variant->templates);
}

int command_variant_load(struct command_variant *variant, struct command_input *input,
                         struct error *error)
{
    if ((variant->kernel == NULL) == (variant->path == NULL))
        return error_set(error, ERROR_USAGE,
                         "name one template, for example --kernel reduce_sum or --template "
                         "kernel_templates/reduce_sum.ini");
    int status = 0;
    for (char **setting = variant->settings; setting != NULL && *setting != NULL && status == 0;
         setting++)
        status = command_value_set(&input->values, *setting, error);
    if (status == 0 && variant->path == NULL)
        variant->path = build_find_template(variant->templates, variant->kernel, error);
    if (status == 0)
        status = variant->path == NULL ? error->code
                                       : template_load(&variant->template, variant->path, error);
    return status == 0 ? build_bind(&variant->template, &input->values, false, &variant->parameters,
                                    &variant->problem, error)
                       : status;
}

void command_variant_release(struct command_variant *variant)
{
    bindings_release(&variant->parameters);
    bindings_release(&variant->problem);
    template_release(&variant->template);
}

/* --- what commands read and print --- */

void command_notice(void *user, const struct error *notice)
{
    (void)user;
    error_print(notice, stderr);
}

int command_read_record(const char *path, struct study **studies, size_t *count,
                        struct error *error)
{
    struct record *record = NULL;
    int status = record_open_existing(&record, path, error);
    if (status == 0)
        status = record_studies(record, studies, count, error);
    record_close(record);
    return status;
}

void command_free_studies(struct study *studies, size_t count)
{
    for (size_t i = 0; i < count; i++)
        study_release(&studies[i]);
    free(studies);
}

int command_count_variants(const struct sweep_kernel *kernel, const struct bindings *problem,
                           const struct gpu *gpu, uint64_t *points, uint64_t *variants,
                           struct error *error)
{
    struct bindings fixed = {0};
    bindings_append(&fixed, problem);
    gpu_bindings(gpu, &fixed);
    struct space *space = space_new(&kernel->template, kernel->values, kernel->constraints,
                                    kernel->constraint_count, &fixed);
    int status = space_count(space, SPACE_VARIANT_LIMIT, variants, error);
    *points = space_points(space);
    space_free(space);
    bindings_release(&fixed);
    return status;
}

const char *command_variants_text(uint64_t variants, char buffer[32])
{
    bool many = variants > SPACE_VARIANT_LIMIT;
    (void)snprintf(buffer, 32, "%s%" PRIu64, many ? "more than " : "",
                   many ? (uint64_t)SPACE_VARIANT_LIMIT : variants);
    return buffer;
}
