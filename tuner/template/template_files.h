/* The files that a template is read from. */
#ifndef AUTOTUNE_TEMPLATE_FILES_H
#define AUTOTUNE_TEMPLATE_FILES_H

#include "base/error.h"
#include "base/hash.h"
#include "template/template.h"

#include <jansson.h>

/* Paths, as a new array: absolute, or relative to the current folder; another machine needs a copy of each. One
 * that ends in "/" is a folder in which files are looked for, which may be symbolic links. */
json_t *template_files(const struct template *template);

/*
 * One hash of the files that buffers and expected results are read from: what they contain decides which
 * variants are right. "" if the template names none. One that cannot be read counts as empty; of one above
 * 256 MiB, size and date are taken for its contents.
 */
void data_hash_of(const struct template *template, char digits[HASH_BYTES]);

/* Whether the files still have that hash. Returns 0, or ERROR_CONFIG at the template. */
int data_hash_check(const struct template *template, const char *path, const char *digits,
                    struct error *error);

#endif
