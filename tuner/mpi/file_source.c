#include "mpi/file_source.h"

#include "base/alloc.h"
#include "base/path.h"

#include <dirent.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PIECE_BYTES = 256 * 1024, LINKS_MOST = 40 };

struct file_source {
    struct file_source *next;
    char *path;
    int file; /* -1: not begun */
};

void file_source_add(struct file_source **files, const char *path, size_t length)
{
    struct file_source *new = alloc_zeroed(1, sizeof *new);
    new->path = alloc_string_n(path, length);
    new->file = -1;
    while (*files != NULL)
        files = &(*files)->next;
    *files = new;
}

static void remove_first(struct file_source **files)
{
    struct file_source *first = *files;
    *files = first->next;
    if (first->file >= 0)
        (void)close(first->file);
    free(first->path);
    free(first);
}

void file_source_free(struct file_source **files)
{
    while (*files != NULL)
        remove_first(files);
}

/* The target of the first symbolic link on the way to `path`, and the part of the path that is the
 * link; NULL if there is none. */
static char *find_link(const char *path, size_t *length)
{
    char target[PATH_MAX];
    for (const char *end = path; *end != '\0';) {
        end += strspn(end, "/");
        end += strcspn(end, "/");
        char *part = alloc_string_n(path, (size_t)(end - path));
        ssize_t count = readlink(part, target, sizeof target);
        free(part);
        *length = (size_t)(end - path);
        if (count > 0)
            return alloc_string_n(target, (size_t)count);
    }
    return NULL;
}

/* Follows all links; returns the path behind them, a new string. */
static char *follow_links(const char *path, json_t *links)
{
    char *at = alloc_string(path);
    char *target;
    size_t length;
    for (int i = 0; i < LINKS_MOST && (target = find_link(at, &length)) != NULL; i++) {
        char *link = alloc_string_n(at, length);
        char *behind = path_beside(link, target);
        char *next = alloc_format("%s%s", behind, at + length);
        json_array_append_new(links, json_pack("[s, s]", link, target));
        free(behind);
        free(target);
        free(link);
        free(at);
        at = next;
    }
    return at;
}

static void finish(struct file_source **files, struct peers *peers, int rank, bool good)
{
    peers_send_object(peers, rank, PACKET_FILE_END, 0,
                      json_pack("{s:s, s:b}", "asked", (*files)->path, "good", (int)good));
    remove_first(files);
}

/* The symbolic links in a folder: what they lead to is asked for by its own name. */
static void add_links(const char *folder, json_t *links)
{
    char target[PATH_MAX];
    DIR *entries = opendir(folder);
    for (const struct dirent *entry; entries != NULL && (entry = readdir(entries)) != NULL;) {
        char *path = alloc_format("%s%s", folder, entry->d_name);
        ssize_t count = readlink(path, target, sizeof target);
        if (count > 0)
            json_array_append_new(links, json_pack("[s, s%]", path, target, (size_t)count));
        free(path);
    }
    if (entries != NULL)
        (void)closedir(entries);
}

static void begin(struct file_source **files, struct peers *peers, int rank)
{
    struct stat information;
    json_t *links = json_array();
    char *path = follow_links((*files)->path, links);
    bool folder = path[strlen(path) - 1] == '/';
    if (folder)
        add_links(path, links);
    peers_send_object(
        peers, rank, PACKET_FILE, 0,
        json_pack("{s:s, s:o, s:b}", "path", path, "links", links, "folder", (int)folder));
    if (folder) {
        finish(files, peers, rank, true);
        free(path);
        return;
    }
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    bool good = file >= 0 && fstat(file, &information) == 0 && S_ISREG(information.st_mode);
    free(path);
    (*files)->file = file;
    if (!good)
        finish(files, peers, rank, false);
}

void file_source_send(struct file_source **files, struct peers *peers, int rank)
{
    if ((*files)->file < 0) {
        begin(files, peers, rank);
        return;
    }
    char *bytes = alloc_resize(NULL, PIECE_BYTES, 1);
    ssize_t count = read((*files)->file, bytes, PIECE_BYTES);
    if (count > 0)
        peers_send(peers, rank, PACKET_FILE_BYTES, 0, bytes, (size_t)count);
    else
        finish(files, peers, rank, count == 0);
    free(bytes);
}
