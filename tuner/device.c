#include "device.h"

#include "clock.h"
#include "device_link.h"
#include "statistics.h"

#include <stdlib.h>
#include <string.h>

enum {
    LOAD_TIMEOUT_S = 60,
    RETAKES = 16, /* of throttled samples; each reading without throttling gives one back */
    RETAKE_PAUSE_NS = 60000000, /* longer than a reading of the watch is good for */
    KILL_LIMIT = 3,             /* in a row, from outside; then the variant is to blame after all */
};

unsigned device_losses(const struct device *device)
{
    return device->losses;
}

struct hang_times device_hangs(const struct device *device)
{
    const struct hangs *hangs = &device->hangs;
    struct hang_times times = {.count = hangs->count, .recoveries = hangs->recovery_count};
    if (hangs->recovery_count == 0)
        return times;
    times.median_ns = statistics_median(hangs->recoveries_ns, hangs->recovery_count);
    for (size_t i = 0; i < hangs->recovery_count; i++)
        if (hangs->recoveries_ns[i] > times.worst_ns)
            times.worst_ns = hangs->recoveries_ns[i];
    return times;
}

/* -- calls about a variant -----------------------------------------------------------------------
 */

static void set_answer(struct device_answer *answer, enum outcome outcome, const char *reason)
{
    answer->outcome = outcome;
    answer->again = false;
    answer->single_ns = 0;
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
    if (timed_out)
        hangs_add(&device->hangs, device->deadline_ns);
    else
        hangs_failed(&device->hangs);
    if (again)
        answer->again = true;
    else
        set_answer(answer, timed_out ? OUTCOME_TIMEOUT : OUTCOME_FAULT, reason);
    if (device->trial_count > 0 && !again)
        forget_oldest_trial(device); /* its successor gets only those behind it */
    return device_replace(device, error);
}

/*
 * The reply to the request sent longest ago, which is NULL where the variant is at fault: `answer`
 * says how. A worker that passes the deadline gives a timeout, one that dies a fault, unless it was
 * killed from outside.
 */
static int take_reply(struct device *device, double timeout_s, double patience_s, const char *event,
                      json_t **reply, struct device_answer *answer, struct error *error)
{
    char reason[WORKER_REASON_BYTES];
    bool timed_out;
    bool lost = false;
    json_t *message;
    *reply = NULL;
    device->spoilt = false;
    set_answer(answer, OUTCOME_MEASURED, "");
    int status = device_receive(device, timeout_s, patience_s, &message, &timed_out, reason, error);
    if (status < 0)
        return status;
    if (status == 0)
        return take_loss(device, timed_out, reason, answer, error);
    device->kills = 0;
    if (device->trial_count > 0)
        forget_oldest_trial(device);
    bool failed = take_failure(message, answer, &lost);
    bool repairs = json_is_true(json_object_get(message, "repairs"));
    if (!lost && patience_s > 0)
        device->spoilt = spare_settle(&device->spare, device->took_s);
    if (failed) {
        hangs_failed(&device->hangs);
        json_decref(message);
        return lost      ? device_replace(device, error)
               : repairs ? device_await_repair(device, error)
                         : 0;
    }
    status = device_expect(message, event, error);
    if (status == 0)
        *reply = message;
    else
        json_decref(message);
    return status;
}

/* What was measured beside a spare, or found no room there, is to be asked for again. */
static void drop_spoilt(const struct device *device, json_t **reply, struct device_answer *answer)
{
    if (!device->spoilt ||
        (answer->outcome != OUTCOME_MEASURED && answer->outcome != OUTCOME_LAUNCH_ERROR &&
         answer->outcome != OUTCOME_LOAD_ERROR))
        return;
    json_decref(*reply);
    *reply = NULL;
    set_answer(answer, OUTCOME_MEASURED, "");
    answer->again = true;
}

static void send_request(struct device *device, json_t *request)
{
    if (device->spare.gone)
        json_object_set_new(request, "recount", json_true());
    device->spare.gone = false;
    hangs_busy(&device->hangs, clock_ns());
    /* a worker that is gone shows in the reply */
    (void)channel_send(&device->worker.channel, request, NULL);
}

/* One request and its reply. */
static int call(struct device *device, json_t *request, double timeout_s, const char *event,
                json_t **reply, struct device_answer *answer, struct error *error)
{
    send_request(device, request);
    return take_reply(device, timeout_s, 0, event, reply, answer, error);
}

/* One that runs a variant, whose deadline a spare may have to wait for. */
static int call_running(struct device *device, json_t *request, double timeout_s, const char *event,
                        json_t **reply, struct device_answer *answer, struct error *error)
{
    send_request(device, request);
    int status = take_reply(device, timeout_s, spare_patience_s(&device->spare, timeout_s), event,
                            reply, answer, error);
    drop_spoilt(device, reply, answer);
    return status;
}

