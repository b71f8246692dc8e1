#include "record/record_variant.h"

#include "base/alloc.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- writing --- */

static void put_figures(struct query *query, const struct kernel_stats *figures)
{
    enum { FIGURES = 10 };
    if (!figures->known) {
        for (int i = 0; i < FIGURES; i++)
            query_null(query);
        return;
    }
    query_integer(query, figures->registers);
    query_integer(query, figures->spill_bytes);
    query_integer(query, figures->stack_bytes);
    query_integer(query, figures->static_shared_bytes);
    query_integer(query, figures->dynamic_shared_bytes);
    query_integer(query, figures->block_threads);
    query_integer(query, figures->grid_blocks);
    query_integer(query, figures->blocks_per_sm);
    query_real(query, figures->occupancy);
    query_integer(query, figures->limiters);
}

static void put_summary(struct query *query, const struct summary *time)
{
    const double figures[] = {time->median_ns, time->low_ns, time->high_ns, time->minimum_ns,
                              time->relative_iqr};
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
        if (time->count > 0)
            query_real(query, figures[i]);
        else
            query_null(query);
    }
    query_integer(query, (int64_t)time->count);
}

/* A limit that was missed, or a time that is known. */
static void put_if_any(struct query *query, double real)
{
    if (real > 0)
        query_real(query, real);
    else
        query_null(query);
}

static void put_outcome(struct query *query, const struct result *result)
{
    query_text(query, outcome_name(result->outcome));
    query_text(query, result->reason);
    query_text(query, result->decided_by);
    put_if_any(query, result->limit_s);
    if (result->limit_mb > 0)
        query_integer(query, result->limit_mb);
    else
        query_null(query);
}

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

/* Stores the variant in a new row `id` or, if it has one, in that. `samples` is NULL or a JSON array. */
static int put_variant(struct record *record, int64_t study_id, const struct result *result,
                       const char *phase, const char *parameters, const char *samples, int64_t id,
                       struct error *error)
{
    bool finals = strcmp(phase, "finals") == 0;
    struct query query = query_begin(record, STATEMENT_PUT_VARIANT);
    query_hash(&query);
    query_integer(&query, id);
    query_integer(&query, study_id);
    query_text(&query, parameters);
    put_outcome(&query, result);
    query_text(&query, phase);
    query_text(&query, result->gpu);
    query_text(&query, result->gpu);
    put_summary(&query, &result->time);
    query_integer(&query, result->runs);
    query_real(&query, result->bytes);
    query_real(&query, result->operations);
    put_figures(&query, &result->stats);
    query_integer(&query, result->finalist);
    query_integer(&query, result->tied);
    query_text(&query, result->run_hash);
    put_if_any(&query, result->seen_s);
    query_integer(&query, 1); /* judged */
    query_text(&query, finals ? NULL : samples);
    query_text(&query, finals ? samples : NULL);
    query_checksum(&query);
    return query_run(&query, NULL, error);
}

static int seal_variant(struct record *record, int64_t study_id, const char *parameters,
                        struct error *error)
{
    struct query query = query_begin(record, STATEMENT_SEAL_VARIANT);
    query_integer(&query, study_id);
    query_text(&query, parameters);
    return query_run(&query, NULL, error);
}

/* If the result is of a variant that was not run, an earlier failure stays in its row, with the constraint
 * that rules it out now. Sets `*kept` to whether there is one. */
static int keep_failure(struct record *record, int64_t study_id, const struct result *result,
                        const char *parameters, bool *kept, struct error *error)
{
    *kept = false;
    if (result->outcome == OUTCOME_MEASURED || result->outcome == OUTCOME_DUPLICATE ||
        result_is_refuted(result))
        return 0;
    struct query query = query_begin(record, STATEMENT_KEEP_FAILURE);
    query_text(&query, result->decided_by);
    query_integer(&query, study_id);
    query_text(&query, parameters);
    int status = query_run(&query, NULL, error);
    *kept = status == 0 && sqlite3_changes(record->database) > 0;
    return status;
}

