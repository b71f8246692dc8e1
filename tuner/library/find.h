/* What the files of the look-up share: find.c, near.c and find_cover.c. */
#ifndef TUNED_LIBRARY_FIND_H
#define TUNED_LIBRARY_FIND_H

#include "table.h"

#include <autotune/tuned.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* The problem of the query: its values, then the template's defaults for the others. */
struct wanted {
    const struct tuned_value *items[2 * TUNED_PROBLEM_VALUES];
    double scales[2 * TUNED_PROBLEM_VALUES];
    size_t given; /* by the query itself */
    size_t count;
};

struct search {
    const struct tuned_query *query;
    enum tuned_rule limit;
    struct wanted wanted;
    /* the group that is considered */
    bool fits;  /* problems of its names and words may answer the query */
    bool whole; /* all values of its problem were asked for, or are known defaults */
    /* the numbers of its problem that were asked for: their places, and the wanted s(x) */
    struct {
        size_t at;
        double scale;
        const struct tuned_value *value;
    } targets[TUNED_PROBLEM_VALUES];
    size_t target_count;
};

/* Whether two names are the same; that most are not, their first letters show. */
static inline bool find_same_name(const char *a, const char *b)
{
    return a[0] == b[0] && strcmp(a, b) == 0;
}

/* Whether two numbers are the same; s(x) cannot tell very large or very small ones apart. */
bool find_same_number(const struct tuned_value *a, const struct tuned_value *b);

/* The nearest rule by which a configuration for `tuned` may be used on `gpu`; TUNED_NEAREST_SIZE if
 * both are the same. */
enum tuned_rule find_gpu_rule(const struct tuned_gpu *gpu, const struct tuned_gpu *tuned);

double find_gpu_distance(const struct tuned_gpu *a, const struct tuned_gpu *b);

/* Whether `a` is nearer than `b`, which may be no match at all. Of two equally near, a cover comes
 * first, one with fewer ranges before others, and then the first in the table. */
bool find_is_nearer(const struct tuned_query *query, const struct tuned_match *a,
                    const struct tuned_match *b);

/* The index of the wanted value of this name, or wanted->count. `guess` is tried first: usually
 * both have their values in the same order. */
size_t find_wanted(const struct wanted *wanted, const char *name, size_t guess);

/* Takes the cover's configuration if it is nearer than the match so far; counts the cover's
 * configurations, and those that cannot be used. */
void find_in_cover(const struct search *search, const struct cover *cover,
                   struct tuned_match *match);

#endif
