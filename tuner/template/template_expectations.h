/* Loading a template: [expect.NAME] sections. */
#ifndef AUTOTUNE_TEMPLATE_EXPECTATIONS_H
#define AUTOTUNE_TEMPLATE_EXPECTATIONS_H

#include "template/loader.h"

/* Reads the rest of an expectation that loader_collect_members() added; the section's name ends in
 * the buffer's. */
int loader_read_expectation(struct loader *loader, const char *section,
                            struct expectation *expectation);

/* The index of the buffer that a section is about. */
int loader_find_buffer(const struct loader *loader, const char *name, int line, size_t *index);

#endif
