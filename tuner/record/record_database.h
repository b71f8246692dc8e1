/*
 * The record's connection to SQLite, its statements and transactions: what record.c, which reads and writes
 * studies, and record_open.c, which opens the file, have in common.
 */
#ifndef AUTOTUNE_RECORD_DATABASE_H
#define AUTOTUNE_RECORD_DATABASE_H

#include "base/error.h"
#include "template/value.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a variant's row has besides its study, its parameters and its samples, in the order in which record.c writes
 * and reads it. */
/* clang-format off */
#define VARIANT_VALUES(X)                                                                          \
    X(outcome) X(reason) X(decided_by) X(limit_s) X(limit_mb) X(phase) X(gpu)                      \
    X(median_ns) X(low_ns) X(high_ns) X(minimum_ns) X(relative_iqr) X(samples)                     \
    X(runs) X(bytes) X(operations)                                                                 \
    X(registers) X(spill_bytes) X(stack_bytes) X(static_shared_bytes) X(dynamic_shared_bytes)      \
    X(block_threads) X(grid_blocks) X(blocks_per_sm) X(occupancy) X(limiters)                      \
    X(finalist) X(tied) X(run_hash) X(seen_s) X(judged)
/* clang-format on */
#define VALUE_NAME(name) ", " #name
#define VALUE_PLACE(name) ", ?"
#define VALUE_UPDATE(name) ", " #name " = excluded." #name

/* What record.c reads, in its order. */
#define STUDY_COLUMNS                                                                              \
    "id, kernel, problem, gpu, arch, mode, cache, template_hash, driver, nvrtc, template,"         \
    " description, autotune, host, date, command, gpu_details, points, rejected,"                  \
    " empty_kernel_ns, complete, winner, dropped_samples, throttled_samples, sm_clock_mhz,"        \
    " other_processes, empty_batch_ns, tool, rejected_estimated, gpus, refusal, one_data_set"
#define RESULT_COLUMNS                                                                             \
    "id, parameters, CASE phase WHEN 'finals' THEN finals_ns ELSE screening_ns "                   \
    "END" VARIANT_VALUES(VALUE_NAME)

/* Cards of one name may have different numbers of SMs. */
#define SM_COUNT "'$.attributes.sm_count'"

#define FAILURES "'wrong_result', 'fault', 'timeout'"

