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
    char *config;
    char *arch;
    char *tuned;
    char *results;
    char *format;
    char *output;
    char *template;
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

/* The options that several commands share. */
struct poptOption option_config(struct command_options *options);
struct poptOption option_template(struct command_options *options);
struct poptOption option_settings(struct command_options *options);
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
};

enum command_takes { TAKES_OPTIONS, TAKES_ARGUMENTS, TAKES_VALUES };

struct command_line {
    const struct poptOption *options; /* without --help */
    enum command_takes takes;         /* besides options; others are errors */
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

/* One variant of a template, for the commands that take it from options. */
struct command_variant {
    char *kernel, *path, *templates; /* options */
    char **settings;
    struct template template;
    struct bindings parameters, problem;
};

/* The first of a command's table. */
enum { VARIANT_OPTIONS = 4 };
void command_variant_options(struct command_variant *variant, struct poptOption *table);

/* Loads the template, and binds the values of the input and of --set. Release it in any case. */
int command_variant_load(struct command_variant *variant, struct command_input *input,
                         struct error *error);
void command_variant_release(struct command_variant *variant);

/* The templates' folder. */
struct poptOption option_templates(char **templates);

/* Adds NAME=VALUE. Returns 0 or ERROR_USAGE. */
int command_value_set(struct bindings *values, const char *setting, struct error *error);

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

/* tuned_file_read(), with a warning on stderr for each section that was skipped. */
int command_read_tuned(const char *path, struct tuned_file *tuned, struct error *error);

/* tuned_load(), with a warning for the first section that was skipped. */
int command_load_table(const char *path, struct tuned_table **table, struct error *error);

/* Whether `names` has all `kernels`; otherwise ERROR_USAGE for the first that it has not, with the nearest or all. */
int command_check_kernels(char *const *kernels, const char *const *names, size_t count,
                          struct error *error);

/* Checks what the commands share: --config or --template is given (if `needs_config`), --format is
 * known. */
int command_check(const struct command_options *options, bool needs_config,
                  enum report_format *format, struct error *error);

/* Loads --config's sweep, limited to --kernel, or --template alone, with the values of --set; and
 * checks where it would write (sweep_check_output()). With `unfinished`, templates may have gaps: see
 * struct sweep_request. */
int command_load_sweep(const struct command_options *options, bool unfinished, struct sweep *sweep,
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
int command_import(int argc, const char **argv, struct error *error);
int command_cache(int argc, const char **argv, struct error *error);
int command_worker(int argc, const char **argv, struct error *error);

#endif
