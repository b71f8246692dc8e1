#include "template/template_files.h"

#include "base/alloc.h"
#include "base/open_regular.h"
#include "base/path.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static void add(json_t *list, const char *path)
{
    json_array_append_new(list, json_string(path));
}

static void add_fill(json_t *list, const struct fill *fill)
{
    if (fill->kind == FILL_FILE)
        add(list, fill->path);
}

static void add_folder(json_t *list, const char *path)
{
    char *folder = alloc_format("%s/", path);
    add(list, folder);
    free(folder);
}

static void add_source(json_t *list, const struct source *source)
{
    add(list, source->path);
    for (size_t i = 0; i < source->header_count; i++)
        add(list, source->headers[i]);
    for (size_t i = 0; i < source->include_count; i++)
        add_folder(list, source->include_folders[i]);
}

json_t *template_files(const struct template *template)
{
    json_t *list = json_array();
    char *folder = path_folder(template->path);
    add(list, template->path);
    add_folder(list, folder);
    free(folder);
    add_source(list, &template->source);
    for (size_t i = 0; i < template->buffer_count; i++)
        add_fill(list, &template->buffers[i].fill);
    for (size_t i = 0; i < template->expectation_count; i++)
        add_fill(list, &template->expectations[i].fill);
    return list;
}

/* --- the hash of the data --- */

/* Reading larger files takes too long: of those, size and date tell whether they have changed. */
enum { LARGEST = 256 << 20 };

static void hash_file(struct hash *hash, const char *path)
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
static bool hash_fill(struct hash *hash, const struct fill *fill)
{
    if (fill->kind == FILL_FILE)
        hash_file(hash, fill->path);
    return fill->kind == FILL_FILE;
}

void data_hash_of(const struct template *template, char digits[HASH_BYTES])
{
    struct hash *hash = hash_new();
    bool any = false;
    for (size_t i = 0; i < template->buffer_count; i++)
        any = hash_fill(hash, &template->buffers[i].fill) || any;
    for (size_t i = 0; i < template->expectation_count; i++)
        any = hash_fill(hash, &template->expectations[i].fill) || any;
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
