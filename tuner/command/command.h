/*
 * The commands. To add one: a function in command_NAME.c, its declaration here, a line in main.c's
 * table and a section in man/autotune.1.
 */
#ifndef AUTOTUNE_COMMAND_H
#define AUTOTUNE_COMMAND_H

#include "base/error.h"
#include "record/tuned_file.h"
#include "report/report.h"
#include "template/sweep.h"
#include "template/template.h"
#include "template/value.h"

#include <autotune/tuned.h>
#include <limits.h>
#include <popt.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    JOBS_ALL = INT_MIN,       /* --jobs was not given: one worker per core */
    EVALUATIONS_ALL = INT_MIN /* --evaluations was not given */
};

/* The options that more than one command may take; each command's table lists its own. */
struct command_options {
    char *config; /* the sweep file; by --config, or the only argument */
    char *arch;
    char *tuned;
    char *results;
    char *format;
    char *output;
    char *template;
    char *templates; /* the folder */
    char *range;
    char *budget;
    char **kernels;  /* --kernel, ended by NULL */
    char **settings; /* --set, likewise */
    char *devices;
    int device; /* of commands that use only one */
    int jobs;
    int quiet;
    int progress;
    int remeasure;
    int timings;
    int exhaustive;
    int evaluations;
    int no_wait;
    int record_on_network;
    int top;
};

/*
 * Lines of a command's option table, which ends with POPT_TABLEEND. popt stores what the user gives
 * in `*value`; command_perform() frees strings and lists. `argument` stands for the value in the help.
 */
struct poptOption option_text(const char *name, char letter, char **value, const char *help,
                              const char *argument);
struct poptOption option_number(const char *name, char letter, int *value, const char *help);
struct poptOption option_flag(const char *name, char letter, int *flag, const char *help);

/* An option that may be repeated: `*values` ends with NULL, or is NULL if the user gave none. */
struct poptOption option_list(const char *name, char letter, char ***values, const char *help,
                              const char *argument);

/* The first of the tables of commands that take a sweep, a template or a variant of one: how to name it, and values in
 * place of its own. */
enum { SOURCE_OPTIONS = 5 };
void option_sources(struct command_options *options, struct poptOption *table);

/* The options that several commands share. */
struct poptOption option_kernels(struct command_options *options);
struct poptOption option_format(struct command_options *options);
struct poptOption option_top(struct command_options *options);
struct poptOption option_record_on_network(struct command_options *options);

/* What is given besides options. */
struct command_input {
    int argc; /* as typed, the command's name first */
    const char **argv;
    char **arguments; /* ends with NULL */
    struct bindings
        values; /* of options named after a kernel's own values: --n 5000000, --n=5000000 */
    const struct command_line *line;
};

/* Besides options. Commands with --config also take one argument, a sweep or a template. */
enum command_takes { TAKES_OPTIONS, TAKES_ARGUMENTS, TAKES_VALUES };

struct command_line {
    const struct poptOption *options; /* without --help */
    enum command_takes takes;         /* others are errors */
    const char
        *help; /* what --help prints between "Usage: autotune " and the options: the usage, an empty
                         line, what the command does, and an example */
    int (*run)(void *user, struct command_input *input, struct error *error);
    void *user;
};

/*
 * Parses a command's arguments, calls `run`, and frees what the options and the input have. Returns what `run` did; 0
 * if the user asked for help, which has been printed; or ERROR_USAGE for an unknown option, a bad number, an argument
 * left over, or a value without a number.
 */
int command_perform(int argc, const char **argv, const struct command_line *line,
                    struct error *error);

/* ERROR_USAGE for --NAME, which is neither an option nor one of `values` (ended by NULL; may be NULL), with the
 * nearest of them. */
int command_unknown_option(const struct command_line *line, const char *name,
                           const char *const *values, struct error *error);

/* One variant of a template, for the commands that take it from options. */
struct command_variant {
    struct command_options source;
    struct template template;
    struct bindings parameters, problem;
    bool cold;               /* as the template or the sweep says */
    double launch_timeout_s; /* likewise */
};

/* Loads the template, and binds the values of the input and of --set; the others are the template's defaults, or the
 * sweep's: command_default_variant() of its first problem. Release it in any case. */
int command_variant_load(struct command_variant *variant, struct command_input *input,
                         struct error *error);
void command_variant_release(struct command_variant *variant);

