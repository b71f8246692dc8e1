/* Texts that `autotune export` writes. */
#ifndef AUTOTUNE_EXPORT_H
#define AUTOTUNE_EXPORT_H

#include "base/error.h"
#include "command/command_query.h"
#include "record/tuned_file.h"
#include "template/variant.h"

#include <autotune/tuned.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* In upper case. */
void export_put_upper(FILE *stream, const char *text);

/* A string literal that can also be part of a comment: nothing in it can end the literal or the comment. A new
 * string. */
char *export_string(const char *text);

/* ", NAME" for each; ", VALUE" for each, as the tuner passes it to the compiler: 256, 0.5,
 * FINISH_TWO_PASS. */
void export_put_names(FILE *stream, const struct tuned_value *values, size_t count);
void export_put_values(FILE *stream, const struct tuned_value *values, size_t count);

/* A new string: "SCALE_TEMPLATE_HASH". */
char *export_prefixed(const char *kernel, const char *name);

/* Defines a macro unless the application already has. If another exported header gives it a
 * different value, compiling is an error. The preprocessor cannot compare words, so each value has
 * a marker. */
void export_put_define(FILE *stream, const char *name, const char *value);

/* Defines KERNEL_TEMPLATE_HASH. */
void export_put_template_hash(FILE *stream, const char *kernel, const char *hash);

/* Which of a kernel's configurations a header of `autotune export` has. */

/* Whether those of the kernel that begins at `index` of the table come from one version of its template,
 * and from the one that the query names, if it names one. Returns 0 or ERROR_CONFIG. */
int export_check_versions(const struct command_query *query, size_t index, struct error *error);

/* Whether it is for the cache state that the query prefers. */
bool export_prefers(const struct command_query *query,
                    const struct tuned_configuration *configuration);

/* False if the table also has the configuration, or a cover of the same sizes, for the cache state that the query
 * prefers: in a header, the two could not be told apart. */
bool export_takes(const struct command_query *query,
                  const struct tuned_configuration *configuration);

/* --- covers: their configurations, and the rule as C --- */

/*
 * Writes the covers of the kernel whose configurations begin at `index` of the query's table, with the
 * entries of `tuned`. Cover number 1 of the kernel "sum" gets the macro SUM_COVER_1_CONFIGURATIONS
 * and the function sum_cover_1(problem_n, …, sm_count), which returns the number of the
 * configuration for a problem, or 0 outside the range. Returns 0 or an error of
 * cover_entry_check().
 */
int export_covers(FILE *stream, const struct command_query *query, const struct tuned_file *tuned,
                  size_t index, struct error *error);

/* --- JSON, and Python --- */

/* A configuration as its template has it, if `known`: if the template of the configuration's version was found. */
struct export_variant {
    bool known;
    struct template template;
    struct bindings parameters, problem;
    struct options options;
};

/* Of the table's `configuration`, or of `match`, whose `configuration` may be NULL. Returns 0, or ERROR_CONFIG if a value is
 * not one of the template's. Release it in any case. */
int export_variant(const struct command_query *query,
                   const struct tuned_configuration *configuration, const struct tuned_match *match,
                   struct export_variant *variant, struct error *error);
void export_variant_release(struct export_variant *variant);

/* "-DNAME=VALUE", as the source spells it; i < variant->options.definition_count. */
static inline const char *export_definition(const struct export_variant *variant, size_t i)
{
    const struct options *options = &variant->options;
    return options->items[options->count - options->definition_count + i];
}

/*
 * Writes an array of all configurations, or of the query's answer with its launches, as JSON or as a Python module
 * with the same text: there are no truth values and no nulls in it. Returns 0, or an error of finding out the launches.
 */
int export_json(FILE *stream, const struct command_query *query, bool all, bool python,
                struct error *error);

#endif
