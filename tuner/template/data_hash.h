/* The files that a template's buffers and expected results are read from, as one hash: what they contain
 * decides which variants are right. */
#ifndef AUTOTUNE_DATA_HASH_H
#define AUTOTUNE_DATA_HASH_H

#include "base/error.h"
#include "base/hash.h"
#include "template/template.h"

/* "" if the template names no file. One that cannot be read counts as empty; of one above 256 MiB, size
 * and date are taken for its contents. */
void data_hash_of(const struct template *template, char digits[HASH_BYTES]);

/* Whether the files still have that hash. Returns 0, or ERROR_CONFIG at the template. */
int data_hash_check(const struct template *template, const char *path, const char *digits,
                    struct error *error);

#endif
