/*
 * Loading a template, for template.c and the template_*.c alone. template_load() is the pipeline;
 * each file reads one kind of section and is told apart by the headings below. What they share is
 * struct loader, made for one template_load(). Every function that returns int returns 0, or
 * ERROR_CONFIG with the template's path and the line at fault; what was read until then belongs to
 * the template, whose release frees it.
 */
#ifndef AUTOTUNE_TEMPLATE_LOADER_H
#define AUTOTUNE_TEMPLATE_LOADER_H

#include "template/template.h"

/* A growing list of names, always ended by NULL: `count` includes it. An empty list has no items,
 * and is {0}. The names are borrowed; free(items) releases. */
struct names {
    const char **items;
    size_t count;
};

void names_add(struct names *names, const char *name);
void names_add_all(struct names *names, const char *const *more); /* `more` ends with NULL */

/* Whether `names`, ended by NULL, has `name`; a NULL list has none. */
bool names_have(const char *const *names, const char *name);

/* What loading needs besides the template. */
struct loader {
    struct template *template;
    struct evaluator *evaluator;
    struct error *error;
    struct names fixed;   /* problem values, device attributes: the same for all variants */
    struct names base;    /* parameters and fixed */
    struct names buffers; /* the buffers' names and `reference` */
    struct names grids;   /* base and NAME_grid, NAME_block of all launches */
    char **made;          /* names made here: NAME_grid, NAME_block */
    size_t made_count;
};

/* -- template_loader.c: steps that every kind of section takes --------------------------------- */

/* Sets the error at `line` and returns it; `format` has one %s, for `subject`. */
int loader_fail(const struct loader *loader, int line, const char *format, const char *subject);

/* The entry of a key, which counts as used; NULL where there is none. */
struct ini_entry *loader_get(struct loader *loader, const char *section, const char *key);

/* The same for a key that must be there; `line` is the section's. */
int loader_need(struct loader *loader, const char *section, int line, const char *key,
                struct ini_entry **entry);

/* Compiles `text` and checks that it names only what `known` has. On failure `*expression` is NULL
 * or, for an unknown name, the compiled expression: the caller keeps it either way. */
int loader_read_expression(struct loader *loader, const char *text, int line,
                           const struct names *known, struct expression **expression);

/* The same for the value of a key that may be missing, which leaves `*expression` as it is. */
int loader_read_key(struct loader *loader, const char *section, const char *key,
                    const struct names *known, struct expression **expression);

/* A path in the template, relative to the template's folder; a new string. */
char *loader_resolve_path(const struct loader *loader, const char *path);

/* Splits "word(a, b)" in place into its word, which stays at `text`, and `*inner`, what is between
 * the parentheses; false, with `text` as it was, where it has another shape. */
bool split_call(char *text, char **inner);

/* -- template_names.c: which names there are ---------------------------------------------------- */

/* The compiled figures that a launch's expressions may name; ended by NULL. */
const char *const *launch_figure_names(void);

/* That a name has the form of one: up to 31 lower-case letters, digits and underscores. */
int loader_check_letters(const struct loader *loader, const char *name, int line);

/* That a new name means nothing else: no figure, device attribute, function or key, and no
 * parameter, problem value or buffer read so far. */
int loader_check_unused(const struct loader *loader, const char *name, int line);

/* Both. */
int loader_check_name(const struct loader *loader, const char *name, int line);

/* Appends buffers, launches and expectations in the file's order, with their names and lines alone,
 * since expressions of any of them use these names. */
int loader_collect_members(struct loader *loader);

/* Fills the loader's lists of names and the template's `constraint_names`; after parameters, problem
 * and members. */
int loader_collect_names(struct loader *loader);

/* -- template_parameters.c: parameters and problem values ---------------------------------------- */

/* Appends the members of `section` to the problem's values, where it is that section, else to the
 * parameters. `compiled`: numbers reach the kernel as definitions, as words always do. */
int loader_read_parameters(struct loader *loader, const char *section, bool compiled);

/* -- template_buffers.c: element types, fills, buffers ------------------------------------------- */

/* That `type` is an element type, or a problem word whose every choice is one. `scratch`: a
 * tunable's word will do as well, since the buffer is made for each variant. */
int loader_check_type(const struct loader *loader, const char *type, int line, bool scratch);

/* "uniform(-1, 1)"; its arguments may name what `known` has. */
int loader_read_fill(struct loader *loader, const char *text, int line, const struct names *known,
                     struct fill *fill);

/* The rest of a collected buffer. */
int loader_read_buffer(struct loader *loader, const char *section, struct buffer *buffer);

/* -- template_launches.c: geometry, arguments, loops, launches ------------------------------------ */

/* What a launch and a reference share: grid, block, shared bytes and arguments, each of which may be
 * missing. Arguments may name the buffers beside `known`. */
int loader_read_geometry(struct loader *loader, const char *section, const struct names *known,
                         struct launch *launch);

/* The rest of a collected launch, which is one of the template's `launches`. */
int loader_read_launch(struct loader *loader, const char *section, struct launch *launch);

/* -- template_expectations.c: comparisons, references --------------------------------------------- */

/* The rest of a collected expectation; its section's name has the buffer's after the dot. */
int loader_read_expectation(struct loader *loader, const char *section,
                            struct expectation *expectation);

#endif
