#include "mpi/agent.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/interrupt.h"
#include "mpi/agent_worker.h"
#include "mpi/file_arrival.h"
#include "mpi/pace.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
