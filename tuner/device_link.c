#include "device_link.h"

#include "alloc.h"
#include "clock.h"
#include "statistics.h"

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
#define SPARE_ROOM_BYTES ((json_int_t)1 << 30)

/* -- messages ------------------------------------------------------------------------------------
 */

static json_t *open_message(const struct device_request *request)
{
    json_t *message = json_pack("{s:s, s:s, s:s, s:o, s:s, s:b}", "do", "open", "template",
                                request->template_path, "hash", request->template_hash, "problem",
                                bindings_to_json(request->problem), "support",
                                request->support_cubin, "cold", (int)request->cold);
    if (request->reference_cubin != NULL)
        json_object_set_new(message, "reference", json_string(request->reference_cubin));
    return message;
}

static void start_spare(struct device *device)
{
    spare_start(&device->spare, device->ordinal,
                device->roomy ? open_message(&device->request) : NULL,
                device->trial_count > 0 ? device->trial_count : 1);
}

int device_receive(struct device *device, double timeout_s, double patience_s, json_t **message,
                   bool *timed_out, char reason[WORKER_REASON_BYTES], struct error *error)
{
    int64_t start = clock_ns();
    int64_t until = start + (int64_t)(patience_s * 1e9);
    struct channel *channel = &device->worker.channel;
    *timed_out = false;
    device->killed = false;
    device->deadline_ns = start + (int64_t)(timeout_s * 1e9);
    if (patience_s <= 0 || patience_s >= timeout_s)
        until = device->deadline_ns;
    for (;;) {
        int status = channel_next(channel, message, error);
        device->took_s = (double)(clock_ns() - start) * 1e-9;
        if (status != 0)
            return status;
        status = pool_serve(device->pool, channel->in, until, false, error);
        if (status < 0)
            return status;
        if (status == 0 && until < device->deadline_ns) {
            start_spare(device);
            until = device->deadline_ns;
            continue;
        }
        if (status == 0) {
            *timed_out = true;
            if (!worker_stop(&device->worker))
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
            device->killed = worker_bury(&device->worker, reason);
            return 0;
        }
    }
}

int device_expect(const json_t *message, const char *event, struct error *error)
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

int device_new(struct device **device, int ordinal, struct pool *pool, struct error *error)
{
    struct device *new = alloc_zeroed(1, sizeof *new);
    new->pool = pool;
    (void)snprintf(new->ordinal, sizeof new->ordinal, "%d", ordinal);
    int status = worker_start(&new->worker, "device", new->ordinal, error);
    if (status != 0) {
        free(new);
        new = NULL;
    }
    *device = new;
    return status;
}

void device_free(struct device *device)
{
    if (device == NULL)
        return;
    worker_end(&device->worker);
    spare_clear(&device->spare);
    hangs_release(&device->hangs);
    while (device->trial_count > 0)
        json_decref(device->trials[--device->trial_count]);
    free(device);
}

/* Waits for the greeting, starting the worker again where it died before it. */
static int await_greeting(struct device *device, struct error *error)
{
    char reason[WORKER_REASON_BYTES];
    bool timed_out;
    json_t *message = NULL;
    for (int attempt = 0; !device->greeted; attempt++) {
        int status = 0;
        if (device->worker.pid == 0)
            status = worker_start(&device->worker, "device", device->ordinal, error);
        if (status == 0)
            status = device_receive(device, worker_timeout_s(READY_TIMEOUT_S), 0, &message,
                                    &timed_out, reason, error);
        if (status == 0 && attempt + 1 >= START_FAILURES)
            return error_set(error, ERROR_WORKER, "the device worker %s before it was ready",
                             reason);
        if (status < 0)
            return status;
        if (status == 0)
            continue;
        status = device_expect(message, "ready", error);
        if (status == 0)
            status = gpu_from_json(json_object_get(message, "gpu"), &device->gpu, error);
        json_decref(message);
        if (status != 0)
            return status;
        device->greeted = true;
    }
    return 0;
}

int device_gpu(struct device *device, struct gpu *gpu, struct error *error)
{
    int status = await_greeting(device, error);
    *gpu = device->gpu;
    return status;
}

int64_t device_member(const json_t *reply, const char *key)
{
    return json_integer_value(json_object_get(reply, key));
}

int device_read_numbers(const json_t *array, double **values, size_t *count)
{
    size_t index;
    json_t *number;
    json_array_foreach((json_t *)(uintptr_t)array, index, number) * ARRAY_APPEND(*values, *count) =
        json_number_value(number);
    return 0;
}

/*
 * Sends the open request to a worker that has greeted and takes its reply; as device_receive(). A
 * request that cannot be sent is no error here: why the worker is gone shows in what it has sent,
 * or in its end.
 */
