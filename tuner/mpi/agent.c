#include "mpi/agent.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/interrupt.h"
#include "base/worker.h"
#include "mpi/bytes.h"
#include "mpi/mirror.h"
#include "mpi/pace.h"
#include "mpi/peers.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* --- a worker --- */

/* What all workers of an agent share. */
struct agent_post {
    struct peers *peers;
    struct worker_program program;
    struct mirror mirror;
    json_t *asked;   /* files that were asked for: an object, as a set */
    size_t arrivals; /* of files, so far */
    json_t
        *kept; /* what its workers are sent to keep: by hash, the message and the bytes behind it */
};

struct agent_worker {
    uint32_t id;
    struct worker process; /* its channel's buffer is not used */
    struct bytes requests; /* from the coordinator, not yet handed on */
    struct bytes unsent;   /* to the worker, moved */
    struct bytes replies;  /* from the worker, up to the end of a line */
    json_t *waiting;       /* a request whose files are not all here */
    size_t arrivals;       /* of files, when it was looked for them last */
    bool closed;           /* by the coordinator */
    bool ended;            /* its output has; it is to be reaped */
    bool stopped;          /* as last told */
    bool ready;            /* as poll() says */
    int64_t kill_ns;       /* when it is killed for not exiting */
};

enum { LAST_MS = 2000, READ_BYTES = 64 * 1024 };

static void agent_worker_free(struct agent_worker *worker)
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

/* Starts the worker of a PACKET_START. If that fails, tells the hub and returns NULL. */
static struct agent_worker *agent_worker_new(const struct agent_post *post,
                                             const struct packet *packet)
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

/*
 * That file could not be written here: the request that waits for it, if there is one, is answered with the
 * error, because the worker would say that the file is missing. The answer may overtake those to earlier
 * requests. That does no harm: it ends the run, and what was under way is done again by the next one.
 */
