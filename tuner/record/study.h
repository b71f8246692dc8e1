/*
 * A study: one kernel on one problem on one GPU, and what became of each of its variants. Filled by
 * the pipeline, kept by the record, printed by the reports, and, where something was measured, the
 * source of one entry of the tuned INI. Plain data: every string and array is owned by the study.
 */
#ifndef AUTOTUNE_STUDY_H
#define AUTOTUNE_STUDY_H

#include "base/statistics.h"
#include "record/gpu.h"
#include "record/outcome.h"
#include "template/value.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where the figures come from. */
struct environment {
    struct gpu gpu;
    char nvrtc[16];    /* "13.0" */
    char autotune[16]; /* version of this program */
    char host[65];
    char date[32];    /* start of the run, UTC, "2026-11-21T06:12:00Z" */
    char *command;    /* as typed */
    bool static_mode; /* compiled for gpu.arch, nothing run */
};

/* The compiled figures of a variant's main launch. */
struct kernel_stats {
    bool known;
    int registers;               /* a thread */
    int64_t spill_bytes;         /* stores + loads, a thread */
    int64_t stack_bytes;         /* a thread */
    int64_t static_shared_bytes; /* a block */
    int64_t dynamic_shared_bytes;
    int block_threads;
    int64_t grid_blocks; /* 0 where it is not known (static mode) */
    int blocks_per_sm;
    double occupancy;  /* 0 to 1 */
    unsigned limiters; /* of enum occupancy_limiter */
};

struct result {
    struct bindings parameters; /* in the template's order */
    enum outcome outcome;
    char *reason; /* why it is not measured; NULL where there is nothing to say */
    struct kernel_stats stats;
    double *samples_ns; /* raw, in the order taken; of the finals where it reached them, else the
                           screening */
    size_t sample_count;
    int runs; /* of which each sample is the mean: 1, or of a batch (batch.h); 0 without samples */
    struct summary time;
    double bytes;         /* moved by a run; 0 where the template does not say */
    double operations;    /* likewise */
    size_t *instructions; /* of the main launch's kernel, by enum sass_kind, where --sass
                             has counted them; else NULL. Not in the record */
    bool finalist;
    bool tied; /* in the winner's tie set, the winner too */
};

/* What NVML saw on the GPU while samples were taken. */
struct gpu_conditions {
    bool known;                 /* NVML was there; else all below is 0 */
    uint64_t dropped_samples;   /* taken under throttling, and then again */
    uint64_t throttled_samples; /* kept though throttled, since there was no end to it */
    double sm_clock_mhz;        /* mean */
    int other_processes;        /* on the GPU, the most seen at once */
};

struct study {
    struct environment environment;
    char *kernel;        /* the sweep section's name */
    char *template_name; /* the template's */
    char *template_hash; /* 32 hexadecimal digits over the .ini, the .cu and its headers */
    char *description;
    struct bindings problem;
    char cache[8];          /* "cold" or "warm" */
    uint64_t points;        /* of the Cartesian space */
    uint64_t rejected;      /* by constraints, before compilation: not in `results` */
    double empty_kernel_ns; /* an empty kernel measured in the same way; 0 in static mode */
    double empty_batch_ns;  /* likewise in batches; 0 where there were none */
    struct gpu_conditions conditions; /* 0 in static mode */
    struct result *results;
    size_t result_count;
    bool complete; /* every variant has its outcome, and the finals were held */
    bool has_winner;
    size_t winner; /* index into results */
};

void study_release(struct study *study);
void result_release(struct result *result);

/* Whether any variant's instructions are counted. */
bool study_has_instructions(const struct study *study);

/* How many results have `outcome`. */
size_t study_count(const struct study *study, enum outcome outcome);

/* What an empty kernel takes when measured as this result was. */
double study_empty_ns(const struct study *study, const struct result *result);

/* How many variants were measured in batches; `*runs` of that many runs, `*single` were not. */
size_t study_batched(const struct study *study, int *runs, size_t *single);

/*
 * Indices of the results, best first: measured by median time (the winner before all), then
 * compiled by occupancy, then the rest in order. `indices` has room for result_count.
 */
void study_rank(const struct study *study, size_t *indices);

/* A stable key of what the study is about, "reduce_sum|NVIDIA H200|sm_90|n=1024"; a new string. */
char *study_key(const struct study *study);

#endif
