#include "record/record.h"

#include "base/alloc.h"
#include "record/record_database.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- columns that are members --- */

enum member_kind { MEMBER_INTEGER, MEMBER_REAL, MEMBER_TEXT, MEMBER_CHARS };

/* When a member is known, and not stored as NULL: ALWAYS, if it is not 0, or if another member says so. */
enum member_known { ALWAYS, IF_ANY, TIMED, FIGURES, WATCHED };

struct member {
    enum member_kind kind;
    enum member_known known;
    size_t offset;
    size_t bytes;
};

#define MEMBER(type, kind, known, name)                                                            \
    {                                                                                              \
        MEMBER_##kind, known, offsetof(type, name), sizeof((type *)NULL)->name                     \
    }
#define X(kind, column, name, known) MEMBER(struct study, kind, known, name),
static const struct member subject_members[] = {STUDY_SUBJECT(X)};
static const struct member template_members[] = {STUDY_TEMPLATE(X)};
static const struct member origin_members[] = {STUDY_ORIGIN(X)};
static const struct member figure_members[] = {STUDY_FIGURES(X)};
#undef X
#define X(kind, column, name, known) MEMBER(struct result, kind, known, name),
static const struct member result_members[] = {RESULT_MEMBERS(X)};
#undef X

#define PUT_MEMBERS(query, base, members)                                                          \
    put_members(query, base, members, sizeof(members) / sizeof *(members))
#define READ_MEMBERS(row, column, base, members)                                                   \
    read_members(row, column, base, members, sizeof(members) / sizeof *(members))

static int64_t load_integer(const struct member *member, const void *at)
{
    int64_t integer = 0;
    memcpy(&integer, at, member->bytes); /* none is below 0 */
    return integer;
}

static bool is_known(const struct member *member, const void *base)
{
    const void *at = (const char *)base + member->offset;
    switch (member->known) {
    case IF_ANY:
        return member->kind == MEMBER_REAL ? *(const double *)at > 0 : load_integer(member, at) > 0;
    case TIMED:
        return ((const struct result *)base)->time.count > 0;
    case FIGURES:
        return ((const struct result *)base)->stats.known;
    case WATCHED:
        return ((const struct study *)base)->conditions.known;
    case ALWAYS:
        break;
    }
    return true;
}

static void put_members(struct query *query, const void *base, const struct member *members,
                        size_t count)
{
    for (const struct member *member = members; member < members + count; member++) {
        const void *at = (const char *)base + member->offset;
        if (!is_known(member, base))
            query_null(query);
        else if (member->kind == MEMBER_INTEGER)
            query_integer(query, load_integer(member, at));
        else if (member->kind == MEMBER_REAL)
            query_real(query, *(const double *)at);
        else
            query_text(query, member->kind == MEMBER_TEXT ? *(char *const *)at : at);
    }
}

/* Sets the members from the row's columns from `column` on, and what says that they are known. Returns the column
 * behind them. */
static int read_members(sqlite3_stmt *row, int column, void *base, const struct member *members,
                        size_t count)
{
    for (const struct member *member = members; member < members + count; member++, column++) {
        void *at = (char *)base + member->offset;
        const char *text = row_text(row, column);
        const int64_t integer = sqlite3_column_int64(row, column);
        if (text == NULL)
            continue;
        if (member->kind == MEMBER_INTEGER)
            memcpy(at, &integer, member->bytes);
        else if (member->kind == MEMBER_REAL)
            *(double *)at = sqlite3_column_double(row, column);
        else if (member->kind == MEMBER_TEXT)
            *(char **)at = alloc_string(text);
        else
            (void)snprintf(at, member->bytes, "%s", text);
        if (member->known == FIGURES)
            ((struct result *)base)->stats.known = true;
        if (member->known == WATCHED)
            ((struct study *)base)->conditions.known = true;
    }
    return column;
}

/* --- variants --- */

/* A JSON array, a new string; NULL: there are none. */
static char *samples_text(const struct result *result)
{
    if (result->sample_count == 0)
        return NULL;
    enum { SAMPLE_BYTES = 32 };
    char *text = alloc_zeroed(result->sample_count, SAMPLE_BYTES);
    char *end = text;
    for (size_t i = 0; i < result->sample_count; i++)
        end += snprintf(end, SAMPLE_BYTES, "%c%.17g", i == 0 ? '[' : ',', result->samples_ns[i]);
    (void)stpcpy(end, "]");
    return text;
}

