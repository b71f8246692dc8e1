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
