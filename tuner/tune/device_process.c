#include "tune/device_client.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/read_file.h"
#include "base/statistics.h"
#include "template/template.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    START_FAILURES = 3,
    SLOW_NS = 10000000,
    REOPEN_TIMEOUT_S = 10, /* of a problem that takes no time to open; */
    REOPEN_FACTOR = 10,    /* so many times as long as it took, in addition */
    KILL_TIMEOUT_S = 30,
    KILL_PAUSE_NS = 500000,
    MEMORY_TRIES = 20, /* of a worker that opens the problem again */
    MEMORY_PAUSE_NS = 100000000,
};

/* --- messages --- */

/* An entry of the cubin cache has its key as its name. */
static const char *key_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

void device_process_ask(struct device_process *worker, json_t *request)
{
    json_t *message = json_copy(request);
    const char *path = json_string_value(json_object_get(request, "cubin"));
    char *bytes = NULL;
    size_t count = 0;
    if (path != NULL) {
        (void)read_file(path, &bytes, &count, NULL); /* if it cannot be read, the worker says so */
        json_object_set_new(message, "cubin", json_string(key_of(path)));
    }
    worker_send(&worker->process, message, bytes, count);
    free(bytes);
}

/* Sends an entry of the cubin cache to be kept, and adds its key to the message. If it cannot be read, the
 * worker says so. */
static void add_entry(struct device_process *worker, const char *path, const char *name,
                      json_t *message)
{
    char *bytes = NULL;
    size_t count = 0;
    if (read_file(path, &bytes, &count, NULL) == 0)
        worker_keep(&worker->process, key_of(path), bytes, count);
    free(bytes);
    json_object_set_new(message, name, json_string(key_of(path)));
}

static void add_text(struct device_process *worker, const char *text, json_t *list)
{
    char hash[HASH_BYTES];
    hash_of(text, strlen(text), hash);
    worker_keep(&worker->process, hash, text, strlen(text));
    json_array_append_new(list, json_string(hash));
}

/* The request that opens the worker's problem; NULL if the template's path is not UTF-8. */
static json_t *open_message(struct device_process *worker)
{
    const struct opened_problem *problem = &worker->problem;
    json_t *message = json_pack("{s:s, s:s, s:O*, s:o, s:b}", "do", "open", "template",
                                problem->template->path, "data", problem->data, "problem",
                                bindings_to_json(problem->values), "cold", (int)problem->cold);
    if (message == NULL)
        return NULL;
    const struct template *template = problem->template;
    json_t *texts = json_array(); /* what it was read from, but for the headers of its source */
    add_text(worker, template->ini.text, texts);
    for (size_t i = 0; i < template->source.unit_count; i++)
        add_text(worker, template->source.files[i].text, texts);
    json_object_set_new(message, "texts", texts);
    add_entry(worker, problem->support_cubin, "support", message);
    const char *path;
    json_t *hash;
    json_object_foreach((json_t *)(uintptr_t)problem->data, path, hash)
    {
        /* to another machine; a file that cannot be read is not there, either: the worker says so */
        FILE *file = node_is_here(worker->node) ? NULL : open_regular(path);
        if (file == NULL)
            continue;
        worker_send_file(&worker->process, json_string_value(hash), fileno(file));
        (void)fclose(file);
    }
    if (problem->reference_cubin != NULL)
        add_entry(worker, problem->reference_cubin, "reference", message);
    return message;
}

int device_process_kill(struct device_process *worker, struct error *error)
{
    struct worker *process = &worker->process;
    int64_t end_ns = clock_ns() + (int64_t)KILL_TIMEOUT_S * 1000000000;
    int status = 0;
    worker_kill(process);
    while (worker->loop->running != NULL && status == 0 && clock_ns() < end_ns &&
           !worker_has_ended(process)) /* other tasks go on meanwhile */
        status = event_loop_wait(worker->loop, -1, clock_ns() + KILL_PAUSE_NS, NULL);
    if (clock_ns() < end_ns && worker_stop(process))
        return 0;
    return error_set(error, ERROR_DEVICE,
                     "the killed GPU worker did not exit; the driver may be hung: reset the GPU or "
                     "restart the machine");
}

/* Waits until there is something to read: 1; 0 at the deadline; or an error. Only of a slow worker
 * (`*slow`) is it noted how long it waited for a processor: that takes as long as a fast reply. */
static int await_input(struct device_process *worker, bool *slow, struct error *error)
{
    int in = worker->process.channel.in;
    if (!*slow) {
        int status = event_loop_wait(worker->loop, in, clock_ns() + SLOW_NS, error);
        if (status != 0)
            return status;
        (void)worker_starved_ns(&worker->process);
        *slow = true;
    }
    return event_loop_wait(worker->loop, in, worker->deadline_ns, error);
}

/* Kills a worker that has passed its deadline. One that was stopped counts as killed from outside. */
static int give_up_waiting(struct device_process *worker, double timeout_s, bool *timed_out,
                           char reason[WORKER_REASON_BYTES], struct error *error)
{
    worker->killed = worker_is_stopped(&worker->process);
    *timed_out = !worker->killed;
    if (worker->killed)
        (void)snprintf(reason, WORKER_REASON_BYTES, "was stopped by a signal");
    else
        (void)snprintf(reason, WORKER_REASON_BYTES, "did not end within %.3g s", timeout_s);
    return device_process_kill(worker, error);
}