/* Stores the variant in a new row or, if it has one, in that. */
static int put_row(struct record *record, int64_t study_id, const struct result *result,
                   const char *phase, const char *parameters, struct error *error)
{
    char *samples = samples_text(result);
    bool finals = strcmp(phase, "finals") == 0;
    struct query query = query_begin(record, STATEMENT_PUT_VARIANT);
    query_integer(&query, study_id);
    query_text(&query, parameters);
    query_text(&query, result->gpu);
    query_text(&query, finals ? NULL : samples);
    query_text(&query, finals ? samples : NULL);
    query_text(&query, outcome_name(result->outcome));
    query_text(&query, phase);
    PUT_MEMBERS(&query, result, result_members);
    int status = query_run(&query, NULL, error);
    free(samples);
    return status;
}

/* An earlier failure stays in its row, whatever another run finds; with the constraint that rules it out now, if
 * any. A timeout gives way to a screening, which was given more time, and to another failure. Sets `*kept` to
 * whether there is one. */
static int keep_failure(struct record *record, int64_t study_id, const struct result *result,
                        const char *phase, const char *parameters, bool *kept, struct error *error)
{
    bool ran = result->outcome == OUTCOME_MEASURED || result->outcome == OUTCOME_DUPLICATE;
    struct query query = query_begin(record, STATEMENT_KEEP_FAILURE);
    query_text(&query, result->decided_by);
    query_integer(&query, study_id);
    query_text(&query, parameters);
    query_integer(&query, result_is_refuted(result) || (ran && strcmp(phase, "screening") == 0));
    int status = query_run(&query, NULL, error);
    *kept = status == 0 && sqlite3_changes(record->database) > 0;
    return status;
}

static int put_variant(struct record *record, int64_t study_id, const struct result *result,
                       const char *phase, struct error *error)
{
    bool kept;
    char *parameters = bindings_json_text(&result->parameters);
    int status = keep_failure(record, study_id, result, phase, parameters, &kept, error);
    if (status == 0 && !kept)
        status = put_row(record, study_id, result, phase, parameters, error);
    free(parameters);
    return status;
}

/* The samples of the phase that the variant's figures are of. */
static bool read_samples(const char *text, struct result *result)
{
    size_t index;
    json_t *sample;
    json_t *array = text != NULL ? json_loads(text, 0, NULL) : NULL;
    bool good = text == NULL || json_is_array(array);
    json_array_foreach(array, index, sample)
    {
        *ARRAY_APPEND(result->samples_ns, result->sample_count) = json_number_value(sample);
    }
    json_decref(array);
    return good;
}

/* Reads a row of SELECT_RESULT. */
static int read_variant(struct record *record, sqlite3_stmt *row, struct result *result,
                        struct error *error)
{
    int64_t id = sqlite3_column_int64(row, 0);
    if (!bindings_from_text(&result->parameters, row_text(row, 1)))
        return record_damaged(record, "parameters", id, error);
    if (!read_samples(row_text(row, 2), result))
        return record_damaged(record, "samples", id, error);
    int outcome = outcome_from_name(row_text(row, 3));
    if (outcome < 0)
        return record_damaged(record, "outcome", id, error);
    result->outcome = (enum outcome)outcome;
    result->judged = sqlite3_column_int(row, 4) != 0;
    (void)READ_MEMBERS(row, RESULT_COLUMNS, result, result_members);
    return 0;
}

/* --- studies --- */

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

/* What a study is about. `problem` lives until the end. */
static struct query find_query(struct record *record, const struct study *study,
                               const char *problem)
{
    struct query query = query_begin(record, STATEMENT_FIND_STUDY);
    query_text(&query, problem);
    query_text(&query, mode_name(study));
    PUT_MEMBERS(&query, study, subject_members);
    return query;
}

