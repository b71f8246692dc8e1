/*
 * SQL functions for the record's checksums. They hash values and their types with XXH3-64:
 *     row_hash(a, b, …)   one row
 *     rows_hash(a, b, …)  an aggregate: the sum of the row_hash() of a group's rows, in any order
 */
#ifndef AUTOTUNE_RECORD_HASH_H
#define AUTOTUNE_RECORD_HASH_H

#include <sqlite3.h>

/* Returns SQLite's result code. */
int record_hash_register(sqlite3 *database);

#endif
