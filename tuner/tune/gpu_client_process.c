#include "tune/gpu_client_process.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/statistics.h"

#include <stdlib.h>
#include <string.h>

enum {
    READY_TIMEOUT_S = 60,
    OPEN_TIMEOUT_S = 120, /* references are slow by design */
    START_FAILURES = 3,
    MEMORY_TRIES = 20, /* of a worker that opens the problem again */
    MEMORY_PAUSE_NS = 100000000,
};

/* Besides the problem's buffers, a second worker takes a context and what the driver rounds up. */
#define STANDBY_ROOM_BYTES ((json_int_t)1 << 30)

/* -- messages ------------------------------------------------------------------------------------
 */

static json_t *open_message(const struct gpu_client_request *request)
{
    json_t *message = json_pack("{s:s, s:s, s:s, s:o, s:s, s:b}", "do", "open", "template",
                                request->template_path, "hash", request->template_hash, "problem",
                                bindings_to_json(request->problem), "support",
                                request->support_cubin, "cold", (int)request->cold);
    if (request->reference_cubin != NULL)
        json_object_set_new(message, "reference", json_string(request->reference_cubin));
    return message;
}

static void start_standby(struct gpu_client *client)
{
    standby_worker_start(&client->standby, client->ordinal,
                         client->roomy ? open_message(&client->request) : NULL,
                         client->trial_count > 0 ? client->trial_count : 1);
}

int gpu_client_receive(struct gpu_client *client, double timeout_s, double patience_s,
                       json_t **message, bool *timed_out, char reason[WORKER_REASON_BYTES],
                       struct error *error)
{
    int64_t start = clock_ns();
    int64_t until = start + (int64_t)(patience_s * 1e9);
    struct channel *channel = &client->worker.channel;
    *timed_out = false;
    client->killed = false;
    client->deadline_ns = start + (int64_t)(timeout_s * 1e9);
    if (patience_s <= 0 || patience_s >= timeout_s)
        until = client->deadline_ns;
    for (;;) {
        int status = channel_next(channel, message, error);
        client->took_s = (double)(clock_ns() - start) * 1e-9;
        if (status != 0)
            return status;
        status = compile_pool_serve(client->pool, channel->in, until, false, error);
        if (status < 0)
            return status;
        if (status == 0 && until < client->deadline_ns) {
            start_standby(client);
            until = client->deadline_ns;
            continue;
        }
        if (status == 0) {
            *timed_out = true;
            if (!worker_stop(&client->worker))
                return error_set(error, ERROR_DEVICE,
                                 "the driver does not let go of a device worker that was killed; "
                                 "reset the GPU, or restart the machine");
            (void)snprintf(reason, WORKER_REASON_BYTES, "did not end within %.3g s", timeout_s);
            return 0;
        }
        status = channel_fill(channel, error);
        if (status < 0)
            return status;
        if (status == 0) {
            client->killed = worker_bury(&client->worker, reason);
            return 0;
        }
    }
}

int gpu_client_expect(const json_t *message, const char *event, struct error *error)
{
    int status = message_error(message, error);
    if (status != 0)
        return status;
    const char *actual = json_string_value(json_object_get(message, "event"));
    if (actual == NULL || strcmp(actual, event) != 0)
        return error_set(error, ERROR_WORKER, "the device worker answers '%s', not '%s'",
                         actual != NULL ? actual : "", event);
    return 0;
}

/* -- starting ------------------------------------------------------------------------------------
 */

int gpu_client_new(struct gpu_client **client, int ordinal, struct compile_pool *pool,
                   struct error *error)
{
    struct gpu_client *new = alloc_zeroed(1, sizeof *new);
    new->pool = pool;
    (void)snprintf(new->ordinal, sizeof new->ordinal, "%d", ordinal);
    int status = worker_start(&new->worker, "device", new->ordinal, error);
    if (status != 0) {
        free(new);
        new = NULL;
    }
    *client = new;
    return status;
}

void gpu_client_free(struct gpu_client *client)
{
    if (client == NULL)
        return;
    worker_end(&client->worker);
    standby_worker_clear(&client->standby);
    hang_recovery_release(&client->hangs);
    while (client->trial_count > 0)
        json_decref(client->trials[--client->trial_count]);
    free(client);
}

/* Waits for the greeting, starting the worker again where it died before it. */
static int await_greeting(struct gpu_client *client, struct error *error)
{
    char reason[WORKER_REASON_BYTES];
    bool timed_out;
    json_t *message = NULL;
    for (int attempt = 0; !client->greeted; attempt++) {
        int status = 0;
        if (client->worker.pid == 0)
            status = worker_start(&client->worker, "device", client->ordinal, error);
        if (status == 0)
            status = gpu_client_receive(client, worker_timeout_s(READY_TIMEOUT_S), 0, &message,
                                        &timed_out, reason, error);
        if (status == 0 && attempt + 1 >= START_FAILURES)
            return error_set(error, ERROR_WORKER, "the device worker %s before it was ready",
                             reason);
        if (status < 0)
            return status;
        if (status == 0)
            continue;
        status = gpu_client_expect(message, "ready", error);
        if (status == 0)
            status = gpu_from_json(json_object_get(message, "gpu"), &client->gpu, error);
        json_decref(message);
        if (status != 0)
            return status;
        client->greeted = true;
    }
    return 0;
}

int gpu_client_gpu(struct gpu_client *client, struct gpu *gpu, struct error *error)
{
    int status = await_greeting(client, error);
    *gpu = client->gpu;
    return status;
}

int64_t gpu_client_member(const json_t *reply, const char *key)
{
    return json_integer_value(json_object_get(reply, key));
}

