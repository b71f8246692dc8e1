/* What the record has of a kernel besides the study at hand: of other problems, on other GPUs, of other
 * versions, by other tools. */
#ifndef AUTOTUNE_RECORD_NEAR_H
#define AUTOTUNE_RECORD_NEAR_H

#include "record/record.h"

enum { RECORD_NEAR_STUDIES = 4, RECORD_NEAR_RESULTS = 4000 };

/*
 * Reads the studies nearest to `study`, which is number `id`: of the same kernel or template, with
 * anything measured; the same sweep section, GPU and problem count, then which is latest. Studies
 * before `since` are left out. There are at most RECORD_NEAR_STUDIES, and of each at most
 * RECORD_NEAR_RESULTS results: the fastest and a sample of the others, with their parameters, outcome
 * and median alone. `studies` has room for all: release each. Returns 0 or ERROR_RECORD.
 */
int record_near(struct record *record, const struct study *study, int64_t id, int64_t since,
                struct study studies[RECORD_NEAR_STUDIES], size_t *count, struct error *error);

#endif
