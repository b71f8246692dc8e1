/*
 * How soon after the deadline of a kernel that never ended the next variant is measured: until its
 * samples are there. Time in which the device was asked for nothing (the compiler had no variant
 * ready) is left out. A hang that is followed by a variant that fails gives no figure.
 */
#ifndef AUTOTUNE_HANG_RECOVERY_H
#define AUTOTUNE_HANG_RECOVERY_H

#include <stddef.h>
#include <stdint.h>

struct hang_recovery {
    size_t count;
    double *recoveries_ns; /* deadline to samples */
    size_t recovery_count;
    int64_t since_ns; /* deadline of the last, moved by idle times; 0: no recovery under way */
    int64_t idle_ns;  /* since when the device is asked for nothing; 0: it is asked for something */
};

void hang_recovery_release(struct hang_recovery *hangs);

/* All times are of clock_ns(). */
void hang_recovery_add(struct hang_recovery *hangs, int64_t deadline_ns);
void hang_recovery_idle(struct hang_recovery *hangs, int64_t now_ns);
void hang_recovery_busy(struct hang_recovery *hangs, int64_t now_ns);

/* The next variant was measured, or failed. */
void hang_recovery_measured(struct hang_recovery *hangs, int64_t now_ns);
void hang_recovery_failed(struct hang_recovery *hangs);

#endif
