#include "mpi/hub.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/json_text.h"
#include "base/path.h"
#include "base/worker.h"
#include "mpi/bytes.h"
#include "mpi/coordinator.h"
#include "mpi/greeting.h"
#include "mpi/pace.h"
#include "mpi/peers.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- files for agents --- */

/* The files that an agent has asked for, sent one after the other, piece by piece: PACKET_FILE, any
 * number of PACKET_FILE_BYTES, PACKET_FILE_END. */
enum { PIECE_BYTES = 256 * 1024, LINKS_MOST = 40 };

struct file_source {
    struct file_source *next;
    char *path;
    int file; /* -1: not begun */
};

static void file_source_add(struct file_source **files, const char *path, size_t length)
{
    struct file_source *new = alloc_zeroed(1, sizeof *new);
    new->path = alloc_string_n(path, length);
    new->file = -1;
    while (*files != NULL)
        files = &(*files)->next;
    *files = new;
}

static void remove_first(struct file_source **files)
{
    struct file_source *first = *files;
    *files = first->next;
    if (first->file >= 0)
        (void)close(first->file);
    free(first->path);
    free(first);
}

static void file_source_free(struct file_source **files)
{
    while (*files != NULL)
        remove_first(files);
}

/* The target of the first symbolic link on the way to `path`, and the part of the path that is the
 * link; NULL if there is none. */
static char *find_link(const char *path, size_t *length)
{
    char target[PATH_MAX];
    for (const char *end = path; *end != '\0';) {
        end += strspn(end, "/");
        end += strcspn(end, "/");
        char *part = alloc_string_n(path, (size_t)(end - path));
        ssize_t count = readlink(part, target, sizeof target);
        free(part);
        *length = (size_t)(end - path);
        if (count > 0)
            return alloc_string_n(target, (size_t)count);
    }
    return NULL;
}

/* Follows all links; returns the path behind them, a new string. */
static char *follow_links(const char *path, json_t *links)
{
    char *at = alloc_string(path);
    char *target;
    size_t length;
    for (int i = 0; i < LINKS_MOST && (target = find_link(at, &length)) != NULL; i++) {
        char *link = alloc_string_n(at, length);
        char *behind = path_beside(link, target);
        char *next = alloc_format("%s%s", behind, at + length);
        json_array_append_new(links, json_pack("[s, s]", link, target));
        free(behind);
        free(target);
        free(link);
        free(at);
        at = next;
    }
    return at;
}

static void finish(struct file_source **files, struct peers *peers, int rank, bool good)
{
    peers_send_object(peers, rank, PACKET_FILE_END, 0,
                      json_pack("{s:s, s:b}", "asked", (*files)->path, "good", (int)good));
    remove_first(files);
}

/* The symbolic links in a folder: what they lead to is asked for by its own name. */
static void add_links(const char *folder, json_t *links)
{
    char target[PATH_MAX];
    DIR *entries = opendir(folder);
    for (const struct dirent *entry; entries != NULL && (entry = readdir(entries)) != NULL;) {
        char *path = alloc_format("%s%s", folder, entry->d_name);
        ssize_t count = readlink(path, target, sizeof target);
        if (count > 0)
            json_array_append_new(links, json_pack("[s, s%]", path, target, (size_t)count));
        free(path);
    }
    if (entries != NULL)
        (void)closedir(entries);
}

static void begin(struct file_source **files, struct peers *peers, int rank)
{
    struct stat information;
    json_t *links = json_array();
    char *path = follow_links((*files)->path, links);
    bool folder = path[strlen(path) - 1] == '/';
    if (folder)
        add_links(path, links);
    peers_send_object(
        peers, rank, PACKET_FILE, 0,
        json_pack("{s:s, s:o, s:b}", "path", path, "links", links, "folder", (int)folder));
    if (folder) {
        finish(files, peers, rank, true);
        free(path);
        return;
    }
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    bool good = file >= 0 && fstat(file, &information) == 0 && S_ISREG(information.st_mode);
    free(path);
    (*files)->file = file;
    if (!good)
        finish(files, peers, rank, false);
}

static void file_source_send(struct file_source **files, struct peers *peers, int rank)
{
    if ((*files)->file < 0) {
        begin(files, peers, rank);
        return;
    }
    char *bytes = alloc_resize(NULL, PIECE_BYTES, 1);
    ssize_t count = read((*files)->file, bytes, PIECE_BYTES);
    if (count > 0)
        peers_send(peers, rank, PACKET_FILE_BYTES, 0, bytes, (size_t)count);
    else
        finish(files, peers, rank, count == 0);
    free(bytes);
}

/* --- sockets between the coordinator and its workers on other machines --- */

enum { HUB_UNSENT_BYTES = 1 << 20 }; /* to a node; what comes from the coordinator then waits */

struct hub_worker {
    uint32_t id;
    int rank;
    int socket;            /* the coordinator's channel; -1: closed */
    struct bytes requests; /* from the coordinator, as far as they are not complete */
    struct bytes unsent;   /* to the coordinator */
    bool ended;
    bool ready; /* as poll() says: something can be read, or written again */
};

/* In the order of their ids. Zeroed: none. */
struct hub_workers {
    struct hub_worker **list;
    size_t count;
    json_t *
        kept; /* "RANK HASH" of what a node has been sent to keep; an object, as a set; NULL: nothing */
};

enum { READ_BYTES = 64 * 1024 };

static struct hub_worker *hub_workers_add(struct hub_workers *workers, uint32_t id, int rank,
                                          int socket)
{
    struct hub_worker *worker = alloc_zeroed(1, sizeof *worker);
    *worker = (struct hub_worker){.id = id, .rank = rank, .socket = socket, .ready = true};
    *ARRAY_APPEND(workers->list, workers->count) = worker;
    return worker;
}

