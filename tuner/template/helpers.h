/*
 * Helpers: the kernels of a source that the tuner launches for its own purposes, which are
 * references, kernel(...) fills and verifiers. They are compiled once, with the parameters'
 * defaults.
 */
#ifndef AUTOTUNE_HELPERS_H
#define AUTOTUNE_HELPERS_H

#include "template/template.h"

#include <stdbool.h>
#include <stddef.h>

struct helper {
    const struct launch *launch;
    const struct expectation
        *expectation; /* whose result is the argument `reference`; NULL: none */
};

/* The template's helper number `index`, from 0 on; false if there are no more. */
bool template_helper(const struct template *template, size_t index, struct helper *helper);

/* Whether there is any helper, so that the source has to be compiled with its defaults. */
bool template_has_helpers(const struct template *template);

#endif
