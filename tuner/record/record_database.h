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

/* The columns that are members of a study or of a result: X(kind, column, member, when it is known), for which see
 * record.c. What a study is about, what else it is added with, who measured it, and what is known at its end. */
/* clang-format off */
#define STUDY_SUBJECT(X)                                                                           \
    X(TEXT, kernel, kernel, ALWAYS) X(CHARS, gpu, environment.gpu.name, ALWAYS)                    \
    X(CHARS, arch, environment.gpu.arch, ALWAYS) X(CHARS, cache, cache, ALWAYS)                    \
    X(TEXT, template_hash, template_hash, ALWAYS) X(CHARS, data_hash, data_hash, ALWAYS)           \
    X(CHARS, driver, environment.gpu.driver, ALWAYS) X(CHARS, nvrtc, environment.nvrtc, ALWAYS)    \
    X(CHARS, tool, environment.tool, ALWAYS)
#define STUDY_TEMPLATE(X)                                                                          \
    X(TEXT, template, template_name, ALWAYS) X(TEXT, description, description, ALWAYS)
#define STUDY_ORIGIN(X)                                                                            \
    X(CHARS, autotune, environment.autotune, ALWAYS) X(CHARS, host, environment.host, ALWAYS)      \
    X(CHARS, date, environment.date, ALWAYS) X(TEXT, command, environment.command, ALWAYS)
#define STUDY_FIGURES(X)                                                                           \
    X(INTEGER, points, points, ALWAYS) X(INTEGER, rejected, rejected, ALWAYS)                      \
    X(INTEGER, rejected_estimated, rejected_estimated, ALWAYS)                                     \
    X(REAL, empty_kernel_ns, empty_kernel_ns, ALWAYS)                                              \
    X(REAL, empty_batch_ns, empty_batch_ns, ALWAYS)                                                \
    X(INTEGER, one_data_set, one_data_set, ALWAYS)                                                 \
    X(INTEGER, dropped_samples, conditions.dropped_samples, WATCHED)                               \
    X(INTEGER, throttled_samples, conditions.throttled_samples, WATCHED)                           \
    X(REAL, sm_clock_mhz, conditions.sm_clock_mhz, WATCHED)                                        \
    X(INTEGER, other_processes, conditions.other_processes, WATCHED)

#define RESULT_MEMBERS(X)                                                                          \
    X(TEXT, reason, reason, ALWAYS) X(TEXT, decided_by, decided_by, ALWAYS)                        \
    X(REAL, limit_s, limit_s, IF_ANY) X(INTEGER, limit_mb, limit_mb, IF_ANY)                       \
    X(CHARS, gpu, gpu, ALWAYS)                                                                     \
    X(REAL, median_ns, time.median_ns, TIMED) X(REAL, low_ns, time.low_ns, TIMED)                  \
    X(REAL, high_ns, time.high_ns, TIMED) X(REAL, minimum_ns, time.minimum_ns, TIMED)              \
    X(REAL, relative_iqr, time.relative_iqr, TIMED) X(INTEGER, samples, time.count, ALWAYS)        \
    X(INTEGER, runs, runs, ALWAYS) X(REAL, bytes, bytes, ALWAYS)                                   \
    X(REAL, operations, operations, ALWAYS)                                                        \
    X(INTEGER, registers, stats.registers, FIGURES)                                                \
    X(INTEGER, spill_bytes, stats.spill_bytes, FIGURES)                                            \
    X(INTEGER, stack_bytes, stats.stack_bytes, FIGURES)                                            \
    X(INTEGER, static_shared_bytes, stats.static_shared_bytes, FIGURES)                            \
    X(INTEGER, dynamic_shared_bytes, stats.dynamic_shared_bytes, FIGURES)                          \
    X(INTEGER, block_threads, stats.block_threads, FIGURES)                                        \
    X(INTEGER, grid_blocks, stats.grid_blocks, FIGURES)                                            \
    X(INTEGER, blocks_per_sm, stats.blocks_per_sm, FIGURES)                                        \
    X(REAL, occupancy, stats.occupancy, FIGURES) X(INTEGER, limiters, stats.limiters, FIGURES)     \
    X(TEXT, other_launches, other_launches, ALWAYS)                                                \
    X(INTEGER, finalist, finalist, ALWAYS) X(INTEGER, tied, tied, ALWAYS)                          \
    X(CHARS, run_hash, run_hash, ALWAYS) X(REAL, seen_s, seen_s, IF_ANY)
