/* What a rule may look at: the values of a range themselves, their products, ratios and remainders. */
#ifndef AUTOTUNE_SIZE_FEATURES_H
#define AUTOTUNE_SIZE_FEATURES_H

#include "cover/problem_range.h"
#include "cover/rule.h"

/* Adds the features of these sizes; their texts are expressions, such as "m * n". */
void size_features_add(struct features *features, const struct problem_range *range,
                       const struct sizes *sizes);

#endif
