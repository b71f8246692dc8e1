/* Paths as text: nothing here looks at the disk. */
#ifndef AUTOTUNE_PATH_H
#define AUTOTUNE_PATH_H

/* The folder of `path`: what stands before its last slash, "/" for "/x", "." without a slash. A new
 * string. */
char *path_folder(const char *path);

/* `path` as it reads in `file`: as it is if absolute, otherwise from the folder of `file`. A new
 * string. */
char *path_beside(const char *file, const char *path);

#endif
