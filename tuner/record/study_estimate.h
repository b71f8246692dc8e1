/* How near the best of a study that was searched has probably come to the best of its space. */
#ifndef AUTOTUNE_STUDY_ESTIMATE_H
#define AUTOTUNE_STUDY_ESTIMATE_H

#include "record/study.h"

#include <stddef.h>

/* As search_estimate(), from the study's results in the order in which they were tried. 0 if every
 * variant of the space was. */
double study_estimate(const struct study *study, size_t *in_vain);

#endif
