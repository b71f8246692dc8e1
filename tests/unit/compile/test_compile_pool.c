/*
 * The compile pool with scripted workers: what happens when one dies, hangs, lies or answers late,
 * at its greeting and at a job.
 */
#include "compile/compile_pool.h"

#include "base/alloc.h"
#include "base/channel.h"
#include "base/clock.h"
#include "compile/cubin_cache.h"
#include "unit/busy_machine.h"
#include "unit/failing_channel.h"
#include "unit/scratch.h"
#include "unit/scripted_worker.h"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit/played_node.h"

#include "unit/test.h"

/* Seconds after which a worker that never answers is given up. */
#define HANG_S "0.5"

static struct fixture {
    struct event_loop loop;
    struct compile_pool *pool;
    struct error error;
} fixture; /* of the test that runs */

static void start_with(const char *script, struct compile_pool_options options)
{
    options.cache_folder = "cache";
    fixture = (struct fixture){0};
    scripted_worker_script(script);
    assert_int_equal(compile_pool_new(&fixture.pool, &fixture.loop, &options, &fixture.error), 0);
}

static void start(const char *script, size_t workers, double timeout_s)
{
    start_with(script,
               (struct compile_pool_options){.workers = workers, .compile_timeout_s = timeout_s});
}

static void end(void)
{
    compile_pool_free(fixture.pool);
    event_loop_release(&fixture.loop);
    (void)unsetenv("AUTOTUNE_WORKER_TIMEOUT_S");
    fixture = (struct fixture){0};
}

static int leave(void **state)
{
    end();
    return scratch_leave(state);
}

/* A test may leave its last pool, which then ends. */
#define POOL_TEST(function) UNIT_TEST_WITH(function, scratch_enter, leave)

/* A source; it lasts until the next one of the hash is made. */
static const struct source *source_of(const char *hash, const char *text)
{
    static char path[] = "/source.cu";
    static struct source_file files[2];
    static struct source sources[2];
    size_t i = strcmp(hash, "hash") != 0;
    files[i] =
        (struct source_file){.path = path, .text = (char *)(uintptr_t)text, .bytes = strlen(text)};
    sources[i] = (struct source){.files = &files[i], .file_count = 1, .unit_count = 1};
    (void)snprintf(files[i].hash, sizeof files[i].hash, "%s", hash);
    (void)snprintf(sources[i].text_hash, sizeof sources[i].text_hash, "%s", hash);
    return &sources[i];
}

/* The options of a variant; they last until the next call. */
static const struct options *variant(int us)
{
    static char definition[32];
    static char *items[] = {definition};
    static const struct options options = {.items = items, .count = 1, .definition_count = 1};
    (void)snprintf(definition, sizeof definition, "-DUS=%d", us);
    return &options;
}

/* The job that compiles "source" for a variant. */
static struct compile_job *request(int us, bool urgent)
{
    struct compile_job *job = NULL;
    assert_int_equal(compile_pool_set_arch(fixture.pool, "sm_90", &fixture.error), 0);
    assert_int_equal(compile_pool_request(fixture.pool, source_of("hash", "source"), variant(us),
                                          urgent, &job, &fixture.error),
                     0);
    return job;
}

static void finish(const struct compile_job *job)
{
    int status = compile_pool_wait(fixture.pool, job, &fixture.error);
    if (status != 0)
        print_message("%s\n", fixture.error.message);
    assert_int_equal(status, 0);
    assert_true(job->done);
}

static void assert_compiled(const struct compile_job *job)
{
    finish(job);
    assert_string_equal(job->failure, "");
    assert_true(job->has_cubin);
    assert_int_equal(job->compilation.kernel_count, 1);
    assert_int_equal(job->compilation.kernels[0].registers, SCRIPTED_REGISTERS);
}

static void assert_failed(const struct compile_job *job, const char *failure)
{
    finish(job);
    assert_string_equal(job->failure, failure);
    assert_false(job->has_cubin);
}

