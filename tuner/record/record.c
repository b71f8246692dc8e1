#include "record/record.h"

#include "base/alloc.h"
#include "record/record_database.h"
#include "record/record_variant.h"

#include <stdlib.h>
#include <string.h>

static bool gpu_from_text(struct gpu *gpu, const char *text)
{
    json_t *object = text != NULL ? json_loads(text, 0, NULL) : NULL;
    bool good = json_is_object(object) && gpu_from_json(object, gpu, NULL) == 0;
    json_decref(object);
    return good;
}

static const char *mode_name(const struct study *study)
{
    return study->environment.static_mode ? "static" : "measured";
}

/* What a study is about, in the order that FIND_STUDY and ADD_STUDY share. `problem` lives until
 * the end. */
static void put_subject(struct query *query, const struct study *study, const char *problem)
{
    query_text(query, study->kernel);
    query_text(query, problem);
    query_text(query, study->environment.gpu.name);
    query_text(query, study->environment.gpu.arch);
    query_text(query, mode_name(study));
    query_text(query, study->cache);
    query_text(query, study->template_hash);
    query_text(query, study->data_hash);
    query_text(query, study->environment.gpu.driver);
    query_text(query, study->environment.nvrtc);
    query_text(query, study->environment.tool);
}

/* Who measured it, and when. */
static void put_origin(struct query *query, const struct environment *environment)
{
    query_text(query, environment->autotune);
    query_text(query, environment->host);
    query_text(query, environment->date);
    query_text(query, environment->command);
}

static int add_study(struct record *record, const struct study *study, const char *problem,
                     int64_t *id, struct error *error)
{
    const struct environment *environment = &study->environment;
    json_t *gpu = gpu_to_json(&environment->gpu);
    char *details = json_dumps(gpu, JSON_COMPACT | JSON_PRESERVE_ORDER);
    struct query query = query_begin(record, STATEMENT_ADD_STUDY);
    put_subject(&query, study, problem);
    query_text(&query, study->template_name);
    query_text(&query, study->description);
    put_origin(&query, environment);
    query_text(&query, details);
    query_integer(&query, (int64_t)study->points);
    query_integer(&query, (int64_t)study->rejected);
    query_real(&query, study->empty_kernel_ns);
    int result = query_run(&query, NULL, error);
    *id = sqlite3_last_insert_rowid(record->database);
    free(details);
    json_decref(gpu);
    return result;
}

/* Which results of a study are read. */
enum result_set { ALL, JUDGED, FAILED };

static int read_results(struct record *record, int64_t id, enum result_set wanted,
                        const char *data_hash, int64_t winner, struct study *study,
                        struct error *error);

/* Four columns, which are NULL where nothing was seen. */
static void read_conditions(sqlite3_stmt *row, int column, struct gpu_conditions *conditions)
{
    if (sqlite3_column_type(row, column) == SQLITE_NULL)
        return;
    conditions->known = true;
    conditions->dropped_samples = (uint64_t)sqlite3_column_int64(row, column++);
    conditions->throttled_samples = (uint64_t)sqlite3_column_int64(row, column++);
    conditions->sm_clock_mhz = sqlite3_column_double(row, column++);
    conditions->other_processes = sqlite3_column_int(row, column);
}

static void put_watched(struct query *query, const struct gpu_conditions *conditions)
{
    if (!conditions->known) {
        for (int i = 0; i < 4; i++)
            query_null(query);
        return;
    }
    query_integer(query, (int64_t)conditions->dropped_samples);
    query_integer(query, (int64_t)conditions->throttled_samples);
    query_real(query, conditions->sm_clock_mhz);
    query_integer(query, conditions->other_processes);
}

static void read_gpus(sqlite3_stmt *row, int column, struct study *study)
{
    const char *text = row_text(row, column);
    json_t *array = text != NULL ? json_loads(text, 0, NULL) : NULL;
    study->gpus = study_gpus_from_json(array, &study->gpu_count);
    json_decref(array);
}

/* What is complete was measured then, and by that command. */
static void take_origin(struct environment *environment, sqlite3_stmt *row)
{
    row_string(row, 4, environment->date, sizeof environment->date);
    free(environment->command);
    environment->command = alloc_string(row_text(row, 5));
}

