/* The covers of a kernel in the header of `autotune export`: configurations, and the rule as C. */
#ifndef AUTOTUNE_EXPORT_COVER_H
#define AUTOTUNE_EXPORT_COVER_H

#include "base/error.h"
#include "command/command_query.h"
#include "record/tuned_file.h"

#include <stddef.h>
#include <stdio.h>

/*
 * Writes the covers of the kernel whose configurations begin at `index` of the query's table, with the
 * entries of `tuned`. Cover number 1 of the kernel "sum" gets the macro SUM_COVER_1_CONFIGURATIONS
 * and the function sum_cover_1(problem_n, …, sm_count), which returns the number of the
 * configuration for a problem, or 0 outside the range. Returns 0 or an error of
 * cover_entry_check().
 */
int export_covers(FILE *stream, const struct command_query *query, const struct tuned_file *tuned,
                  size_t index, struct error *error);

#endif
