/*
 * The GPU as the coordinator sees it: a device worker that may die. Requests are those of
 * gpu/device_worker.h.
 *
 * Calling sequence: gpu_client_new (the worker starts, and makes its context meanwhile),
 * gpu_client_gpu (its greeting), then for each problem gpu_client_open, and for each variant
 * gpu_client_load, gpu_client_verify, gpu_client_measure_send and _take, gpu_client_unload.
 *
 * Trials and measurements are queued: at most GPU_TRIALS are sent before the first is taken, and
 * they are answered in order, so that the GPU never waits for the next one. Other calls must wait
 * until none is under way.
 *
 * A call about a variant that fails returns 0 with the variant's outcome and reason. A worker that
 * dies or sends a reply that makes no sense (gpu_reply.h) is the variant's fault, one that passes
 * its deadline a timeout. If the worker was lost, another has taken its place and the problem is
 * open again, but no variant is loaded. An error ends the run.
 */
#ifndef AUTOTUNE_GPU_CLIENT_H
#define AUTOTUNE_GPU_CLIENT_H

#include "base/error.h"
#include "base/event_loop.h"
#include "base/node.h"
#include "record/gpu.h"
#include "record/study.h"
#include "template/template.h"
#include "template/value.h"
#include "tune/gpu_problem.h"
#include "tune/gpu_request.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gpu_client;

/* Starts the device worker of GPU `ordinal` of that node (NULL: this machine); `loop` must outlive the
 * client. Returns 0 or ERROR_WORKER. */
int gpu_client_new(struct gpu_client **client, struct node *node, int ordinal,
                   struct event_loop *loop, struct error *error);
void gpu_client_free(struct gpu_client *client); /* NULL is allowed */

/* Kills the worker, and does not wait for its end. Only gpu_client_free() or gpu_client_restart()
 * may follow. */
void gpu_client_kill(struct gpu_client *client);

/* Lets an idle worker end while the caller does something else. Only gpu_client_free() and what asks
 * about the past may follow. */
void gpu_client_end_begin(const struct gpu_client *client);

/* What the greeting said. Returns 0 or ERROR_DEVICE (no driver, no such device). */
int gpu_client_gpu(struct gpu_client *client, struct gpu *gpu, struct error *error);

/* Makes the problem's buffers and expected results; `*empty_ns` is the median time of an empty
 * kernel. Returns ERROR_MEMORY if the GPU has no memory for them, after which another problem may
 * be opened. A call about a variant returns it, too, if a new worker finds the memory taken. */
int gpu_client_open(struct gpu_client *client, const struct gpu_problem *problem, double *empty_ns,
                    struct error *error);

/* Begins to open the problem; gpu_client_open() goes on. */
void gpu_client_open_begin(struct gpu_client *client, const struct gpu_problem *problem);

/* Between the two: what can be read from once the worker has answered, and when that is overdue; -1 if
 * gpu_client_open() would have to begin. */
int gpu_client_opening(const struct gpu_client *client, int64_t *overdue_ns);

/* Whether the last call that returns errors failed because of its worker, and not because waiting did
 * (event_loop.h). */
bool gpu_client_failed(const struct gpu_client *client);

/* Whether the last call failed because a worker did not finish making the expected results of a
 * variant: then this problem cannot continue, but others can. */
bool gpu_client_not_prepared(const struct gpu_client *client);

/* What a call made of a variant. */
struct gpu_client_answer {
    enum outcome outcome; /* OUTCOME_MEASURED: nothing wrong so far */
    char reason[1024];
    char entry[ENTRY_BYTES]; /* of the main launch, after gpu_client_load() */
    double single_ns; /* median of a trial's single samples, also where batches took their place */
    bool passing;     /* the next run may do better: the worker was killed from outside, more than
                         once (OUTCOME_FAULT), the GPU failed as often, also while the expected
                         results were made (OUTCOME_INVALID), or others had taken the memory */
    bool unfit;       /* the template cannot make its data: OUTCOME_INVALID */
    bool doubtful;    /* it failed, and another variant that is loaded may be to blame */
    bool unreadable;  /* with ERROR_RECORD: its cubin is missing or damaged. The worker is ready */
    bool again;       /* nothing came of it, because the worker was killed from outside, or the GPU
                         failed or throttled: ask again */
};

/* Loads variant `id`; stores its statistics and metrics in `result`. */
int gpu_client_load(struct gpu_client *client, int64_t id, const char *cubin,
                    const struct bindings *parameters, struct result *result,
                    struct gpu_client_answer *answer, struct error *error);

