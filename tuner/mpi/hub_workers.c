#include "mpi/hub_workers.h"

#include "base/alloc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
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
    bytes_release(&worker->requests);
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

/* Whether the node keeps that already; from now on, it does. */
static bool keeps(struct hub_workers *workers, int rank, const char *hash)
{
    char *name = alloc_format("%d %s", rank, hash);
    if (workers->kept == NULL)
        workers->kept = json_object();
    bool known = json_object_get(workers->kept, name) != NULL;
    json_object_set_new(workers->kept, name, json_true());
    free(name);
    return known;
}

/* Sends the requests that are complete. What several workers of a node are to keep goes there once: from then
 * on, its name alone, {"keep":HASH}. */
static void send_requests(struct hub_workers *workers, struct peers *peers,
                          struct hub_worker *worker)
{
    json_t *message;
    size_t line;
    size_t whole;
    while (bytes_message(&worker->requests, &message, &line, &whole)) {
        const char *hash = json_string_value(json_object_get(message, "keep"));
        if (hash != NULL && keeps(workers, worker->rank, hash)) {
            char *text = alloc_format("{\"keep\":\"%s\"}\n", hash);
            peers_send(peers, worker->rank, PACKET_DATA, worker->id, text, strlen(text));
            free(text);
        } else {
            peers_send(peers, worker->rank, PACKET_DATA, worker->id, worker->requests.data, whole);
        }
        json_decref(message);
        bytes_drop(&worker->requests, whole);
    }
}

/* What the coordinator has for the worker. Reads no further while its node has enough to receive. */
static bool read_requests(struct hub_workers *workers, struct peers *peers,
                          struct hub_worker *worker)
{
    if (worker->socket < 0 || worker->ended || peers_unsent(peers, worker->rank) > HUB_UNSENT_BYTES)
        return false;
    char *room = bytes_room(&worker->requests, READ_BYTES);
    ssize_t count = recv(worker->socket, room, READ_BYTES, MSG_DONTWAIT);
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
        return false;
    if (count > 0) {
        worker->requests.used += (size_t)count;
        send_requests(workers, peers, worker);
    } else {
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
            any = read_requests(workers, peers, worker) || any;
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
    json_decref(workers->kept);
}

struct pollfd hub_worker_events(const struct hub_worker *worker, const struct peers *peers)
{
    bool full = peers_unsent(peers, worker->rank) > HUB_UNSENT_BYTES;
    return (struct pollfd){.fd = worker->socket,
                           .events = (short)((full || worker->ended ? 0 : POLLIN) |
                                             (worker->unsent.used > 0 ? POLLOUT : 0))};
}
