#include "tune/device_client.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/json_text.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LOAD_TIMEOUT_S = 60,
    PREPARE_TIMEOUT_S = 120, /* references are slow by design */
    RETAKES = 16, /* of throttled samples; each reading without throttling gives one back */
    RETAKE_PAUSE_NS = 60000000, /* longer than a reading of the GPU's state is valid */
};

/* --- replies --- */

/* A kernel that writes out of bounds may write into its worker's memory, so no reply (gpu/device_worker.h)
 * is taken on trust: one that makes no sense must not become a result. */

enum { MOST_RUNS = 100 };               /* more than a batch has */
#define MOST_INTEGER 9007199254740992.0 /* 2^53: those below are exact as doubles */

/* X(member of struct kernel_stats, its type, its most), in the order of "stats"; bytes and operations
 * follow. */
#define STATS(X)                                                                                   \
    X(registers, int, INT_MAX)                                                                     \
    X(stack_bytes, int64_t, MOST_INTEGER)                                                          \
    X(static_shared_bytes, int64_t, MOST_INTEGER)                                                  \
    X(dynamic_shared_bytes, int64_t, MOST_INTEGER)                                                 \
    X(block_threads, int, INT_MAX)                                                                 \
    X(grid_blocks, int64_t, MOST_INTEGER)                                                          \
    X(blocks_per_sm, int, INT_MAX)

/* What the answer to each request about a variant has. */
static const struct kind {
    const char *request;
    const char *event;
    size_t durations;
    bool stats;
    bool samples;
} kinds[] = {
    {.request = "load", .event = "loaded", .stats = true},
    {.request = "verify", .event = "verified", .durations = 1},
    {.request = "measure", .event = "measured", .samples = true},
    {.request = "unload", .event = "unloaded"},
    {.request = "trial",
     .event = "tried",
     .durations = DEVICE_DURATIONS,
     .stats = true,
     .samples = true},
};

/* A whole number; 0 if there is none. */
static int64_t integer_of(const json_t *message, const char *key)
{
    return json_integer_value(json_object_get(message, key));
}

static double number_of(const json_t *message, const char *key)
{
    return json_number_value(json_object_get(message, key));
}

static bool is_event(const json_t *message, const char *event)
{
    return strcmp(json_text_member(message, "event"), event) == 0;
}

static bool has_failed(const json_t *reply)
{
    return is_event(reply, "failed");
}

/* All numbers of its lists, in this order; NaN for what is not a number. A new array. */
static double *collect(const json_t *reply, size_t *count)
{
    static const char *const lists[] = {"took_ns", "stats", "sampled", "samples_ns"};
    double *numbers = NULL;
    size_t index;
    json_t *number;
    *count = 0;
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        json_array_foreach(json_object_get(reply, lists[i]), index, number)
        {
            *ARRAY_APPEND(numbers, *count) =
                json_is_number(number) ? json_number_value(number) : NAN;
        }
    return numbers;
}

/* The numbers that are left to be read. */
struct reader {
    const double *next;
    size_t left;
};

/* NaN if there is none. */
static double take(struct reader *reader)
{
    if (reader->left == 0)
        return NAN;
    reader->left--;
    return *reader->next++;
}

static bool is_integer(double number, double least, double most)
{
    return number >= least && number <= most && number == floor(number);
}

static bool is_number(double number)
{
    return number >= 0 && isfinite(number);
}

static const char *read_durations(struct reader *reader, size_t count, struct device_reply *read)
{
    for (size_t i = 0; i < count; i++) {
        double took_ns = take(reader);
        if (!is_integer(took_ns, 0, MOST_INTEGER))
            return "took_ns";
        read->took_ns[i] = (int64_t)took_ns;
    }
    return NULL;
}

static const char *read_stats(struct reader *reader, struct device_reply *read)
{
    double number;
#define X(member, type, most)                                                                      \
    number = take(reader);                                                                         \
    if (!is_integer(number, 0, most))                                                              \
        return #member;                                                                            \
    read->stats.member = (type)number;
    STATS(X)
#undef X
    read->bytes = take(reader);
    if (!is_number(read->bytes))
        return "bytes";
    read->operations = take(reader);
    return is_number(read->operations) ? NULL : "operations";
}

