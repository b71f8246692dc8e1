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
    TAG = 1,
    START_S = 15,    /* for starting MPI; */
    START_FACTOR = 4 /* so many times that, because tests with short limits start as slowly */
};

struct peer {
    struct bytes waiting; /* to be sent */
    char *piece;          /* being sent; NULL: none */
    MPI_Request request;
    char *arrival; /* a piece that is being received; NULL: none */
    size_t arrival_count;
    MPI_Request arrival_request;
    struct bytes arrived; /* its packets, from `read` on */
    size_t read;
    bool forgotten;
};

struct packet_head {
    uint32_t kind, id, count;
};

struct peers {
    int rank, count, on_this_host;
    struct peer *list;
    int next; /* the rank whose packets are taken next */
    long sleep_ns;
    int64_t looked_ns, stopped_ns; /* peers_heard_ns() */
};

/* --- MPI --- */

static int count_on_host(void)
{
    MPI_Comm host;
    int count = 1;
    if (MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host) !=
        MPI_SUCCESS)
        return 1;
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
    limit_start(0);
    (void)MPI_Comm_rank(MPI_COMM_WORLD, &new->rank);
    (void)MPI_Comm_size(MPI_COMM_WORLD, &new->count);
    (void)MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    new->list = alloc_zeroed((size_t) new->count, sizeof *new->list);
    const int status = check_launcher(new->count, error);
    if (status < 0)
        peers_free(new);
    else
        *peers = new;
    return status;
}

static void free_peer(struct peer *peer)
{
    free(peer->arrival);
    free(peer->piece);
    bytes_release(&peer->waiting);
    bytes_release(&peer->arrived);
}

void peers_free(struct peers *peers)
{
    (void)MPI_Finalize();
    for (int i = 0; i < peers->count; i++)
        free_peer(&peers->list[i]);
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

/* Begins to send the next piece, unless one is under way. */
static bool send_piece(struct peer *peer, int rank)
{
    if (peer->piece != NULL || peer->waiting.used == 0 || peer->forgotten)
        return false;
    struct bytes *waiting = &peer->waiting;
    size_t count = waiting->used < PIECE_BYTES ? waiting->used : PIECE_BYTES;
    peer->piece = alloc_resize(NULL, count, 1);
    memcpy(peer->piece, waiting->data, count);
    bytes_drop(waiting, count);
    if (MPI_Isend(peer->piece, (int)count, MPI_BYTE, rank, TAG, MPI_COMM_WORLD, &peer->request) !=
        MPI_SUCCESS)
        peer->forgotten = true; /* its silence shows that it is lost */
    return true;
}

static bool finish_piece(struct peer *peer)
{
    int done = 0;
    if (peer->piece == NULL || peer->forgotten)
        return false;
    if (MPI_Test(&peer->request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS)
        peer->forgotten = true;
    if (done == 0 || peer->forgotten)
        return false;
    free(peer->piece);
    peer->piece = NULL;
    return true;
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
    if (text != NULL)
        peers_send(peers, rank, kind, id, text, strlen(text));
    free(text);
    json_decref(object);
}

size_t peers_unsent(const struct peers *peers, int rank)
{
    const struct peer *peer = &peers->list[rank];
    return peer->forgotten ? 0 : peer->waiting.used + (peer->piece != NULL);
}

/* --- receiving --- */

/* Begins to receive the next piece, if one is announced. */
static bool begin_arrival(struct peer *peer, int rank)
{
    int found = 0;
    int count = 0;
    MPI_Message message;
    MPI_Status status;
    if (peer->arrival != NULL ||
        MPI_Improbe(rank, TAG, MPI_COMM_WORLD, &found, &message, &status) != MPI_SUCCESS ||
        found == 0 || MPI_Get_count(&status, MPI_BYTE, &count) != MPI_SUCCESS || count < 0)
        return false;
    peer->arrival_count = (size_t)count;
    peer->arrival = alloc_zeroed(peer->arrival_count + 1, 1);
    if (MPI_Imrecv(peer->arrival, count, MPI_BYTE, &message, &peer->arrival_request) == MPI_SUCCESS)
        return true;
    free(peer->arrival);
    peer->arrival = NULL;
    return false;
}

/* Takes the piece if it is complete. */
static bool take_arrival(struct peer *peer)
{
    int done = 0;
    if (peer->arrival == NULL ||
        MPI_Test(&peer->arrival_request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS || done == 0)
        return false;
    if (!peer->forgotten)
        bytes_append(&peer->arrived, peer->arrival, peer->arrival_count);
    free(peer->arrival);
    peer->arrival = NULL;
    return true;
}

bool peers_move(struct peers *peers)
{
    bool moved = false;
    for (int i = 0; i < peers->count; i++) {
        struct peer *peer = &peers->list[i];
        while (begin_arrival(peer, i) | take_arrival(peer))
            moved = true;
        moved |= finish_piece(peer) | send_piece(peer, i);
    }
    /* NOLINTNEXTLINE(clang-analyzer-optin.mpi.MPI-Checker): MPI_Test() completes them */
    return moved;
}

/* Sets the peer's next packet; false if it is not complete. Drops what was read before. */
static bool take_packet(struct peer *peer, struct packet *packet)
{
    struct packet_head head;
    struct bytes *arrived = &peer->arrived;
    size_t left = arrived->used - peer->read;
    if (left >= sizeof head) {
        memcpy(&head, arrived->data + peer->read, sizeof head);
        if (left - sizeof head >= head.count) {
            packet->kind = (enum packet_kind)head.kind;
            packet->id = head.id;
            packet->bytes = arrived->data + peer->read + sizeof head;
            packet->count = head.count;
            peer->read += sizeof head + head.count;
            return true;
        }
    }
    bytes_drop(arrived, peer->read);
    peer->read = 0;
    return false;
}

bool peers_receive(struct peers *peers, struct packet *packet)
{
    for (int i = 0; i < peers->count; i++) {
        int rank = (peers->next + i) % peers->count;
        struct peer *peer = &peers->list[rank];
        if (peer->arrived.used == 0 || peer->forgotten || !take_packet(peer, packet))
            continue;
        packet->rank = rank;
        peers->next = rank;
        return true;
    }
    return false;
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

void peers_look(struct peers *peers)
{
    enum { MOMENT_NS = 100000000 };
    int64_t now_ns = clock_ns();
    int64_t since_ns = peers->looked_ns > 0 ? now_ns - peers->looked_ns : 0;
    peers->stopped_ns = since_ns > MOMENT_NS ? since_ns : 0;
    peers->looked_ns = now_ns;
}

int64_t peers_heard_ns(const struct peers *peers, int64_t heard_ns)
{
    int64_t later_ns = heard_ns + peers->stopped_ns;
    return later_ns < peers->looked_ns ? later_ns : peers->looked_ns;
}
