/*
 * The GPU client with scripted device workers: what becomes of a variant, of the worker and of what
 * is queued behind it when a worker dies, hangs, lies or answers late.
 */
#include "tune/device_client.h"

#include "base/alloc.h"
#include "base/clock.h"

#include "unit/busy_machine.h"
#include "unit/failing_channel.h"
#include "unit/scratch.h"
#include "unit/scripted_worker.h"
#include "unit/test.h"

enum { SAMPLES = 3 };

/* Seconds after which a request that is never answered is given up. */
#define HANG_S "0.4"

static struct fixture {
    struct event_loop loop;
    struct device_client *client;
    struct bindings values;
    struct opened_problem problem;
    struct error error;
    struct device_client_answer answer; /* the last one */
    struct result result;               /* likewise, of a trial or a load */
} fixture;                              /* of the test that runs */

static void start(const char *script, double launch_timeout_s)
{
    fixture = (struct fixture){0};
    scripted_worker_script(script);
    static const struct template template = {.path = "template.ini", .ini.text = ""};
    fixture.problem = (struct opened_problem){.template = &template,
                                              .values = &fixture.values,
                                              .support_cubin = "support",
                                              .launch_timeout_s = launch_timeout_s};
    assert_int_equal(device_client_new(&fixture.client, NULL, 0, &fixture.loop, &fixture.error), 0);
}

static void open_problem(void)
{
    double empty_ns = 0;
    int status = device_client_open(fixture.client, &fixture.problem, &empty_ns, &fixture.error);
    if (status != 0)
        print_message("%s\n", fixture.error.message);
    assert_int_equal(status, 0);
    assert_true(empty_ns == 2010);
}

static void end(void)
{
    device_client_free(fixture.client);
    event_loop_release(&fixture.loop);
    bindings_release(&fixture.values);
    result_release(&fixture.result);
    (void)unsetenv("AUTOTUNE_WORKER_TIMEOUT_S");
    (void)unlink("requests");
    fixture = (struct fixture){0};
}

static int leave(void **state)
{
    end();
    return scratch_leave(state);
}

/* A test may leave its last fixture, which then ends. */
#define CLIENT_TEST(function) UNIT_TEST_WITH(function, scratch_enter, leave)

static void send_trial(int us)
{
    struct bindings parameters = {0};
    bindings_set(&parameters, "us", value_integer(us));
    device_client_trial_send(fixture.client, "cubin", &parameters,
                             &(struct device_client_trial){.samples = SAMPLES});
    bindings_release(&parameters);
}

static int take(void)
{
    struct trial_times times;
    result_release(&fixture.result);
    fixture.result = (struct result){0};
    return device_client_trial_take(fixture.client, &fixture.result, &times, &fixture.answer,
                                    &fixture.error);
}

static int load(int64_t id, int us)
{
    struct bindings parameters = {0};
    bindings_set(&parameters, "us", value_integer(us));
    int status = device_client_load(fixture.client, id, "cubin", &parameters, &fixture.result,
                                    &fixture.answer, &fixture.error);
    bindings_release(&parameters);
    return status;
}

static void send_measurement(int64_t id)
{
    const struct device_client_sampling sampling = {.count = SAMPLES};
    device_client_measure_send(fixture.client, id, &sampling);
}

static int take_measurement(double **samples_ns, size_t *count)
{
    int runs;
    return device_client_measure_take(fixture.client, samples_ns, count, &runs, &fixture.answer,
                                      &fixture.error);
}

static int measure(int64_t id, double **samples_ns, size_t *count)
{
    send_measurement(id);
    return take_measurement(samples_ns, count);
}

/* Makes one request, by name, about variant 1, which is loaded for all but "load" and "trial". */
static int make_request(const char *request)
{
    double *samples_ns = NULL;
    size_t count = 0;
    int status = 0;
    if (strcmp(request, "trial") == 0) {
        send_trial(20);
        return take();
    }
    if (strcmp(request, "load") != 0)
        assert_int_equal(load(1, 20), 0);
    if (strcmp(request, "load") == 0)
        status = load(1, 20);
    else if (strcmp(request, "verify") == 0)
        status = device_client_verify(fixture.client, 1, &(struct device_client_check){.runs = 1},
                                      &fixture.answer, &fixture.error);
    else if (strcmp(request, "measure") == 0)
        status = measure(1, &samples_ns, &count);
    else
        fail_msg("unknown request %s", request);
    free(samples_ns);
    return status;
}

