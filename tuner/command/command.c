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
#include <unistd.h>

static const double LAUNCH_TIMEOUT_S = 2.0; /* a sweep's, unless it says otherwise */

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

void option_sources(struct command_options *options, struct poptOption *table)
{
    table[0] = option_text("config", 'c', &options->config, "the sweep file", "FILE");
    table[1] = option_text("template", 0, &options->template,
                           "a template, with its defaults, in place of a sweep file", "FILE");
    table[2] = option_list("kernel", 'k', &options->kernels,
                           "only this kernel of the sweep file, may be repeated; without one, the "
                           "template of this name",
                           "NAME");
    table[3] = option_templates(&options->templates);
    table[4] = option_list("set", 's', &options->settings,
                           "values of a parameter or of the problem, in place of the sweep's or "
                           "the template's; may be repeated",
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

int command_unknown_option(const struct command_line *line, const char *name,
                           const char *const *values, struct error *error)
{
    const char *command = line->help + (line->help[0] == '[');
    int length = (int)strcspn(command, " ]\n");
    const char **known = NULL;
    size_t count = 0;
    for (const struct poptOption *option = line->options; option->longName != NULL; option++)
        *ARRAY_APPEND(known, count) = option->longName;
    for (; values != NULL && *values != NULL; values++)
        *ARRAY_APPEND(known, count) = *values;
    *ARRAY_APPEND(known, count) = NULL;
    const char *nearest = suggestion_nearest(name, known);
    int status =
        nearest != NULL
            ? error_set(error, ERROR_USAGE, "unknown option '--%s'; did you mean '--%s'?", name,
                        nearest)
            : error_set(error, ERROR_USAGE, "unknown option '--%s'; see `autotune %.*s --help`",
                        name, length, command);
    free(known);
    return status;
}

/* The option that popt does not take. */
static int bad_option(poptContext context, int result, const struct command_line *line,
                      const char *command, struct error *error)
{
    const char *option = poptBadOption(context, POPT_BADOPTION_NOALIAS);
    if (result != POPT_ERROR_BADOPT || strncmp(option, "--", 2) != 0)
        return error_set(error, ERROR_USAGE, "%s: %s; see `autotune %s --help`", option,
                         result == POPT_ERROR_BADNUMBER ? "expected a whole number"
                                                        : poptStrerror(result),
                         command);
    char *name = alloc_string_n(option + 2, strcspn(option + 2, "="));
    int status = command_unknown_option(line, name, NULL, error);
    free(name);
    return status;
}

/* Where the option's value is; NULL if the command has none of this name. */
static char **find_option(const struct command_line *line, const char *name)
{
    for (const struct poptOption *option = line->options; option->longName != NULL; option++)
        if (strcmp(option->longName, name) == 0)
            return option->arg;
    return NULL;
}

/* Takes the only argument as --config or, if it is one, --template. */
static int take_file(const struct command_line *line, char **arguments, const char *command,
                     struct error *error)
{
    char **config = find_option(line, "config");
    if (config == NULL || arguments[1] != NULL)
        return error_set(error, ERROR_USAGE, "unexpected argument '%s'; see `autotune %s --help`",
                         arguments[config != NULL], command);
    char **option = template_is_one(arguments[0]) ? find_option(line, "template") : config;
    if (*option != NULL)
        return error_set(error, ERROR_USAGE, "'%s' and '%s': name one sweep file or template",
                         *option, arguments[0]);
    *option = alloc_string(arguments[0]);
    return 0;
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
        status = bad_option(context, result, line, command, error);
    else if (help_asked)
        poptPrintHelp(context, stdout, 0);
    for (const struct poptOption *option = line->options;
         option->longName != NULL && status == 0 && !help_asked; option++) {
        unsigned kind = option->argInfo & POPT_ARG_MASK;
        const char *value = kind == POPT_ARG_STRING ? *(char *const *)option->arg : NULL;
        if (kind == POPT_ARG_ARGV && *(char **const *)option->arg != NULL)
            value = (*(char **const *)option->arg)[0];
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
        status = take_file(line, *arguments, command, error);
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

int command_tuned_path(const char *given, const char **path, struct error *error)
{
    *path = given != NULL ? given : "results/tuned.ini";
    if (given != NULL || access(*path, F_OK) == 0)
        return 0;
    return error_set_at(error, ERROR_CONFIG, *path, 0,
                        "there is no tuned INI yet; tune first, or name one with --tuned");
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

/* Checks how the sweep or template is named; --kernel alone becomes --template. */
static int find_source(struct command_options *options, struct error *error)
{
    if (options->template != NULL && (options->config != NULL || options->kernels != NULL))
        return error_set(error, ERROR_USAGE,
                         "--template names the only kernel; leave out --config and --kernel");
    if (options->templates != NULL && (options->template != NULL || options->config != NULL))
        return error_set(error, ERROR_USAGE,
                         "--templates is where --kernel finds a template; leave it out: a sweep "
                         "file names its own folder with 'templates'");
    if (options->template != NULL || options->config != NULL)
        return 0;
    if (options->kernels == NULL)
        return error_set(error, ERROR_USAGE,
                         "no kernel; name a sweep file, for example --config configs/sweep.ini, "
                         "or a template with --template or --kernel");
    if (options->kernels[1] != NULL)
        return error_set(error, ERROR_USAGE,
                         "several kernels need a sweep file; name it with --config, or give "
                         "--kernel once");
    options->template = build_find_template(options->templates, options->kernels[0], error);
    return options->template != NULL ? 0 : error->code;
}

int command_check(struct command_options *options, bool needs_source, enum report_format *format,
                  struct error *error)
{
    int known = report_format_from_name(options->format != NULL ? options->format : "table");
    if (known < 0)
        return error_set(error, ERROR_USAGE,
                         "unknown format '%s'; choose table, csv, json, html or t4",
                         options->format);
    if (options->top < 0 || options->device < 0)
        return error_set(error, ERROR_USAGE, "--top and --device must not be negative");
    *format = (enum report_format)known;
    return needs_source ? find_source(options, error) : 0;
}

struct sweep_request command_sweep_request(const struct command_options *options)
{
    size_t count = 0;
    while (options->kernels != NULL && options->kernels[count] != NULL)
        count++;
    return (struct sweep_request){.path = options->config,
                                  .template = options->template,
                                  .only = (const char *const *)options->kernels,
                                  .only_count = count,
                                  .settings = (const char *const *)options->settings,
                                  .range = options->range};
}

int command_load_sweep(struct command_options *options, bool unfinished, struct sweep *sweep,
                       struct error *error)
{
    struct sweep_request request = command_sweep_request(options);
    request.unfinished = unfinished;
    int status = sweep_open(sweep, &request, error);
    if (status == 0 && options->tuned == NULL && options->results != NULL) {
        const char *slash = strrchr(sweep->tuned, '/');
        options->tuned =
            alloc_format("%s/%s", options->results, slash != NULL ? slash + 1 : sweep->tuned);
    }
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

/* Whether the name is like an option's; then that is the error. */
static bool is_misspelt(const struct command_line *line, const char *name, size_t length,
                        struct error *error)
{
    struct error unknown;
    char *copy = alloc_string_n(name, strnlen(name, length));
    (void)command_unknown_option(line, copy, NULL, &unknown);
    bool misspelt = strstr(unknown.message, "did you mean") != NULL;
    if (misspelt)
        *error = unknown;
    free(copy);
    return misspelt;
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
        if (status != 0)
            (void)is_misspelt(line, name, length, error);
    }
    return status;
}

int command_perform(int argc, const char **argv, const struct command_line *line,
                    struct error *error)
{
    struct command_input input = {.argc = argc, .argv = argv, .line = line};
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

void command_default_variant(const struct sweep_kernel *kernel, const struct bindings *fixed,
                             struct bindings *parameters)
{
    const struct template *template = &kernel->template;
    const struct scope outer = {fixed, NULL};
    const struct scope scope = {parameters, &outer};
    bool allowed = true;
    for (size_t i = 0; i < template->parameter_count; i++) {
        const struct value_list *list = &kernel->values[i];
        struct value value = list->values[0];
        for (size_t j = 0; j < list->count; j++)
            if (value_equal(list->values[j], template->parameters[i].fallback))
                value = list->values[j];
        bindings_set(parameters, template->parameters[i].name, value);
    }
    for (size_t i = 0; i < kernel->constraint_count && allowed; i++)
        if (!constraint_needs_stats(kernel->constraints[i]) &&
            expression_boolean(kernel->constraints[i], &scope, &allowed, NULL) != 0)
            allowed = true;
    if (allowed)
        return;
    struct bindings first = {0};
    struct space *space =
        space_new(template, kernel->values, kernel->constraints, kernel->constraint_count, fixed);
    if (space_next(space, &first, NULL) == 1)
        bindings_copy(parameters, &first);
    bindings_release(&first);
    space_free(space);
}

/* Adds to `values` what the sweep has for the variant's kernel, and loads its template. */
static int load_from_sweep(struct command_variant *variant, struct bindings *values,
                           struct error *error)
{
    struct sweep sweep = {0};
    struct bindings defaults = {0};
    const struct sweep_request request = command_sweep_request(&variant->source);
    int status = sweep_open(&sweep, &request, error);
    if (status != 0)
        return status;
    const struct sweep_kernel *kernel = &sweep.kernels[0];
    if (sweep.kernel_count > 1)
        status = error_set_at(error, ERROR_USAGE, sweep.path, 0,
                              "the sweep has several kernels; choose one, for example --kernel %s",
                              kernel->label);
    if (status == 0)
        status = template_load(&variant->template, kernel->template.path, error);
    if (status == 0) {
        command_default_variant(kernel, &kernel->problems[0], &defaults);
        bindings_append(&defaults, &kernel->problems[0]);
        for (size_t i = 0; i < defaults.count; i++)
            if (bindings_find(values, defaults.items[i].name) == NULL)
                bindings_set(values, defaults.items[i].name, defaults.items[i].value);
        variant->cold = kernel->cold;
        variant->launch_timeout_s = sweep.launch_timeout_s;
    }
    bindings_release(&defaults);
    sweep_release(&sweep);
    return status;
}

/* The first value of the input that the template does not have was meant as an option. */
static int check_values(const struct command_variant *variant, const struct command_input *input,
                        size_t count, struct error *error)
{
    struct names known = {0};
    int status = 0;
    template_add_names(&variant->template, &known);
    for (size_t i = 0; i < count && status == 0; i++)
        if (!names_have(known.items, input->values.items[i].name))
            status = command_unknown_option(input->line, input->values.items[i].name, known.items,
                                            error);
    free(known.items);
    return status;
}

int command_variant_load(struct command_variant *variant, struct command_input *input,
                         struct error *error)
{
    const size_t typed = input->values.count;
    char **setting = variant->source.settings;
    int status = find_source(&variant->source, error);
    for (size_t i = 0; i < typed && status != 0; i++)
        if (is_misspelt(input->line, input->values.items[i].name, SIZE_MAX, error))
            break;
    for (; setting != NULL && *setting != NULL && status == 0; setting++)
        status = command_value_set(&input->values, *setting, error);
    variant->launch_timeout_s = LAUNCH_TIMEOUT_S;
    if (status == 0 && variant->source.config != NULL) {
        status = load_from_sweep(variant, &input->values, error);
    } else if (status == 0) {
        status = template_load(&variant->template, variant->source.template, error);
        variant->cold = variant->template.cold;
    }
    if (status == 0)
        status = check_values(variant, input, typed, error);
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

void command_advise(struct error *error, const char *advice)
{
    size_t length = strlen(error->message);
    (void)snprintf(error->message + length, sizeof error->message - length, "; %s", advice);
}

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
