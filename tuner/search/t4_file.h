/*
 * Reads T4 results files, the auto-tuning community's format (../../tests/t4/README.md), whoever
 * wrote them.
 */
#ifndef AUTOTUNE_T4_FILE_H
#define AUTOTUNE_T4_FILE_H

#include "base/error.h"
#include "template/value.h"

#include <stddef.h>

struct t4_result {
    struct bindings parameters; /* in the file's order */
    const char *invalidity;     /* "correct", "compile", …; borrowed from the file */
    double time_ns;             /* INFINITY: failed */
};

struct t4_file {
    json_t *json; /* all of it, with the metadata */
    struct t4_result *results;
    size_t count;
};

/*
 * Reads the file at `path`. A result's time is its measurement "time", or else the median of its
 * run times; a unit that is not stated is that of the metadata, or else milliseconds. A result
 * failed if its invalidity is not "correct" or its time is a word. Returns 0, or
 * ERROR_CONFIG with the file, and the line if it is not JSON; then `file` is empty.
 */
int t4_file_read(const char *path, struct t4_file *file, struct error *error);
void t4_file_release(struct t4_file *file);

#endif
