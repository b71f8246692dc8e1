#include "base/environment_number.h"

#include <inttypes.h>
#include <stdlib.h>

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
