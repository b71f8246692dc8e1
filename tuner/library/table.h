/*
 * A loaded table. Private to libtuned, which checks every allocation and never aborts. From the
 * tuner it uses only files of base/ that keep the same rules: the readers of INI text, of the tuned
 * INI, of covers, of expressions and of values.
 */
#ifndef TUNED_LIBRARY_TABLE_H
#define TUNED_LIBRARY_TABLE_H

#include "base/cover.h"
#include "base/ini_reader.h"
#include "base/literal.h"

#include <autotune/tuned.h>
#include <stdbool.h>
#include <stddef.h>

/* Strings, one after the other. */
struct pool {
    char *strings;
    size_t used, room;
};

/* Values of one kind; `scales` are the s(x) of the distance in enum tuned_rule. */
struct values {
    struct tuned_value *items;
    double *scales;
    size_t count;
    size_t room;
};

/* The defaults of a template. */
struct defaults {
    struct defaults *next;
    const char *name;
    struct values parameters;
    struct values problem;
    struct pool pool;
};

/*
 * Configurations of a kernel that differ only in their problem's numbers and in their answers: the
 * GPU, the version of the template, and the problem's names and words are those of `model`. So a
 * look-up makes most comparisons once per group.
 */
struct group {
    const struct tuned_configuration *model; /* the first of them */
    size_t first, count;                     /* in tuned_table.members */
    bool like_last; /* names and words are those of the kernel's group before this one */
};

/* A configuration, as a member of its group. */
struct member {
    const struct tuned_configuration *configuration;
    const double *scales; /* of configuration->problem */
};

struct kernel {
    const char *name;
    const struct tuned_configuration *first; /* of its configurations */
    size_t first_group, group_count;
    size_t first_cover, cover_count;
};

struct tuned_table {
    struct tuned_configuration *configurations; /* by kernel, GPU and place in the file */
    size_t count, room;
    struct kernel *kernels; /* by name */
    size_t kernel_count;
    struct group *groups; /* by kernel; see groups.c */
    size_t group_count;
    struct member *members; /* by group, then as `configurations`; without those of covers */
    size_t member_count;
    struct cover **sorted_covers; /* as `configurations` */
    size_t cover_count;
    struct cover *covers;   /* all, to be freed */
    struct tuned_gpu *gpus; /* each once */
    size_t gpu_count;
    struct values parameters; /* of all configurations, one after the other */
    struct values problems;
    struct pool pool;
    char *folder; /* of a bundle; otherwise NULL */
    struct defaults *templates;
};

/* The template's defaults; NULL if they are not known. */
const struct defaults *tuned_defaults_of(const struct tuned_table *table, const char *name);

/* The same for a kernel's template: its configurations name it if it is `known`; otherwise it has the
 * kernel's name. */
const struct defaults *tuned_defaults_for(const struct tuned_table *table,
                                          const struct kernel *known, const char *kernel);

/* The kernel of this name; NULL if it has no configuration. */
const struct kernel *tuned_kernel_of(const struct tuned_table *table, const char *name);

/* Makes kernels, groups and members of `configurations`, which are sorted. False: out of memory. */
bool tuned_group(struct tuned_table *table);

/* Upper bounds for what a text contains. */
struct text_size {
    size_t bytes, lines;
    size_t configurations; /* sections and configurations of covers */
};

struct text_size pool_measure(const char *text, size_t length);

/* Both return false if memory runs out. The table or defaults that they belong to free them. */
bool pool_init(struct pool *pool, size_t room);
bool values_init(struct values *values, size_t count);

/* A copy of `text`; NULL if the pool is full, which pool_measure() rules out. */
const char *pool_keep(struct pool *pool, const char *text, size_t length);

/*
 * Adds a value whose strings are in a pool. False if one of them is NULL, or if `values` is full.
 */
bool values_add(struct values *values, const char *name, const char *text,
                const struct literal *literal);

void defaults_free(struct defaults *defaults); /* NULL is allowed */

/* Fills `error`, which may be NULL, and returns `code`. */
int tuned_fail(struct tuned_error *error, enum tuned_code code, const char *file, int line,
               const char *format, ...) __attribute__((format(printf, 5, 6)));

/* The same for the status of reading `file`: TUNED_BAD_FILE or TUNED_NO_MEMORY. */
int tuned_hand_on(struct tuned_error *error, const char *file, const struct ini_reader *reader,
                  int status);

#endif
