/*
 * A page about a cover: the loss for each number of configurations, the rule, a picture of it, and a
 * heat map of what each candidate loses at each size, with the rule's choices.
 */
#ifndef AUTOTUNE_COVER_PAGE_H
#define AUTOTUNE_COVER_PAGE_H

#include "base/error.h"
#include "cover/cover.h"
#include "cover/losses.h"
#include "record/cover_entry.h"
#include "report/cover_picture.h"

#include <stddef.h>

/* Everything is borrowed. */
struct cover_page {
    const char *title; /* "reduce_sum on NVIDIA H200" */
    const char *range; /* "n = 65536 .. 1073741824" */
    const struct cover *cover;
    const struct losses *losses; /* of the candidates */
    const struct features *features;
    const struct cover_line *lines; /* of the rule, as the tuned INI has them */
    size_t line_count;
    char *const *candidates; /* their parameters */
    const struct cover_picture *picture;
    char *const *sizes; /* their values, "512 x 64" */
};

/* Writes the page. Returns 0 or ERROR_RECORD. */
int cover_page_write(const char *path, const struct cover_page *page, struct error *error);

#endif