/* clang-format on */
#define COLUMN_NAME(kind, column, member, known) ", " #column
#define COLUMN_PLACE(kind, column, member, known) ", ?"
#define COLUMN_UPDATE(kind, column, member, known) ", " #column " = excluded." #column
#define COLUMN_SET(kind, column, member, known) ", " #column " = ?"
#define COLUMN_MATCH(kind, column, member, known) " AND " #column " = ?"

/* What record.c reads: so many columns, and then members. */
enum { STUDY_COLUMNS = 8, FOUND_COLUMNS = 5, RESULT_COLUMNS = 5 };
#define SELECT_STUDY                                                                               \
    "SELECT id, problem, mode, gpu_details, complete, winner, gpus, refusal" STUDY_SUBJECT(        \
        COLUMN_NAME) STUDY_TEMPLATE(COLUMN_NAME) STUDY_ORIGIN(COLUMN_NAME)                         \
        STUDY_FIGURES(COLUMN_NAME) " FROM study "
#define SELECT_RESULT                                                                              \
    "SELECT id, parameters, CASE phase WHEN 'finals' THEN finals_ns ELSE screening_ns END,"        \
    " outcome, judged" RESULT_MEMBERS(COLUMN_NAME) " FROM variant "

/* clang-format off */
/* Cards of one name may have different numbers of SMs. */
#define SM_COUNT(row) \
    "iif(json_valid(" row ".gpu_details), json_extract(" row ".gpu_details, '$.attributes.sm_count'), NULL)"

#define FAILURES "'wrong_result', 'fault', 'timeout'"
#define PASSING "(ifnull(limit_s, 0) > 0 AND limit_s <= 1e-9)"

/* n = 9001 and n = 9.001e3 are one problem. */
#define NUMBERS(row) "replace(replace(" row ".problem, '.0,', ','), '.0}', '}')"

/* Studies whose variants ran the code of study ?1 on its data, under whatever name of the kernel. */
#define OF_SAME_CODE \
    "SELECT old.id FROM study AS old JOIN study AS new ON new.id = ?1 WHERE new.mode = 'measured'" \
    " AND old.mode = new.mode AND old.tool = new.tool AND " NUMBERS("old") " = " NUMBERS("new") \
    " AND old.gpu = new.gpu AND old.arch = new.arch AND old.template_hash = new.template_hash" \
    " AND old.data_hash = new.data_hash AND old.driver = new.driver AND old.nvrtc = new.nvrtc AND " SM_COUNT("old") " = " SM_COUNT("new")

/* Which failures of the same code count against a variant: those of the same machine code, and, where one machine code
 * is not known, those of the same parameters. A timeout counts only if it came later. */
#define REFUTES \
    "FROM failed WHERE (failed.parameters = variant.parameters AND '' IN (failed.run_hash, variant.run_hash)" \
    " OR failed.run_hash = variant.run_hash AND failed.run_hash <> '')" \
    " AND (failed.outcome <> 'timeout' OR failed.turn > variant.turn)"

/* Studies that were measured of template ?1 on GPU ?2, ?3 with ?4 multiprocessors. */
#define LIKE \
    "mode = 'measured' AND tool = '' AND template_hash = ?1 AND gpu = ?2 AND arch = ?3 AND " \
    SM_COUNT("study") " = ?4"

