/*
 * Estimates how long the jobs of a compile pool will take, from how long the finished ones took.
 * Pure arithmetic; the pool holds the clock.
 *
 * Jobs of one source are a kind, because sources differ more than the variants of one: some include
 * headers that take a second. A kind's average is right from the start if its first jobs are a
 * random sample, and if a few of each kind are done before the others.
 *
 *     size_t kind = compile_estimate_kind(&estimate, source_hash);
 *     compile_estimate_add(&estimate, kind);               a new job
 *     compile_estimate_done(&estimate, kind, seconds);     its end
 *     left_s = compile_estimate_left_s(&estimate, workers);
 *     compile_estimate_release(&estimate);
 */
#ifndef AUTOTUNE_COMPILE_ESTIMATE_H
#define AUTOTUNE_COMPILE_ESTIMATE_H

#include "base/hash.h"

#include <stdbool.h>
#include <stddef.h>

struct compile_kind {
    char source_hash[HASH_BYTES];
    size_t left; /* queued or running */
    size_t done;
    double done_s; /* the sum of their times */
};

/* Zeroed is empty. */
struct compile_estimate {
    struct compile_kind *kinds;
    size_t count;
};

void compile_estimate_release(struct compile_estimate *estimate);

/* The kind of jobs with this source. */
size_t compile_estimate_kind(struct compile_estimate *estimate, const char *source_hash);

void compile_estimate_add(struct compile_estimate *estimate, size_t kind);
void compile_estimate_done(struct compile_estimate *estimate, size_t number, double seconds);

/* How long a job of this kind takes on average, as far as is known; 0: nothing has been done yet. */
double compile_estimate_mean_s(const struct compile_estimate *estimate, size_t number);

/* Seconds until `workers` workers have done all that is left, give or take a job; 0 if nothing has been done yet. */
double compile_estimate_left_s(const struct compile_estimate *estimate, size_t workers);

#endif
