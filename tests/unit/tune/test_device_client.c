/*
 * The GPU client with scripted device workers: what becomes of a variant, of the worker and of what
 * is queued behind it when a worker dies, hangs, lies or answers late.
 */
#include "tune/device_client.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "tune/device_process.h"
#include "unit/busy_machine.h"
#include "unit/failing_channel.h"
#include "unit/scratch.h"
#include "unit/scripted_worker.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { SAMPLES = 3 };

/* Seconds after which a request that is never answered is given up. */
#define HANG_S "0.4"

struct fixture {
    struct event_loop loop;
    struct device_client *client;
    struct bindings values;
    struct opened_problem problem;
    struct error error;
    struct device_client_answer answer; /* the last one */
    struct result result;               /* likewise, of a trial or a load */
};

static void start(struct fixture *fixture, const char *script, double launch_timeout_s)
{
    *fixture = (struct fixture){0};
    scripted_worker_script(script);
    fixture->problem = (struct opened_problem){.template_path = "template.ini",
                                               .template_hash = "hash",
                                               .values = &fixture->values,
                                               .support_cubin = "support",
                                               .launch_timeout_s = launch_timeout_s};
    assert_int_equal(device_client_new(&fixture->client, NULL, 0, &fixture->loop, &fixture->error),
                     0);
}

static void open_problem(struct fixture *fixture)
{
    double empty_ns = 0;
    int status = device_client_open(fixture->client, &fixture->problem, &empty_ns, &fixture->error);
    if (status != 0)
        print_message("%s\n", fixture->error.message);
    assert_int_equal(status, 0);
    assert_true(empty_ns == 2010);
}

static void end(struct fixture *fixture)
{
    device_client_free(fixture->client);
    event_loop_release(&fixture->loop);
    bindings_release(&fixture->values);
    result_release(&fixture->result);
    (void)unsetenv("AUTOTUNE_WORKER_TIMEOUT_S");
    (void)unlink("requests");
}

static void send_trial(struct fixture *fixture, int us)
{
    struct bindings parameters = {0};
    bindings_set(&parameters, "us", value_integer(us));
    device_client_trial_send(fixture->client, "cubin", &parameters,
                             &(struct device_client_trial){.samples = SAMPLES});
    bindings_release(&parameters);
}

static int take(struct fixture *fixture)
{
    struct trial_times times;
    result_release(&fixture->result);
    fixture->result = (struct result){0};
    return device_client_trial_take(fixture->client, &fixture->result, &times, &fixture->answer,
                                    &fixture->error);
}

static int load(struct fixture *fixture, int64_t id, int us)
{
    struct bindings parameters = {0};
    bindings_set(&parameters, "us", value_integer(us));
    int status = device_client_load(fixture->client, id, "cubin", &parameters, &fixture->result,
                                    &fixture->answer, &fixture->error);
    bindings_release(&parameters);
    return status;
}

static void send_measurement(struct fixture *fixture, int64_t id)
{
    const struct device_client_sampling sampling = {.count = SAMPLES};
    device_client_measure_send(fixture->client, id, &sampling);
}

static int take_measurement(struct fixture *fixture, double **samples_ns, size_t *count)
{
    int runs;
    return device_client_measure_take(fixture->client, samples_ns, count, &runs, &fixture->answer,
                                      &fixture->error);
}

static int measure(struct fixture *fixture, int64_t id, double **samples_ns, size_t *count)
{
    send_measurement(fixture, id);
    return take_measurement(fixture, samples_ns, count);
}

/* Makes one request, by name, about variant 1, which is loaded for all but "load" and "trial". */
static int make_request(struct fixture *fixture, const char *request)
{
    double *samples_ns = NULL;
    size_t count = 0;
    int status = 0;
    if (strcmp(request, "trial") == 0) {
        send_trial(fixture, 20);
        return take(fixture);
    }
    if (strcmp(request, "load") != 0)
        assert_int_equal(load(fixture, 1, 20), 0);
    if (strcmp(request, "load") == 0)
        status = load(fixture, 1, 20);
    else if (strcmp(request, "verify") == 0)
        status = device_client_verify(fixture->client, 1, &(struct device_client_check){.runs = 1},
                                      &fixture->answer, &fixture->error);
    else if (strcmp(request, "measure") == 0)
        status = measure(fixture, 1, &samples_ns, &count);
    else
        fail_msg("unknown request %s", request);
    free(samples_ns);
    return status;
}

