#include "base/alloc.h"
#include "base/channel.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/interrupt.h"
#include "base/json_text.h"
#include "base/worker.h"
#include "mpi/bytes.h"
#include "mpi/ranks.h"

#include <fcntl.h>
#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* --- the coordinator --- */

/* Its process and the socket to it. */
struct coordinator {
    pid_t pid;              /* 0: it has ended */
    int status;             /* as of waitpid() */
    struct channel channel; /* from it */
    struct bytes unsent;    /* to it */
    bool interrupted;       /* it has been told to end */
};

/* It inherits its end of the socket, whose number is in $AUTOTUNE_NODES for it alone. In a process group of its own,
 * since mpirun sends signals to the whole group, which would be a second one. */
static int spawn(struct coordinator *coordinator, char **arguments, int socket)
{
    posix_spawnattr_t attributes;
    char *number = alloc_format("%d", socket);
    (void)setenv("AUTOTUNE_NODES", number, 1);
    (void)posix_spawnattr_init(&attributes);
    (void)posix_spawnattr_setpgroup(&attributes, 0);
    (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    int status =
        posix_spawn(&coordinator->pid, arguments[0], NULL, &attributes, arguments, environ);
    (void)posix_spawnattr_destroy(&attributes);
    (void)unsetenv("AUTOTUNE_NODES");
    free(number);
    return status;
}

static int coordinator_start(struct coordinator *coordinator, char **arguments, struct error *error)
{
    int sockets[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) != 0)
        return error_set_errno(error, ERROR_WORKER, "cannot create a socket for the coordinator");
    (void)fcntl(sockets[0], F_SETFD, FD_CLOEXEC);
    channel_init(&coordinator->channel, sockets[0], sockets[0]);
    int status = spawn(coordinator, arguments, sockets[1]);
    (void)close(sockets[1]);
    if (status == 0)
        return 0;
    coordinator->pid = 0;
    return error_set(error, ERROR_WORKER, "cannot start '%s': %s", arguments[0],
                     error_reason(status));
}

/* Whether it has ended. A signal that ends the run is handed on to it. */
static bool coordinator_has_ended(struct coordinator *coordinator)
{
    if (coordinator->pid > 0 && waitpid(coordinator->pid, &coordinator->status, WNOHANG) != 0)
        coordinator->pid = 0;
    if (coordinator->pid > 0 && interrupt_requested() && !coordinator->interrupted) {
        sigset_t unused;
        interrupt_block(&unused); /* mpirun may send more: the hub ends when the coordinator has */
        (void)kill(coordinator->pid, SIGTERM);
        coordinator->interrupted = true;
    }
    return coordinator->pid == 0;
}

/* Sends a message, whose reference it drops, when there is room for it. */
static void coordinator_tell(struct coordinator *coordinator, json_t *message)
{
    char *text = json_dumps(message, JSON_COMPACT);
    json_decref(message);
    if (text != NULL) {
        bytes_append(&coordinator->unsent, text, strlen(text));
        bytes_append(&coordinator->unsent, "\n", 1);
    }
    free(text);
}

/* --- the hub --- */

enum {
    SILENT_S = 2,           /* then no worker of the node is to blame for anything */
    LOST_S = 10,            /* and then its work is given to others */
    GOODBYE_S = 5,          /* at the end */
    UNSENT_BYTES = 1 << 20, /* to a node; files then wait */
    PIECE_BYTES = 64 * 1024 /* of a file */
};

/* A worker on another machine. */
struct hub_worker {
    uint32_t id;
    int rank;
    struct channel channel;   /* from the coordinator */
    struct bytes unsent;      /* to the coordinator */
    char awaited[HASH_BYTES]; /* the file that its next request needs; "": none */
    int file;                 /* its descriptor; -1: none, or the node's */
    bool ended;
    bool ready; /* as poll() says: something can be read, or written again */
};

struct hub_node {
    bool silent, lost, gone;
    size_t worker_count; /* running */
    json_t *kept;        /* what its workers have been sent to keep: numbers, by hash */
    json_t *files;       /* that it has been sent, by hash */
    int file;            /* that is being sent; -1: none */
    char file_name[HASH_BYTES];
};

struct hub {
    struct peers *peers;
    struct coordinator coordinator;
    struct hub_node *nodes; /* by their rank */
    int node_count;
    struct hub_worker **workers; /* in the order of their ids */
    size_t worker_count;
    double lost_s, silent_s;
};