/* X(name, SQL) */
#define STATEMENTS(X) \
    X(BEGIN, "BEGIN IMMEDIATE") \
    X(COMMIT, "COMMIT") \
    X(FIND_STUDY, "SELECT id, gpu_details, complete, winner, gpus" \
        STUDY_ORIGIN(COLUMN_NAME) STUDY_FIGURES(COLUMN_NAME) \
        " FROM study WHERE problem = ? AND mode = ?" STUDY_SUBJECT(COLUMN_MATCH) " ORDER BY id DESC") \
    X(TAKE_TURN, "UPDATE study SET turn = (SELECT max(turn) + 1 FROM study), refusal = NULL WHERE id = ?") \
    X(REFUSE, "UPDATE study SET refusal = ? WHERE id = ?") \
    X(ADD_STUDY, "INSERT INTO study (complete, problem, mode, gpu_details" STUDY_SUBJECT(COLUMN_NAME) \
        STUDY_TEMPLATE(COLUMN_NAME) STUDY_ORIGIN(COLUMN_NAME) STUDY_FIGURES(COLUMN_NAME) \
        ") VALUES (0, ?, ?, ?" STUDY_SUBJECT(COLUMN_PLACE) \
        STUDY_TEMPLATE(COLUMN_PLACE) STUDY_ORIGIN(COLUMN_PLACE) STUDY_FIGURES(COLUMN_PLACE) ")") \
    X(FINISH_STUDY, "UPDATE study SET complete = 1, winner = ?, gpus = ?" \
        STUDY_ORIGIN(COLUMN_SET) STUDY_FIGURES(COLUMN_SET) " WHERE id = ?") \
    X(DROP_STUDY, "DELETE FROM study WHERE id = ?") \
    X(REOPEN_STUDY, "UPDATE study SET complete = 0, winner = NULL WHERE id = ?") \
    X(CLEAR_MARKS, "UPDATE variant SET finalist = 0, tied = 0, judged = 0" \
        " WHERE study = ? AND (finalist OR tied OR judged)") \
    X(SET_FINAL, "UPDATE variant SET finalist = ?, tied = ?, judged = 1 WHERE study = ? AND parameters = ?") \
    X(DROP_TURN, "DELETE FROM variant WHERE study = ?1 AND judged" \
        " AND turn = (SELECT turn FROM study WHERE id = ?1)") \
    X(LATEST_STUDIES, SELECT_STUDY "WHERE id IN (SELECT id FROM (SELECT id, max(turn) FROM study" \
        " GROUP BY kernel, problem, gpu, arch, " SM_COUNT("study") ", mode, cache, tool))" \
        " ORDER BY kernel, gpu, arch, mode, id") \
    X(FAILED_STUDIES, SELECT_STUDY "WHERE " LIKE " AND EXISTS (SELECT 1 FROM variant" \
        " WHERE study = study.id AND outcome IN (" FAILURES ")) ORDER BY kernel, gpu, arch, mode, id") \
    /* none if nothing failed */ \
    X(STUDIES_LIKE, "WITH alike AS (SELECT id FROM study WHERE " LIKE ") SELECT id FROM alike WHERE EXISTS" \
        " (SELECT 1 FROM variant WHERE study IN (SELECT id FROM alike) AND outcome IN (" FAILURES "))") \
    X(FIND_VARIANT, "SELECT id FROM variant WHERE study = ? AND parameters = ?") \
    X(PUT_VARIANT, "INSERT INTO variant (study, parameters, screening_gpu, screening_ns, finals_ns," \
        " outcome, phase, judged, turn" RESULT_MEMBERS(COLUMN_NAME) ") VALUES (?, ?, ?, ?, ?, ?, ?, 1," \
        " (SELECT turn FROM study WHERE id = ?1)" RESULT_MEMBERS(COLUMN_PLACE) ")" \
        " ON CONFLICT (study, parameters) DO UPDATE SET screening_gpu =" \
        " CASE excluded.phase WHEN 'screening' THEN excluded.gpu ELSE screening_gpu END, screening_ns =" \
        " CASE excluded.phase WHEN 'screening' THEN excluded.screening_ns ELSE screening_ns END," \
        " finals_ns = excluded.finals_ns, outcome = excluded.outcome, phase = excluded.phase," \
        " judged = 1, turn = excluded.turn" RESULT_MEMBERS(COLUMN_UPDATE)) \
    X(COPY_FAILURES, "INSERT OR IGNORE INTO variant (study, parameters, screening_gpu, screening_ns," \
        " finals_ns, outcome, phase, judged, turn" RESULT_MEMBERS(COLUMN_NAME) ")" \
        " SELECT ?1, parameters, screening_gpu, screening_ns, finals_ns, outcome, phase, 0," \
        " (SELECT max(turn) + 1 FROM study)" \
        RESULT_MEMBERS(COLUMN_NAME) " FROM variant WHERE outcome IN ('wrong_result', 'fault')" \
        " AND NOT " PASSING " AND study IN (" OF_SAME_CODE " AND old.problem = new.problem)" \
        " ORDER BY study DESC") \
    X(REFUTE, "WITH failed AS (SELECT parameters, run_hash, outcome, reason, limit_s, turn FROM variant" \
        " WHERE outcome IN (" FAILURES ") AND NOT " PASSING " AND study IN (" OF_SAME_CODE "))" \
        " UPDATE variant SET (outcome, reason, limit_s) = (SELECT outcome, reason, limit_s " REFUTES " LIMIT 1)" \
        " WHERE study = ?1 AND outcome = 'measured' AND (parameters IN (SELECT parameters FROM failed)" \
        " OR run_hash IN (SELECT run_hash FROM failed WHERE run_hash <> '')) AND EXISTS (SELECT 1 " REFUTES ")") \
    X(CLEAR_TIMES, "UPDATE variant SET seen_s = NULL WHERE study = ?") \
    X(KEEP_FAILURE, "UPDATE variant SET decided_by = ? WHERE study = ? AND parameters = ?" \
        " AND outcome IN (" FAILURES ") AND NOT (outcome = 'timeout' AND ?) AND NOT " PASSING) \
    X(GET_VARIANT, SELECT_RESULT "WHERE study = ? AND parameters = ?") \
    X(GET_VARIANTS, SELECT_RESULT "WHERE study = ? AND judged >= ? ORDER BY id") \
    X(GET_FAILURES, SELECT_RESULT "WHERE study = ?1 AND outcome IN ('duplicate', " FAILURES ")" \
        " AND NOT EXISTS (SELECT 1 FROM variant AS later" \
        " JOIN study AS new ON new.id = later.study JOIN study AS old ON old.id = ?1" \
        " WHERE later.parameters = variant.parameters AND later.turn > variant.turn" \
        " AND " NUMBERS("new") " = " NUMBERS("old") " AND new.gpu = old.gpu AND new.arch = old.arch" \
        " AND (variant.outcome = 'timeout' OR new.cache = old.cache)" \
        " AND new.mode = old.mode AND new.tool = old.tool" \
        " AND (old.data_hash <> ?2 OR new.data_hash = old.data_hash)" \
        " AND (old.driver <> ?3 OR old.nvrtc <> ?4 OR new.driver = old.driver AND new.nvrtc = old.nvrtc)" \
        " AND (variant.outcome IN ('fault', 'timeout') OR later.outcome = 'wrong_result'" \
        " OR new.driver <> old.driver OR new.nvrtc <> old.nvrtc OR new.data_hash <> old.data_hash)" \
        " AND later.outcome IN ('measured', 'duplicate', " FAILURES ")" \
        " AND NOT (ifnull(later.limit_s, 0) > 0 AND later.limit_s <= 1e-9)" \
        " AND new.template_hash = old.template_hash AND " SM_COUNT("new") " = " SM_COUNT("old") ")" \
        " ORDER BY id") \
    X(FIND_NEAR, "SELECT id FROM study WHERE (kernel = ?1 OR template = ?2) AND mode = 'measured'" \
        " AND id <> ?3 AND id >= ?4" \
        " AND EXISTS (SELECT 1 FROM variant WHERE study = study.id AND outcome = 'measured')" \
        " ORDER BY (kernel = ?1) + (gpu = ?5) + (problem = ?6) DESC, id DESC LIMIT ?7") \
    X(GET_NEAR_VARIANTS, "SELECT parameters, outcome, median_ns, run_hash FROM variant WHERE study = ?1" \
        " AND (id IN (SELECT id FROM variant WHERE study = ?1 AND outcome = 'measured'" \
        " ORDER BY median_ns LIMIT ?2) OR id IN (SELECT id FROM variant WHERE study = ?1" \
        " ORDER BY id * 2654435761 % 4294967296 LIMIT ?3)) ORDER BY id")
/* clang-format on */

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

/* A column's text, which lives until the next step; NULL if it has none. */
const char *row_text(sqlite3_stmt *statement, int column);

/* A transaction that writes. record_end() commits it, or rolls it back if `result` is a failure or
 * the commit fails; it returns that failure. */
int record_start(struct record *record, struct error *error);
int record_end(struct record *record, int result, struct error *error);

/* Reads bindings, which are stored as bindings_json_text(). False if `text` is not such an object; it may
 * be NULL. */
bool bindings_from_text(struct bindings *bindings, const char *text);

#endif
