/* The locks of a cluster's GPUs, with a hub that a child process plays. */
#include "tune/fleet.h"

#include "base/alloc.h"
#include "base/channel.h"
#include "base/json_text.h"

#include "unit/played_node.h"
#include "unit/test.h"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

enum { GPUS = 3, WORKERS = 32, SILENT_S = 10 };

/* What the hub has of its workers. */
static struct played_worker {
    char uuid[8]; /* whose lock it takes; "": it is a device worker */
    struct channel channel;
} workers[WORKERS];

static void say_of_lock(struct played_worker *worker, const char *event)
{
    (void)channel_send(&worker->channel, json_pack("{s:s}", "event", event), NULL);
}

static void play_start(const json_t *message, int descriptor, int tries)
{
    json_int_t id = json_integer_value(json_object_get(message, "worker"));
    struct played_worker *worker = &workers[id];
    channel_init(&worker->channel, descriptor, descriptor);
    if (strcmp(json_text_member(message, "role"), "lock") != 0)
        return;
    (void)snprintf(worker->uuid, sizeof worker->uuid, "%s", json_text_member(message, "argument"));
    say_of_lock(worker, worker->uuid[0] == 'B' && tries == 0 ? "busy" : "held");
}

/* Another run has the lock of B, and waits for that of C before it lets go. */
static void play_hub(int hub)
{
    struct channel channel;
    struct error error;
    json_t *message;
    int kills_of_c = 0;
    channel_init(&channel, hub, hub);
    (void)alarm(SILENT_S);
    for (;;) {
        while (channel_next(&channel, &message, &error) == 0) {
            struct pollfd readable = {.fd = hub, .events = POLLIN};
            (void)poll(&readable, 1, -1);
            if (channel_fill_now(&channel, &error) != 1)
                _exit(0);
        }
        json_int_t id = json_integer_value(json_object_get(message, "worker"));
        if (strcmp(json_text_member(message, "do"), "start") == 0) {
            play_start(message, channel_descriptor(&channel), kills_of_c);
        } else {
            char *ended = alloc_format(
                "{\"event\":\"ended\",\"worker\":%d,\"reason\":\"was killed\"}", (int)id);
            played_say(hub, ended);
            free(ended);
            if (workers[id].uuid[0] == 'C' && kills_of_c++ == 0)
                for (size_t i = 0; i < WORKERS; i++)
                    if (workers[i].uuid[0] == 'B')
                        say_of_lock(&workers[i], "held");
        }
        json_decref(message);
    }
}

static void ignore(void *user, const struct error *notice)
{
}

UNIT_TEST(two_runs_never_wait_for_each_other)
{
    struct error error;
    struct nodes *nodes;
    struct event_loop loop = {0};
    struct fleet_gpu *gpus = alloc_zeroed(GPUS, sizeof *gpus);
    struct fleet fleet = {.gpus = gpus, .count = GPUS};
    const struct fleet_notice notice = {ignore, NULL};
    int64_t waited_ns;
    int status;
    int hub = played_cluster(&nodes);
    pid_t child = fork();
    if (child == 0) {
        nodes_close(nodes);
        play_hub(hub);
    }
    (void)close(hub);
    for (int i = 0; i < GPUS; i++) {
        gpus[i] = (struct fleet_gpu){.node = nodes_at(nodes, 1), .lock.file = -1};
        (void)snprintf(gpus[i].gpu.uuid, sizeof gpus[i].gpu.uuid, "%c", "CAB"[i]);
        assert_int_equal(device_client_new(&gpus[i].client, gpus[i].node, i, &loop, &error), 0);
    }
    assert_int_equal(fleet_lock(&fleet, false, &notice, &waited_ns, &error), 0);
    for (int i = 0; i < GPUS; i++)
        assert_true(worker_is_running(&gpus[i].holder));
    fleet_release(&fleet);
    nodes_close(nodes);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    event_loop_release(&loop);
}
