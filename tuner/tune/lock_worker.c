#include "tune/lock_worker.h"

#include "base/clock.h"
#include "base/event_loop.h"
#include "tune/gpu_lock.h"

#include <poll.h>
#include <string.h>

enum { POLL_MS = 100, ANSWER_TIMEOUT_S = 60 };

/* --- the worker --- */

static bool has_closed(const struct channel *channel, int timeout_ms)
{
    struct pollfd end = {.fd = channel->in, .events = POLLIN};
    return poll(&end, 1, timeout_ms) != 0; /* nothing is ever sent */
}

/* Sends whether it is held, which `held` is set to; or the error. */
static int try_lock(struct channel *channel, struct gpu_lock *lock, const char *uuid, bool *held,
                    struct error *error)
{
    int status = gpu_lock_try(lock, uuid, held, error);
    if (status != 0) {
        (void)channel_send(channel, message_from_error(error), NULL);
        return status;
    }
    return channel_send(
        channel,
        *held ? json_pack("{s:s}", "event", "held")
              : json_pack("{s:s, s:I}", "event", "busy", "owner", (json_int_t)lock->owner),
        error);
}

int lock_worker_run(struct channel *channel, const char *uuid, struct error *error)
{
    struct gpu_lock lock = {.file = -1};
    bool held;
    int status = try_lock(channel, &lock, uuid, &held, error);
    while (status == 0 && !held && !has_closed(channel, POLL_MS)) {
        gpu_lock_release(&lock);
        status = gpu_lock_try(&lock, uuid, &held, error);
        if (status == 0 && held)
            status = channel_send(channel, json_pack("{s:s}", "event", "held"), error);
    }
    if (status == 0 && held)
        (void)has_closed(channel, -1);
    gpu_lock_release(&lock);
    return status;
}

/* --- the coordinator --- */

/* Takes the next message, by `until_ns`. Returns 0 or an error, with which the worker is gone. */
static int receive(struct worker *worker, int64_t until_ns, bool *held, long *owner,
                   struct error *error)
{
    json_t *message = NULL;
    bool late;
    int status = channel_receive_until(&worker->channel, until_ns, &late, &message, error);
    if (status == 1)
        status = message_error(message, error);
    else if (status == 0)
        status = error_set(error, ERROR_WORKER, "the worker that locks a GPU %s",
                           late ? "does not answer" : "has ended");
    const char *event = json_string_value(json_object_get(message, "event"));
    *held = event != NULL && strcmp(event, "held") == 0;
    *owner = (long)json_integer_value(json_object_get(message, "owner"));
    json_decref(message);
    if (status != 0)
        (void)worker_stop(worker);
    return status;
}

int lock_worker_begin(struct worker *worker, struct node *node, const char *uuid,
                      struct error *error)
{
    return worker_start(worker, node, "lock", uuid, error);
}

int lock_worker_take(struct worker *worker, bool *held, long *owner, struct error *error)
{
    int64_t until_ns = clock_ns() + (int64_t)(worker_timeout_s(ANSWER_TIMEOUT_S) * 1e9);
    return receive(worker, until_ns, held, owner, error);
}

int lock_worker_wait(struct worker *worker, struct error *error)
{
    bool held = false;
    long owner;
    int status = 0;
    while (status == 0 && !held)
        status = receive(worker, EVENT_NEVER, &held, &owner, error);
    if (status == ERROR_INTERRUPTED)
        (void)error_set(error, ERROR_INTERRUPTED,
                        "interrupted while another run was using the GPU");
    return status;
}
