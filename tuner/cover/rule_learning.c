#include "cover/rule_learning.h"

#include "base/alloc.h"
#include "cover/threshold.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BEAM = 6 /* first comparisons that a second one is sought for */ };

/* A line that might be inserted. */
struct proposal {
    struct rule_line line;
    size_t place; /* in front of this line */
    double objective;
};

struct learning {
    const struct losses *losses;
    const struct features *features;
    size_t *orders;            /* of the sizes, by each feature: [feature * sizes + rank] */
    size_t *decided;           /* the line of the rule that decides at each size */
    double *current;           /* what its choice loses there */
    bool *open;                /* whether the line to be inserted may decide there */
    struct loss *current_from; /* of the open sizes from a rank on, by the rule as it is */
    struct loss *changed_from; /* and by the new line's configuration */
};

/* --- sorting --- */

static int compare_ranks(const void *a, const void *b, void *values)
{
    const double *value = values;
    double left = value[*(const size_t *)a];
    double right = value[*(const size_t *)b];
    return (left > right) - (left < right);
}

static void sort_sizes(struct learning *learning)
{
    size_t sizes = learning->losses->sizes;
    for (size_t feature = 0; feature < learning->features->count; feature++) {
        size_t *order = learning->orders + feature * sizes;
        for (size_t i = 0; i < sizes; i++)
            order[i] = i;
        qsort_r(order, sizes, sizeof *order, compare_ranks,
                learning->features->items[feature].values);
    }
}

static void learning_init(struct learning *learning, const struct losses *losses,
                          const struct features *features)
{
    size_t sizes = losses->sizes;
    *learning =
        (struct learning){.losses = losses,
                          .features = features,
                          .orders = alloc_zeroed(features->count * sizes, sizeof *learning->orders),
                          .decided = alloc_zeroed(sizes, sizeof *learning->decided),
                          .current = alloc_zeroed(sizes, sizeof *learning->current),
                          .open = alloc_zeroed(sizes, sizeof *learning->open),
                          .current_from = alloc_zeroed(sizes + 1, sizeof *learning->current_from),
                          .changed_from = alloc_zeroed(sizes + 1, sizeof *learning->changed_from)};
    sort_sizes(learning);
}

static void learning_release(struct learning *learning)
{
    free(learning->orders);
    free(learning->decided);
    free(learning->current);
    free(learning->open);
    free(learning->current_from);
    free(learning->changed_from);
}

/* --- one more line --- */

static struct loss both(struct loss a, struct loss b)
{
    return (struct loss){a.mean + b.mean, a.squares + b.squares, fmax(a.worst, b.worst)};
}

/* What the rule loses where the new line cannot decide, which is everywhere in front of `place` and
 * where the comparisons that `line` has do not hold; sets `open`. */
static struct loss close_sizes(struct learning *learning, const struct rule_line *line,
                               size_t place)
{
    struct loss closed = {0};
    for (size_t size = 0; size < learning->losses->sizes; size++) {
        learning->open[size] =
            learning->decided[size] >= place && rule_line_holds(line, learning->features, size);
        if (!learning->open[size])
            loss_add(&closed, learning->losses->weights[size], learning->current[size]);
    }
    return closed;
}

/* Puts a proposal into the sorted beam if it is good enough. */
static void keep(struct proposal *beam, size_t count, const struct proposal *proposal)
{
    size_t place = count;
    while (place > 0 && proposal->objective < beam[place - 1].objective - 1e-12)
        place--;
    if (place == count)
        return;
    memmove(&beam[place + 1], &beam[place], (count - place - 1) * sizeof *beam);
    beam[place] = *proposal;
}

/* Fills in current_from and changed_from. */
static void sum_up(struct learning *learning, const size_t *order, size_t configuration)
{
    const struct losses *losses = learning->losses;
    struct loss *current = learning->current_from;
    struct loss *changed = learning->changed_from;
    current[losses->sizes] = changed[losses->sizes] = (struct loss){0};
    for (size_t i = losses->sizes; i-- > 0;) {
        size_t size = order[i];
        current[i] = current[i + 1];
        changed[i] = changed[i + 1];
        if (!learning->open[size])
            continue;
        loss_add(&current[i], losses->weights[size], learning->current[size]);
        loss_add(&changed[i], losses->weights[size], losses_of(losses, configuration, size));
    }
}

/* The next rank from `rank` on whose size is open; sizes if there is none. */
static size_t next_open(const struct learning *learning, const size_t *order, size_t rank)
{
    while (rank < learning->losses->sizes && !learning->open[order[rank]])
        rank++;
    return rank;
}

/* Tries every threshold of one feature for one configuration, as a further comparison of
 * base->line. */
