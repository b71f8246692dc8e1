#include "worker.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static int spawn(pid_t *pid, int socket, const char *role, const char *argument)
{
    char *arguments[] = {(char[]){"autotune"}, (char[]){"worker"}, strdupa(role),
                         argument != NULL ? strdupa(argument) : NULL, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none;
    (void)sigemptyset(&none);
    (void)posix_spawn_file_actions_init(&actions);
    (void)posix_spawnattr_init(&attributes);
    (void)posix_spawn_file_actions_adddup2(&actions, socket, STDIN_FILENO);
    (void)posix_spawn_file_actions_adddup2(&actions, socket, STDOUT_FILENO);
    (void)posix_spawnattr_setsigmask(&attributes, &none);
    (void)posix_spawnattr_setpgroup(&attributes,
                                    0); /* the terminal's Ctrl-C is the coordinator's */
    (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
    int status = posix_spawn(pid, "/proc/self/exe", &actions, &attributes, arguments, environ);
    (void)posix_spawn_file_actions_destroy(&actions);
    (void)posix_spawnattr_destroy(&attributes);
    return status;
}

int worker_start(struct worker *worker, const char *role, const char *argument, struct error *error)
{
    int sockets[2];
    *worker = (struct worker){.channel = {.in = -1, .out = -1}};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0)
        return error_set_errno(error, ERROR_WORKER, "cannot make a socket for a worker");
    int status = spawn(&worker->pid, sockets[1], role, argument);
    (void)close(sockets[1]);
    if (status != 0) {
        (void)close(sockets[0]);
        worker->pid = 0;
        return error_set(error, ERROR_WORKER, "cannot start a %s worker: %s", role,
                         strerror(status));
    }
    channel_init(&worker->channel, sockets[0], sockets[0]);
    return 0;
}

static int wait_for(pid_t pid)
{
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return status;
}

void worker_stop(struct worker *worker)
{
    if (worker->pid > 0) {
        (void)kill(worker->pid, SIGKILL);
        (void)wait_for(worker->pid);
        channel_release(&worker->channel);
    }
    worker->pid = 0;
}

void worker_bury(struct worker *worker, char reason[WORKER_REASON_BYTES])
{
    channel_release(&worker->channel);
    int status = wait_for(worker->pid);
    worker->pid = 0;
    if (WIFSIGNALED(status))
        (void)snprintf(reason, WORKER_REASON_BYTES, "was killed by signal %d (%s)",
                       WTERMSIG(status), strsignal(WTERMSIG(status)));
    else
        (void)snprintf(reason, WORKER_REASON_BYTES, "ended with status %d", WEXITSTATUS(status));
}

void worker_enter(void)
{
    pid_t parent = getppid();
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) /* it died before the line above */
        _exit(1);
    (void)signal(SIGINT, SIG_IGN);
}
