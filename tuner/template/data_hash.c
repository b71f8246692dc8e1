#include "template/data_hash.h"

#include "base/open_regular.h"

#include <stdbool.h>
#include <stdio.h>

static void add_file(struct hash *hash, const char *path)
{
    char bytes[65536];
    size_t count;
    size_t length = 0; /* so that a byte cannot move from one file to the next unnoticed */
    FILE *file = open_regular(path);
    while (file != NULL && (count = fread(bytes, 1, sizeof bytes, file)) > 0) {
        hash_add(hash, bytes, count);
        length += count;
    }
    hash_add(hash, &length, sizeof length);
    if (file != NULL)
        (void)fclose(file);
}

/* Returns whether the fill is a file. */
static bool add_fill(struct hash *hash, const struct fill *fill)
{
    if (fill->kind == FILL_FILE)
        add_file(hash, fill->path);
    return fill->kind == FILL_FILE;
}

void data_hash_of(const struct template *template, char digits[HASH_BYTES])
{
    struct hash *hash = hash_new();
    bool any = false;
    for (size_t i = 0; i < template->buffer_count; i++)
        any = add_fill(hash, &template->buffers[i].fill) || any;
    for (size_t i = 0; i < template->expectation_count; i++)
        any = add_fill(hash, &template->expectations[i].fill) || any;
    hash_finish(hash, digits);
    if (!any)
        digits[0] = '\0';
}