int record_variant_put(struct record *record, int64_t study_id, const struct result *result,
                       const char *phase, int64_t *next, struct error *error)
{
    int status = 0;
    if (*next == 0) {
        struct query query = query_begin(record, STATEMENT_NEXT_VARIANT);
        status = query_run(&query, next, error);
    }
    if (status != 0)
        return status;
    char *parameters = bindings_json_text(&result->parameters);
    char *samples = samples_text(result);
    bool kept;
    sqlite3_set_last_insert_rowid(record->database, 0);
    status = keep_failure(record, study_id, result, parameters, &kept, error);
    if (status == 0 && !kept)
        status = put_variant(record, study_id, result, phase, parameters, samples, *next, error);
    if (status == 0 && sqlite3_last_insert_rowid(record->database) != 0)
        ++*next;
    else if (status == 0) /* its row keeps what the phase does not replace */
        status = seal_variant(record, study_id, parameters, error);
    free(samples);
    free(parameters);
    return status;
}

/* --- reading --- */

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

static void read_figures(sqlite3_stmt *row, int column, struct kernel_stats *figures)
{
    if (sqlite3_column_type(row, column) == SQLITE_NULL)
        return;
    figures->known = true;
    figures->registers = sqlite3_column_int(row, column++);
    figures->spill_bytes = sqlite3_column_int64(row, column++);
    figures->stack_bytes = sqlite3_column_int64(row, column++);
    figures->static_shared_bytes = sqlite3_column_int64(row, column++);
    figures->dynamic_shared_bytes = sqlite3_column_int64(row, column++);
    figures->block_threads = sqlite3_column_int(row, column++);
    figures->grid_blocks = sqlite3_column_int64(row, column++);
    figures->blocks_per_sm = sqlite3_column_int(row, column++);
    figures->occupancy = sqlite3_column_double(row, column++);
    figures->limiters = (unsigned)sqlite3_column_int64(row, column);
}

static void read_summary(sqlite3_stmt *row, int column, struct summary *time)
{
    time->median_ns = sqlite3_column_double(row, column++);
    time->low_ns = sqlite3_column_double(row, column++);
    time->high_ns = sqlite3_column_double(row, column++);
    time->minimum_ns = sqlite3_column_double(row, column++);
    time->relative_iqr = sqlite3_column_double(row, column++);
    time->count = (size_t)sqlite3_column_int64(row, column);
}

int record_variant_read(struct record *record, sqlite3_stmt *row, struct result *result,
                        struct error *error)
{
    int64_t id = sqlite3_column_int64(row, 0);
    if (!bindings_from_text(&result->parameters, row_text(row, 1)))
        return record_damaged(record, "parameters", id, error);
    int outcome = outcome_from_name(row_text(row, 2));
    if (outcome < 0)
        return record_damaged(record, "outcome", id, error);
    result->outcome = (enum outcome)outcome;
    result->reason = alloc_string(row_text(row, 3));
    read_summary(row, 5, &result->time);
    result->bytes = sqlite3_column_double(row, 11);
    result->operations = sqlite3_column_double(row, 12);
    result->finalist = sqlite3_column_int(row, 13) != 0;
    result->tied = sqlite3_column_int(row, 14) != 0;
    result->runs = sqlite3_column_int(row, 15);
    read_figures(row, 16, &result->stats);
    result->judged = sqlite3_column_int(row, 26) != 0;
    result->limit_s = sqlite3_column_double(row, 27);
    row_string(row, 28, result->run_hash, sizeof result->run_hash);
    result->seen_s = sqlite3_column_double(row, 29);
    row_string(row, 30, result->gpu, sizeof result->gpu);
    result->limit_mb = sqlite3_column_int(row, 31);
    result->decided_by = alloc_string(row_text(row, 33));
    return read_samples(row_text(row, 32), result) ? 0
                                                   : record_damaged(record, "samples", id, error);
}
