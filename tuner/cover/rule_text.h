/* A rule's lines as the tuned INI states them (FORMATS.md). */
#ifndef AUTOTUNE_RULE_TEXT_H
#define AUTOTUNE_RULE_TEXT_H

#include "cover/rule.h"

#include <stddef.h>

/*
 * The condition of a line, "m * n < 2^20 and waves(2) >= 1.5"; a new string, or NULL if it always
 * holds. `chosen` are the configurations that the rule decides among. If the line looks at the
 * launch of another configuration than its own, the text names that one by its place in `chosen`,
 * counted from 1. Estimates of times are figures `time_1`, `time_2`, … of the places in `chosen`.
 */
char *rule_text(const struct rule_line *line, const struct features *features, const size_t *chosen,
                size_t count);

#endif
