#include "mpi/mirror.h"

#include "base/alloc.h"
#include "base/write_file.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int make_folder(const char *path, struct error *error)
{
    char *inside = alloc_format("%s/.", path);
    int status = write_file_make_folders(inside, error);
    free(inside);
    return status;
}

int mirror_init(struct mirror *mirror, const char *folder, struct error *error)
{
    const char *temporary = getenv("TMPDIR");
    char *name = alloc_format("%s/autotune-mpi-XXXXXX",
                              temporary != NULL && temporary[0] == '/' ? temporary : "/tmp");
    *mirror = (struct mirror){.folder = alloc_string(folder), .known = json_object()};
    if (mkdtemp(name) != NULL)
        mirror->root = realpath(name, NULL);
    int status = mirror->root != NULL
                     ? 0
                     : error_set_errno(error, ERROR_RECORD, "cannot create a folder '%s'", name);
    free(name);
    if (status != 0)
        return status;
    char *here = mirror_path(mirror, folder);
    status = make_folder(here, error);
    free(here);
    return status;
}

static int remove_entry(const char *path, const struct stat *information, int type,
                        struct FTW *place)
{
    (void)information;
    (void)type;
    (void)place;
    (void)remove(path);
    return 0;
}

void mirror_release(struct mirror *mirror)
{
    enum { DESCRIPTORS = 16 };
    if (mirror->root != NULL)
        (void)nftw(mirror->root, remove_entry, DESCRIPTORS, FTW_DEPTH | FTW_PHYS);
    free(mirror->root);
    free(mirror->folder);
    json_decref(mirror->known);
    *mirror = (struct mirror){0};
}

char *mirror_absolute(const struct mirror *mirror, const char *path)
{
    return path[0] == '/' ? alloc_string(path) : alloc_format("%s/%s", mirror->folder, path);
}

char *mirror_path(const struct mirror *mirror, const char *path)
{
    char *absolute = mirror_absolute(mirror, path);
    char *here = alloc_format("%s%s", mirror->root, absolute);
    free(absolute);
    return here;
}

static bool is_folder(const char *path)
{
    size_t length = strlen(path);
    return length > 0 && path[length - 1] == '/';
}

bool mirror_has(const struct mirror *mirror, const char *path)
{
    char *here = mirror_path(mirror, path);
    bool has = json_object_get(mirror->known, path) != NULL ||
               (!is_folder(path) && access(here, F_OK) == 0);
    free(here);
    return has;
}

void mirror_note(struct mirror *mirror, const char *path)
{
    char *here = mirror_path(mirror, path);
    if (is_folder(path))
        (void)make_folder(here, NULL);
    json_object_set_new(mirror->known, path, json_true());
    free(here);
}

void mirror_link(const struct mirror *mirror, const json_t *links)
{
    size_t index;
    json_t *link;
    json_array_foreach(links, index, link)
    {
        const char *path = json_string_value(json_array_get(link, 0));
        const char *target = json_string_value(json_array_get(link, 1));
        if (path == NULL || target == NULL)
            continue;
        char *here = mirror_path(mirror, path);
        char *there = target[0] == '/' ? mirror_path(mirror, target) : alloc_string(target);
        if (write_file_make_folders(here, NULL) == 0)
            (void)!symlink(there, here);
        free(there);
        free(here);
    }
}

size_t mirror_strip(const struct mirror *mirror, char *text, size_t length)
{
    size_t root = strlen(mirror->root);
    char *at = text;
    while ((at = memmem(at, length - (size_t)(at - text), mirror->root, root)) != NULL) {
        length -= root;
        memmove(at, at + root, length - (size_t)(at - text));
    }
    return length;
}

/* --- requests --- */

static const char *text_of(const json_t *request, const char *member)
{
    return json_string_value(json_object_get(request, member));
}

static bool does(const json_t *request, const char *command)
{
    const char *own = text_of(request, "do");
    return own != NULL && strcmp(own, command) == 0;
}

bool request_names_files(const json_t *request)
{
    return does(request, "open");
}

static void add(const struct mirror *mirror, json_t *files, const char *path)
{
    if (path == NULL)
        return;
    char *absolute = mirror_absolute(mirror, path);
    json_array_append_new(files, json_string(absolute));
    free(absolute);
}

json_t *request_files(const struct mirror *mirror, const json_t *request)
{
    json_t *files = json_array();
    size_t index;
    json_t *item;
    json_array_foreach(json_object_get(request, "files"), index, item)
    {
        add(mirror, files, json_string_value(item));
    }
    return files;
}

void request_move(const struct mirror *mirror, json_t *request)
{
    const char *path = text_of(request, "template");
    if (path != NULL && path[0] == '/') {
        char *here = mirror_path(mirror, path);
        json_object_set_new(request, "template", json_string(here));
        free(here);
    }
    json_object_del(request, "files");
}

/* --- files that come in packets --- */

void file_arrival_begin(struct file_arrival *arrival, const char *path)
{
    file_arrival_abandon(arrival);
    arrival->error = (struct error){0};
    arrival->open = write_file_begin(&arrival->file, path, &arrival->error) == 0;
}

void file_arrival_add(struct file_arrival *arrival, const void *bytes, size_t count)
{
    if (arrival->open && count > 0)
        (void)fwrite(bytes, 1, count, arrival->file.stream); /* the commit says if it failed */
}

int file_arrival_end(struct file_arrival *arrival, bool good, struct error *error)
{
    if (!good)
        file_arrival_abandon(arrival);
    if (arrival->open)
        (void)write_file_commit(&arrival->file, WRITE_FILE_CACHED, &arrival->error);
    arrival->open = false;
    *error = arrival->error;
    arrival->error = (struct error){0};
    return error->code;
}

void file_arrival_abandon(struct file_arrival *arrival)
{
    if (arrival->open)
        write_file_abandon(&arrival->file);
    arrival->open = false;
}
