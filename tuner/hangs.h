/*
 * How soon after the deadline of a kernel that never ended the next variant is measured: until its
 * samples are there. Time in which the device was asked for nothing (the compiler had no variant
 * ready) is left out. A hang that is followed by a variant that fails gives no figure.
 */
#ifndef AUTOTUNE_HANGS_H
#define AUTOTUNE_HANGS_H

#include <stddef.h>
#include <stdint.h>

struct hangs {
    size_t count;
    double *recoveries_ns; /* deadline to samples */
    size_t recovery_count;
    int64_t since_ns; /* deadline of the last, moved by idle times; 0: no recovery under way */
    int64_t idle_ns;  /* since when the device is asked for nothing; 0: it is asked for something */
};

void hangs_release(struct hangs *hangs);

/* All times are of clock_ns(). */
void hangs_add(struct hangs *hangs, int64_t deadline_ns);
void hangs_idle(struct hangs *hangs, int64_t now_ns);
void hangs_busy(struct hangs *hangs, int64_t now_ns);

/* The next variant was measured, or failed. */
void hangs_measured(struct hangs *hangs, int64_t now_ns);
void hangs_failed(struct hangs *hangs);

#endif
