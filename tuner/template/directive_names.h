/* The names in a source's preprocessing directives: what a macro of such a name may change. */
#ifndef AUTOTUNE_DIRECTIVE_NAMES_H
#define AUTOTUNE_DIRECTIVE_NAMES_H

#include <stdbool.h>
#include <stddef.h>

/* Zeroed is empty. */
struct directive_names {
    char **items;
    size_t count;
};

void directive_names_add(struct directive_names *names, const char *name);
void directive_names_release(struct directive_names *names);

/* Call once all are added, and before the first question. */
void directive_names_sort(struct directive_names *names);
bool directive_names_have(const struct directive_names *names, const char *name);

#endif