static void assert_answer(const struct fixture *fixture, enum outcome outcome, const char *reason)
{
    assert_string_equal(fixture->answer.reason, reason);
    assert_string_equal(outcome_name(fixture->answer.outcome), outcome_name(outcome));
    assert_false(fixture->answer.again);
}

/* A trial measures the variant of 20 µs. */
static void assert_works(struct fixture *fixture)
{
    assert_int_equal(make_request(fixture, "trial"), 0);
    assert_answer(fixture, OUTCOME_MEASURED, "");
    assert_int_equal(fixture->result.sample_count, SAMPLES);
    assert_int_equal(fixture->result.runs, 1);
    assert_int_equal(fixture->result.stats.registers, SCRIPTED_REGISTERS);
    assert_true(fixture->result.samples_ns[0] > 19900 && fixture->result.samples_ns[0] < 20100);
}

/* One request meets `action`: it has this outcome, which costs so many workers, and the next
 * variant is measured by whoever is there then. */
static void assert_outcome(const char *request, const char *action, double launch_timeout_s,
                           enum outcome outcome, const char *reason, unsigned losses)
{
    struct fixture fixture;
    char *script = alloc_format("%s 1 %s\n", request, action);
    start(&fixture, script, launch_timeout_s);
    open_problem(&fixture);
    int status = make_request(&fixture, request);
    if (status != 0)
        print_message("%s: %s\n", script, fixture.error.message);
    assert_int_equal(status, 0);
    assert_answer(&fixture, outcome, reason);
    assert_int_equal(device_client_losses(fixture.client), losses);
    assert_int_equal(scripted_worker_count("open"), losses + 1);
    assert_works(&fixture);
    end(&fixture);
    free(script);
}

/* --- starting --- */

/* The greeting fails, after so many workers. */
static void assert_no_gpu(const char *script, enum error_code code, const char *message,
                          size_t workers)
{
    struct fixture fixture;
    struct gpu gpu;
    start(&fixture, script, 10);
    assert_int_equal(device_client_gpu(fixture.client, &gpu, &fixture.error), code);
    assert_non_null(strstr(fixture.error.message, message));
    assert_int_equal(scripted_worker_count("device"), workers);
    end(&fixture);
}

static void a_worker_that_dies_at_its_greeting_has_two_successors(void **state)
{
    (void)state;
    struct fixture fixture;
    start(&fixture, "device 1-2 die 3\n", 10);
    open_problem(&fixture);
    assert_works(&fixture);
    end(&fixture);
    assert_no_gpu("device * die 3\n", ERROR_WORKER, "ended with status 3 before it was ready", 3);
    assert_no_gpu("device * half 0\n", ERROR_WORKER, "ended with status 0 before it was ready", 3);
    assert_no_gpu("device * say hello\n", ERROR_WORKER, "before it was ready", 3);
    (void)setenv("AUTOTUNE_WORKER_TIMEOUT_S", HANG_S, 1);
    assert_no_gpu("device * hang\n", ERROR_WORKER, "did not end within 0.4 s", 3);
}

static void a_greeting_that_is_wrong_ends_the_run(void **state)
{
    (void)state;
    assert_no_gpu("device * error -4\n", ERROR_DEVICE, "scripted", 1);
    assert_no_gpu("device * without gpu\n", ERROR_WORKER, "device description", 1);
    assert_no_gpu("device * merge {\"event\":\"opened\"}\n", ERROR_WORKER, "'opened'", 1);
}

/* Numbers may change while a run goes on, if the driver loses a GPU. */
static void a_successor_on_another_gpu_measures_nothing(void **state)
{
    (void)state;
    struct fixture fixture;
    const struct gpu other = {.name = "Scripted GPU", .uuid = "GPU-other", .arch = "sm_90"};
    json_t *gpu = gpu_to_json(&other);
    char *text = json_dumps(gpu, JSON_COMPACT);
    char *script = alloc_format("trial 1 die 3\ndevice 2 merge {\"gpu\":%s}\n", text);
    start(&fixture, script, 10);
    open_problem(&fixture);
    assert_int_equal(make_request(&fixture, "trial"), ERROR_DEVICE);
    assert_non_null(strstr(fixture.error.message, "GPU 0 is 'GPU-other' now"));
    end(&fixture);
    json_decref(gpu);
    free(text);
    free(script);
}