/* Runs a statement that takes an id alone, such as one that puts checksums right. */
static int by_id(struct record *record, enum statement name, int64_t id, struct error *error)
{
    struct query query = query_begin(record, name);
    query_integer(&query, id);
    return query_run(&query, NULL, error);
}

/* The latest study of the same subject on the same model of GPU, which its name alone does not say. */
static int find_study(struct query *query, const struct gpu *gpu)
{
    struct gpu measured;
    int status;
    do
        status = query_step(query);
    while (status == SQLITE_ROW && !(gpu_from_text(&measured, row_text(query->statement, 12)) &&
                                     gpu_alike(&measured, gpu)));
    return status;
}

/* Looks for an earlier study of the same subject; `*id` is 0 where there is none. */
static int take_up(struct record *record, struct study *study, const char *problem, int64_t *id,
                   struct error *error)
{
    struct query query = query_begin(record, STATEMENT_FIND_STUDY);
    put_subject(&query, study, problem);
    int status = find_study(&query, &study->environment.gpu);
    int result = 0;
    bool complete = false;
    int64_t winner = 0;
    *id = 0;
    if (status == SQLITE_ROW) {
        *id = sqlite3_column_int64(query.statement, 0);
        complete = sqlite3_column_int(query.statement, 1) != 0;
        winner = sqlite3_column_int64(query.statement, 2);
        double empty_kernel_ns = sqlite3_column_double(query.statement, 3);
        if (empty_kernel_ns > 0)
            study->empty_kernel_ns = empty_kernel_ns;
        read_conditions(query.statement, 6, &study->conditions);
        study->empty_batch_ns = sqlite3_column_double(query.statement, 10);
        read_gpus(query.statement, 11, study);
        if (complete)
            take_origin(&study->environment, query.statement);
    } else if (status != SQLITE_DONE) {
        result = record_failed(record, error);
    }
    query_end(&query);
    if (result != 0 || *id == 0)
        return result;
    study->complete = complete;
    return read_results(record, *id, ALL, NULL, winner, study, error);
}

int record_begin(struct record *record, struct study *study, bool afresh, int64_t *id,
                 struct error *error)
{
    *id = 0;
    int result = record_start(record, error);
    if (result != 0)
        return result;
    char *problem = bindings_json_text(&study->problem);
    if (!afresh)
        result = take_up(record, study, problem, id, error);
    if (result == 0 && *id == 0)
        result = add_study(record, study, problem, id, error);
    if (result == 0)
        result = by_id(record, STATEMENT_TAKE_TURN, *id, error);
    if (result == 0)
        result = by_id(record, STATEMENT_SEAL_STUDY, *id, error);
    free(problem);
    return record_end(record, result, error);
}

int record_refuse(struct record *record, int64_t study_id, const char *reason, struct error *error)
{
    int result = record_start(record, error);
    if (result != 0)
        return result;
    struct query query = query_begin(record, STATEMENT_REFUSE);
    query_text(&query, reason);
    query_integer(&query, study_id);
    result = query_run(&query, NULL, error);
    if (result == 0)
        result = by_id(record, STATEMENT_SEAL_STUDY, study_id, error);
    return record_end(record, result, error);
}

/* Takes the verdict back; the checksums are the caller's to put right. */
static int withdraw(struct record *record, int64_t study_id, struct error *error)
{
    int result = by_id(record, STATEMENT_REOPEN_STUDY, study_id, error);
    return result != 0 ? result : by_id(record, STATEMENT_CLEAR_MARKS, study_id, error);
}

static int seal_all(struct record *record, int64_t study_id, struct error *error)
{
    int result = by_id(record, STATEMENT_SEAL_STUDY, study_id, error);
    return result != 0 ? result : by_id(record, STATEMENT_SEAL_VARIANTS, study_id, error);
}

int record_reopen(struct record *record, int64_t study_id, struct error *error)
{
    int result = record_start(record, error);
    if (result != 0)
        return result;
    result = withdraw(record, study_id, error);
    if (result == 0)
        result = seal_all(record, study_id, error);
    return record_end(record, result, error);
}

static int set_final(struct record *record, int64_t study_id, const struct result *variant,
                     struct error *error)
{
    char *parameters = bindings_json_text(&variant->parameters);
    struct query query = query_begin(record, STATEMENT_SET_FINAL);
    query_integer(&query, variant->finalist);
    query_integer(&query, variant->tied);
    query_integer(&query, study_id);
    query_text(&query, parameters);
    int result = query_run(&query, NULL, error);
    free(parameters);
    return result;
}

