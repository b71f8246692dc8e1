#include "device.h"

#include "alloc.h"
#include "clock.h"
#include "statistics.h"
#include "worker.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

enum {
    READY_TIMEOUT_S = 60,
    OPEN_TIMEOUT_S = 120, /* references are slow by design */
    LOAD_TIMEOUT_S = 60,
    START_FAILURES = 3,
    RETAKES = 16, /* of throttled samples; each reading without throttling gives one back */
    RETAKE_PAUSE_NS = 60000000, /* longer than a reading of the watch is good for */
    KILL_LIMIT = 3,             /* in a row, from outside; then the variant is to blame after all */
};

struct device {
    struct worker worker;
    struct pool *pool;
    char ordinal[16];
    bool greeted;
    struct gpu gpu;
    bool open;
    struct device_request request; /* of the open problem, to open it again */
    double slowest_s;              /* run so far */
    json_t *trials[DEVICE_TRIALS]; /* sent and not answered, the oldest first */
    size_t trial_count;
    unsigned losses;
    bool killed;            /* the last worker that died was killed from outside */
    unsigned kills;         /* of that kind since the last reply */
    struct watched watched; /* of the open problem; sm_clock_mhz is the sum of `readings` */
    unsigned readings;
    unsigned retakes;
    char unwatched[256];
};

/* -- messages ------------------------------------------------------------------------------------
 */

/*
 * The worker's next message: returns 1 with it; 0 where the worker died or passed the deadline,
 * with `reason` set and the worker buried; or an error.
 */
