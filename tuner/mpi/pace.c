#include "mpi/pace.h"

#include "base/clock.h"

#include <time.h>

void pace_wait(struct pace *pace, bool moved, struct pollfd *descriptors, size_t count)
{
    enum { SHORTEST_NS = 20000, LONGEST_NS = 1000000 };
    long longer_ns = pace->sleep_ns < SHORTEST_NS ? SHORTEST_NS : 5 * pace->sleep_ns / 4;
    pace->sleep_ns = moved ? 0 : longer_ns < LONGEST_NS ? longer_ns : LONGEST_NS;
    const struct timespec sleep = {.tv_nsec = pace->sleep_ns};
    (void)ppoll(descriptors, count, &sleep, NULL);
}

void pace_look(struct pace *pace)
{
    enum { MOMENT_NS = 100000000 };
    int64_t now_ns = clock_ns();
    int64_t since_ns = pace->looked_ns > 0 ? now_ns - pace->looked_ns : 0;
    pace->stopped_ns = since_ns > MOMENT_NS ? since_ns : 0;
    pace->looked_ns = now_ns;
}

int64_t pace_heard_ns(const struct pace *pace, int64_t heard_ns)
{
    int64_t later_ns = heard_ns + pace->stopped_ns;
    return later_ns < pace->looked_ns ? later_ns : pace->looked_ns;
}