static const char *read_samples(struct reader *reader, const json_t *request,
                                struct device_reply *read)
{
    double runs = take(reader);
    double enough_ns = number_of(request, "enough_ns");
    size_t most = (size_t)integer_of(request, "samples");
    bool may_be_batched =
        json_is_true(json_object_get(request, "batched")) || number_of(request, "short_ns") > 0;
    if (!is_integer(runs, 1, may_be_batched ? MOST_RUNS : 1))
        return "runs";
    read->runs = (int)runs;
    read->single_ns = take(reader);
    if (!is_number(read->single_ns))
        return "single_ns";
    read->empty_batch_ns = take(reader);
    if (!is_number(read->empty_batch_ns))
        return "empty_batch_ns";
    read->samples_ns = reader->next;
    read->sample_count = reader->left;
    for (size_t i = 0; i < read->sample_count; i++)
        if (!is_number(read->samples_ns[i]) || read->samples_ns[i] == 0)
            return "samples_ns";
    /* one sample is enough of a variant that is far too slow */
    size_t least = enough_ns > 0 && read->single_ns > enough_ns ? 1 : most;
    return read->sample_count >= least && read->sample_count <= most ? NULL : "samples_ns";
}

static const char *read_kind(const struct kind *kind, const json_t *request, const json_t *reply,
                             struct device_reply *read)
{
    const char *flaw = NULL;
    if (!is_event(reply, kind->event))
        return "event";
    struct reader reader = {.left = 0};
    reader.next = read->numbers = collect(reply, &reader.left);
    flaw = read_durations(&reader, kind->durations, read);
    if (kind->stats && flaw == NULL)
        flaw = read_stats(&reader, read);
    if (kind->stats && flaw == NULL) {
        read->entry = json_string_value(json_object_get(reply, "entry"));
        flaw = read->entry != NULL ? NULL : "entry";
    }
    if (kind->samples && flaw == NULL)
        flaw = read_samples(&reader, request, read);
    return flaw;
}

/* Reads a reply. Returns the name of what an answer to `request` cannot have as it is; NULL if there is
 * nothing. */
static const char *read_reply(struct device_reply *read, const json_t *request, const json_t *reply)
{
    const char *what = json_text_member(request, "do");
    free(read->numbers);
    *read = (struct device_reply){0};
    if (has_failed(reply)) { /* with an outcome that is a failure */
        int outcome = outcome_from_name(json_text_member(reply, "outcome"));
        bool failed = outcome >= 0 && outcome != OUTCOME_MEASURED && outcome != OUTCOME_COMPILED &&
                      outcome != OUTCOME_DUPLICATE;
        return failed ? NULL : "outcome";
    }
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(what, kinds[i].request) == 0)
            return read_kind(&kinds[i], request, reply, read);
    return "event";
}

/* --- the worker --- */

int device_client_new(struct device_client **client, struct node *node, int ordinal,
                      struct event_loop *loop, struct error *error)
{
    struct device_client *new = alloc_zeroed(1, sizeof *new);
    int status = device_process_init(&new->worker, node, ordinal, loop, error);
    if (status != 0) {
        device_client_free(new);
        new = NULL;
    }
    *client = new;
    return status;
}

void device_client_free(struct device_client *client)
{
    if (client == NULL)
        return;
    device_process_release(&client->worker);
    json_decref(client->differences);
    free(client->read.numbers);
    free(client);
}

void device_client_kill(struct device_client *client)
{
    worker_kill(&client->worker.process);
}

void device_client_end_begin(const struct device_client *client)
{
    worker_end_begin(&client->worker.process);
}

/* What a call returns. */
static int finish(struct device_client *client, int status)
{
    client->failed = status < 0 && status != ERROR_INTERRUPTED && !client->worker.loop->failed;
    return status;
}

int device_client_gpu(struct device_client *client, struct gpu *gpu, struct error *error)
{
    int status = device_process_greet(&client->worker, error);
    *gpu = client->worker.gpu;
    return finish(client, status);
}

