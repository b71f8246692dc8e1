#include "base/worker.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/interrupt.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { END_TIMEOUT_MS = 2000, KILL_TIMEOUT_MS = 30000, SEND_TIMEOUT_S = 10, ASLEEP_NS = 100000000 };

static int spawn(pid_t *pid, const struct worker_program *program, int socket, const char *role,
                 const char *argument)
{
    char *arguments[] = {(char[]){"autotune"}, (char[]){"worker"}, strdupa(role),
                         argument != NULL ? strdupa(argument) : NULL, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t mask;
    sigset_t previous;
    interrupt_block(&previous);
    (void)sigprocmask(SIG_SETMASK, &previous, &mask);
    (void)posix_spawn_file_actions_init(&actions);
    (void)posix_spawnattr_init(&attributes);
    (void)posix_spawn_file_actions_adddup2(&actions, socket, STDIN_FILENO);
    (void)posix_spawn_file_actions_adddup2(&actions, socket, STDOUT_FILENO);
    /* until worker_enter(), signals for the whole run do not reach it */
    (void)posix_spawnattr_setsigmask(&attributes, &mask);
    /* in its own process group, the worker does not receive Ctrl-C */
    (void)posix_spawnattr_setpgroup(&attributes, 0);
    (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
    if (program->folder != NULL)
        (void)posix_spawn_file_actions_addchdir_np(&actions, program->folder);
    int status = posix_spawn(pid, program->path != NULL ? program->path : "/proc/self/exe",
                             &actions, &attributes, arguments, environ);
    (void)posix_spawn_file_actions_destroy(&actions);
    (void)posix_spawnattr_destroy(&attributes);
    return status;
}

static int make_sockets(struct worker *worker, int sockets[2], struct error *error)
{
    *worker = (struct worker){.channel = {.in = -1, .out = -1}};
    return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) == 0
               ? 0
               : error_set_errno(error, ERROR_WORKER, "cannot create a socket for a worker");
}

/* Limits how long a send may block the coordinator when the worker does not read: the deadline of the
 * request then ends that worker. */
static void open_channel(struct worker *worker, int socket)
{
    double timeout_s = worker_timeout_s(SEND_TIMEOUT_S);
    const struct timeval timeout = {
        .tv_sec = (time_t)timeout_s,
        .tv_usec = (suseconds_t)((timeout_s - (double)(time_t)timeout_s) * 1e6)};
    (void)setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout);
    channel_init(&worker->channel, socket, socket);
}

int worker_start_program(struct worker *worker, const struct worker_program *program,
                         const char *role, const char *argument, struct error *error)
{
    int sockets[2];
    int made = make_sockets(worker, sockets, error);
    if (made != 0)
        return made;
    int status = spawn(&worker->pid, program, sockets[1], role, argument);
    (void)close(sockets[1]);
    if (status != 0) {
        (void)close(sockets[0]);
        worker->pid = 0;
        return error_set(error, ERROR_WORKER, "cannot start a %s worker: %s", role,
                         error_reason(status));
    }
    open_channel(worker, sockets[0]);
    return 0;
}

static int start_elsewhere(struct worker *worker, struct node *node, const char *role,
                           const char *argument, struct error *error)
{
    int sockets[2];
    int status = make_sockets(worker, sockets, error);
    if (status != 0)
        return status;
    worker->remote = node_start_worker(node, sockets[1], role, argument, error);
    (void)close(sockets[1]);
    if (worker->remote == NULL) {
        (void)close(sockets[0]);
        return ERROR_WORKER;
    }
    open_channel(worker, sockets[0]);
    return 0;
}

int worker_start(struct worker *worker, struct node *node, const char *role, const char *argument,
                 struct error *error)
{
    const struct worker_program this_one = {0};
    return node_is_here(node) ? worker_start_program(worker, &this_one, role, argument, error)
                              : start_elsewhere(worker, node, role, argument, error);
}

/* `status` and errno are those of the call that sent something. */
static void kill_unless_sent(const struct worker *worker, int status)
{
    if (status != 0 && errno != EAGAIN)
        worker_kill(worker);
}

void worker_send(struct worker *worker, json_t *request, const void *bytes, size_t count)
{
    kill_unless_sent(worker, channel_send_bytes(&worker->channel, request, bytes, count, NULL));
}

void worker_keep(struct worker *worker, const char *hash, const void *bytes, size_t count)
{
    kill_unless_sent(worker, channel_keep(&worker->channel, hash, bytes, count, NULL));
}

void worker_send_file(struct worker *worker, const char *name, int descriptor)
{
    json_t *message = json_pack("{s:s}", "file", name);
    kill_unless_sent(worker, channel_send_descriptor(&worker->channel, message, descriptor, NULL));
}