/* Whether the variants that are marked as judged are those of the verdict: all of them were stored since
 * the study was reopened, by this process alone. */
static int is_judged(struct record *record, int64_t study_id, const struct study *study,
                     bool *judged, struct error *error)
{
    int64_t count = 0;
    int64_t others = 0;
    struct query query = query_begin(record, STATEMENT_COUNT_JUDGED);
    query_integer(&query, study_id);
    int result = query_run(&query, &count, error);
    query = query_begin(record, STATEMENT_OTHERS);
    if (result == 0)
        result = query_run(&query, &others, error);
    *judged = count == (int64_t)study->result_count && others == record->others;
    return result;
}

/* Notes which variants are judged, which reached the finals and which tied. Usually they are all marked
 * as judged already, and only finalists change. */
static int store_finals(struct record *record, int64_t study_id, const struct study *study,
                        struct error *error)
{
    bool judged;
    int result = is_judged(record, study_id, study, &judged, error);
    if (result == 0)
        result =
            by_id(record, judged ? STATEMENT_CLEAR_FINALS : STATEMENT_CLEAR_MARKS, study_id, error);
    for (size_t i = 0; result == 0 && i < study->result_count; i++)
        if (!judged || study->results[i].finalist || study->results[i].tied)
            result = set_final(record, study_id, &study->results[i], error);
    return result;
}

/* The winner's row; 0: there is none. */
static int find_winner(struct record *record, int64_t study_id, const struct study *study,
                       int64_t *id, struct error *error)
{
    *id = 0;
    if (!study->has_winner)
        return 0;
    char *parameters = bindings_json_text(&study->results[study->winner].parameters);
    struct query query = query_begin(record, STATEMENT_FIND_VARIANT);
    query_integer(&query, study_id);
    query_text(&query, parameters);
    int result = query_run(&query, id, error);
    free(parameters);
    if (result == 0 && *id == 0)
        result = error_set_at(error, ERROR_RECORD, record->path, 0,
                              "the winner of '%s' has no result in the record", study->kernel);
    return result;
}

/* Inside a transaction. */
static int finish(struct record *record, int64_t study_id, const struct study *study,
                  struct error *error)
{
    int64_t winner = 0;
    int result = store_finals(record, study_id, study, error);
    if (result == 0)
        result = find_winner(record, study_id, study, &winner, error);
    json_t *array = study->gpu_count > 0 ? study_gpus_to_json(study->gpus, study->gpu_count) : NULL;
    char *gpus = json_dumps(array, JSON_COMPACT | JSON_PRESERVE_ORDER);
    json_decref(array);
    if (result == 0) {
        struct query query = query_begin(record, STATEMENT_FINISH_STUDY);
        query_integer(&query, (int64_t)study->points);
        query_integer(&query, (int64_t)study->rejected);
        query_integer(&query, study->rejected_estimated);
        query_real(&query, study->empty_kernel_ns);
        if (winner != 0)
            query_integer(&query, winner);
        else
            query_null(&query);
        put_watched(&query, &study->conditions);
        query_real(&query, study->empty_batch_ns);
        query_text(&query, gpus);
        query_integer(&query, study->one_data_set);
        put_origin(&query, &study->environment);
        query_integer(&query, study_id);
        result = query_run(&query, NULL, error);
    }
    free(gpus);
    return result != 0 ? result : seal_all(record, study_id, error);
}

int record_finish(struct record *record, int64_t study_id, const struct study *study,
                  struct error *error)
{
    int result = record_start(record, error);
    if (result == 0)
        result = record_end(record, finish(record, study_id, study, error), error);
    return result;
}

int record_result(struct record *record, int64_t study_id, const struct result *result,
                  const char *phase, struct error *error)
{
    const size_t first = 0;
    return record_results(record, study_id, result, &first, 1, phase, error);
}

int record_results(struct record *record, int64_t study_id, const struct result *results,
                   const size_t *indices, size_t count, const char *phase, struct error *error)
{
    int64_t next = 0;
    int status = record_start(record, error);
    if (status != 0)
        return status;
    for (size_t i = 0; i < count && status == 0; i++)
        status = record_variant_put(record, study_id, &results[indices[i]], phase, &next, error);
    return record_end(record, status, error);
}

