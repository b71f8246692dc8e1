/*
 * A sweep: which templates to tune, over which values, for which problems
 * (kernel_templates/README.md documents the format). Loading it also loads and checks its templates.
 */
#ifndef AUTOTUNE_SWEEP_H
#define AUTOTUNE_SWEEP_H

#include "base/error.h"
#include "template/device_list.h"
#include "template/expression.h"
#include "template/ini_file.h"
#include "template/sweep_cover.h"
#include "template/sweep_limits.h"
#include "template/template.h"
#include "template/value.h"
#include "template/value_list.h"

#include <stdbool.h>
#include <stddef.h>

struct sweep_kernel {
    const char *label; /* the section's name; the kernel's name in reports and the tuned INI */
    const char *description; /* the section's, or the template's */
    struct template template;
    struct value_list *values; /* of template.parameters[i]: as listed, or the default */
    struct value_list *problem_values;
    struct bindings *problems; /* every combination of problem values */
    size_t problem_count;
    const struct expression **constraints; /* the template's and the sweep's */
    size_t constraint_count;
    struct expression **own_constraints; /* the sweep's, and those of tuples; owned */
    size_t own_constraint_count;
    struct sweep_limits limits; /* the section's own */
    bool limited;               /* by these, or by those of [sweep] */
    struct sweep_cover cover;
    bool cold;
    int line;
};

struct sweep {
    char *path;
    struct ini_file ini;
    const char *tuned;   /* path of the tuned INI, relative to the current folder */
    const char *results; /* folder, likewise */
    double launch_timeout_s;
    double compile_timeout_s;
    struct device_list devices; /* what autotune tune uses, unless --device says otherwise */
    struct sweep_limits
        limits; /* of [sweep]: the budget of all kernels together, and the evaluations
                                   of those that state none */
    struct sweep_kernel *kernels;
    size_t kernel_count;
};

/*
 * Loads the sweep at `path`. With `only` (`only_count` names; 0: all) it loads just those kernels;
 * a name that the sweep does not have is ERROR_USAGE. Otherwise 0 or ERROR_CONFIG with file and
 * line; on failure the sweep is empty.
 */
int sweep_load(struct sweep *sweep, const char *path, const char *const *only, size_t only_count,
               struct error *error);

/* What to tune: a sweep file, or one template with its defaults. Strings are borrowed until the call
 * returns. */
struct sweep_request {
    const char *path;     /* of the sweep; NULL: */
    const char *template; /* of the template */
    const char *const *only;
    size_t only_count;
    const char *const
        *settings;   /* NAME=LIST in place of the sweep's lists; ended by NULL, or NULL */
    bool unfinished; /* also load templates with gaps, of which only parameters, problems and
                        constraints can be used; see sweep_check_finished() */
};

/* The same as sweep_load(). A setting whose name no kernel has is ERROR_USAGE. */
int sweep_open(struct sweep *sweep, const struct sweep_request *request, struct error *error);
void sweep_release(struct sweep *sweep);

/* ERROR_CONFIG at the first gap of a template. */
int sweep_check_finished(const struct sweep *sweep, struct error *error);

/* Sets the error of a kernel with more than SPACE_VARIANT_LIMIT variants; ERROR_CONFIG. */
int sweep_too_many(const struct sweep_kernel *kernel, struct error *error);

#endif