bool worker_is_running(const struct worker *worker)
{
    return worker->pid > 0 || worker->remote != NULL;
}

/* The first line of /proc/PID/NAME; "": there is none. */
static void read_proc(const struct worker *worker, const char *name, char line[96])
{
    char path[32];
    line[0] = '\0';
    (void)snprintf(path, sizeof path, "/proc/%ld/%s", (long)worker->pid, name);
    FILE *file = worker->pid > 0 ? fopen(path, "re") : NULL;
    if (file == NULL)
        return;
    if (fgets(line, 96, file) == NULL)
        line[0] = '\0';
    (void)fclose(file);
}

/* The second number of schedstat. */
int64_t worker_starved_ns(struct worker *worker)
{
    char line[96];
    if (worker->remote != NULL)
        return node_worker_starved_ns(worker->remote);
    read_proc(worker, "schedstat", line);
    const char *second = strchr(line, ' ');
    int64_t since_ns = second != NULL ? strtoll(second, NULL, 10) - worker->starved_ns : 0;
    worker->starved_ns += since_ns;
    return since_ns;
}

/* The state in stat, behind the name in parentheses: T is stopped, t is traced. */
bool worker_is_stopped(const struct worker *worker)
{
    char line[96];
    if (worker->remote != NULL)
        return node_worker_is_stopped(worker->remote);
    read_proc(worker, "stat", line);
    const char *name_end = strrchr(line, ')');
    return name_end != NULL &&
           (strncmp(name_end, ") T", 3) == 0 || strncmp(name_end, ") t", 3) == 0);
}

bool worker_was_asleep(int64_t deadline_ns)
{
    return clock_ns() - deadline_ns >= ASLEEP_NS;
}

/* Signals that a process gets for what it does. */
static const int faults[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGSYS};

static bool is_fault(int number)
{
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        if (faults[i] == number)
            return true;
    return false;
}

/* Waits for the process to exit and sets `*status`. Returns false if it has not by the deadline,
 * or half a second after the user wants to end. */
static bool wait_for(pid_t pid, int timeout_ms, int *status)
{
    const struct timespec pause = {.tv_nsec = 200000};
    int64_t deadline_ns = clock_ns() + (int64_t)timeout_ms * 1000000;
    for (;;) {
        deadline_ns = interrupt_hurried(deadline_ns);
        pid_t ended = waitpid(pid, status, WNOHANG);
        if (ended == pid || (ended < 0 && errno != EINTR))
            return true;
        if (clock_ns() >= deadline_ns)
            return false;
        (void)nanosleep(&pause, NULL);
    }
}

void worker_kill(const struct worker *worker)
{
    if (worker->remote != NULL)
        node_worker_kill(worker->remote);
    if (worker->pid > 0)
        (void)kill(-worker->pid, SIGKILL); /* its process group */
}

/* The node of one that is elsewhere ends it, if it has not ended. */
static void forget(struct worker *worker)
{
    channel_release(&worker->channel);
    if (worker->remote != NULL)
        node_worker_free(worker->remote);
    worker->remote = NULL;
    worker->pid = 0;
}

bool worker_has_ended(struct worker *worker)
{
    int status;
    bool ended = worker->remote != NULL ? node_worker_await_end(worker->remote, 0)
                                        : worker->pid == 0 || wait_for(worker->pid, 0, &status);
    if (ended && worker_is_running(worker))
        forget(worker);
    return ended;
}

bool worker_stop(struct worker *worker)
{
    int status = 0;
    bool ended = true;
    if (!worker_is_running(worker))
        return true;
    worker_kill(worker);
    ended = worker->remote != NULL ? node_worker_await_end(worker->remote, KILL_TIMEOUT_MS)
                                   : wait_for(worker->pid, KILL_TIMEOUT_MS, &status);
    forget(worker);
    return ended;
}

void worker_dismiss(struct worker *worker)
{
    if (worker->remote != NULL) {
        worker_kill(worker);
        forget(worker);
    }
    (void)worker_stop(worker);
}

/* Waits for the process to exit; kills it after two seconds, because a hung kernel may keep it in
 * the driver. Returns its status. */
static int wait_or_kill(pid_t pid)
{
    int status = 0;
    if (wait_for(pid, END_TIMEOUT_MS, &status))
        return status;
    (void)kill(pid, SIGKILL);
    (void)wait_for(pid, KILL_TIMEOUT_MS, &status);
    return EXIT_FAILURE << 8; /* not SIGKILL: we killed it ourselves */
}

void worker_end_begin(const struct worker *worker)
{
#if defined __SANITIZE_ADDRESS__
    (void)worker;
#else
    worker_kill(worker);
#endif
}

