#include "compile/held_signals.h"

#include <stdbool.h>
#include <stddef.h>

static const int signals[] = {SIGINT, SIGTERM};
enum { SIGNAL_COUNT = sizeof signals / sizeof *signals };

/* Whether a signal that is not blocked ends the program. */
static bool is_fatal(int number)
{
    struct sigaction action;
    return sigaction(number, NULL, &action) == 0 && (action.sa_flags & SA_SIGINFO) == 0 &&
           action.sa_handler == SIG_DFL;
}

void held_signals_begin(struct held_signals *held)
{
    sigset_t set;
    (void)sigemptyset(&set);
    (void)sigemptyset(&held->fatal);
    for (size_t i = 0; i < SIGNAL_COUNT; i++)
        (void)sigaddset(&set, signals[i]);
    (void)pthread_sigmask(SIG_BLOCK, &set, &held->previous);
    for (size_t i = 0; i < SIGNAL_COUNT; i++)
        if (sigismember(&held->previous, signals[i]) == 0 && is_fatal(signals[i]))
            (void)sigaddset(&held->fatal, signals[i]);
}

int held_signals_cancel(void *payload, void *reserved)
{
    const struct held_signals *held = payload;
    sigset_t pending;
    (void)reserved;
    if (sigpending(&pending) != 0)
        return 0;
    for (size_t i = 0; i < SIGNAL_COUNT; i++)
        if (sigismember(&pending, signals[i]) == 1 && sigismember(&held->fatal, signals[i]) == 1)
            return 1;
    return 0;
}

void held_signals_end(const struct held_signals *held)
{
    (void)pthread_sigmask(SIG_SETMASK, &held->previous, NULL);
}
