#include "tune/gpu_client.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "tune/gpu_reply.h"
#include "tune/gpu_worker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LOAD_TIMEOUT_S = 60,
    PREPARE_TIMEOUT_S = 120, /* references are slow by design */
    RETAKES = 16, /* of throttled samples; each reading without throttling gives one back */
    RETAKE_PAUSE_NS = 60000000, /* longer than a reading of the GPU's state is valid */
};

struct gpu_client {
    struct gpu_worker worker;
    double slowest_s; /* run of the open problem so far */
    unsigned kills;   /* from outside, since the last reply to a request that was not a load */
    struct gpu_conditions conditions; /* sm_clock_mhz is the sum of `readings` */
    unsigned readings;
    unsigned retakes;
    int others; /* processes on the GPU, by the last reading */
    char monitor_error[256];
    struct gpu_reply read; /* the last reply about a variant */
    json_t *differences;   /* of the last variant that failed; NULL: none */
    bool not_prepared;     /* the expected results of a variant of the open problem */
    bool failed;           /* the last call, and not because of the event loop */
    double empty_batch_ns; /* of the open problem; 0: not known */
    int64_t busy_since_ns; /* it has had requests from then on */
    int64_t busy_ns;       /* before that */
};

/* --- the worker --- */

int gpu_client_new(struct gpu_client **client, struct node *node, int ordinal,
                   struct event_loop *loop, struct error *error)
{
    struct gpu_client *new = alloc_zeroed(1, sizeof *new);
    int status = gpu_worker_init(&new->worker, node, ordinal, loop, error);
    if (status != 0) {
        gpu_client_free(new);
        new = NULL;
    }
    *client = new;
    return status;
}

void gpu_client_free(struct gpu_client *client)
{
    if (client == NULL)
        return;
    gpu_worker_release(&client->worker);
    json_decref(client->differences);
    free(client->read.numbers);
    free(client);
}

void gpu_client_kill(struct gpu_client *client)
{
    worker_kill(&client->worker.process);
}

void gpu_client_end_begin(const struct gpu_client *client)
{
    worker_end_begin(&client->worker.process);
}

/* What a call returns. */
static int finish(struct gpu_client *client, int status)
{
    client->failed = status < 0 && status != ERROR_INTERRUPTED && !client->worker.loop->failed;
    return status;
}

bool gpu_client_failed(const struct gpu_client *client)
{
    return client->failed;
}

int gpu_client_gpu(struct gpu_client *client, struct gpu *gpu, struct error *error)
{
    int status = gpu_worker_greet(&client->worker, error);
    *gpu = client->worker.gpu;
    return finish(client, status);
}

void gpu_client_open_begin(struct gpu_client *client, const struct gpu_problem *problem)
{
    gpu_worker_clear(&client->worker);
    client->worker.problem = *problem;
    client->worker.opened_s = 0;
    client->slowest_s = 0;
    client->conditions = (struct gpu_conditions){0};
    client->readings = 0;
    client->empty_batch_ns = 0;
    client->not_prepared = false;
    client->retakes = 0;
    client->others = 0;
    gpu_worker_open_begin(&client->worker);
}

int gpu_client_opening(const struct gpu_client *client, int64_t *overdue_ns)
{
    double timeout_s = gpu_worker_open_timeout_s(&client->worker);
    *overdue_ns = client->worker.opening_ns + (int64_t)(timeout_s * 1e9);
    return client->worker.opening_ns > 0 ? client->worker.process.channel.in : -1;
}

int gpu_client_open(struct gpu_client *client, const struct gpu_problem *problem, double *empty_ns,
                    struct error *error)
{
    if (client->worker.opening_ns == 0)
        gpu_client_open_begin(client, problem);
    return finish(client, gpu_worker_open(&client->worker, empty_ns, error));
}

bool gpu_client_not_prepared(const struct gpu_client *client)
{
    return client->not_prepared;
}

unsigned gpu_client_losses(const struct gpu_client *client)
{
    return client->worker.losses;
}

double gpu_client_busy_s(const struct gpu_client *client)
{
    return (double)client->busy_ns * 1e-9;
}

/* --- calls about a variant --- */

static void set_answer(struct gpu_client_answer *answer, enum outcome outcome, const char *reason)
{
    answer->outcome = outcome;
    answer->again = false;
    answer->passing = false;
    answer->doubtful = false;
    answer->unfit = false;
    answer->unreadable = false;
    answer->single_ns = 0;
    answer->entry[0] = '\0';
    (void)snprintf(answer->reason, sizeof answer->reason, "%s", reason);
}