static struct hub_worker *hub_workers_find(const struct hub_workers *workers, uint32_t id)
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

/* Sends the requests that are complete. What workers of a node are to keep goes there once, for all of them;
 * each of them is then sent its name alone, {"keep":HASH}. */
static void send_requests(struct hub_workers *workers, struct peers *peers,
                          struct hub_worker *worker)
{
    json_t *message;
    size_t line;
    size_t whole;
    while (bytes_message(&worker->requests, &message, &line, &whole)) {
        const char *hash = json_string_value(json_object_get(message, "keep"));
        if (hash != NULL) {
            char *text = alloc_format("{\"keep\":\"%s\"}\n", hash);
            if (!keeps(workers, worker->rank, hash))
                peers_send(peers, worker->rank, PACKET_KEEP, 0, worker->requests.data, whole);
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

static bool hub_workers_serve(struct hub_workers *workers, struct peers *peers)
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

static void hub_workers_release(struct hub_workers *workers)
{
    for (size_t i = 0; i < workers->count; i++) {
        close_socket(workers->list[i]);
        free(workers->list[i]);
    }
    free(workers->list);
    json_decref(workers->kept);
}

static struct pollfd hub_worker_events(const struct hub_worker *worker, const struct peers *peers)
{
    bool full = peers_unsent(peers, worker->rank) > HUB_UNSENT_BYTES;
    return (struct pollfd){.fd = worker->socket,
                           .events = (short)((full || worker->ended ? 0 : POLLIN) |
                                             (worker->unsent.used > 0 ? POLLOUT : 0))};
}

/* --- the hub --- */

enum {
    BEAT_NS = 1000000000,
    COME_S = 60,   /* all ranks must have greeted by then */
    SILENT_S = 2,  /* then no worker of the node is to blame for anything */
    LOST_S = 10,   /* and then its work is given to others */
    GOODBYE_S = 5, /* at the end */
};

struct hub_node {
    json_t *greeting;
    int64_t heard_ns;
    bool silent, lost, gone;
    size_t worker_count;       /* running */
    struct file_source *files; /* that it has asked for */
};

struct hub {
    struct peers *peers;
    struct coordinator coordinator;
    struct hub_node *nodes; /* by their rank */
    int node_count;
    struct hub_workers workers;
    struct pace pace;
    int64_t beat_ns;
    double lost_s, silent_s;
    char *folder;
};

static void say(struct hub *hub, const char *event, int rank)
{
    coordinator_tell(&hub->coordinator, json_pack("{s:s, s:i}", "event", event, "node", rank));
}

/* --- the start --- */

static int check_nodes(const struct hub *hub, struct error *error)
{
    int status = 0;
    for (int i = 0; i < hub->node_count && status == 0; i++)
        status = hub->nodes[i].greeting == NULL
                     ? error_set(error, ERROR_DEVICE, "rank %d has not answered within %g s", i,
                                 worker_timeout_s(COME_S))
                     : greeting_check(hub->nodes[i].greeting, hub->nodes[0].greeting, error);
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
static void start_worker(struct hub *hub, json_t *request, int socket)
{
    int rank = (int)json_integer_value(json_object_get(request, "node"));
    uint32_t id = (uint32_t)json_integer_value(json_object_get(request, "worker"));
    struct hub_worker *worker =
        hub_workers_add(&hub->workers, id, rank > 0 && rank < hub->node_count ? rank : 0, socket);
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
        struct hub_worker *worker = hub_workers_find(
            &hub->workers, (uint32_t)json_integer_value(json_object_get(request, "worker")));
        if (strcmp(json_text_member(request, "do"), "start") == 0 && descriptor >= 0)
            start_worker(hub, request, descriptor);
        else if (strcmp(json_text_member(request, "do"), "kill") == 0 && worker != NULL &&
                 !worker->ended)
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
    struct hub_worker *worker = hub_workers_find(&hub->workers, packet->id);
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
    for (size_t i = 0; i < hub->workers.count; i++)
        if (hub->workers.list[i]->rank == rank)
            end_worker(hub, hub->workers.list[i], NULL);
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
    pace_look(&hub->pace);
    for (int i = 1; i < hub->node_count; i++)
        hub->nodes[i].heard_ns = pace_heard_ns(&hub->pace, hub->nodes[i].heard_ns);
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
               peers_unsent(hub->peers, i) < HUB_UNSENT_BYTES) {
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
    struct pollfd *descriptors = alloc_zeroed(hub->workers.count + 1, sizeof *descriptors);
    descriptors[0] = (struct pollfd){.fd = hub->coordinator.socket, .events = POLLIN};
    for (size_t i = 0; i < hub->workers.count; i++)
        descriptors[i + 1] = hub_worker_events(hub->workers.list[i], hub->peers);
    pace_wait(&hub->pace, moved, descriptors, hub->workers.count + 1);
    for (size_t i = 0; i < hub->workers.count; i++)
        hub->workers.list[i]->ready = descriptors[i + 1].revents != 0;
    free(descriptors);
}

static void serve(struct hub *hub)
{
    while (!coordinator_has_ended(&hub->coordinator)) {
        bool moved = serve_agents(hub);
        moved = take_wishes(hub) || moved;
        moved = hub_workers_serve(&hub->workers, hub->peers) || moved;
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
    hub_workers_release(&hub->workers);
    for (int i = 0; i < hub->node_count; i++) {
        json_decref(hub->nodes[i].greeting);
        file_source_free(&hub->nodes[i].files);
    }
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
