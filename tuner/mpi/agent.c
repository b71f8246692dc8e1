#include "base/alloc.h"
#include "base/clock.h"
#include "base/interrupt.h"
#include "base/json_text.h"
#include "base/worker.h"
#include "base/write_file.h"
#include "mpi/bytes.h"
#include "mpi/ranks.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- a worker --- */

enum { LAST_NS = 2000000000, READ_BYTES = 64 * 1024 };

struct agent_worker {
    uint32_t id;
    struct worker process; /* its channel's buffer is not used */
    struct bytes unsent;   /* to the worker */
    bool ended;            /* its output has; it is to be reaped */
    bool stopped;          /* as last told */
    bool ready;            /* as poll() says */
    int64_t kill_ns;       /* when it is killed for not exiting */
};

static void agent_worker_free(struct agent_worker *worker)
{
    channel_release(&worker->process.channel);
    bytes_release(&worker->unsent);
    free(worker);
}

static void tell_end(struct peers *peers, uint32_t id, const char *reason, bool killed)
{
    peers_send_object(peers, 0, PACKET_ENDED, id,
                      json_pack("{s:s, s:I, s:o, s:b}", "event", "ended", "worker", (json_int_t)id,
                                "reason", json_text(reason), "killed", (int)killed));
}

/* Starts the worker of a PACKET_START. If that fails, tells the hub and returns NULL. */
static struct agent_worker *agent_worker_new(struct peers *peers,
                                             const struct worker_program *program,
                                             const struct packet *packet)
{
    struct error error;
    json_t *message = json_loadb(packet->bytes, packet->count, 0, NULL);
    const char *role = json_string_value(json_object_get(message, "role"));
    const char *argument = json_string_value(json_object_get(message, "argument"));
    struct agent_worker *worker = alloc_zeroed(1, sizeof *worker);
    worker->id = packet->id;
    int status = role == NULL
                     ? error_set(&error, ERROR_WORKER, "has no role")
                     : worker_start_program(&worker->process, program, role, argument, &error);
    json_decref(message);
    if (status != 0) {
        tell_end(peers, packet->id, error.message, false);
        free(worker);
        return NULL;
    }
    (void)fcntl(worker->process.channel.in, F_SETFL, O_NONBLOCK);
    return worker;
}

static void hand_on(struct agent_worker *worker, const void *bytes, size_t count)
{
    (void)worker_starved_ns(&worker->process); /* counts from here */
    bytes_append(&worker->unsent, bytes, count);
}

