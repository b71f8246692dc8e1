/* A cluster of this machine and 'far', of which a test plays the hub. */
#ifndef AUTOTUNE_TESTS_PLAYED_NODE_H
#define AUTOTUNE_TESTS_PLAYED_NODE_H

#include "base/channel.h"
#include "base/node.h"

#include "unit/test.h"

#include <sys/socket.h>

/* What the hub says to a coordinator whose socket this is. */
static inline void played_say(int hub, const char *message)
{
    struct channel channel = {.in = hub, .out = hub};
    assert_int_equal(channel_send(&channel, json_loads(message, 0, NULL), NULL), 0);
}

/* A cluster of this machine and 'far'; returns the hub's end. */
static inline int played_cluster(struct nodes **nodes)
{
    struct error error;
    char number[16];
    int sockets[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
    (void)snprintf(number, sizeof number, "%d", sockets[1]);
    assert_int_equal(setenv("AUTOTUNE_NODES", number, 1), 0);
    played_say(sockets[0], "{\"event\":\"nodes\",\"nodes\":[{\"host\":\"here\",\"cores\":2},"
                           "{\"host\":\"far\",\"cores\":16}]}");
    assert_int_equal(nodes_open(nodes, &error), 0);
    return sockets[0];
}

/* Takes the message that starts a worker; returns its channel's other end. */
static inline int played_start(int hub, const char *expected)
{
    struct channel channel = {.in = hub, .out = hub};
    json_t *message = NULL;
    struct error error;
    while (channel_next(&channel, &message, &error) == 0)
        assert_int_equal(channel_fill_now(&channel, &error), 1);
    char *text = json_dumps(message, JSON_COMPACT);
    assert_string_equal(text, expected);
    int descriptor = channel_descriptor(&channel);
    assert_true(descriptor >= 0);
    free(text);
    json_decref(message);
    channel.in = channel.out = -1; /* stays the caller's */
    channel_release(&channel);
    return descriptor;
}

#endif
