/* The names that a Python expression may use, and what they are called in ours. */
#ifndef AUTOTUNE_PYTHON_NAMES_H
#define AUTOTUNE_PYTHON_NAMES_H

#include "exchange/python_value.h"
#include "exchange/words.h"

#include <stdbool.h>
#include <stddef.h>

/* A name that expressions may use. */
struct python_name {
    const char *theirs;                /* "BLOCK_SIZE_X", "ProblemSize[0]" */
    const char *ours;                  /* "block_size_x", "problem_x" */
    bool is_word;                      /* its values are strings */
    const struct python_value *values; /* a list, whose extremes max() and min() are; or NULL */
};

struct python_names {
    const struct python_name *items;
    size_t count;
    struct words *words; /* for strings */
};

#endif
