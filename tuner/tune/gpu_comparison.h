/*
 * Variants that every GPU of a team times, through the whole screening: the first ones, and then,
 * at growing intervals, the fastest so far. They say how the GPUs' times compare.
 */
#ifndef AUTOTUNE_GPU_COMPARISON_H
#define AUTOTUNE_GPU_COMPARISON_H

#include "record/study.h"

#include <stdbool.h>
#include <stddef.h>

enum { COMPARED_MOST = 16 };

struct compared_variant {
    size_t index; /* among the study's results; SIZE_MAX: forgotten */
    double *ns;   /* on each GPU of the team; 0: not yet */
    bool *begun;  /* on each */
};

struct gpu_comparison {
    size_t gpu_count; /* 1: nothing is compared */
    size_t best;      /* the fastest variant so far */
    size_t best_gpu;  /* and where it took `best_ns` */
    double best_ns;
    struct compared_variant variants[COMPARED_MOST];
    size_t count;
    size_t measured; /* variants, in the screening so far */
    size_t next;     /* so many of them, and the next one is compared */
};

void gpu_comparison_init(struct gpu_comparison *comparison, size_t gpu_count);
void gpu_comparison_release(struct gpu_comparison *comparison);

/* One more variant was measured, on `gpu` (counted in the team). It, or the fastest so far, may be
 * compared from now on. */
void gpu_comparison_note(struct gpu_comparison *comparison, size_t index, size_t gpu, double ns);

/* A variant that `gpu` has yet to time, as an index into `variants`; false if there is none. It
 * counts as begun. */
bool gpu_comparison_next(struct gpu_comparison *comparison, size_t gpu, size_t *slot);

/* Whether there is one. */
bool gpu_comparison_has(const struct gpu_comparison *comparison, size_t gpu);

/* What came of it: its time; or negative if it is not valid there; or it is to be begun again. */
void gpu_comparison_take(struct gpu_comparison *comparison, size_t slot, size_t gpu, double ns);
void gpu_comparison_again(struct gpu_comparison *comparison, size_t slot, size_t gpu);

/* At the end of a screening, after which variants may have another index: forgets one of the variants
 * that are compared, but not its times. Returns false if all are forgotten. */
bool gpu_comparison_close(struct gpu_comparison *comparison, size_t *index);

/* Compares a GPU with the leading one; sets `compared`, `failed`, `ratio` and `spread`. */
void gpu_comparison_judge(const struct gpu_comparison *comparison, size_t gpu, size_t lead,
                          struct study_gpu *figures);

#endif