/* --- opening a problem --- */

static void assert_not_opened(const char *script, enum error_code code, const char *message)
{
    struct fixture fixture;
    double empty_ns;
    start(&fixture, script, 10);
    assert_int_equal(
        device_client_open(fixture.client, &fixture.problem, &empty_ns, &fixture.error), code);
    assert_non_null(strstr(fixture.error.message, message));
    end(&fixture);
}

static void a_worker_that_dies_of_the_problem_has_one_successor(void **state)
{
    (void)state;
    struct fixture fixture;
    const char *const scripts[] = {"open 1 die 3\n", "open 1 signal 9\n", "open 1 say hello\n"};
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++) {
        start(&fixture, scripts[i], 10);
        open_problem(&fixture);
        assert_works(&fixture);
        assert_int_equal(scripted_worker_count("device"), 2);
        end(&fixture);
    }
    assert_not_opened("open * die 3\n", ERROR_WORKER,
                      "ended with status 3 while it prepared the problem");
    (void)setenv("AUTOTUNE_WORKER_TIMEOUT_S", HANG_S, 1);
    assert_not_opened("open * hang\n", ERROR_WORKER,
                      "did not end within 0.4 s while it prepared the problem");
}

static void a_problem_that_is_answered_wrongly_ends_the_run(void **state)
{
    (void)state;
    assert_not_opened("open * say {\"event\":\"loaded\"}\n", ERROR_WORKER, "'loaded'");
    assert_not_opened("open * merge {\"empty_ns\":[]}\n", ERROR_WORKER, "'empty_ns'");
    assert_not_opened("open * merge {\"empty_ns\":[1,null]}\n", ERROR_WORKER, "'empty_ns'");
    assert_not_opened("open * without empty_ns\n", ERROR_WORKER, "'empty_ns'");
    assert_not_opened("open * error -3\n", ERROR_CONFIG, "scripted");
}

/* Opening fails as scripted; then another problem opens and works, with so many workers in all. */
static void assert_opens_after(const char *script, enum error_code code, int workers)
{
    struct fixture fixture;
    double empty_ns;
    start(&fixture, script, 10);
    assert_int_equal(
        device_client_open(fixture.client, &fixture.problem, &empty_ns, &fixture.error), code);
    open_problem(&fixture);
    assert_works(&fixture);
    assert_int_equal(scripted_worker_count("device"), workers);
    end(&fixture);
}

/* A problem for which there is no memory leaves the worker as it is, for another problem. */
static void after_no_memory_another_problem_may_be_opened(void **state)
{
    (void)state;
    assert_opens_after("open 1 error -9\n", ERROR_MEMORY, 1);
}

/* Its worker is killed, since its context may be lost. */
static void after_a_problem_that_breaks_the_context_another_may_be_opened(void **state)
{
    (void)state;
    assert_opens_after("open 1 error -4\n", ERROR_DEVICE, 2);
}

/* A GPU on which everything hangs is given up soon if the problem took no time to open before, and others
 * go on. */
static void a_problem_that_was_open_is_not_waited_for_like_a_new_one(void **state)
{
    (void)state;
    struct device_process worker = {.opened_s = 0};
    assert_true(device_process_open_timeout_s(&worker) == DEVICE_OPEN_TIMEOUT_S);
    worker.opened_s = 0.5;
    assert_true(device_process_open_timeout_s(&worker) == DEVICE_OPEN_TIMEOUT_S);
    worker.problem.shared = true;
    assert_true(device_process_open_timeout_s(&worker) == 15);
    worker.opened_s = 100;
    assert_true(device_process_open_timeout_s(&worker) == DEVICE_OPEN_TIMEOUT_S);
    struct fixture fixture;
    start(&fixture, "open 1 late 20\n", 10);
    open_problem(&fixture);
    device_client_open_begin(fixture.client,
                             &fixture.problem); /* a new one has all the time again */
    int64_t overdue_ns;
    assert_true(device_client_opening(fixture.client, &overdue_ns) >= 0);
    assert_true(overdue_ns > clock_ns() + (int64_t)(DEVICE_OPEN_TIMEOUT_S - 10) * 1000000000);
    open_problem(&fixture);
    end(&fixture);
}

