/*
 * Begins to compile before the GPU is known. Initialising the driver takes 0.1 to 0.2 s, in which the
 * compiler would have nothing to do. What is requested is what the architecture alone determines: the
 * helpers, and the first variants of each problem. It has the same keys in the compile pool as what
 * the run requests once it knows the GPU. If the guess was wrong, what was compiled is not used.
 *
 * Calling sequence: zero it; early_compile_begin(); once the run has requested its own jobs, or has
 * failed, early_compile_end().
 */
#ifndef AUTOTUNE_EARLY_COMPILE_H
#define AUTOTUNE_EARLY_COMPILE_H

#include "compile/compile_pool.h"
#include "tune/run_limits.h"
#include "tune/tuning_job.h"

struct early_compile {
    struct compile_pool *pool; /* NULL: not begun */
    struct environment environment;
    struct tuning_job *jobs; /* one for each problem, as far as there are requests */
    size_t job_count;
    struct compile_job *support;
};

/* Requests what the sweep of `limits` needs on a GPU with this architecture, in this environment, until
 * all workers have enough to do for a while. Nothing is requested for searches, which choose their own
 * variants. Any failure ends it: the run will meet it, too, and report it. */
void early_compile_begin(struct early_compile *early, struct compile_pool *pool,
                         const struct run_limits *limits, const struct environment *environment,
                         const char *arch);

/* Takes the requests back. */
void early_compile_end(struct early_compile *early);

#endif
