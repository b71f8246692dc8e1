/*
 * Rounds of finals on one GPU: its finalists are loaded, and each is measured once a round. What the
 * samples mean is decided elsewhere (finals.c, race.h).
 */
#ifndef AUTOTUNE_FINALS_ROUNDS_H
#define AUTOTUNE_FINALS_ROUNDS_H

#include "base/error.h"
#include "tune/fleet.h"
#include "tune/race.h"
#include "tune/tuning.h"
#include "tune/tuning_job.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct finals {
    struct tuning *tuning;
    struct tuning_job *job;
    struct race_rules rules;      /* as the job's time allows */
    struct fleet_gpu *gpu;        /* that they are held on */
    const struct finals *checked; /* finals on another GPU, which these check: failures are not the
                                     variants' own; NULL: none */
    unsigned data_set;            /* that the last word on correctness is spoken on */
    size_t failed;                /* contenders that failed */
    size_t leader;                /* by the last look; SIZE_MAX: there was none */
    bool anew;                    /* what was measured does not hold */
    bool over;                    /* of a check: without an error */
    size_t *indices;              /* of the finalists, into the study's results */
    struct contender *contenders; /* samples_ns[i]: the mean of round i */
    double **rounds_ns;           /* what the contenders' samples point to */
    double **samples_ns;          /* raw */
    size_t *sample_counts;
    int *runs;             /* of which a sample is the mean: as in the screening, or 1 for all */
    bool *loaded;          /* in the present worker */
    unsigned losses;       /* of workers, when `loaded` was true */
    bool *proven;          /* verified on both data sets by one worker */
    bool *usual;           /* only the usual data can be made for it */
    unsigned rounds_data;  /* the data set of the rounds: one that can be made for all */
    unsigned *seen_losses; /* of workers, when it was verified on the first */
    size_t count;
    uint64_t random, random_checks; /* for the order of turns, and where results are checked */
};

/* Chooses the finalists of finals->job, by finals->rules. */
void finals_choose(struct finals *finals);
void finals_release(struct finals *finals);

/*
 * A finalist that fails now, after passing the screening, is out with that outcome. If it led, or nobody
 * knows who leads, others may have been ruled out by its times, and the finals begin anew. So do they, carefully (gpu/trial.h), if another one
 * may be to blame: then it is only out of these. In a check, it is only counted.
 */
void finals_disqualify(struct finals *finals, size_t contender,
                       const struct gpu_client_answer *answer);

/* How many are in. */
size_t finals_count(const struct finals *finals);

/* Loads those that are in and not loaded: all of them again if the worker is lost on the way. No
 * request may be under way. */
int finals_load(struct finals *finals, struct error *error);

/*
 * Measures everyone who is in once a round, in the rounds from `*number` to before `end`, or until the
 * job's time is over. Of each, the results of two consecutive samples are checked at a random place. A
 * round begins while the last answers of the one before are on their way, so that
 * the GPU does not wait in between. `*number` becomes that of the next round: 0 if the finals begin
 * anew, because one cannot be batched.
 */
int finals_run_rounds(struct finals *finals, unsigned *number, unsigned end, struct error *error);

/* Unloads what is loaded. */
int finals_unload(struct finals *finals, struct error *error);

#endif
