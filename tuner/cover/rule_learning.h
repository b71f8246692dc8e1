/*
 * Learns a rule that loses little: lines are inserted one after another, each at the place, and
 * with at most two comparisons and the configuration, that lower loss_objective() most. The loss itself is
 * minimised, not the number of sizes at which another configuration would be better.
 */
#ifndef AUTOTUNE_RULE_LEARNING_H
#define AUTOTUNE_RULE_LEARNING_H

#include "cover/losses.h"
#include "cover/rule.h"

#include <stddef.h>

/* A line must lower loss_objective() by at least this much, and so must a second comparison in
 * it. */
#define RULE_WORTH 0.0004

enum { RULE_LEARNT_LINES = 12 };

/*
 * Learns at most `limit` (1 to RULE_LEARNT_LINES) rules for the configurations of `losses`, each from the
 * one before it by inserting a line: rules[0] has one line, rules[i] at most i + 1. Returns how many
 * are worth it, at least 1.
 */
size_t rule_learn(const struct losses *losses, const struct features *features, size_t limit,
                  struct rule *rules);

#endif