/* Removes the study of the same subject, if there is one. */
static int drop_earlier(struct record *record, const struct study *study, const char *problem,
                        struct error *error)
{
    struct query find = query_begin(record, STATEMENT_FIND_STUDY);
    put_subject(&find, study, problem);
    int status = find_study(&find, &study->environment.gpu);
    int64_t id = status == SQLITE_ROW ? sqlite3_column_int64(find.statement, 0) : 0;
    int result = status == SQLITE_ROW || status == SQLITE_DONE ? 0 : record_failed(record, error);
    query_end(&find);
    return result != 0 || id == 0 ? result : by_id(record, STATEMENT_DROP_STUDY, id, error);
}

int record_import(struct record *record, const struct study *study, struct error *error)
{
    int64_t id = 0;
    int64_t next = 0;
    int result = record_start(record, error);
    if (result != 0)
        return result;
    char *problem = bindings_json_text(&study->problem);
    result = drop_earlier(record, study, problem, error);
    if (result == 0)
        result = add_study(record, study, problem, &id, error);
    if (result == 0)
        result = by_id(record, STATEMENT_TAKE_TURN, id, error);
    for (size_t i = 0; i < study->result_count && result == 0; i++)
        result = record_variant_put(record, id, &study->results[i], "screening", &next, error);
    if (result == 0)
        result = finish(record, id, study, error);
    free(problem);
    return record_end(record, result, error);
}

/* What a constraint rules out, though it was run and failed, is only a failure for those who ask. */
static void rule_out(struct result *result)
{
    if (!result_is_refuted(result) || result->decided_by == NULL)
        return;
    free(result->reason);
    result->reason = alloc_string(result->decided_by);
    result->outcome = OUTCOME_CONSTRAINT;
    result->limit_s = 0;
    result->run_hash[0] = '\0';
}

/* Adds the stored results of a study; `winner` is the winner's row, 0 where there is none. `data_hash` is
 * of the data that there are now, for FAILED alone. */
static int read_results(struct record *record, int64_t id, enum result_set wanted,
                        const char *data_hash, int64_t winner, struct study *study,
                        struct error *error)
{
    struct query query =
        query_begin(record, wanted == FAILED ? STATEMENT_GET_FAILURES : STATEMENT_GET_VARIANTS);
    query_integer(&query, id);
    if (wanted == FAILED)
        query_text(&query, data_hash);
    else
        query_integer(&query, wanted == JUDGED);
    int result = 0;
    int status = SQLITE_DONE;
    while (result == 0 && (status = query_step(&query)) == SQLITE_ROW) {
        if (winner != 0 && sqlite3_column_int64(query.statement, 0) == winner) {
            study->has_winner = true;
            study->winner = study->result_count;
        }
        result = record_variant_read(record, query.statement,
                                     ARRAY_APPEND(study->results, study->result_count), error);
        if (result == 0 && wanted != FAILED)
            rule_out(&study->results[study->result_count - 1]);
    }
    query_end(&query);
    return result != 0 || status == SQLITE_DONE ? result : record_failed(record, error);
}

static int read_study(struct record *record, sqlite3_stmt *row, enum result_set wanted,
                      const char *data_hash, struct study *study, struct error *error)
{
    struct environment *environment = &study->environment;
    int64_t id = sqlite3_column_int64(row, 0);
    study->kernel = alloc_string(row_text(row, 1));
    if (!bindings_from_text(&study->problem, row_text(row, 2)))
        return record_damaged(record, "problem", id, error);
    environment->static_mode = strcmp(row_text(row, 5), "static") == 0;
    row_string(row, 6, study->cache, sizeof study->cache);
    study->template_hash = alloc_string(row_text(row, 7));
    row_string(row, 9, environment->nvrtc, sizeof environment->nvrtc);
    study->template_name = alloc_string(row_text(row, 10));
    study->description = alloc_string(row_text(row, 11));
    row_string(row, 12, environment->autotune, sizeof environment->autotune);
    row_string(row, 13, environment->host, sizeof environment->host);
    row_string(row, 14, environment->date, sizeof environment->date);
    environment->command = alloc_string(row_text(row, 15));
    if (!gpu_from_text(&environment->gpu, row_text(row, 16)))
        return record_damaged(record, "GPU", id, error);
    study->points = (uint64_t)sqlite3_column_int64(row, 17);
    study->rejected = (uint64_t)sqlite3_column_int64(row, 18);
    study->empty_kernel_ns = sqlite3_column_double(row, 19);
    study->complete = sqlite3_column_int(row, 20) != 0;
    read_conditions(row, 22, &study->conditions);
    study->empty_batch_ns = sqlite3_column_double(row, 26);
    row_string(row, 27, environment->tool, sizeof environment->tool);
    study->rejected_estimated = sqlite3_column_int(row, 28) != 0;
    read_gpus(row, 29, study);
    study->refusal = alloc_string(row_text(row, 30));
    study->one_data_set = sqlite3_column_int(row, 31) != 0;
    if (wanted == JUDGED && !study->complete)
        wanted = ALL;
    int status =
        read_results(record, id, wanted, data_hash, sqlite3_column_int64(row, 21), study, error);
    study_link_twins(study);
    return status;
}