/* --- files for nodes --- */

static void close_file(int *file)
{
    if (*file >= 0)
        (void)close(*file);
    *file = -1;
}

/* Whether the worker's next request has to wait for a file, of which its node is sent one after another. */
static bool lacks_file(struct hub_node *node, struct hub_worker *worker)
{
    if (worker->awaited[0] == '\0')
        return false;
    if (json_object_get(node->files, worker->awaited) != NULL) {
        close_file(&worker->file);
        worker->awaited[0] = '\0';
        return false;
    }
    if (node->file < 0 && worker->file >= 0) {
        node->file = worker->file;
        worker->file = -1;
        memcpy(node->file_name, worker->awaited, sizeof node->file_name);
    }
    return true;
}

/* Sends pieces of a file. Of one that cannot be read to its end, the copy is found to have another hash. */
static bool send_file(struct hub *hub, int rank)
{
    struct hub_node *node = &hub->nodes[rank];
    struct piece piece = {0};
    char bytes[sizeof piece + PIECE_BYTES];
    struct stat status;
    bool any = false;
    if (node->file >= 0 && fstat(node->file, &status) == 0)
        piece.dates[0] = piece.dates[1] = status.st_mtim;
    memcpy(piece.name, node->file_name, sizeof piece.name);
    memcpy(bytes, &piece, sizeof piece);
    while (node->file >= 0 && !node->lost && peers_unsent(hub->peers, rank) < UNSENT_BYTES) {
        ssize_t count = read(node->file, bytes + sizeof piece, PIECE_BYTES);
        if (count > 0) {
            peers_send(hub->peers, rank, PACKET_FILE, 0, bytes, sizeof piece + (size_t)count);
        } else {
            json_object_set_new(node->files, node->file_name, json_true());
            close_file(&node->file);
        }
        any = true;
    }
    return any;
}

/* --- sockets between the coordinator and its workers on other machines --- */

static struct hub_worker *find_worker(const struct hub *hub, json_int_t id)
{
    for (size_t i = 0; i < hub->worker_count; i++)
        if (hub->workers[i]->id == id)
            return hub->workers[i];
    return NULL;
}

static void close_socket(struct hub_worker *worker)
{
    channel_release(&worker->channel);
    bytes_release(&worker->unsent);
    close_file(&worker->file);
}

static bool read_requests(struct hub *hub, struct hub_worker *worker)
{
    if (!worker->ready || worker->channel.in < 0 || worker->ended)
        return false;
    if (channel_fill_now(&worker->channel, NULL) != 1) {
        peers_send(hub->peers, worker->rank, PACKET_KILL, worker->id, NULL, 0);
        close_socket(worker);
    }
    return true;
}

/* What workers of a node are to keep goes there once, for all of them; each of them is then told its number. */
static void send_kept(struct hub *hub, const struct hub_worker *worker, const char *hash)
{
    json_t *kept = hub->nodes[worker->rank].kept;
    const json_t *known = json_object_get(kept, hash);
    uint32_t number =
        (uint32_t)(known != NULL ? (size_t)json_integer_value(known) : json_object_size(kept));
    if (known == NULL) {
        json_object_set_new(kept, hash, json_integer(number));
        peers_send(hub->peers, worker->rank, PACKET_KEEP, 0, worker->channel.buffer,
                   worker->channel.taken);
    }
    peers_send(hub->peers, worker->rank, PACKET_KEPT, worker->id, &number, sizeof number);
}

/* Sends the requests that are complete and may be sent. */
static void send_requests(struct hub *hub, struct hub_worker *worker)
{
    struct channel *channel = &worker->channel;
    json_t *message;
    while (!lacks_file(&hub->nodes[worker->rank], worker) &&
           channel_next_whole(channel, &message, NULL) == 1) {
        const char *kept = json_text_member(message, "keep");
        const char *file = json_text_member(message, "file");
        if (kept[0] != '\0') {
            send_kept(hub, worker, kept);
        } else if (file[0] != '\0') {
            worker->file = channel_descriptor(channel);
            if (worker->file >= 0)
                (void)snprintf(worker->awaited, sizeof worker->awaited, "%s", file);
        } else {
            peers_send(hub->peers, worker->rank, PACKET_DATA, worker->id, channel->buffer,
                       channel->taken);
        }
        json_decref(message);
    }
}

