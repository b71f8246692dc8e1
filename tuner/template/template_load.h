/*
 * Reading a template from its files. template_load.c has the kinds of sections, their order, gaps and
 * the hash; template_kernel.c, template_launches.c and template_buffers.c read one kind of section
 * each, with the steps of loader.h.
 */
#ifndef AUTOTUNE_TEMPLATE_LOAD_H
#define AUTOTUNE_TEMPLATE_LOAD_H

#include "base/error.h"
#include "template/template.h"

#include <stdbool.h>

/* Loads NAME.ini at `path` and its source. Returns 0 or ERROR_CONFIG with file and line; on failure
 * the template is empty. */
int template_load(struct template *template, const char *path, struct error *error);

/*
 * The same in another process, which reads no files, from the text of the INI and of the units of the source,
 * which are at least one: of the source, the template then has nothing, and no hash.
 */
int template_load_sent(struct template *template, const char *path, const char *text,
                       const char *const *sources, size_t source_count, struct error *error);

/*
 * The same, but a section that cannot be used is no failure if it has a gap: a line "; TODO: …", which
 * `autotune import` leaves in place of what another tuner's file does not say. The first is
 * template->gap. Parameters, problem values and constraints are then complete.
 */
int template_load_unfinished(struct template *template, const char *path, struct error *error);

/* Where to look for a template. */
struct template_search {
    const char *beside; /* a file to whose folder those below are relative; NULL: the current one */
    const char *folder; /* folders, separated by commas; NULL: the usual ones: */
    const char *usual;  /* this one, that of `beside`, its `kernels`, and the installed ones */
    const char *advice; /* how to name another: "with --templates" */
};

/* Whether the file exists and has a section that only templates have, not sweeps or tuned INIs. Also true if the file
 * cannot be read: template_load() says why. */
bool template_is_one(const char *path);

/* The path of template `name`, a new string. NULL with ERROR_CONFIG, which has no place, if there is none. */
char *template_find(const struct template_search *search, const char *name, struct error *error);

/* The names of the templates in those folders, perhaps some twice: a new array of new strings. */
char **template_list(const struct template_search *search, size_t *count);

#endif
