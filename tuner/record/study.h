/*
 * A study: one kernel, one problem, one GPU, and the result of each variant. The pipeline fills it,
 * the record stores it and the reports print it. A study with a measured variant yields one entry
 * of the tuned INI. The study owns its strings and arrays.
 */
#ifndef AUTOTUNE_STUDY_H
#define AUTOTUNE_STUDY_H

#include "base/hash.h"
#include "base/statistics.h"
#include "record/gpu.h"
#include "template/value.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Outcomes: every variant ends with exactly one. To add one, add a line to OUTCOMES and its name in
 * T4 to t4_invalidity() (report/t4.c); the record and the other reports need no change.
 */

/* X(NAME, name as printed and stored, what it means) */
#define OUTCOMES(X)                                                                                \
    X(MEASURED, "measured", "verified and timed")                                                  \
    X(COMPILED, "compiled", "compiled in static mode; nothing was run")                            \
    X(DUPLICATE, "duplicate", "the same machine code and launches as another variant")             \
    X(INVALID, "invalid", "the template does not fit it: an expression fails, for example")        \
    X(CONSTRAINT, "constraint", "a constraint on the compiled kernel rejected it")                 \
    X(COMPILE_ERROR, "compile_error", "it did not compile, or the compiler crashed or timed out")  \
    X(LOAD_ERROR, "load_error", "the driver could not load it")                                    \
    X(NOT_RESIDENT, "not_resident", "its blocks must all be resident at once, but do not fit")     \
    X(WRONG_RESULT, "wrong_result", "verification failed")                                         \
    X(LAUNCH_ERROR, "launch_error", "it cannot be launched")                                       \
    X(FAULT, "fault", "the kernel crashed")                                                        \
    X(TIMEOUT, "timeout", "the kernel did not finish by its deadline")

enum outcome {
#define X(name, text, meaning) OUTCOME_##name,
    OUTCOMES(X)
#undef X
        OUTCOME_COUNT
};

/* For example "wrong_result". */
const char *outcome_name(enum outcome outcome);

/* A one-line explanation. */
const char *outcome_meaning(enum outcome outcome);

/* The outcome called `name`, or -1. */
int outcome_from_name(const char *name);

/*
 * The GPUs of one model that worked on a study together, and how far apart they were. Times on one of
 * them are a few percent from those on another, and not by the same factor for every variant. So a few
 * variants are timed on all, and the finals are held on the first.
 */

enum { GPU_UUID_BYTES = 48 };

struct study_gpu {
    char uuid[GPU_UUID_BYTES];
    size_t compared; /* variants that were timed on it and on the first */
    size_t failed;   /* that were valid on another GPU, but not on this one */
    double ratio;    /* its times over the first's: the median of these; 0: not known */
    double spread;   /* the farthest that one of these is from it, as a share */
};

/* As a JSON array (a new reference), and back: a new array, or NULL if `json` is NULL or is not an
 * array. */
json_t *study_gpus_to_json(const struct study_gpu *gpus, size_t count);
struct study_gpu *study_gpus_from_json(const json_t *json, size_t *count);

/* The place of the GPU with that UUID; `count`: it is not among them. */
size_t study_gpus_find(const struct study_gpu *gpus, size_t count, const char *uuid);

/* Sets what `count` variants say that were timed on this GPU and on the first: `ratios` are its times
 * over the first's. */
void study_gpu_compare(struct study_gpu *gpu, const double *ratios, size_t count);

/* What times on that GPU are to be divided by to compare with the first's: 1 if it is not known. */
double study_gpus_ratio(const struct study_gpu *gpus, size_t count, const char *uuid);

/* By how much, as a share, comparing times of different GPUs may be wrong; 0 if there is one. */
double study_gpus_spread(const struct study_gpu *gpus, size_t count);

/* Where and how the study was run. */
struct environment {
    struct gpu gpu;
    char nvrtc[32];    /* its build, "13.0.88+1a2b3c4d" (compile/nvrtc.h) */
    char autotune[16]; /* version of this program */
    char host[65];
    char date[32];    /* start of the run, UTC, "2026-11-21T06:12:00Z" */
    char *command;    /* as typed */
    bool static_mode; /* compiled for gpu.arch; nothing was run */
    char tool[64];    /* "": measured here; else the tool whose results were imported. Such a study
                         has no winner, and what is not known of it is empty or 0 */
};

/* Resource usage and geometry of a variant's main launch. */
struct kernel_stats {
    bool known;
    int registers;               /* per thread */
    int64_t spill_bytes;         /* stores + loads, per thread */
    int64_t stack_bytes;         /* per thread */
    int64_t static_shared_bytes; /* per block */
    int64_t dynamic_shared_bytes;
    int block_threads;
    int64_t grid_blocks; /* 0: not known (static mode) */
    int blocks_per_sm;
    double occupancy;  /* 0 to 1 */
    unsigned limiters; /* bits of enum occupancy_limiter */
};

/* The limit_s of a variant that failed for a passing reason, as when its workers were killed from outside:
 * every run allows more. */
#define LIMIT_KILLED_S 1e-9

