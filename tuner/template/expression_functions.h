/*
 * The functions that an expression may call: one table of names, numbers of arguments and code. To
 * add one: write call_NAME(), add it to the table in the .c, and to kernel_templates/README.md.
 */
#ifndef AUTOTUNE_EXPRESSION_FUNCTIONS_H
#define AUTOTUNE_EXPRESSION_FUNCTIONS_H

#include "base/error.h"
#include "template/value.h"

#include <stddef.h>

struct expression_call {
    const char *name; /* for messages */
    const struct value *arguments;
    size_t count;
    struct error *error;
};

struct expression_function {
    const char *name;
    size_t least, most; /* number of arguments; call() relies on it */
    /* Returns 0, or ERROR_CONFIG, without a place, for an argument of the wrong kind or out of
     * range, or for a result that does not fit in 64 bits. `result` may be the first argument. */
    int (*call)(const struct expression_call *call, struct value *result);
};

/* The function called `name`; NULL if there is none. */
const struct expression_function *expression_function_find(const char *name);

/* Returns ERROR_CONFIG, without a place, because no function is called `name`; suggests the nearest
 * one. */
int expression_function_unknown(const char *name, struct error *error);

#endif