int gpu_client_read_numbers(const json_t *array, double **values, size_t *count)
{
    size_t index;
    json_t *number;
    json_array_foreach((json_t *)(uintptr_t)array, index, number) * ARRAY_APPEND(*values, *count) =
        json_number_value(number);
    return 0;
}

/*
 * Sends the open request to a worker that has greeted and takes its reply; as gpu_client_receive(). A
 * request that cannot be sent is no error here: why the worker is gone shows in what it has sent,
 * or in its end.
 */
static int try_open(struct gpu_client *client, json_t **reply, char reason[WORKER_REASON_BYTES],
                    struct error *error)
{
    bool timed_out;
    int status = await_greeting(client, error);
    if (status != 0)
        return status;
    json_t *message = open_message(&client->request);
    if (message == NULL)
        return error_set(error, ERROR_CONFIG, "path '%s' is not UTF-8; rename the file",
                         client->request.template_path);
    (void)channel_send(&client->worker.channel, message, NULL);
    status = gpu_client_receive(client, worker_timeout_s(OPEN_TIMEOUT_S), 0, reply, &timed_out,
                                reason, error);
    client->greeted = status != 0;
    return status;
}

/* Opens device->request; the empty kernel's median time, if wanted. A worker that dies of it gets
 * one successor. */
static int open_again(struct gpu_client *client, double *empty_ns, struct error *error)
{
    char reason[WORKER_REASON_BYTES];
    json_t *reply = NULL;
    int status = try_open(client, &reply, reason, error);
    if (status == 0)
        status = try_open(client, &reply, reason, error);
    if (status == 0)
        return error_set(error, ERROR_WORKER, "the device worker %s while it prepared the problem",
                         reason);
    if (status < 0)
        return status;
    status = gpu_client_expect(reply, "opened", error);
    client->roomy = gpu_client_member(reply, "needs_bytes") + STANDBY_ROOM_BYTES <=
                    gpu_client_member(reply, "free_bytes");
    if (status == 0 && empty_ns != NULL) {
        double *samples = NULL;
        size_t count = 0;
        (void)gpu_client_read_numbers(json_object_get(reply, "empty_ns"), &samples, &count);
        *empty_ns = count > 0 ? statistics_median(samples, count) : 0;
        free(samples);
    }
    json_decref(reply);
    return status;
}

int gpu_client_open(struct gpu_client *client, const struct gpu_client_request *request,
                    double *empty_ns, struct error *error)
{
    while (client->trial_count > 0) /* of a problem that was given up */
        json_decref(client->trials[--client->trial_count]);
    standby_worker_clear(&client->standby);
    client->request = *request;
    client->slowest_s = 0;
    client->conditions = (struct gpu_conditions){0};
    client->readings = 0;
    client->empty_batch_ns = 0;
    client->retakes = 0;
    int status = open_again(client, empty_ns, error);
    client->open = status == 0;
    return status;
}

/*
 * The spare, if there is one, becomes the worker: 1 with the problem open; 0 where it is still to be
 * opened, by the spare or, if that is no good, by another one; or an error. That its context works
 * is tried now: it may have gone with the other one's.
 */
static int promote_standby(struct gpu_client *client, struct error *error)
{
    char reason[WORKER_REASON_BYTES];
    bool timed_out;
    json_t *message;
    const char *const events[] = {"ready", "opened", "waited"};
    if (client->standby.worker.pid == 0)
        return 0;
    bool opens = client->standby.opens;
    client->worker = standby_worker_take(&client->standby);
    (void)channel_send(&client->worker.channel, json_pack("{s:s}", "do", "wait"), NULL);
    for (size_t i = 0; i < 3; i++) {
        if (i == 1 && !opens)
            continue;
        int status =
            gpu_client_receive(client, worker_timeout_s(i == 0 ? READY_TIMEOUT_S : OPEN_TIMEOUT_S),
                               0, &message, &timed_out, reason, error);
        if (status < 0)
            return status;
        if (status == 0 || gpu_client_expect(message, events[i], NULL) != 0) {
            json_decref(message);
            worker_stop(&client->worker);
            return 0;
        }
        json_decref(message);
    }
    client->greeted = true;
    return opens;
}

/* Opens the problem that was open before. What the last worker held may not be free yet, although
 * that has ended: a driver may clear memory first. */
static int reopen(struct gpu_client *client, struct error *error)
{
    int status = open_again(client, NULL, error);
    for (int i = 1; i < MEMORY_TRIES && status == ERROR_MEMORY; i++) {
        status = compile_pool_serve(client->pool, -1, clock_ns() + MEMORY_PAUSE_NS, false, error);
        if (status >= 0)
            status = open_again(client, NULL, error);
    }
    return status;
}

int gpu_client_replace(struct gpu_client *client, struct error *error)
{
    worker_stop(&client->worker);
    client->greeted = false;
    client->losses++;
    int status = promote_standby(client, error);
    status = status == 0 ? reopen(client, error) : status < 0 ? status : 0;
    if (client->trial_count == 0)
        hang_recovery_idle(&client->hangs, clock_ns());
    for (size_t i = 0; i < client->trial_count && status == 0; i++)
        (void)channel_send(&client->worker.channel, json_incref(client->trials[i]), NULL);
    return status;
}

int gpu_client_await_repair(struct gpu_client *client, struct error *error)
{
    char reason[WORKER_REASON_BYTES];
    bool timed_out;
    json_t *message;
    int status = gpu_client_receive(client, worker_timeout_s(OPEN_TIMEOUT_S), 0, &message,
                                    &timed_out, reason, error);
    if (status < 0)
        return status;
    bool repaired = status > 0 && gpu_client_expect(message, "repaired", NULL) == 0;
    if (status > 0)
        json_decref(message);
    return repaired ? 0 : gpu_client_replace(client, error);
}
