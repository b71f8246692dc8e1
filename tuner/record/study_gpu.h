/*
 * The GPUs of one model that worked on a study together, and how far apart they were. Times on one of
 * them are a few percent from those on another, and not by the same factor for every variant. So a few
 * variants are timed on all, and the finals are held on the first and checked on another.
 */
#ifndef AUTOTUNE_STUDY_GPU_H
#define AUTOTUNE_STUDY_GPU_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

enum { GPU_UUID_BYTES = 48 };

struct study_gpu {
    char uuid[GPU_UUID_BYTES];
    size_t compared; /* variants that were timed on it and on the first */
    size_t failed;   /* that were valid on another GPU, but not on this one */
    double ratio;    /* its times over the first's: the median of these; 0: not known */
    double spread;   /* the farthest that one of these is from it, as a share */
    /* the check of the finals: the winner's time here over that in the finals; 0: they were not
     * checked here */
    double winner_ratio;
    /* by how much the winner is slower here than the fastest finalist here, as a share */
    double winner_loss;
};

/* As a JSON array (a new reference), and back: a new array, or NULL if `json` is NULL or is not an
 * array. */
json_t *study_gpus_to_json(const struct study_gpu *gpus, size_t count);
struct study_gpu *study_gpus_from_json(const json_t *json, size_t *count);

/* The place of the GPU with that UUID; `count`: it is not among them. */
size_t study_gpus_find(const struct study_gpu *gpus, size_t count, const char *uuid);

/* The same for many UUIDs: study_gpus_sort() returns a new array in the order of UUIDs, in which
 * study_gpus_search() finds the GPU with that UUID; NULL if it is not there. */
struct study_gpu *study_gpus_sort(const struct study_gpu *gpus, size_t count);
const struct study_gpu *study_gpus_search(const struct study_gpu *sorted, size_t count,
                                          const char *uuid);

/* Sets what `count` variants say that were timed on this GPU and on the first: `ratios` are its times
 * over the first's. */
void study_gpu_compare(struct study_gpu *gpu, const double *ratios, size_t count);

/* What times on that GPU are to be divided by to compare with the first's: 1 if it is not known. */
double study_gpus_ratio(const struct study_gpu *gpus, size_t count, const char *uuid);

/* By how much, as a share, comparing times of different GPUs may be wrong; 0 if there is one. */
double study_gpus_spread(const struct study_gpu *gpus, size_t count);

#endif
