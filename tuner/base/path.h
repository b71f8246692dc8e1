/* Paths as text, whether or not anything exists there. */
#ifndef AUTOTUNE_PATH_H
#define AUTOTUNE_PATH_H

/* The folder of `path`: the part before its last slash; "/" for "/x", "." if there is no slash.
 * Free it. */
char *path_folder(const char *path);

/* `path`, which is relative to the folder of `file` unless it is absolute. Free it. */
char *path_beside(const char *file, const char *path);

#endif
