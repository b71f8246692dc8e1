/*
 * The record: an SQLite database with every study, every variant's outcome and every raw sample. It
 * is crash-safe (write-ahead log) and may be open in several processes at once.
 *
 * Calling sequence of a run:
 *     record_open, record_begin (once per study), record_reopen unless the study is complete,
 *     record_result or record_results (for each variant as it comes in), record_finish when the study is complete,
 *     record_close
 * Readers use record_open_existing and record_studies. SQLite checks the file when it is opened. The
 * schema has a version (PRAGMA user_version); records of other versions are not read.
 *
 * People query it with the sqlite3 shell: tables study and variant, and three views,
 *     SELECT * FROM sample;        each sample of each variant
 *     SELECT * FROM best;          the winner of each study
 *     SELECT * FROM measurement;   each sample with its kernel, problem, GPU, parameters and phase
 *
 * Every function returns 0 or ERROR_RECORD with the file's name and SQLite's message.
 */
#ifndef AUTOTUNE_RECORD_H
#define AUTOTUNE_RECORD_H

#include "base/error.h"
#include "record/study.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct record;

/* What record_open() had to do. */
struct record_repair {
    char *set_aside; /* the new name of a file that was renamed, or NULL */
    bool was_old;    /* it was renamed because an older autotune wrote it */
};

/*
 * Opens the record for a run, which can measure again what is lost. Creates it if it does not
 * exist; its folder must. A record that an older autotune wrote is renamed to PATH.old-N, a file
 * that is damaged or not a record to PATH.damaged-N, and a new record begins. The
 * record of a newer autotune is an error. Free repair->set_aside.
 */
int record_open(struct record **record, const char *path, struct record_repair *repair,
                struct error *error);

/* Opens it for reading only: a missing file is an error that says to run a sweep first. */
int record_open_existing(struct record **record, const char *path, struct error *error);

void record_close(struct record *record); /* NULL is allowed */

/*
 * Starts a study (everything but its results), or continues an earlier one with the same kernel,
 * template hash, problem, GPU name and architecture, driver, NVRTC version, cache state and mode.
 * Its stored results are then added to study->results, and study->complete, has_winner and winner
 * are set as stored, and so are date and command if it is complete. With `afresh`, the earlier
 * study stays in the record but is not continued. A study that is new begins with those variants, wrong or
 * crashed, that the record has of the same template, problem, data, GPU, driver and NVRTC, under whatever
 * name of the kernel. If one that an earlier study measured, or one with the same machine code and
 * launches, has failed there since, it fails in this one, too, which is then no longer complete. `*id`
 * names the study from now on.
 */
int record_begin(struct record *record, struct study *study, bool afresh, int64_t *id,
                 struct error *error);

/*
 * In what follows, up to record_finish(), a record that is NULL keeps nothing.
 *
 * Stores one variant's result with its samples, in one transaction, replacing an earlier one with
 * the same parameters in this study, unless that was wrong, crashed or hung. `phase` is "screening" or
 * "finals". Samples of both phases are kept; reading returns those of the phase stored last. Storing a
 * screening again drops the samples of the finals that followed the earlier one.
 */
int record_result(struct record *record, int64_t study_id, const struct result *result,
                  const char *phase, struct error *error);

/* The same for several results, `results[indices[0]]` and so on, in one transaction: all of them are
 * stored, or none. */
int record_results(struct record *record, int64_t study_id, const struct result *results,
                   const size_t *indices, size_t count, const char *phase, struct error *error);

/* Notes why this run leaves the study out; until record_begin() takes it up again. */
int record_refuse(struct record *record, int64_t study_id, const char *reason, struct error *error);

/* Withdraws the verdict of an earlier run, which judged other variants: the study is no longer
 * complete, and no variant is judged, a finalist or tied. What is stored from now on counts as judged. */
int record_reopen(struct record *record, int64_t study_id, struct error *error);

/* Removes what was stored since record_begin(). */
int record_withdraw(struct record *record, int64_t study_id, struct error *error);

/* Marks the study complete with its counts (points, rejected), winner and tie set, and with this
 * run's date and command, and sets study->complete. The verdict covers only study->results, even if the
 * record has more variants of the study. If record_check() refutes it, it stays incomplete and is to be
 * decided anew. */
int record_finish(struct record *record, int64_t study_id, struct study *study,
                  struct error *error);

/* Asks whether the winner, a finalist or the best so far has failed meanwhile, in another run or another study
 * of the same code, which this function or record_finish() had not found yet. Those results become failures, and
 * the study has no winner any more. */
int record_check(struct record *record, int64_t study_id, struct study *study, bool *refuted,
                 struct error *error);

/* Stores a study of another tool (environment.tool), in one transaction, in place of an earlier one
 * about the same. */
int record_import(struct record *record, const struct study *study, struct error *error);

/*
 * Reads the latest study of each kernel, problem, GPU (by name, architecture and number of SMs), cache
 * state, mode and tool, in order of kernel, problem and GPU, results and samples included; of a complete
 * study, the results that its verdict is on. `*studies` is a new array: release each and free it.
 */
int record_studies(struct record *record, struct study **studies, size_t *count,
                   struct error *error);

/* The same for every study measured here of `like`'s template on its GPU that has results that were wrong, crashed or
 * hung: these, and duplicates, whether the verdict is on them or not, unless the same was run later. What ran the same
 * code has failed, too. What failed on the data, driver and NVRTC of `like` is only taken back on these, and a wrong
 * result not at all there, but with another driver or NVRTC, or on other data: a race may be won once. */
int record_failures(struct record *record, const struct study *like, struct study **studies,
                    size_t *count, struct error *error);

enum { RECORD_NEAR_STUDIES = 4, RECORD_NEAR_RESULTS = 4000 };

/*
 * Reads what the record has of a kernel besides `study`, which is number `id`: the nearest studies, of the same kernel
 * or template, with anything measured. Those of the same kernel, GPU or problem come first, then the latest. Studies
 * before number `since` are left out. There are at most RECORD_NEAR_STUDIES, each with at most
 * RECORD_NEAR_RESULTS results: the fastest and a sample of the others, with only their parameters,
 * outcome and median. `*studies` is a new array: release each and free it, also after an error.
 * Returns 0 or ERROR_RECORD.
 */
int record_near(struct record *record, const struct study *study, int64_t id, int64_t since,
                struct study **studies, size_t *count, struct error *error);

#endif
