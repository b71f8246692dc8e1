#include "mpi/agent_worker.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "mpi/request.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { LAST_MS = 2000, READ_BYTES = 64 * 1024 };

void agent_worker_free(struct agent_worker *worker)
{
    channel_release(&worker->process.channel);
    bytes_release(&worker->requests);
    bytes_release(&worker->unsent);
    bytes_release(&worker->replies);
    json_decref(worker->waiting);
    free(worker);
}

static void tell_end(const struct agent_post *post, uint32_t id, const char *reason, bool killed)
{
    peers_send_object(post->peers, 0, PACKET_ENDED, id,
                      json_pack("{s:s, s:b}", "reason", reason, "killed", (int)killed));
}

struct agent_worker *agent_worker_new(const struct agent_post *post, const struct packet *packet)
{
    struct error error;
    json_t *message = json_loadb(packet->bytes, packet->count, 0, NULL);
    const char *role = json_string_value(json_object_get(message, "role"));
    const char *argument = json_string_value(json_object_get(message, "argument"));
    struct agent_worker *worker = alloc_zeroed(1, sizeof *worker);
    worker->id = packet->id;
    int status = role == NULL ? error_set(&error, ERROR_WORKER, "has no role")
                              : worker_start_program(&worker->process, &post->program, role,
                                                     argument, &error);
    json_decref(message);
    if (status != 0) {
        tell_end(post, packet->id, error.message, false);
        free(worker);
        return NULL;
    }
    (void)fcntl(worker->process.channel.in, F_SETFL, O_NONBLOCK);
    return worker;
}

/* Asks for the files that are not here. Returns whether all are. */
static bool has_files(const struct agent_post *post, const json_t *request)
{
    json_t *files = request_files(&post->mirror, request);
    bool all = true;
    size_t index;
    json_t *item;
    json_array_foreach(files, index, item)
    {
        const char *path = json_string_value(item);
        if (mirror_has(&post->mirror, path))
            continue;
        all = false;
        if (json_object_get(post->asked, path) != NULL)
            continue;
        json_object_set_new(post->asked, path, json_true());
        peers_send(post->peers, 0, PACKET_NEED, 0, path, strlen(path));
    }
    json_decref(files);
    return all;
}

/* Hands a request on whose files are here. */
static void hand_on(const struct agent_post *post, struct agent_worker *worker, json_t *request)
{
    request_move(&post->mirror, request);
    (void)worker_starved_ns(&worker->process); /* counts from here */
    bytes_append_line(&worker->unsent, request);
}

static bool names_file(const struct agent_post *post, const json_t *request, const char *path)
{
    json_t *files = request_files(&post->mirror, request);
    bool found = false;
    size_t index;
    json_t *item;
    json_array_foreach(files, index, item)
    {
        found = found || strcmp(json_string_value(item), path) == 0;
    }
    json_decref(files);
    return found;
}

void agent_worker_refuse(const struct agent_post *post, struct agent_worker *worker,
                         const char *path, const struct error *error)
{
    struct bytes line = {0};
    if (worker->waiting == NULL || !names_file(post, worker->waiting, path))
        return;
    bytes_append_line(&line, message_from_error(error));
    peers_send(post->peers, 0, PACKET_DATA, worker->id, line.data, line.used);
    bytes_release(&line);
    json_decref(worker->waiting);
    worker->waiting = NULL;
}

/* Hands the first message on as it is. Of what a worker of the node has been sent to keep, only the name
 * comes. */
static void append_message(const struct agent_post *post, struct agent_worker *worker,
                           const json_t *message, size_t whole)
{
    const char *text = worker->requests.data;
    const char *hash = json_string_value(json_object_get(message, "keep"));
    json_t *known = hash != NULL ? json_object_get(post->kept, hash) : NULL;
    (void)worker_starved_ns(&worker->process); /* counts from here */
    if (hash != NULL && known == NULL)
        json_object_set_new(post->kept, hash, json_stringn_nocheck(text, whole));
    if (known != NULL)
        bytes_append(&worker->unsent, json_string_value(known), json_string_length(known));
    else
        bytes_append(&worker->unsent, text, whole);
}

