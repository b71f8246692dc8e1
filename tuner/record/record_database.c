#include "record/record_database.h"

#include "base/interrupt.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const statement_sql[] = {
#define X(name, sql) [STATEMENT_##name] = sql,
    STATEMENTS(X)
#undef X
};

/* The system's number of the last failure; 0 if SQLite has none. It forgets that of a commit. */
static int system_number(const struct record *record)
{
    int number = sqlite3_system_errno(record->database);
    if (number == 0)
        (void)sqlite3_file_control(record->database, "main", SQLITE_FCNTL_LAST_ERRNO, &number);
    return number;
}

/* What is written to a file that has no name any more is lost. */
static bool has_moved(const struct record *record)
{
    int moved = 0;
    (void)sqlite3_file_control(record->database, "main", SQLITE_FCNTL_HAS_MOVED, &moved);
    return moved != 0;
}

int record_failed(struct record *record, struct error *error)
{
    record->failure = sqlite3_errcode(record->database);
    if (has_moved(record))
        return error_set_at(error, ERROR_RECORD, record->path, 0,
                            "the record was removed or replaced while it was used; run the "
                            "same command again");
    /* a wait that was given up; some statements of SQLite forget that it was one */
    bool waited = record->failure == SQLITE_BUSY || record->failure == SQLITE_OK;
    if (waited && interrupt_requested())
        return error_set(error, ERROR_INTERRUPTED, "interrupted");
    const char *message = sqlite3_errmsg(record->database);
    int number = system_number(record);
    if (record->failure == SQLITE_CANTOPEN && error_is_file_limit(number))
        return error_set_at(error, ERROR_RECORD, record->path, 0, "the record cannot be used: %s",
                            error_reason(number));
    if (record->failure == SQLITE_IOERR && number != 0) /* "disk I/O error", also if it is full */
        message = strerror(number);
    return error_set_at(error, ERROR_RECORD, record->path, 0,
                        "the record cannot be used: %s; look at its disk and permissions", message);
}

struct query query_begin(struct record *record, enum statement name)
{
    struct query query = {record, record->statements[name], 1, SQLITE_OK};
    if (query.statement == NULL) {
        query.status = sqlite3_prepare_v3(record->database, statement_sql[name], -1,
                                          SQLITE_PREPARE_PERSISTENT, &query.statement, NULL);
        record->statements[name] = query.statement;
    }
    return query;
}

static void bound(struct query *query, int status)
{
    if (query->status == SQLITE_OK)
        query->status = status;
}

void query_text(struct query *query, const char *text)
{
    size_t length = text != NULL ? strlen(text) : 0;
    bound(query, sqlite3_bind_text64(query->statement, query->next++, text, length, SQLITE_STATIC,
                                     SQLITE_UTF8));
}

void query_integer(struct query *query, int64_t integer)
{
    bound(query, sqlite3_bind_int64(query->statement, query->next++, integer));
}

void query_real(struct query *query, double real)
{
    if (isnan(real)) { /* as SQLite has it */
        query_null(query);
        return;
    }
    bound(query, sqlite3_bind_double(query->statement, query->next++, real));
}

void query_null(struct query *query)
{
    bound(query, sqlite3_bind_null(query->statement, query->next++));
}

int query_step(struct query *query)
{
    if (query->status == SQLITE_OK)
        query->status = sqlite3_step(query->statement);
    int status = query->status;
    if (status == SQLITE_ROW)
        query->status = SQLITE_OK;
    return status;
}

void query_end(struct query *query)
{
    if (query->statement == NULL) /* it could not be prepared, which query_step() has said */
        return;
    (void)sqlite3_reset(query->statement);
    (void)sqlite3_clear_bindings(query->statement);
}

int query_run(struct query *query, int64_t *id, struct error *error)
{
    int64_t first = 0;
    int status = query_step(query);
    if (status == SQLITE_ROW) {
        first = sqlite3_column_int64(query->statement, 0);
        status = query_step(query);
    }
    int result = status == SQLITE_DONE ? 0 : record_failed(query->record, error);
    query_end(query);
    if (id != NULL)
        *id = first;
    return result;
}

static int record_run(struct record *record, enum statement name, struct error *error)
{
    struct query query = query_begin(record, name);
    return query_run(&query, NULL, error);
}

int record_start(struct record *record, struct error *error)
{
    return record_run(record, STATEMENT_BEGIN, error);
}

int record_end(struct record *record, int result, struct error *error)
{
    if (result == 0 && has_moved(record))
        result = record_failed(record, error);
    if (result == 0)
        result = record_run(record, STATEMENT_COMMIT, error);
    if (result != 0 && !sqlite3_get_autocommit(record->database))
        (void)sqlite3_exec(record->database, "ROLLBACK", NULL, NULL, NULL);
    return result;
}

const char *row_text(sqlite3_stmt *statement, int column)
{
    return (const char *)sqlite3_column_text(statement, column);
}

int record_damaged(struct record *record, const char *what, int64_t id, struct error *error)
{
    return error_set_at(error, ERROR_RECORD, record->path, 0,
                        "damaged %s in row %" PRId64 "; move the record away and tune again", what,
                        id);
}

bool bindings_from_text(struct bindings *bindings, const char *text)
{
    json_t *object = text != NULL ? json_loads(text, JSON_REJECT_DUPLICATES, NULL) : NULL;
    bool good = json_is_object(object) && bindings_from_json(bindings, object, NULL) == 0;
    json_decref(object);
    return good;
}
