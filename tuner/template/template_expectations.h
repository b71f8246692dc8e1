/* Loading a template: [expect.NAME] sections. */
#ifndef AUTOTUNE_TEMPLATE_EXPECTATIONS_H
#define AUTOTUNE_TEMPLATE_EXPECTATIONS_H

#include "template/loader.h"

/* The rest of a collected expectation; its section's name has the buffer's after the dot. */
int loader_read_expectation(struct loader *loader, const char *section,
                            struct expectation *expectation);

#endif
