/*
 * Options named after a kernel's own values (--n 5000000), which no option table can list: they are
 * taken out before command_parse() sees the rest.
 */
#ifndef AUTOTUNE_COMMAND_VALUES_H
#define AUTOTUNE_COMMAND_VALUES_H

#include "base/error.h"
#include "template/value.h"

#include <popt.h>
#include <stddef.h>

struct command_values {
    const char **argv; /* what is left, the command's name first */
    int argc;
    struct bindings values; /* of --NAME VALUE and --NAME=VALUE where the table has no NAME */
};

/* Returns 0, or ERROR_USAGE for an option without its value or a value that is none. To be released
 * in any case. */
int command_values_take(struct command_values *taken, int argc, const char **argv,
                        const struct poptOption *table, struct error *error);
void command_values_release(struct command_values *taken);

/* Adds what --set NAME=VALUE said, `settings` ended by NULL (or NULL itself). */
int command_values_set(struct bindings *values, char *const *settings, struct error *error);

#endif