static bool read_replies(struct peers *peers, struct agent_worker *worker)
{
    char bytes[READ_BYTES];
    if (worker->ended || !worker->ready)
        return false;
    ssize_t count = read(worker->process.channel.in, bytes, sizeof bytes);
    if (count < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (count > 0) {
        peers_send(peers, 0, PACKET_DATA, worker->id, bytes, (size_t)count);
    } else {
        worker->ended = true;
        worker->kill_ns = clock_ns() + LAST_NS;
    }
    return true;
}

/* Whether a worker whose output has ended is gone; then the hub is told. */
static bool reap(struct peers *peers, struct agent_worker *worker)
{
    char reason[WORKER_REASON_BYTES];
    bool killed;
    if (!worker->ended ||
        !worker_try_reap(&worker->process, clock_ns() >= worker->kill_ns, reason, &killed))
        return false;
    tell_end(peers, worker->id, reason, killed);
    return true;
}

/* Tells the hub if the worker is stopped, or waits for a processor. */
static void agent_worker_report(struct peers *peers, struct agent_worker *worker)
{
    int64_t starved_ns = worker_starved_ns(&worker->process);
    bool stopped = worker_is_stopped(&worker->process);
    if (starved_ns < WORKER_STARVED_NS && stopped == worker->stopped)
        return;
    worker->stopped = stopped;
    peers_send_object(peers, 0, PACKET_STATE, worker->id,
                      json_pack("{s:s, s:I, s:I, s:b}", "event", "state", "worker",
                                (json_int_t)worker->id, "starved_ns", (json_int_t)starved_ns,
                                "stopped", (int)stopped));
}

/* --- the agent --- */

enum { REPORT_NS = 250000000, SIGNAL_NS = 500000000, SILENT_S = 10, GOODBYE_NS = 2000000000 };

struct agent {
    struct peers *peers;
    char *folder; /* of its workers */
    struct worker_program program;
    struct agent_worker **workers;
    size_t worker_count;
    struct bytes *kept; /* what workers are sent to keep: messages, with what is behind them */
    size_t kept_count;
    struct error disk; /* why a file could not be written; code 0: all could */
    int64_t report_ns; /* the last one */
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

static bool serve_workers(struct agent *agent)
{
    bool any = false;
    for (size_t i = agent->worker_count; i-- > 0;) {
        struct agent_worker *worker = agent->workers[i];
        any |= bytes_write(&worker->unsent, worker->process.channel.out) |
               read_replies(agent->peers, worker);
        if (!reap(agent->peers, worker))
            continue;
        any = true;
        agent_worker_free(worker);
        agent->workers[i] = agent->workers[--agent->worker_count];
    }
    return any;
}

/* --- the hub --- */

/* Adds a piece to a file of the workers' folder. Notes the first failure. */
static void take_piece(struct agent *agent, const struct packet *packet)
{
    struct piece piece;
    memcpy(&piece, packet->bytes, sizeof piece);
    char *path = alloc_format("%s/%s", agent->folder, piece.name);
    size_t count = packet->count - sizeof piece;
    FILE *file = fopen(path, "ae");
    bool good = file != NULL && fwrite(packet->bytes + sizeof piece, 1, count, file) == count &&
                fflush(file) == 0 && futimens(fileno(file), piece.dates) == 0;
    if (file != NULL && fclose(file) != 0)
        good = false;
    if (!good && agent->disk.code == 0)
        (void)error_set_errno(&agent->disk, ERROR_RECORD, "cannot write a file into '%s'",
                              agent->folder);
    free(path);
}

static void take_packet(struct agent *agent, const struct packet *packet)
{
    struct agent_worker *worker = find_worker(agent, packet->id);
    uint32_t number;
    switch (packet->kind) {
    case PACKET_START:
        worker = agent_worker_new(agent->peers, &agent->program, packet);
        if (worker != NULL)
            *ARRAY_APPEND(agent->workers, agent->worker_count) = worker;
        break;
    case PACKET_DATA: /* a request, unless it may need what could not be written */
        if (worker != NULL && agent->disk.code == 0)
            hand_on(worker, packet->bytes, packet->count);
        else if (worker != NULL)
            peers_send_object(agent->peers, 0, PACKET_DATA, worker->id,
                              message_from_error(&agent->disk));
        break;
    case PACKET_KEEP:
        bytes_append(ARRAY_APPEND(agent->kept, agent->kept_count), packet->bytes, packet->count);
        break;
    case PACKET_KEPT:
        memcpy(&number, packet->bytes, sizeof number);
        if (worker != NULL)
            hand_on(worker, agent->kept[number].data, agent->kept[number].count);
        break;
    case PACKET_KILL:
        if (worker != NULL)
            worker_kill(&worker->process);
        break;
    case PACKET_FILE:
        take_piece(agent, packet);
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

/* Says how its workers are. */
static void report(struct agent *agent)
{
    if (clock_ns() - agent->report_ns < REPORT_NS)
        return;
    agent->report_ns = clock_ns();
    for (size_t i = 0; i < agent->worker_count; i++)
        agent_worker_report(agent->peers, agent->workers[i]);
    agent->over = agent->over || must_end(agent);
}

static void wait_for_something(struct agent *agent, bool moved)
{
    struct pollfd *descriptors = alloc_zeroed(agent->worker_count + 1, sizeof *descriptors);
    for (size_t i = 0; i < agent->worker_count; i++)
        descriptors[i] = (struct pollfd){
            .fd = agent->workers[i]->ended ? -1 : agent->workers[i]->process.channel.in,
            .events = (short)(POLLIN | (agent->workers[i]->unsent.count > 0 ? POLLOUT : 0))};
    peers_wait(agent->peers, moved, descriptors, agent->worker_count);
    for (size_t i = 0; i < agent->worker_count; i++)
        agent->workers[i]->ready = descriptors[i].revents != 0;
    free(descriptors);
}

/* A new folder, for copies of files and for what workers leave behind. */
static int make_folder(struct agent *agent, struct error *error)
{
    const char *temporary = getenv("TMPDIR");
    agent->folder = alloc_format("%s/autotune-mpi-XXXXXX",
                                 temporary != NULL && temporary[0] == '/' ? temporary : "/tmp");
    if (mkdtemp(agent->folder) == NULL) {
        int status =
            error_set_errno(error, ERROR_RECORD, "cannot create a folder '%s'", agent->folder);
        free(agent->folder);
        agent->folder = NULL;
        return status;
    }
    agent->program.folder = agent->folder;
    (void)setenv("TMPDIR", agent->folder, 1);
    return 0;
}

static int serve(struct agent *agent, struct error *error)
{
    struct packet packet;
    double silent_s = worker_timeout_s(SILENT_S);
    while (!agent->over) {
        bool moved = peers_move(agent->peers);
        while (peers_receive(agent->peers, &packet)) {
            take_packet(agent, &packet);
            moved = true;
        }
        moved = serve_workers(agent) || moved;
        report(agent);
        if (peers_silence_s(agent->peers, 0) > silent_s)
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
    peers_send(agent->peers, 0, PACKET_BYE, 0, NULL, 0);
    while (peers_unsent(agent->peers, 0) > 0 && clock_ns() < end_ns)
        peers_wait(agent->peers, peers_move(agent->peers), NULL, 0);
}

int agent_run(struct peers *peers, const char *program, bool *orderly, struct error *error)
{
    struct agent agent = {.peers = peers, .program.path = program, .parent = getppid()};
    int status = make_folder(&agent, error);
    if (status == 0)
        status = serve(&agent, error);
    end_workers(&agent);
    if (agent.folder != NULL)
        write_file_remove_folder(agent.folder);
    for (size_t i = 0; i < agent.kept_count; i++)
        bytes_release(&agent.kept[i]);
    free(agent.kept);
    free(agent.folder);
    if (status == 0)
        say_goodbye(&agent);
    *orderly = agent.orderly;
    return status;
}
