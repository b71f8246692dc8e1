#include "base/environment.h"

#include <inttypes.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

bool environment_number(const char *name, int64_t most, int64_t *number)
{
    const char *text = getenv(name);
    char *end;
    if (text == NULL || text[0] == '\0')
        return true;
    int64_t stated = strtoimax(text, &end, 10); /* too large: the largest there is */
    if (*end != '\0' || stated < 1 || stated > most)
        return false;
    *number = stated;
    return true;
}

size_t cores_usable(void)
{
    cpu_set_t set;
    long count = sched_getaffinity(0, sizeof set, &set) == 0
                     ? CPU_COUNT(&set)
                     : sysconf(_SC_NPROCESSORS_ONLN); /* more than a cpu_set_t has room for */
    return count > 0 ? (size_t)count : 1;
}