/* X(name, SQL) */
#define STATEMENTS(X)                                                                              \
    X(BEGIN, "BEGIN IMMEDIATE")                                                                    \
    X(COMMIT, "COMMIT")                                                                            \
    X(FIND_STUDY,                                                                                  \
      "SELECT id, complete, winner, empty_kernel_ns, date, command,"                               \
      " dropped_samples, throttled_samples, sm_clock_mhz, other_processes, "                       \
      "empty_batch_ns, gpus, gpu_details FROM study"                                               \
      " WHERE kernel = ? AND problem = ? AND gpu = ? AND arch = ? AND mode = ?"                    \
      " AND cache = ? AND template_hash = ? AND data_hash = ? AND driver = ? AND nvrtc = ?"        \
      " AND tool = ?"                                                                              \
      " ORDER BY id DESC")                                                                         \
    X(TAKE_TURN, "UPDATE study SET turn = (SELECT max(turn) + 1 FROM study), refusal = NULL"       \
                 " WHERE id = ?")                                                                  \
    X(REFUSE, "UPDATE study SET refusal = ? WHERE id = ?")                                         \
    X(ADD_STUDY,                                                                                   \
      "INSERT INTO study (kernel, problem, gpu, arch, mode, cache, template_hash, data_hash,"      \
      " driver, nvrtc, tool, template, description, autotune, host, date, command,"                \
      " gpu_details, points, rejected, empty_kernel_ns, complete)"                                 \
      " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0)")                \
    X(FINISH_STUDY,                                                                                \
      "UPDATE study SET complete = 1, points = ?, rejected = ?, rejected_estimated = ?,"           \
      " empty_kernel_ns = ?, winner = ?, dropped_samples = ?,"                                     \
      " throttled_samples = ?, sm_clock_mhz = ?, other_processes = ?, "                            \
      "empty_batch_ns = ?, gpus = ?, one_data_set = ?, autotune = ?, host = ?, date = ?,"          \
      " command = ? WHERE id = ?")                                                                 \
    X(DROP_STUDY, "DELETE FROM study WHERE id = ?")                                                \
    X(REOPEN_STUDY, "UPDATE study SET complete = 0, winner = NULL WHERE id = ?")                   \
    X(CLEAR_MARKS, "UPDATE variant SET finalist = 0, tied = 0, judged = 0"                         \
                   " WHERE study = ? AND (finalist OR tied OR judged)")                            \
    X(CLEAR_FINALS, "UPDATE variant SET finalist = 0, tied = 0"                                    \
                    " WHERE study = ? AND (finalist OR tied)")                                     \
    X(COUNT_JUDGED, "SELECT count(*) FROM variant WHERE study = ? AND judged")                     \
    X(OTHERS, "PRAGMA data_version")                                                               \
    X(LATEST_STUDIES,                                                                              \
      "SELECT " STUDY_COLUMNS " FROM study WHERE id IN (SELECT id FROM (SELECT id, max(turn)"      \
      " FROM study GROUP BY kernel, problem, gpu, arch, json_extract(gpu_details, " SM_COUNT "),"  \
      " mode, cache, tool)) ORDER BY kernel, gpu, arch, mode, id")                                 \
    X(FAILED_STUDIES, "SELECT " STUDY_COLUMNS " FROM study WHERE mode = 'measured' AND tool = ''"  \
                      " AND EXISTS (SELECT 1 FROM variant WHERE study = study.id"                  \
                      " AND outcome IN (" FAILURES ")) ORDER BY kernel, gpu, arch, mode, id")      \
    X(FIND_VARIANT, "SELECT id FROM variant WHERE study = ? AND parameters = ?")                   \
    X(PUT_VARIANT,                                                                                 \
      "INSERT INTO variant (study, parameters, screening_gpu, screening_ns,"                       \
      " finals_ns" VARIANT_VALUES(VALUE_NAME) ") VALUES (?, ?, ?, ?, ?" VARIANT_VALUES(            \
          VALUE_PLACE) ")"                                                                         \
                       " ON CONFLICT (study, parameters) DO UPDATE SET screening_gpu = CASE "      \
                       "excluded.phase"                                                            \
                       " WHEN 'screening' THEN excluded.gpu ELSE screening_gpu END,"               \
                       " screening_ns = CASE excluded.phase WHEN 'screening' THEN "                \
                       "excluded.screening_ns"                                                     \
                       " ELSE screening_ns END, finals_ns = excluded.finals_ns" VARIANT_VALUES(    \
                           VALUE_UPDATE))                                                          \
    X(KEEP_FAILURE, "UPDATE variant SET decided_by = ?, judged = 1"                                \
                    " WHERE study = ? AND parameters = ? AND outcome IN (" FAILURES ")"            \
                    " AND NOT (ifnull(limit_s, 0) > 0 AND limit_s <= 1e-9)")                       \
    X(GET_VARIANTS, "SELECT " RESULT_COLUMNS " FROM variant"                                       \
                    " WHERE study = ? AND judged >= ? ORDER BY id")                                \
    X(GET_FAILURES,                                                                                \
      "SELECT " RESULT_COLUMNS " FROM variant WHERE study = ?1 AND outcome IN ('duplicate',"       \
      " " FAILURES ") AND NOT EXISTS (SELECT 1 FROM variant AS later"                              \
      " JOIN study AS new ON new.id = later.study JOIN study AS old ON old.id = ?1"                \
      " WHERE later.parameters = variant.parameters AND new.turn > old.turn"                       \
      " AND new.kernel = old.kernel AND new.problem = old.problem AND new.gpu = old.gpu"           \
      " AND new.arch = old.arch AND new.cache = old.cache"                                         \
      " AND new.mode = old.mode AND new.tool = old.tool"                                           \
      " AND (old.data_hash <> ?2 OR new.data_hash = old.data_hash)"                                \
      " AND (variant.outcome IN ('fault', 'timeout') OR later.outcome = 'wrong_result'"            \
      " OR new.driver <> old.driver OR new.nvrtc <> old.nvrtc"                                     \
      " OR new.data_hash <> old.data_hash)"                                                        \
      " AND later.outcome IN ('measured', 'duplicate', " FAILURES ")"                              \
      " AND NOT (ifnull(later.limit_s, 0) > 0 AND later.limit_s <= 1e-9)"                          \
      " AND new.template_hash = old.template_hash AND json_extract(new.gpu_details, " SM_COUNT ")" \
      " = json_extract(old.gpu_details, " SM_COUNT ")) ORDER BY id")                               \
    X(FIND_NEAR, "SELECT id FROM study WHERE (kernel = ?1 OR template = ?2) AND mode = 'measured'" \
                 " AND id <> ?3 AND id >= ?4 AND EXISTS"                                           \
                 " (SELECT 1 FROM variant WHERE study = study.id AND outcome = 'measured')"        \
                 " ORDER BY (kernel = ?1) + (gpu = ?5) + (problem = ?6) DESC, id DESC LIMIT ?7")   \
    X(GET_NEAR_VARIANTS,                                                                           \
      "SELECT parameters, outcome, median_ns, run_hash FROM variant WHERE study = ?1 AND (id IN"   \
      " (SELECT id FROM variant WHERE study = ?1 AND outcome = 'measured'"                         \
      " ORDER BY median_ns LIMIT ?2) OR id IN (SELECT id FROM variant WHERE study = ?1"            \
      " ORDER BY id * 2654435761 % 4294967296 LIMIT ?3)) ORDER BY id")                             \
    X(SET_FINAL, "UPDATE variant SET finalist = ?, tied = ?, judged = 1"                           \
                 " WHERE study = ? AND parameters = ?")

enum statement {
#define X(name, sql) STATEMENT_##name,
    STATEMENTS(X)
#undef X
        STATEMENT_COUNT
};

struct record {
    sqlite3 *database;
    char *path;
    int failure;                               /* SQLite's code of the last one */
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
    int next;   /* parameter to bind */
    int status; /* SQLite's */
};

struct query query_begin(struct record *record, enum statement name);
void query_text(struct query *query, const char *text); /* NULL for no value */
void query_integer(struct query *query, int64_t integer);
void query_real(struct query *query, double real);
void query_null(struct query *query);

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
