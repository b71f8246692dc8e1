/*
 * What the files of `autotune bundle` share: command_bundle.c makes the folder, bundle_templates.c
 * copies templates, bundle_cubins.c compiles.
 */
#ifndef AUTOTUNE_BUNDLE_H
#define AUTOTUNE_BUNDLE_H

#include "base/error.h"
#include "compile/single_compile.h"
#include "record/tuned_file.h"
#include "template/template.h"

#include <autotune/tuned.h>
#include <stddef.h>

/*
 * A bundle is a folder:
 *     tuned.ini
 *     cubin/KERNEL-HASH.cubin    of section [KERNEL HASH]
 *     cubin/KERNEL-HASH-N.cubin    of configuration N of a cover
 *     cubin/KERNEL-HASH-DIGITS.cubin    of a source of the application's own, with its parameters
 *     cubin/….hash               of each cubin
 *     templates/NAME.ini         with its source and headers
 * libtuned reads the first and the templates' defaults, libtuned_kernel all of it.
 */
struct bundle {
    char *tuned_path;
    char *templates;
    char *output;
    char *work;   /* the folder beside `output` in which the bundle is made; NULL: none yet */
    char **files; /* in it */
    size_t file_count;
    char **kernels;
    char **sources; /* "FILE=KERNEL" */
    int accept_other_versions;
    struct tuned_file tuned;
    struct template *loaded;
    size_t loaded_count;
    struct single_compile builder;
    size_t cubins;
    size_t compiled; /* of these; the others were in the cache */
};

/* Notes a file of the bundle; a file that is noted again counts once, because templates share
 * headers. */
void bundle_note_file(struct bundle *bundle, const char *path);

/* Returns 0, or ERROR_USAGE for a kernel that the tuned INI does not have. */
int bundle_check_kernels(const struct tuned_file *tuned, char *const *kernels, struct error *error);

/* The template of `entry`, loaded and copied on first use. Returns NULL with an error. */
const struct template *bundle_take_template(struct bundle *bundle, const struct tuned_entry *entry,
                                            struct error *error);

/* Adds an entry's template and the cubins of its configurations. Returns 0 or an error. */
int bundle_add_entry(struct bundle *bundle, const struct tuned_entry *entry, struct error *error);

/* Adds the cubins of the application's own sources; `table` is the tuned INI. Returns 0 or an error. */
int bundle_add_sources(struct bundle *bundle, const struct tuned_table *table, struct error *error);

#endif