static void assert_order(const char *expected)
{
    char *order = scripted_worker_order("compile");
    assert_string_equal(order, expected);
    free(order);
}

/* --- workers that behave --- */

POOL_TEST(requests_with_the_same_key_are_one_job)
{
    start("", 2, 10);
    struct compile_job *job = request(20, false);
    assert_ptr_equal(request(20, true), job);
    assert_ptr_not_equal(request(21, false), job);
    assert_compiled(job);
    assert_compiled(request(21, false));
    assert_ptr_equal(request(20, false), job);
    assert_false(job->cached);
    assert_int_equal(scripted_worker_count("compile:us=20"), 1);
    assert_int_equal(scripted_worker_count("compile"), 2);
    struct stat entry;
    assert_int_equal(stat(job->path, &entry), 0);
    assert_int_equal(compile_pool_counts(fixture.pool).written_bytes, 2 * entry.st_size);
}

POOL_TEST(what_the_compiler_refuses_is_in_the_cache_too)
{
    for (int i = 0; i < 2; i++) {
        start("compile * refuse source.cu(1): error: no", 1, 10);
        struct compile_job *job = request(20, false);
        assert_failed(job, "");
        assert_string_equal(job->compilation.log, "source.cu(1): error: no");
        end();
    }
    assert_int_equal(scripted_worker_count("compile"), 1);
}

POOL_TEST(urgent_jobs_go_first)
{
    start("", 1, 10);
    struct compile_job *jobs[] = {request(20, false), request(21, false), request(22, true),
                                  request(23, false)};
    for (size_t i = 0; i < 4; i++)
        assert_compiled(jobs[i]);
    assert_order("22 20 21 23");
}

/* Of three jobs for one worker, the one under way and one that waits are dropped. */
POOL_TEST(what_nobody_wants_any_more_is_not_compiled)
{
    start("compile:us=1 1 hang\n", 1, 10);
    struct compile_job *first = request(1, false);
    struct compile_job *second = request(2, false);
    struct compile_job *third = request(3, false);
    int64_t begin_ns = clock_ns();
    assert_int_equal(
        compile_pool_wait_until(fixture.pool, first, begin_ns + 300000000, &fixture.error), 0);
    assert_true(clock_ns() - begin_ns >= 300000000);
    compile_pool_drop(fixture.pool, first);
    compile_pool_drop(fixture.pool, second);
    assert_compiled(third);
    assert_int_equal(scripted_worker_count("compile:us=2"), 0);
    assert_compiled(request(1, false)); /* and asked for again */
    assert_compiled(request(2, false));
}

/* --- at the greeting --- */

/* The toolkit was updated while the run was under way. */
POOL_TEST(a_compiler_that_is_exchanged_during_the_run_is_named_as_such)
{
    const char *version;
    int status = 0;
    start("compiler 2- say {\"event\":\"ready\",\"nvrtc\":\"12.8\",\"architectures\":[90]}\n", 2,
          10);
    assert_int_equal(compile_pool_nvrtc_version(fixture.pool, &version, &fixture.error), 0);
    for (int i = 0; i < 3; i++)
        (void)request(i, false);
    while (status == 0)
        status = event_loop_step(&fixture.loop, EVENT_NEVER, &fixture.error);
    assert_int_equal(status, ERROR_DEVICE);
    assert_string_equal(
        fixture.error.message,
        "NVRTC or the CUDA headers changed during the run, from 13.0 to 12.8; run the "
        "same command again");
}