/* What the last worker held may not be free at once. */
static void a_successor_waits_for_memory(void **state)
{
    (void)state;
    struct fixture fixture;
    start(&fixture, "trial 1 die 3\nopen 2-3 error -9\n", 10);
    open_problem(&fixture);
    assert_int_equal(make_request(&fixture, "trial"), 0);
    assert_answer(&fixture, OUTCOME_FAULT, "ended with status 3");
    assert_int_equal(scripted_worker_count("open"), 4);
    assert_works(&fixture);
    end(&fixture);
}

/* --- requests about a variant --- */

static const char *const requests[] = {"load", "verify", "measure", "trial"};

enum { REQUESTS = sizeof requests / sizeof *requests };

static void a_worker_that_dies_is_the_variant_s_fault(void **state)
{
    (void)state;
    for (size_t i = 0; i < REQUESTS; i++) {
        assert_outcome(requests[i], "die 3", 10, OUTCOME_FAULT, "ended with status 3", 1);
        assert_outcome(requests[i], "signal 11", 10, OUTCOME_FAULT,
                       "was killed by signal 11 (Segmentation fault)", 1);
        assert_outcome(requests[i], "half 0", 10, OUTCOME_FAULT, "ended with status 0", 1);
    }
}

/* The worker needs a fifth of its limit in CPU time, and gets a ninth of the processor. */
static void a_busy_machine_is_not_the_variant_s_fault(void **state)
{
    (void)state;
    struct busy_machine machine;
    (void)setenv("AUTOTUNE_WORKER_TIMEOUT_S", HANG_S, 1);
    busy_machine_begin(&machine);
    assert_outcome("load", "busy 80", 10, OUTCOME_MEASURED, "", 0);
    busy_machine_end(&machine);
}

static void late_is_in_time_before_the_deadline(void **state)
{
    (void)state;
    for (size_t i = 0; i < REQUESTS; i++)
        assert_outcome(requests[i], "late 100", 10, OUTCOME_MEASURED, "", 0);
}

static void an_error_ends_the_run(void **state)
{
    (void)state;
    for (size_t i = 0; i < REQUESTS; i++) {
        struct fixture fixture;
        char *script = alloc_format("%s 1 error -3\n", requests[i]);
        start(&fixture, script, 10);
        open_problem(&fixture);
        assert_int_equal(make_request(&fixture, requests[i]), ERROR_CONFIG);
        assert_string_equal(fixture.error.message, "scripted");
        end(&fixture);
        free(script);
    }
}

/* --- lies: a fault of the variant, which may have written into the worker's memory --- */

static void assert_lie(const char *request, const char *action, const char *flaw)
{
    char *reason = flaw != NULL ? alloc_format("sent an invalid reply: '%s'", flaw)
                                : alloc_string("sent an invalid message");
    assert_outcome(request, action, 10, OUTCOME_FAULT, reason, 1);
    free(reason);
}

static void nonsense_is_a_fault(void **state)
{
    (void)state;
    for (size_t i = 0; i < REQUESTS; i++) {
        assert_lie(requests[i], "say hello", NULL);
        assert_lie(requests[i], "say [1, 2]", NULL);
        assert_lie(requests[i], "say {}", "event");
        assert_lie(requests[i], "say {\"event\":\"closed\"}", "event");
    }
}

static void a_failure_that_is_none_is_a_fault(void **state)
{
    (void)state;
    for (size_t i = 0; i < REQUESTS; i++) {
        assert_lie(requests[i], "fail measured", "outcome");
        assert_lie(requests[i], "fail compiled", "outcome");
        assert_lie(requests[i], "fail abducted", "outcome");
    }
}

