/* The time: monotonic, and the date. */
#ifndef AUTOTUNE_CLOCK_H
#define AUTOTUNE_CLOCK_H

#include <stdint.h>
#include <time.h>

enum { CLOCK_DATE_BYTES = 32 };

/* Nanoseconds since an arbitrary fixed point. */
static inline int64_t clock_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* "2026-11-22T03:00:00Z"; "" if it is not known. */
static inline void clock_date(char date[CLOCK_DATE_BYTES])
{
    time_t now = time(NULL);
    struct tm utc;
    date[0] = '\0';
    if (gmtime_r(&now, &utc) != NULL)
        (void)strftime(date, CLOCK_DATE_BYTES, "%Y-%m-%dT%H:%M:%SZ", &utc);
}

#endif
