/*
 * The cover of a tuned INI's entry: configurations for a range of problems, and the rule that
 * decides among them. FORMATS.md specifies it; base/cover_section.h reads and compiles it;
 * record/cover_choice.h applies it.
 *
 *     struct tuned_entry entry = {.kernel = …, …};        (without section, parameters and times)
 *     entry.cover = cover_entry_new();
 *     cover_entry_add_range(entry.cover, "n", value_integer(65536), value_integer(1 << 30));
 *     cover_entry_add_configuration(entry.cover, &parameters, registers, blocks_per_sm);
 *     cover_entry_add_figure(entry.cover, "waves", "ceil_div(n, block_size) / sm_count");
 *     cover_entry_add_line(entry.cover, 0, "waves < 1.5");   (configuration 1 if …)
 *     cover_entry_add_line(entry.cover, 1, NULL);            (otherwise configuration 2)
 *     cover_entry_add_size(entry.cover, &problem, fastest, median_ns, loss_percent);
 *     status = cover_entry_check(&entry, &error);
 *     … tuned_file_update(path, &entry, 1, &taken, &error);  (takes it over)
 *
 * Configurations and lines are counted from 0 here, and from 1 in the file and in `waves(2)`.
 */
#ifndef AUTOTUNE_COVER_ENTRY_H
#define AUTOTUNE_COVER_ENTRY_H

#include "base/cover_section.h"
#include "template/value.h"

#include <stddef.h>
#include <stdint.h>

struct cover_range {
    char *name;
    struct value low, high; /* whole or real */
};

struct cover_configuration {
    struct bindings parameters;
    int registers, blocks_per_sm; /* of the main launch; 0: not known */
};

struct cover_figure {
    char *name;
    char *expression;
};

struct cover_line {
    size_t configuration;
    char *condition; /* NULL: always */
};

struct cover_size {
    struct bindings problem; /* a number for each range */
    size_t fastest;          /* of the configurations */
    double median_ns;        /* of that one */
    double loss_percent;     /* of the rule's choice: 100 * (1 - best time / its time) */
};

struct cover_entry {
    struct cover_range *ranges;
    size_t range_count;
    char *constraint; /* NULL: none */
    struct cover_configuration *configurations;
    size_t configuration_count;
    struct cover_figure *figures;
    size_t figure_count;
    struct cover_line *lines;
    size_t line_count;
    struct cover_size *sizes;
    size_t size_count;
    double mean_loss_percent, worst_loss_percent; /* expected, from held_out_sizes */
    int64_t held_out_sizes;                       /* 0: the loss is not known */
};

struct cover_entry *cover_entry_new(void);
void cover_entry_free(struct cover_entry *cover); /* NULL is allowed */

/* These copy their arguments. */
void cover_entry_add_range(struct cover_entry *cover, const char *name, struct value low,
                           struct value high);
void cover_entry_add_configuration(struct cover_entry *cover, const struct bindings *parameters,
                                   int registers, int blocks_per_sm);
void cover_entry_add_figure(struct cover_entry *cover, const char *name, const char *expression);
bool cover_entry_has_figure(const struct cover_entry *cover, const char *name);
void cover_entry_add_line(struct cover_entry *cover, size_t configuration, const char *condition);
void cover_entry_add_size(struct cover_entry *cover, const struct bindings *problem, size_t fastest,
                          double median_ns, double loss_percent);

/* The cover of a section that was read. */
struct cover_entry *cover_entry_from(const struct cover_section *section);

/* Passes the keys and texts of all lines to `take` in turn, until it returns something other than
 * 0, which is then returned. */
int cover_entry_lines(const struct cover_entry *cover,
                      int (*take)(void *user, const char *key, const char *text), void *user);

#endif
