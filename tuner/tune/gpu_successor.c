#include "tune/gpu_successor.h"

#include "base/clock.h"

#include <string.h>

enum {
    MEMORY_TRIES = 20, /* of a worker that opens the problem again */
    MEMORY_PAUSE_NS = 100000000,
};

/* The worker's next messages must be these: 1; 0 if one is not, and the worker is killed; or an
 * error. */
static int await_events(struct gpu_worker *worker, const char *const *events, size_t count,
                        struct error *error)
{
    char reason[WORKER_REASON_BYTES];
    bool timed_out;
    json_t *message;
    for (size_t i = 0; i < count; i++) {
        bool ready = strcmp(events[i], "ready") == 0;
        int status = gpu_worker_receive(worker,
                                        ready ? worker_timeout_s(GPU_READY_TIMEOUT_S)
                                              : gpu_worker_open_timeout_s(worker),
                                        0, &message, &timed_out, reason, error);
        if (status < 0)
            return status;
        if (status == 0 || gpu_worker_expect(message, events[i], NULL) != 0) {
            json_decref(message);
            return gpu_worker_kill(worker, error);
        }
        json_decref(message);
    }
    worker->greeted = true;
    return 1;
}

/*
 * The standby, if there is one, becomes the worker: 1 with the problem open; 0 if it is still to be
 * opened, by the standby or, if that fails, by another one; or an error. Its context may have been
 * lost with the other one's: "wait" shows whether it works.
 */
static int promote_standby(struct gpu_worker *worker, struct error *error)
{
    const char *const events[] = {"ready", "opened", "waited"};
    const char *const context_events[] = {"ready", "waited"};
    if (!worker_is_running(&worker->standby.worker))
        return 0;
    bool opens = worker->standby.opens;
    worker->process = standby_worker_take(&worker->standby);
    gpu_worker_send(worker, json_pack("{s:s}", "do", "wait"));
    int status = await_events(worker, opens ? events : context_events, opens ? 3 : 2, error);
    return status == 1 ? opens : status;
}

/* Opens the problem that was open before. The last worker's memory may not be free at once: a
 * driver may clear it first. */
static int reopen(struct gpu_worker *worker, struct error *error)
{
    int status = gpu_worker_open(worker, NULL, error);
    for (int i = 1; i < MEMORY_TRIES && status == ERROR_MEMORY; i++) {
        status = event_loop_wait(worker->loop, -1, clock_ns() + MEMORY_PAUSE_NS, error);
        if (status >= 0)
            status = gpu_worker_open(worker, NULL, error);
    }
    return status;
}

/* A trial says all about its variant; other requests have the `id` of one that was loaded. */
static void forget_loaded(struct gpu_worker *worker)
{
    size_t kept = 0;
    for (size_t i = 0; i < worker->request_count; i++)
        if (worker->requests[i].has_id)
            gpu_request_release(&worker->requests[i]);
        else
            worker->requests[kept++] = worker->requests[i];
    worker->request_count = kept;
}

/* The same problem is open and the same trials are queued in a successor of the lost worker, which
 * is gone, or else is `leaving`: what follows is measured without it. */
static int succeed(struct gpu_worker *worker, struct worker *leaving, struct error *error)
{
    worker->greeted = false;
    worker->losses++;
    forget_loaded(worker);
    int status = promote_standby(worker, error);
    status = status == 0 ? reopen(worker, error) : status < 0 ? status : 0;
    int left = gpu_worker_end(worker, leaving, status == 0 ? error : NULL);
    status = status == 0 ? left : status;
    if (worker->request_count == 0)
        hang_recovery_idle(&worker->hangs, clock_ns());
    for (size_t i = 0; i < worker->request_count && status == 0; i++)
        gpu_worker_ask(worker, &worker->requests[i]);
    return status;
}

int gpu_worker_replace(struct gpu_worker *worker, struct error *error)
{
    struct worker none = {0};
    int status = gpu_worker_kill(worker, error);
    return status != 0 ? status : succeed(worker, &none, error);
}

int gpu_worker_replace_faulted(struct gpu_worker *worker, struct error *error)
{
    struct worker leaving = worker->process;
    worker->process = (struct worker){0};
    worker_kill(&leaving);
    return succeed(worker, &leaving, error);
}

int gpu_worker_await_repair(struct gpu_worker *worker, struct error *error)
{
    char reason[WORKER_REASON_BYTES];
    bool timed_out;
    json_t *message;
    int status = gpu_worker_receive(worker, worker_timeout_s(GPU_OPEN_TIMEOUT_S), 0, &message,
                                    &timed_out, reason, error);
    if (status < 0)
        return status;
    bool repaired = status > 0 && gpu_worker_expect(message, "repaired", NULL) == 0;
    if (status > 0)
        json_decref(message);
    return repaired ? 0 : gpu_worker_replace(worker, error);
}