/* The first two are replaced; the third is the last. */
POOL_TEST(three_that_never_greet_end_the_run)
{
    static const char *const scripts[] = {
        "die 3",
        "signal 11",
        "half 0",
        "say hello",
        "without nvrtc",
        "without architectures",
        "merge {\"architectures\":[]}",
        "merge {\"event\":\"compiled\"}",
        "hang",
    };
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++) {
        const char *version;
        char script[64];
        if (strcmp(scripts[i], "hang") == 0)
            (void)setenv("AUTOTUNE_WORKER_TIMEOUT_S", HANG_S, 1);
        (void)snprintf(script, sizeof script, "compiler * %s\n", scripts[i]);
        start(script, 2, 10);
        assert_int_equal(compile_pool_nvrtc_version(fixture.pool, &version, &fixture.error),
                         ERROR_WORKER);
        assert_non_null(strstr(fixture.error.message, "`autotune worker compile`"));
        assert_int_equal(scripted_worker_count("compiler"), 3);
        end();
        (void)unlink("requests");
    }
}

POOL_TEST(one_that_dies_at_its_greeting_is_replaced)
{
    start("compiler 1-2 die 3\n", 1, 10);
    assert_compiled(request(20, false));
    assert_int_equal(scripted_worker_count("compiler"), 3);
}

/* --- at a job --- */

/* Of three jobs the second meets the script; the others must be done. */
POOL_TEST(a_job_that_costs_its_worker_fails_alone)
{
    static const char invalid[] = "the compiler sent an invalid message";
    static const struct {
        const char *script, *failure;
        double timeout_s;
    } cases[] = {
        {"compile 2 die 3\n", "the compiler ended with status 3", 10},
        {"compile 2 half 0\n", "the compiler ended with status 0", 10},
        {"compile 2 signal 11\n", "the compiler was killed by signal 11 (Segmentation fault)", 10},
        {"compile 2 signal 6\n",
         "the compiler was killed by signal 6 (Aborted), as when it would take more memory than it "
         "may",
         10},
        {"compile 2 hang\n", "the compiler did not end within 0.5 s", 0.5},
        {"compile 2 say compiled!\n", invalid, 10},
        {"compile 2 say [\"compiled\"]\n", invalid, 10},
        {"compile 2 say {\"event\":\"ready\"}\n", invalid, 10},
        {"compile 2 say {}\n", invalid, 10},
        {"compile 2 say {\"event\":\"compiled\"}\n", invalid, 10}, /* without a cubin */
        {"compile 2 error -5\n", "scripted", 10},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        start(cases[i].script, 1, cases[i].timeout_s);
        struct compile_job *jobs[] = {request(1, false), request(2, false), request(3, false)};
        assert_compiled(jobs[0]);
        assert_failed(jobs[1], cases[i].failure);
        assert_compiled(jobs[2]);
        assert_order("1 2 3");
        end();
        assert_int_equal(system("rm -rf cache requests"), 0);
    }
}

/* Each job needs a fifth of its limit in CPU time, and gets a ninth of the processor. */
POOL_TEST(a_busy_machine_is_not_the_variant_s_fault)
{
    struct busy_machine machine;
    start("compile * busy 60\n", 1, 0.3);
    (void)request(1, false);
    busy_machine_begin(&machine);
    for (int us = 1; us <= 2; us++)
        assert_compiled(request(us, false));
    assert_order("1 2");
    busy_machine_end(&machine);
}