static int receive(struct device *device, double timeout_s, json_t **message, bool *timed_out,
                   char reason[WORKER_REASON_BYTES], struct error *error)
{
    int64_t deadline = clock_ns() + (int64_t)(timeout_s * 1e9);
    struct channel *channel = &device->worker.channel;
    *timed_out = false;
    device->killed = false;
    for (;;) {
        int status = channel_next(channel, message, error);
        if (status != 0)
            return status;
        status = pool_serve(device->pool, channel->in, deadline, false, error);
        if (status < 0)
            return status;
        if (status == 0) {
            *timed_out = true;
            worker_stop(&device->worker);
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

static int expect_event(const json_t *message, const char *event, struct error *error)
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
    worker_stop(&device->worker);
    while (device->trial_count > 0)
        json_decref(device->trials[--device->trial_count]);
    free(device);
}

/* Waits for the greeting, starting the worker again where it died before it. */
static int await_greeting(struct device *device, struct error *error)
{
    char reason[WORKER_REASON_BYTES];
    bool timed_out;
    json_t *message;
    for (int attempt = 0; !device->greeted; attempt++) {
        int status = 0;
        if (device->worker.pid == 0)
            status = worker_start(&device->worker, "device", device->ordinal, error);
        if (status == 0)
            status = receive(device, worker_timeout_s(READY_TIMEOUT_S), &message, &timed_out,
                             reason, error);
        if (status == 0 && attempt + 1 >= START_FAILURES)
            return error_set(error, ERROR_WORKER, "the device worker %s before it was ready",
                             reason);
        if (status < 0)
            return status;
        if (status == 0)
            continue;
        status = expect_event(message, "ready", error);
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

static int read_numbers(const json_t *array, double **values, size_t *count)
{
    size_t index;
    json_t *number;
    json_array_foreach((json_t *)(uintptr_t)array, index, number) * ARRAY_APPEND(*values, *count) =
        json_number_value(number);
    return 0;
}

/*
 * Sends the open request to a worker that has greeted and takes its reply; as receive(). A request
 * that cannot be sent is no error here: why the worker is gone shows in what it has sent, or in its
 * end.
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
    status = receive(device, worker_timeout_s(OPEN_TIMEOUT_S), reply, &timed_out, reason, error);
    device->greeted = status != 0;
    return status;
}

/* Opens device->request; the empty kernel's median time, if wanted. A worker that dies of it gets
 * one successor. */
static int open_again(struct device *device, double *empty_ns, struct error *error)
{
    char reason[WORKER_REASON_BYTES];
    json_t *reply;
    int status = try_open(device, &reply, reason, error);
    if (status == 0)
        status = try_open(device, &reply, reason, error);
    if (status == 0)
        return error_set(error, ERROR_WORKER, "the device worker %s while it prepared the problem",
                         reason);
    if (status < 0)
        return status;
    status = expect_event(reply, "opened", error);
    if (status == 0 && empty_ns != NULL) {
        double *samples = NULL;
        size_t count = 0;
        (void)read_numbers(json_object_get(reply, "empty_ns"), &samples, &count);
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
    device->request = *request;
    device->slowest_s = 0;
    device->watched = (struct watched){0};
    device->readings = 0;
    device->retakes = 0;
    int status = open_again(device, empty_ns, error);
    device->open = status == 0;
    return status;
}

/* A worker that is lost is replaced at once, with the same problem open and the same trials queued.
 */
static int replace(struct device *device, struct error *error)
{
    worker_stop(&device->worker);
    device->greeted = false;
    device->losses++;
    int status = open_again(device, NULL, error);
    for (size_t i = 0; i < device->trial_count && status == 0; i++)
        (void)channel_send(&device->worker.channel, json_incref(device->trials[i]), NULL);
    return status;
}

unsigned device_losses(const struct device *device)
{
    return device->losses;
}

/* -- calls about a variant -----------------------------------------------------------------------
 */

static void set_answer(struct device_answer *answer, enum outcome outcome, const char *reason)
{
    answer->outcome = outcome;
    answer->again = false;
    answer->entry[0] = '\0';
    (void)snprintf(answer->reason, sizeof answer->reason, "%s", reason);
}

/* {"event":"failed",…}: returns whether it is one, and fills the answer. */
static bool take_failure(const json_t *reply, struct device_answer *answer, bool *lost)
{
    const char *event = json_string_value(json_object_get(reply, "event"));
    const char *name = json_string_value(json_object_get(reply, "outcome"));
    const char *reason = json_string_value(json_object_get(reply, "reason"));
    if (event == NULL || strcmp(event, "failed") != 0)
        return false;
    int outcome = name != NULL ? outcome_from_name(name) : -1;
    set_answer(answer, outcome >= 0 ? (enum outcome)outcome : OUTCOME_FAULT,
               reason != NULL ? reason : "");
    *lost = json_is_true(json_object_get(reply, "lost"));
    return true;
}

static void forget_oldest_trial(struct device *device)
{
    json_decref(device->trials[0]);
    device->trial_count--;
    memmove(device->trials, device->trials + 1, device->trial_count * sizeof *device->trials);
}

/* A worker has died or passed its deadline: the variant's outcome, and a successor. */
static int take_loss(struct device *device, bool timed_out, const char *reason,
                     struct device_answer *answer, struct error *error)
{
    bool again = device->killed && ++device->kills < KILL_LIMIT;
    if (again)
        answer->again = true;
    else
        set_answer(answer, timed_out ? OUTCOME_TIMEOUT : OUTCOME_FAULT, reason);
    if (device->trial_count > 0 && !again)
        forget_oldest_trial(device); /* its successor gets only those behind it */
    return replace(device, error);
}

/*
 * The reply to the request sent longest ago, which is NULL where the variant is at fault: `answer`
 * says how. A worker that passes the deadline gives a timeout, one that dies a fault, unless it was
 * killed from outside.
 */
static int take_reply(struct device *device, double timeout_s, const char *event, json_t **reply,
                      struct device_answer *answer, struct error *error)
{
    char reason[WORKER_REASON_BYTES];
    bool timed_out;
    bool lost = false;
    json_t *message;
    *reply = NULL;
    set_answer(answer, OUTCOME_MEASURED, "");
    int status = receive(device, timeout_s, &message, &timed_out, reason, error);
    if (status < 0)
        return status;
    if (status == 0)
        return take_loss(device, timed_out, reason, answer, error);
    device->kills = 0;
    if (device->trial_count > 0)
        forget_oldest_trial(device);
    if (take_failure(message, answer, &lost)) {
        json_decref(message);
        return lost ? replace(device, error) : 0;
    }
    status = expect_event(message, event, error);
    if (status == 0)
        *reply = message;
    else
        json_decref(message);
    return status;
}

/* One request and its reply. */
static int call(struct device *device, json_t *request, double timeout_s, const char *event,
                json_t **reply, struct device_answer *answer, struct error *error)
{
    /* a worker that is gone shows in the reply */
    (void)channel_send(&device->worker.channel, request, NULL);
    return take_reply(device, timeout_s, event, reply, answer, error);
}

static int64_t member(const json_t *reply, const char *key)
{
    return json_integer_value(json_object_get(reply, key));
}

static void take_figures(const json_t *reply, struct result *result)
{
    struct figures *figures = &result->figures;
    figures->registers = (int)member(reply, "registers");
    figures->stack_bytes = member(reply, "stack_bytes");
    figures->static_shared_bytes = member(reply, "static_shared_bytes");
    figures->dynamic_shared_bytes = member(reply, "dynamic_shared_bytes");
    figures->block_threads = (int)member(reply, "block_threads");
    figures->grid_blocks = member(reply, "grid_blocks");
    figures->blocks_per_sm = (int)member(reply, "blocks_per_sm");
    result->bytes = json_number_value(json_object_get(reply, "bytes"));
    result->operations = json_number_value(json_object_get(reply, "operations"));
}

static void take_loaded(const json_t *reply, struct result *result, struct device_answer *answer)
{
    const char *entry = json_string_value(json_object_get(reply, "entry"));
    take_figures(reply, result);
    (void)snprintf(answer->entry, sizeof answer->entry, "%s", entry != NULL ? entry : "");
}

int device_load(struct device *device, int64_t id, const char *cubin,
                const struct bindings *parameters, struct result *result,
                struct device_answer *answer, struct error *error)
{
    json_t *reply;
    json_t *request = json_pack("{s:s, s:I, s:s, s:o}", "do", "load", "id", (json_int_t)id, "cubin",
                                cubin, "parameters", bindings_to_json(parameters));
    int status =
        call(device, request, worker_timeout_s(LOAD_TIMEOUT_S), "loaded", &reply, answer, error);
    if (reply != NULL)
        take_loaded(reply, result, answer);
    json_decref(reply);
    return status;
}

static void note_run(struct device *device, const json_t *reply)
{
    double run_s = (double)member(reply, "run_ns") * 1e-9;
    device->slowest_s = run_s > device->slowest_s ? run_s : device->slowest_s;
}

/* Ten times the slowest run seen, and at least what the sweep says. */
static double launch_timeout(const struct device *device)
{
    double scaled = 10 * device->slowest_s;
    double stated = device->request.launch_timeout_s;
    return scaled > stated ? scaled : stated;
}

int device_verify(struct device *device, int64_t id, int runs, struct device_answer *answer,
                  struct error *error)
{
    json_t *reply;
    json_t *request =
        json_pack("{s:s, s:I, s:i}", "do", "verify", "id", (json_int_t)id, "runs", runs);
    int status = call(device, request, launch_timeout(device), "verified", &reply, answer, error);
    if (reply != NULL)
        note_run(device, reply);
    json_decref(reply);
    return status;
}

static void note_reading(struct device *device, const json_t *reply)
{
    struct watched *watched = &device->watched;
    int others = (int)member(reply, "other_processes");
    watched->known = true;
    watched->sm_clock_mhz += (double)member(reply, "sm_clock_mhz");
    device->readings++;
    if (others > watched->other_processes)
        watched->other_processes = others;
    if (json_object_get(reply, "throttled") == NULL && device->retakes > 0)
        device->retakes--;
}

/* Notes what the watch saw; whether the samples are to be taken again goes to `answer->again`. */
static int take_watch(struct device *device, const json_t *reply, struct device_answer *answer,
                      struct error *error)
{
    struct watched *watched = &device->watched;
    const char *unwatched = json_string_value(json_object_get(reply, "unwatched"));
    size_t samples = json_array_size(json_object_get(reply, "samples_ns"));
    if (unwatched != NULL)
        (void)snprintf(device->unwatched, sizeof device->unwatched, "%s", unwatched);
    if (json_object_get(reply, "sm_clock_mhz") != NULL)
        note_reading(device, reply);
    if (!json_is_true(json_object_get(reply, "throttled")))
        return 0;
    if (device->retakes >= RETAKES) {
        watched->throttled_samples += samples;
        return 0;
    }
    device->retakes++;
    watched->dropped_samples += samples;
    answer->again = true;
    return pool_serve(device->pool, -1, clock_ns() + RETAKE_PAUSE_NS, false, error);
}

struct watched device_watched(const struct device *device)
{
    struct watched watched = device->watched;
    if (device->readings > 0)
        watched.sm_clock_mhz /= device->readings;
    return watched;
}

const char *device_unwatched(const struct device *device)
{
    return device->unwatched[0] != '\0' ? device->unwatched : NULL;
}

int device_measure(struct device *device, int64_t id, size_t count, size_t copy,
                   double **samples_ns, size_t *sample_count, struct device_answer *answer,
                   struct error *error)
{
    json_t *reply;
    json_t *request = json_pack("{s:s, s:I, s:I, s:I}", "do", "measure", "id", (json_int_t)id,
                                "samples", (json_int_t)count, "copy", (json_int_t)copy);
    double timeout_s = launch_timeout(device) + 2 * device->slowest_s * (double)count;
    int status = call(device, request, timeout_s, "measured", &reply, answer, error);
    if (reply != NULL)
        status = take_watch(device, reply, answer, error);
    if (reply != NULL && !answer->again)
        (void)read_numbers(json_object_get(reply, "samples_ns"), samples_ns, sample_count);
    json_decref(reply);
    return status;
}

int device_unload(struct device *device, int64_t id, struct error *error)
{
    json_t *reply;
    struct device_answer answer;
    int status = call(device, json_pack("{s:s, s:I}", "do", "unload", "id", (json_int_t)id),
                      worker_timeout_s(LOAD_TIMEOUT_S), "unloaded", &reply, &answer, error);
    json_decref(reply);
    return status;
}

/* -- trials --------------------------------------------------------------------------------------
 */

void device_trial_send(struct device *device, const char *cubin, const struct bindings *parameters,
                       size_t samples, double enough_ns)
{
    json_t *request = json_pack("{s:s, s:s, s:o, s:I, s:f}", "do", "trial", "cubin", cubin,
                                "parameters", bindings_to_json(parameters), "samples",
                                (json_int_t)samples, "enough_ns", enough_ns);
    device->trials[device->trial_count++] = json_incref(request);
    (void)channel_send(&device->worker.channel, request, NULL);
}

int device_trial_take(struct device *device, struct result *result, struct trial_times *times,
                      struct device_answer *answer, struct error *error)
{
    json_t *reply;
    int status;
    *times = (struct trial_times){0};
    do
        status = take_reply(device, launch_timeout(device), "tried", &reply, answer, error);
    while (status == 0 && answer->again);
    if (reply == NULL)
        return status;
    take_loaded(reply, result, answer);
    status = take_watch(device, reply, answer, error);
    if (!answer->again)
        (void)read_numbers(json_object_get(reply, "samples_ns"), &result->samples_ns,
                           &result->sample_count);
    note_run(device, reply);
    times->load_ns = member(reply, "load_ns");
    times->verify_ns = member(reply, "run_ns") + member(reply, "again_ns");
    times->measure_ns = member(reply, "measure_ns");
    json_decref(reply);
    return status;
}

/* -- all GPUs ------------------------------------------------------------------------------------
 */

int device_list(struct gpu **gpus, size_t *count, struct error *error)
{
    struct worker worker;
    json_t *message;
    *gpus = NULL;
    *count = 0;
    int status = worker_start(&worker, "device", "-1", error);
    if (status != 0)
        return status;
    struct pollfd readable = {.fd = worker.channel.in, .events = POLLIN};
    if (poll(&readable, 1, (int)(1000 * worker_timeout_s(READY_TIMEOUT_S))) == 0) {
        worker_stop(&worker);
        return error_set(error, ERROR_DEVICE, "the driver does not answer within %g s",
                         worker_timeout_s(READY_TIMEOUT_S));
    }
    status = channel_receive(&worker.channel, &message, error);
    if (status == 0) {
        char reason[WORKER_REASON_BYTES];
        worker_bury(&worker, reason);
        return error_set(error, ERROR_WORKER, "the device worker %s", reason);
    }
    if (status == 1) {
        size_t index;
        json_t *object;
        status = expect_event(message, "devices", error);
        json_array_foreach(json_object_get(message, "gpus"), index, object) if (status == 0)
            status = gpu_from_json(object, ARRAY_APPEND(*gpus, *count), error);
        json_decref(message);
    }
    worker_stop(&worker);
    return status;
}