int device_process_receive(struct device_process *worker, double timeout_s, json_t **message,
                           bool *timed_out, char reason[WORKER_REASON_BYTES], struct error *error)
{
    struct channel *channel = &worker->process.channel;
    *timed_out = false;
    worker->killed = false;
    worker->deadline_ns = clock_ns() + (int64_t)(timeout_s * 1e9);
    bool slow = false;
    for (;;) {
        int status = channel_next(channel, message, NULL);
        if (status > 0)
            return status;
        if (status < 0) {
            (void)snprintf(reason, WORKER_REASON_BYTES, "sent an invalid message");
            return device_process_kill(worker, error);
        }
        status = await_input(worker, &slow, error);
        int64_t starved_ns = status == 0 ? worker_starved_ns(&worker->process) : 0;
        if (starved_ns >= WORKER_STARVED_NS) {
            worker->deadline_ns = clock_ns() + starved_ns;
            continue;
        }
        if (status == 0 && worker_was_asleep(worker->deadline_ns)) {
            worker->deadline_ns = clock_ns() + (int64_t)(timeout_s * 1e9);
            continue;
        }
        if (status == 0)
            return give_up_waiting(worker, timeout_s, timed_out, reason, error);
        if (status < 0)
            return status;
        status = channel_fill(channel, NULL);
        if (status < 0) { /* as when the kernel has no memory: that counts as killed from outside */
            worker->killed = true;
            (void)snprintf(reason, WORKER_REASON_BYTES, "could not be read from");
            return device_process_kill(worker, error);
        }
        if (status == 0) {
            worker->killed = worker_reap(&worker->process, reason);
            return 0;
        }
    }
}

/* Returns 0 if the message is this event, else the error that it is, or ERROR_WORKER. */
static int expect(const json_t *message, const char *event, struct error *error)
{
    int status = message_error(message, error);
    if (status != 0)
        return status;
    const char *actual = json_string_value(json_object_get(message, "event"));
    if (actual == NULL || strcmp(actual, event) != 0)
        return error_set(error, ERROR_WORKER, "the GPU worker answered '%s' instead of '%s'",
                         actual != NULL ? actual : "", event);
    return 0;
}

/* --- starting --- */

static int start(struct device_process *worker, struct error *error)
{
    return worker_start(&worker->process, worker->node, "device", worker->ordinal, error);
}

int device_process_init(struct device_process *worker, struct node *node, int ordinal,
                        struct event_loop *loop, struct error *error)
{
    *worker = (struct device_process){.loop = loop, .node = node};
    (void)snprintf(worker->ordinal, sizeof worker->ordinal, "%d", ordinal);
    return start(worker, error);
}

int device_process_restart(struct device_process *worker, struct error *error)
{
    device_process_clear(worker);
    worker->greeted = false;
    worker->opening_ns = 0;
    worker->losses++;
    return device_process_kill(worker, error);
}

void device_process_clear(struct device_process *worker)
{
    while (worker->request_count > 0)
        json_decref(worker->requests[--worker->request_count]);
}

void device_process_release(struct device_process *worker)
{
    worker_end(&worker->process);
    device_process_clear(worker);
}

/* Returns 1; 0 with the `reason` if the worker is lost; or an error. */
static int await_greeting(struct device_process *worker, char reason[WORKER_REASON_BYTES],
                          struct error *error)
{
    bool timed_out;
    struct gpu gpu;
    json_t *message;
    int status = device_process_receive(worker, worker_timeout_s(DEVICE_READY_TIMEOUT_S), &message,
                                        &timed_out, reason, error);
    if (status != 1)
        return status;
    status = expect(message, "ready", error);
    if (status == 0)
        status = gpu_from_json(json_object_get(message, "gpu"), &gpu, error);
    json_decref(message);
    if (status == 0 && worker->gpu.uuid[0] != '\0' && strcmp(worker->gpu.uuid, gpu.uuid) != 0)
        status = error_set(error, ERROR_DEVICE, "GPU %s is '%s' now, and was '%s'", worker->ordinal,
                           gpu.uuid, worker->gpu.uuid); /* the driver may have lost another one */
    if (status == 0)
        worker->gpu = gpu;
    return status != 0 ? status : 1;
}

int device_process_greet(struct device_process *worker, struct error *error)
{
    char reason[WORKER_REASON_BYTES];
    if (!worker_is_running(
            &worker->process)) /* it was killed, and nobody waits for what it was asked */
        worker->greeted = false;
    for (int failures = 0; !worker->greeted; failures++) {
        int status = 0;
        if (failures == START_FAILURES)
            return error_set(error, ERROR_WORKER, "the GPU worker %s before it was ready", reason);
        if (!worker_is_running(&worker->process))
            status = start(worker, error);
        if (status == 0)
            status = await_greeting(worker, reason, error);
        if (status < 0)
            return status;
        worker->greeted = status == 1;
    }
    return 0;
}

