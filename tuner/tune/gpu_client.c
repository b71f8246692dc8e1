#include "tune/gpu_client.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/statistics.h"
#include "tune/gpu_worker.h"

#include <stdlib.h>
#include <string.h>

enum {
    LOAD_TIMEOUT_S = 60,
    RETAKES = 16, /* of throttled samples; each reading without throttling gives one back */
    RETAKE_PAUSE_NS = 60000000, /* longer than a reading of the watch is good for */
    KILL_LIMIT = 3,             /* in a row, from outside; then the variant is to blame after all */
};

struct gpu_client {
    struct gpu_worker worker;
    double slowest_s;                 /* run of the open problem so far */
    unsigned kills;                   /* from outside, since the last reply */
    struct gpu_conditions conditions; /* sm_clock_mhz is the sum of `readings` */
    unsigned readings;
    unsigned retakes;
    char monitor_error[256];
    bool spoilt;           /* a standby ran beside the request of the last reply */
    double empty_batch_ns; /* of the open problem; 0: not known */
};

/* -- the worker ----------------------------------------------------------------------------------
 */

int gpu_client_new(struct gpu_client **client, int ordinal, struct event_loop *loop,
                   struct error *error)
{
    struct gpu_client *new = alloc_zeroed(1, sizeof *new);
    int status = gpu_worker_init(&new->worker, ordinal, loop, error);
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
    free(client);
}

int gpu_client_gpu(struct gpu_client *client, struct gpu *gpu, struct error *error)
{
    int status = gpu_worker_greet(&client->worker, error);
    *gpu = client->worker.gpu;
    return status;
}

int gpu_client_open(struct gpu_client *client, const struct gpu_problem *problem, double *empty_ns,
                    struct error *error)
{
    gpu_worker_clear(&client->worker);
    client->worker.problem = *problem;
    client->slowest_s = 0;
    client->conditions = (struct gpu_conditions){0};
    client->readings = 0;
    client->empty_batch_ns = 0;
    client->retakes = 0;
    return gpu_worker_open(&client->worker, empty_ns, error);
}

unsigned gpu_client_losses(const struct gpu_client *client)
{
    return client->worker.losses;
}