static void wrong_samples_are_a_fault(void **state)
{
    (void)state;
    static const char *const samples[] = {"[]",
                                          "[20000,20000]",
                                          "[20000,20000,20000,20000]",
                                          "[20000,20000,null]",
                                          "[20000,20000,-20000]",
                                          "[20000,0,20000]",
                                          "[20000,\"20000\",20000]",
                                          "20000"};
    const char *const takers[] = {"measure", "trial"};
    for (size_t i = 0; i < 2; i++) {
        for (size_t j = 0; j < sizeof samples / sizeof *samples; j++) {
            char *action = alloc_format("merge {\"samples_ns\":%s}", samples[j]);
            assert_lie(takers[i], action, "samples_ns");
            free(action);
        }
        assert_lie(takers[i], "without samples_ns", "samples_ns");
        assert_lie(takers[i], "without sampled", "runs");
        assert_lie(takers[i], "put sampled 0 0", "runs");
        assert_lie(takers[i], "put sampled 0 32", "runs"); /* nobody asked for a batch */
        assert_lie(takers[i], "put sampled 0 1.5", "runs");
    }
    assert_lie("trial", "put sampled 1 null", "single_ns");
    assert_lie("trial", "put sampled 1 -1", "single_ns");
}

/* A first sample above `enough_ns` is the only one; one sample below is too few. */
static void one_sample_is_enough_of_a_slow_variant_only(void **state)
{
    (void)state;
    static const double enough_ns[] = {15000, 30000};
    struct fixture fixture;
    struct bindings parameters = {0};
    bindings_set(&parameters, "us", value_integer(20));
    start(&fixture, "trial 2 merge {\"samples_ns\":[20000]}\n", 10);
    open_problem(&fixture);
    for (size_t i = 0; i < 2; i++)
        device_client_trial_send(
            fixture.client, "cubin", &parameters,
            &(struct device_client_trial){.samples = SAMPLES, .enough_ns = enough_ns[i]});
    assert_int_equal(take(&fixture), 0);
    assert_answer(&fixture, OUTCOME_MEASURED, "");
    assert_int_equal(fixture.result.sample_count, 1);
    assert_int_equal(take(&fixture), 0);
    assert_answer(&fixture, OUTCOME_FAULT, "sent an invalid reply: 'samples_ns'");
    bindings_release(&parameters);
    end(&fixture);
}

static void wrong_stats_are_a_fault(void **state)
{
    (void)state;
    const char *const describers[] = {"load", "trial"};
    for (size_t i = 0; i < 2; i++) {
        assert_lie(describers[i], "put stats 0 null", "registers");
        assert_lie(describers[i], "put stats 0 -1", "registers");
        assert_lie(describers[i], "put stats 0 4294967296", "registers");
        assert_lie(describers[i], "put stats 5 \"many\"", "grid_blocks");
        assert_lie(describers[i], "put stats 7 -1", "bytes");
        assert_lie(describers[i], "without entry", "entry");
    }
    assert_lie("verify", "without took_ns", "took_ns");
    assert_lie("verify", "put took_ns 0 -5", "took_ns");
}

/* --- unloading --- */

static void unloading_may_cost_the_worker(void **state)
{
    (void)state;
    static const char *const scripts[] = {"unload 1 die 3\n", "unload 1 say hello\n",
                                          "unload 1 say {\"event\":\"loaded\"}\n"};
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++) {
        struct fixture fixture;
        start(&fixture, scripts[i], 10);
        open_problem(&fixture);
        assert_int_equal(load(&fixture, 1, 20), 0);
        assert_int_equal(device_client_unload(fixture.client, 1, &fixture.error), 0);
        assert_int_equal(device_client_losses(fixture.client), 1);
        assert_works(&fixture);
        end(&fixture);
    }
}

/* --- killed from outside --- */

static void what_a_kill_from_outside_stopped_is_asked_again(void **state)
{
    (void)state;
    for (size_t i = 0; i < REQUESTS; i++) {
        struct fixture fixture;
        char *script = alloc_format("%s 1 signal 9\n", requests[i]);
        start(&fixture, script, 10);
        open_problem(&fixture);
        assert_int_equal(make_request(&fixture, requests[i]), 0);
        assert_int_equal(fixture.answer.outcome, OUTCOME_MEASURED);
        /* a trial was sent again already */
        assert_int_equal(fixture.answer.again, strcmp(requests[i], "trial") != 0);
        assert_int_equal(device_client_losses(fixture.client), 1);
        assert_works(&fixture);
        end(&fixture);
        free(script);
    }
}