static void assert_answer(enum outcome outcome, const char *reason)
{
    assert_string_equal(fixture.answer.reason, reason);
    assert_string_equal(outcome_name(fixture.answer.outcome), outcome_name(outcome));
    assert_false(fixture.answer.again);
}

/* A trial measures the variant of 20 µs. */
static void assert_works(void)
{
    assert_int_equal(make_request("trial"), 0);
    assert_answer(OUTCOME_MEASURED, "");
    assert_int_equal(fixture.result.sample_count, SAMPLES);
    assert_int_equal(fixture.result.runs, 1);
    assert_int_equal(fixture.result.stats.registers, SCRIPTED_REGISTERS);
    assert_true(fixture.result.samples_ns[0] > 19900 && fixture.result.samples_ns[0] < 20100);
}

/* One request meets `action`: it has this outcome, or is to be asked again, which costs so many workers, and
 * the next variant is measured by whoever is there then. */
static void assert_outcome(const char *request, const char *action, enum outcome outcome,
                           bool again, const char *reason, unsigned losses)
{
    char *script = alloc_format("%s 1 %s\n", request, action);
    print_message("%s", script);
    start(script, 10);
    open_problem();
    assert_int_equal(make_request(request), 0);
    assert_string_equal(fixture.answer.reason, reason);
    assert_string_equal(outcome_name(fixture.answer.outcome), outcome_name(outcome));
    assert_int_equal(fixture.answer.again, again);
    assert_int_equal(fixture.client->worker.losses, losses);
    assert_int_equal(scripted_worker_count("open"), losses + 1);
    assert_works();
    end();
    free(script);
}

/* --- starting, and opening a problem --- */

/* A step goes as scripted, and so often: then everything works, with so many workers in all, or there is
 * an error. */
static const struct step_case {
    const char *script;
    const char *timeout_s; /* of requests; NULL: the usual one */
    enum error_code code;  /* 0: all is well after all */
    const char *message;
    size_t workers;
} step_cases[] = {
    {"device 1-2 die 3\n", NULL, 0, "", 3},
    {"device * die 3\n", NULL, ERROR_WORKER, "ended with status 3 before it was ready", 3},
    {"device * half 0\n", NULL, ERROR_WORKER, "ended with status 0 before it was ready", 3},
    {"device * say hello\n", NULL, ERROR_WORKER, "before it was ready", 3},
    {"device * hang\n", HANG_S, ERROR_WORKER, "did not end within 0.4 s", 3},
    {"device * error -4\n", NULL, ERROR_DEVICE, "scripted", 1},
    {"device * without gpu\n", NULL, ERROR_WORKER, "device description", 1},
    {"device * merge {\"event\":\"opened\"}\n", NULL, ERROR_WORKER, "'opened'", 1},
    {"open 1 die 3\n", NULL, 0, "", 2},
    {"open 1 signal 9\n", NULL, 0, "", 2},
    {"open 1 say hello\n", NULL, 0, "", 2},
    {"open * die 3\n", NULL, ERROR_WORKER, "ended with status 3 while it prepared the problem", 2},
    {"open * hang\n", HANG_S, ERROR_WORKER,
     "did not end within 0.4 s while it prepared the problem", 2},
    {"open * say {\"event\":\"loaded\"}\n", NULL, ERROR_WORKER, "'loaded'", 1},
    {"open * merge {\"empty_ns\":[]}\n", NULL, ERROR_WORKER, "'empty_ns'", 1},
    {"open * merge {\"empty_ns\":[1,null]}\n", NULL, ERROR_WORKER, "'empty_ns'", 1},
    {"open * without empty_ns\n", NULL, ERROR_WORKER, "'empty_ns'", 1},
    {"open * error -3\n", NULL, ERROR_CONFIG, "scripted", 1},
};