static void forget_oldest(struct gpu_client *client)
{
    struct gpu_worker *worker = &client->worker;
    if (worker->request_count == 1)
        client->busy_ns += clock_ns() - client->busy_since_ns;
    gpu_request_release(&worker->requests[0]);
    worker->request_count--;
    memmove(worker->requests, worker->requests + 1,
            worker->request_count * sizeof *worker->requests);
}

/* The worker died, passed its deadline or lied: the variant's outcome, and a successor. */
static int take_loss(struct gpu_client *client, enum outcome outcome, const char *reason,
                     struct gpu_client_answer *answer, struct error *error)
{
    bool again = client->worker.killed && ++client->kills < WORKER_KILL_LIMIT;
    if (again) {
        answer->again = true;
        return gpu_worker_replace(&client->worker, error);
    }
    client->kills = 0;
    set_answer(answer, outcome, reason);
    answer->passing = client->worker.killed;
    forget_oldest(client); /* the successor gets only those behind it */
    return gpu_worker_replace(&client->worker, error);
}

/* {"event":"failed"}: the variant's outcome, and what the worker needs after it. */
static int take_failure(struct gpu_client *client, const json_t *reply,
                        struct gpu_client_answer *answer, struct error *error)
{
    const char *outcome = json_string_value(json_object_get(reply, "outcome"));
    const char *reason = json_string_value(json_object_get(reply, "reason"));
    set_answer(answer, (enum outcome)outcome_from_name(outcome), reason != NULL ? reason : "");
    answer->passing = json_is_true(json_object_get(reply, "short"));
    answer->doubtful = json_is_true(json_object_get(reply, "doubtful"));
    answer->unfit = json_is_true(json_object_get(reply, "unfit"));
    answer->unreadable = json_is_true(json_object_get(reply, "unreadable"));
    if (answer->unreadable)
        return error_set(error, ERROR_RECORD, "%s", answer->reason);
    json_decref(client->differences);
    client->differences = json_incref(json_object_get(reply, "differences"));
    if (json_is_true(json_object_get(reply, "lost")))
        return gpu_worker_replace(&client->worker, error);
    if (json_is_true(json_object_get(reply, "repairs")))
        return gpu_worker_await_repair(&client->worker, error);
    return 0;
}

/* Returns 1; 0, with the worker killed and a reason, if its reply makes no sense; or the error that
 * the reply is. */
static int check_reply(struct gpu_client *client, const json_t *reply,
                       char reason[WORKER_REASON_BYTES], struct error *error)
{
    int status = message_error(reply, error);
    if (status != 0)
        return status;
    const char *flaw = gpu_reply_read(&client->read, &client->worker.requests[0], reply);
    if (flaw == NULL)
        return 1;
    (void)snprintf(reason, WORKER_REASON_BYTES, "sent an invalid reply: '%s'", flaw);
    return gpu_worker_kill(&client->worker, error);
}

static bool is_event(const json_t *message, const char *event)
{
    const char *actual = json_string_value(json_object_get(message, "event"));
    return actual != NULL && strcmp(actual, event) == 0;
}

/* While the worker makes what the variant is compared with, the variant's deadline does not run. A
 * worker that does not come to an end of that is an error: of the template, not of the variant. */
static int await_prepared(struct gpu_client *client, struct error *error)
{
    char reason[WORKER_REASON_BYTES];
    bool timed_out;
    json_t *message = NULL;
    int status = gpu_worker_receive(&client->worker, worker_timeout_s(PREPARE_TIMEOUT_S), &message,
                                    &timed_out, reason, error);
    if (status == 1 && !is_event(message, "prepared")) {
        status = gpu_worker_kill(&client->worker, error);
        (void)snprintf(reason, sizeof reason, "sent an invalid reply");
    }
    json_decref(message);
    if (status != 0)
        return status;
    if (client->worker.killed && client->kills + 1 < WORKER_KILL_LIMIT)
        return 0;
    client->not_prepared = true;
    return error_set(error, ERROR_WORKER,
                     "the GPU worker %s while it prepared the expected results of a variant",
                     reason);
}

/* As gpu_worker_receive(), with the time from the last preparation on. */
static int receive(struct gpu_client *client, double timeout_s, json_t **message, bool *timed_out,
                   char reason[WORKER_REASON_BYTES], struct error *error)
{
    for (;;) {
        int status =
            gpu_worker_receive(&client->worker, timeout_s, message, timed_out, reason, error);
        if (status != 1 || !is_event(*message, "preparing"))
            return status;
        json_decref(*message);
        *message = NULL;
        *timed_out = false;
        status = await_prepared(client, error);
        if (status != 1)
            return status;
    }
}