static void agent_worker_refuse(const struct agent_post *post, struct agent_worker *worker,
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

/* Hands the first message on as it is; of what the worker is to keep, only the name has come. */
static void append_message(const struct agent_post *post, struct agent_worker *worker,
                           const json_t *message, size_t whole)
{
    const char *hash = json_string_value(json_object_get(message, "keep"));
    const json_t *known = hash != NULL ? json_object_get(post->kept, hash) : NULL;
    (void)worker_starved_ns(&worker->process); /* counts from here */
    if (known != NULL)
        bytes_append(&worker->unsent, json_string_value(known), json_string_length(known));
    else
        bytes_append(&worker->unsent, worker->requests.data, whole);
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

/* Moves what can be moved without waiting; returns whether anything was. Once the worker is gone and
 * the hub has been told, sets `*gone`. */
static bool agent_worker_serve(const struct agent_post *post, struct agent_worker *worker,
                               bool *gone)
{
    take_requests(post, worker);
    bool written = write_requests(worker);
    bool read = worker->ready && read_replies(post, worker);
    *gone = reap(post, worker);
    return written || read || *gone;
}

/* Tells the hub if the worker is stopped, or waits for a processor. */
static void agent_worker_report(const struct agent_post *post, struct agent_worker *worker)
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

static struct pollfd agent_worker_events(const struct agent_worker *worker)
{
    return (struct pollfd){.fd = worker->ended ? -1 : worker->process.channel.in,
                           .events = (short)(POLLIN | (worker->unsent.used > 0 ? POLLOUT : 0))};
}

/* --- the agent --- */

enum {
    BEAT_NS = 250000000,
    SIGNAL_NS = 500000000,
    WELCOME_S = 60,
    SILENT_S = 10,
    GOODBYE_NS = 2000000000
};

struct agent {
    struct agent_post post;
    struct file_arrival arrival;
    struct agent_worker **workers;
    size_t worker_count;
    struct pace pace;
    int64_t heard_ns;  /* of the hub */
    int64_t beat_ns;   /* the last one */
    int64_t signal_ns; /* the first; 0: none */
    pid_t parent;
    bool over, orderly;
};

static struct agent_worker *find_worker(const struct agent *agent, uint32_t id)
{
    for (size_t i = 0; i < agent->worker_count; i++)
        if (agent->workers[i]->id == id)
            return agent->workers[i];
    return NULL;
}

static void start_worker(struct agent *agent, const struct packet *packet)
{
    struct agent_worker *worker = agent_worker_new(&agent->post, packet);
    if (worker != NULL)
        *ARRAY_APPEND(agent->workers, agent->worker_count) = worker;
}

static bool serve_workers(struct agent *agent)
{
    bool any = false;
    for (size_t i = agent->worker_count; i-- > 0;) {
        bool gone;
        any = agent_worker_serve(&agent->post, agent->workers[i], &gone) || any;
        if (!gone)
            continue;
        agent_worker_free(agent->workers[i]);
        agent->workers[i] = agent->workers[--agent->worker_count];
    }
    return any;
}

/* --- the hub --- */

/* Whoever waits for the file hears why it cannot be written. Whoever needs it later asks again: the disk may
 * have room by then. */
static void fail_file(const struct agent *agent, const char *path, const struct error *error)
{
    for (size_t i = 0; i < agent->worker_count; i++)
        agent_worker_refuse(&agent->post, agent->workers[i], path, error);
    (void)json_object_del(agent->post.asked, path);
}

static void take_file_end(struct agent *agent, const struct packet *packet)
{
    json_t *message = json_loadb(packet->bytes, packet->count, 0, NULL);
    const char *asked = json_string_value(json_object_get(message, "asked"));
    bool good = json_is_true(json_object_get(message, "good"));
    struct error error;
    int status = file_arrival_end(&agent->arrival, good, &error);
    agent->post.arrivals++;
    if (asked != NULL && status != 0)
        fail_file(agent, asked, &error);
    else if (asked != NULL && (!good || asked[strlen(asked) - 1] == '/'))
        mirror_note(&agent->post.mirror, asked);
    json_decref(message);
}

static void begin_file(struct agent *agent, const struct packet *packet)
{
    json_t *message = json_loadb(packet->bytes, packet->count, 0, NULL);
    const char *path = json_string_value(json_object_get(message, "path"));
    mirror_link(&agent->post.mirror, json_object_get(message, "links"));
    if (path != NULL && !json_is_true(json_object_get(message, "folder"))) {
        char *here = mirror_path(&agent->post.mirror, path);
        file_arrival_begin(&agent->arrival, here);
        free(here);
    }
    json_decref(message);
}

/* A message about what workers are to keep, with the bytes behind it. */
static void keep(struct agent *agent, const struct packet *packet)
{
    const char *end = memchr(packet->bytes, '\n', packet->count);
    json_t *message =
        end != NULL ? json_loadb(packet->bytes, (size_t)(end - packet->bytes), 0, NULL) : NULL;
    const char *hash = json_string_value(json_object_get(message, "keep"));
    if (hash != NULL)
        json_object_set_new(agent->post.kept, hash,
                            json_stringn_nocheck(packet->bytes, packet->count));
    json_decref(message);
}

static void take_packet(struct agent *agent, const struct packet *packet)
{
    struct agent_worker *worker = find_worker(agent, packet->id);
    switch (packet->kind) {
    case PACKET_START:
        start_worker(agent, packet);
        break;
    case PACKET_DATA:
        if (worker != NULL)
            bytes_append(&worker->requests, packet->bytes, packet->count);
        break;
    case PACKET_KEEP:
        keep(agent, packet);
        break;
    case PACKET_CLOSE:
        if (worker != NULL)
            worker->closed = true;
        break;
    case PACKET_KILL:
        if (worker != NULL)
            worker_kill(&worker->process);
        break;
    case PACKET_FILE:
        begin_file(agent, packet);
        break;
    case PACKET_FILE_BYTES:
        file_arrival_add(&agent->arrival, packet->bytes, packet->count);
        break;
    case PACKET_FILE_END:
        take_file_end(agent, packet);
        break;
    case PACKET_END:
        agent->over = true;
        agent->orderly = packet->count == 0; /* otherwise it says that a rank is lost */
        break;
    default:
        break;
    }
}

/* Whether the agent has to end without the hub. mpirun sends signals to all ranks, and kills them a
 * second later; the coordinator gets half of it to end the run. */
static bool must_end(struct agent *agent)
{
    if (interrupt_requested() && agent->signal_ns == 0)
        agent->signal_ns = clock_ns();
    return getppid() != agent->parent || /* mpirun was killed */
           (agent->signal_ns > 0 && clock_ns() - agent->signal_ns > SIGNAL_NS);
}

/* Says that it is there, and how its workers are. */
static void beat(struct agent *agent)
{
    if (clock_ns() - agent->beat_ns < BEAT_NS)
        return;
    agent->beat_ns = clock_ns();
    peers_send(agent->post.peers, 0, PACKET_BEAT, 0, NULL, 0);
    for (size_t i = 0; i < agent->worker_count; i++)
        agent_worker_report(&agent->post, agent->workers[i]);
    agent->over = agent->over || must_end(agent);
}

static void wait_for_something(struct agent *agent, bool moved)
{
    struct pollfd *descriptors = alloc_zeroed(agent->worker_count + 1, sizeof *descriptors);
    for (size_t i = 0; i < agent->worker_count; i++)
        descriptors[i] = agent_worker_events(agent->workers[i]);
    pace_wait(&agent->pace, moved, descriptors, agent->worker_count);
    for (size_t i = 0; i < agent->worker_count; i++)
        agent->workers[i]->ready = descriptors[i].revents != 0;
    free(descriptors);
}

/* The hub's first packet says in which folder the coordinator is. */
static int await_welcome(struct agent *agent, struct error *error)
{
    struct packet packet;
    int64_t silent_ns = (int64_t)(worker_timeout_s(WELCOME_S) * 1e9);
    for (;;) {
        bool moved = peers_move(agent->post.peers);
        if (peers_receive(agent->post.peers, &packet)) {
            if (packet.kind != PACKET_WELCOME) {
                take_packet(agent, &packet);
                return 0;
            }
            char *folder = alloc_string_n(packet.bytes, packet.count);
            int status = mirror_init(&agent->post.mirror, folder, error);
            if (status == 0) /* for what the workers leave behind */
                (void)setenv("TMPDIR", agent->post.mirror.root, 1);
            free(folder);
            return status;
        }
        if (clock_ns() - agent->heard_ns > silent_ns || getppid() != agent->parent)
            return error_set(error, ERROR_WORKER, "rank 0 does not answer");
        pace_wait(&agent->pace, moved, NULL, 0);
    }
}

static int serve(struct agent *agent, struct error *error)
{
    struct packet packet;
    int64_t silent_ns = (int64_t)(worker_timeout_s(SILENT_S) * 1e9);
    while (!agent->over) {
        bool moved = peers_move(agent->post.peers);
        while (peers_receive(agent->post.peers, &packet)) {
            agent->heard_ns = clock_ns();
            take_packet(agent, &packet);
            moved = true;
        }
        moved = serve_workers(agent) || moved;
        beat(agent);
        pace_look(&agent->pace);
        agent->heard_ns = pace_heard_ns(&agent->pace, agent->heard_ns);
        if (clock_ns() - agent->heard_ns > silent_ns)
            return error_set(error, ERROR_WORKER, "rank 0 has fallen silent");
        wait_for_something(agent, moved);
    }
    return 0;
}

static void end_workers(struct agent *agent)
{
    for (size_t i = 0; i < agent->worker_count; i++)
        worker_kill(&agent->workers[i]->process); /* all at once */
    for (size_t i = 0; i < agent->worker_count; i++) {
        (void)worker_stop(&agent->workers[i]->process);
        agent_worker_free(agent->workers[i]);
    }
    free(agent->workers);
}

static void say_goodbye(struct agent *agent)
{
    int64_t end_ns = clock_ns() + GOODBYE_NS;
    peers_send(agent->post.peers, 0, PACKET_BYE, 0, NULL, 0);
    while (peers_unsent(agent->post.peers, 0) > 0 && clock_ns() < end_ns)
        pace_wait(&agent->pace, peers_move(agent->post.peers), NULL, 0);
}

int agent_run(struct peers *peers, const char *program, bool *orderly, struct error *error)
{
    struct agent agent = {
        .post = {peers, {.path = program}, .asked = json_object(), .kept = json_object()},
        .heard_ns = clock_ns(),
        .parent = getppid()};
    int status = await_welcome(&agent, error);
    char *folder = status == 0 && !agent.over
                       ? mirror_path(&agent.post.mirror, agent.post.mirror.folder)
                       : NULL;
    agent.post.program.folder = folder;
    if (folder != NULL)
        status = serve(&agent, error);
    end_workers(&agent);
    file_arrival_abandon(&agent.arrival);
    json_decref(agent.post.asked);
    json_decref(agent.post.kept);
    mirror_release(&agent.post.mirror);
    free(folder);
    if (status == 0)
        say_goodbye(&agent);
    *orderly = agent.orderly;
    return status;
}
