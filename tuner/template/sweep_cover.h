/*
 * The range of sizes that a kernel's section of a sweep wants a few configurations to cover:
 *
 *     cover = m, n = 64 .. 8192, k = 2^4 .. 2^13
 *     cover_configurations = 6
 */
#ifndef AUTOTUNE_SWEEP_COVER_H
#define AUTOTUNE_SWEEP_COVER_H

#include "base/error.h"
#include "template/ini_file.h"
#include "template/template.h"

#include <stddef.h>
#include <stdint.h>

enum {
    SWEEP_COVER_AXES = 6,
    SWEEP_COVER_USUAL = 4, /* unless the sweep says otherwise … */
    SWEEP_COVER_MOST = 16
};

struct cover_axis {
    const char *name; /* of a problem value; the template's */
    int64_t low, high;
};

struct sweep_cover {
    struct cover_axis axes[SWEEP_COVER_AXES];
    size_t axis_count; /* 0: the section has no `cover` */
    size_t configurations;
    int line;
};

/* Reads what `section` states. Returns 0, or ERROR_CONFIG with file and line. */
int sweep_cover_read(struct sweep_cover *cover, const struct template *template,
                     struct ini_file *ini, const char *section, struct error *error);

#endif