static void drop_ended(struct hub *hub)
{
    size_t kept = 0;
    for (size_t i = 0; i < hub->worker_count; i++) {
        struct hub_worker *worker = hub->workers[i];
        if (worker->ended && worker->unsent.count == 0) {
            close_socket(worker);
            free(worker);
        } else {
            hub->workers[kept++] = worker;
        }
    }
    hub->worker_count = kept;
}

static void say(struct hub *hub, const char *event, int rank)
{
    coordinator_tell(&hub->coordinator, json_pack("{s:s, s:i}", "event", event, "node", rank));
}

/* --- the start --- */

/* Whether all ranks can take part: they have the same programs. */
static int check_nodes(const json_t *greetings, struct error *error)
{
    const json_t *own = json_array_get(greetings, 0);
    size_t rank;
    json_t *other;
    json_array_foreach(greetings, rank, other)
    {
        if (json_text_member(other, "error")[0] != '\0')
            return error_set(error, ERROR_DEVICE, "node '%s': %s", json_text_member(other, "host"),
                             json_text_member(other, "error"));
        if (strcmp(json_text_member(own, "build"), json_text_member(other, "build")) != 0)
            return error_set(
                error, ERROR_DEVICE,
                "node '%s' has autotune %s, and '%s' has %s; install the same on all nodes",
                json_text_member(other, "host"), json_text_member(other, "build"),
                json_text_member(own, "host"), json_text_member(own, "build"));
    }
    return 0;
}

/* --- the coordinator's wishes --- */

/* `socket` becomes the worker's. */
static void start_worker(struct hub *hub, const json_t *request, int socket)
{
    int rank = (int)json_integer_value(json_object_get(request, "node"));
    if (rank <= 0 || rank >= hub->node_count || socket < 0) {
        close_file(&socket);
        return;
    }
    struct hub_worker *worker = alloc_zeroed(1, sizeof *worker);
    *worker =
        (struct hub_worker){.id = (uint32_t)json_integer_value(json_object_get(request, "worker")),
                            .rank = rank,
                            .file = -1,
                            .ready = true};
    channel_init(&worker->channel, socket, socket);
    *ARRAY_APPEND(hub->workers, hub->worker_count) = worker;
    hub->nodes[rank].worker_count++;
    peers_send(hub->peers, rank, PACKET_START, worker->id, hub->coordinator.channel.buffer,
               hub->coordinator.channel.taken);
}

static bool take_wishes(struct hub *hub)
{
    struct channel *channel = &hub->coordinator.channel;
    json_t *request;
    bool any = false;
    (void)channel_fill_now(channel, NULL); /* at its end, the process's is near */
    while (channel_next_whole(channel, &request, NULL) == 1) {
        struct hub_worker *worker =
            find_worker(hub, json_integer_value(json_object_get(request, "worker")));
        if (strcmp(json_text_member(request, "do"), "start") == 0)
            start_worker(hub, request, channel_descriptor(channel));
        else if (worker != NULL && !worker->ended)
            peers_send(hub->peers, worker->rank, PACKET_KILL, worker->id, NULL, 0);
        json_decref(request);
        any = true;
    }
    return any;
}

/* --- the agents --- */

static void end_worker(struct hub *hub, struct hub_worker *worker)
{
    if (!worker->ended)
        hub->nodes[worker->rank].worker_count--;
    worker->ended = true;
}

/* The coordinator learns how a worker has ended before it sees the end of its replies. */
static void take_packet(struct hub *hub, const struct packet *packet)
{
    struct hub_worker *worker = find_worker(hub, packet->id);
    if (packet->kind == PACKET_ENDED || packet->kind == PACKET_STATE)
        bytes_append(&hub->coordinator.unsent, packet->bytes, packet->count);
    if (packet->kind == PACKET_BYE)
        hub->nodes[packet->rank].gone = true;
    else if (packet->kind == PACKET_ENDED && worker != NULL)
        end_worker(hub, worker);
    else if (packet->kind == PACKET_DATA && worker != NULL && worker->channel.in >= 0)
        bytes_append(&worker->unsent, packet->bytes, packet->count);
}