static int add_study(struct record *record, const struct study *study, const char *problem,
                     int64_t *id, struct error *error)
{
    json_t *gpu = gpu_to_json(&study->environment.gpu);
    char *details = json_dumps(gpu, JSON_COMPACT | JSON_PRESERVE_ORDER);
    struct query query = query_begin(record, STATEMENT_ADD_STUDY);
    query_text(&query, problem);
    query_text(&query, mode_name(study));
    query_text(&query, details);
    PUT_MEMBERS(&query, study, subject_members);
    PUT_MEMBERS(&query, study, template_members);
    PUT_MEMBERS(&query, study, origin_members);
    PUT_MEMBERS(&query, study, figure_members);
    int result = query_run(&query, NULL, error);
    *id = sqlite3_last_insert_rowid(record->database);
    free(details);
    json_decref(gpu);
    return result;
}

/* Which results of a study are read. */
enum result_set { ALL, JUDGED };

static int read_results(struct record *record, int64_t id, enum result_set wanted,
                        const struct study *like, int64_t winner, struct study *study,
                        struct error *error);

static void read_gpus(sqlite3_stmt *row, int column, struct study *study)
{
    const char *text = row_text(row, column);
    json_t *array = text != NULL ? json_loads(text, 0, NULL) : NULL;
    study->gpus = study_gpus_from_json(array, &study->gpu_count);
    json_decref(array);
}

/* Runs a statement that takes an id alone. */
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
    while (status == SQLITE_ROW &&
           !(gpu_from_text(&measured, row_text(query->statement, 1)) && gpu_alike(&measured, gpu)));
    return status;
}

/* Takes what an earlier study found; of a complete one, also when that was and by which command. */
static void take_found(sqlite3_stmt *row, struct study *study)
{
    struct study found = {0};
    int column = READ_MEMBERS(row, FOUND_COLUMNS, &found, origin_members);
    (void)READ_MEMBERS(row, column, &found, figure_members);
    read_gpus(row, 4, study);
    study->complete = sqlite3_column_int(row, 2) != 0;
    if (found.empty_kernel_ns > 0)
        study->empty_kernel_ns = found.empty_kernel_ns;
    study->empty_batch_ns = found.empty_batch_ns;
    study->conditions = found.conditions;
    if (study->complete) {
        char *command = study->environment.command;
        study->environment.command = found.environment.command;
        found.environment.command = command;
        memcpy(study->environment.date, found.environment.date, sizeof found.environment.date);
    }
    study_release(&found);
}

/* Has what is measured in a study, but failed in another one of the same code, fail in this one, too.
 * `*changes` is how many there were. */
static int refute(struct record *record, int64_t id, int *changes, struct error *error)
{
    int status = by_id(record, STATEMENT_REFUTE, id, error);
    *changes = status == 0 ? sqlite3_changes(record->database) : 0;
    return status;
}

/* Looks for an earlier study of the same subject; `*id` is 0 where there is none. If what it measured has
 * failed since, it is to be decided anew. */
static int take_up(struct record *record, struct study *study, const char *problem, int64_t *id,
                   struct error *error)
{
    struct query query = find_query(record, study, problem);
    int status = find_study(&query, &study->environment.gpu);
    int64_t winner = 0;
    *id = 0;
    if (status == SQLITE_ROW) {
        *id = sqlite3_column_int64(query.statement, 0);
        winner = sqlite3_column_int64(query.statement, 3);
        take_found(query.statement, study);
    }
    int result = status == SQLITE_ROW || status == SQLITE_DONE ? 0 : record_failed(record, error);
    query_end(&query);
    if (*id == 0 || result != 0)
        return result;
    int changes;
    result = refute(record, *id, &changes, error);
    if (result == 0 && changes > 0) {
        winner = 0;
        study->complete = false;
        result = by_id(record, STATEMENT_REOPEN_STUDY, *id, error);
    }
    if (result == 0)
        result = read_results(record, *id, ALL, NULL, winner, study, error);
    return result != 0 || winner == 0 || study->has_winner
               ? result
               : by_id(record, STATEMENT_REOPEN_STUDY, *id, error);
}

