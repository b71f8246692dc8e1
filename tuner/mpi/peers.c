#include "mpi/peers.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/worker.h"
#include "mpi/bytes.h"

#include <mpi.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum {
    PIECE_BYTES = 256 * 1024,
    GREETING_BYTES = 4096,
    TAG = 1,
    START_S = 15,     /* for starting MPI; */
    START_FACTOR = 4, /* so many times that, because tests with short limits start as slowly */
    BEAT_NS = 250000000
};

struct peer {
    struct bytes waiting; /* to be sent */
    struct bytes arrived; /* packets that were not taken yet */
    MPI_Request sending, receiving;
    int64_t sent_ns, heard_ns;
    bool forgotten;
    char sent[PIECE_BYTES], received[PIECE_BYTES];
};

struct packet_head {
    uint32_t kind, id, count;
};

struct peers {
    int rank, count, on_this_host;
    int first, end; /* the ranks that this one has to do with */
    struct peer *list;
    long sleep_ns;
    int64_t moved_ns; /* the latest peers_move() */
};

/* --- MPI --- */

static int count_on_host(void)
{
    MPI_Comm host;
    int count = 1;
    (void)MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
    (void)MPI_Comm_size(host, &count);
    (void)MPI_Comm_free(&host);
    return count;
}

static void give_up_starting(int signal)
{
    static const char text[] = "autotune: the ranks did not all start; has one of them died?\n";
    (void)signal;
    (void)!write(STDERR_FILENO, text, sizeof text - 1);
    _exit(error_exit_status(ERROR_WORKER));
}

/* MPI waits without end for a rank that dies while it starts. 0: no limit any more. */
static void limit_start(double seconds)
{
    const struct itimerval limit = {.it_value.tv_sec = (time_t)seconds};
    (void)signal(SIGALRM, seconds > 0 ? give_up_starting : SIG_DFL);
    (void)setitimer(ITIMER_REAL, &limit, NULL);
}

/* How many ranks the launcher has started, according to mpirun or srun; 1 if neither says. */
static long started_ranks(void)
{
    const char *const names[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *text = getenv(names[i]);
        if (text != NULL)
            return strtol(text, NULL, 10);
    }
    return 1;
}

/* A launcher that does not fit the MPI starts programs each of which is alone: they would all tune. */
static int check_launcher(int ranks, struct error *error)
{
    const long started = started_ranks();
    if (ranks > 1 || started <= 1)
        return 0;
    return error_set(error, ERROR_USAGE,
                     "%ld programs were started together, but MPI does not connect them: use the "
                     "mpirun of the MPI that autotune-mpi was built with, or tell srun which it is "
                     "(--mpi=pmix for Open MPI, --mpi=pmi2 for MPICH)",
                     started);
}

int peers_new(struct peers **peers, int *argc, char ***argv, struct error *error)
{
    int provided;
    *peers = NULL;
    limit_start(START_FACTOR * worker_timeout_s(START_S));
    if (MPI_Init_thread(argc, argv, MPI_THREAD_SINGLE, &provided) != MPI_SUCCESS)
        return error_set(error, ERROR_WORKER, "MPI does not start");
    struct peers *new = alloc_zeroed(1, sizeof *new);
    new->on_this_host = count_on_host();
    (void)MPI_Comm_rank(MPI_COMM_WORLD, &new->rank);
    (void)MPI_Comm_size(MPI_COMM_WORLD, &new->count);
    new->first = new->rank == 0;
    new->end = new->rank == 0 ? new->count : 1;
    new->list = alloc_zeroed((size_t) new->end, sizeof *new->list);
    for (int i = 0; i < new->end; i++)
        new->list[i].sending = new->list[i].receiving = MPI_REQUEST_NULL;
    const int status = check_launcher(new->count, error);
    if (status < 0)
        peers_free(new);
    else
        *peers = new;
    return status;
}

static void receive_piece(struct peer *peer, int rank)
{
    if (MPI_Irecv(peer->received, PIECE_BYTES, MPI_BYTE, rank, TAG, MPI_COMM_WORLD,
                  &peer->receiving) != MPI_SUCCESS)
        peer->forgotten = true; /* its silence shows that it is lost */
}

json_t *peers_greet(struct peers *peers, json_t *own)
{
    char text[GREETING_BYTES] = "";
    char *all = alloc_zeroed((size_t)peers->count, GREETING_BYTES);
    json_t *greetings = json_array();
    (void)json_dumpb(own, text, sizeof text - 1, JSON_COMPACT);
    json_decref(own);
    (void)MPI_Gather(text, GREETING_BYTES, MPI_CHAR, all, GREETING_BYTES, MPI_CHAR, 0,
                     MPI_COMM_WORLD);
    limit_start(0);
    for (int i = 0; i < peers->count; i++) {
        json_t *greeting = json_loads(all + (size_t)i * GREETING_BYTES, 0, NULL);
        json_array_append_new(greetings, greeting != NULL ? greeting : json_object());
    }
    free(all);
    (void)MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    peers->moved_ns = clock_ns();
    for (int i = peers->first; i < peers->end; i++) {
        peers->list[i].heard_ns = peers->moved_ns;
        receive_piece(&peers->list[i], i);
    }
    /* NOLINTNEXTLINE(clang-analyzer-optin.mpi.MPI-Checker): take_piece() tests for them */
    return greetings;
}

void peers_free(struct peers *peers)
{
    for (int i = 0; i < peers->end; i++) {
        struct peer *peer = &peers->list[i];
        if (peer->receiving != MPI_REQUEST_NULL) {
            (void)MPI_Cancel(&peer->receiving);
            (void)MPI_Request_free(&peer->receiving);
        }
    }
    (void)MPI_Finalize();
    for (int i = 0; i < peers->end; i++) {
        bytes_release(&peers->list[i].waiting);
        bytes_release(&peers->list[i].arrived);
    }
    free(peers->list);
    free(peers);
}

