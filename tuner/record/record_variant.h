/*
 * A variant's row in the record, which has its samples, too.
 */
#ifndef AUTOTUNE_RECORD_VARIANT_H
#define AUTOTUNE_RECORD_VARIANT_H

#include "base/error.h"
#include "record/record_database.h"
#include "record/study.h"

#include <sqlite3.h>
#include <stdint.h>

/* Stores a result, inside a transaction, as record_result(). `*next` is the row for the next variant that
 * has none: set it to 0 when the transaction begins. */
int record_variant_put(struct record *record, int64_t study_id, const struct result *result,
                       const char *phase, int64_t *next, struct error *error);

/* Reads a row of STATEMENT_GET_VARIANTS. */
int record_variant_read(struct record *record, sqlite3_stmt *row, struct result *result,
                        struct error *error);

#endif
