/*
 * What device.c's calls about variants rest on: the device worker's process, how it is started,
 * greeted, opened a problem with and replaced, and the wait for what it says. For device.c alone.
 */
#ifndef AUTOTUNE_GPU_CLIENT_PROCESS_H
#define AUTOTUNE_GPU_CLIENT_PROCESS_H

#include "base/worker.h"
#include "tune/gpu_client.h"
#include "tune/hang_recovery.h"
#include "tune/standby_worker.h"

struct gpu_client {
    struct worker worker;
    struct compile_pool *pool;
    char ordinal[16];
    bool greeted;
    struct gpu gpu;
    bool open;
    struct gpu_client_request request; /* of the open problem, to open it again */
    double slowest_s;                  /* run so far */
    json_t *trials[GPU_CLIENT_TRIALS]; /* sent and not answered, the oldest first */
    size_t trial_count;
    unsigned losses;
    bool killed;    /* the last worker that died was killed from outside */
    unsigned kills; /* of that kind since the last reply */
    struct gpu_conditions
        conditions; /* of the open problem; sm_clock_mhz is the sum of `readings` */
    unsigned readings;
    unsigned retakes;
    char monitor_error[256];
    struct standby_worker standby;
    bool roomy;          /* there is room for the open problem twice */
    bool spoilt;         /* a spare ran beside the request of the last reply */
    int64_t deadline_ns; /* of the last reply waited for */
    double took_s;       /* the wait for it */
    struct hang_recovery hangs;
    double empty_batch_ns; /* of the open problem; 0: not known */
};

/*
 * The worker's next message: returns 1 with it; 0 where the worker died or passed the deadline,
 * with `reason` set and the worker buried; or an error. After `patience_s` a spare is started; 0
 * where it is no variant that is waited for.
 */
int gpu_client_receive(struct gpu_client *client, double timeout_s, double patience_s,
                       json_t **message, bool *timed_out, char reason[WORKER_REASON_BYTES],
                       struct error *error);

/* Whether the message is this event: 0, the error that it is, or ERROR_WORKER. */
int gpu_client_expect(const json_t *message, const char *event, struct error *error);

/*
 * A worker that is lost is replaced at once, with the same problem open and the same trials queued.
 * Not before its end: until then its kernel may still be on the GPU.
 */
int gpu_client_replace(struct gpu_client *client, struct error *error);

/*
 * Waits for a worker that opens the problem anew because a variant wrote where it must not. The time
 * for that is a problem's, not the next variant's. One that fails to is replaced.
 */
int gpu_client_await_repair(struct gpu_client *client, struct error *error);

/* A whole number of a reply; 0 where there is none. */
int64_t gpu_client_member(const json_t *reply, const char *key);

/* Appends the numbers of a reply's array. */
int gpu_client_read_numbers(const json_t *array, double **values, size_t *count);

#endif
