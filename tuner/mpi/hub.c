#include "mpi/hub.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/json_text.h"
#include "base/socket_packet.h"
#include "base/worker.h"
#include "mpi/bytes.h"
#include "mpi/peers.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* --- the coordinator --- */

/* Its process and the socket to it. Signals to the hub that end a run are handed on to it. */
struct coordinator {
    pid_t pid; /* 0: it has ended */
    int socket;
    int status;     /* as of waitpid() */
    char **packets; /* to be sent to it */
    size_t packet_count;
};

enum { DESCRIPTOR = 3, PACKET_BYTES = 64 * 1024 };

/* For the signal handler. */
static volatile sig_atomic_t coordinator_pid;

static const int signals[] = {SIGINT, SIGTERM, SIGHUP};

static void hand_on(int number)
{
    int kept = errno;
    if (coordinator_pid > 0)
        (void)kill((pid_t)coordinator_pid, number);
    errno = kept;
}

/* $AUTOTUNE_NODES for the coordinator alone: the other end of the socket is its descriptor 3. In a
 * process group of its own, since mpirun sends signals to the whole group, which would be a second
 * one. */
static int spawn(struct coordinator *coordinator, const char *program, char **arguments, int socket)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    (void)setenv("AUTOTUNE_NODES", "3", 1);
    (void)posix_spawn_file_actions_init(&actions);
    (void)posix_spawnattr_init(&attributes);
    (void)posix_spawn_file_actions_adddup2(&actions, socket, DESCRIPTOR);
    (void)posix_spawnattr_setpgroup(&attributes, 0);
    (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    int status = posix_spawn(&coordinator->pid, program, &actions, &attributes, arguments, environ);
    (void)posix_spawn_file_actions_destroy(&actions);
    (void)posix_spawnattr_destroy(&attributes);
    (void)unsetenv("AUTOTUNE_NODES");
    return status;
}

static int coordinator_start(struct coordinator *coordinator, const char *program, char **arguments,
                             struct error *error)
{
    int sockets[2];
    *coordinator = (struct coordinator){.socket = -1};
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) != 0)
        return error_set_errno(error, ERROR_WORKER, "cannot create a socket for the coordinator");
    if (sockets[1] == DESCRIPTOR) { /* dup2() onto itself would leave it close-on-exec */
        int other = fcntl(sockets[1], F_DUPFD_CLOEXEC, DESCRIPTOR + 1);
        (void)close(sockets[1]);
        sockets[1] = other;
    }
    int status = spawn(coordinator, program, arguments, sockets[1]);
    (void)close(sockets[1]);
    coordinator->socket = sockets[0];
    if (status != 0) {
        coordinator->pid = 0;
        return error_set(error, ERROR_WORKER, "cannot start '%s': %s", program,
                         error_reason(status));
    }
    coordinator_pid = (sig_atomic_t)coordinator->pid;
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        struct sigaction action = {.sa_handler = hand_on, .sa_flags = SA_RESTART};
        (void)sigaction(signals[i], &action, NULL);
    }
    return 0;
}

static bool coordinator_has_ended(struct coordinator *coordinator)
{
    if (coordinator->pid > 0 && waitpid(coordinator->pid, &coordinator->status, WNOHANG) != 0) {
        coordinator_pid = 0;
        coordinator->pid = 0;
    }
    return coordinator->pid == 0;
}

static int coordinator_exit_status(const struct coordinator *coordinator)
{
    return WIFSIGNALED(coordinator->status) ? 128 + WTERMSIG(coordinator->status)
                                            : WEXITSTATUS(coordinator->status);
}

