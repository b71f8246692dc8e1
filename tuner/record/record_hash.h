/*
 * Two SQL functions for the record's checksums, of XXH3-64 over values with their types:
 *     row_hash(a, b, …)   of one row
 *     rows_hash(a, b, …)  of a group's rows in any order (an aggregate): the sum of their row_hash()
 */
#ifndef AUTOTUNE_RECORD_HASH_H
#define AUTOTUNE_RECORD_HASH_H

#include <sqlite3.h>

/* Returns SQLite's code. */
int record_hash_register(sqlite3 *database);

#endif
