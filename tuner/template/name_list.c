#include "template/name_list.h"

#include "base/alloc.h"

#include <string.h>

void names_add(struct names *names, const char *name)
{
    if (names->count > 0)
        names->count--; /* the NULL */
    *ARRAY_APPEND(names->items, names->count) = name;
    *ARRAY_APPEND(names->items, names->count) = NULL;
}

void names_add_all(struct names *names, const char *const *more)
{
    for (; *more != NULL; more++)
        names_add(names, *more);
}

bool names_have(const char *const *names, const char *name)
{
    for (; names != NULL && *names != NULL; names++)
        if (strcmp(*names, name) == 0)
            return true;
    return false;
}
