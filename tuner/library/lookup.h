/*
 * What a loaded table is made of. Private to libtuned, which shares nothing with the tuner: no
 * allocation goes unchecked here, and nothing aborts.
 */
#ifndef TUNED_LIBRARY_LOOKUP_H
#define TUNED_LIBRARY_LOOKUP_H

#include "../include/autotune/tuned.h"

#include <stdbool.h>

enum { NAME_LETTERS = 31, WORD_LETTERS = 63 };

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
    char *strings;
    size_t used, room; /* of strings */
};

struct tuned_table {
    struct tuned_configuration *configurations; /* by kernel, GPU and place in the file */
    const double **scales;                      /* of configurations[i].problem */
    size_t count, room;
    struct tuned_gpu *gpus; /* each once */
    size_t gpu_count;
    struct values parameters; /* of all configurations, each one's in a row */
    struct values problems;
    char *strings;
    size_t used, string_room;
    char *folder; /* of a bundle; NULL */
    struct defaults *templates;
};

/* s(x) of enum tuned_rule's distance. */
double tuned_scale(double number);

/* A lower-case name of at most `letters` letters, digits and underscores. */
bool tuned_is_name(const char *text, size_t letters);

/* The template's defaults; NULL where they are not known. */
const struct defaults *tuned_defaults_of(const struct tuned_table *table, const char *name);

/* Which template `kernel` is of: what its configurations say, else one of the same name. */
const char *tuned_template_of(const struct tuned_table *table, const char *kernel);

/* The index of the first configuration of `kernel`, or of where it would be. */
size_t tuned_first_of(const struct tuned_table *table, const char *kernel);

/* Fills `error` (NULL is allowed) and returns `code`. */
int tuned_fail(struct tuned_error *error, enum tuned_code code, const char *file, int line,
               const char *format, ...) __attribute__((format(printf, 5, 6)));

#endif
