#include "mpi/agent.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/interrupt.h"
#include "base/read_file.h"
#include "base/worker.h"
#include "base/write_file.h"
#include "mpi/bytes.h"
#include "mpi/file_arrival.h"
#include "mpi/pace.h"
#include "mpi/request.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    BEAT_NS = 250000000,
    SIGNAL_NS = 500000000,
    SILENT_S = 10,
    LAST_MS = 2000,
    READ_BYTES = 64 * 1024
};

struct agent_worker {
    uint32_t id;
    struct worker process; /* its channel's buffer is not used */
    struct bytes requests; /* from the coordinator, not yet handed on */
    struct bytes unsent;   /* to the worker, moved */
    struct bytes replies;  /* from the worker, up to the end of a line */
    json_t *waiting;       /* a request whose files are not all here */
    char *output;          /* what the last request has the worker write */
    bool closed;           /* by the coordinator */
    bool ended;            /* its output has; it is to be reaped */
    bool stopped;          /* as last told */
    int64_t kill_ns;       /* when it is killed for not exiting */
};

struct agent {
    struct peers *peers;
    struct worker_program program;
    struct mirror mirror;
    struct file_arrival arrival;
    json_t *asked; /* files that were asked for: an object, as a set */
    struct agent_worker **workers;
    size_t worker_count;
    struct pace pace;
    int64_t heard_ns;  /* of the hub */
    int64_t beat_ns;   /* the last one */
    int64_t signal_ns; /* the first; 0: none */
    pid_t parent;
    bool over, orderly;
};

static void tell(const struct agent *agent, enum packet_kind kind, uint32_t id, json_t *object)
{
    char *text = json_dumps(object, JSON_COMPACT);
    json_decref(object);
    if (text != NULL)
        peers_send(agent->peers, 0, kind, id, text, strlen(text));
    free(text);
}

/* --- workers --- */

static struct agent_worker *find_worker(const struct agent *agent, uint32_t id)
{
    for (size_t i = 0; i < agent->worker_count; i++)
        if (agent->workers[i]->id == id)
            return agent->workers[i];
    return NULL;
}

static void free_worker(struct agent_worker *worker)
{
    channel_release(&worker->process.channel);
    bytes_release(&worker->requests);
    bytes_release(&worker->unsent);
    bytes_release(&worker->replies);
    json_decref(worker->waiting);
    free(worker->output);
    free(worker);
}

static void tell_end(const struct agent *agent, uint32_t id, const char *reason, bool killed)
{
    tell(agent, PACKET_ENDED, id, json_pack("{s:s, s:b}", "reason", reason, "killed", (int)killed));
}

static void start_worker(struct agent *agent, const struct packet *packet)
{
    struct error error;
    json_t *message = json_loadb(packet->bytes, packet->count, 0, NULL);
    const char *role = json_string_value(json_object_get(message, "role"));
    const char *argument = json_string_value(json_object_get(message, "argument"));
    struct agent_worker *worker = alloc_zeroed(1, sizeof *worker);
    worker->id = packet->id;
    int status = role == NULL ? error_set(&error, ERROR_WORKER, "has no role")
                              : worker_start_program(&worker->process, &agent->program, role,
                                                     argument, &error);
    json_decref(message);
    if (status != 0) {
        tell_end(agent, packet->id, error.message, false);
        free(worker);
        return;
    }
    (void)fcntl(worker->process.channel.in, F_SETFL, O_NONBLOCK);
    *ARRAY_APPEND(agent->workers, agent->worker_count) = worker;
}

/* Asks for the files that are not here. Returns whether all are. */
static bool has_files(struct agent *agent, const json_t *request)
{
    json_t *files = request_files(&agent->mirror, request);
    bool all = true;
    size_t index;
    json_t *item;
    json_array_foreach(files, index, item)
    {
        const char *path = json_string_value(item);
        if (mirror_has(&agent->mirror, path))
            continue;
        all = false;
        if (json_object_get(agent->asked, path) != NULL)
            continue;
        json_object_set_new(agent->asked, path, json_true());
        peers_send(agent->peers, 0, PACKET_NEED, 0, path, strlen(path));
    }
    json_decref(files);
    return all;
}