/* What was wrong or crashed once is not right because it is so in another run. */
static int begin_study(struct record *record, struct study *study, const char *problem, int64_t *id,
                       struct error *error)
{
    int result = add_study(record, study, problem, id, error);
    if (result == 0)
        result = by_id(record, STATEMENT_COPY_FAILURES, *id, error);
    if (result == 0)
        result = by_id(record, STATEMENT_CLEAR_TIMES, *id, error);
    return result != 0 ? result : read_results(record, *id, ALL, NULL, 0, study, error);
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
        result = begin_study(record, study, problem, id, error);
    if (result == 0)
        result = by_id(record, STATEMENT_TAKE_TURN, *id, error);
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
    return record_end(record, query_run(&query, NULL, error), error);
}

int record_reopen(struct record *record, int64_t study_id, struct error *error)
{
    if (record == NULL)
        return 0;
    int result = record_start(record, error);
    if (result != 0)
        return result;
    result = by_id(record, STATEMENT_REOPEN_STUDY, study_id, error);
    if (result == 0)
        result = by_id(record, STATEMENT_CLEAR_MARKS, study_id, error);
    return record_end(record, result, error);
}

int record_withdraw(struct record *record, int64_t study_id, struct error *error)
{
    int result = record_start(record, error);
    if (result != 0)
        return result;
    return record_end(record, by_id(record, STATEMENT_DROP_TURN, study_id, error), error);
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

/* Notes which variants are judged, which reached the finals and which tied. */
static int store_finals(struct record *record, int64_t study_id, const struct study *study,
                        struct error *error)
{
    int result = by_id(record, STATEMENT_CLEAR_MARKS, study_id, error);
    for (size_t i = 0; result == 0 && i < study->result_count; i++)
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

/* Has a result that was measured become the failure that the record has of it, if any. */
static int take_failure(struct record *record, int64_t study_id, struct result *result,
                        bool *failed, struct error *error)
{
    struct result stored = {0};
    char *parameters = bindings_json_text(&result->parameters);
    struct query query = query_begin(record, STATEMENT_GET_VARIANT);
    query_integer(&query, study_id);
    query_text(&query, parameters);
    int step = query_step(&query);
    int status = step == SQLITE_ROW ? read_variant(record, query.statement, &stored, error) : 0;
    if (step != SQLITE_ROW && step != SQLITE_DONE)
        status = record_failed(record, error);
    query_end(&query);
    free(parameters);
    *failed = status == 0 && result_is_refuted(&stored);
    if (*failed) {
        char *reason = result->reason;
        result->outcome = stored.outcome;
        result->limit_s = stored.limit_s;
        result->reason = stored.reason;
        stored.reason = reason;
    }
    result_release(&stored);
    return status;
}

/* Whether the winner, a finalist or the best so far turns out to have failed, inside a transaction. */
static int check_winners(struct record *record, int64_t study_id, struct study *study,
                         bool *refuted, struct error *error)
{
    int changes;
    int status = refute(record, study_id, &changes, error);
    const size_t best = study_best(study);
    *refuted = false;
    for (size_t i = 0; i < study->result_count && status == 0; i++) {
        struct result *result = &study->results[i];
        bool failed;
        if (result->outcome != OUTCOME_MEASURED || !(result->finalist || i == best))
            continue;
        status = take_failure(record, study_id, result, &failed, error);
        *refuted = *refuted || failed;
    }
    if (*refuted)
        study->has_winner = false;
    return status;
}

int record_check(struct record *record, int64_t study_id, struct study *study, bool *refuted,
                 struct error *error)
{
    int result = record_start(record, error);
    return result != 0
               ? result
               : record_end(record, check_winners(record, study_id, study, refuted, error), error);
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
        if (winner != 0)
            query_integer(&query, winner);
        else
            query_null(&query);
        query_text(&query, gpus);
        PUT_MEMBERS(&query, study, origin_members);
        PUT_MEMBERS(&query, study, figure_members);
        query_integer(&query, study_id);
        result = query_run(&query, NULL, error);
    }
    free(gpus);
    return result;
}

int record_finish(struct record *record, int64_t study_id, struct study *study, struct error *error)
{
    bool refuted;
    study->complete = record == NULL;
    if (record == NULL)
        return 0;
    int result = record_start(record, error);
    if (result != 0)
        return result;
    result = check_winners(record, study_id, study, &refuted, error);
    study->complete = result == 0 && !refuted;
    if (study->complete)
        result = finish(record, study_id, study, error);
    return record_end(record, result, error);
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
    if (record == NULL)
        return 0;
    int status = record_start(record, error);
    if (status != 0)
        return status;
    for (size_t i = 0; i < count && status == 0; i++)
        status = put_variant(record, study_id, &results[indices[i]], phase, error);
    return record_end(record, status, error);
}

/* Removes the study of the same subject, if there is one. */
static int drop_earlier(struct record *record, const struct study *study, const char *problem,
                        struct error *error)
{
    struct query find = find_query(record, study, problem);
    int status = find_study(&find, &study->environment.gpu);
    int64_t id = status == SQLITE_ROW ? sqlite3_column_int64(find.statement, 0) : 0;
    int result = status == SQLITE_ROW || status == SQLITE_DONE ? 0 : record_failed(record, error);
    query_end(&find);
    return result != 0 || id == 0 ? result : by_id(record, STATEMENT_DROP_STUDY, id, error);
}

int record_import(struct record *record, const struct study *study, struct error *error)
{
    int64_t id = 0;
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
        result = put_variant(record, id, &study->results[i], "screening", error);
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

/* Adds the stored results of a study; `winner` is the winner's row, 0 where there is none. If `like` is given, adds
 * only the failures that count for it. */
static int read_results(struct record *record, int64_t id, enum result_set wanted,
                        const struct study *like, int64_t winner, struct study *study,
                        struct error *error)
{
    struct query query =
        query_begin(record, like != NULL ? STATEMENT_GET_FAILURES : STATEMENT_GET_VARIANTS);
    query_integer(&query, id);
    if (like != NULL) {
        query_text(&query, like->data_hash);
        query_text(&query, like->environment.gpu.driver);
        query_text(&query, like->environment.nvrtc);
    } else {
        query_integer(&query, wanted == JUDGED);
    }
    int result = 0;
    int status = SQLITE_DONE;
    while (result == 0 && (status = query_step(&query)) == SQLITE_ROW) {
        if (winner != 0 && sqlite3_column_int64(query.statement, 0) == winner) {
            study->has_winner = true;
            study->winner = study->result_count;
        }
        result = read_variant(record, query.statement,
                              ARRAY_APPEND(study->results, study->result_count), error);
        if (result == 0 && like == NULL)
            rule_out(&study->results[study->result_count - 1]);
    }
    query_end(&query);
    if (study->has_winner && study->results[study->winner].outcome != OUTCOME_MEASURED)
        study->has_winner = study->complete = false; /* it failed in a run that did not end */
    return result != 0 || status == SQLITE_DONE ? result : record_failed(record, error);
}

static int read_study(struct record *record, sqlite3_stmt *row, enum result_set wanted,
                      const struct study *like, struct study *study, struct error *error)
{
    int64_t id = sqlite3_column_int64(row, 0);
    if (!bindings_from_text(&study->problem, row_text(row, 1)))
        return record_damaged(record, "problem", id, error);
    study->environment.static_mode = strcmp(row_text(row, 2), "static") == 0;
    study->complete = sqlite3_column_int(row, 4) != 0;
    read_gpus(row, 6, study);
    study->refusal = alloc_string(row_text(row, 7));
    int column = READ_MEMBERS(row, STUDY_COLUMNS, study, subject_members);
    column = READ_MEMBERS(row, column, study, template_members);
    column = READ_MEMBERS(row, column, study, origin_members);
    (void)READ_MEMBERS(row, column, study, figure_members);
    if (!gpu_from_text(&study->environment.gpu, row_text(row, 3)))
        return record_damaged(record, "GPU", id, error);
    if (wanted == JUDGED && !study->complete)
        wanted = ALL;
    int status = read_results(record, id, wanted, like, sqlite3_column_int64(row, 5), study, error);
    study_link_twins(study);
    return status;
}

static int compare_studies(const void *left, const void *right)
{
    const struct study *a = left;
    const struct study *b = right;
    int order = strcmp(a->kernel, b->kernel);
    if (order == 0)
        order = study_compare_values(&a->problem, &b->problem);
    if (order == 0)
        order = strcmp(a->environment.gpu.name, b->environment.gpu.name);
    if (order == 0)
        order = strcmp(a->environment.gpu.arch, b->environment.gpu.arch);
    if (order == 0)
        order = (int)(a->environment.gpu.attributes[GPU_sm_count] -
                      b->environment.gpu.attributes[GPU_sm_count]);
    if (order == 0)
        order = strcmp(a->environment.tool, b->environment.tool);
    if (order == 0)
        order = strcmp(a->cache, b->cache);
    return order != 0 ? order : a->environment.static_mode - b->environment.static_mode;
}

static struct query query_like(struct record *record, enum statement name, const struct study *like)
{
    struct query query = query_begin(record, name);
    query_text(&query, like->template_hash);
    query_text(&query, like->environment.gpu.name);
    query_text(&query, like->environment.gpu.arch);
    query_integer(&query, like->environment.gpu.attributes[GPU_sm_count]);
    return query;
}

/* The latest ones, or, if there is a study that they are to be like, those with failures. */
static int read_studies(struct record *record, const struct study *like, struct study **studies,
                        size_t *count, struct error *error)
{
    *studies = alloc_zeroed(1, sizeof **studies);
    *count = 0;
    struct query query = like != NULL ? query_like(record, STATEMENT_FAILED_STUDIES, like)
                                      : query_begin(record, STATEMENT_LATEST_STUDIES);
    int result = 0;
    int status = SQLITE_DONE;
    while (result == 0 && (status = query_step(&query)) == SQLITE_ROW)
        result = read_study(record, query.statement, like != NULL ? ALL : JUDGED, like,
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
    return read_studies(record, NULL, studies, count, error);
}

/* Has what ran the same code as a failure fail in every study, inside a transaction. */
static int refute_all(struct record *record, const struct study *like, struct error *error)
{
    struct query query = query_like(record, STATEMENT_STUDIES_LIKE, like);
    int status;
    int changes;
    int result = 0;
    while (result == 0 && (status = query_step(&query)) == SQLITE_ROW) {
        const int64_t id = sqlite3_column_int64(query.statement, 0);
        result = refute(record, id, &changes, error);
        if (result == 0 && changes > 0) /* it is to be decided anew */
            result = by_id(record, STATEMENT_REOPEN_STUDY, id, error);
    }
    query_end(&query);
    return result != 0 || status == SQLITE_DONE ? result : record_failed(record, error);
}

int record_failures(struct record *record, const struct study *like, struct study **studies,
                    size_t *count, struct error *error)
{
    int result = record_start(record, error);
    if (result == 0)
        result = record_end(record, refute_all(record, like, error), error);
    if (result == 0)
        return read_studies(record, like, studies, count, error);
    *studies = NULL;
    *count = 0;
    return result;
}

/* --- near studies --- */

enum { FASTEST = RECORD_NEAR_RESULTS / 4 };

/* What cannot be read is left out: a search can do without. */
static void read_near_result(sqlite3_stmt *row, struct study *study)
{
    struct bindings parameters = {0};
    int outcome = outcome_from_name(row_text(row, 1));
    if (outcome < 0 || !bindings_from_text(&parameters, row_text(row, 0))) {
        bindings_release(&parameters);
        return;
    }
    struct result *result = ARRAY_APPEND(study->results, study->result_count);
    result->parameters = parameters;
    result->outcome = (enum outcome)outcome;
    result->time.median_ns = sqlite3_column_double(row, 2);
    const char *run_hash = row_text(row, 3);
    (void)snprintf(result->run_hash, sizeof result->run_hash, "%s", run_hash);
}

static int read_near(struct record *record, int64_t id, struct study *study, struct error *error)
{
    struct query query = query_begin(record, STATEMENT_GET_NEAR_VARIANTS);
    int status;
    *study = (struct study){0};
    query_integer(&query, id);
    query_integer(&query, FASTEST);
    query_integer(&query, RECORD_NEAR_RESULTS - FASTEST);
    while ((status = query_step(&query)) == SQLITE_ROW)
        read_near_result(query.statement, study);
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
        status = read_near(record, ids[i], ARRAY_APPEND(*studies, *count), error);
    return status;
}
