/*
 * The GPU as the coordinator sees it: a device worker that may die. Requests are those of
 * gpu/device_worker.h.
 *
 * Calling sequence: device_client_new (the worker starts, and makes its context meanwhile),
 * device_client_gpu (its greeting), then for each problem device_client_open, and for each variant
 * device_client_load, device_client_verify, device_client_measure_send and _take, device_client_unload.
 *
 * Trials and measurements are queued: at most DEVICE_TRIALS are sent before the first is taken, and
 * they are answered in order, so that the GPU never waits for the next one. Other calls must wait
 * until none is under way.
 *
 * A call about a variant that fails returns 0 with the variant's outcome and reason. A worker that
 * dies or sends a reply that makes no sense is the variant's fault, one that passes its deadline a
 * timeout. Another then takes its place and opens the problem, but has no variant loaded. An error ends
 * the run.
 */
#ifndef AUTOTUNE_DEVICE_CLIENT_H
#define AUTOTUNE_DEVICE_CLIENT_H

#include "base/error.h"
#include "base/event_loop.h"
#include "base/node.h"
#include "record/gpu.h"
#include "record/study.h"
#include "template/template.h"
#include "template/value.h"
#include "tune/device_process.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct device_client;

/* Starts the device worker of GPU `ordinal` of that node (NULL: this machine); `loop` must outlive the
 * client. Returns 0 or ERROR_WORKER. */
int device_client_new(struct device_client **client, struct node *node, int ordinal,
                      struct event_loop *loop, struct error *error);
void device_client_free(struct device_client *client); /* NULL is allowed */

/* Kills the worker, and does not wait for its end. Only device_client_free() or device_client_restart()
 * may follow. */
void device_client_kill(struct device_client *client);

/* Lets an idle worker end while the caller does something else. Only device_client_free() and what asks
 * about the past may follow. */
void device_client_end_begin(const struct device_client *client);

/* What the greeting said. Returns 0 or ERROR_DEVICE (no driver, no such device). */
int device_client_gpu(struct device_client *client, struct gpu *gpu, struct error *error);

/* Makes the problem's buffers and expected results; `*empty_ns` is the median time of an empty
 * kernel. Returns ERROR_MEMORY if the GPU has no memory for them, after which another problem may
 * be opened. A call about a variant returns it, too, if a new worker finds the memory taken. */
int device_client_open(struct device_client *client, const struct opened_problem *problem,
                       double *empty_ns, struct error *error);

/* Begins to open the problem; device_client_open() goes on. Between the two, device_client_opening() is
 * what can be read from once the worker has answered, and when that is overdue; otherwise -1. */
void device_client_open_begin(struct device_client *client, const struct opened_problem *problem);
int device_client_opening(const struct device_client *client, int64_t *overdue_ns);

/* Whether the last call that returns errors failed because of its worker, and not because waiting did
 * (event_loop.h). */
bool device_client_failed(const struct device_client *client);

/* Whether the last call failed because a worker did not finish making the expected results of a
 * variant: then this problem cannot continue, but others can. */
bool device_client_not_prepared(const struct device_client *client);

