#include "template/data_hash.h"

#include "base/open_regular.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* Reading larger files takes too long: of those, size and date tell whether they have changed. */
enum { LARGEST = 256 << 20 };

static void add_file(struct hash *hash, const char *path)
{
    struct stat status = {0};
    FILE *file = open_regular(path);
    if (file == NULL || fstat(fileno(file), &status) != 0)
        status = (struct stat){0};
    const int64_t size = status.st_size;
    const int64_t date[] = {status.st_mtim.tv_sec, status.st_mtim.tv_nsec};
    hash_add(hash, &size, sizeof size);
    if (size > LARGEST)
        hash_add(hash, date, sizeof date);
    else if (file != NULL)
        (void)hash_add_file(hash, file);
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

int data_hash_check(const struct template *template, const char *path, const char *digits,
                    struct error *error)
{
    char now[HASH_BYTES];
    data_hash_of(template, now);
    return strcmp(now, digits) == 0
               ? 0
               : error_set_at(error, ERROR_CONFIG, path, 0,
                              "a file that it reads data from has changed since the run started; "
                              "run again");
}