/* Sends what can be sent without waiting. */
static bool coordinator_flush(struct coordinator *coordinator)
{
    size_t sent = 0;
    while (sent < coordinator->packet_count) {
        char *text = coordinator->packets[sent];
        ssize_t count = send(coordinator->socket, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
            break;
        free(text); /* any other failure: it has gone, and needs none */
        sent++;
    }
    coordinator->packet_count -= sent;
    if (sent > 0)
        memmove(coordinator->packets, coordinator->packets + sent,
                coordinator->packet_count * sizeof *coordinator->packets);
    return sent > 0;
}

/* Sends a packet, or keeps it until coordinator_flush() can. Drops the reference. */
static void coordinator_tell(struct coordinator *coordinator, json_t *packet)
{
    char *text = json_dumps(packet, JSON_COMPACT);
    json_decref(packet);
    if (text != NULL)
        *ARRAY_APPEND(coordinator->packets, coordinator->packet_count) = text;
    (void)coordinator_flush(coordinator);
}

/* The next packet, a new reference, with the descriptor that came with it or -1; NULL if there is none. */
static json_t *coordinator_receive(struct coordinator *coordinator, int *descriptor)
{
    static char bytes[PACKET_BYTES];
    ssize_t count =
        socket_packet_receive(coordinator->socket, bytes, sizeof bytes, MSG_DONTWAIT, descriptor);
    return count > 0 ? json_loadb(bytes, (size_t)count, 0, NULL) : NULL;
}

/* --- the hub --- */

enum {
    BEAT_NS = 1000000000,
    COME_S = 60,            /* all ranks must have greeted by then */
    SILENT_S = 2,           /* then no worker of the node is to blame for anything */
    LOST_S = 10,            /* and then its work is given to others */
    GOODBYE_S = 5,          /* at the end */
    UNSENT_BYTES = 1 << 20, /* to a node; what comes from the coordinator then waits */
    READ_BYTES = 64 * 1024,
    PIECE_BYTES = 256 * 1024 /* of a file */
};

/* A worker on another machine. */
struct hub_worker {
    uint32_t id;
    int rank;
    int socket;            /* the coordinator's channel; -1: closed */
    struct bytes requests; /* from the coordinator, not yet sent */
    struct bytes unsent;   /* to the coordinator */
    size_t awaited;        /* so many files its node must have before it gets the next request; */
    struct bytes refusal;  /* or the answer to that, if the node cannot have them */
    bool ended;
    bool ready; /* as poll() says: something can be read, or written again */
};

/* A file for a node: any number of PACKET_FILE, then PACKET_FILE_END. */
struct hub_file {
    char *name;     /* NULL: the node could not write it */
    int descriptor; /* -1: it has been sent */
};

struct hub_node {
    json_t *greeting;
    int64_t heard_ns;
    bool silent, lost, gone;
    size_t worker_count;    /* running */
    json_t *kept;           /* what its workers have been sent to keep: numbers, by hash */
    struct hub_file *files; /* in the order in which they are sent */
    size_t file_count, files_sent, files_written;
};

struct hub {
    struct peers *peers;
    struct coordinator coordinator;
    struct hub_node *nodes; /* by their rank */
    int node_count;
    struct hub_worker **workers; /* in the order of their ids */
    size_t worker_count;
    int64_t beat_ns;
    double lost_s, silent_s;
};

/* --- files for nodes --- */

/* Before its next request, the worker's node must have that file. Takes the descriptor. */
static void add_file(struct hub *hub, struct hub_worker *worker, const char *name, int descriptor)
{
    struct hub_node *node = &hub->nodes[worker->rank];
    size_t number = 0;
    while (number < node->file_count &&
           (node->files[number].name == NULL || strcmp(node->files[number].name, name) != 0))
        number++;
    if (number < node->file_count)
        (void)close(descriptor);
    else
        *ARRAY_APPEND(node->files, node->file_count) =
            (struct hub_file){alloc_string(name), descriptor};
    if (worker->awaited < number + 1)
        worker->awaited = number + 1;
}

/* Sends the next piece. A file that cannot be read to its end lacks the rest: who reads the copy finds that it
 * has another hash. */
static void send_piece(struct hub *hub, int rank)
{
    struct hub_node *node = &hub->nodes[rank];
    struct hub_file *file = &node->files[node->files_sent];
    struct stat status = {0};
    char *bytes = alloc_resize(NULL, PIECE_BYTES, 1);
    ssize_t count = read(file->descriptor, bytes, PIECE_BYTES);
    if (count > 0) {
        peers_send(hub->peers, rank, PACKET_FILE, 0, bytes, (size_t)count);
    } else {
        (void)fstat(file->descriptor, &status);
        peers_send_object(hub->peers, rank, PACKET_FILE_END, 0,
                          json_pack("{s:s, s:I, s:I}", "name", file->name, "seconds",
                                    (json_int_t)status.st_mtim.tv_sec, "nanoseconds",
                                    (json_int_t)status.st_mtim.tv_nsec));
        (void)close(file->descriptor);
        file->descriptor = -1;
        node->files_sent++;
    }
    free(bytes);
}

static bool send_files(struct hub *hub)
{
    bool any = false;
    for (int i = 1; i < hub->node_count; i++) {
        const struct hub_node *node = &hub->nodes[i];
        while (node->files_sent < node->file_count && !node->lost &&
               peers_unsent(hub->peers, i) < UNSENT_BYTES) {
            send_piece(hub, i);
            any = true;
        }
    }
    return any;
}

/* The node has the next file; or not, and the bytes are the answer for whoever waits for it. It is sent again to
 * who asks later. */
static void take_written(struct hub *hub, const struct packet *packet)
{
    struct hub_node *node = &hub->nodes[packet->rank];
    size_t number = node->files_written++;
    if (packet->count == 0 || number >= node->file_count)
        return;
    free(node->files[number].name);
    node->files[number].name = NULL;
    for (size_t i = 0; i < hub->worker_count; i++) {
        struct hub_worker *worker = hub->workers[i];
        if (worker->rank == packet->rank && worker->awaited > number && worker->refusal.used == 0)
            bytes_append(&worker->refusal, packet->bytes, packet->count);
    }
}

static void release_node(struct hub_node *node)
{
    json_decref(node->greeting);
    json_decref(node->kept);
    for (size_t i = 0; i < node->file_count; i++) {
        if (node->files[i].descriptor >= 0)
            (void)close(node->files[i].descriptor);
        free(node->files[i].name);
    }
    free(node->files);
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
    if (worker->socket >= 0)
        (void)close(worker->socket);
    worker->socket = -1;
    bytes_release(&worker->unsent);
    bytes_release(&worker->requests);
    bytes_release(&worker->refusal);
}

static bool write_replies(struct hub_worker *worker)
{
    struct bytes *unsent = &worker->unsent;
    if (unsent->used == 0 || worker->socket < 0)
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
    if (!worker->ready || worker->socket < 0 || worker->ended ||
        peers_unsent(hub->peers, worker->rank) > UNSENT_BYTES)
        return false;
    char *room = bytes_room(&worker->requests, READ_BYTES);
    ssize_t count = recv(worker->socket, room, READ_BYTES, MSG_DONTWAIT);
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
        return false;
    if (count > 0) {
        worker->requests.used += (size_t)count;
    } else {
        peers_send(hub->peers, worker->rank, PACKET_CLOSE, worker->id, NULL, 0);
        close_socket(worker);
    }
    return true;
}

/* What workers of a node are to keep goes there once, for all of them; each of them is then told its number. */
static void send_kept(struct hub *hub, const struct hub_worker *worker, const char *hash,
                      size_t whole)
{
    json_t *kept = hub->nodes[worker->rank].kept;
    const json_t *known = json_object_get(kept, hash);
    uint32_t number =
        (uint32_t)(known != NULL ? (size_t)json_integer_value(known) : json_object_size(kept));
    if (known == NULL) {
        json_object_set_new(kept, hash, json_integer(number));
        peers_send(hub->peers, worker->rank, PACKET_KEEP, 0, worker->requests.data, whole);
    }
    peers_send(hub->peers, worker->rank, PACKET_KEPT, worker->id, &number, sizeof number);
}

/* Sends the requests that are complete and may be sent. */
static void send_requests(struct hub *hub, struct hub_worker *worker)
{
    json_t *message;
    size_t line;
    size_t whole;
    while (worker->awaited <= hub->nodes[worker->rank].files_written &&
           bytes_message(&worker->requests, &message, &line, &whole)) {
        const char *hash = json_string_value(json_object_get(message, "keep"));
        if (hash != NULL) {
            send_kept(hub, worker, hash, whole);
        } else if (worker->refusal.used > 0) {
            bytes_append(&worker->unsent, worker->refusal.data, worker->refusal.used);
            bytes_append(&worker->unsent, "\n", 1);
            worker->refusal.used = 0;
        } else {
            peers_send(hub->peers, worker->rank, PACKET_DATA, worker->id, worker->requests.data,
                       whole);
        }
        json_decref(message);
        bytes_drop(&worker->requests, whole);
    }
}

static void drop_ended(struct hub *hub)
{
    size_t kept = 0;
    for (size_t i = 0; i < hub->worker_count; i++) {
        struct hub_worker *worker = hub->workers[i];
        if (worker->ended && worker->unsent.used == 0) {
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

/* Whether another rank can take part: it has the same programs. */
static int check_greeting(const json_t *other, const json_t *own, struct error *error)
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
    return 0;
}

static int check_nodes(const struct hub *hub, struct error *error)
{
    int status = 0;
    for (int i = 0; i < hub->node_count && status == 0; i++)
        status = hub->nodes[i].greeting == NULL
                     ? error_set(error, ERROR_DEVICE, "rank %d has not answered within %g s", i,
                                 worker_timeout_s(COME_S))
                     : check_greeting(hub->nodes[i].greeting, hub->nodes[0].greeting, error);
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
        peers_wait(hub->peers, peers_move(hub->peers), NULL, 0);
    for (int i = 0; i < hub->node_count; i++)
        hub->nodes[i].heard_ns = clock_ns();
    if (check_nodes(hub, &error) != 0) {
        coordinator_tell(&hub->coordinator, message_from_error(&error));
        return false;
    }
    for (int i = 1; i < hub->node_count; i++)
        peers_send(hub->peers, i, PACKET_WELCOME, 0, NULL, 0);
    describe_nodes(hub);
    return true;
}

/* --- the coordinator's wishes --- */

/* `socket` becomes the worker's. */
static void start_worker(struct hub *hub, json_t *request, int socket)
{
    int rank = (int)json_integer_value(json_object_get(request, "node"));
    struct hub_worker *worker = alloc_zeroed(1, sizeof *worker);
    *worker =
        (struct hub_worker){.id = (uint32_t)json_integer_value(json_object_get(request, "worker")),
                            .rank = rank > 0 && rank < hub->node_count ? rank : 0,
                            .socket = socket,
                            .ready = true};
    *ARRAY_APPEND(hub->workers, hub->worker_count) = worker;
    hub->nodes[worker->rank].worker_count++;
    if (worker->rank > 0)
        peers_send_object(hub->peers, worker->rank, PACKET_START, worker->id, json_incref(request));
}

static bool take_wishes(struct hub *hub)
{
    json_t *request;
    int descriptor;
    bool any = false;
    while ((request = coordinator_receive(&hub->coordinator, &descriptor)) != NULL) {
        const char *wish = json_text_member(request, "do");
        struct hub_worker *worker =
            find_worker(hub, json_integer_value(json_object_get(request, "worker")));
        if (strcmp(wish, "start") == 0 && descriptor >= 0)
            start_worker(hub, request, descriptor);
        else if (strcmp(wish, "file") == 0 && descriptor >= 0 && worker != NULL)
            add_file(hub, worker, json_text_member(request, "name"), descriptor);
        else if (descriptor >= 0)
            (void)close(descriptor);
        if (strcmp(wish, "kill") == 0 && worker != NULL && !worker->ended)
            peers_send(hub->peers, worker->rank, PACKET_KILL, worker->id, NULL, 0);
        json_decref(request);
        any = true;
    }
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
    case PACKET_WRITTEN:
        take_written(hub, packet);
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
    peers_look(hub->peers);
    for (int i = 1; i < hub->node_count; i++)
        hub->nodes[i].heard_ns = peers_heard_ns(hub->peers, hub->nodes[i].heard_ns);
    if (clock_ns() - hub->beat_ns < BEAT_NS / 4)
        return;
    hub->beat_ns = clock_ns();
    for (int i = 1; i < hub->node_count; i++) {
        check_silence(hub, i);
        if (peers_unsent(hub->peers, i) == 0)
            peers_send(hub->peers, i, PACKET_BEAT, 0, NULL, 0);
    }
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

/* A file that a request needs was wished for before that was sent: whatever has been read by now, its wish can be
 * taken. */
static bool serve_coordinator(struct hub *hub)
{
    bool any = false;
    for (size_t i = 0; i < hub->worker_count; i++)
        any |= write_replies(hub->workers[i]) | read_requests(hub, hub->workers[i]);
    any |= take_wishes(hub) | coordinator_flush(&hub->coordinator);
    for (size_t i = 0; i < hub->worker_count; i++)
        send_requests(hub, hub->workers[i]);
    drop_ended(hub);
    return any;
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
        beat(hub);
        wait_for_something(hub, moved);
    }
}

/* Until the coordinator has read why there is no run. */
static void await_coordinator(struct hub *hub)
{
    while (!coordinator_has_ended(&hub->coordinator)) {
        (void)coordinator_flush(&hub->coordinator);
        peers_wait(hub->peers, peers_move(hub->peers), NULL, 0);
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
    for (int i = 0; i < hub->node_count; i++)
        release_node(&hub->nodes[i]);
    free(hub->workers);
    free(hub->nodes);
}

int hub_run(struct peers *peers, const struct hub_start *start, bool *orderly, struct error *error)
{
    struct hub hub = {
        .peers = peers, .node_count = peers_count(peers), .lost_s = worker_timeout_s(LOST_S)};
    hub.silent_s = hub.lost_s / LOST_S * SILENT_S;
    hub.nodes = alloc_zeroed((size_t)hub.node_count, sizeof *hub.nodes);
    hub.nodes[0].greeting = json_loads(start->greeting, 0, NULL);
    for (int i = 0; i < hub.node_count; i++)
        hub.nodes[i].kept = json_object();
    int status = coordinator_start(&hub.coordinator, start->program, start->arguments, error);
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
