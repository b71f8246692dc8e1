/*
 * A cover: a few configurations that serve a whole range of sizes, and the rule that decides among
 * them. It is computed from measurements alone; nothing here measures.
 *
 * The rule either has lines that were learnt (rule_learning.h), or chooses the configuration whose
 * estimated time is the least (time_model.h).
 *
 * To estimate its loss at sizes that were not measured, each size, or each part of them if there are
 * many, is left out in turn, configurations and a rule are chosen without it, and their loss there is
 * taken. What kind of rule is used, and how many configurations, is decided by what rules that are made
 * without a size lose there with the configurations that all sizes chose: choosing these again each time
 * would say more about the choice than about the rule.
 */
#ifndef AUTOTUNE_COVER_H
#define AUTOTUNE_COVER_H

#include "cover/choice.h"
#include "cover/losses.h"
#include "cover/rule.h"
#include "cover/time_model.h"

#include <stddef.h>

/* The best choice of at most a given number of configurations. */
struct cover_option {
    size_t chosen[CHOICE_LIMIT];
    size_t count;
    struct rule rule;          /* its configurations are indices into `chosen` */
    struct time_model *models; /* of each one's time; NULL if there is no basis */
    struct loss least;         /* of the best of these at each size */
    struct loss fitted;        /* of the rule's choices at the sizes that it was learnt from */
    struct loss expected;      /* at sizes left out */
    double *expected_at;       /* each size, left out */
    double *judged_at;         /* by which options are compared */
};

struct cover {
    /* options[i]: at most i + 1 configurations; the best has those that its rule chooses */
    struct cover_option options[CHOICE_LIMIT];
    size_t count;
    size_t best; /* the option with the fewest configurations that is as good as any */

    size_t first_estimate; /* private: the feature of configuration 0's estimate */
};

/*
 * Computes the options with 1 to `limit` configurations (1 to CHOICE_LIMIT). Features of
 * configurations that are not chosen are not used. With one size, or one configuration, there is
 * one option. With fewer than three sizes nothing can be left out, and `expected` is `fitted`.
 *
 * With a `basis`, which may be NULL, times are estimated; a feature for each configuration's estimate
 * is added, which is set for those of the best option.
 */
void cover_compute(struct cover *cover, const struct losses *losses, struct features *features,
                   const struct time_basis *basis, size_t limit);

/* Makes another option the best. The other arguments are those of cover_compute(). */
void cover_choose(struct cover *cover, size_t index, const struct losses *losses,
                  struct features *features, const struct time_basis *basis);
void cover_release(struct cover *cover);

#endif