/* How a loaded variant is verified. */
struct gpu_client_check {
    int unchecked_runs; /* before those */
    int runs; /* each result is checked, and after the last two everything (gpu/verify.h) */
    unsigned data_set; /* of the fills' random numbers; 0: the usual one */
    bool careful;      /* everything is checked before it runs, too: no other variant is to blame */
};

int gpu_client_verify(struct gpu_client *client, int64_t id, const struct gpu_client_check *check,
                      struct gpu_client_answer *answer, struct error *error);

/* An element of a wrong result. */
struct gpu_difference {
    char buffer[64];
    uint64_t index;
    char got[32], expected[32];
};

/* The same until a result is wrong. If one is, stores the first of the at most `*count` elements that
 * differ in `differences`, and how many those are; otherwise there are none. */
int gpu_client_verify_closely(struct gpu_client *client, int64_t id,
                              const struct gpu_client_check *check,
                              struct gpu_difference *differences, size_t *count,
                              struct gpu_client_answer *answer, struct error *error);

/* How samples are to be taken. */
struct gpu_client_sampling {
    size_t count;
    size_t
        copy; /* of the variant's code (device_code.h), and place of its buffers (device_buffer.h);
                    any number is one */
    bool batched;
    size_t
        check_after; /* the results of two consecutive samples behind so many are checked; 0: none */
    bool careful;    /* as in struct gpu_client_check, after the last sample */
    unsigned data_set; /* likewise */
};

/* Sends a request for samples of a loaded variant. If the worker is lost before it comes to that,
 * the request is forgotten: the next worker has not loaded the variant. */
void gpu_client_measure_send(struct gpu_client *client, int64_t id,
                             const struct gpu_client_sampling *sampling);

/*
 * Takes the samples of the oldest request and appends them to `*samples_ns` (grown with realloc);
 * `*runs` is of how many runs each is the mean: 1, or with `batched` that of a batch, where there
 * can be one (batch.h). Samples taken while the GPU throttled are dropped and `answer->again` is
 * set, after a pause; if throttling persists, they are kept. See gpu_client_conditions().
 */
int gpu_client_measure_take(struct gpu_client *client, double **samples_ns, size_t *sample_count,
                            int *runs, struct gpu_client_answer *answer, struct error *error);

int gpu_client_unload(struct gpu_client *client, int64_t id, struct error *error);

/* A trial loads, verifies, samples and unloads a variant in one request. If a trial costs the worker,
 * those behind it are sent again to its successor. */
void gpu_client_trial_send(struct gpu_client *client, const char *cubin,
                           const struct bindings *parameters, const struct gpu_client_trial *trial);

/* Where the worker's time went. */
struct trial_times {
    int64_t load_ns, verify_ns, measure_ns;
};

/* The answer to the oldest trial. Statistics and metrics go to `result`, and so do samples: they
 * are added to those it has, or replace them if these are of another number of runs. If the samples
 * had to be dropped, as in gpu_client_measure_take(), `answer->again` is set. */
int gpu_client_trial_take(struct gpu_client *client, struct result *result,
                          struct trial_times *times, struct gpu_client_answer *answer,
                          struct error *error);

/* An empty kernel's median time in a batch; 0 if the open problem had no batches yet. */
double gpu_client_empty_batch_ns(const struct gpu_client *client);

/* How many workers were lost so far. Every variant that one had loaded is gone with it. */
unsigned gpu_client_losses(const struct gpu_client *client);

/* How long it had something to do, so far. */
double gpu_client_busy_s(const struct gpu_client *client);

/* What was seen while samples of the open problem were taken. */
struct gpu_conditions gpu_client_conditions(const struct gpu_client *client);

/* What is wrong with the GPU by the last reading: a static string, or NULL if nothing is. Throttling
 * does not count any more once a later reading says that it has ended. */
const char *gpu_client_disturbance(const struct gpu_client *client);

/* Forgets it: the next reading decides. */
void gpu_client_forgive(struct gpu_client *client);

/* Kills the worker, whatever state it is in. Open a problem next, which starts another. Returns 0, or
 * ERROR_DEVICE if the driver keeps it. */
int gpu_client_restart(struct gpu_client *client, struct error *error);

/* Why the GPU is not monitored (no NVML); NULL if it is, or if that is not known yet, also of a NULL
 * client. */
const char *gpu_client_monitor_error(const struct gpu_client *client);

#endif