/* What a call made of a variant. */
struct device_client_answer {
    enum outcome outcome; /* OUTCOME_MEASURED: nothing wrong so far */
    char reason[1024];
    char entry[ENTRY_BYTES]; /* of the main launch, after device_client_load() */
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
int device_client_load(struct device_client *client, int64_t id, const char *cubin,
                       const struct bindings *parameters, struct result *result,
                       struct device_client_answer *answer, struct error *error);

/* An element of a wrong result. */
struct device_difference {
    char buffer[64];
    uint64_t index;
    char got[32], expected[32];
};

/* How a loaded variant is verified. */
struct device_client_check {
    int unchecked_runs; /* before those; it is verified without them first, to know what they may take */
    int runs; /* each result is checked, and after the last two everything (gpu/verify.h) */
    unsigned data_set; /* of the fills' random numbers; 0: the usual one */
    bool careful;      /* everything is checked before it runs, too: no other variant is to blame */
    /* room for the first elements of a wrong result that differ, of which there are `*count`, and then how
     * many those are; NULL: they are not wanted */
    struct device_difference *differences;
    size_t *count;
};

int device_client_verify(struct device_client *client, int64_t id,
                         const struct device_client_check *check,
                         struct device_client_answer *answer, struct error *error);

/* How samples are to be taken. */
struct device_client_sampling {
    size_t count;
    size_t
        copy; /* of the variant's code (device_code.h), and place of its buffers (device_buffer.h);
                    any number is one */
    bool batched;
    size_t
        check_after; /* the results of two consecutive samples behind so many are checked; 0: none */
    bool careful;    /* as in struct device_client_check, after the last sample */
    unsigned data_set; /* likewise */
};

/* Sends a request for samples of a loaded variant. If the worker is lost before it comes to that,
 * the request is forgotten: the next worker has not loaded the variant. */
void device_client_measure_send(struct device_client *client, int64_t id,
                                const struct device_client_sampling *sampling);

/*
 * Takes the samples of the oldest request and appends them to `*samples_ns` (grown with realloc);
 * `*runs` is of how many runs each is the mean: 1, or with `batched` that of a batch, where there
 * can be one (batch.h). Samples taken while the GPU throttled are dropped and `answer->again` is
 * set, after a pause; if throttling persists, they are kept. See device_client_conditions().
 */
int device_client_measure_take(struct device_client *client, double **samples_ns,
                               size_t *sample_count, int *runs, struct device_client_answer *answer,
                               struct error *error);

int device_client_unload(struct device_client *client, int64_t id, struct error *error);

/* What a trial measures. */
struct device_client_trial {
    size_t samples;
    /* if the verified run takes longer, its time is the only sample (0: never) */
    double hopeless_ns;
    double enough_ns; /* if the first sample is longer, it is the only one (0: never) */
    double short_ns;  /* if the samples' median is shorter, batches take their place, if they can */
};

/* A trial loads, verifies, samples and unloads a variant in one request. If a trial costs the worker,
 * those behind it are sent again to its successor. */
void device_client_trial_send(struct device_client *client, const char *cubin,
                              const struct bindings *parameters,
                              const struct device_client_trial *trial);

/* Where the worker's time went. */
struct trial_times {
    int64_t load_ns, verify_ns, measure_ns;
};

/* The answer to the oldest trial. Statistics and metrics go to `result`, and so do samples: they
 * are added to those it has, or replace them if these are of another number of runs. If the samples
 * had to be dropped, as in device_client_measure_take(), `answer->again` is set. */
int device_client_trial_take(struct device_client *client, struct result *result,
                             struct trial_times *times, struct device_client_answer *answer,
                             struct error *error);

/* An empty kernel's median time in a batch; 0 if the open problem had no batches yet. */
double device_client_empty_batch_ns(const struct device_client *client);

/* How many workers were lost so far. Every variant that one had loaded is gone with it. */
unsigned device_client_losses(const struct device_client *client);

/* How long it had something to do, so far. */
double device_client_busy_s(const struct device_client *client);

/* What was seen while samples of the open problem were taken. */
struct gpu_conditions device_client_conditions(const struct device_client *client);

/* What is wrong with the GPU by the last reading: a static string, or NULL if nothing is. Throttling
 * does not count any more once a later reading says that it has ended. */
const char *device_client_disturbance(const struct device_client *client);

/* Forgets it: the next reading decides. */
void device_client_forgive(struct device_client *client);

/* Kills the worker, whatever state it is in. Open a problem next, which starts another. Returns 0, or
 * ERROR_DEVICE if the driver keeps it. */
int device_client_restart(struct device_client *client, struct error *error);

/* Why the GPU is not monitored (no NVML); NULL if it is, or if that is not known yet, also of a NULL
 * client. */
const char *device_client_monitor_error(const struct device_client *client);

#endif