static void what_the_gpu_s_own_failure_stopped_is_asked_again(void **state)
{
    (void)state;
    for (size_t i = 0; i < REQUESTS; i++) {
        struct fixture fixture;
        char *script = alloc_format("%s 1 say {\"event\":\"failed\",\"outcome\":\"fault\","
                                    "\"reason\":\"ECC\",\"lost\":true,\"gpu_failed\":true}\n",
                                    requests[i]);
        start(&fixture, script, 10);
        open_problem(&fixture);
        assert_int_equal(make_request(&fixture, requests[i]), 0);
        assert_int_equal(fixture.answer.outcome, OUTCOME_MEASURED);
        assert_int_equal(fixture.answer.again, strcmp(requests[i], "trial") != 0);
        assert_int_equal(device_client_losses(fixture.client), 1);
        assert_works(&fixture);
        end(&fixture);
        free(script);
    }
}

static void what_could_not_be_sent_is_asked_again(void **state)
{
    (void)state;
    struct fixture fixture;
    start(&fixture, "", 10);
    open_problem(&fixture);
    failing_sends = 1;
    assert_works(&fixture);
    assert_int_equal(device_client_losses(fixture.client), 1);
    assert_int_equal(load(&fixture, 1, 20), 0);
    failing_sends = 1;
    assert_int_equal(device_client_verify(fixture.client, 1,
                                          &(struct device_client_check){.runs = 1}, &fixture.answer,
                                          &fixture.error),
                     0);
    assert_true(fixture.answer.again);
    assert_int_equal(device_client_losses(fixture.client), 2);
    end(&fixture);
}

static void what_could_not_be_read_is_asked_again(void **state)
{
    (void)state;
    struct fixture fixture;
    start(&fixture, "", 10);
    failing_reads = 1; /* of the greeting or of what opening gives */
    open_problem(&fixture);
    failing_reads = 1;
    assert_works(&fixture);
    assert_works(&fixture);
    end(&fixture);
}

static void three_kills_in_a_row_are_the_variant_s_fault(void **state)
{
    (void)state;
    struct fixture fixture;
    start(&fixture, "trial:us=20 1-3 signal 9\ntrial:us=30 1-2 signal 9\n", 10);
    open_problem(&fixture);
    send_trial(&fixture, 20);
    send_trial(&fixture, 30);
    assert_int_equal(take(&fixture), 0);
    assert_answer(&fixture, OUTCOME_FAULT, "was killed by signal 9 (Killed)");
    assert_int_equal(take(&fixture), 0); /* the next one has its own three */
    assert_answer(&fixture, OUTCOME_MEASURED, "");
    assert_int_equal(device_client_losses(fixture.client), 5);
    end(&fixture);
}

/* --- requests queued behind each other --- */

/* The first of two trials meets the action; the second is answered by the successor. */
static void assert_queue_survives(const char *action, double timeout_s, enum outcome outcome)
{
    struct fixture fixture;
    char *script = alloc_format("trial 1 %s\n", action);
    start(&fixture, script, timeout_s);
    open_problem(&fixture);
    send_trial(&fixture, 20);
    send_trial(&fixture, 30);
    assert_int_equal(take(&fixture), 0);
    assert_int_equal(fixture.answer.outcome, outcome);
    send_trial(&fixture, 40);
    for (int us = 30; us <= 40; us += 10) {
        assert_int_equal(take(&fixture), 0);
        assert_answer(&fixture, OUTCOME_MEASURED, "");
        assert_true(fixture.result.samples_ns[0] > us * 990 &&
                    fixture.result.samples_ns[0] < us * 1010);
    }
    end(&fixture);
    free(script);
}

static void trials_behind_are_answered_in_order(void **state)
{
    (void)state;
    assert_queue_survives("late 50", 10, OUTCOME_MEASURED);
    assert_queue_survives("fail wrong_result", 10, OUTCOME_WRONG_RESULT);
    assert_queue_survives("repair {\"event\":\"repaired\"}", 10, OUTCOME_WRONG_RESULT);
    assert_queue_survives("repair hello", 10, OUTCOME_WRONG_RESULT);
    assert_queue_survives("lose fault", 10, OUTCOME_FAULT);
    assert_queue_survives("die 3", 10, OUTCOME_FAULT);
    assert_queue_survives("signal 9", 10, OUTCOME_MEASURED);
    assert_queue_survives("say hello", 10, OUTCOME_FAULT);
    assert_queue_survives("merge {\"samples_ns\":[1]}", 10, OUTCOME_FAULT);
    assert_queue_survives("hang", 0.4, OUTCOME_TIMEOUT);
}

