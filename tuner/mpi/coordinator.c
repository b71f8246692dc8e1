#include "mpi/coordinator.h"

#include "base/alloc.h"
#include "base/socket_packet.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PACKET_BYTES = 64 * 1024, DESCRIPTOR = 3 };

/* For the signal handler. */
static volatile sig_atomic_t coordinator_pid;

static const int signals[] = {SIGINT, SIGTERM, SIGHUP};

static void hand_on(int number)
{
    int kept = errno;
    if (coordinator_pid > 0)
        (void)kill((pid_t)coordinator_pid, number);
    errno = kept;
}

/* $AUTOTUNE_NODES for the coordinator alone: the other end of the socket is its descriptor 3. In a
 * process group of its own, since mpirun sends signals to the whole group, which would be a second
 * one. */
static int spawn(struct coordinator *coordinator, const char *program, char **arguments, int socket)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    (void)setenv("AUTOTUNE_NODES", "3", 1);
    (void)posix_spawn_file_actions_init(&actions);
    (void)posix_spawnattr_init(&attributes);
    (void)posix_spawn_file_actions_adddup2(&actions, socket, DESCRIPTOR);
    (void)posix_spawnattr_setpgroup(&attributes, 0);
    (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    int status = posix_spawn(&coordinator->pid, program, &actions, &attributes, arguments, environ);
    (void)posix_spawn_file_actions_destroy(&actions);
    (void)posix_spawnattr_destroy(&attributes);
    (void)unsetenv("AUTOTUNE_NODES");
    return status;
}

int coordinator_start(struct coordinator *coordinator, const char *program, char **arguments,
                      struct error *error)
{
    int sockets[2];
    *coordinator = (struct coordinator){.socket = -1};
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) != 0)
        return error_set_errno(error, ERROR_WORKER, "cannot create a socket for the coordinator");
    if (sockets[1] == DESCRIPTOR) { /* dup2() onto itself would leave it close-on-exec */
        int other = fcntl(sockets[1], F_DUPFD_CLOEXEC, DESCRIPTOR + 1);
        (void)close(sockets[1]);
        sockets[1] = other;
    }
    int status = spawn(coordinator, program, arguments, sockets[1]);
    (void)close(sockets[1]);
    coordinator->socket = sockets[0];
    if (status != 0) {
        coordinator->pid = 0;
        return error_set(error, ERROR_WORKER, "cannot start '%s': %s", program,
                         error_reason(status));
    }
    coordinator_pid = (sig_atomic_t)coordinator->pid;
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        struct sigaction action = {.sa_handler = hand_on, .sa_flags = SA_RESTART};
        (void)sigaction(signals[i], &action, NULL);
    }
    return 0;
}

bool coordinator_has_ended(struct coordinator *coordinator)
{
    if (coordinator->pid > 0 && waitpid(coordinator->pid, &coordinator->status, WNOHANG) != 0) {
        coordinator_pid = 0;
        coordinator->pid = 0;
    }
    return coordinator->pid == 0;
}

int coordinator_exit_status(const struct coordinator *coordinator)
{
    return WIFSIGNALED(coordinator->status) ? 128 + WTERMSIG(coordinator->status)
                                            : WEXITSTATUS(coordinator->status);
}

/* --- packets --- */

void coordinator_tell(struct coordinator *coordinator, json_t *packet)
{
    char *text = json_dumps(packet, JSON_COMPACT);
    json_decref(packet);
    if (text != NULL)
        *ARRAY_APPEND(coordinator->packets, coordinator->packet_count) = text;
    (void)coordinator_flush(coordinator);
}

bool coordinator_flush(struct coordinator *coordinator)
{
    size_t sent = 0;
    while (sent < coordinator->packet_count) {
        char *text = coordinator->packets[sent];
        ssize_t count = send(coordinator->socket, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
            break;
        free(text); /* any other failure: it has gone, and needs none */
        sent++;
    }
    coordinator->packet_count -= sent;
    if (sent > 0)
        memmove(coordinator->packets, coordinator->packets + sent,
                coordinator->packet_count * sizeof *coordinator->packets);
    return sent > 0;
}

json_t *coordinator_receive(struct coordinator *coordinator, int *descriptor)
{
    static char bytes[PACKET_BYTES];
    ssize_t count =
        socket_packet_receive(coordinator->socket, bytes, sizeof bytes, MSG_DONTWAIT, descriptor);
    return count > 0 ? json_loadb(bytes, (size_t)count, 0, NULL) : NULL;
}
