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
#include "base/worker.h"
#include "record/gpu.h"
#include "record/study.h"
#include "template/template.h"
#include "template/value.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Requests about variants that may be under way at once: one that runs, one that is loaded meanwhile, and
 * one that follows before the coordinator has stored the first one's result. */
enum { DEVICE_TRIALS = 3 };

struct template;

/* What a problem is opened with on the GPU: the request that every new device worker gets again. Strings
 * and bindings are borrowed until another problem is opened. */
struct opened_problem {
    const struct template *template;
    const json_t *data; /* the files of its fills, with their hashes: fill_list_files() */
    const struct bindings *values;
    const char *support_cubin;   /* cache entry of device_kernels.cu */
    const char *reference_cubin; /* NULL if no helper needs it */
    bool cold;                   /* empty the L2 cache before each sample */
    double launch_timeout_s;
    bool shared; /* other GPUs have it open, too, and go on if this one cannot open it again soon */
};

enum {
    DEVICE_READY_TIMEOUT_S = 60,
    DEVICE_OPEN_TIMEOUT_S = 120, /* references are slow by design */
};

struct device_process {
    struct event_loop *loop;
    struct worker process;
    struct node *node;
    char ordinal[16]; /* of the node's GPUs */
    bool greeted;
    struct gpu gpu;
    struct opened_problem problem;   /* the one that is open, to open it again */
    int64_t opening_ns;              /* when it was asked to open it; 0: it is not doing that */
    double opened_s;                 /* how long that took the first time; 0: not known */
    json_t *requests[DEVICE_TRIALS]; /* about variants, sent and not answered, the oldest first */
    size_t request_count;
    unsigned losses; /* workers that died or were killed so far, and with each what it had loaded */
    bool killed;     /* the last of them was killed from outside */
    int64_t deadline_ns; /* of the reply that is waited for */
};

/* What took how long: of a verification, the run alone. */
enum device_duration { DEVICE_TOOK_RUN, DEVICE_TOOK_LOAD, DEVICE_TOOK_MEASURE, DEVICE_DURATIONS };

/* What an answer says. Zero it first; only what its kind of answer has is set. */
struct device_reply {
    int64_t took_ns[DEVICE_DURATIONS];
    const char *entry; /* of the main launch; as long as the reply */
    struct kernel_stats stats;
    double bytes, operations;
    int runs;                 /* that each sample is the mean of */
    double single_ns;         /* median of single samples */
    double empty_batch_ns;    /* of an empty kernel in a batch; 0: not known */
    const double *samples_ns; /* until the next answer is read */
    size_t sample_count;
    double *numbers; /* of the answer; free it */
};

/* The members are for reading. */
struct device_client {
    struct device_process worker;
    double slowest_s; /* run of the open problem so far */
    unsigned kills;   /* from outside, since the last reply to a request that was not a load */
    struct gpu_conditions conditions; /* sm_clock_mhz is the sum of `readings` */
    unsigned readings;
    unsigned retakes;
    int others;               /* processes on the GPU, by the last reading */
    char monitor_error[256];  /* why the GPU is not monitored; "": it is, or nobody knows yet */
    struct device_reply read; /* the last reply about a variant */
    json_t *differences;      /* of the last variant that failed; NULL: none */
    /* A worker did not finish making the expected results of a variant: the open problem cannot continue, but
     * others can. */
    bool not_prepared;
    bool failed;           /* the last call that returns errors, because of its worker */
    double empty_batch_ns; /* median time of an empty kernel; 0: there were no batches yet */
    int64_t busy_since_ns; /* it has had requests from then on */
    int64_t busy_ns;       /* before that */
};

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

/* What a call made of a variant. */
struct device_client_answer {
    enum outcome outcome; /* OUTCOME_MEASURED: nothing wrong so far */
    char reason[1024];
    char entry[ENTRY_BYTES]; /* of the main launch, after device_client_load() */
    double single_ns; /* median of a trial's single samples, also where batches took their place */
    bool passing;     /* the next run may do better: the worker was killed from outside, more than
                         once (OUTCOME_FAULT), the GPU failed as often, also while the expected
                         results were made (OUTCOME_INVALID), no worker took its place, or others
                         had taken the memory */
    bool unfit;       /* the template cannot make its data: OUTCOME_INVALID */
    bool doubtful;    /* it failed, and another variant that is loaded may be to blame */
    bool damaging;    /* it changed what it may not, for certain */
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
    bool last;         /* the others' data, guards and state are checked afterwards, too */
    bool careful;      /* the same, and everything before it runs: no other variant is to blame */
    /* room for the first elements of a wrong result that differ, of which there are `*count`, and then how
     * many those are; NULL: they are not wanted */
    struct device_difference *differences;
    size_t *count;
    const char *dump; /* gets all arrays after the last run, or one that is wrong; NULL: none */
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

/*
 * device_process.c: the device worker's process, on which device_client.c builds the calls about variants: starting it,
 * opening a problem, waiting for a message, replacing it.
 */

/* Starts the process on that node (NULL: here). Returns 0 or ERROR_WORKER. */
int device_process_init(struct device_process *worker, struct node *node, int ordinal,
                        struct event_loop *loop, struct error *error);
void device_process_release(struct device_process *worker);

/* Waits for the greeting, which fills worker->gpu. A worker that is lost before has two successors.
 * Returns 0, ERROR_DEVICE or ERROR_WORKER. */
int device_process_greet(struct device_process *worker, struct error *error);

/* How long a worker may take to open worker->problem: much less if it was open before, and other GPUs
 * have it open. */
double device_process_open_timeout_s(const struct device_process *worker);

/* Asks for worker->problem to be opened, if the worker has greeted. device_process_open() goes on. */
void device_process_open_begin(struct device_process *worker);

/* Opens worker->problem; `*empty_ns` (NULL: not wanted) is the median time of an empty kernel. A
 * worker that dies of it gets one successor. Errors as device_client_open(). */
int device_process_open(struct device_process *worker, double *empty_ns, struct error *error);

/* Forgets the requests under way: another problem follows. */
void device_process_clear(struct device_process *worker);

/* Kills the process, whatever it is doing; the next device_process_greet() starts another. Returns 0, or
 * ERROR_DEVICE if the driver keeps it. */
int device_process_restart(struct device_process *worker, struct error *error);

/* Sends a request, which stays the caller's, with its cubin: there, "cubin" is the path of a cache entry. If
 * the worker is gone, its reply shows that. */
void device_process_ask(struct device_process *worker, json_t *request);

/* Kills the process. Returns 0, or ERROR_DEVICE if the driver keeps it. */
int device_process_kill(struct device_process *worker, struct error *error);

/*
 * Replaces a lost worker: the same problem is open and the same trials are queued afterwards. Other
 * requests under way are forgotten, since their variants are no longer loaded. Kills the worker
 * first, since its kernel may still be on the GPU. Errors as device_client_open().
 */
int device_process_replace(struct device_process *worker, struct error *error);

/*
 * Waits for a worker that opens the problem anew because a variant wrote out of bounds; it has the
 * time that opening a problem has. A worker that fails is replaced.
 */
int device_process_await_repair(struct device_process *worker, struct error *error);

/*
 * The worker's next message: returns 1 with it; 0 with a NULL message and the `reason` if the
 * worker died, sent what is not a message or passed the deadline, and is gone; or an error.
 */
int device_process_receive(struct device_process *worker, double timeout_s, json_t **message,
                           bool *timed_out, char reason[WORKER_REASON_BYTES], struct error *error);

#endif