/* Loads variants 1 of 20 µs and 2 of 30 µs, and sends a measurement of each. */
static void send_two_measurements(struct fixture *fixture, const char *script)
{
    start(fixture, script, 10);
    open_problem(fixture);
    for (int id = 1; id <= 2; id++)
        assert_int_equal(load(fixture, id, 10 + 10 * id), 0);
    send_measurement(fixture, 1);
    send_measurement(fixture, 2);
}

static void assert_taken(struct fixture *fixture, double us)
{
    double *samples_ns = NULL;
    size_t count = 0;
    assert_int_equal(take_measurement(fixture, &samples_ns, &count), 0);
    assert_answer(fixture, OUTCOME_MEASURED, "");
    assert_int_equal(count, SAMPLES);
    assert_true(samples_ns[0] > us * 999 && samples_ns[0] < us * 1001);
    free(samples_ns);
}

/* The next worker has not loaded the variant. */
static void a_measurement_behind_one_that_costs_the_worker_is_forgotten(void **state)
{
    (void)state;
    static const char *const losses[] = {"die 3", "lose fault", "signal 9", "say hello"};
    for (size_t i = 0; i < sizeof losses / sizeof *losses; i++) {
        struct fixture fixture;
        double *samples_ns = NULL;
        size_t count = 0;
        char *script = alloc_format("measure 1 %s\n", losses[i]);
        send_two_measurements(&fixture, script);
        assert_int_equal(take_measurement(&fixture, &samples_ns, &count), 0);
        assert_true(fixture.answer.again || fixture.answer.outcome == OUTCOME_FAULT);
        assert_int_equal(device_client_losses(fixture.client), 1);
        assert_int_equal(load(&fixture, 2, 30), 0);
        send_measurement(&fixture, 2);
        assert_taken(&fixture, 30);
        end(&fixture);
        free(script);
    }
}

/* --- throttling --- */

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        SCRATCH_TEST(a_worker_that_dies_at_its_greeting_has_two_successors),
        SCRATCH_TEST(a_greeting_that_is_wrong_ends_the_run),
        SCRATCH_TEST(a_successor_on_another_gpu_measures_nothing),
        SCRATCH_TEST(a_worker_that_dies_of_the_problem_has_one_successor),
        SCRATCH_TEST(a_problem_that_is_answered_wrongly_ends_the_run),
        SCRATCH_TEST(after_no_memory_another_problem_may_be_opened),
        SCRATCH_TEST(a_problem_that_was_open_is_not_waited_for_like_a_new_one),
        SCRATCH_TEST(after_a_problem_that_breaks_the_context_another_may_be_opened),
        SCRATCH_TEST(a_successor_waits_for_memory),
        SCRATCH_TEST(a_worker_that_dies_is_the_variant_s_fault),
        SCRATCH_TEST(a_busy_machine_is_not_the_variant_s_fault),
        SCRATCH_TEST(late_is_in_time_before_the_deadline),
        SCRATCH_TEST(an_error_ends_the_run),
        SCRATCH_TEST(nonsense_is_a_fault),
        SCRATCH_TEST(a_failure_that_is_none_is_a_fault),
        SCRATCH_TEST(wrong_samples_are_a_fault),
        SCRATCH_TEST(one_sample_is_enough_of_a_slow_variant_only),
        SCRATCH_TEST(wrong_stats_are_a_fault),
        SCRATCH_TEST(unloading_may_cost_the_worker),
        SCRATCH_TEST(what_a_kill_from_outside_stopped_is_asked_again),
        SCRATCH_TEST(what_the_gpu_s_own_failure_stopped_is_asked_again),
        SCRATCH_TEST(what_could_not_be_sent_is_asked_again),
        SCRATCH_TEST(what_could_not_be_read_is_asked_again),
        SCRATCH_TEST(three_kills_in_a_row_are_the_variant_s_fault),
        SCRATCH_TEST(trials_behind_are_answered_in_order),
        SCRATCH_TEST(a_measurement_behind_one_that_costs_the_worker_is_forgotten),
    };
    if (argc > 1)
        return scripted_worker_main(argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