struct hang_times gpu_client_hangs(const struct gpu_client *client)
{
    const struct hang_recovery *hangs = &client->worker.hangs;
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

static void set_answer(struct gpu_client_answer *answer, enum outcome outcome, const char *reason)
{
    answer->outcome = outcome;
    answer->again = false;
    answer->single_ns = 0;
    answer->entry[0] = '\0';
    (void)snprintf(answer->reason, sizeof answer->reason, "%s", reason);
}

/* {"event":"failed",…}: returns whether it is one, and fills the answer. */
static bool take_failure(const json_t *reply, struct gpu_client_answer *answer, bool *lost)
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

static void forget_oldest_trial(struct gpu_client *client)
{
    json_decref(client->worker.trials[0]);
    client->worker.trial_count--;
    memmove(client->worker.trials, client->worker.trials + 1,
            client->worker.trial_count * sizeof *client->worker.trials);
}

/* A worker has died or passed its deadline: the variant's outcome, and a successor. */
static int take_loss(struct gpu_client *client, bool timed_out, const char *reason,
                     struct gpu_client_answer *answer, struct error *error)
{
    bool again = client->worker.killed && ++client->kills < KILL_LIMIT;
    if (timed_out)
        hang_recovery_add(&client->worker.hangs, client->worker.deadline_ns);
    else
        hang_recovery_failed(&client->worker.hangs);
    if (again)
        answer->again = true;
    else
        set_answer(answer, timed_out ? OUTCOME_TIMEOUT : OUTCOME_FAULT, reason);
    if (client->worker.trial_count > 0 && !again)
        forget_oldest_trial(client); /* its successor gets only those behind it */
    return gpu_worker_replace(&client->worker, error);
}

/*
 * The reply to the request sent longest ago, which is NULL where the variant is at fault: `answer`
 * says how. A worker that passes the deadline gives a timeout, one that dies a fault, unless it was
 * killed from outside.
 */
static int take_reply(struct gpu_client *client, double timeout_s, double patience_s,
                      const char *event, json_t **reply, struct gpu_client_answer *answer,
                      struct error *error)
{
    char reason[WORKER_REASON_BYTES];
    bool timed_out;
    bool lost = false;
    json_t *message;
    *reply = NULL;
    client->spoilt = false;
    set_answer(answer, OUTCOME_MEASURED, "");
    int status = gpu_worker_receive(&client->worker, timeout_s, patience_s, &message, &timed_out,
                                    reason, error);
    if (status < 0)
        return status;
    if (status == 0)
        return take_loss(client, timed_out, reason, answer, error);
    client->kills = 0;
    if (client->worker.trial_count > 0)
        forget_oldest_trial(client);
    bool failed = take_failure(message, answer, &lost);
    bool repairs = json_is_true(json_object_get(message, "repairs"));
    if (!lost && patience_s > 0)
        client->spoilt = standby_worker_settle(&client->worker.standby, client->worker.took_s);
    if (failed) {
        hang_recovery_failed(&client->worker.hangs);
        json_decref(message);
        return lost      ? gpu_worker_replace(&client->worker, error)
               : repairs ? gpu_worker_await_repair(&client->worker, error)
                         : 0;
    }
    status = gpu_worker_expect(message, event, error);
    if (status == 0)
        *reply = message;
    else
        json_decref(message);
    return status;
}

/* What was measured beside a spare, or found no room there, is to be asked for again. */
static void drop_spoilt(const struct gpu_client *client, json_t **reply,
                        struct gpu_client_answer *answer)
{
    if (!client->spoilt ||
        (answer->outcome != OUTCOME_MEASURED && answer->outcome != OUTCOME_LAUNCH_ERROR &&
         answer->outcome != OUTCOME_LOAD_ERROR))
        return;
    json_decref(*reply);
    *reply = NULL;
    set_answer(answer, OUTCOME_MEASURED, "");
    answer->again = true;
}

static void send_request(struct gpu_client *client, json_t *request)
{
    if (client->worker.standby.gone)
        json_object_set_new(request, "recount", json_true());
    client->worker.standby.gone = false;
    hang_recovery_busy(&client->worker.hangs, clock_ns());
    /* a worker that is gone shows in the reply */
    (void)channel_send(&client->worker.process.channel, request, NULL);
}

/* One request and its reply. */
static int call(struct gpu_client *client, json_t *request, double timeout_s, const char *event,
                json_t **reply, struct gpu_client_answer *answer, struct error *error)
{
    send_request(client, request);
    return take_reply(client, timeout_s, 0, event, reply, answer, error);
}

/* One that runs a variant, whose deadline a spare may have to wait for. */
static int call_running(struct gpu_client *client, json_t *request, double timeout_s,
                        const char *event, json_t **reply, struct gpu_client_answer *answer,
                        struct error *error)
{
    send_request(client, request);
    int status =
        take_reply(client, timeout_s, standby_worker_patience_s(&client->worker.standby, timeout_s),
                   event, reply, answer, error);
    drop_spoilt(client, reply, answer);
    return status;
}

static void take_figures(const json_t *reply, struct result *result)
{
    struct kernel_stats *figures = &result->stats;
    figures->registers = (int)gpu_worker_member(reply, "registers");
    figures->stack_bytes = gpu_worker_member(reply, "stack_bytes");
    figures->static_shared_bytes = gpu_worker_member(reply, "static_shared_bytes");
    figures->dynamic_shared_bytes = gpu_worker_member(reply, "dynamic_shared_bytes");
    figures->block_threads = (int)gpu_worker_member(reply, "block_threads");
    figures->grid_blocks = gpu_worker_member(reply, "grid_blocks");
    figures->blocks_per_sm = (int)gpu_worker_member(reply, "blocks_per_sm");
    result->bytes = json_number_value(json_object_get(reply, "bytes"));
    result->operations = json_number_value(json_object_get(reply, "operations"));
}

static void take_loaded(const json_t *reply, struct result *result,
                        struct gpu_client_answer *answer)
{
    const char *entry = json_string_value(json_object_get(reply, "entry"));
    take_figures(reply, result);
    (void)snprintf(answer->entry, sizeof answer->entry, "%s", entry != NULL ? entry : "");
}

int gpu_client_load(struct gpu_client *client, int64_t id, const char *cubin,
                    const struct bindings *parameters, struct result *result,
                    struct gpu_client_answer *answer, struct error *error)
{
    json_t *reply;
    json_t *request = json_pack("{s:s, s:I, s:s, s:o}", "do", "load", "id", (json_int_t)id, "cubin",
                                cubin, "parameters", bindings_to_json(parameters));
    int status =
        call(client, request, worker_timeout_s(LOAD_TIMEOUT_S), "loaded", &reply, answer, error);
    if (reply != NULL)
        take_loaded(reply, result, answer);
    json_decref(reply);
    return status;
}

static void note_run(struct gpu_client *client, const json_t *reply)
{
    double run_s = (double)gpu_worker_member(reply, "run_ns") * 1e-9;
    client->slowest_s = run_s > client->slowest_s ? run_s : client->slowest_s;
}

/* Ten times the slowest run seen, and at least what the sweep says. */
static double launch_timeout(const struct gpu_client *client)
{
    double scaled = 10 * client->slowest_s;
    double stated = client->worker.problem.launch_timeout_s;
    return scaled > stated ? scaled : stated;
}

int gpu_client_verify(struct gpu_client *client, int64_t id, int runs,
                      struct gpu_client_answer *answer, struct error *error)
{
    json_t *reply;
    json_t *request =
        json_pack("{s:s, s:I, s:i}", "do", "verify", "id", (json_int_t)id, "runs", runs);
    int status =
        call_running(client, request, launch_timeout(client), "verified", &reply, answer, error);
    if (reply != NULL)
        note_run(client, reply);
    json_decref(reply);
    return status;
}

static void note_reading(struct gpu_client *client, const json_t *reply)
{
    struct gpu_conditions *conditions = &client->conditions;
    int others = (int)gpu_worker_member(reply, "other_processes");
    conditions->known = true;
    conditions->sm_clock_mhz += (double)gpu_worker_member(reply, "sm_clock_mhz");
    client->readings++;
    if (others > conditions->other_processes)
        conditions->other_processes = others;
    if (json_object_get(reply, "throttled") == NULL && client->retakes > 0)
        client->retakes--;
}

/* Notes what the watch saw; whether the samples are to be taken again goes to `answer->again`. */
static int take_watch(struct gpu_client *client, const json_t *reply,
                      struct gpu_client_answer *answer, struct error *error)
{
    struct gpu_conditions *conditions = &client->conditions;
    const char *monitor_error = json_string_value(json_object_get(reply, "monitor_error"));
    size_t samples = json_array_size(json_object_get(reply, "samples_ns"));
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

struct gpu_conditions gpu_client_conditions(const struct gpu_client *client)
{
    struct gpu_conditions conditions = client->conditions;
    if (client->readings > 0)
        conditions.sm_clock_mhz /= client->readings;
    return conditions;
}

const char *gpu_client_monitor_error(const struct gpu_client *client)
{
    return client->monitor_error[0] != '\0' ? client->monitor_error : NULL;
}

/* Appends the reply's samples; `*runs` is of how many runs each is the mean. */
static void take_samples(struct gpu_client *client, const json_t *reply, double **samples_ns,
                         size_t *count, int *runs)
{
    double empty_ns = json_number_value(json_object_get(reply, "empty_batch_ns"));
    (void)gpu_worker_read_numbers(json_object_get(reply, "samples_ns"), samples_ns, count);
    *runs = (int)gpu_worker_member(reply, "runs");
    if (*runs > 1)
        client->empty_batch_ns = empty_ns;
}

double gpu_client_empty_batch_ns(const struct gpu_client *client)
{
    return client->empty_batch_ns;
}

int gpu_client_measure(struct gpu_client *client, int64_t id,
                       const struct gpu_client_sampling *sampling, double **samples_ns,
                       size_t *sample_count, int *runs, struct gpu_client_answer *answer,
                       struct error *error)
{
    enum { MOST_RUNS = 100 }; /* more than a batch has */
    json_t *reply;
    json_t *request = json_pack("{s:s, s:I, s:I, s:I, s:b}", "do", "measure", "id", (json_int_t)id,
                                "samples", (json_int_t)sampling->count, "copy",
                                (json_int_t)sampling->copy, "batched", (int)sampling->batched);
    double launches = (double)sampling->count * (sampling->batched ? MOST_RUNS : 1);
    double timeout_s = launch_timeout(client) + 2 * client->slowest_s * launches;
    *runs = 0;
    int status = call_running(client, request, timeout_s, "measured", &reply, answer, error);
    if (reply != NULL)
        hang_recovery_measured(&client->worker.hangs, clock_ns());
    if (reply != NULL)
        status = take_watch(client, reply, answer, error);
    if (reply != NULL && !answer->again)
        take_samples(client, reply, samples_ns, sample_count, runs);
    json_decref(reply);
    return status;
}

int gpu_client_unload(struct gpu_client *client, int64_t id, struct error *error)
{
    json_t *reply;
    struct gpu_client_answer answer;
    int status = call(client, json_pack("{s:s, s:I}", "do", "unload", "id", (json_int_t)id),
                      worker_timeout_s(LOAD_TIMEOUT_S), "unloaded", &reply, &answer, error);
    json_decref(reply);
    return status;
}

/* -- trials --------------------------------------------------------------------------------------
 */

void gpu_client_trial_send(struct gpu_client *client, const char *cubin,
                           const struct bindings *parameters, size_t samples, double enough_ns,
                           double short_ns)
{
    json_t *request = json_pack("{s:s, s:s, s:o, s:I, s:f, s:f}", "do", "trial", "cubin", cubin,
                                "parameters", bindings_to_json(parameters), "samples",
                                (json_int_t)samples, "enough_ns", enough_ns, "short_ns", short_ns);
    client->worker.trials[client->worker.trial_count++] = json_incref(request);
    send_request(client, request);
}

int gpu_client_trial_take(struct gpu_client *client, struct result *result,
                          struct trial_times *times, struct gpu_client_answer *answer,
                          struct error *error)
{
    json_t *reply;
    int status;
    *times = (struct trial_times){0};
    do {
        double timeout_s = launch_timeout(client);
        status = take_reply(client, timeout_s,
                            standby_worker_patience_s(&client->worker.standby, timeout_s), "tried",
                            &reply, answer, error);
    } while (status == 0 && answer->again);
    drop_spoilt(client, &reply, answer);
    if (reply == NULL)
        return status;
    hang_recovery_measured(&client->worker.hangs, clock_ns());
    take_loaded(reply, result, answer);
    status = take_watch(client, reply, answer, error);
    if (!answer->again && gpu_worker_member(reply, "runs") != result->runs)
        result->sample_count = 0; /* samples of one kind only */
    if (!answer->again)
        take_samples(client, reply, &result->samples_ns, &result->sample_count, &result->runs);
    answer->single_ns = json_number_value(json_object_get(reply, "single_ns"));
    note_run(client, reply);
    times->load_ns = gpu_worker_member(reply, "load_ns");
    times->verify_ns = gpu_worker_member(reply, "run_ns") + gpu_worker_member(reply, "again_ns");
    times->measure_ns = gpu_worker_member(reply, "measure_ns");
    json_decref(reply);
    return status;
}
