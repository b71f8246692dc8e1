/* A cluster of this machine and 'far', of which a test plays the hub. Include cmocka.h before. */
#ifndef AUTOTUNE_TESTS_PLAYED_NODE_H
#define AUTOTUNE_TESTS_PLAYED_NODE_H

#include "base/node.h"
#include "base/socket_packet.h"

#include "unit/test.h"

#include <sys/socket.h>

/* What the hub says to a coordinator whose socket this is. */
static inline void played_say(int hub, const char *packet)
{
    assert_int_equal(send(hub, packet, strlen(packet), MSG_NOSIGNAL), (int)strlen(packet));
}

/* A cluster of this machine and 'far'; returns the hub's end. */
static inline int played_cluster(struct nodes **nodes)
{
    struct error error;
    char number[16];
    int sockets[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sockets), 0);
    (void)snprintf(number, sizeof number, "%d", sockets[1]);
    assert_int_equal(setenv("AUTOTUNE_NODES", number, 1), 0);
    played_say(sockets[0], "{\"event\":\"nodes\",\"nodes\":[{\"host\":\"here\",\"cores\":2},"
                           "{\"host\":\"far\",\"cores\":16}]}");
    assert_int_equal(nodes_open(nodes, &error), 0);
    return sockets[0];
}

/* Takes the packet that starts a worker; returns its channel's other end. */
static inline int played_start(int hub, const char *expected)
{
    char text[512];
    int descriptor;
    ssize_t count = socket_packet_receive(hub, text, sizeof text - 1, 0, &descriptor);
    assert_true(count > 0);
    text[count] = '\0';
    assert_string_equal(text, expected);
    assert_true(descriptor >= 0);
    return descriptor;
}

#endif
