#include "base/file_lock.h"

#include "base/clock.h"
#include "base/interrupt.h"

#include <errno.h>
#include <stdint.h>
#include <sys/file.h>
#include <time.h>

enum { HURRIED_NS = 500000000, POLL_NS = 5000000 };

bool file_lock_take(int file, int how, int timeout_ms)
{
    const struct timespec pause = {.tv_nsec = POLL_NS};
    int64_t end_ns = timeout_ms < 0 ? INT64_MAX : clock_ns() + (int64_t)timeout_ms * 1000000;
    while (flock(file, how | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK && errno != EINTR)
            return true;
        int64_t hurried_ns = clock_ns() + HURRIED_NS;
        if (interrupt_requested() && hurried_ns < end_ns)
            end_ns = hurried_ns;
        if (clock_ns() >= end_ns)
            return false;
        (void)nanosleep(&pause, NULL);
    }
    return true;
}