void worker_end(struct worker *worker)
{
#if defined __SANITIZE_ADDRESS__
    if (worker->pid > 0) {
        channel_release(&worker->channel);
        (void)wait_or_kill(worker->pid);
        worker->pid = 0;
    }
#endif
    worker_stop(worker);
}

/* As worker_reap(), for a status from waitpid(). */
static bool describe_end(int status, char reason[WORKER_REASON_BYTES])
{
    if (WIFSIGNALED(status))
        (void)snprintf(reason, WORKER_REASON_BYTES, "was killed by signal %d (%s)",
                       WTERMSIG(status), strsignal(WTERMSIG(status)));
    else
        (void)snprintf(reason, WORKER_REASON_BYTES, "ended with status %d", WEXITSTATUS(status));
    return WIFSIGNALED(status) && !is_fault(WTERMSIG(status));
}

bool worker_reap(struct worker *worker, char reason[WORKER_REASON_BYTES])
{
    const struct node_worker *remote = worker->remote;
    bool killed = true;
    if (remote == NULL) {
        channel_release(&worker->channel);
        killed = describe_end(wait_or_kill(worker->pid), reason);
    } else {
        bool ended = node_worker_await_end(worker->remote, END_TIMEOUT_MS + KILL_TIMEOUT_MS);
        killed = !ended || remote->killed;
        (void)snprintf(reason, WORKER_REASON_BYTES, "%s", ended ? remote->reason : "did not exit");
    }
    forget(worker);
    return killed;
}

bool worker_try_reap(struct worker *worker, bool late, char reason[WORKER_REASON_BYTES],
                     bool *killed)
{
    int status = 0;
    if (late)
        worker_kill(worker);
    if (!wait_for(worker->pid, 0, &status))
        return false;
    worker->pid = 0;
    *killed = describe_end(late ? EXIT_FAILURE << 8 : status, reason);
    return true;
}

/* False if the deadline is stated, and is none. */
static bool read_timeout(double *timeout_s)
{
    const char *text = getenv("AUTOTUNE_WORKER_TIMEOUT_S");
    char *end;
    if (text == NULL || text[0] == '\0')
        return true;
    double stated = strtod(text, &end);
    if (*end != '\0' || !(stated >= 0.01 && stated <= 86400))
        return false;
    *timeout_s = stated;
    return true;
}

double worker_timeout_s(double usual_s)
{
    (void)read_timeout(&usual_s);
    return usual_s;
}

int worker_check_timeout(struct error *error)
{
    double timeout_s;
    return read_timeout(&timeout_s)
               ? 0
               : error_set(error, ERROR_USAGE,
                           "AUTOTUNE_WORKER_TIMEOUT_S is '%s'; give a deadline in seconds, from "
                           "0.01 to 86400",
                           getenv("AUTOTUNE_WORKER_TIMEOUT_S"));
}

static _Noreturn void die(void)
{
    (void)kill(getpid(), SIGKILL);
    for (;;) /* with several threads, it may take a moment */
        (void)pause();
}

void worker_give_up(const struct error *error)
{
    error_print(error, stderr);
    die();
}

#if !defined __SANITIZE_ADDRESS__ /* which has handlers of its own */
static bool memory_is_limited;

/* If another process sent the signal, or the machine has no memory, this one dies of SIGKILL instead: it
 * did nothing wrong. */
static void handle_fault(int number, siginfo_t *information, void *context)
{
    (void)context;
    if ((information->si_code <= 0 && information->si_pid != getpid()) ||
        (number == SIGABRT && alloc_has_failed() && !memory_is_limited))
        die();
    (void)signal(number, SIG_DFL);
    (void)raise(number);
}

static void watch_for_senders(bool limits_memory)
{
    memory_is_limited = limits_memory;
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        struct sigaction action = {.sa_sigaction = handle_fault,
                                   .sa_flags = SA_SIGINFO | SA_ONSTACK};
        (void)sigaction(faults[i], &action, NULL);
    }
}
#else
static void watch_for_senders(bool limits_memory)
{
    (void)limits_memory;
}
#endif

/* Whether to end is decided by the coordinator, with which the worker dies. The signals are blocked, too,
 * because NVRTC handles SIGTERM while it compiles, and ends the process. */
static void ignore_requests_to_end(void)
{
    sigset_t set;
    (void)signal(SIGINT, SIG_IGN);
    (void)signal(SIGTERM, SIG_IGN);
    (void)signal(SIGHUP, SIG_IGN);
    (void)sigemptyset(&set);
    (void)sigprocmask(SIG_SETMASK, &set, NULL);
    interrupt_block(&set);
}

void worker_enter(bool limits_memory)
{
    pid_t parent = getppid();
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) /* it died before the prctl() */
        _exit(1);
    ignore_requests_to_end();
    watch_for_senders(limits_memory);
}
