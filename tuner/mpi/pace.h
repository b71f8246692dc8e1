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
#include <stdint.h>

/* Zeroed is busy. */
struct pace {
    long sleep_ns;
    int64_t looked_ns;  /* the last pace_look(); 0: none */
    int64_t stopped_ns; /* for how long the process did not run before it */
};

/* Polls; sleeps unless something was `moved`. */
void pace_wait(struct pace *pace, bool moved, struct pollfd *descriptors, size_t count);

/* Call once for every pace_wait(), before pace_heard_ns(). */
void pace_look(struct pace *pace);

/* When another process was heard last, later by as long as this one did not run, because a signal had
 * stopped it or the machine was busy: what the other did not say meanwhile is not its silence. */
int64_t pace_heard_ns(const struct pace *pace, int64_t heard_ns);

#endif
