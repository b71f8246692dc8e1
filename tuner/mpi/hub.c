#include "mpi/hub.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/worker.h"
#include "mpi/bytes.h"
#include "mpi/coordinator.h"
#include "mpi/file_arrival.h"
#include "mpi/file_source.h"
#include "mpi/pace.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    BEAT_NS = 1000000000,
    COME_S = 60,   /* all ranks must have greeted by then */
    SILENT_S = 2,  /* then no worker of the node is to blame for anything */
    LOST_S = 10,   /* and then its work is given to others */
    GOODBYE_S = 5, /* at the end */
    READ_BYTES = 64 * 1024,
    UNSENT_BYTES = 1 << 20, /* to a node; more waits */
};

struct hub_worker {
    uint32_t id;
    int rank;
    int socket;          /* the coordinator's channel; -1: closed */
    struct bytes unsent; /* to the coordinator */
    bool ended;
};

struct hub_node {
    json_t *greeting;
    int64_t heard_ns;
    bool silent, lost, gone;
    size_t worker_count;       /* running */
    struct file_source *files; /* that it has asked for */
    struct file_arrival arrival;
};

struct hub {
    struct peers *peers;
    struct coordinator coordinator;
    struct hub_node *nodes; /* by their rank */
    int node_count;
    struct hub_worker **workers;
    size_t worker_count;
    struct pace pace;
    int64_t beat_ns;
    double lost_s, silent_s;
    char *folder;
};