/* Hands a request on whose files are here. */
static void hand_on(const struct agent *agent, struct agent_worker *worker, json_t *request)
{
    free(worker->output);
    worker->output = request_output(&agent->mirror, request);
    request_move(&agent->mirror, request);
    char *line = json_dumps(request, JSON_COMPACT);
    (void)worker_starved_ns(&worker->process); /* counts from here */
    bytes_append(&worker->unsent, line, strlen(line));
    bytes_append(&worker->unsent, "\n", 1);
    free(line);
    json_decref(request);
}

/* Hands on what can be handed on, in order. What is not a request is left to the worker to refuse. */
static void take_requests(struct agent *agent, struct agent_worker *worker)
{
    for (;;) {
        size_t length;
        if (worker->waiting != NULL && !has_files(agent, worker->waiting))
            return;
        if (worker->waiting != NULL)
            hand_on(agent, worker, worker->waiting);
        worker->waiting = NULL;
        if (!bytes_line(&worker->requests, &length))
            return;
        worker->waiting = json_loadb(worker->requests.data, length, 0, NULL);
        if (!json_is_object(worker->waiting)) {
            json_decref(worker->waiting);
            worker->waiting = NULL;
            bytes_append(&worker->unsent, worker->requests.data, length);
        }
        bytes_drop(&worker->requests, length);
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

/* Sends what the worker has written for its request to the coordinator's machine. */
static void send_output(const struct agent *agent, struct agent_worker *worker)
{
    char *text;
    size_t length;
    if (worker->output == NULL)
        return;
    char *path = mirror_path(&agent->mirror, worker->output);
    if (read_file(path, &text, &length, NULL) == 0) {
        tell(agent, PACKET_FILE, 0, json_pack("{s:s}", "path", worker->output));
        peers_send(agent->peers, 0, PACKET_FILE_BYTES, 0, text, length);
        tell(agent, PACKET_FILE_END, 0, json_pack("{s:b}", "good", 1));
        free(text);
    }
    free(path);
    free(worker->output);
    worker->output = NULL;
}

/* Hands on whole lines, and at the end the rest. */
static void send_replies(const struct agent *agent, struct agent_worker *worker)
{
    struct bytes *replies = &worker->replies;
    char *last = replies->used > 0 ? memrchr(replies->data, '\n', replies->used) : NULL;
    size_t whole = worker->ended  ? replies->used
                   : last != NULL ? (size_t)(last + 1 - replies->data)
                                  : 0;
    if (whole == 0)
        return;
    send_output(agent, worker);
    size_t length = mirror_strip(&agent->mirror, replies->data, whole);
    peers_send(agent->peers, 0, PACKET_DATA, worker->id, replies->data, length);
    bytes_drop(replies, whole);
}

static bool read_replies(const struct agent *agent, struct agent_worker *worker)
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
    send_replies(agent, worker);
    return true;
}

/* Whether a worker whose output has ended, or that nobody wants any more, is gone. */
static bool reap(const struct agent *agent, struct agent_worker *worker)
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
    tell_end(agent, worker->id, reason, killed);
    return true;
}

static bool serve_workers(struct agent *agent)
{
    bool any = false;
    for (size_t i = agent->worker_count; i-- > 0;) {
        struct agent_worker *worker = agent->workers[i];
        take_requests(agent, worker);
        any = write_requests(worker) || any;
        any = read_replies(agent, worker) || any;
        if (!reap(agent, worker))
            continue;
        free_worker(worker);
        agent->workers[i] = agent->workers[--agent->worker_count];
        any = true;
    }
    return any;
}

/* --- the hub --- */

static void take_file_end(struct agent *agent, const struct packet *packet)
{
    json_t *message = json_loadb(packet->bytes, packet->count, 0, NULL);
    const char *asked = json_string_value(json_object_get(message, "asked"));
    bool good = json_is_true(json_object_get(message, "good"));
    struct error error;
    if (file_arrival_end(&agent->arrival, good, &error) != 0)
        good = false;
    if (asked != NULL && !good)
        json_object_set_new(agent->mirror.absent, asked, json_true());
    json_decref(message);
}

