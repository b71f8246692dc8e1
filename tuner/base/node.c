#include "base/node.h"

#include "base/alloc.h"
#include "base/channel.h"
#include "base/clock.h"
#include "base/interrupt.h"
#include "base/json_text.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

struct nodes {
    struct channel channel; /* to autotune-mpi */
    struct node *list;
    size_t count;
    struct node_worker **workers; /* by their id; NULL: forgotten */
    size_t worker_count;
};

/* --- messages --- */

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

static void take_end(struct node_worker *worker, const json_t *message)
{
    const char *reason = json_string_value(json_object_get(message, "reason"));
    worker->ended = true;
    worker->killed = json_is_true(json_object_get(message, "killed"));
    (void)snprintf(worker->reason, sizeof worker->reason, "%.*s", NODE_REASON_BYTES - 1,
                   reason != NULL ? reason : "ended");
}

static void take_message(struct nodes *nodes, const json_t *message)
{
    const char *event = json_string_value(json_object_get(message, "event"));
    json_int_t id = json_integer_value(json_object_get(message, "worker"));
    json_int_t number = json_integer_value(json_object_get(message, "node"));
    struct node_worker *worker =
        id >= 0 && (size_t)id < nodes->worker_count ? nodes->workers[id] : NULL;
    struct node *node = number > 0 && (size_t)number < nodes->count ? &nodes->list[number] : NULL;
    if (event == NULL)
        return;
    if (strcmp(event, "ended") == 0 && worker != NULL && !worker->ended)
        take_end(worker, message);
    if (strcmp(event, "state") == 0 && worker != NULL) {
        worker->starved_ns += json_integer_value(json_object_get(message, "starved_ns"));
        worker->stopped = json_is_true(json_object_get(message, "stopped"));
    }
    if (node != NULL && strcmp(event, "silent") == 0)
        node->silent = true;
    if (node != NULL && strcmp(event, "heard") == 0)
        node->silent = false;
    if (node != NULL && strcmp(event, "lost") == 0)
        lose(nodes, node);
}

/* The next message; NULL if there is none within `timeout_ms` (negative: forever), or the other side
 * is gone. */
static json_t *receive(struct nodes *nodes, int timeout_ms)
{
    struct channel *channel = &nodes->channel;
    struct pollfd readable = {.fd = channel->in, .events = POLLIN};
    json_t *message = NULL;
    int status = channel_next(channel, &message, NULL);
    if (status != 0 || channel->in < 0 || poll(&readable, 1, timeout_ms) != 1)
        return message;
    status = channel_fill(channel, NULL);
    if (status == 1)
        (void)channel_next(channel, &message, NULL);
    if (status == 0) {
        for (size_t i = 1; i < nodes->count; i++)
            lose(nodes, &nodes->list[i]);
        channel_release(channel);
    }
    return message;
}

static void update(struct nodes *nodes)
{
    for (json_t *message; (message = receive(nodes, 0)) != NULL; json_decref(message))
        take_message(nodes, message);
}

/* --- the nodes --- */

/* {"event":"nodes","nodes":[{"host":…,"cores":…},…]}, this machine first. */
static int take_nodes(struct nodes *nodes, const json_t *message, struct error *error)
{
    size_t index;
    json_t *object;
    json_t *list = json_object_get(message, "nodes");
    int status = message == NULL ? error_set(error, ERROR_WORKER,
                                             "autotune-mpi ended before all nodes had come")
                                 : message_error(message, error);
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
    channel_init(&new->channel, (int)descriptor, (int)descriptor);
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM); /* without autotune-mpi it goes no further */
    (void)unsetenv("AUTOTUNE_NODES");       /* workers are on one node */
    json_t *message = NULL;
    int status = channel_receive(&new->channel, &message, error);
    if (status == ERROR_INTERRUPTED)
        (void)error_set(error, status, "interrupted before all nodes had come");
    else
        status = take_nodes(new, message, error);
    json_decref(message);
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
    channel_release(&nodes->channel);
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
    json_t *message =
        json_pack("{s:s, s:I, s:I, s:s, s:s*}", "do", "start", "node", (json_int_t)node->number,
                  "worker", (json_int_t)nodes->worker_count, "role", role, "argument", argument);
    if (node->lost) {
        json_decref(message);
        (void)error_set(error, ERROR_WORKER, "node '%s' is lost", node->host);
        return NULL;
    }
    if (channel_send_descriptor(&nodes->channel, message, descriptor, NULL) != 0) {
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

void node_worker_kill(struct node_worker *worker)
{
    if (!worker->ended && !worker->leaving)
        (void)channel_send(&worker->node->nodes->channel,
                           json_pack("{s:s, s:I}", "do", "kill", "worker", (json_int_t)worker->id),
                           NULL);
    worker->leaving = true;
}

bool node_worker_await_end(struct node_worker *worker, int timeout_ms)
{
    struct nodes *nodes = worker->node->nodes;
    int64_t end_ns = clock_ns() + (int64_t)timeout_ms * 1000000;
    update(nodes);
    while (!worker->ended && clock_ns() < end_ns && nodes->channel.in >= 0) {
        end_ns = interrupt_hurried(end_ns);
        json_t *message = receive(nodes, (int)((end_ns - clock_ns()) / 1000000) + 1);
        if (message != NULL)
            take_message(nodes, message);
        json_decref(message);
    }
    return worker->ended;
}

void node_worker_free(struct node_worker *worker)
{
    worker->node->nodes->workers[worker->id] = NULL;
    free(worker);
}
