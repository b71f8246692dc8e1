#include "base/node.h"

#include "base/channel.h"
#include "base/clock.h"
#include "base/worker.h"

#include "unit/played_node.h"
#include "unit/test.h"

#include <unistd.h>

UNIT_TEST(test_without_autotune_mpi)
{
    struct error error;
    struct nodes *nodes;
    assert_int_equal(unsetenv("AUTOTUNE_NODES"), 0);
    assert_int_equal(nodes_open(&nodes, &error), 0);
    assert_null(nodes);
    assert_int_equal(nodes_count(nodes), 0);
    assert_null(nodes_at(nodes, 3));
    assert_true(node_is_here(NULL));
}

UNIT_TEST(test_nodes)
{
    struct nodes *nodes;
    char text[NODE_SUFFIX_BYTES];
    int hub = played_cluster(&nodes);
    assert_null(getenv("AUTOTUNE_NODES"));
    assert_int_equal(nodes_count(nodes), 2);
    assert_true(node_is_here(nodes_at(nodes, 0)));
    assert_false(node_is_here(nodes_at(nodes, 1)));
    assert_int_equal(nodes_at(nodes, 1)->cores, 16);
    assert_string_equal(node_suffix(nodes_at(nodes, 1), text), " of node 'far'");
    nodes_close(nodes);
    (void)close(hub);
}

UNIT_TEST(test_refused)
{
    struct error error;
    struct nodes *nodes;
    char number[16];
    int sockets[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
    (void)snprintf(number, sizeof number, "%d", sockets[1]);
    assert_int_equal(setenv("AUTOTUNE_NODES", number, 1), 0);
    played_say(sockets[0], "{\"event\":\"error\",\"code\":-4,\"message\":\"node 'far' is old\"}");
    assert_int_equal(nodes_open(&nodes, &error), ERROR_DEVICE);
    assert_string_equal(error.message, "node 'far' is old");
    (void)close(sockets[0]);
    assert_int_equal(setenv("AUTOTUNE_NODES", "x", 1), 0);
    assert_int_equal(nodes_open(&nodes, &error), ERROR_USAGE);
}

UNIT_TEST(test_worker)
{
    struct error error;
    struct nodes *nodes;
    struct worker worker;
    char reason[WORKER_REASON_BYTES];
    char byte;
    int hub = played_cluster(&nodes);
    assert_int_equal(worker_start(&worker, nodes_at(nodes, 1), "device", "7", &error), 0);
    assert_true(worker_is_running(&worker));
    int far = played_start(hub, "{\"do\":\"start\",\"node\":1,\"worker\":0,\"role\":\"device\","
                                "\"argument\":\"7\"}");
    assert_int_equal(channel_send(&worker.channel, json_pack("{}"), &error), 0);
    assert_int_equal(read(far, &byte, 1), 1);
    assert_int_equal(byte, '{');
    played_say(hub, "{\"event\":\"state\",\"worker\":0,\"starved_ns\":70,\"stopped\":true}");
    played_say(hub, "{\"event\":\"state\",\"worker\":0,\"starved_ns\":5,\"stopped\":false}");
    assert_int_equal(worker_starved_ns(&worker), 75);
    assert_int_equal(worker_starved_ns(&worker), 0);
    assert_false(worker_is_stopped(&worker));
    played_say(hub, "{\"event\":\"silent\",\"node\":1}");
    assert_true(worker_is_stopped(&worker)); /* whatever it misses, it is not at fault */
    played_say(hub, "{\"event\":\"heard\",\"node\":1}");
    assert_false(worker_is_stopped(&worker));
    played_say(hub, "{\"event\":\"ended\",\"worker\":0,\"reason\":\"was killed by signal 11\"}");
    assert_false(worker_reap(&worker, reason));
    assert_string_equal(reason, "was killed by signal 11");
    assert_false(worker_is_running(&worker));
    assert_int_equal(read(far, &byte, 1), 1); /* '}', the line's end, and the channel's */
    assert_int_equal(read(far, &byte, 1), 1);
    assert_int_equal(read(far, &byte, 1), 0);
    nodes_close(nodes);
    (void)close(far);
    (void)close(hub);
}

UNIT_TEST(test_killed_worker)
{
    struct error error;
    struct nodes *nodes;
    struct worker worker;
    char text[64] = "";
    int hub = played_cluster(&nodes);
    assert_int_equal(worker_start(&worker, nodes_at(nodes, 1), "compile", NULL, &error), 0);
    int far = played_start(hub, "{\"do\":\"start\",\"node\":1,\"worker\":0,\"role\":\"compile\"}");
    worker_kill(&worker);
    assert_true(recv(hub, text, sizeof text - 1, 0) > 0);
    assert_string_equal(text, "{\"do\":\"kill\",\"worker\":0}\n");
    assert_false(worker_has_ended(&worker));
    played_say(hub, "{\"event\":\"ended\",\"worker\":0,\"reason\":\"was killed\",\"killed\":true}");
    assert_true(worker_has_ended(&worker));
    assert_false(worker_is_running(&worker));
    nodes_close(nodes);
    (void)close(far);
    (void)close(hub);
}

UNIT_TEST(test_lost_node)
{
    struct error error;
    struct nodes *nodes;
    struct worker worker;
    char reason[WORKER_REASON_BYTES];
    int hub = played_cluster(&nodes);
    assert_int_equal(worker_start(&worker, nodes_at(nodes, 1), "compile", NULL, &error), 0);
    played_say(hub, "{\"event\":\"lost\",\"node\":1}");
    assert_true(worker_reap(&worker, reason)); /* as if killed from outside */
    assert_string_equal(reason, "was lost with node 'far'");
    assert_int_equal(worker_start(&worker, nodes_at(nodes, 1), "compile", NULL, &error),
                     ERROR_WORKER);
    assert_string_equal(error.message, "node 'far' is lost");
    (void)close(hub);
    nodes_close(nodes);
}

UNIT_TEST(test_lost_hub)
{
    struct error error;
    struct nodes *nodes;
    struct worker worker;
    int hub = played_cluster(&nodes);
    assert_int_equal(worker_start(&worker, nodes_at(nodes, 1), "compile", NULL, &error), 0);
    (void)close(hub);
    assert_true(worker_stop(&worker));
    assert_true(nodes_at(nodes, 1)->lost);
    nodes_close(nodes);
}