static void begin_file(struct agent *agent, const struct packet *packet)
{
    json_t *message = json_loadb(packet->bytes, packet->count, 0, NULL);
    const char *path = json_string_value(json_object_get(message, "path"));
    mirror_link(&agent->mirror, json_object_get(message, "links"));
    char *here = mirror_path(&agent->mirror, path != NULL ? path : "");
    file_arrival_begin(&agent->arrival, here);
    free(here);
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
    peers_send(agent->peers, 0, PACKET_BEAT, 0, NULL, 0);
    for (size_t i = 0; i < agent->worker_count; i++) {
        struct agent_worker *worker = agent->workers[i];
        int64_t starved_ns = worker_starved_ns(&worker->process);
        bool stopped = worker_is_stopped(&worker->process);
        if (starved_ns < WORKER_STARVED_NS && stopped == worker->stopped)
            continue;
        worker->stopped = stopped;
        tell(
            agent, PACKET_STATE, worker->id,
            json_pack("{s:I, s:b}", "starved_ns", (json_int_t)starved_ns, "stopped", (int)stopped));
    }
    agent->over = agent->over || must_end(agent);
}

static void wait_for_something(struct agent *agent, bool moved)
{
    struct pollfd *descriptors = alloc_zeroed(agent->worker_count + 1, sizeof *descriptors);
    for (size_t i = 0; i < agent->worker_count; i++) {
        const struct agent_worker *worker = agent->workers[i];
        descriptors[i] =
            (struct pollfd){.fd = worker->ended ? -1 : worker->process.channel.in,
                            .events = (short)(POLLIN | (worker->unsent.used > 0 ? POLLOUT : 0))};
    }
    pace_wait(&agent->pace, moved, descriptors, agent->worker_count);
    free(descriptors);
}

/* The hub's first packet says in which folder the coordinator is. */
static int await_welcome(struct agent *agent, struct error *error)
{
    struct packet packet;
    int64_t silent_ns = (int64_t)(worker_timeout_s(60) * 1e9);
    for (;;) {
        bool moved = peers_move(agent->peers);
        if (peers_receive(agent->peers, &packet)) {
            if (packet.kind != PACKET_WELCOME) {
                take_packet(agent, &packet);
                return 0;
            }
            char *folder = alloc_string_n(packet.bytes, packet.count);
            int status = mirror_init(&agent->mirror, folder, error);
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
        bool moved = peers_move(agent->peers);
        while (peers_receive(agent->peers, &packet)) {
            agent->heard_ns = clock_ns();
            take_packet(agent, &packet);
            moved = true;
        }
        moved = serve_workers(agent) || moved;
        beat(agent);
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
        free_worker(agent->workers[i]);
    }
    free(agent->workers);
}

static void say_goodbye(struct agent *agent)
{
    int64_t end_ns = clock_ns() + (int64_t)LAST_MS * 1000000;
    peers_send(agent->peers, 0, PACKET_BYE, 0, NULL, 0);
    while (peers_unsent(agent->peers, 0) > 0 && clock_ns() < end_ns)
        pace_wait(&agent->pace, peers_move(agent->peers), NULL, 0);
}

int agent_run(struct peers *peers, const char *program, bool *orderly, struct error *error)
{
    struct agent agent = {.peers = peers,
                          .program = {.path = program},
                          .asked = json_object(),
                          .heard_ns = clock_ns(),
                          .parent = getppid()};
    int status = await_welcome(&agent, error);
    char *folder =
        status == 0 && !agent.over ? mirror_path(&agent.mirror, agent.mirror.folder) : NULL;
    agent.program.folder = folder;
    if (folder != NULL)
        status = serve(&agent, error);
    end_workers(&agent);
    file_arrival_abandon(&agent.arrival);
    json_decref(agent.asked);
    mirror_release(&agent.mirror);
    free(folder);
    if (status == 0)
        say_goodbye(&agent);
    *orderly = agent.orderly;
    return status;
}
