/*
 * T1, the input format of the auto-tuning community: a space, its constraints, a kernel and its
 * arguments, in JSON, with values and constraints in Python. Kernel Tuner, KTT and BAT read it.
 * A script that python3 runs converts such a file to a template and a sweep: python_expression.py and import_t1.py.
 */
#ifndef AUTOTUNE_T1_H
#define AUTOTUNE_T1_H

#include "base/error.h"

#include <stddef.h>

struct t1_import {
    char **files; /* that were written: template, perhaps source, and sweep */
    size_t file_count;
    char *
        report; /* lines for the user: the files, what is missing, what was ignored, the next step */
};

/*
 * Imports the file at `path` into `folder`. `name` is the template's, or NULL for the file's.
 * Returns 0; ERROR_CONFIG if python3 is missing or the file cannot be used or its files cannot be
 * written: then none is, and the message names the file and the text; or an error of
 * subprocess_run(). Release `import` in any case.
 */
int t1_import(const char *path, const char *name, const char *folder, struct t1_import *import,
              struct error *error);
/* Removes what was written. */
void t1_import_remove(const struct t1_import *import);
void t1_import_release(struct t1_import *import);

#endif