struct result {
    struct bindings parameters; /* in the template's order */
    enum outcome outcome;
    char *reason; /* why it failed, or a duplicate's twin; NULL: nothing to say */
    char *
        decided_by; /* the constraint on the compiled kernel that ruled it out or cannot be evaluated;
                         NULL: none does */
    double limit_s; /* the time limit that it missed: a run that allows more tries it again. 0: its
                       outcome is final */
    int limit_mb;   /* the same for the memory that the compiler could use when it crashed */
    char run_hash[HASH_BYTES]; /* of its machine code and launches; "": not known, or not run */
    size_t twin;               /* of a duplicate: see study_link_twins() */
    struct kernel_stats stats;
    /* registers and occupancy of the launches but the main one: "clear 16 regs 100 %; finish 40 regs 50 %"; NULL: there
     * are none, or not known */
    char *other_launches;
    double *samples_ns; /* raw, in the order taken; from the finals if it reached them, otherwise
                           from the screening */
    size_t sample_count;
    char gpu[GPU_UUID_BYTES]; /* that the samples are of; "": none, or not known */
    int runs; /* each sample is the mean of this many: 1, or more in a batch; 0: no samples */
    struct summary time;
    double bytes;      /* moved per run; 0: the template does not say */
    double operations; /* per run; 0: the template does not say */
    bool finalist;
    bool tied;     /* tied with the winner, or the winner itself */
    double seen_s; /* when its outcome was known, in seconds of tuning this problem, in all runs; 0:
                      not known */
    bool judged;   /* from the record: its verdict is on this variant, among others */
};

/* What NVML saw on the GPU while samples were taken. */
struct gpu_conditions {
    bool known;                 /* false: NVML was not available, and the rest is 0 */
    uint64_t dropped_samples;   /* taken again because the GPU was throttled */
    uint64_t throttled_samples; /* kept although throttled, because throttling persisted */
    double sm_clock_mhz;        /* mean */
    int other_processes;        /* the most seen on the GPU at once */
};

/* How many points of the space a constraint rejected. */
struct rejection {
    char *constraint;
    uint64_t points;
};

struct study {
    struct environment environment;
    char *kernel; /* the sweep section's name */
    char *template_name;
    char *template_hash;        /* its version; 32 hexadecimal digits */
    char data_hash[HASH_BYTES]; /* of the files that the template reads data from; "": none */
    char *description;
    struct bindings problem;
    bool one_data_set; /* its variants could not be verified on other random numbers */
    char cache[8];     /* "cold" or "warm" */
    uint64_t points;   /* combinations of values, before constraints */
    uint64_t rejected; /* points rejected by constraints before compilation; not in `results` */
    bool rejected_estimated;      /* the space is too large to count them */
    struct rejection *rejections; /* by constraint; only known in the run that enumerates them */
    size_t rejection_count;
    double empty_kernel_ns; /* an empty kernel, measured in the same way; 0 in static mode */
    double empty_batch_ns;  /* an empty kernel in a batch; 0: no batches */
    struct gpu_conditions conditions; /* all 0 in static mode */
    struct study_gpu *gpus; /* if several measured it; the finals were held on the first */
    size_t gpu_count;
    struct result *results;
    size_t result_count;
    char *refusal; /* from the record: why the latest run left it out; NULL: it did not */
    bool complete; /* every variant has an outcome, and the finals are done */
    bool has_winner;
    size_t winner; /* index into results */
};

void study_release(struct study *study);
void result_release(struct result *result);

/*
 * Gives every duplicate what was measured for it: `twin` becomes the index of the first result with
 * the same run_hash that is not a duplicate, or result_count if there is none, and time, runs,
 * figures, bytes and operations become the twin's. The duplicate gets no samples. `reason` names
 * the twin's parameters.
 */
void study_link_twins(struct study *study);

/* The result that was run: a duplicate's twin, any other result itself. */
const struct result *study_run(const struct study *study, const struct result *result);

/* Whether it was wrong, crashed or hung, and not for a passing reason. */
bool result_is_refuted(const struct result *run);

/* The number of variants that the space has, tried or not; 0: not known. An estimate if
 * rejected_estimated. */
uint64_t study_space(const struct study *study);

/* Whether some of them were not tried. */
bool study_is_partial(const struct study *study);

/* The number of results with `outcome`. */
size_t study_count(const struct study *study, enum outcome outcome);

/* The time of an empty kernel measured like this result: single or in batches. */
double study_empty_ns(const struct study *study, const struct result *result);

/* The number of variants measured in batches. Sets `*runs` to the runs per batch (1: no batches)
 * and `*single` to the number of variants measured in single runs. */
size_t study_batched(const struct study *study, int *runs, size_t *single);

/* The winner; if there is none yet, the measured variant with the shortest median; result_count if
 * none was measured. */
size_t study_best(const struct study *study);

/*
 * Ranks the results, best first: the winner, then the other measured ones by median time, compiled
 * ones by occupancy, and the rest; equal ones by their parameters. `indices` must have
 * result_count elements.
 */
void study_rank(const struct study *study, size_t *indices);

/* The order of two sets of parameters, or problems: numbers by size, anything else by its text. */
int study_compare_values(const struct bindings *a, const struct bindings *b);

/* A stable key of kernel, GPU, problem and cache: "reduce_sum|NVIDIA H200|sm_90|n=1024|cold". Free
 * the string. */
char *study_key(const struct study *study);

/* The results by when their outcome was known, those of which it is not known first; a new array. */
const struct result **study_by_time(const struct study *study);

/* How near the best of a study that was searched has probably come to the best of its space: as
 * search_estimate(), from the study's results in the order in which they were tried. 0 if every
 * variant of the space was. */
double study_estimate(const struct study *study, size_t *in_vain);

#endif
