/*
 * Options named after a kernel's own values, such as --n 5000000. No option table can list them, so
 * they are taken out before command_parse() sees the rest.
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
    struct bindings values; /* from --NAME VALUE and --NAME=VALUE if the table has no NAME */
};

/* Returns 0, or ERROR_USAGE for an option without a value or with an invalid one. Release `taken`
 * in either case. */
int command_values_take(struct command_values *taken, int argc, const char **argv,
                        const struct poptOption *table, struct error *error);
void command_values_release(struct command_values *taken);

/* Adds the values of --set NAME=VALUE; `settings` ends with NULL, or is NULL. */
int command_values_set(struct bindings *values, char *const *settings, struct error *error);

#endif
