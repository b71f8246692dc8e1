/*
 * Asks libtuned what an application would ask, from options that `explain` and `export` share.
 */
#ifndef AUTOTUNE_COMMAND_QUERY_H
#define AUTOTUNE_COMMAND_QUERY_H

#include "autotune/tuned.h"
#include "base/error.h"
#include "command/command.h"
#include "record/gpu.h"
#include "template/template.h"
#include "template/value.h"

#include <popt.h>
#include <stdbool.h>

struct command_query {
    /* options */
    char *kernel;
    char *tuned;
    char *template_path;
    char *gpu_name;
    char *arch;
    char *limit;
    char *cache;

    struct tuned_table *table;
    struct template template;
    struct tuned_gpu gpu;
    struct tuned_value problem[TUNED_PROBLEM_VALUES];
    struct tuned_query query;
    struct tuned_match match;
};

/* The options of a query, which end a command's table. */
enum { QUERY_OPTIONS = 7 };
void command_query_options(struct command_query *query, struct poptOption table[QUERY_OPTIONS + 1]);

/* Loads the table and, if the user names it, the template. Returns 0 or an error. */
int command_query_load(struct command_query *query, bool needs_kernel, struct error *error);

/* Whether --cache is a state. Returns 0 or ERROR_USAGE. */
int command_query_check_cache(const struct command_query *query, struct error *error);

/*
 * Finds the GPU that the options name, or this machine's, and looks up the configuration for the input's values, which
 * must outlive the answer. Returns 0; ERROR_USAGE for an unknown GPU and a value that the kernel does not have; or
 * ERROR_NOTHING_VALID, with the reason, if there is no answer.
 */
int command_query_ask(struct command_query *query, const struct command_input *input,
                      struct error *error);

void command_query_release(struct command_query *query);

#endif