static void take_figures(const json_t *reply, struct result *result)
{
    struct figures *figures = &result->figures;
    figures->registers = (int)device_member(reply, "registers");
    figures->stack_bytes = device_member(reply, "stack_bytes");
    figures->static_shared_bytes = device_member(reply, "static_shared_bytes");
    figures->dynamic_shared_bytes = device_member(reply, "dynamic_shared_bytes");
    figures->block_threads = (int)device_member(reply, "block_threads");
    figures->grid_blocks = device_member(reply, "grid_blocks");
    figures->blocks_per_sm = (int)device_member(reply, "blocks_per_sm");
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
    double run_s = (double)device_member(reply, "run_ns") * 1e-9;
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
    int status =
        call_running(device, request, launch_timeout(device), "verified", &reply, answer, error);
    if (reply != NULL)
        note_run(device, reply);
    json_decref(reply);
    return status;
}

static void note_reading(struct device *device, const json_t *reply)
{
    struct watched *watched = &device->watched;
    int others = (int)device_member(reply, "other_processes");
    watched->known = true;
    watched->sm_clock_mhz += (double)device_member(reply, "sm_clock_mhz");
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

/* Appends the reply's samples; `*runs` is of how many runs each is the mean. */
static void take_samples(struct device *device, const json_t *reply, double **samples_ns,
                         size_t *count, int *runs)
{
    double empty_ns = json_number_value(json_object_get(reply, "empty_batch_ns"));
    (void)device_read_numbers(json_object_get(reply, "samples_ns"), samples_ns, count);
    *runs = (int)device_member(reply, "runs");
    if (*runs > 1)
        device->empty_batch_ns = empty_ns;
}

double device_empty_batch_ns(const struct device *device)
{
    return device->empty_batch_ns;
}

int device_measure(struct device *device, int64_t id, const struct device_sampling *sampling,
                   double **samples_ns, size_t *sample_count, int *runs,
                   struct device_answer *answer, struct error *error)
{
    enum { MOST_RUNS = 100 }; /* more than a batch has */
    json_t *reply;
    json_t *request = json_pack("{s:s, s:I, s:I, s:I, s:b}", "do", "measure", "id", (json_int_t)id,
                                "samples", (json_int_t)sampling->count, "copy",
                                (json_int_t)sampling->copy, "batched", (int)sampling->batched);
    double launches = (double)sampling->count * (sampling->batched ? MOST_RUNS : 1);
    double timeout_s = launch_timeout(device) + 2 * device->slowest_s * launches;
    *runs = 0;
    int status = call_running(device, request, timeout_s, "measured", &reply, answer, error);
    if (reply != NULL)
        hangs_measured(&device->hangs, clock_ns());
    if (reply != NULL)
        status = take_watch(device, reply, answer, error);
    if (reply != NULL && !answer->again)
        take_samples(device, reply, samples_ns, sample_count, runs);
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
                       size_t samples, double enough_ns, double short_ns)
{
    json_t *request = json_pack("{s:s, s:s, s:o, s:I, s:f, s:f}", "do", "trial", "cubin", cubin,
                                "parameters", bindings_to_json(parameters), "samples",
                                (json_int_t)samples, "enough_ns", enough_ns, "short_ns", short_ns);
    device->trials[device->trial_count++] = json_incref(request);
    send_request(device, request);
}

int device_trial_take(struct device *device, struct result *result, struct trial_times *times,
                      struct device_answer *answer, struct error *error)
{
    json_t *reply;
    int status;
    *times = (struct trial_times){0};
    do {
        double timeout_s = launch_timeout(device);
        status = take_reply(device, timeout_s, spare_patience_s(&device->spare, timeout_s), "tried",
                            &reply, answer, error);
    } while (status == 0 && answer->again);
    drop_spoilt(device, &reply, answer);
    if (reply == NULL)
        return status;
    hangs_measured(&device->hangs, clock_ns());
    take_loaded(reply, result, answer);
    status = take_watch(device, reply, answer, error);
    if (!answer->again && device_member(reply, "runs") != result->runs)
        result->sample_count = 0; /* samples of one kind only */
    if (!answer->again)
        take_samples(device, reply, &result->samples_ns, &result->sample_count, &result->runs);
    answer->single_ns = json_number_value(json_object_get(reply, "single_ns"));
    note_run(device, reply);
    times->load_ns = device_member(reply, "load_ns");
    times->verify_ns = device_member(reply, "run_ns") + device_member(reply, "again_ns");
    times->measure_ns = device_member(reply, "measure_ns");
    json_decref(reply);
    return status;
}
