/*
 * Times in the record that other GPUs of the model took in earlier runs, and that nothing compares
 * with the leading one's: the record is continued on whichever GPU is free. A few of these variants
 * are timed again on the leading GPU, which says what the others' times are to be divided by.
 */
#ifndef AUTOTUNE_EARLIER_GPUS_H
#define AUTOTUNE_EARLIER_GPUS_H

#include "record/study.h"
#include "tune/team.h"

#include <stddef.h>

/* So many variants of each GPU are timed again. */
enum { EARLIER_COMPARED = 8 };

/* Variants of one GPU, with their times there. */
struct earlier_times {
    char uuid[GPU_UUID_BYTES];
    struct earlier_time {
        size_t index; /* among the study's results */
        double ns;
        int runs; /* per sample */
    } fastest[EARLIER_COMPARED];
    size_t count;
};

/* Chooses the fastest variants of a GPU whose times cannot be compared yet; false if there is none. */
bool earlier_gpus_next(const struct team *team, const struct study *study,
                       struct earlier_times *times);

/* What the GPU's times are now worth, for team_describe(): after the leading GPU has timed those
 * variants again, as far as it could. The GPU is never chosen again on this problem. */
void earlier_gpus_judge(struct team *team, const struct study *study,
                        const struct earlier_times *times);

#endif
