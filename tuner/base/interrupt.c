#include "base/interrupt.h"

#include <signal.h>
#include <time.h>

static const int signals[] = {SIGINT, SIGTERM, SIGHUP};

/* Set by the signal handler. */
static volatile sig_atomic_t requested;

static void handle_signal(int number)
{
    requested = 1;
    (void)signal(number, SIG_DFL); /* the next one terminates the process */
}

static void make_set(sigset_t *set)
{
    (void)sigemptyset(set);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        (void)sigaddset(set, signals[i]);
}

void interrupt_install(void)
{
    sigset_t set;
    make_set(&set);
    (void)sigprocmask(SIG_BLOCK, &set, NULL);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        struct sigaction action = {.sa_handler = handle_signal};
        (void)sigaction(signals[i], &action, NULL);
    }
}

bool interrupt_requested(void)
{
    return requested != 0;
}

int interrupt_poll(struct pollfd *descriptors, size_t count, int64_t timeout_ns)
{
    sigset_t open;
    struct timespec timeout = {.tv_sec = (time_t)(timeout_ns / 1000000000),
                               .tv_nsec = (long)(timeout_ns % 1000000000)};
    (void)sigprocmask(SIG_SETMASK, NULL, &open);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        (void)sigdelset(&open, signals[i]);
    return ppoll(descriptors, count, timeout_ns >= 0 ? &timeout : NULL, &open);
}
