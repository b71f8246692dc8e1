/*
 * The record's checksums: XXH3-64 of values and their types. SQL functions:
 *     row_hash(a, b, …)   one row
 *     rows_hash(a, b, …)  an aggregate: the sum of the row_hash() of a group's rows, in any order
 * and the same for a row that is about to be stored, value by value: record_hash_begin(),
 * record_hash_add() for each, record_hash_end() for what row_hash() would make of them.
 */
#ifndef AUTOTUNE_RECORD_HASH_H
#define AUTOTUNE_RECORD_HASH_H

#include <sqlite3.h>
#include <stddef.h>
#include <stdint.h>

struct record_hash;

struct record_hash *record_hash_new(void);
void record_hash_free(struct record_hash *hash); /* NULL is allowed */

void record_hash_begin(struct record_hash *hash);

/* `type` is SQLite's. The bytes are those of an int64_t, a double or a text; NULL has none. */
void record_hash_add(struct record_hash *hash, int type, const void *bytes, size_t count);

int64_t record_hash_end(const struct record_hash *hash);

/* Returns SQLite's result code. */
int record_hash_register(sqlite3 *database);

#endif
