#include "base/interrupt.h"

#include "base/clock.h"

#include <errno.h>
#include <time.h>

static const int signals[] = {SIGINT, SIGTERM, SIGHUP};

/* Set by the signal handler. */
static volatile sig_atomic_t requested;

static void handle_signal(int number)
{
    requested = 1;
    (void)signal(number, SIG_DFL); /* the next one terminates the process */
}

void interrupt_block(sigset_t *previous)
{
    sigset_t set;
    (void)sigemptyset(&set);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        (void)sigaddset(&set, signals[i]);
    (void)sigprocmask(SIG_BLOCK, &set, previous);
}

void interrupt_install(void)
{
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        struct sigaction action = {.sa_handler = handle_signal, .sa_flags = SA_RESTART};
        struct sigaction previous;
        (void)sigaction(signals[i], &action, &previous);
        if (signals[i] == SIGHUP && previous.sa_handler == SIG_IGN) /* nohup */
            (void)sigaction(signals[i], &previous, NULL);
    }
}

void interrupt_end(void)
{
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        struct sigaction previous;
        (void)sigaction(signals[i], NULL, &previous);
        if (previous.sa_handler == handle_signal)
            (void)signal(signals[i], SIG_DFL);
    }
}

bool interrupt_requested(void)
{
    return requested != 0;
}

int64_t interrupt_hurried(int64_t end_ns)
{
    int64_t hurried_ns = clock_ns() + 500000000;
    return interrupt_requested() && hurried_ns < end_ns ? hurried_ns : end_ns;
}

int interrupt_poll(struct pollfd *descriptors, size_t count, int64_t timeout_ns)
{
    sigset_t open;
    struct timespec timeout = {.tv_sec = (time_t)(timeout_ns / 1000000000),
                               .tv_nsec = (long)(timeout_ns % 1000000000)};
    int ready = -1;
    int number = EINTR;
    interrupt_block(&open); /* a signal between the question and the wait ends the wait */
    if (!interrupt_requested()) {
        ready = ppoll(descriptors, count, timeout_ns >= 0 ? &timeout : NULL, &open);
        number = errno;
    }
    (void)sigprocmask(SIG_SETMASK, &open, NULL);
    errno = number;
    return ready;
}
