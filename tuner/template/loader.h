/*
 * Reading a template (template_load.h): what the files that read its sections share.
 *
 * The loader keeps the first error. After it, every function here does nothing and returns NULL, so that
 * those who read need not ask after each step; whatever they have read then belongs to the template.
 */
#ifndef AUTOTUNE_LOADER_H
#define AUTOTUNE_LOADER_H

#include "template/template.h"
#include "template/value_list.h"

struct loader {
    struct template *template;
    struct error error;   /* code 0: none so far */
    struct names base;    /* problem values, device attributes, parameters */
    struct names buffers; /* the buffers' names, `reference` and, with verifiers, `wrong` */
    struct names grids;   /* base, and NAME_grid and NAME_block of all launches */
    struct names made;    /* these, in the order of the launches */
    size_t number;        /* of the arguments that are read now (struct argument) */
    size_t depth;         /* of the struct that is read now */
    bool expects;         /* expressions may have expected(NAME), the expected result of a buffer */
};

/* Where a text stands, and what its expressions may name. */
struct place {
    int line;
    const struct names *known;
};

/* --- loader.c --- */

bool loader_failed(const struct loader *loader);

/* Sets the error, in the template's file, unless there is one. */
void loader_fail(struct loader *loader, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same for a name that is none of `known`: names the nearest, or all. */
void loader_fail_unknown(struct loader *loader, int line, const char *what, const char *name,
                         const char *const *known);

/* The entry of a key; NULL if there is none. loader_need() then fails at `line`, the section's. */
const struct ini_entry *loader_get(struct loader *loader, const char *section, const char *key);
const struct ini_entry *loader_need(struct loader *loader, const char *section, int line,
                                    const char *key);

/* The expression `text`, or of a key, NULL if it is missing. It is the template's, which frees it. */
struct expression *loader_expression(struct loader *loader, const char *text,
                                     const struct place *at);
struct expression *loader_expression_of(struct loader *loader, const char *section, const char *key,
                                        const struct names *known);

/* The same; a value that is one of `words` (ended by NULL) needs no quotes. */
struct expression *loader_word_of(struct loader *loader, const char *section, const char *key,
                                  const char *const *words, const struct names *known);

/* A key whose value is yes or no; no if it is missing. */
bool loader_yes(struct loader *loader, const char *section, const char *key);

/* The parts of a text (value_list.h), and a copy of it, which the template frees. */
size_t loader_split(struct loader *loader, const char *text, char separator, char ***parts);
char *loader_copy(struct loader *loader, const char *text);

/* Splits "word(a, b)" in place into its word, which stays at `text`, and `*inner`, what is between
 * the parentheses; false, with `text` as it was, if it has another shape. */
bool split_call(char *text, char **inner);

/* Checks that a new name has no other meaning in expressions or sweeps, nor is that of a parameter,
 * problem value, buffer or figure read so far; and, for loader_check_name(), its letters. */
void loader_check_letters(struct loader *loader, const char *name, int line);
void loader_check_unused(struct loader *loader, const char *name, int line);
void loader_check_name(struct loader *loader, const char *name, int line);

/* Fills the lists of names, once parameters, problem values and members have theirs. */
void loader_collect_names(struct loader *loader);

/* The section [figures]; then the others' expressions may name them. The estimate, which may name whatever
 * they may. */
void loader_read_figures(struct loader *loader);

void loader_release(struct loader *loader);

/* --- template_kernel.c --- */

/* [kernel] but for its expressions. */
void loader_read_kernel(struct loader *loader);

/* [parameters], [launch_parameters] and [problem], then `define` of [kernel]. */
void loader_read_parameters(struct loader *loader);

/* `options`, `max_registers` and `features` of [kernel], and [precompiled_headers]: after the names. */
void loader_read_options(struct loader *loader);

/* --- template_launches.c --- */

/* [launch.NAME] or [reference.NAME], of which `launch` has the name and line. */
void loader_read_launch(struct loader *loader, const char *section, struct launch *launch,
                        bool reference);

/* Finds the launches of all [loop.NAME] sections, once their names are known; then reads one. */
void loader_link_loops(struct loader *loader);
void loader_read_loop(struct loader *loader, const char *section, struct loop *loop);

/* What launches and helpers (template.h) share: grid, block, shared bytes and arguments, each of which
 * may be missing. Arguments may name buffers in addition to `known`. */
void loader_read_geometry(struct loader *loader, const char *section, const struct names *known,
                          struct launch *launch);

/* Reads the arguments, one per text; buffers' names are known as well. */
void loader_read_arguments(struct loader *loader, char **texts, size_t count,
                           const struct place *at, struct launch *launch);

/* [constants]. */
void loader_read_constants(struct loader *loader);

/* Refuses `wrong` and, if so stated, `reference` among the arguments; and, of a helper of that kind, textures and
 * tensor maps. */
void loader_refuse_names(struct loader *loader, const struct launch *launch, bool reference);
void loader_check_helper(struct loader *loader, const struct launch *helper, const char *kind);

/* --- template_buffers.c --- */

/* [buffer.NAME], [expect.NAME] and [verify.NAME], of which only the line is known, and a buffer's name. */
void loader_read_buffer(struct loader *loader, const char *section, struct buffer *buffer);
void loader_read_expectation(struct loader *loader, const char *section,
                             struct expectation *expectation);
void loader_read_verifier(struct loader *loader, const char *section, struct verifier *verifier);

/* Gives each verifier the expected result that its arguments name. */
void loader_link_verifiers(struct loader *loader);

/* That every output has an expected result or a verifier, or is unchecked on purpose; that these do
 * without scratch buffers; and that no variable of the source is an argument. */
void loader_check_results(struct loader *loader);
void loader_check_symbols(struct loader *loader);

#endif
