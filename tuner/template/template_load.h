/*
 * Reading a template from its files. template_load() is the pipeline; each of template_names,
 * template_parameters, template_buffers, template_launches and template_expectations reads one kind
 * of section, with the steps of loader.h.
 */
#ifndef AUTOTUNE_TEMPLATE_LOAD_H
#define AUTOTUNE_TEMPLATE_LOAD_H

#include "base/error.h"
#include "template/template.h"

#include <stdbool.h>

/* Loads NAME.ini at `path` and its source. Returns 0 or ERROR_CONFIG with file and line; on failure
 * the template is empty. */
int template_load(struct template *template, const char *path, struct error *error);

/* The same, but sections that cannot be used yet because of a gap (template_gap.h) are no failure:
 * template->gap is the first one. Parameters, problem values and constraints are then complete. */
int template_load_unfinished(struct template *template, const char *path, struct error *error);

/* Whether the file exists and has a section that only templates have, not sweeps or tuned INIs.
 * Also true if the file cannot be read: template_load() says why. */
bool template_is_one(const char *path);

/* The template in `folder` whose name is nearest to `name`; a new string, or NULL. */
char *template_nearest(const char *folder, const char *name);

#endif
