#include "base/cores.h"

#include <sched.h>
#include <unistd.h>

size_t cores_usable(void)
{
    cpu_set_t set;
    long count = sched_getaffinity(0, sizeof set, &set) == 0
                     ? CPU_COUNT(&set)
                     : sysconf(_SC_NPROCESSORS_ONLN); /* more than a cpu_set_t has room for */
    return count > 0 ? (size_t)count : 1;
}