static void lose_node(struct hub *hub, int rank)
{
    hub->nodes[rank].lost = true;
    peers_send(hub->peers, rank, PACKET_END, 0, NULL, 0); /* in case it is only slow */
    (void)peers_move(hub->peers);
    peers_forget(hub->peers, rank);
    say(hub, "lost", rank);
    for (size_t i = 0; i < hub->worker_count; i++)
        if (hub->workers[i]->rank == rank)
            end_worker(hub, hub->workers[i]);
}

static void check_silence(struct hub *hub, int rank)
{
    struct hub_node *node = &hub->nodes[rank];
    double silence_s = peers_silence_s(hub->peers, rank);
    bool silent = silence_s > hub->silent_s;
    if (node->lost || node->gone)
        return;
    if (silent != node->silent)
        say(hub, silent ? "silent" : "heard", rank);
    node->silent = silent;
    if (silence_s > hub->lost_s && node->worker_count > 0)
        lose_node(hub, rank);
}

/* --- the loop --- */

static bool serve_agents(struct hub *hub)
{
    struct packet packet;
    bool any = peers_move(hub->peers);
    while (peers_receive(hub->peers, &packet)) {
        take_packet(hub, &packet);
        any = true;
    }
    for (int i = 1; i < hub->node_count; i++)
        any |= send_file(hub, i);
    return any;
}

static bool serve_coordinator(struct hub *hub)
{
    bool any = take_wishes(hub);
    for (size_t i = 0; i < hub->worker_count; i++) {
        struct hub_worker *worker = hub->workers[i];
        any |= bytes_write(&worker->unsent, worker->channel.out) | read_requests(hub, worker);
        send_requests(hub, worker);
    }
    any |= bytes_write(&hub->coordinator.unsent, hub->coordinator.channel.out);
    drop_ended(hub);
    return any;
}

static void wait_for_something(struct hub *hub, bool moved)
{
    struct pollfd *descriptors = alloc_zeroed(hub->worker_count + 1, sizeof *descriptors);
    descriptors[0] = (struct pollfd){.fd = hub->coordinator.channel.in, .events = POLLIN};
    for (size_t i = 0; i < hub->worker_count; i++) {
        const struct hub_worker *worker = hub->workers[i];
        descriptors[i + 1] =
            (struct pollfd){.fd = worker->channel.in,
                            .events = (short)((worker->ended ? 0 : POLLIN) |
                                              (worker->unsent.count > 0 ? POLLOUT : 0))};
    }
    peers_wait(hub->peers, moved, descriptors, hub->worker_count + 1);
    for (size_t i = 0; i < hub->worker_count; i++)
        hub->workers[i]->ready = descriptors[i + 1].revents != 0;
    free(descriptors);
}

static void serve(struct hub *hub)
{
    while (!coordinator_has_ended(&hub->coordinator)) {
        bool moved = serve_agents(hub);
        moved = serve_coordinator(hub) || moved;
        for (int i = 1; i < hub->node_count; i++)
            check_silence(hub, i);
        wait_for_something(hub, moved);
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
        peers_wait(hub->peers, moved, NULL, 0);
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
        json_decref(hub->nodes[i].kept);
        json_decref(hub->nodes[i].files);
        close_file(&hub->nodes[i].file);
    }
    channel_release(&hub->coordinator.channel);
    bytes_release(&hub->coordinator.unsent);
    free(hub->workers);
    free(hub->nodes);
}

int hub_run(struct peers *peers, char **arguments, json_t *greetings, bool *orderly,
            struct error *error)
{
    struct hub hub = {.peers = peers,
                      .node_count = peers_count(peers),
                      .coordinator.channel = {.in = -1, .out = -1},
                      .lost_s = worker_timeout_s(LOST_S)};
    hub.silent_s = hub.lost_s / LOST_S * SILENT_S;
    hub.nodes = alloc_zeroed((size_t)hub.node_count, sizeof *hub.nodes);
    for (int i = 0; i < hub.node_count; i++)
        hub.nodes[i] = (struct hub_node){.kept = json_object(), .files = json_object(), .file = -1};
    int status = coordinator_start(&hub.coordinator, arguments, error);
    if (status == 0) {
        coordinator_tell(&hub.coordinator,
                         check_nodes(greetings, error) == 0
                             ? json_pack("{s:s, s:O}", "event", "nodes", "nodes", greetings)
                             : message_from_error(error));
        serve(&hub);
        status = hub.coordinator.status;
        status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    }
    *orderly = dismiss_agents(&hub);
    release(&hub);
    return status;
}
