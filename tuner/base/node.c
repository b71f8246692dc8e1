#include "base/node.h"

#include "base/alloc.h"
#include "base/channel.h"
#include "base/clock.h"
#include "base/interrupt.h"
#include "base/json_text.h"
#include "base/socket_packet.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PACKET_BYTES = 192 * 1024 };

struct nodes {
    int socket;
    struct node *list;
    size_t count;
    struct node_worker **workers; /* by their id; NULL: forgotten */
    size_t worker_count;
    char packet[PACKET_BYTES]; /* that is being received */
};

/* --- packets --- */

static void lose(struct nodes *nodes, struct node *node)
{
    node->lost = true;
    for (size_t i = 0; i < nodes->worker_count; i++) {
        struct node_worker *worker = nodes->workers[i];
        if (worker == NULL || worker->node != node || worker->ended)
            continue;
        worker->ended = worker->killed = true;
        (void)snprintf(worker->reason, sizeof worker->reason, "was lost with node '%s'",
                       node->host);
    }
}

static void take_end(struct node_worker *worker, const json_t *packet)
{
    const char *reason = json_string_value(json_object_get(packet, "reason"));
    worker->ended = true;
    worker->killed = json_is_true(json_object_get(packet, "killed"));
    (void)snprintf(worker->reason, sizeof worker->reason, "%.*s", NODE_REASON_BYTES - 1,
                   reason != NULL ? reason : "ended");
}

static void take_packet(struct nodes *nodes, const json_t *packet)
{
    const char *event = json_string_value(json_object_get(packet, "event"));
    json_int_t id = json_integer_value(json_object_get(packet, "worker"));
    json_int_t number = json_integer_value(json_object_get(packet, "node"));
    struct node_worker *worker =
        id >= 0 && (size_t)id < nodes->worker_count ? nodes->workers[id] : NULL;
    struct node *node = number > 0 && (size_t)number < nodes->count ? &nodes->list[number] : NULL;
    if (event == NULL)
        return;
    if (strcmp(event, "ended") == 0 && worker != NULL && !worker->ended)
        take_end(worker, packet);
    if (strcmp(event, "state") == 0 && worker != NULL) {
        worker->starved_ns += json_integer_value(json_object_get(packet, "starved_ns"));
        worker->stopped = json_is_true(json_object_get(packet, "stopped"));
    }
    if (node != NULL && strcmp(event, "silent") == 0)
        node->silent = true;
    if (node != NULL && strcmp(event, "heard") == 0)
        node->silent = false;
    if (node != NULL && strcmp(event, "lost") == 0)
        lose(nodes, node);
}

/* The next packet; NULL if there is none within `timeout_ms` (negative: forever), or the other side
 * is gone. */
static json_t *receive(struct nodes *nodes, int timeout_ms)
{
    struct pollfd readable = {.fd = nodes->socket, .events = POLLIN};
    if (nodes->socket < 0 || poll(&readable, 1, timeout_ms) != 1)
        return NULL;
    ssize_t count = recv(nodes->socket, nodes->packet, PACKET_BYTES, MSG_DONTWAIT);
    json_t *packet = count > 0 ? json_loadb(nodes->packet, (size_t)count, 0, NULL) : NULL;
    if (count == 0) {
        for (size_t i = 1; i < nodes->count; i++)
            lose(nodes, &nodes->list[i]);
        (void)close(nodes->socket);
        nodes->socket = -1;
    }
    return packet;
}

static void update(struct nodes *nodes)
{
    for (json_t *packet; (packet = receive(nodes, 0)) != NULL; json_decref(packet))
        take_packet(nodes, packet);
}

/* Sends the packet, with a descriptor unless that is negative, and drops the reference to it. */
static int send_packet(struct nodes *nodes, json_t *packet, int descriptor)
{
    char *text = json_dumps(packet, JSON_COMPACT);
    json_decref(packet);
    if (text == NULL)
        return -1;
    int status = socket_packet_send(nodes->socket, text, strlen(text), descriptor);
    free(text);
    return status;
}

/* --- the nodes --- */

/* {"event":"nodes","nodes":[{"host":…,"cores":…},…]}, this machine first. */
static int take_nodes(struct nodes *nodes, const json_t *packet, struct error *error)
{
    size_t index;
    json_t *object;
    json_t *list = json_object_get(packet, "nodes");
    int status = packet == NULL ? error_set(error, ERROR_WORKER,
                                            "autotune-mpi ended before all nodes had come")
                                : message_error(packet, error);
    if (status != 0)
        return status;
    nodes->list = alloc_zeroed(json_array_size(list) + 1, sizeof *nodes->list);
    json_array_foreach(list, index, object)
    {
        json_int_t cores = json_integer_value(json_object_get(object, "cores"));
        struct node *node = &nodes->list[nodes->count];
        *node = (struct node){
            .nodes = nodes, .number = nodes->count, .cores = cores > 0 ? (size_t)cores : 1};
        (void)snprintf(node->host, sizeof node->host, "%s", json_text_member(object, "host"));
        nodes->count++;
    }
    return nodes->count > 0 ? 0 : error_set(error, ERROR_WORKER, "autotune-mpi names no nodes");
}