CLIENT_TEST(a_worker_that_is_lost_before_it_is_ready_has_successors)
{
    for (size_t i = 0; i < sizeof step_cases / sizeof *step_cases; i++) {
        const struct step_case *step = &step_cases[i];
        double empty_ns;
        print_message("%s", step->script);
        if (step->timeout_s != NULL)
            (void)setenv("AUTOTUNE_WORKER_TIMEOUT_S", step->timeout_s, 1);
        start(step->script, 10);
        int status =
            device_client_open(fixture.client, &fixture.problem, &empty_ns, &fixture.error);
        assert_int_equal(status, step->code);
        assert_int_equal(scripted_worker_count("device"), step->workers);
        if (status == 0)
            assert_works();
        else
            assert_non_null(strstr(fixture.error.message, step->message));
        end();
    }
}

/* Numbers may change while a run goes on, if the driver loses a GPU. */
CLIENT_TEST(a_successor_on_another_gpu_measures_nothing)
{
    const struct gpu other = {.name = "Scripted GPU", .uuid = "GPU-other", .arch = "sm_90"};
    json_t *gpu = gpu_to_json(&other);
    char *text = json_dumps(gpu, JSON_COMPACT);
    char *script = alloc_format("trial 1 die 3\ndevice 2 merge {\"gpu\":%s}\n", text);
    start(script, 10);
    open_problem();
    assert_int_equal(make_request("trial"), ERROR_DEVICE);
    assert_non_null(strstr(fixture.error.message, "GPU 0 is 'GPU-other' now"));
    json_decref(gpu);
    free(text);
    free(script);
}

/* If there is no memory for it, the worker stays as it is; if its context may be lost, another takes its place. */
CLIENT_TEST(after_a_problem_that_cannot_be_opened_another_may_be)
{
    static const char *const scripts[] = {"open 1 error -9\n", "open 1 error -4\n"};
    static const enum error_code codes[] = {ERROR_MEMORY, ERROR_DEVICE};
    for (size_t i = 0; i < 2; i++) {
        double empty_ns;
        start(scripts[i], 10);
        assert_int_equal(
            device_client_open(fixture.client, &fixture.problem, &empty_ns, &fixture.error),
            codes[i]);
        open_problem();
        assert_works();
        assert_int_equal(scripted_worker_count("device"), i + 1);
        end();
    }
}

/* A GPU on which everything hangs is given up soon if the problem took no time to open before, and others
 * go on. */
CLIENT_TEST(a_problem_that_was_open_is_not_waited_for_like_a_new_one)
{
    struct device_process worker = {.opened_s = 0};
    assert_true(device_process_open_timeout_s(&worker) == DEVICE_OPEN_TIMEOUT_S);
    worker.opened_s = 0.5;
    assert_true(device_process_open_timeout_s(&worker) == DEVICE_OPEN_TIMEOUT_S);
    worker.problem.shared = true;
    assert_true(device_process_open_timeout_s(&worker) == 15);
    worker.opened_s = 100;
    assert_true(device_process_open_timeout_s(&worker) == DEVICE_OPEN_TIMEOUT_S);
}

/* What the last worker held may not be free at once. */
CLIENT_TEST(a_successor_waits_for_memory)
{
    start("trial 1 die 3\nopen 2-3 error -9\n", 10);
    open_problem();
    assert_int_equal(make_request("trial"), 0);
    assert_answer(OUTCOME_FAULT, "ended with status 3");
    assert_int_equal(scripted_worker_count("open"), 4);
    assert_works();
}

/* --- requests about a variant --- */

enum { LOAD = 1, VERIFY = 2, MEASURE = 4, TRIAL = 8, ALL = 15, SAMPLED = MEASURE | TRIAL };

static const char *const requests[] = {"load", "verify", "measure", "trial"};

#define FAILED "{\"event\":\"failed\",\"outcome\":\"fault\",\"reason\":\"ECC\",\"lost\":true,"

/* A reply that makes no sense is a fault of the variant, which may have written into the worker's memory; its
 * `flaw` is named, or else it is no message. */
