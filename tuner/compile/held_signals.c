#include "compile/held_signals.h"

#include "base/interrupt.h"

#include <stddef.h>

static const int signals[HELD_SIGNAL_COUNT] = {SIGINT, SIGTERM};

void held_signals_begin(struct held_signals *held)
{
    sigset_t set;
    (void)sigemptyset(&set);
    for (size_t i = 0; i < HELD_SIGNAL_COUNT; i++) {
        (void)sigaddset(&set, signals[i]);
        (void)sigaction(signals[i], NULL, &held->actions[i]);
    }
    held->held = pthread_sigmask(SIG_BLOCK, &set, &held->previous) == 0;
}

/* NVRTC puts handlers back with signal(), which loses their flags. Returns false while the handler is
 * NVRTC's. */
static bool restore_flags(int number, const struct sigaction *before)
{
    struct sigaction now;
    if (sigaction(number, NULL, &now) != 0 || now.sa_handler != before->sa_handler)
        return false;
    return now.sa_flags == before->sa_flags || sigaction(number, before, NULL) == 0;
}

static bool restore_all_flags(const struct held_signals *held)
{
    bool restored = true;
    for (size_t i = 0; i < HELD_SIGNAL_COUNT; i++)
        restored = restore_flags(signals[i], &held->actions[i]) && restored;
    return restored;
}

static void let_in(struct held_signals *held)
{
    held->held = false;
    (void)pthread_sigmask(SIG_SETMASK, &held->previous, NULL);
}

int held_signals_step(void *payload, void *reserved)
{
    struct held_signals *held = payload;
    (void)reserved;
    if (held->held && restore_all_flags(held))
        let_in(held);
    return interrupt_requested() ? 1 : 0;
}

void held_signals_end(struct held_signals *held)
{
    if (!held->held)
        return;
    (void)restore_all_flags(held);
    let_in(held);
}
