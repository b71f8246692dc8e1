/*
 * An agent's copy of the coordinator's files. A file /a/b of the coordinator's machine is ROOT/a/b
 * here, and the workers run in the copy of the coordinator's folder, so that relative paths mean the
 * same. ROOT is a new folder in $TMPDIR, and goes when the agent ends.
 */
#ifndef AUTOTUNE_MIRROR_H
#define AUTOTUNE_MIRROR_H

#include "base/error.h"
#include "base/write_file.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct mirror {
    char *root;    /* without symbolic links */
    char *folder;  /* the coordinator's; an absolute path */
    json_t *known; /* paths that need not be asked for, whether they are here or not: folders, and
                      what the coordinator could not read; an object, as a set */
};

/* Makes the root and the folder. Returns 0 or ERROR_RECORD. */
int mirror_init(struct mirror *mirror, const char *folder, struct error *error);
void mirror_release(struct mirror *mirror); /* removes the root */

/* The coordinator's path, absolute; a new string. */
char *mirror_absolute(const struct mirror *mirror, const char *path);

/* Where it is here; a new string. */
char *mirror_path(const struct mirror *mirror, const char *path);

/* Whether the file is here or known. A path that ends in "/" is a folder, with the links in it: it is
 * not enough that it exists. */
bool mirror_has(const struct mirror *mirror, const char *path);

/* Whatever becomes of this path, it has been asked for. A folder is made. */
void mirror_note(struct mirror *mirror, const char *path);

/*
 * Makes the symbolic links that lead to a file: an array of pairs [path, target], both of the
 * coordinator's machine. Where a link cannot be made, the file will be missing, and whoever reads it
 * says so.
 */
void mirror_link(const struct mirror *mirror, const json_t *links);

/* Removes the root from the text wherever it occurs, so that messages name the coordinator's paths.
 * Returns the new length. */
size_t mirror_strip(const struct mirror *mirror, char *text, size_t length);

/* --- requests --- */

/* A worker's request as it comes from the coordinator: which files it names, and what it is called
 * with the agent's copies of them. tuner/FORMATS.md lists the members. */
/* The coordinator's paths of all files that the worker will read, absolute; a new array. One that ends
 * in "/" is a folder in which it looks for headers. */
json_t *request_files(const struct mirror *mirror, const json_t *request);

/* Whether it is a request of a kind that names files. */
bool request_names_files(const json_t *request);

/* Puts the agent's paths in place of the coordinator's. Relative ones may stay: workers run in the
 * copy of the coordinator's folder. */
void request_move(const struct mirror *mirror, json_t *request);

/* --- files that come in packets --- */

/* A file that comes in packets: PACKET_FILE, any number of PACKET_FILE_BYTES, PACKET_FILE_END. It
 * appears when it is complete. */
/* Zeroed: none is coming. */
struct file_arrival {
    struct write_file file;
    bool open;
    struct error error; /* code 0: none */
};

/* A failure shows at the end. */
void file_arrival_begin(struct file_arrival *arrival, const char *path);
void file_arrival_add(struct file_arrival *arrival, const void *bytes, size_t count);

/* Returns 0 or ERROR_RECORD; if it is not `good`, or none has begun, there is no file. */
int file_arrival_end(struct file_arrival *arrival, bool good, struct error *error);

void file_arrival_abandon(struct file_arrival *arrival);

#endif