static const struct lie {
    unsigned requests;
    const char *action, *flaw;
} lies[] = {
    {ALL, "say hello", NULL},
    {ALL, "say [1, 2]", NULL},
    {ALL, "say {}", "event"},
    {ALL, "say {\"event\":\"closed\"}", "event"},
    {ALL, "fail measured", "outcome"},
    {ALL, "fail compiled", "outcome"},
    {ALL, "fail abducted", "outcome"},
    {SAMPLED, "merge {\"samples_ns\":[]}", "samples_ns"},
    {SAMPLED, "merge {\"samples_ns\":[20000,20000]}", "samples_ns"},
    {SAMPLED, "merge {\"samples_ns\":[20000,20000,20000,20000]}", "samples_ns"},
    {SAMPLED, "merge {\"samples_ns\":[20000,20000,null]}", "samples_ns"},
    {SAMPLED, "merge {\"samples_ns\":[20000,20000,-20000]}", "samples_ns"},
    {SAMPLED, "merge {\"samples_ns\":[20000,0,20000]}", "samples_ns"},
    {SAMPLED, "merge {\"samples_ns\":[20000,\"20000\",20000]}", "samples_ns"},
    {SAMPLED, "merge {\"samples_ns\":20000}", "samples_ns"},
    {SAMPLED, "without samples_ns", "samples_ns"},
    {SAMPLED, "without sampled", "runs"},
    {SAMPLED, "put sampled 0 0", "runs"},
    {SAMPLED, "put sampled 0 32", "runs"}, /* nobody asked for a batch */
    {SAMPLED, "put sampled 0 1.5", "runs"},
    {TRIAL, "put sampled 1 null", "single_ns"},
    {TRIAL, "put sampled 1 -1", "single_ns"},
    {LOAD | TRIAL, "put stats 0 null", "registers"},
    {LOAD | TRIAL, "put stats 0 -1", "registers"},
    {LOAD | TRIAL, "put stats 0 4294967296", "registers"},
    {LOAD | TRIAL, "put stats 5 \"many\"", "grid_blocks"},
    {LOAD | TRIAL, "put stats 7 -1", "bytes"},
    {LOAD | TRIAL, "without entry", "entry"},
    {VERIFY, "without took_ns", "took_ns"},
    {VERIFY, "put took_ns 0 -5", "took_ns"},
};

CLIENT_TEST(a_reply_that_makes_no_sense_is_a_fault)
{
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        char *reason = lies[i].flaw != NULL
                           ? alloc_format("sent an invalid reply: '%s'", lies[i].flaw)
                           : alloc_string("sent an invalid message");
        for (size_t j = 0; j < sizeof requests / sizeof *requests; j++)
            if ((lies[i].requests >> j & 1) != 0)
                assert_outcome(requests[j], lies[i].action, OUTCOME_FAULT, false, reason, 1);
        free(reason);
    }
}

/* Who dies is at fault, unless somebody else killed it or the GPU failed. */
CLIENT_TEST(what_becomes_of_a_request_whose_worker_is_lost)
{
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++) {
        const char *request = requests[i];
        bool again = strcmp(request, "trial") != 0; /* which was sent again already */
        assert_outcome(request, "die 3", OUTCOME_FAULT, false, "ended with status 3", 1);
        assert_outcome(request, "signal 11", OUTCOME_FAULT, false,
                       "was killed by signal 11 (Segmentation fault)", 1);
        assert_outcome(request, "half 0", OUTCOME_FAULT, false, "ended with status 0", 1);
        assert_outcome(request, "late 100", OUTCOME_MEASURED, false, "", 0);
        assert_outcome(request, "signal 9", OUTCOME_MEASURED, again, "", 1);
        assert_outcome(request, "say " FAILED "\"gpu_failed\":true}", OUTCOME_MEASURED, again, "",
                       1);
    }
}

CLIENT_TEST(an_error_ends_the_run)
{
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++) {
        char *script = alloc_format("%s 1 error -3\n", requests[i]);
        start(script, 10);
        open_problem();
        assert_int_equal(make_request(requests[i]), ERROR_CONFIG);
        assert_string_equal(fixture.error.message, "scripted");
        end();
        free(script);
    }
}

/* The worker needs a fifth of its limit in CPU time, and gets a ninth of the processor. */
CLIENT_TEST(a_busy_machine_is_not_the_variant_s_fault)
{
    struct busy_machine machine;
    (void)setenv("AUTOTUNE_WORKER_TIMEOUT_S", HANG_S, 1);
    busy_machine_begin(&machine);
    assert_outcome("load", "busy 80", OUTCOME_MEASURED, false, "", 0);
    busy_machine_end(&machine);
}