static void try_feature(struct learning *learning, const struct proposal *base, size_t index,
                        struct loss closed, struct proposal *beam, size_t beam_count)
{
    const struct feature *feature = &learning->features->items[index];
    const size_t *order = learning->orders + index * learning->losses->sizes;
    const struct losses *losses = learning->losses;
    struct proposal proposal = *base;
    struct rule_test *test = &proposal.line.tests[proposal.line.test_count++];
    struct loss current = {0}; /* of open sizes below the threshold */
    struct loss changed = {0};
    sum_up(learning, order, base->line.configuration);
    size_t rank = next_open(learning, order, 0);
    while (rank < losses->sizes) {
        size_t next = next_open(learning, order, rank + 1);
        size_t size = order[rank];
        loss_add(&current, losses->weights[size], learning->current[size]);
        loss_add(&changed, losses->weights[size],
                 losses_of(losses, base->line.configuration, size));
        double low = feature->values[size];
        rank = next;
        if (next >= losses->sizes || !(low < feature->values[order[next]]))
            continue;
        test->feature = index;
        for (int below = 0; below <= 1; below++) {
            struct loss inside = below ? changed : learning->changed_from[next];
            struct loss outside = below ? learning->current_from[next] : current;
            test->below = below != 0;
            proposal.objective = loss_objective(both(closed, both(inside, outside)));
            if (proposal.objective >= beam[beam_count - 1].objective - 1e-12)
                continue;
            test->threshold = threshold_between(low, feature->values[order[next]], feature->whole);
            keep(beam, beam_count, &proposal);
        }
    }
}

/* Tries one further comparison of any feature. */
static void try_features(struct learning *learning, const struct proposal *base,
                         struct proposal *beam, size_t beam_count)
{
    struct loss closed = close_sizes(learning, &base->line, base->place);
    for (size_t i = 0; i < learning->features->count; i++)
        try_feature(learning, base, i, closed, beam, beam_count);
}

static void empty_beam(struct proposal *beam, size_t count)
{
    for (size_t i = 0; i < count; i++)
        beam[i] = (struct proposal){.objective = INFINITY};
}

/* The best line in front of line `place`, with one comparison or two. */
static void seek_at(struct learning *learning, size_t place, struct proposal *best)
{
    struct proposal beam[BEAM];
    struct proposal pair = {.objective = INFINITY};
    empty_beam(beam, BEAM);
    for (size_t i = 0; i < learning->losses->configurations; i++) {
        const struct proposal base = {.line = {.configuration = i}, .place = place};
        try_features(learning, &base, beam, BEAM);
    }
    for (size_t i = 0; i < BEAM && beam[i].objective < INFINITY; i++)
        try_features(learning, &beam[i], &pair, 1);
    keep(best, 1, &beam[0]);
    pair.objective += RULE_WORTH;
    keep(best, 1, &pair);
}

static void insert_line(struct rule *rule, const struct proposal *proposal)
{
    struct rule_line *at = &rule->lines[proposal->place];
    memmove(at + 1, at, (rule->count - proposal->place) * sizeof *at);
    *at = proposal->line;
    rule->count++;
}

/* --- the rule --- */

/* Which line decides where, and what it loses there. Returns the objective. */
static double apply(struct learning *learning, const struct rule *rule)
{
    struct loss loss = {0};
    for (size_t size = 0; size < learning->losses->sizes; size++) {
        size_t line = 0;
        while (line + 1 < rule->count &&
               !rule_line_holds(&rule->lines[line], learning->features, size))
            line++;
        learning->decided[size] = line;
        learning->current[size] =
            losses_of(learning->losses, rule->lines[line].configuration, size);
        loss_add(&loss, learning->losses->weights[size], learning->current[size]);
    }
    return loss_objective(loss);
}

/* Gives every line the configuration that is best for it. Returns the objective. */
static double settle(struct learning *learning, struct rule *rule)
{
    double least = apply(learning, rule);
    for (size_t line = rule->count; line-- > 0;) {
        size_t best = rule->lines[line].configuration;
        for (size_t i = 0; i < learning->losses->configurations; i++) {
            rule->lines[line].configuration = i;
            double objective = apply(learning, rule);
            if (objective < least - 1e-12) {
                least = objective;
                best = i;
            }
        }
        rule->lines[line].configuration = best;
    }
    (void)apply(learning, rule);
    return least;
}

/* Takes out lines that another would do as well for. */
static void prune(struct learning *learning, struct rule *rule)
{
    double least = apply(learning, rule);
    for (size_t line = rule->count - 1; line-- > 0;) {
        struct rule shorter = *rule;
        struct rule_line *at = &shorter.lines[line];
        memmove(at, at + 1, (rule->count - line - 1) * sizeof *at);
        shorter.count--;
        if (apply(learning, &shorter) <= least + 1e-12)
            *rule = shorter;
    }
    (void)apply(learning, rule);
}

size_t rule_learn(const struct losses *losses, const struct features *features, size_t limit,
                  struct rule *rules)
{
    struct learning learning;
    size_t count = 1;
    assert(limit >= 1 && limit <= RULE_LEARNT_LINES);
    learning_init(&learning, losses, features);
    rules[0] = (struct rule){.count = 1};
    double objective = settle(&learning, &rules[0]);
    while (count < limit) {
        struct proposal best = {.objective = INFINITY};
        rules[count] = rules[count - 1];
        for (size_t place = 0; place < rules[count].count; place++)
            seek_at(&learning, place, &best);
        if (best.objective > objective - RULE_WORTH)
            break;
        insert_line(&rules[count], &best);
        objective = settle(&learning, &rules[count]);
        prune(&learning, &rules[count++]);
    }
    learning_release(&learning);
    return count;
}
