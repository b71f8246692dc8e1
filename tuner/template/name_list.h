/* Growing lists of borrowed names. */
#ifndef AUTOTUNE_NAME_LIST_H
#define AUTOTUNE_NAME_LIST_H

#include <stdbool.h>
#include <stddef.h>

/* Always ended by NULL, which `count` includes. An empty list is {0} and has no items. free(items)
 * releases it. */
struct names {
    const char **items;
    size_t count;
};

void names_add(struct names *names, const char *name);
void names_add_all(struct names *names, const char *const *more); /* `more` ends with NULL */

/* Whether `names`, ended by NULL, has `name`; a NULL list has none. */
bool names_have(const char *const *names, const char *name);

#endif
