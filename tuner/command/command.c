#include "command/command.h"

#include "base/alloc.h"
#include "base/literal.h"
#include "base/suggestion.h"
#include "template/sweep.h"

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

struct poptOption option_variant(char ***settings)
{
    return option_list("set", 's', settings,
                       "a parameter or problem value; may be repeated (default: the template's)",
                       "NAME=VALUE");
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

/* Copies the arguments that are left, which belong to the context; the new array ends with NULL. */
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

/* The command's options and --help; a new array. */
static struct poptOption *add_help(const struct poptOption *options, int *asked)
{
    struct poptOption *table = NULL;
    size_t count = 0;
    for (; options->longName != NULL; options++)
        *ARRAY_APPEND(table, count) = *options;
    *ARRAY_APPEND(table, count) = option_flag("help", 'h', asked, "show this help");
    *ARRAY_APPEND(table, count) = (struct poptOption)POPT_TABLEEND;
    return table;
}

/* An empty value is that of an unset variable. Taken for a folder, it would be the root folder. */
static int check_values(const char *command, const struct poptOption *options, struct error *error)
{
    for (; options->longName != NULL; options++) {
        if ((options->argInfo & POPT_ARG_MASK) != POPT_ARG_STRING)
            continue;
        const char *value = *(char *const *)options->arg;
        if (value != NULL && value[0] == '\0')
            return error_set(error, ERROR_USAGE,
                             "--%s is empty; give it a value, or leave it out; see `autotune %s "
                             "--help`",
                             options->longName, command);
    }
    return 0;
}

int command_parse_arguments(int argc, const char **argv, const struct poptOption *options,
                            const char *help, char ***arguments, struct error *error)
{
    int help_asked = 0;
    struct poptOption *table = add_help(options, &help_asked);
    char *intro = alloc_format("%s\n\nOptions:", help); /* popt's list of them follows */
    const char **named = alloc_zeroed((size_t)argc + 1, sizeof *named);
    memcpy(named, argv, (size_t)argc * sizeof *named);
    named[0] = "autotune"; /* the usage begins with the command */
    poptContext context = poptGetContext("autotune", argc, named, table, 0);
    poptSetOtherOptionHelp(context, intro);
    int result = poptGetNextOpt(context);
    int status = 0;
    if (result < -1)
        status = error_set(error, ERROR_USAGE, "%s: %s; see `autotune %s --help`",
                           poptBadOption(context, POPT_BADOPTION_NOALIAS),
                           result == POPT_ERROR_BADNUMBER ? "expected a whole number"
                                                          : poptStrerror(result),
                           argv[0]);
    else if (help_asked)
        poptPrintHelp(context, stdout, 0);
    else
        status = check_values(argv[0], options, error);
    *arguments = copy_arguments(context);
    poptFreeContext(context);
    free(named);
    free(intro);
    free(table);
    return status != 0 ? status : help_asked;
}

void command_arguments_release(char **arguments)
{
    for (size_t i = 0; arguments != NULL && arguments[i] != NULL; i++)
        free(arguments[i]);
    free(arguments);
}

int command_parse(int argc, const char **argv, const struct poptOption *options, const char *help,
                  struct error *error)
{
    char **left;
    int status = command_parse_arguments(argc, argv, options, help, &left, error);
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
    free(options->template);
    free(options->budget);
    free(options->devices);
    command_arguments_release(options->kernels);
    command_arguments_release(options->settings);
    *options = (struct command_options){0};
}

bool command_wants_kernel(char *const *kernels, const char *kernel)
{
    bool wanted = kernels == NULL;
    for (; kernels != NULL && *kernels != NULL; kernels++)
        wanted = wanted || strcmp(*kernels, kernel) == 0;
    return wanted;
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

static bool is_known(const char *name, const char *const *known, size_t count)
{
    size_t i = 0;
    while (i < count && strcmp(known[i], name) != 0)
        i++;
    return i < count;
}

int command_check_kernels(char *const *kernels, const char *const *names, size_t count,
                          struct error *error)
{
    const char **known = alloc_zeroed(count + 1, sizeof *known);
    size_t known_count = 0;
    int status = 0;
    for (size_t i = 0; i < count; i++)
        if (!is_known(names[i], known, known_count))
            known[known_count++] = names[i];
    for (; kernels != NULL && *kernels != NULL && status == 0; kernels++)
        if (!is_known(*kernels, known, known_count)) {
            status = ERROR_USAGE;
            (void)suggestion_unknown("", 0, "kernel", *kernels, known, error);
            if (error != NULL)
                error->code = ERROR_USAGE;
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

/* The option called `name`, of `length` bytes, or `letter`; NULL if there is none. */
static const struct poptOption *find_option(const struct poptOption *table, const char *name,
                                            size_t length, char letter)
{
    for (; table->longName != NULL || table->shortName != '\0'; table++) {
        if (name != NULL && table->longName != NULL && strlen(table->longName) == length &&
            memcmp(table->longName, name, length) == 0)
            return table;
        if (name == NULL && table->shortName == letter)
            return table;
    }
    return NULL;
}

static bool takes_argument(const struct poptOption *option)
{
    return (option->argInfo & POPT_ARG_MASK) != POPT_ARG_NONE;
}

static bool is_help(const char *argument)
{
    return strcmp(argument, "--help") == 0 || strcmp(argument, "-h") == 0;
}

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

static void pass(struct command_values *taken, const char *argument)
{
    taken->argv[taken->argc++] = argument;
}

/*
 * Takes argv[*index] and its value as a value of the kernel, or passes them on. Leaves *index at
 * the last argument used.
 */
static int sort_argument(struct command_values *taken, int argc, const char **argv, int *index,
                         const struct poptOption *table, struct error *error)
{
    const char *argument = argv[*index];
    const char *next = *index + 1 < argc ? argv[*index + 1] : NULL;
    bool is_long = strncmp(argument, "--", 2) == 0 && argument[2] != '\0';
    size_t length = is_long ? strcspn(argument + 2, "=") : 0;
    bool joined = is_long ? argument[2 + length] == '=' : strlen(argument) > 2;
    const struct poptOption *option = NULL;
    if (is_long)
        option = find_option(table, argument + 2, length, '\0');
    else if (argument[0] == '-' && argument[1] != '\0')
        option = find_option(table, NULL, 0, argument[1]);
    if (is_long && option == NULL && !is_help(argument)) {
        *index += !joined && next != NULL;
        return take_value(&taken->values, argument + 2, length,
                          joined ? argument + 3 + length : next, error);
    }
    pass(taken, argument);
    if (option != NULL && takes_argument(option) && !joined && next != NULL) {
        pass(taken, next);
        ++*index;
    }
    return 0;
}

int command_values_take(struct command_values *taken, int argc, const char **argv,
                        const struct poptOption *table, struct error *error)
{
    int status = 0;
    *taken = (struct command_values){0};
    taken->argv = alloc_zeroed((size_t)argc + 1, sizeof *taken->argv);
    pass(taken, argv[0]);
    for (int i = 1; i < argc && status == 0; i++)
        status = sort_argument(taken, argc, argv, &i, table, error);
    return status;
}

void command_values_release(struct command_values *taken)
{
    free(taken->argv);
    bindings_release(&taken->values);
    *taken = (struct command_values){0};
}

int command_values_set(struct bindings *values, char *const *settings, struct error *error)
{
    int status = 0;
    for (; settings != NULL && *settings != NULL && status == 0; settings++) {
        size_t length = strcspn(*settings, "=");
        status = take_value(values, *settings, length,
                            (*settings)[length] == '=' ? *settings + length + 1 : NULL, error);
    }
    return status;
}