void peers_abort(const struct peers *peers, int exit_status)
{
    if (peers->rank == 0)
        (void)MPI_Abort(MPI_COMM_WORLD, exit_status);
    _exit(exit_status);
}

int peers_rank(const struct peers *peers)
{
    return peers->rank;
}

int peers_count(const struct peers *peers)
{
    return peers->count;
}

int peers_on_this_host(const struct peers *peers)
{
    return peers->on_this_host;
}

/* --- sending --- */

/* Sends the next piece if the last one has gone. */
static bool send_piece(struct peer *peer, int rank, int64_t now_ns)
{
    struct bytes *waiting = &peer->waiting;
    int gone = 0;
    if (peer->forgotten || MPI_Test(&peer->sending, &gone, MPI_STATUS_IGNORE) != MPI_SUCCESS ||
        gone == 0 || (waiting->count == 0 && now_ns - peer->sent_ns < BEAT_NS))
        return false;
    size_t count = waiting->count < PIECE_BYTES ? waiting->count : PIECE_BYTES;
    if (count > 0)
        memcpy(peer->sent, waiting->data + waiting->start, count);
    bytes_drop(waiting, count);
    peer->sent_ns = now_ns;
    if (MPI_Isend(peer->sent, (int)count, MPI_BYTE, rank, TAG, MPI_COMM_WORLD, &peer->sending) !=
        MPI_SUCCESS)
        peer->forgotten = true;
    return count > 0;
}

void peers_send(struct peers *peers, int rank, enum packet_kind kind, uint32_t id,
                const void *bytes, size_t count)
{
    struct peer *peer = &peers->list[rank];
    const struct packet_head head = {(uint32_t)kind, id, (uint32_t)count};
    if (peer->forgotten)
        return;
    bytes_append(&peer->waiting, &head, sizeof head);
    bytes_append(&peer->waiting, bytes, count);
}

void peers_send_object(struct peers *peers, int rank, enum packet_kind kind, uint32_t id,
                       json_t *object)
{
    char *text = json_dumps(object, JSON_COMPACT);
    if (text != NULL) {
        size_t length = strlen(text);
        text[length] = '\n'; /* in place of the null character */
        peers_send(peers, rank, kind, id, text, length + 1);
    }
    free(text);
    json_decref(object);
}

size_t peers_unsent(const struct peers *peers, int rank)
{
    const struct peer *peer = &peers->list[rank];
    return peer->forgotten ? 0 : peer->waiting.count + (peer->sending != MPI_REQUEST_NULL);
}

/* --- receiving --- */

/* Takes the piece that has come. */
static bool take_piece(struct peer *peer, int rank, int64_t now_ns)
{
    int come = 0;
    int count = 0;
    MPI_Status status;
    if (peer->forgotten || MPI_Test(&peer->receiving, &come, &status) != MPI_SUCCESS || come == 0)
        return false;
    (void)MPI_Get_count(&status, MPI_BYTE, &count);
    bytes_append(&peer->arrived, peer->received, (size_t)count);
    peer->heard_ns = now_ns;
    receive_piece(peer, rank);
    return true;
}

bool peers_move(struct peers *peers)
{
    enum { MOMENT_NS = 100000000 };
    int64_t now_ns = clock_ns();
    int64_t since_ns = now_ns - peers->moved_ns;
    bool moved = false;
    peers->moved_ns = now_ns;
    for (int i = peers->first; i < peers->end; i++) {
        struct peer *peer = &peers->list[i];
        int64_t later_ns = since_ns > MOMENT_NS ? peer->heard_ns + since_ns : peer->heard_ns;
        peer->heard_ns = later_ns < now_ns ? later_ns : now_ns;
        moved |= take_piece(peer, i, now_ns) | send_piece(peer, i, now_ns);
    }
    /* NOLINTNEXTLINE(clang-analyzer-optin.mpi.MPI-Checker): MPI_Test() completes them */
    return moved;
}

bool peers_receive(struct peers *peers, struct packet *packet)
{
    struct packet_head head;
    for (int i = peers->first; i < peers->end; i++) {
        struct peer *peer = &peers->list[i];
        struct bytes *arrived = &peer->arrived;
        if (arrived->count < sizeof head || peer->forgotten)
            continue;
        const char *bytes = arrived->data + arrived->start;
        memcpy(&head, bytes, sizeof head);
        if (arrived->count - sizeof head < head.count)
            continue;
        *packet = (struct packet){i, (enum packet_kind)head.kind, head.id, bytes + sizeof head,
                                  head.count};
        bytes_drop(arrived, sizeof head + head.count);
        return true;
    }
    return false;
}

double peers_silence_s(const struct peers *peers, int rank)
{
    return (double)(peers->moved_ns - peers->list[rank].heard_ns) * 1e-9;
}

void peers_forget(struct peers *peers, int rank)
{
    peers->list[rank].forgotten = true;
}

/* --- waiting --- */

void peers_wait(struct peers *peers, bool moved, struct pollfd *descriptors, size_t count)
{
    enum { SHORTEST_NS = 20000, LONGEST_NS = 1000000 };
    long longer_ns = peers->sleep_ns < SHORTEST_NS ? SHORTEST_NS : 5 * peers->sleep_ns / 4;
    peers->sleep_ns = moved ? 0 : longer_ns < LONGEST_NS ? longer_ns : LONGEST_NS;
    const struct timespec sleep = {.tv_nsec = peers->sleep_ns};
    (void)ppoll(descriptors, count, &sleep, NULL);
}