/* Whether the GPU has failed, as with an uncorrectable ECC error: that is not the variant's fault, and
 * the same as if somebody had killed the worker. `*outcome` is the variant's if it goes on. */
static bool gpu_has_failed(struct gpu_client *client, const json_t *reply, enum outcome *outcome,
                           char reason[WORKER_REASON_BYTES])
{
    const char *text = json_string_value(json_object_get(reply, "reason"));
    const char *name = json_string_value(json_object_get(reply, "outcome"));
    if (!gpu_reply_failed(reply) || !json_is_true(json_object_get(reply, "gpu_failed")))
        return false;
    client->worker.killed = true;
    *outcome = (enum outcome)outcome_from_name(name);
    (void)snprintf(reason, WORKER_REASON_BYTES, "%s", text != NULL ? text : "");
    return true;
}

/* A worker that replaces a killed one loads the variants before it gets the same request again, so a
 * load that succeeds does not show that the killing has ended. */
static bool is_load(const struct gpu_request *request)
{
    return strcmp(request->what, "load") == 0;
}

/*
 * The reply to the oldest request under way; NULL if the variant is at fault or to be asked for
 * again, as `answer` says. A worker that passes the deadline is a timeout; one that dies, unless it
 * was killed from outside, or whose reply makes no sense is a fault.
 */
static int receive_reply(struct gpu_client *client, double timeout_s, json_t **reply,
                         struct gpu_client_answer *answer, struct error *error)
{
    char reason[WORKER_REASON_BYTES];
    bool timed_out;
    json_t *message;
    *reply = NULL;
    set_answer(answer, OUTCOME_MEASURED, "");
    int status = receive(client, timeout_s, &message, &timed_out, reason, error);
    enum outcome lost = timed_out ? OUTCOME_TIMEOUT : OUTCOME_FAULT;
    if (status == 1)
        status = check_reply(client, message, reason, error);
    if (status == 1 && gpu_has_failed(client, message, &lost, reason))
        status = 0;
    if (status != 1) {
        json_decref(message);
        return status < 0 ? status : take_loss(client, lost, reason, answer, error);
    }
    if (!is_load(&client->worker.requests[0]))
        client->kills = 0;
    forget_oldest(client);
    if (!gpu_reply_failed(message)) {
        *reply = message;
        return 0;
    }
    status = take_failure(client, message, answer, error);
    json_decref(message);
    return status;
}

static int take_reply(struct gpu_client *client, double timeout_s, json_t **reply,
                      struct gpu_client_answer *answer, struct error *error)
{
    return finish(client, receive_reply(client, timeout_s, reply, answer, error));
}

/* Sends a request about a variant, and queues it. */
static void queue_request(struct gpu_client *client, struct gpu_request request)
{
    if (client->worker.request_count == 0)
        client->busy_since_ns = clock_ns();
    client->worker.requests[client->worker.request_count++] = request;
    gpu_worker_ask(&client->worker, &request);
}

static void send_request(struct gpu_client *client, json_t *object)
{
    queue_request(client, gpu_request_from(object));
}

/* One that runs none. */
static int call(struct gpu_client *client, json_t *request, json_t **reply,
                struct gpu_client_answer *answer, struct error *error)
{
    send_request(client, request);
    return take_reply(client, worker_timeout_s(LOAD_TIMEOUT_S), reply, answer, error);
}

static void store_loaded(const struct gpu_reply *read, struct result *result,
                         struct gpu_client_answer *answer)
{
    gpu_reply_store_stats(read, result);
    (void)snprintf(answer->entry, sizeof answer->entry, "%s", read->entry);
}

int gpu_client_load(struct gpu_client *client, int64_t id, const char *cubin,
                    const struct bindings *parameters, struct result *result,
                    struct gpu_client_answer *answer, struct error *error)
{
    json_t *reply;
    json_t *request = json_pack("{s:s, s:I, s:s, s:o}", "do", "load", "id", (json_int_t)id, "cubin",
                                cubin, "parameters", bindings_to_json(parameters));
    int status = call(client, request, &reply, answer, error);
    if (reply != NULL)
        store_loaded(&client->read, result, answer);
    json_decref(reply);
    return status;
}

static void note_runs(struct gpu_client *client, int runs)
{
    double run_s = (double)client->read.took_ns[GPU_TOOK_RUN] * 1e-9 / runs;
    client->slowest_s = run_s > client->slowest_s ? run_s : client->slowest_s;
}

