/*
 * One variant without a sweep: tuned as the only one of its problem, with nothing recorded.
 *
 *     struct single_run run = {0};
 *     status = single_run_perform(&run, &request, error);
 *     ... run.job.study, run.differences ...
 *     single_run_release(&run);                         in any case
 */
#ifndef AUTOTUNE_SINGLE_RUN_H
#define AUTOTUNE_SINGLE_RUN_H

#include "base/error.h"
#include "base/event_loop.h"
#include "compile/compile_pool.h"
#include "compile/cubin_cache.h"
#include "template/sweep.h"
#include "tune/tuning.h"

#include <stdbool.h>
#include <stddef.h>

enum { SINGLE_RUN_DIFFERENCES = 100 }; /* the most that are listed */

/* Borrowed. */
struct single_run_request {
    const struct template *template;
    const struct bindings *parameters; /* of the variant, all of them */
    const struct bindings *problem;
    int device;
    bool no_wait;       /* fail if another run is using the GPU */
    size_t differences; /* how many elements of a wrong result are wanted */
    double launch_timeout_s;
    void (*notice)(void *user, const struct error *notice); /* something to know while it runs */
};

/* Initialise to zero. The first members are for reading. */
struct single_run {
    struct tuning_job job; /* its study has the variant alone */
    char *compiler_log;    /* of the variant; NULL or "": nothing to say */
    struct device_difference differences[SINGLE_RUN_DIFFERENCES];
    size_t difference_count;

    struct sweep_kernel kernel; /* borrows the template */
    struct environment environment;
    struct event_loop loop;
    struct fleet fleet;
    struct team team;
    struct compile_ahead ahead;
    struct progress progress;
    struct timings timings;
    struct tuning tuning;
    struct cubin_cache_use cache_use;
    char *cache;
};

void single_run_release(struct single_run *run);

/*
 * Returns 0 with the variant's outcome, whatever it is; ERROR_CONFIG if the template, its reference
 * or the problem is wrong; ERROR_DEVICE without a GPU, a driver or NVRTC; or another error.
 */
int single_run_perform(struct single_run *run, const struct single_run_request *request,
                       struct error *error);

#endif
