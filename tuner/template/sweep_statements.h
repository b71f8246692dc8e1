/*
 * The statements "names = values" of a kernel's section, and those of the command line that replace
 * them (sweep_values.h reads the values).
 */
#ifndef AUTOTUNE_SWEEP_STATEMENTS_H
#define AUTOTUNE_SWEEP_STATEMENTS_H

#include "base/error.h"
#include "template/ini_file.h"
#include "template/template.h"
#include "template/value.h"

#include <stdbool.h>
#include <stddef.h>

/* Where the values are read from. */
struct sweep_section {
    const struct template *template;
    const struct ini_file *ini;
    const char *path;  /* of the sweep */
    const char *label; /* the section's name */
    int line;
    const char *const *settings; /* NAME=LIST or (NAME, NAME)=TUPLES; ended by NULL, or NULL */
};

struct sweep_statement {
    char *key;
    char **names; /* none: the command line replaces it */
    size_t name_count;
    char *value;
    const char *file;
    int line;            /* 0: of the command line */
    struct value **rows; /* of a tuple: a value for each name; words belong to the lists */
    size_t row_count;
};

struct sweep_statements {
    struct sweep_statement *items;
    size_t count;
};

/* Those of the section and the command line. Returns 0; ERROR_CONFIG for names that are unknown,
 * mixed or given twice; or ERROR_USAGE for a setting without a value. Release in any case. */
int sweep_statements_collect(struct sweep_statements *statements,
                             const struct sweep_section *section, struct error *error);

/* The statement of one setting alone; its names are not checked. */
void sweep_statements_of_setting(struct sweep_statements *statements, const char *setting);
void sweep_statements_release(struct sweep_statements *statements);

/* Whether it names `name`; whether it names anything that the template has. */
bool sweep_statement_names(const struct sweep_statement *statement, const char *name);
bool sweep_statement_concerns(const struct sweep_statement *statement,
                              const struct template *template);

/* Sets the error at the statement's place; `format` has one %s, for `subject`. */
int sweep_statement_fail(const struct sweep_statement *statement, const char *format,
                         const char *subject, struct error *error);

/* ERROR_CONFIG for a name that the template does not have, with the nearest. */
int sweep_statement_unknown(const struct sweep_statement *statement,
                            const struct template *template, const char *name, struct error *error);

/* Whether a text is in parentheses, as (m, n) and (64, 128) are. */
bool sweep_statement_is_tuple(const char *text);

#endif
