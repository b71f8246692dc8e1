/* Loading a template: [verify.NAME] sections. */
#ifndef AUTOTUNE_TEMPLATE_VERIFIERS_H
#define AUTOTUNE_TEMPLATE_VERIFIERS_H

#include "template/loader.h"

/* Reads a verifier that loader_collect_members() added to the template's `verifiers`. */
int loader_read_verifier(struct loader *loader, const char *section, struct verifier *verifier);

/* After all members: gives each verifier the expected result that its arguments name. */
int loader_link_verifiers(struct loader *loader);

/* After all members: whether every output has an expected result or a verifier, or is unchecked on
 * purpose, and whether these do without scratch buffers. */
int loader_check_results(const struct loader *loader);

#endif