/* Ten times the slowest run seen, and at least what the sweep says. */
static double launch_timeout(const struct gpu_client *client)
{
    double scaled = 10 * client->slowest_s;
    double stated = client->worker.problem.launch_timeout_s;
    return scaled > stated ? scaled : stated;
}

static int verify(struct gpu_client *client, int64_t id, const struct gpu_client_check *check,
                  size_t differences, struct gpu_client_answer *answer, struct error *error)
{
    json_t *reply;
    send_request(client, json_pack("{s:s, s:I, s:i, s:i, s:i, s:b, s:I}", "do", "verify", "id",
                                   (json_int_t)id, "unchecked_runs", check->unchecked_runs, "runs",
                                   check->runs, "data_set", (int)check->data_set, "careful",
                                   (int)check->careful, "differences", (json_int_t)differences));
    int all_runs = check->unchecked_runs + check->runs;
    double timeout_s = launch_timeout(client) + 2 * client->slowest_s * all_runs;
    int status = take_reply(client, timeout_s, &reply, answer, error);
    if (reply != NULL)
        note_runs(client, all_runs);
    json_decref(reply);
    return status;
}

int gpu_client_verify(struct gpu_client *client, int64_t id, const struct gpu_client_check *check,
                      struct gpu_client_answer *answer, struct error *error)
{
    return verify(client, id, check, 0, answer, error);
}

static void store_differences(const json_t *list, struct gpu_difference *differences, size_t *count)
{
    size_t most = *count;
    size_t index;
    json_t *item;
    *count = 0;
    json_array_foreach(list, index, item)
    {
        struct gpu_difference *difference = &differences[*count];
        const char *buffer;
        const char *got;
        const char *expected;
        json_int_t element;
        if (*count == most || json_unpack(item, "{s:s, s:I, s:s, s:s}", "buffer", &buffer, "index",
                                          &element, "got", &got, "expected", &expected) != 0)
            return;
        (void)snprintf(difference->buffer, sizeof difference->buffer, "%s", buffer);
        (void)snprintf(difference->got, sizeof difference->got, "%s", got);
        (void)snprintf(difference->expected, sizeof difference->expected, "%s", expected);
        difference->index = (uint64_t)element;
        ++*count;
    }
}

int gpu_client_verify_closely(struct gpu_client *client, int64_t id,
                              const struct gpu_client_check *check,
                              struct gpu_difference *differences, size_t *count,
                              struct gpu_client_answer *answer, struct error *error)
{
    json_decref(client->differences);
    client->differences = NULL;
    int status = verify(client, id, check, *count, answer, error);
    store_differences(client->differences, differences, count);
    return status;
}

static void note_reading(struct gpu_client *client, const json_t *reply)
{
    struct gpu_conditions *conditions = &client->conditions;
    int others = (int)gpu_reply_integer(reply, "other_processes");
    client->others = others;
    conditions->known = true;
    conditions->sm_clock_mhz += (double)gpu_reply_integer(reply, "sm_clock_mhz");
    client->readings++;
    if (others > conditions->other_processes)
        conditions->other_processes = others;
    if (json_object_get(reply, "throttled") == NULL && client->retakes > 0)
        client->retakes--;
}

/* Notes what was seen on the GPU; throttled samples are to be taken again, after a pause. */
static int note_conditions(struct gpu_client *client, const json_t *reply,
                           struct gpu_client_answer *answer, struct error *error)
{
    struct gpu_conditions *conditions = &client->conditions;
    const char *monitor_error = json_string_value(json_object_get(reply, "monitor_error"));
    size_t samples = client->read.sample_count;
    if (monitor_error != NULL)
        (void)snprintf(client->monitor_error, sizeof client->monitor_error, "%s", monitor_error);
    if (json_object_get(reply, "sm_clock_mhz") != NULL)
        note_reading(client, reply);
    if (!json_is_true(json_object_get(reply, "throttled")))
        return 0;
    if (client->retakes >= RETAKES) {
        conditions->throttled_samples += samples;
        return 0;
    }
    client->retakes++;
    conditions->dropped_samples += samples;
    answer->again = true;
    return event_loop_wait(client->worker.loop, -1, clock_ns() + RETAKE_PAUSE_NS, error);
}

const char *gpu_client_disturbance(const struct gpu_client *client)
{
    if (client->others > 0)
        return "another process is using it";
    return client->retakes >= RETAKES ? "it is throttled" : NULL;
}