struct poptOption option_templates(char **templates);

/* The default of each parameter, or the first of the sweep's values if that is not among them; or the first variant of
 * the space if constraints on parameters or tuples rule these out. Constraints that fail rule nothing out. `fixed` has
 * the problem's values, and may have the device's attributes. */
void command_default_variant(const struct sweep_kernel *kernel, const struct bindings *fixed,
                             struct bindings *parameters);

/* Adds NAME=VALUE. Returns 0 or ERROR_USAGE. */
int command_value_set(struct bindings *values, const char *setting, struct error *error);

/* Appends what to do. */
void command_advise(struct error *error, const char *advice);

/* Prints it on stderr. */
void command_notice(void *user, const struct error *notice);

/* Reads all studies of a record, a new array. */
int command_read_record(const char *path, struct study **studies, size_t *count,
                        struct error *error);
void command_free_studies(struct study *studies, size_t count);

/* Counts a problem's points and variants, up to one more than SPACE_VARIANT_LIMIT; "12" or "more than 100000". */
int command_count_variants(const struct sweep_kernel *kernel, const struct bindings *problem,
                           const struct gpu *gpu, uint64_t *points, uint64_t *variants,
                           struct error *error);
const char *command_variants_text(uint64_t variants, char buffer[32]);

/* Whether `names`, ended by NULL, has `name`. */
bool command_is_among(const char *name, const char *const *names);

/* Whether `kernels`, the names of --kernel, has `kernel`, or is NULL. */
bool command_wants_kernel(char *const *kernels, const char *kernel);

/* The tuned INI that --tuned names, or results/tuned.ini. Returns 0, or ERROR_CONFIG if that is to be taken and is not
 * there. */
int command_tuned_path(const char *given, const char **path, struct error *error);

/* tuned_file_read(), with a warning on stderr for each section that was skipped. */
int command_read_tuned(const char *path, struct tuned_file *tuned, struct error *error);

/* tuned_load(), with a warning for the first section that was skipped. */
int command_load_table(const char *path, struct tuned_table **table, struct error *error);

/* Whether `names` has all `kernels`; otherwise ERROR_USAGE for the first that it has not, with the nearest or all. */
int command_check_kernels(char *const *kernels, const char *const *names, size_t count,
                          struct error *error);

/* Checks what the commands share: --format is known; and a sweep or a template is named (if `needs_source`), where
 * --kernel without a sweep becomes --template. */
int command_check(struct command_options *options, bool needs_source, enum report_format *format,
                  struct error *error);

/* What the options name. They outlive it. */
struct sweep_request command_sweep_request(const struct command_options *options);

/* Loads --config's sweep, limited to --kernel, or --template alone, with the values of --set; and
 * checks where it would write (sweep_check_output()). --results without --tuned becomes --tuned, too. With
 * `unfinished`, templates may have gaps: see struct sweep_request. */
int command_load_sweep(struct command_options *options, bool unfinished, struct sweep *sweep,
                       struct error *error);

/* `argv` as one line, for the record; a new string. */
char *command_join(int argc, const char **argv);

/* Reads --budget and --evaluations, leaving what is not given, and checks --jobs. Returns 0 or ERROR_USAGE. */
int command_read_limits(const struct command_options *options, struct sweep_limits *limits,
                        struct error *error);

/* Each returns 0 or the error's code; `argv[0]` is the command's name. */
int command_tune(int argc, const char **argv, struct error *error);
int command_cover(int argc, const char **argv, struct error *error);
int command_check_sweep(int argc, const char **argv, struct error *error);
int command_run(int argc, const char **argv, struct error *error);
int command_devices(int argc, const char **argv, struct error *error);
int command_report(int argc, const char **argv, struct error *error);
int command_explain(int argc, const char **argv, struct error *error);
int command_export(int argc, const char **argv, struct error *error);
int command_emit(int argc, const char **argv, struct error *error);
int command_bundle(int argc, const char **argv, struct error *error);
int command_merge(int argc, const char **argv, struct error *error);
int command_compare(int argc, const char **argv, struct error *error);
int command_simulate(int argc, const char **argv, struct error *error);
int command_init(int argc, const char **argv, struct error *error);
int command_import(int argc, const char **argv, struct error *error);
int command_cache(int argc, const char **argv, struct error *error);
int command_worker(int argc, const char **argv, struct error *error);

#endif