CLIENT_TEST(unloading_may_cost_the_worker)
{
    static const char *const scripts[] = {"unload 1 die 3\n", "unload 1 say hello\n",
                                          "unload 1 say {\"event\":\"loaded\"}\n"};
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++) {
        start(scripts[i], 10);
        open_problem();
        assert_int_equal(load(1, 20), 0);
        assert_int_equal(device_client_unload(fixture.client, 1, &fixture.error), 0);
        assert_int_equal(fixture.client->worker.losses, 1);
        assert_works();
        end();
    }
}

CLIENT_TEST(what_could_not_be_sent_is_asked_again)
{
    start("", 10);
    open_problem();
    failing_sends = 1;
    assert_works();
    assert_int_equal(fixture.client->worker.losses, 1);
    assert_int_equal(load(1, 20), 0);
    failing_sends = 1;
    assert_int_equal(device_client_verify(fixture.client, 1,
                                          &(struct device_client_check){.runs = 1}, &fixture.answer,
                                          &fixture.error),
                     0);
    assert_true(fixture.answer.again);
    assert_int_equal(fixture.client->worker.losses, 2);
}

CLIENT_TEST(what_could_not_be_read_is_asked_again)
{
    start("", 10);
    failing_reads = 1; /* of the greeting or of what opening gives */
    open_problem();
    failing_reads = 1;
    assert_works();
    assert_works();
}

CLIENT_TEST(three_kills_in_a_row_are_the_variant_s_fault)
{
    start("trial:us=20 1-3 signal 9\ntrial:us=30 1-2 signal 9\n", 10);
    open_problem();
    send_trial(20);
    send_trial(30);
    assert_int_equal(take(), 0);
    assert_answer(OUTCOME_FAULT, "was killed by signal 9 (Killed)");
    assert_int_equal(take(), 0); /* the next one has its own three */
    assert_answer(OUTCOME_MEASURED, "");
    assert_int_equal(fixture.client->worker.losses, 5);
}

/* --- requests queued behind each other --- */

/* The first of two trials meets the action; the second is answered by the successor. */
static void assert_queue_survives(const char *action, double timeout_s, enum outcome outcome)
{
    char *script = alloc_format("trial 1 %s\n", action);
    start(script, timeout_s);
    open_problem();
    send_trial(20);
    send_trial(30);
    assert_int_equal(take(), 0);
    assert_int_equal(fixture.answer.outcome, outcome);
    send_trial(40);
    for (int us = 30; us <= 40; us += 10) {
        assert_int_equal(take(), 0);
        assert_answer(OUTCOME_MEASURED, "");
        assert_true(fixture.result.samples_ns[0] > us * 990 &&
                    fixture.result.samples_ns[0] < us * 1010);
    }
    end();
    free(script);
}

CLIENT_TEST(trials_behind_are_answered_in_order)
{
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
static void send_two_measurements(const char *script)
{
    start(script, 10);
    open_problem();
    for (int id = 1; id <= 2; id++)
        assert_int_equal(load(id, 10 + 10 * id), 0);
    send_measurement(1);
    send_measurement(2);
}

static void assert_taken(double us)
{
    double *samples_ns = NULL;
    size_t count = 0;
    assert_int_equal(take_measurement(&samples_ns, &count), 0);
    assert_answer(OUTCOME_MEASURED, "");
    assert_int_equal(count, SAMPLES);
    assert_true(samples_ns[0] > us * 999 && samples_ns[0] < us * 1001);
    free(samples_ns);
}

/* The next worker has not loaded the variant. */
CLIENT_TEST(a_measurement_behind_one_that_costs_the_worker_is_forgotten)
{
    static const char *const losses[] = {"die 3", "lose fault", "signal 9", "say hello"};
    for (size_t i = 0; i < sizeof losses / sizeof *losses; i++) {
        double *samples_ns = NULL;
        size_t count = 0;
        char *script = alloc_format("measure 1 %s\n", losses[i]);
        send_two_measurements(script);
        assert_int_equal(take_measurement(&samples_ns, &count), 0);
        assert_true(fixture.answer.again || fixture.answer.outcome == OUTCOME_FAULT);
        assert_int_equal(fixture.client->worker.losses, 1);
        assert_int_equal(load(2, 30), 0);
        send_measurement(2);
        assert_taken(30);
        end();
        free(script);
    }
}

TEST_WORKER(scripted_worker_main)