int nodes_open(struct nodes **nodes, struct error *error)
{
    const char *text = getenv("AUTOTUNE_NODES");
    char *end = NULL;
    long descriptor = text != NULL ? strtol(text, &end, 10) : -1;
    *nodes = NULL;
    if (text == NULL)
        return 0;
    if (*text == '\0' || *end != '\0' || fcntl((int)descriptor, F_SETFD, FD_CLOEXEC) != 0)
        return error_set(error, ERROR_USAGE,
                         "AUTOTUNE_NODES is for autotune-mpi, which sets it; unset it");
    struct nodes *new = alloc_zeroed(1, sizeof *new);
    new->socket = (int)descriptor;
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM); /* without autotune-mpi it goes no further */
    (void)unsetenv("AUTOTUNE_NODES");       /* workers are on one node */
    struct pollfd readable = {.fd = new->socket, .events = POLLIN};
    json_t *packet = interrupt_poll(&readable, 1, -1) == 1 ? receive(new, 0) : NULL;
    int status = interrupt_requested()
                     ? error_set(error, ERROR_INTERRUPTED, "interrupted before all nodes had come")
                     : take_nodes(new, packet, error);
    json_decref(packet);
    if (status != 0) {
        nodes_close(new);
        new = NULL;
    }
    *nodes = new;
    return status;
}

void nodes_close(struct nodes *nodes)
{
    if (nodes == NULL)
        return;
    for (size_t i = 0; i < nodes->worker_count; i++)
        free(nodes->workers[i]);
    if (nodes->socket >= 0)
        (void)close(nodes->socket);
    free(nodes->workers);
    free(nodes->list);
    free(nodes);
}

size_t nodes_count(const struct nodes *nodes)
{
    return nodes != NULL ? nodes->count : 0;
}

struct node *nodes_at(const struct nodes *nodes, size_t number)
{
    return nodes != NULL ? &nodes->list[number] : NULL;
}

bool node_is_here(const struct node *node)
{
    return node == NULL || node->number == 0;
}

const char *node_suffix(const struct node *node, char text[NODE_SUFFIX_BYTES])
{
    text[0] = '\0';
    if (node != NULL && node->nodes->count > 1)
        (void)snprintf(text, NODE_SUFFIX_BYTES, " of node '%s'", node->host);
    return text;
}

/* --- their workers --- */

struct node_worker *node_start_worker(struct node *node, int descriptor, const char *role,
                                      const char *argument, struct error *error)
{
    struct nodes *nodes = node->nodes;
    update(nodes);
    json_t *packet =
        json_pack("{s:s, s:I, s:I, s:s, s:s*}", "do", "start", "node", (json_int_t)node->number,
                  "worker", (json_int_t)nodes->worker_count, "role", role, "argument", argument);
    if (node->lost) {
        json_decref(packet);
        (void)error_set(error, ERROR_WORKER, "node '%s' is lost", node->host);
        return NULL;
    }
    if (send_packet(nodes, packet, descriptor) != 0) {
        (void)error_set_errno(error, ERROR_WORKER, "cannot reach node '%s'", node->host);
        return NULL;
    }
    struct node_worker *worker = alloc_zeroed(1, sizeof *worker);
    worker->node = node;
    worker->id = (uint32_t)nodes->worker_count;
    *ARRAY_APPEND(nodes->workers, nodes->worker_count) = worker;
    return worker;
}

/* The node counts from the last request on. */
int64_t node_worker_starved_ns(struct node_worker *worker)
{
    update(worker->node->nodes);
    int64_t starved_ns = worker->starved_ns;
    worker->starved_ns = 0;
    return starved_ns;
}

bool node_worker_is_stopped(const struct node_worker *worker)
{
    update(worker->node->nodes);
    return worker->stopped || worker->node->silent;
}

void node_send_file(struct node_worker *worker, const char *name, int descriptor)
{
    (void)send_packet(
        worker->node->nodes,
        json_pack("{s:s, s:I, s:s}", "do", "file", "worker", (json_int_t)worker->id, "name", name),
        descriptor);
}

void node_worker_kill(struct node_worker *worker)
{
    if (!worker->ended && !worker->leaving)
        (void)send_packet(worker->node->nodes,
                          json_pack("{s:s, s:I}", "do", "kill", "worker", (json_int_t)worker->id),
                          -1);
    worker->leaving = true;
}

bool node_worker_await_end(struct node_worker *worker, int timeout_ms)
{
    struct nodes *nodes = worker->node->nodes;
    int64_t end_ns = clock_ns() + (int64_t)timeout_ms * 1000000;
    update(nodes);
    while (!worker->ended && clock_ns() < end_ns && nodes->socket >= 0) {
        end_ns = interrupt_hurried(end_ns);
        json_t *packet = receive(nodes, (int)((end_ns - clock_ns()) / 1000000) + 1);
        if (packet != NULL)
            take_packet(nodes, packet);
        json_decref(packet);
    }
    return worker->ended;
}

void node_worker_free(struct node_worker *worker)
{
    worker->node->nodes->workers[worker->id] = NULL;
    free(worker);
}
