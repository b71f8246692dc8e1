/*
 * How long to sleep between two looks at MPI, which has nothing that poll() could wait for: not at
 * all while something happens, then longer and longer, up to a millisecond. Descriptors end the
 * sleep at once.
 */
#ifndef AUTOTUNE_PACE_H
#define AUTOTUNE_PACE_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>

/* Zeroed is busy. */
struct pace {
    long sleep_ns;
};

/* Polls; sleeps unless something was `moved`. */
void pace_wait(struct pace *pace, bool moved, struct pollfd *descriptors, size_t count);

#endif