/* A scheduler sends the last three to every process of a job; the coordinator decides what they mean. */
POOL_TEST(a_signal_from_outside_costs_nothing)
{
    static const struct {
        const char *script;
        int signal;
        const char *order;
    } cases[] = {
        {"compile:us=1 1-2 outside", SIGKILL, "1 1 1"},
        {"compile:us=1 1-2 outside", SIGUSR1, "1 1 1"},
#if !defined __SANITIZE_ADDRESS__ /* which has a handler of its own for it */
        {"compile:us=1 1-2 outside", SIGSEGV, "1 1 1"},
#endif
        {"compile 1 knock", SIGINT, "1"},
        {"compile 1 knock", SIGTERM, "1"},
        {"compile 1 knock", SIGHUP, "1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char script[64];
        (void)snprintf(script, sizeof script, "%s %d\n", cases[i].script, cases[i].signal);
        start(script, 1, 10);
        assert_compiled(request(1, false));
        assert_order(cases[i].order);
        end();
        assert_int_equal(system("rm -rf cache requests"), 0);
    }
}

POOL_TEST(one_that_could_not_be_asked_is_replaced)
{
    start("", 1, 10);
    failing_sends = 1;
    assert_compiled(request(1, false));
    assert_order("1");
}

/* As when each try takes all of the machine's memory. */
POOL_TEST(one_killed_again_and_again_is_given_up)
{
    start("compile:us=1 * signal 9\n", 1, 10);
    struct compile_job *unlucky = request(1, false);
    assert_failed(unlucky, "the compiler was killed by signal 9 (Killed)");
    assert_order("1 1 1");
}

/* It is no variant's fault. */
POOL_TEST(a_cache_that_cannot_be_written_ends_the_run)
{
    assert_int_equal(scratch_write("cache", ""), 0); /* a file in place of the folder */
    start("", 1, 10);
    struct compile_job *job = request(20, false);
    assert_int_equal(compile_pool_wait(fixture.pool, job, &fixture.error), ERROR_RECORD);
    assert_non_null(strstr(fixture.error.message, "'cache'"));
}

/* More than a socket holds, and nobody reads: the deadline holds all the same. */
POOL_TEST(a_source_that_is_not_read_does_not_block)
{
    enum { BYTES = 4 << 20 };
    struct options options = {0};
    struct compile_job *large = NULL;
    char *text = alloc_zeroed(BYTES, 1);
    memset(text, 'x', BYTES - 1);
    (void)setenv("AUTOTUNE_WORKER_TIMEOUT_S", HANG_S, 1);
    start("compiler 1 deaf\n", 1, 0.5);
    assert_int_equal(compile_pool_set_arch(fixture.pool, "sm_90", &fixture.error), 0);
    assert_int_equal(compile_pool_request(fixture.pool, source_of("large", text), &options, false,
                                          &large, &fixture.error),
                     0);
    assert_failed(large, "the compiler did not end within 0.5 s");
    assert_compiled(request(20, false));
    free(text);
}

/* --- workers on other machines --- */

#define FAR_START "{\"do\":\"start\",\"node\":1,\"worker\":0,\"role\":\"compile\"}"

static struct {
    struct nodes *nodes;
    int hub, far; /* sockets; -1: closed */
    struct compile_job *jobs[2];
} cluster;

/* A pool with one worker here and one on the node 'far'; the first two jobs are under way. */
static void start_cluster(void)
{
    cluster.hub = played_cluster(&cluster.nodes);
    start_with("compile * late 150", (struct compile_pool_options){
                                         .workers = 1,
                                         .compile_timeout_s = 10,
                                         .nodes = cluster.nodes,
                                     });
    for (int i = 0; i < 2; i++)
        cluster.jobs[i] = request(20 + i, false);
}

/* The node 'far' comes with this compiler. */
static void greet(const char *nvrtc)
{
    char *greeting =
        alloc_format("{\"event\":\"ready\",\"nvrtc\":\"%s\",\"architectures\":[90]}\n", nvrtc);
    cluster.far = played_start(cluster.hub, FAR_START);
    assert_int_equal(send(cluster.far, greeting, strlen(greeting), 0), (int)strlen(greeting));
    free(greeting);
}

/* It is given the second job, and does not answer. */
static void hold_job(void)
{
    char request_text[1024];
    start_cluster();
    greet("13.0");
    assert_compiled(cluster.jobs[0]);
    assert_true(recv(cluster.far, request_text, sizeof request_text, 0) > 0);
}

static int leave_cluster(void **state)
{
    int status = leave(state);
    (void)close(cluster.far);
    (void)close(cluster.hub);
    nodes_close(cluster.nodes);
    return status;
}

#define CLUSTER_TEST(function) UNIT_TEST_WITH(function, scratch_enter, leave_cluster)

CLUSTER_TEST(a_node_with_another_compiler_is_refused_by_name)
{
    start_cluster();
    greet("13.0+1a2b3c4d");
    assert_int_equal(compile_pool_wait(fixture.pool, cluster.jobs[1], &fixture.error),
                     ERROR_DEVICE);
    assert_non_null(strstr(fixture.error.message,
                           "node 'far' has NVRTC 13.0+1a2b3c4d, and others have 13.0 ("));
}

CLUSTER_TEST(the_job_of_a_node_that_is_lost_goes_to_another)
{
    hold_job();
    assert_false(cluster.jobs[1]->done);
    played_say(cluster.hub, "{\"event\":\"lost\",\"node\":1}");
    (void)close(cluster.far);
    cluster.far = -1;
    assert_compiled(cluster.jobs[1]);
    assert_int_equal(compile_pool_counts(fixture.pool).workers, 1);
}

CLUSTER_TEST(a_slow_node_holds_up_nobody_who_is_idle)
{
    size_t left;
    hold_job();
    assert_compiled(cluster.jobs[1]);
    assert_order("20 21");
    assert_int_equal(compile_pool_counts(fixture.pool).done, 2);
    assert_int_equal(compile_pool_share(fixture.pool, 0).jobs, 2);
    assert_int_equal(compile_pool_share(fixture.pool, 1).jobs, 0);
    assert_true(compile_pool_left_s(fixture.pool, &left) == 0);
    assert_int_equal(left, 0);
    char byte;
    assert_int_equal(recv(cluster.far, &byte, 1, 0), 0); /* it is not waited for */
    compile_pool_drop(fixture.pool, cluster.jobs[0]);
    compile_pool_drop(fixture.pool, cluster.jobs[1]);
    assert_compiled(request(22, false));
}

/* Runs the pool until this machine's worker has been asked for its own job and for the
 * one that 'far' holds. */
static void await_copy(void)
{
    while (scripted_worker_count("compile") < 2)
        assert_int_equal(event_loop_step(&fixture.loop, clock_ns() + 10000000, &fixture.error), 0);
}

CLUSTER_TEST(a_job_that_was_given_twice_is_done_once)
{
    hold_job();
    scripted_worker_script("compile * hang");
    await_copy();
    struct compiled_kernel kernel = {.entry = (char[]){"kernel"}, .registers = 32};
    const struct compilation compilation = {.cubin = (char[]){"cubin"},
                                            .cubin_bytes = 5,
                                            .log = (char[]){""},
                                            .kernels = &kernel,
                                            .kernel_count = 1};
    struct channel channel;
    size_t count;
    char *bytes = cubin_cache_entry(cluster.jobs[1]->key, &compilation, &count);
    channel_init(&channel, cluster.far, cluster.far);
    assert_int_equal(channel_send_bytes(&channel, json_pack("{s:s}", "event", "compiled"), bytes,
                                        count, &fixture.error),
                     0);
    free(bytes);
    finish(cluster.jobs[1]);
    assert_true(cluster.jobs[1]->has_cubin);
    assert_int_equal(compile_pool_counts(fixture.pool).done, 2);
    assert_int_equal(compile_pool_share(fixture.pool, 1).jobs, 1);
}

CLUSTER_TEST(a_job_that_was_given_twice_survives_one_of_the_two)
{
    hold_job();
    scripted_worker_script("compile * late 300");
    await_copy();
    played_say(cluster.hub, "{\"event\":\"lost\",\"node\":1}");
    (void)shutdown(cluster.far, SHUT_RDWR);
    assert_compiled(cluster.jobs[1]);
    assert_order("20 21");
    assert_int_equal(compile_pool_counts(fixture.pool).done, 2);
}

TEST_WORKER(scripted_worker_main)