static struct hub_worker *find_worker(const struct hub *hub, uint32_t id)
{
    size_t low = 0; /* ids only grow */
    size_t high = hub->worker_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (hub->workers[middle]->id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < hub->worker_count && hub->workers[low]->id == id ? hub->workers[low] : NULL;
}

static void say(struct hub *hub, const char *event, int rank)
{
    coordinator_tell(&hub->coordinator, json_pack("{s:s, s:i}", "event", event, "node", rank));
}

/* --- the start --- */

static const char *text_of(const json_t *object, const char *member)
{
    const char *text = json_string_value(json_object_get(object, member));
    return text != NULL ? text : "";
}

/* Why that rank cannot take part: an error for the coordinator, or 0. */
static int check_greeting(const struct hub *hub, int rank, struct error *error)
{
    const json_t *own = hub->nodes[0].greeting;
    const json_t *other = hub->nodes[rank].greeting;
    if (text_of(other, "error")[0] != '\0')
        return error_set(error, ERROR_DEVICE, "node '%s': %s", text_of(other, "host"),
                         text_of(other, "error"));
    if (strcmp(text_of(own, "build"), text_of(other, "build")) != 0)
        return error_set(
            error, ERROR_DEVICE,
            "node '%s' has autotune %s, and '%s' has %s; install the same on all nodes",
            text_of(other, "host"), text_of(other, "build"), text_of(own, "host"),
            text_of(own, "build"));
    return 0;
}

static int check_nodes(const struct hub *hub, struct error *error)
{
    int status = 0;
    for (int i = 0; i < hub->node_count && status == 0; i++)
        status = hub->nodes[i].greeting == NULL
                     ? error_set(error, ERROR_DEVICE, "rank %d has not answered within %g s", i,
                                 worker_timeout_s(COME_S))
                     : check_greeting(hub, i, error);
    return status;
}

static void describe_nodes(struct hub *hub)
{
    json_t *list = json_array();
    for (int i = 0; i < hub->node_count; i++)
        json_array_append(list, hub->nodes[i].greeting);
    coordinator_tell(&hub->coordinator, json_pack("{s:s, s:o}", "event", "nodes", "nodes", list));
}

/* Whether all ranks have greeted, or there is no more waiting for those that have not. */
static bool is_complete(struct hub *hub, int64_t end_ns)
{
    struct packet packet;
    int missing = 0;
    while (peers_receive(hub->peers, &packet))
        if (packet.kind == PACKET_HELLO && hub->nodes[packet.rank].greeting == NULL)
            hub->nodes[packet.rank].greeting = json_loadb(packet.bytes, packet.count, 0, NULL);
    for (int i = 0; i < hub->node_count; i++)
        missing += hub->nodes[i].greeting == NULL;
    return missing == 0 || clock_ns() >= end_ns;
}

static bool gather(struct hub *hub)
{
    struct error error;
    int64_t end_ns = clock_ns() + (int64_t)(worker_timeout_s(COME_S) * 1e9);
    while (!is_complete(hub, end_ns) && !coordinator_has_ended(&hub->coordinator))
        pace_wait(&hub->pace, peers_move(hub->peers), NULL, 0);
    for (int i = 0; i < hub->node_count; i++)
        hub->nodes[i].heard_ns = clock_ns();
    if (check_nodes(hub, &error) != 0) {
        coordinator_tell(&hub->coordinator, message_from_error(&error));
        return false;
    }
    for (int i = 1; i < hub->node_count; i++)
        peers_send(hub->peers, i, PACKET_WELCOME, 0, hub->folder, strlen(hub->folder));
    describe_nodes(hub);
    return true;
}

/* --- the coordinator's wishes --- */

/* `socket` becomes the worker's. */
static void start_worker(struct hub *hub, const json_t *request, int socket)
{
    int rank = (int)json_integer_value(json_object_get(request, "node"));
    char *text = json_dumps(request, JSON_COMPACT);
    struct hub_worker *worker = alloc_zeroed(1, sizeof *worker);
    worker->id = (uint32_t)json_integer_value(json_object_get(request, "worker"));
    worker->rank = rank > 0 && rank < hub->node_count ? rank : 0;
    worker->socket = socket;
    *ARRAY_APPEND(hub->workers, hub->worker_count) = worker;
    hub->nodes[worker->rank].worker_count++;
    if (text != NULL && worker->rank > 0)
        peers_send(hub->peers, worker->rank, PACKET_START, worker->id, text, strlen(text));
    free(text);
}

static bool take_wishes(struct hub *hub)
{
    json_t *request;
    int descriptor;
    bool any = false;
    while ((request = coordinator_receive(&hub->coordinator, &descriptor)) != NULL) {
        struct hub_worker *worker =
            find_worker(hub, (uint32_t)json_integer_value(json_object_get(request, "worker")));
        if (strcmp(text_of(request, "do"), "start") == 0 && descriptor >= 0)
            start_worker(hub, request, descriptor);
        else if (strcmp(text_of(request, "do"), "kill") == 0 && worker != NULL && !worker->ended)
            peers_send(hub->peers, worker->rank, PACKET_KILL, worker->id, NULL, 0);
        json_decref(request);
        any = true;
    }
    return any;
}

/* --- workers --- */

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
static bool read_requests(struct hub *hub, struct hub_worker *worker)
{
    static char bytes[READ_BYTES];
    if (worker->socket < 0 || worker->ended ||
        peers_unsent(hub->peers, worker->rank) > UNSENT_BYTES)
        return false;
    ssize_t count = recv(worker->socket, bytes, sizeof bytes, MSG_DONTWAIT);
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
        return false;
    if (count > 0)
        peers_send(hub->peers, worker->rank, PACKET_DATA, worker->id, bytes, (size_t)count);
    else {
        peers_send(hub->peers, worker->rank, PACKET_CLOSE, worker->id, NULL, 0);
        close_socket(worker);
    }
    return true;
}

static bool serve_workers(struct hub *hub)
{
    bool any = false;
    size_t kept = 0;
    for (size_t i = 0; i < hub->worker_count; i++) {
        struct hub_worker *worker = hub->workers[i];
        if (worker->socket >= 0)
            any = write_replies(worker) || any;
        any = read_requests(hub, worker) || any;
        if (worker->ended && worker->unsent.used == 0) {
            close_socket(worker);
            free(worker);
        } else {
            hub->workers[kept++] = worker;
        }
    }
    hub->worker_count = kept;
    return any;
}

/* The coordinator learns why before it sees the end of the worker's replies. */
static void end_worker(struct hub *hub, struct hub_worker *worker, json_t *reason)
{
    if (!worker->ended)
        hub->nodes[worker->rank].worker_count--;
    worker->ended = true;
    if (reason == NULL)
        return;
    json_object_set_new(reason, "event", json_string("ended"));
    json_object_set_new(reason, "worker", json_integer(worker->id));
    coordinator_tell(&hub->coordinator, reason);
}

/* --- the agents --- */

static void take_state(struct hub *hub, const struct packet *packet)
{
    json_t *state = json_loadb(packet->bytes, packet->count, 0, NULL);
    json_object_set_new(state, "event", json_string("state"));
    json_object_set_new(state, "worker", json_integer(packet->id));
    coordinator_tell(&hub->coordinator, state);
}

static void begin_file(struct hub_node *node, const struct packet *packet)
{
    json_t *message = json_loadb(packet->bytes, packet->count, 0, NULL);
    file_arrival_begin(&node->arrival, text_of(message, "path"));
    json_decref(message);
}

/* A file that cannot be written is missing when the coordinator looks for it. */
static void end_file(struct hub_node *node)
{
    struct error error;
    (void)file_arrival_end(&node->arrival, true, &error);
}

static void take_packet(struct hub *hub, const struct packet *packet)
{
    struct hub_node *node = &hub->nodes[packet->rank];
    struct hub_worker *worker = find_worker(hub, packet->id);
    if (worker != NULL && worker->rank != packet->rank)
        worker = NULL;
    switch (packet->kind) {
    case PACKET_DATA:
        if (worker != NULL && worker->socket >= 0)
            bytes_append(&worker->unsent, packet->bytes, packet->count);
        break;
    case PACKET_ENDED:
        if (worker != NULL)
            end_worker(hub, worker, json_loadb(packet->bytes, packet->count, 0, NULL));
        break;
    case PACKET_STATE:
        take_state(hub, packet);
        break;
    case PACKET_NEED:
        file_source_add(&node->files, packet->bytes, packet->count);
        break;
    case PACKET_FILE:
        begin_file(node, packet);
        break;
    case PACKET_FILE_BYTES:
        file_arrival_add(&node->arrival, packet->bytes, packet->count);
        break;
    case PACKET_FILE_END:
        end_file(node);
        break;
    case PACKET_BYE:
        node->gone = true;
        break;
    default:
        break;
    }
}

static void lose_node(struct hub *hub, int rank)
{
    struct hub_node *node = &hub->nodes[rank];
    node->lost = true;
    peers_send(hub->peers, rank, PACKET_END, 0, NULL, 0); /* in case it is only slow */
    (void)peers_move(hub->peers);
    peers_forget(hub->peers, rank);
    file_arrival_abandon(&node->arrival);
    say(hub, "lost", rank);
    for (size_t i = 0; i < hub->worker_count; i++)
        if (hub->workers[i]->rank == rank)
            end_worker(hub, hub->workers[i], NULL);
}

static void check_silence(struct hub *hub, int rank)
{
    struct hub_node *node = &hub->nodes[rank];
    double silence_s = (double)(clock_ns() - node->heard_ns) * 1e-9;
    bool silent = silence_s > hub->silent_s;
    if (node->lost || node->gone)
        return;
    if (silent != node->silent)
        say(hub, silent ? "silent" : "heard", rank);
    node->silent = silent;
    if (silence_s > hub->lost_s && node->worker_count > 0)
        lose_node(hub, rank);
}

static void beat(struct hub *hub)
{
    if (clock_ns() - hub->beat_ns < BEAT_NS / 4)
        return;
    hub->beat_ns = clock_ns();
    for (int i = 1; i < hub->node_count; i++) {
        check_silence(hub, i);
        if (peers_unsent(hub->peers, i) == 0)
            peers_send(hub->peers, i, PACKET_BEAT, 0, NULL, 0);
    }
}

static bool send_files(struct hub *hub)
{
    bool any = false;
    for (int i = 1; i < hub->node_count; i++)
        while (hub->nodes[i].files != NULL && !hub->nodes[i].lost &&
               peers_unsent(hub->peers, i) < UNSENT_BYTES) {
            file_source_send(&hub->nodes[i].files, hub->peers, i);
            any = true;
        }
    return any;
}

/* --- the loop --- */

static bool serve_agents(struct hub *hub)
{
    struct packet packet;
    bool any = peers_move(hub->peers);
    while (peers_receive(hub->peers, &packet)) {
        hub->nodes[packet.rank].heard_ns = clock_ns();
        take_packet(hub, &packet);
        any = true;
    }
    return send_files(hub) || any;
}

static void wait_for_something(struct hub *hub, bool moved)
{
    struct pollfd *descriptors = alloc_zeroed(hub->worker_count + 1, sizeof *descriptors);
    descriptors[0] = (struct pollfd){.fd = hub->coordinator.socket, .events = POLLIN};
    for (size_t i = 0; i < hub->worker_count; i++) {
        const struct hub_worker *worker = hub->workers[i];
        bool full = peers_unsent(hub->peers, worker->rank) > UNSENT_BYTES;
        descriptors[i + 1] =
            (struct pollfd){.fd = worker->socket,
                            .events = (short)((full || worker->ended ? 0 : POLLIN) |
                                              (worker->unsent.used > 0 ? POLLOUT : 0))};
    }
    pace_wait(&hub->pace, moved, descriptors, hub->worker_count + 1);
    free(descriptors);
}

static void serve(struct hub *hub)
{
    while (!coordinator_has_ended(&hub->coordinator)) {
        bool moved = serve_agents(hub);
        moved = take_wishes(hub) || moved;
        moved = serve_workers(hub) || moved;
        moved = coordinator_flush(&hub->coordinator) || moved;
        beat(hub);
        wait_for_something(hub, moved);
    }
}

/* Until the coordinator has read why there is no run. */
static void await_coordinator(struct hub *hub)
{
    while (!coordinator_has_ended(&hub->coordinator)) {
        (void)coordinator_flush(&hub->coordinator);
        pace_wait(&hub->pace, peers_move(hub->peers), NULL, 0);
    }
}

/* Returns whether all agents have ended their workers. */
static bool dismiss_agents(struct hub *hub)
{
    int64_t end_ns = clock_ns() + (int64_t)(worker_timeout_s(GOODBYE_S) * 1e9);
    int missing = hub->node_count - 1;
    bool lost = false;
    for (int i = 1; i < hub->node_count; i++)
        lost = lost || hub->nodes[i].lost;
    for (int i = 1; i < hub->node_count; i++)
        peers_send(hub->peers, i, PACKET_END, 0, "lost", lost ? strlen("lost") : 0);
    while (missing > 0 && clock_ns() < end_ns) {
        bool moved = serve_agents(hub);
        missing = 0;
        for (int i = 1; i < hub->node_count; i++)
            missing += !hub->nodes[i].gone && !hub->nodes[i].lost;
        pace_wait(&hub->pace, moved, NULL, 0);
    }
    return missing == 0 && !lost;
}

static void release(struct hub *hub)
{
    for (size_t i = 0; i < hub->worker_count; i++) {
        close_socket(hub->workers[i]);
        free(hub->workers[i]);
    }
    for (int i = 0; i < hub->node_count; i++) {
        json_decref(hub->nodes[i].greeting);
        file_source_free(&hub->nodes[i].files);
        file_arrival_abandon(&hub->nodes[i].arrival);
    }
    free(hub->workers);
    free(hub->nodes);
    free(hub->folder);
}

int hub_run(struct peers *peers, const struct hub_start *start, bool *orderly, struct error *error)
{
    struct hub hub = {.peers = peers,
                      .node_count = peers_count(peers),
                      .lost_s = worker_timeout_s(LOST_S),
                      .folder = getcwd(NULL, 0)};
    hub.silent_s = hub.lost_s / LOST_S * SILENT_S;
    hub.nodes = alloc_zeroed((size_t)hub.node_count, sizeof *hub.nodes);
    hub.nodes[0].greeting = json_loads(start->greeting, 0, NULL);
    int status = hub.folder == NULL
                     ? error_set_errno(error, ERROR_WORKER, "the current folder has no path")
                     : coordinator_start(&hub.coordinator, start->program, start->arguments, error);
    if (status == 0) {
        if (gather(&hub))
            serve(&hub);
        else
            await_coordinator(&hub);
        status = coordinator_exit_status(&hub.coordinator);
    }
    *orderly = dismiss_agents(&hub);
    release(&hub);
    return status;
}