static int try_open(struct device *device, json_t **reply, char reason[WORKER_REASON_BYTES],
                    struct error *error)
{
    bool timed_out;
    int status = await_greeting(device, error);
    if (status != 0)
        return status;
    json_t *message = open_message(&device->request);
    if (message == NULL)
        return error_set(error, ERROR_CONFIG, "path '%s' is not UTF-8; rename the file",
                         device->request.template_path);
    (void)channel_send(&device->worker.channel, message, NULL);
    status = device_receive(device, worker_timeout_s(OPEN_TIMEOUT_S), 0, reply, &timed_out, reason,
                            error);
    device->greeted = status != 0;
    return status;
}

/* Opens device->request; the empty kernel's median time, if wanted. A worker that dies of it gets
 * one successor. */
static int open_again(struct device *device, double *empty_ns, struct error *error)
{
    char reason[WORKER_REASON_BYTES];
    json_t *reply = NULL;
    int status = try_open(device, &reply, reason, error);
    if (status == 0)
        status = try_open(device, &reply, reason, error);
    if (status == 0)
        return error_set(error, ERROR_WORKER, "the device worker %s while it prepared the problem",
                         reason);
    if (status < 0)
        return status;
    status = device_expect(reply, "opened", error);
    device->roomy = device_member(reply, "needs_bytes") + SPARE_ROOM_BYTES <=
                    device_member(reply, "free_bytes");
    if (status == 0 && empty_ns != NULL) {
        double *samples = NULL;
        size_t count = 0;
        (void)device_read_numbers(json_object_get(reply, "empty_ns"), &samples, &count);
        *empty_ns = count > 0 ? statistics_median(samples, count) : 0;
        free(samples);
    }
    json_decref(reply);
    return status;
}

int device_open(struct device *device, const struct device_request *request, double *empty_ns,
                struct error *error)
{
    while (device->trial_count > 0) /* of a problem that was given up */
        json_decref(device->trials[--device->trial_count]);
    spare_clear(&device->spare);
    device->request = *request;
    device->slowest_s = 0;
    device->watched = (struct watched){0};
    device->readings = 0;
    device->empty_batch_ns = 0;
    device->retakes = 0;
    int status = open_again(device, empty_ns, error);
    device->open = status == 0;
    return status;
}

/*
 * The spare, if there is one, becomes the worker: 1 with the problem open; 0 where it is still to be
 * opened, by the spare or, if that is no good, by another one; or an error. That its context works
 * is tried now: it may have gone with the other one's.
 */
static int promote_spare(struct device *device, struct error *error)
{
    char reason[WORKER_REASON_BYTES];
    bool timed_out;
    json_t *message;
    const char *const events[] = {"ready", "opened", "waited"};
    if (device->spare.worker.pid == 0)
        return 0;
    bool opens = device->spare.opens;
    device->worker = spare_take(&device->spare);
    (void)channel_send(&device->worker.channel, json_pack("{s:s}", "do", "wait"), NULL);
    for (size_t i = 0; i < 3; i++) {
        if (i == 1 && !opens)
            continue;
        int status =
            device_receive(device, worker_timeout_s(i == 0 ? READY_TIMEOUT_S : OPEN_TIMEOUT_S), 0,
                           &message, &timed_out, reason, error);
        if (status < 0)
            return status;
        if (status == 0 || device_expect(message, events[i], NULL) != 0) {
            json_decref(message);
            worker_stop(&device->worker);
            return 0;
        }
        json_decref(message);
    }
    device->greeted = true;
    return opens;
}

/* Opens the problem that was open before. What the last worker held may not be free yet, although
 * that has ended: a driver may clear memory first. */
static int reopen(struct device *device, struct error *error)
{
    int status = open_again(device, NULL, error);
    for (int i = 1; i < MEMORY_TRIES && status == ERROR_MEMORY; i++) {
        status = pool_serve(device->pool, -1, clock_ns() + MEMORY_PAUSE_NS, false, error);
        if (status >= 0)
            status = open_again(device, NULL, error);
    }
    return status;
}

int device_replace(struct device *device, struct error *error)
{
    worker_stop(&device->worker);
    device->greeted = false;
    device->losses++;
    int status = promote_spare(device, error);
    status = status == 0 ? reopen(device, error) : status < 0 ? status : 0;
    if (device->trial_count == 0)
        hangs_idle(&device->hangs, clock_ns());
    for (size_t i = 0; i < device->trial_count && status == 0; i++)
        (void)channel_send(&device->worker.channel, json_incref(device->trials[i]), NULL);
    return status;
}

int device_await_repair(struct device *device, struct error *error)
{
    char reason[WORKER_REASON_BYTES];
    bool timed_out;
    json_t *message;
    int status = device_receive(device, worker_timeout_s(OPEN_TIMEOUT_S), 0, &message, &timed_out,
                                reason, error);
    if (status < 0)
        return status;
    bool repaired = status > 0 && device_expect(message, "repaired", NULL) == 0;
    if (status > 0)
        json_decref(message);
    return repaired ? 0 : device_replace(device, error);
}
