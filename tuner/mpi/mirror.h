/*
 * An agent's copy of the coordinator's files. A file /a/b of the coordinator's machine is ROOT/a/b
 * here, and the workers run in the copy of the coordinator's folder, so that relative paths mean the
 * same. ROOT is a new folder in $TMPDIR, and goes when the agent ends.
 */
#ifndef AUTOTUNE_MIRROR_H
#define AUTOTUNE_MIRROR_H

#include "base/error.h"

#include <jansson.h>
#include <stdbool.h>

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

#endif