void gpu_client_forgive(struct gpu_client *client)
{
    client->others = 0;
    client->retakes = client->retakes >= RETAKES ? RETAKES - 1 : client->retakes;
}

int gpu_client_restart(struct gpu_client *client, struct error *error)
{
    return finish(client, gpu_worker_restart(&client->worker, error));
}

struct gpu_conditions gpu_client_conditions(const struct gpu_client *client)
{
    struct gpu_conditions conditions = client->conditions;
    if (client->readings > 0)
        conditions.sm_clock_mhz /= client->readings;
    return conditions;
}

const char *gpu_client_monitor_error(const struct gpu_client *client)
{
    return client != NULL && client->monitor_error[0] != '\0' ? client->monitor_error : NULL;
}

/* Appends the reply's samples; `*runs` is of how many runs each is the mean. */
static void take_samples(struct gpu_client *client, double **samples_ns, size_t *count, int *runs)
{
    const struct gpu_reply *read = &client->read;
    for (size_t i = 0; i < read->sample_count; i++)
        *ARRAY_APPEND(*samples_ns, *count) = read->samples_ns[i];
    *runs = read->runs;
    if (*runs > 1)
        client->empty_batch_ns = read->empty_batch_ns;
}

double gpu_client_empty_batch_ns(const struct gpu_client *client)
{
    return client->empty_batch_ns;
}

void gpu_client_measure_send(struct gpu_client *client, int64_t id,
                             const struct gpu_client_sampling *sampling)
{
    send_request(client,
                 json_pack("{s:s, s:I, s:I, s:I, s:b, s:I, s:b, s:i}", "do", "measure", "id",
                           (json_int_t)id, "samples", (json_int_t)sampling->count, "copy",
                           (json_int_t)sampling->copy, "batched", (int)sampling->batched,
                           "check_after", (json_int_t)sampling->check_after, "careful",
                           (int)sampling->careful, "data_set", (int)sampling->data_set));
}

static double measure_timeout(const struct gpu_client *client)
{
    enum { MOST_RUNS = 100 }; /* more than a batch has */
    const struct gpu_request *request = &client->worker.requests[0];
    double launches = (double)request->samples * (request->batched ? MOST_RUNS : 1);
    return launch_timeout(client) + 2 * client->slowest_s * launches;
}

int gpu_client_measure_take(struct gpu_client *client, double **samples_ns, size_t *sample_count,
                            int *runs, struct gpu_client_answer *answer, struct error *error)
{
    json_t *reply;
    *runs = 0;
    int status = take_reply(client, measure_timeout(client), &reply, answer, error);
    if (reply != NULL)
        status = note_conditions(client, reply, answer, error);
    if (reply != NULL && !answer->again)
        take_samples(client, samples_ns, sample_count, runs);
    json_decref(reply);
    return status;
}

int gpu_client_unload(struct gpu_client *client, int64_t id, struct error *error)
{
    json_t *reply;
    struct gpu_client_answer answer;
    int status = call(client, json_pack("{s:s, s:I}", "do", "unload", "id", (json_int_t)id), &reply,
                      &answer, error);
    json_decref(reply);
    return status;
}

/* --- trials --- */

void gpu_client_trial_send(struct gpu_client *client, const char *cubin,
                           const struct bindings *parameters, const struct gpu_client_trial *trial)
{
    queue_request(client, gpu_request_trial(cubin, parameters, trial));
}

int gpu_client_trial_take(struct gpu_client *client, struct result *result,
                          struct trial_times *times, struct gpu_client_answer *answer,
                          struct error *error)
{
    json_t *reply;
    int status;
    *times = (struct trial_times){0};
    do
        status = take_reply(client, launch_timeout(client), &reply, answer, error);
    while (status == 0 && answer->again);
    if (reply == NULL)
        return status;
    store_loaded(&client->read, result, answer);
    status = note_conditions(client, reply, answer, error);
    const struct gpu_reply *read = &client->read;
    if (!answer->again && read->runs != result->runs)
        result->sample_count = 0; /* samples of one kind only */
    if (!answer->again)
        take_samples(client, &result->samples_ns, &result->sample_count, &result->runs);
    answer->single_ns = read->single_ns;
    note_runs(client, 1);
    times->load_ns = read->took_ns[GPU_TOOK_LOAD];
    times->verify_ns = read->took_ns[GPU_TOOK_RUN] + read->took_ns[GPU_TOOK_AGAIN];
    times->measure_ns = read->took_ns[GPU_TOOK_MEASURE];
    json_decref(reply);
    return status;
}