double device_process_open_timeout_s(const struct device_process *worker)
{
    double again_s = REOPEN_TIMEOUT_S + REOPEN_FACTOR * worker->opened_s;
    bool again = worker->problem.shared && worker->opened_s > 0 && again_s < DEVICE_OPEN_TIMEOUT_S;
    return worker_timeout_s(again ? again_s : DEVICE_OPEN_TIMEOUT_S);
}

void device_process_open_begin(struct device_process *worker)
{
    bool ready = worker->greeted && worker_is_running(&worker->process);
    json_t *message = ready ? open_message(worker) : NULL;
    if (message == NULL) /* device_process_open() does it, or says why it cannot be done */
        return;
    worker_send(&worker->process, message, NULL, 0);
    worker->opening_ns = clock_ns();
}

/* Asks a worker to open the problem, unless that has been done, and takes its reply: as
 * device_process_receive(). */
static int try_open(struct device_process *worker, json_t **reply, char reason[WORKER_REASON_BYTES],
                    struct error *error)
{
    bool timed_out;
    int status = device_process_greet(worker, error);
    if (status == 0 && worker->opening_ns == 0)
        device_process_open_begin(worker);
    if (status == 0 && worker->opening_ns == 0)
        status = error_set(error, ERROR_CONFIG, "path '%s' is not UTF-8; rename the file",
                           worker->problem.template->path);
    if (status != 0)
        return status;
    double since_s = (double)(clock_ns() - worker->opening_ns) * 1e-9;
    double left_s = device_process_open_timeout_s(worker) - since_s;
    status =
        device_process_receive(worker, left_s > 0 ? left_s : 0, reply, &timed_out, reason, error);
    worker->greeted = status != 0;
    if (status == 1 && worker->opened_s <= 0)
        worker->opened_s = (double)(clock_ns() - worker->opening_ns) * 1e-9;
    worker->opening_ns = 0;
    return status;
}

static int take_opened(const json_t *reply, double *empty_ns, struct error *error)
{
    double *samples = NULL;
    size_t count = 0;
    size_t index;
    json_t *time;
    int status = expect(reply, "opened", error);
    if (status != 0)
        return status;
    json_array_foreach(json_object_get(reply, "empty_ns"), index, time)
    {
        *ARRAY_APPEND(samples, count) = json_number_value(time); /* 0 of what is not a number */
        if (!(samples[count - 1] > 0))
            status = ERROR_WORKER;
    }
    if (status != 0 || count == 0)
        status = error_set(error, ERROR_WORKER, "the GPU worker sent an invalid reply: 'empty_ns'");
    else if (empty_ns != NULL)
        *empty_ns = statistics_median(samples, count);
    free(samples);
    return status;
}

int device_process_open(struct device_process *worker, double *empty_ns, struct error *error)
{
    char reason[WORKER_REASON_BYTES];
    json_t *reply = NULL;
    int status = try_open(worker, &reply, reason, error);
    if (status == 0)
        status = try_open(worker, &reply, reason, error);
    if (status == 0)
        return error_set(error, ERROR_WORKER, "the GPU worker %s while it prepared the problem",
                         reason);
    if (status < 0)
        return status;
    status = take_opened(reply, empty_ns, error);
    json_decref(reply);
    if (status == ERROR_DEVICE) /* its context may be lost; the next problem gets another worker */
        (void)device_process_kill(worker, NULL);
    return status;
}

/* --- a successor --- */

int device_process_replace(struct device_process *worker, struct error *error)
{
    int status = device_process_kill(worker, error);
    worker->greeted = false;
    worker->losses++;
    size_t kept = 0; /* of trials: other requests have the `id` of a variant that was loaded */
    for (size_t i = 0; i < worker->request_count; i++)
        if (json_object_get(worker->requests[i], "id") != NULL)
            json_decref(worker->requests[i]);
        else
            worker->requests[kept++] = worker->requests[i];
    worker->request_count = kept;
    if (status == 0)
        status = device_process_open(worker, NULL, error);
    /* the last worker's memory may not be free at once: a driver may clear it first */
    for (int i = 1; i < MEMORY_TRIES && status == ERROR_MEMORY; i++) {
        status = event_loop_wait(worker->loop, -1, clock_ns() + MEMORY_PAUSE_NS, error);
        if (status >= 0)
            status = device_process_open(worker, NULL, error);
    }
    for (size_t i = 0; i < worker->request_count && status == 0; i++)
        device_process_ask(worker, worker->requests[i]);
    return status;
}

int device_process_await_repair(struct device_process *worker, struct error *error)
{
    char reason[WORKER_REASON_BYTES];
    bool timed_out;
    json_t *message;
    int status = device_process_receive(worker, worker_timeout_s(DEVICE_OPEN_TIMEOUT_S), &message,
                                        &timed_out, reason, error);
    if (status < 0)
        return status;
    bool repaired = status > 0 && expect(message, "repaired", NULL) == 0;
    if (status > 0)
        json_decref(message);
    return repaired ? 0 : device_process_replace(worker, error);
}
