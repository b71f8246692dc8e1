/*
 * usage: mpirun -n 2 messages [BYTES]
 *
 * What a message between two ranks costs: rank 1 sends back what it gets, as an agent passes on what a worker answers.
 * Prints the time of one there and back, alone and with 1,000 under way, and the processor time that rank 0 needs for it.
 */
#include "base/clock.h"
#include "mpi/pace.h"
#include "mpi/peers.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { BYTES = 300, ALONE = 2000, MANY = 200000, UNDER_WAY = 1000, BYTES_MOST = 1 << 20 };

static char bytes[BYTES_MOST];

static void echo(struct peers *peers)
{
    struct packet packet;
    struct pace pace = {0};
    for (;;) {
        bool moved = peers_move(peers);
        while (peers_receive(peers, &packet)) {
            if (packet.kind == PACKET_END)
                return;
            peers_send(peers, 0, PACKET_DATA, 0, packet.bytes, packet.count);
            moved = true;
        }
        pace_wait(&pace, moved, NULL, 0);
    }
}

/* Sends `count` packets, of which `under_way` have not come back. */
static void send_all(struct peers *peers, size_t size, int count, int under_way, const char *what)
{
    struct packet packet;
    struct pace pace = {0};
    int sent = 0;
    int back = 0;
    int64_t begin_ns = clock_ns();
    clock_t begin = clock();
    while (back < count) {
        for (; sent < count && sent - back < under_way; sent++)
            peers_send(peers, 1, PACKET_DATA, 0, bytes, size);
        bool moved = peers_move(peers);
        for (; peers_receive(peers, &packet); back++)
            moved = true;
        pace_wait(&pace, moved, NULL, 0);
    }
    printf("%s: %.2f us there and back, %.2f us of processor time at rank 0\n", what,
           (double)(clock_ns() - begin_ns) * 1e-3 / count,
           (double)(clock() - begin) * 1e6 / CLOCKS_PER_SEC / count);
}

int main(int argc, char **argv)
{
    struct peers *peers;
    struct error error;
    size_t size = argc > 1 ? (size_t)strtoul(argv[1], NULL, 10) : BYTES;
    if (peers_new(&peers, &argc, &argv, &error) != 0 || size > BYTES_MOST)
        return 1;
    if (peers_rank(peers) == 1) {
        echo(peers);
    } else if (peers_rank(peers) == 0) {
        send_all(peers, size, ALONE, 1, "alone");
        send_all(peers, size, MANY, UNDER_WAY, "1,000 under way");
        peers_send(peers, 1, PACKET_END, 0, NULL, 0);
        while (peers_unsent(peers, 1) > 0)
            (void)peers_move(peers);
    }
    peers_free(peers);
    return 0;
}
