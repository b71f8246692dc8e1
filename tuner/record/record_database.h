/*
 * The record's connection to SQLite, its statements and transactions: what record.c, which reads
 * and writes studies, and record_open.c, which opens the file, have in common.
 */
#ifndef AUTOTUNE_RECORD_DATABASE_H
#define AUTOTUNE_RECORD_DATABASE_H

#include "base/error.h"
#include "record/record_hash.h"
#include "record/record_sql.h"
#include "template/value.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct record {
    sqlite3 *database;
    char *path;
    int failure;                               /* SQLite's code of the last one */
    struct record_hash *hash;                  /* of the row that is being stored */
    int64_t others;                            /* PRAGMA data_version, when it was opened */
    sqlite3_stmt *statements[STATEMENT_COUNT]; /* prepared when first used */
};

/*
 * A statement whose parameters are bound one after the other. Binding fails only on misuse or for
 * lack of memory; the first failure is kept and reported by the step that follows. Texts are
 * borrowed until query_end().
 */
struct query {
    struct record *record;
    sqlite3_stmt *statement;
    int next;    /* parameter to bind */
    int status;  /* SQLite's */
    bool hashed; /* what is bound goes into the row's checksum, too */
};

struct query query_begin(struct record *record, enum statement name);
void query_text(struct query *query, const char *text); /* NULL for no value */
void query_integer(struct query *query, int64_t integer);
void query_real(struct query *query, double real);
void query_null(struct query *query);

/* query_checksum() binds the checksum of everything that was bound since query_hash(). */
void query_hash(struct query *query);
void query_checksum(struct query *query);

/* SQLITE_ROW, SQLITE_DONE or an error, for which see record_failed(). */
int query_step(struct query *query);

/* Makes the statement ready for its next use. */
void query_end(struct query *query);

/* Runs the statement to its end and calls query_end(). Sets `*id` (may be NULL) to the first column
 * of the first row, or to 0 if there is no row. */
int query_run(struct query *query, int64_t *id, struct error *error);

/* ERROR_RECORD with the file's name and SQLite's last message. */
int record_failed(struct record *record, struct error *error);

/* ERROR_RECORD, which says that `what` is damaged in row `id`. */
int record_damaged(struct record *record, const char *what, int64_t id, struct error *error);

/* A column's text, which lives until the next step; NULL if it has none. row_string() copies as much of
 * it as fits. */
const char *row_text(sqlite3_stmt *statement, int column);
void row_string(sqlite3_stmt *statement, int column, char *buffer, size_t size);

/* A transaction that writes. record_end() commits it, or rolls it back if `result` is a failure or
 * the commit fails; it returns that failure. */
int record_start(struct record *record, struct error *error);
int record_end(struct record *record, int result, struct error *error);

/* Reads bindings, which are stored as bindings_json_text(). False if `text` is not such an object; it may
 * be NULL. */
bool bindings_from_text(struct bindings *bindings, const char *text);

#endif