/* Hands on what can be handed on, in order. */
static void take_requests(const struct agent_post *post, struct agent_worker *worker)
{
    for (;;) {
        size_t line;
        size_t whole;
        json_t *message;
        bool looked = worker->waiting != NULL && worker->arrivals == post->arrivals;
        worker->arrivals = post->arrivals;
        if (looked || (worker->waiting != NULL && !has_files(post, worker->waiting)))
            return;
        if (worker->waiting != NULL)
            hand_on(post, worker, worker->waiting);
        worker->waiting = NULL;
        if (!bytes_message(&worker->requests, &message, &line, &whole))
            return;
        if (request_names_files(message))
            worker->waiting = json_incref(message);
        else /* or is not a request: that is left to the worker */
            append_message(post, worker, message, whole);
        json_decref(message);
        worker->arrivals = SIZE_MAX; /* it has not been looked for them */
        bytes_drop(&worker->requests, whole);
    }
}

static bool write_requests(struct agent_worker *worker)
{
    struct bytes *unsent = &worker->unsent;
    if (unsent->used == 0 || worker->ended)
        return false;
    ssize_t sent =
        send(worker->process.channel.out, unsent->data, unsent->used, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)
        unsent->used = 0; /* its end shows when it is read from */
    if (sent > 0)
        bytes_drop(unsent, (size_t)sent);
    return sent > 0;
}

/* Hands on whole messages, with the coordinator's paths, and at the end the rest. */
static void send_replies(const struct agent_post *post, struct agent_worker *worker)
{
    struct bytes *replies = &worker->replies;
    json_t *message;
    size_t line;
    size_t whole;
    while (bytes_message(replies, &message, &line, &whole)) {
        json_decref(message);
        size_t rest = whole - line;
        size_t length = mirror_strip(&post->mirror, replies->data, line);
        memmove(replies->data + length, replies->data + line, rest);
        peers_send(post->peers, 0, PACKET_DATA, worker->id, replies->data, length + rest);
        bytes_drop(replies, whole);
    }
    if (worker->ended && replies->used > 0) {
        peers_send(post->peers, 0, PACKET_DATA, worker->id, replies->data, replies->used);
        bytes_drop(replies, replies->used);
    }
}

static bool read_replies(const struct agent_post *post, struct agent_worker *worker)
{
    char *room = bytes_room(&worker->replies, READ_BYTES);
    ssize_t count = worker->ended ? -1 : read(worker->process.channel.in, room, READ_BYTES);
    if (worker->ended || (count < 0 && (errno == EAGAIN || errno == EINTR)))
        return false;
    if (count > 0)
        worker->replies.used += (size_t)count;
    else {
        worker->ended = true;
        worker->kill_ns = clock_ns() + (int64_t)LAST_MS * 1000000;
    }
    send_replies(post, worker);
    return true;
}

/* Whether a worker whose output has ended, or that nobody wants any more, is gone. */
static bool reap(const struct agent_post *post, struct agent_worker *worker)
{
    char reason[WORKER_REASON_BYTES];
    bool killed;
    if (worker->closed && !worker->ended) {
        worker->ended = true;
        worker->kill_ns = clock_ns() + (int64_t)LAST_MS * 1000000;
        (void)shutdown(worker->process.channel.out, SHUT_RDWR);
    }
    if (!worker->ended)
        return false;
    if (!worker_try_reap(&worker->process, clock_ns() >= worker->kill_ns, reason, &killed))
        return false;
    tell_end(post, worker->id, reason, killed);
    return true;
}

bool agent_worker_serve(const struct agent_post *post, struct agent_worker *worker, bool *gone)
{
    take_requests(post, worker);
    bool written = write_requests(worker);
    bool read = worker->ready && read_replies(post, worker);
    *gone = reap(post, worker);
    return written || read || *gone;
}

void agent_worker_report(const struct agent_post *post, struct agent_worker *worker)
{
    int64_t starved_ns = worker_starved_ns(&worker->process);
    bool stopped = worker_is_stopped(&worker->process);
    if (starved_ns < WORKER_STARVED_NS && stopped == worker->stopped)
        return;
    worker->stopped = stopped;
    peers_send_object(
        post->peers, 0, PACKET_STATE, worker->id,
        json_pack("{s:I, s:b}", "starved_ns", (json_int_t)starved_ns, "stopped", (int)stopped));
}

struct pollfd agent_worker_events(const struct agent_worker *worker)
{
    return (struct pollfd){.fd = worker->ended ? -1 : worker->process.channel.in,
                           .events = (short)(POLLIN | (worker->unsent.used > 0 ? POLLOUT : 0))};
}
