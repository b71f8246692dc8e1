#include "record/record_near.h"

#include "base/alloc.h"
#include "record/record_database.h"

#include <stdio.h>
#include <stdlib.h>

enum { FASTEST = RECORD_NEAR_RESULTS / 4 };

static const char *get_text(sqlite3_stmt *row, int column)
{
    return (const char *)sqlite3_column_text(row, column);
}

/* What cannot be read is left out: a search can do without. */
static void read_result(sqlite3_stmt *row, struct study *study)
{
    struct bindings parameters = {0};
    int outcome = outcome_from_name(get_text(row, 1));
    if (outcome < 0 || !bindings_from_text(&parameters, get_text(row, 0))) {
        bindings_release(&parameters);
        return;
    }
    struct result *result = ARRAY_APPEND(study->results, study->result_count);
    result->parameters = parameters;
    result->outcome = (enum outcome)outcome;
    result->time.median_ns = sqlite3_column_double(row, 2);
    (void)snprintf(result->run_hash, sizeof result->run_hash, "%s", get_text(row, 3));
}

static int read_results(struct record *record, int64_t id, struct study *study, struct error *error)
{
    struct query query = query_begin(record, STATEMENT_GET_NEAR_VARIANTS);
    int status;
    *study = (struct study){0};
    query_integer(&query, id);
    query_integer(&query, FASTEST);
    query_integer(&query, RECORD_NEAR_RESULTS - FASTEST);
    while ((status = query_step(&query)) == SQLITE_ROW)
        read_result(query.statement, study);
    query_end(&query);
    study_link_twins(study);
    return status == SQLITE_DONE ? 0 : record_failed(record, error);
}

static int find_near(struct record *record, const struct study *study, int64_t id, int64_t since,
                     int64_t ids[RECORD_NEAR_STUDIES], size_t *count, struct error *error)
{
    char *problem = bindings_json_text(&study->problem);
    struct query query = query_begin(record, STATEMENT_FIND_NEAR);
    int status;
    *count = 0;
    query_text(&query, study->kernel);
    query_text(&query, study->template_name);
    query_integer(&query, id);
    query_integer(&query, since);
    query_text(&query, study->environment.gpu.name);
    query_text(&query, problem);
    query_integer(&query, RECORD_NEAR_STUDIES);
    while ((status = query_step(&query)) == SQLITE_ROW)
        ids[(*count)++] = sqlite3_column_int64(query.statement, 0);
    query_end(&query);
    free(problem);
    return status == SQLITE_DONE ? 0 : record_failed(record, error);
}

int record_near(struct record *record, const struct study *study, int64_t id, int64_t since,
                struct study **studies, size_t *count, struct error *error)
{
    int64_t ids[RECORD_NEAR_STUDIES];
    size_t found;
    int status = find_near(record, study, id, since, ids, &found, error);
    *studies = NULL;
    *count = 0;
    for (size_t i = 0; i < found && status == 0; i++)
        status = read_results(record, ids[i], ARRAY_APPEND(*studies, *count), error);
    return status;
}
