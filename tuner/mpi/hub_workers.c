#include "mpi/hub_workers.h"

#include "base/alloc.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum { READ_BYTES = 64 * 1024 };

struct hub_worker *hub_workers_add(struct hub_workers *workers, uint32_t id, int rank, int socket)
{
    struct hub_worker *worker = alloc_zeroed(1, sizeof *worker);
    *worker = (struct hub_worker){.id = id, .rank = rank, .socket = socket, .ready = true};
    *ARRAY_APPEND(workers->list, workers->count) = worker;
    return worker;
}

struct hub_worker *hub_workers_find(const struct hub_workers *workers, uint32_t id)
{
    size_t low = 0; /* ids only grow */
    size_t high = workers->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (workers->list[middle]->id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < workers->count && workers->list[low]->id == id ? workers->list[low] : NULL;
}

static void close_socket(struct hub_worker *worker)
{
    if (worker->socket >= 0)
        (void)close(worker->socket);
    worker->socket = -1;
    bytes_release(&worker->unsent);
}

static bool write_replies(struct hub_worker *worker)
{
    struct bytes *unsent = &worker->unsent;
    if (unsent->used == 0)
        return false;
    ssize_t sent = send(worker->socket, unsent->data, unsent->used, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0)
        bytes_drop(unsent, (size_t)sent);
    else if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)
        unsent->used = 0; /* nobody reads it */
    return sent > 0;
}

/* What the coordinator has for the worker. Reads no further while its node has enough to receive. */
static bool read_requests(struct peers *peers, struct hub_worker *worker)
{
    static char bytes[READ_BYTES];
    if (worker->socket < 0 || worker->ended || peers_unsent(peers, worker->rank) > HUB_UNSENT_BYTES)
        return false;
    ssize_t count = recv(worker->socket, bytes, sizeof bytes, MSG_DONTWAIT);
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
        return false;
    if (count > 0)
        peers_send(peers, worker->rank, PACKET_DATA, worker->id, bytes, (size_t)count);
    else {
        peers_send(peers, worker->rank, PACKET_CLOSE, worker->id, NULL, 0);
        close_socket(worker);
    }
    return true;
}

bool hub_workers_serve(struct hub_workers *workers, struct peers *peers)
{
    bool any = false;
    size_t kept = 0;
    for (size_t i = 0; i < workers->count; i++) {
        struct hub_worker *worker = workers->list[i];
        if (worker->socket >= 0)
            any = write_replies(worker) || any;
        if (worker->ready)
            any = read_requests(peers, worker) || any;
        if (worker->ended && worker->unsent.used == 0) {
            close_socket(worker);
            free(worker);
        } else {
            workers->list[kept++] = worker;
        }
    }
    workers->count = kept;
    return any;
}

void hub_workers_release(struct hub_workers *workers)
{
    for (size_t i = 0; i < workers->count; i++) {
        close_socket(workers->list[i]);
        free(workers->list[i]);
    }
    free(workers->list);
}

struct pollfd hub_worker_events(const struct hub_worker *worker, const struct peers *peers)
{
    bool full = peers_unsent(peers, worker->rank) > HUB_UNSENT_BYTES;
    return (struct pollfd){.fd = worker->socket,
                           .events = (short)((full || worker->ended ? 0 : POLLIN) |
                                             (worker->unsent.used > 0 ? POLLOUT : 0))};
}
