#include "mpi/pace.h"

#include <time.h>

void pace_wait(struct pace *pace, bool moved, struct pollfd *descriptors, size_t count)
{
    enum { SHORTEST_NS = 20000, LONGEST_NS = 1000000 };
    long longer_ns = pace->sleep_ns < SHORTEST_NS ? SHORTEST_NS : 5 * pace->sleep_ns / 4;
    pace->sleep_ns = moved ? 0 : longer_ns < LONGEST_NS ? longer_ns : LONGEST_NS;
    const struct timespec sleep = {.tv_nsec = pace->sleep_ns};
    (void)ppoll(descriptors, count, &sleep, NULL);
}
