/*
 * A sweep: which templates to tune, over which values, for which problems
 * (kernel_templates/README.md documents the format). Loading it also loads and checks its templates.
 * sweep_values.c reads the values; sweep.c the rest.
 */
#ifndef AUTOTUNE_SWEEP_H
#define AUTOTUNE_SWEEP_H

#include "base/error.h"
#include "template/ini_file.h"
#include "template/template.h"
#include "template/value.h"
#include "template/value_list.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How much a run may spend: `budget = 60s`, `evaluations = 200`. */
struct sweep_limits {
    double budget_s;    /* from start to result; 0: as long as it takes */
    size_t evaluations; /* variants tried per problem; 0: all */
};

/* The GPUs to tune on, as --device and the key `device` name them: "0", "0, 2, 3" or "all". Zeroed: not
 * stated. */
enum { DEVICES_MOST = 64 };
struct device_list {
    bool all;
    int ordinals[DEVICES_MOST]; /* counted from 0, each once, as listed */
    size_t count;
};

/* Returns false, with `list` zeroed, if `text` is neither "all" nor different numbers, separated by
 * commas. */
bool device_list_parse(const char *text, struct device_list *list);
bool device_list_is_stated(const struct device_list *list);

/*
 * The range of sizes that a few configurations are to cover:
 *
 *     cover = m, n = 64 .. 8192, k = 2^4 .. 2^13
 *     cover_configurations = 6
 */
enum {
    SWEEP_COVER_AXES = 6,
    SWEEP_COVER_USUAL = 4, /* unless the sweep says otherwise … */
    SWEEP_COVER_MOST = 16
};

struct cover_axis {
    const char *name; /* of a problem value; the template's */
    int64_t low, high;
};

struct sweep_cover {
    struct cover_axis axes[SWEEP_COVER_AXES];
    size_t axis_count; /* 0: the section has no `cover` */
    size_t configurations;
    int line;
};

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

/* What to tune: a sweep file, or one template with its defaults. Strings are borrowed until the call
 * returns. */
struct sweep_request {
    const char *path;        /* of the sweep; NULL: */
    const char *template;    /* of the template */
    const char *const *only; /* the kernels to load; a count of 0: all */
    size_t only_count;
    const char *const
        *settings;     /* NAME=LIST in place of the sweep's lists; ended by NULL, or NULL */
    const char *range; /* in place of the kernels' `cover`; or NULL */
    bool unfinished;   /* also load templates with gaps, of which only parameters, problems and
                        constraints can be used; see sweep_check_finished() */
};

/* Loads a sweep. Returns 0, ERROR_CONFIG with file and line, or ERROR_USAGE for a name of `only` that the
 * sweep does not have and a setting whose name no kernel has. On failure the sweep is empty. */
int sweep_open(struct sweep *sweep, const struct sweep_request *request, struct error *error);
void sweep_release(struct sweep *sweep);

/* ERROR_CONFIG at the first gap of a template. */
int sweep_check_finished(const struct sweep *sweep, struct error *error);

/*
 * Sweep files may come from strangers, so they may make autotune write only below the current folder;
 * the command line may name any place. Checks the value `path` of `key`, following symbolic links.
 * Returns 0, or ERROR_CONFIG with the name of the file.
 */
int sweep_check_output(const struct sweep *sweep, const char *path, const char *key,
                       struct error *error);

/* Sets the error of a kernel with more than SPACE_VARIANT_LIMIT variants; ERROR_CONFIG. */
int sweep_too_many(const struct sweep_kernel *kernel, struct error *error);

/* --- sweep_values.c --- */

/*
 * Reads the values of parameters and problem values: those of the kernel's section, and those of
 * `settings` in their place. Sets values, problem_values, problems and, with the constraints that tuples
 * are, own_constraints; they are the kernel's also after a failure.
 *
 *     block_size = 64, 128            a list (value_list.h)
 *     (m, n) = (512, 64), (64, 512)   tuples: these combinations alone
 *     --set block_size=256            in place of the section's list
 *
 * Settings of other kernels' names are passed over. Returns 0; ERROR_CONFIG with the place; or
 * ERROR_USAGE for a setting without a value.
 */
int sweep_values_read(struct sweep_kernel *kernel, const struct ini_file *ini, const char *path,
                      const char *const *settings, struct error *error);

/* Whether a text is in parentheses, as (m, n) and (64, 128) are. */
bool sweep_is_tuple(const char *text);

/* ERROR_USAGE at the first setting that names nothing that any of the kernels has. */
int sweep_check_settings(const struct sweep *sweep, const char *const *settings,
                         struct error *error);

#endif
