/* Packets on a SOCK_SEQPACKET socket, with which a process can hand another one a descriptor. */
#ifndef AUTOTUNE_SOCKET_PACKET_H
#define AUTOTUNE_SOCKET_PACKET_H

#include <stddef.h>
#include <sys/types.h>

/* Sends the bytes, and a copy of the descriptor unless that is negative; waits until there is room.
 * Returns 0, or -1 with errno. */
int socket_packet_send(int socket, const char *bytes, size_t count, int descriptor);

/* Receives a packet. `*descriptor` is the one that came with it, which the caller then owns, or -1.
 * `flags` are those of recvmsg(), as is the result. */
ssize_t socket_packet_receive(int socket, void *bytes, size_t capacity, int flags, int *descriptor);

#endif