static double number_of(struct value value)
{
    return value.kind == VALUE_INTEGER ? (double)value.as.integer : value.as.real;
}

static bool is_number(struct value value)
{
    return value.kind == VALUE_INTEGER || value.kind == VALUE_REAL;
}

/* Numbers by size, anything else by its text. */
static int compare_values(struct value a, struct value b)
{
    if (is_number(a) && is_number(b))
        return (number_of(a) > number_of(b)) - (number_of(a) < number_of(b));
    char first[VALUE_TEXT_BYTES];
    char second[VALUE_TEXT_BYTES];
    return strcmp(value_text(a, first), value_text(b, second));
}

static int compare_problems(const struct bindings *a, const struct bindings *b)
{
    size_t count = a->count < b->count ? a->count : b->count;
    int order = 0;
    for (size_t i = 0; order == 0 && i < count; i++) {
        order = strcmp(a->items[i].name, b->items[i].name);
        if (order == 0)
            order = compare_values(a->items[i].value, b->items[i].value);
    }
    return order != 0 ? order : (a->count > b->count) - (a->count < b->count);
}

static int compare_sms(const struct gpu *a, const struct gpu *b)
{
    int64_t first = a->attributes[GPU_sm_count];
    int64_t second = b->attributes[GPU_sm_count];
    return (first > second) - (first < second);
}

static int compare_studies(const void *left, const void *right)
{
    const struct study *a = left;
    const struct study *b = right;
    int order = strcmp(a->kernel, b->kernel);
    if (order == 0)
        order = compare_problems(&a->problem, &b->problem);
    if (order == 0)
        order = strcmp(a->environment.gpu.name, b->environment.gpu.name);
    if (order == 0)
        order = strcmp(a->environment.gpu.arch, b->environment.gpu.arch);
    if (order == 0)
        order = compare_sms(&a->environment.gpu, &b->environment.gpu);
    if (order == 0)
        order = strcmp(a->environment.tool, b->environment.tool);
    if (order == 0)
        order = strcmp(a->cache, b->cache);
    return order != 0 ? order : a->environment.static_mode - b->environment.static_mode;
}

static int read_studies(struct record *record, enum result_set wanted, const char *data_hash,
                        struct study **studies, size_t *count, struct error *error)
{
    *studies = alloc_zeroed(1, sizeof **studies);
    *count = 0;
    struct query query =
        query_begin(record, wanted == FAILED ? STATEMENT_FAILED_STUDIES : STATEMENT_LATEST_STUDIES);
    int result = 0;
    int status = SQLITE_DONE;
    while (result == 0 && (status = query_step(&query)) == SQLITE_ROW)
        result = read_study(record, query.statement, wanted, data_hash,
                            ARRAY_APPEND(*studies, *count), error);
    query_end(&query);
    if (result == 0 && status != SQLITE_DONE)
        result = record_failed(record, error);
    if (result == 0) {
        qsort(*studies, *count, sizeof **studies, compare_studies);
        return 0;
    }
    for (size_t i = 0; i < *count; i++)
        study_release(&(*studies)[i]);
    free(*studies);
    *studies = NULL;
    *count = 0;
    return result;
}

int record_studies(struct record *record, struct study **studies, size_t *count,
                   struct error *error)
{
    return read_studies(record, JUDGED, NULL, studies, count, error);
}

int record_failures(struct record *record, const char *data_hash, struct study **studies,
                    size_t *count, struct error *error)
{
    return read_studies(record, FAILED, data_hash, studies, count, error);
}
