/*
 * One variant without a sweep: compiled, checked, verified and timed on a GPU. Nothing is recorded.
 *
 * Calling sequence:
 *     struct single_run run;
 *     single_run_init(&run);
 *     status = single_run_perform(&run, &request, error);
 *     ... run.result, run.differences ...
 *     single_run_release(&run);                         in any case
 */
#ifndef AUTOTUNE_SINGLE_RUN_H
#define AUTOTUNE_SINGLE_RUN_H

#include "base/error.h"
#include "base/event_loop.h"
#include "compile/cubin_cache.h"
#include "compile/single_compile.h"
#include "record/gpu.h"
#include "record/study.h"
#include "template/template.h"
#include "tune/device_client.h"
#include "tune/device_lock.h"

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
    void (*notice)(const struct error *notice); /* something to know while it runs */
};

/* The first members are for reading. */
struct single_run {
    struct gpu gpu;
    struct result result; /* with its outcome and reason */
    char *compiler_log;   /* of the variant; NULL or "": nothing to say */
    double empty_ns;      /* an empty kernel, measured like the variant */
    struct device_difference differences[SINGLE_RUN_DIFFERENCES];
    size_t difference_count;

    json_t *data;      /* the files of the template's fills: fill_list_files() */
    bool one_data_set; /* no other can be made for the variant */
    struct single_compile compiler;
    struct event_loop loop;
    struct device_client *client;
    struct device_lock lock;
    struct cubin_cache_use cache_use;
    char *cache;
    char *support, *reference, *variant; /* entries of the cubin cache */
};

void single_run_init(struct single_run *run);
void single_run_release(struct single_run *run);

/*
 * Returns 0 with the variant's outcome, whatever it is; ERROR_CONFIG if the template, its reference
 * or the problem is wrong; ERROR_DEVICE without a GPU, a driver or NVRTC; or another error.
 */
int single_run_perform(struct single_run *run, const struct single_run_request *request,
                       struct error *error);

#endif
