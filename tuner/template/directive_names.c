#include "template/directive_names.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

static int compare(const void *left, const void *right)
{
    const char *const *a = left;
    const char *const *b = right;
    return strcmp(*a, *b);
}

void directive_names_add(struct directive_names *names, const char *name)
{
    *ARRAY_APPEND(names->items, names->count) = alloc_string(name);
}

void directive_names_release(struct directive_names *names)
{
    for (size_t i = 0; i < names->count; i++)
        free(names->items[i]);
    free(names->items);
    *names = (struct directive_names){0};
}

void directive_names_sort(struct directive_names *names)
{
    if (names->count > 0)
        qsort(names->items, names->count, sizeof *names->items, compare);
}

bool directive_names_have(const struct directive_names *names, const char *name)
{
    return names->count > 0 &&
           bsearch(&name, names->items, names->count, sizeof *names->items, compare) != NULL;
}