void device_client_open_begin(struct device_client *client, const struct opened_problem *problem)
{
    device_process_clear(&client->worker);
    client->worker.problem = *problem;
    client->worker.opened_s = 0;
    client->slowest_s = 0;
    client->conditions = (struct gpu_conditions){0};
    client->readings = 0;
    client->empty_batch_ns = 0;
    client->not_prepared = false;
    client->retakes = 0;
    client->others = 0;
    device_process_open_begin(&client->worker);
}

int device_client_opening(const struct device_client *client, int64_t *overdue_ns)
{
    double timeout_s = device_process_open_timeout_s(&client->worker);
    *overdue_ns = client->worker.opening_ns + (int64_t)(timeout_s * 1e9);
    return client->worker.opening_ns > 0 ? client->worker.process.channel.in : -1;
}

int device_client_open(struct device_client *client, const struct opened_problem *problem,
                       double *empty_ns, struct error *error)
{
    if (client->worker.opening_ns == 0)
        device_client_open_begin(client, problem);
    return finish(client, device_process_open(&client->worker, empty_ns, error));
}

/* --- calls about a variant --- */

static void set_answer(struct device_client_answer *answer, enum outcome outcome,
                       const char *reason)
{
    *answer = (struct device_client_answer){.outcome = outcome};
    (void)snprintf(answer->reason, sizeof answer->reason, "%s", reason);
}

static void forget_oldest(struct device_client *client)
{
    struct device_process *worker = &client->worker;
    if (worker->request_count == 1)
        client->busy_ns += clock_ns() - client->busy_since_ns;
    json_decref(worker->requests[0]);
    worker->request_count--;
    memmove(worker->requests, worker->requests + 1,
            worker->request_count * sizeof *worker->requests);
}

/* The worker died, passed its deadline or lied: the variant's outcome, and a successor. */
static int take_loss(struct device_client *client, enum outcome outcome, const char *reason,
                     struct device_client_answer *answer, struct error *error)
{
    bool again = client->worker.killed && ++client->kills < WORKER_KILL_LIMIT;
    if (again) {
        answer->again = true;
        return device_process_replace(&client->worker, error);
    }
    client->kills = 0;
    set_answer(answer, outcome, reason);
    answer->passing = client->worker.killed;
    forget_oldest(client); /* the successor gets only those behind it */
    return device_process_replace(&client->worker, error);
}

/* {"event":"failed"}: the variant's outcome, and what the worker needs after it. */
static int take_failure(struct device_client *client, const json_t *reply,
                        struct device_client_answer *answer, struct error *error)
{
    const char *outcome = json_string_value(json_object_get(reply, "outcome"));
    const char *reason = json_string_value(json_object_get(reply, "reason"));
    set_answer(answer, (enum outcome)outcome_from_name(outcome), reason != NULL ? reason : "");
    answer->passing = json_is_true(json_object_get(reply, "short"));
    answer->doubtful = json_is_true(json_object_get(reply, "doubtful"));
    answer->damaging = answer->outcome == OUTCOME_WRONG_RESULT && !answer->doubtful &&
                       json_is_true(json_object_get(reply, "lost"));
    answer->unfit = json_is_true(json_object_get(reply, "unfit"));
    answer->unreadable = json_is_true(json_object_get(reply, "unreadable"));
    if (answer->unreadable)
        return error_set(error, ERROR_RECORD, "%s", answer->reason);
    json_decref(client->differences);
    client->differences = json_incref(json_object_get(reply, "differences"));
    if (json_is_true(json_object_get(reply, "lost")))
        return device_process_replace(&client->worker, error);
    if (json_is_true(json_object_get(reply, "repairs")))
        return device_process_await_repair(&client->worker, error);
    return 0;
}

/* Returns 1; 0, with the worker killed and a reason, if its reply makes no sense; or the error that
 * the reply is. */
static int check_reply(struct device_client *client, const json_t *reply,
                       char reason[WORKER_REASON_BYTES], struct error *error)
{
    int status = message_error(reply, error);
    if (status != 0)
        return status;
    const char *flaw = read_reply(&client->read, client->worker.requests[0], reply);
    if (flaw == NULL)
        return 1;
    (void)snprintf(reason, WORKER_REASON_BYTES, "sent an invalid reply: '%s'", flaw);
    return device_process_kill(&client->worker, error);
}

