#include "table.h"

#include <stdlib.h>
#include <string.h>

/* --- memory: one block, in parts whose sizes are multiples of 8 --- */

struct layout {
    char *block; /* NULL: only the size is counted */
    size_t used;
};

static void *take_part(struct layout *layout, size_t count, size_t size)
{
    char *part = layout->block != NULL ? layout->block + layout->used : NULL;
    layout->used += (count * size + 7) / 8 * 8;
    return part;
}

/* Where everything of a cover is. */
struct parts {
    struct cover *cover;
    struct tuned_size *sizes;
    struct tuned_range *ranges;
    const char **lines;
    struct cover_part *rule_lines, *allowed;
    struct decision_instruction *instructions;
    double *constants;
    size_t *choices;
    double *lows, *highs, *numbers, *scales;
};

static struct parts lay_out(struct layout *layout, const struct cover_section *section)
{
    struct parts parts;
    size_t numbers = section->size_count * section->range_count;
    parts.cover = take_part(layout, 1, sizeof *parts.cover);
    parts.sizes = take_part(layout, section->size_count, sizeof *parts.sizes);
    parts.ranges = take_part(layout, section->range_count, sizeof *parts.ranges);
    parts.lines = take_part(layout, section->line_count, sizeof *parts.lines);
    parts.rule_lines = take_part(layout, section->line_count, sizeof *parts.rule_lines);
    parts.allowed = take_part(layout, section->rule.allowed_count, sizeof *parts.allowed);
    parts.choices = take_part(layout, section->line_count, sizeof *parts.choices);
    parts.instructions = take_part(layout, section->rule.code.count, sizeof *parts.instructions);
    parts.constants = take_part(layout, section->rule.code.constant_count, sizeof *parts.constants);
    parts.lows = take_part(layout, section->range_count, sizeof *parts.lows);
    parts.highs = take_part(layout, section->range_count, sizeof *parts.highs);
    parts.numbers = take_part(layout, numbers, sizeof *parts.numbers);
    parts.scales = take_part(layout, numbers, sizeof *parts.scales);
    return parts;
}

void cover_free(struct cover *cover)
{
    free(cover); /* its parts are in the same block */
}

/* --- contents --- */

/* The rule is a copy, with everything that it points to. */
static void copy_rule(const struct parts *parts, const struct cover_section *section)
{
    const struct cover_rule *rule = &section->rule;
    const struct decision_code *code = &rule->code;
    memcpy(parts->instructions, code->instructions, code->count * sizeof *parts->instructions);
    memcpy(parts->constants, code->constants, code->constant_count * sizeof *parts->constants);
    memcpy(parts->rule_lines, rule->lines, rule->line_count * sizeof *parts->rule_lines);
    memcpy(parts->allowed, rule->allowed, rule->allowed_count * sizeof *parts->allowed);
    memcpy(parts->lows, rule->lows, rule->range_count * sizeof *parts->lows);
    memcpy(parts->highs, rule->highs, rule->range_count * sizeof *parts->highs);
    parts->cover->rule = *rule;
    parts->cover->rule.code.instructions = parts->instructions;
    parts->cover->rule.code.constants = parts->constants;
    parts->cover->rule.lows = parts->lows;
    parts->cover->rule.highs = parts->highs;
    parts->cover->rule.lines = parts->rule_lines;
    parts->cover->rule.allowed = parts->allowed;
}

/* False if the pool is full, which text_measure() rules out. */
static bool copy_texts(struct pool *pool, const struct parts *parts,
                       const struct cover_section *section)
{
    const char *constraint = section->constraint.text;
    bool kept = true;
    for (size_t i = 0; i < section->range_count; i++) {
        const struct cover_interval *range = &section->ranges[i];
        parts->ranges[i] = (struct tuned_range){
            .name = pool_keep(pool, range->name, strlen(range->name)),
            .low = range->low.real,
            .high = range->high.real,
        };
        kept = kept && parts->ranges[i].name != NULL;
    }
    for (size_t i = 0; i < section->line_count; i++) {
        const char *text = section->lines[i].text;
        parts->choices[i] = section->lines[i].configuration;
        parts->lines[i] = pool_keep(pool, text, strlen(text));
        kept = kept && parts->lines[i] != NULL;
    }
    if (constraint != NULL) {
        parts->cover->public.constraint = pool_keep(pool, constraint, strlen(constraint));
        kept = kept && parts->cover->public.constraint != NULL;
    }
    return kept;
}

static void copy_sizes(const struct parts *parts, const struct cover_section *section)
{
    for (size_t i = 0; i < section->size_count; i++) {
        const struct cover_measured *size = &section->sizes[i];
        double *numbers = parts->numbers + i * section->range_count;
        for (size_t j = 0; j < section->range_count; j++) {
            numbers[j] = size->numbers[j].real;
            parts->scales[i * section->range_count + j] = tuned_scale(numbers[j]);
        }
        parts->sizes[i] = (struct tuned_size){.numbers = numbers,
                                              .fastest = size->fastest,
                                              .median_ns = size->median_ns,
                                              .loss_percent = size->loss_percent};
    }
}

static bool add_parameters(struct tuned_table *table, const struct cover_variant *variant)
{
    for (size_t i = 0; i < variant->count; i++) {
        const struct cover_value *value = &variant->parameters[i];
        const char *name = pool_keep(&table->pool, value->name, strlen(value->name));
        const char *text = pool_keep(&table->pool, value->text, strlen(value->text));
        if (!values_add(&table->parameters, name, text, &value->value))
            return false;
    }
    return true;
}

static bool add_configurations(struct tuned_table *table, const struct cover *cover,
                               const struct cover_section *section,
                               const struct tuned_configuration *model)
{
    for (size_t i = 0; i < section->configuration_count; i++) {
        struct tuned_configuration configuration = *model;
        size_t first = table->parameters.count;
        if (table->count == table->room || !add_parameters(table, &section->configurations[i]))
            return false;
        configuration.parameters = table->parameters.items + first;
        configuration.parameter_count = table->parameters.count - first;
        configuration.cover = &cover->public;
        configuration.number = (int)i + 1;
        table->configurations[table->count++] = configuration;
    }
    return true;
}

struct cover *cover_new(struct tuned_table *table, const struct cover_section *section,
                        const struct tuned_configuration *model)
{
    struct layout layout = {0};
    (void)lay_out(&layout, section);
    layout.block = calloc(1, layout.used);
    if (layout.block == NULL)
        return NULL;
    layout.used = 0;
    struct parts parts = lay_out(&layout, section);
    copy_rule(&parts, section);
    copy_sizes(&parts, section);
    parts.cover->public.count = section->configuration_count;
    parts.cover->public.ranges = parts.ranges;
    parts.cover->public.range_count = section->range_count;
    parts.cover->public.lines = parts.lines;
    parts.cover->public.line_count = section->line_count;
    parts.cover->public.mean_loss_percent = section->mean_loss_percent;
    parts.cover->public.worst_loss_percent = section->worst_loss_percent;
    parts.cover->public.held_out_sizes = section->held_out_sizes;
    parts.cover->public.sizes = parts.sizes;
    parts.cover->public.size_count = section->size_count;
    parts.cover->choices = parts.choices;
    parts.cover->scales = parts.scales;
    if (!copy_texts(&table->pool, &parts, section) ||
        !add_configurations(table, parts.cover, section, model)) {
        cover_free(parts.cover);
        return NULL;
    }
    return parts.cover;
}

struct cover *cover_place(const struct tuned_configuration *first)
{
    struct cover *cover = (struct cover *)first->cover; /* the table's own */
    cover->public.configurations = first;
    return cover;
}
