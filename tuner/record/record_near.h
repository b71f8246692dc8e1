/* What the record has of a kernel besides the study at hand: for other problems, on other GPUs, of
 * other versions, by other tools. */
#ifndef AUTOTUNE_RECORD_NEAR_H
#define AUTOTUNE_RECORD_NEAR_H

#include "record/record.h"

enum { RECORD_NEAR_STUDIES = 4, RECORD_NEAR_RESULTS = 4000 };

/*
 * Reads the studies nearest to `study`, which is number `id`: of the same kernel or template, with
 * anything measured. Those of the same kernel, GPU or problem come first, then the latest. Studies
 * before number `since` are left out. There are at most RECORD_NEAR_STUDIES, each with at most
 * RECORD_NEAR_RESULTS results: the fastest and a sample of the others, with only their parameters,
 * outcome and median. `*studies` is a new array: release each and free it, also after an error.
 * Returns 0 or ERROR_RECORD.
 */
int record_near(struct record *record, const struct study *study, int64_t id, int64_t since,
                struct study **studies, size_t *count, struct error *error);

#endif
