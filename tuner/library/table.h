/*
 * What a loaded table is made of. Private to libtuned: every allocation is checked here, and nothing
 * aborts. Of the tuner it uses base/ini_reader.h, base/tuned_reader.h and base/literal.h alone, which
 * keep the same rules.
 */
#ifndef TUNED_LIBRARY_TABLE_H
#define TUNED_LIBRARY_TABLE_H

#include "base/ini_reader.h"
#include "base/literal.h"

#include <autotune/tuned.h>
#include <stdbool.h>
#include <stddef.h>

/* Strings one behind the other. */
struct pool {
    char *strings;
    size_t used, room;
};

/* Values of one kind in a row; `scales` are s(x) of enum tuned_rule's distance. */
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

struct tuned_table {
    struct tuned_configuration *configurations; /* by kernel, GPU and place in the file */
    const double **scales;                      /* of configurations[i].problem */
    size_t count, room;
    struct tuned_gpu *gpus; /* each once */
    size_t gpu_count;
    struct values parameters; /* of all configurations, each one's in a row */
    struct values problems;
    struct pool pool;
    char *folder; /* of a bundle; NULL */
    struct defaults *templates;
};

/* s(x) of enum tuned_rule's distance. */
double tuned_scale(double number);

/* The template's defaults; NULL if they are not known. */
const struct defaults *tuned_defaults_of(const struct tuned_table *table, const char *name);

/* Which template `kernel` is of: what its configurations say, else one of the same name. */
const char *tuned_template_of(const struct tuned_table *table, const char *kernel);

/* The index of the first configuration of `kernel`, or of where it would be. */
size_t tuned_first_of(const struct tuned_table *table, const char *kernel);

/* How much a text can make of anything. */
struct text_size {
    size_t bytes, lines, brackets;
};

struct text_size text_measure(const char *text, size_t length);

/* Both return false if memory runs out; releasing the table or defaults they are of frees them. */
bool pool_init(struct pool *pool, size_t room);
bool values_init(struct values *values, size_t count);

/* A copy of `text`; NULL if the pool is full, which text_measure() rules out. */
const char *pool_keep(struct pool *pool, const char *text, size_t length);

/* Adds a value of strings that are kept. False if one of them is NULL or there is no room. */
bool values_add(struct values *values, const char *name, const char *text,
                const struct literal *literal);

void defaults_free(struct defaults *defaults); /* NULL is allowed */

/* Fills `error` (NULL is allowed) and returns `code`. */
int tuned_fail(struct tuned_error *error, enum tuned_code code, const char *file, int line,
               const char *format, ...) __attribute__((format(printf, 5, 6)));

/* The same for what reading `file` returned: TUNED_BAD_FILE or TUNED_NO_MEMORY. */
int tuned_hand_on(struct tuned_error *error, const char *file, const struct ini_reader *reader,
                  int status);

#endif