/* While the worker makes what the variant is compared with, the variant's deadline does not run. A
 * worker that does not come to an end of that is an error: of the template, not of the variant. */
static int await_prepared(struct device_client *client, struct error *error)
{
    char reason[WORKER_REASON_BYTES];
    bool timed_out;
    json_t *message = NULL;
    int status = device_process_receive(&client->worker, worker_timeout_s(PREPARE_TIMEOUT_S),
                                        &message, &timed_out, reason, error);
    if (status == 1 && !is_event(message, "prepared")) {
        status = device_process_kill(&client->worker, error);
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

/* As device_process_receive(), with the time from the last preparation on. */
static int receive(struct device_client *client, double timeout_s, json_t **message,
                   bool *timed_out, char reason[WORKER_REASON_BYTES], struct error *error)
{
    for (;;) {
        int status =
            device_process_receive(&client->worker, timeout_s, message, timed_out, reason, error);
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
static bool gpu_has_failed(struct device_client *client, const json_t *reply, enum outcome *outcome,
                           char reason[WORKER_REASON_BYTES])
{
    const char *text = json_string_value(json_object_get(reply, "reason"));
    const char *name = json_string_value(json_object_get(reply, "outcome"));
    if (!has_failed(reply) || !json_is_true(json_object_get(reply, "gpu_failed")))
        return false;
    client->worker.killed = true;
    *outcome = (enum outcome)outcome_from_name(name);
    (void)snprintf(reason, WORKER_REASON_BYTES, "%s", text != NULL ? text : "");
    return true;
}

/*
 * The reply to the oldest request under way; NULL if the variant is at fault or to be asked for
 * again, as `answer` says. A worker that passes the deadline is a timeout; one that dies, unless it
 * was killed from outside, or whose reply makes no sense is a fault.
 */
static int receive_reply(struct device_client *client, double timeout_s, json_t **reply,
                         struct device_client_answer *answer, struct error *error)
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
    /* a worker that replaces a killed one loads the variants before it gets the same request again, so a
     * load that succeeds does not show that the killing has ended */
    if (strcmp(json_text_member(client->worker.requests[0], "do"), "load") != 0)
        client->kills = 0;
    forget_oldest(client);
    if (!has_failed(message)) {
        const char *note = json_string_value(json_object_get(message, "reason"));
        set_answer(answer, OUTCOME_MEASURED, note != NULL ? note : "");
        *reply = message;
        return 0;
    }
    status = take_failure(client, message, answer, error);
    json_decref(message);
    return status;
}

static int take_reply(struct device_client *client, double timeout_s, json_t **reply,
                      struct device_client_answer *answer, struct error *error)
{
    int status = finish(client, receive_reply(client, timeout_s, reply, answer, error));
    /* if no worker takes the place of one that a variant cost, the GPU may have failed, and not the variant; not if the
     * run is interrupted, or if others have taken the memory */
    if (status != 0 && status != ERROR_INTERRUPTED && status != ERROR_MEMORY)
        answer->passing = true;
    return status;
}

/* Sends a request about a variant, and queues it. */
static void send_request(struct device_client *client, json_t *request)
{
    struct device_process *worker = &client->worker;
    if (worker->request_count == 0)
        client->busy_since_ns = clock_ns();
    worker->requests[worker->request_count++] = request;
    device_process_ask(worker, request);
}

/* One that runs none. */
static int call(struct device_client *client, json_t *request, json_t **reply,
                struct device_client_answer *answer, struct error *error)
{
    send_request(client, request);
    return take_reply(client, worker_timeout_s(LOAD_TIMEOUT_S), reply, answer, error);
}

static void store_loaded(const struct device_reply *read, struct result *result,
                         struct device_client_answer *answer)
{
#define X(member, type, most) result->stats.member = read->stats.member;
    STATS(X)
#undef X
    result->bytes = read->bytes;
    result->operations = read->operations;
    (void)snprintf(answer->entry, sizeof answer->entry, "%s", read->entry);
}

int device_client_load(struct device_client *client, int64_t id, const char *cubin,
                       const struct bindings *parameters, struct result *result,
                       struct device_client_answer *answer, struct error *error)
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

static void note_runs(struct device_client *client, int runs)
{
    double run_s = (double)client->read.took_ns[DEVICE_TOOK_RUN] * 1e-9 / runs;
    client->slowest_s = run_s > client->slowest_s ? run_s : client->slowest_s;
}

/* Ten times the slowest run seen, and at least what the sweep says. */
static double launch_timeout(const struct device_client *client)
{
    double scaled = 10 * client->slowest_s;
    double stated = client->worker.problem.launch_timeout_s;
    return scaled > stated ? scaled : stated;
}

static void store_differences(const json_t *list, struct device_difference *differences,
                              size_t *count)
{
    size_t most = *count;
    size_t index;
    json_t *item;
    *count = 0;
    json_array_foreach(list, index, item)
    {
        struct device_difference *difference = &differences[*count];
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

/* `run_s` is what one of the unchecked runs may take. */
static int verify(struct device_client *client, int64_t id, const struct device_client_check *check,
                  double run_s, struct device_client_answer *answer, struct error *error)
{
    json_t *reply;
    json_int_t differences = check->count != NULL ? (json_int_t)*check->count : 0;
    json_decref(client->differences);
    client->differences = NULL;
    send_request(client, json_pack("{s:s, s:I, s:i, s:i, s:i, s:b, s:b, s:I, s:s*}", "do", "verify",
                                   "id", (json_int_t)id, "unchecked_runs", check->unchecked_runs,
                                   "runs", check->runs, "data_set", (int)check->data_set, "last",
                                   (int)check->last, "careful", (int)check->careful, "differences",
                                   differences, "dump", check->dump));
    double timeout_s = launch_timeout(client) + 2 * client->slowest_s * check->runs +
                       run_s * check->unchecked_runs;
    int status = take_reply(client, timeout_s, &reply, answer, error);
    if (reply != NULL)
        note_runs(client, check->unchecked_runs + check->runs);
    json_decref(reply);
    return status;
}

int device_client_verify(struct device_client *client, int64_t id,
                         const struct device_client_check *check,
                         struct device_client_answer *answer, struct error *error)
{
    struct device_client_check first = *check;
    first.unchecked_runs = 0;
    int status = verify(client, id, &first, 0, answer, error);
    if (check->count != NULL)
        store_differences(client->differences, check->differences, check->count);
    if (check->unchecked_runs == 0 || status != 0 || answer->again ||
        answer->outcome != OUTCOME_MEASURED)
        return status;
    /* these runs were checked, too, and as in unchecked ones, the buffers were reset before each */
    double run_s = (double)client->read.took_ns[DEVICE_TOOK_RUN] * 1e-9 / check->runs;
    return verify(client, id, check, 2 * run_s, answer, error);
}

/* Notes what was seen on the GPU; throttled samples are to be taken again, after a pause. */
static int note_conditions(struct device_client *client, const json_t *reply,
                           struct device_client_answer *answer, struct error *error)
{
    struct gpu_conditions *conditions = &client->conditions;
    const char *monitor_error = json_string_value(json_object_get(reply, "monitor_error"));
    size_t samples = client->read.sample_count;
    if (monitor_error != NULL)
        (void)snprintf(client->monitor_error, sizeof client->monitor_error, "%s", monitor_error);
    if (json_object_get(reply, "sm_clock_mhz") != NULL) {
        client->others = (int)integer_of(reply, "other_processes");
        conditions->known = true;
        conditions->sm_clock_mhz += (double)integer_of(reply, "sm_clock_mhz");
        client->readings++;
        if (client->others > conditions->other_processes)
            conditions->other_processes = client->others;
        if (json_object_get(reply, "throttled") == NULL && client->retakes > 0)
            client->retakes--;
    }
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

const char *device_client_disturbance(const struct device_client *client)
{
    if (client->others > 0)
        return "another process is using it";
    return client->retakes >= RETAKES ? "it is throttled" : NULL;
}

void device_client_forgive(struct device_client *client)
{
    client->others = 0;
    client->retakes = client->retakes >= RETAKES ? RETAKES - 1 : client->retakes;
}

int device_client_restart(struct device_client *client, struct error *error)
{
    return finish(client, device_process_restart(&client->worker, error));
}

struct gpu_conditions device_client_conditions(const struct device_client *client)
{
    struct gpu_conditions conditions = client->conditions;
    if (client->readings > 0)
        conditions.sm_clock_mhz /= client->readings;
    return conditions;
}

/* Appends the reply's samples; `*runs` is of how many runs each is the mean. */
static void take_samples(struct device_client *client, double **samples_ns, size_t *count,
                         int *runs)
{
    const struct device_reply *read = &client->read;
    for (size_t i = 0; i < read->sample_count; i++)
        *ARRAY_APPEND(*samples_ns, *count) = read->samples_ns[i];
    *runs = read->runs;
    if (*runs > 1)
        client->empty_batch_ns = read->empty_batch_ns;
}

void device_client_measure_send(struct device_client *client, int64_t id,
                                const struct device_client_sampling *sampling)
{
    send_request(client,
                 json_pack("{s:s, s:I, s:I, s:I, s:b, s:I, s:b, s:i}", "do", "measure", "id",
                           (json_int_t)id, "samples", (json_int_t)sampling->count, "copy",
                           (json_int_t)sampling->copy, "batched", (int)sampling->batched,
                           "check_after", (json_int_t)sampling->check_after, "careful",
                           (int)sampling->careful, "data_set", (int)sampling->data_set));
}

int device_client_measure_take(struct device_client *client, double **samples_ns,
                               size_t *sample_count, int *runs, struct device_client_answer *answer,
                               struct error *error)
{
    json_t *reply;
    const json_t *request = client->worker.requests[0];
    bool batched = json_is_true(json_object_get(request, "batched"));
    double launches = (double)integer_of(request, "samples") * (batched ? MOST_RUNS : 1);
    double timeout_s = launch_timeout(client) + 2 * client->slowest_s * launches;
    *runs = 0;
    int status = take_reply(client, timeout_s, &reply, answer, error);
    if (reply != NULL)
        status = note_conditions(client, reply, answer, error);
    if (reply != NULL && !answer->again)
        take_samples(client, samples_ns, sample_count, runs);
    json_decref(reply);
    return status;
}

int device_client_unload(struct device_client *client, int64_t id, struct error *error)
{
    json_t *reply;
    struct device_client_answer answer;
    int status = call(client, json_pack("{s:s, s:I}", "do", "unload", "id", (json_int_t)id), &reply,
                      &answer, error);
    json_decref(reply);
    return status;
}

/* --- trials --- */

void device_client_trial_send(struct device_client *client, const char *cubin,
                              const struct bindings *parameters,
                              const struct device_client_trial *trial)
{
    send_request(client, json_pack("{s:s, s:s, s:o, s:I, s:f, s:f, s:f}", "do", "trial", "cubin",
                                   cubin, "parameters", bindings_to_json(parameters), "samples",
                                   (json_int_t)trial->samples, "hopeless_ns", trial->hopeless_ns,
                                   "enough_ns", trial->enough_ns, "short_ns", trial->short_ns));
}

int device_client_trial_take(struct device_client *client, struct result *result,
                             struct trial_times *times, struct device_client_answer *answer,
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
    const struct device_reply *read = &client->read;
    if (!answer->again && read->runs != result->runs)
        result->sample_count = 0; /* samples of one kind only */
    if (!answer->again)
        take_samples(client, &result->samples_ns, &result->sample_count, &result->runs);
    answer->single_ns = read->single_ns;
    note_runs(client, 1);
    times->load_ns = read->took_ns[DEVICE_TOOK_LOAD];
    times->verify_ns = read->took_ns[DEVICE_TOOK_RUN];
    times->measure_ns = read->took_ns[DEVICE_TOOK_MEASURE];
    json_decref(reply);
    return status;
}
