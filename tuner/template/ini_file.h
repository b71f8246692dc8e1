/*
 * An INI file, read with base/ini_reader.h, as a list of entries with their lines. A line that
 * begins with white space continues the value above it. Sections, and keys within
 * them, must not be repeated, except `constraint`.
 */
#ifndef AUTOTUNE_INI_FILE_H
#define AUTOTUNE_INI_FILE_H

#include "base/error.h"

#include <stddef.h>

struct ini_entry {
    const char *section; /* the heading's, which owns it; "" before the first section */
    char *key;           /* NULL: this is the section's heading */
    char *value;
    int line;
};

struct ini_file {
    char *path;
    char *text; /* of the file */
    struct ini_entry *entries;
    size_t count;
};

/* Returns 0, or ERROR_CONFIG with the file and, if one is at fault, the line. On failure `ini` is
 * empty. */
int ini_file_read(struct ini_file *ini, const char *path, struct error *error);

/* The same from text in memory; `path` is its name in messages. */
int ini_file_read_text(struct ini_file *ini, const char *path, const char *text,
                       struct error *error);

void ini_file_release(struct ini_file *ini);

/* The entry, or NULL. */
const struct ini_entry *ini_file_get(const struct ini_file *ini, const char *section,
                                     const char *key);

#endif
