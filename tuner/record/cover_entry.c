#include "record/cover_entry.h"

#include "base/alloc.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct cover_entry *cover_entry_new(void)
{
    return alloc_zeroed(1, sizeof(struct cover_entry));
}

void cover_entry_free(struct cover_entry *cover)
{
    if (cover == NULL)
        return;
    for (size_t i = 0; i < cover->range_count; i++)
        free(cover->ranges[i].name);
    for (size_t i = 0; i < cover->configuration_count; i++)
        bindings_release(&cover->configurations[i].parameters);
    for (size_t i = 0; i < cover->figure_count; i++) {
        free(cover->figures[i].name);
        free(cover->figures[i].expression);
    }
    for (size_t i = 0; i < cover->line_count; i++)
        free(cover->lines[i].condition);
    for (size_t i = 0; i < cover->size_count; i++)
        bindings_release(&cover->sizes[i].problem);
    free(cover->ranges);
    free(cover->constraint);
    free(cover->configurations);
    free(cover->figures);
    free(cover->lines);
    free(cover->sizes);
    free(cover);
}

void cover_entry_add_range(struct cover_entry *cover, const char *name, struct value low,
                           struct value high)
{
    *ARRAY_APPEND(cover->ranges, cover->range_count) =
        (struct cover_range){alloc_string(name), low, high};
}

void cover_entry_add_configuration(struct cover_entry *cover, const struct bindings *parameters,
                                   int registers, int blocks_per_sm)
{
    struct cover_configuration *configuration =
        ARRAY_APPEND(cover->configurations, cover->configuration_count);
    *configuration =
        (struct cover_configuration){.registers = registers, .blocks_per_sm = blocks_per_sm};
    bindings_copy(&configuration->parameters, parameters);
}

void cover_entry_add_figure(struct cover_entry *cover, const char *name, const char *expression)
{
    *ARRAY_APPEND(cover->figures, cover->figure_count) =
        (struct cover_figure){alloc_string(name), alloc_string(expression)};
}

bool cover_entry_has_figure(const struct cover_entry *cover, const char *name)
{
    for (size_t i = 0; i < cover->figure_count; i++)
        if (strcmp(cover->figures[i].name, name) == 0)
            return true;
    return false;
}

void cover_entry_add_line(struct cover_entry *cover, size_t configuration, const char *condition)
{
    *ARRAY_APPEND(cover->lines, cover->line_count) =
        (struct cover_line){configuration, condition != NULL ? alloc_string(condition) : NULL};
}

void cover_entry_add_size(struct cover_entry *cover, const struct bindings *problem, size_t fastest,
                          double median_ns, double loss_percent)
{
    struct cover_size *size = ARRAY_APPEND(cover->sizes, cover->size_count);
    *size = (struct cover_size){
        .fastest = fastest, .median_ns = median_ns, .loss_percent = loss_percent};
    bindings_copy(&size->problem, problem);
}

/* --- from a section that was read --- */

static void take_configuration(struct cover_entry *cover, const struct cover_variant *variant)
{
    struct bindings parameters = {0};
    for (size_t i = 0; i < variant->count; i++)
        bindings_set(
            &parameters, variant->parameters[i].name,
            value_from_literal(&variant->parameters[i].value, variant->parameters[i].text));
    cover_entry_add_configuration(cover, &parameters, variant->registers, variant->blocks_per_sm);
    bindings_release(&parameters);
}

static void take_size(struct cover_entry *cover, const struct cover_section *section,
                      const struct cover_measured *size)
{
    struct bindings problem = {0};
    for (size_t i = 0; i < section->range_count; i++)
        bindings_set(&problem, section->ranges[i].name, value_from_literal(&size->numbers[i], ""));
    cover_entry_add_size(cover, &problem, size->fastest, size->median_ns, size->loss_percent);
    bindings_release(&problem);
}

struct cover_entry *cover_entry_from(const struct cover_section *section)
{
    struct cover_entry *cover = cover_entry_new();
    for (size_t i = 0; i < section->range_count; i++) {
        const struct cover_interval *range = &section->ranges[i];
        cover_entry_add_range(cover, range->name, value_from_literal(&range->low, ""),
                              value_from_literal(&range->high, ""));
    }
    if (section->constraint.text != NULL)
        cover->constraint = alloc_string(section->constraint.text);
    for (size_t i = 0; i < section->configuration_count; i++)
        take_configuration(cover, &section->configurations[i]);
    for (size_t i = 0; i < section->figure_count; i++)
        cover_entry_add_figure(cover, section->figures[i].name, section->figures[i].text);
    for (size_t i = 0; i < section->line_count; i++)
        cover_entry_add_line(cover, section->lines[i].configuration, section->lines[i].condition);
    for (size_t i = 0; i < section->size_count; i++)
        take_size(cover, section, &section->sizes[i]);
    cover->mean_loss_percent = section->mean_loss_percent;
    cover->worst_loss_percent = section->worst_loss_percent;
    cover->held_out_sizes = section->held_out_sizes;
    return cover;
}

/* --- as lines --- */

/* Where lines go; the first result that is not 0 ends it. */
struct lines {
    int (*take)(void *user, const char *key, const char *text);
    void *user;
    int result;
};

/* Takes over `key` and `text`. */
static void add(struct lines *lines, char *key, char *text)
{
    if (lines->result == 0)
        lines->result = lines->take(lines->user, key, text);
    free(key);
    free(text);
}

static void add_real(struct lines *lines, const char *key, double number)
{
    char text[VALUE_TEXT_BYTES];
    add(lines, alloc_string(key), alloc_string(value_exact_text(value_real(number), text)));
}

static void add_range(struct lines *lines, const struct cover_range *range)
{
    char low[VALUE_TEXT_BYTES];
    char high[VALUE_TEXT_BYTES];
    add(lines, alloc_format("range.%s", range->name),
        alloc_format("%s .. %s", value_exact_text(range->low, low),
                     value_exact_text(range->high, high)));
}

static void add_configurations(struct lines *lines, const struct cover_entry *cover)
{
    for (size_t i = 0; i < cover->configuration_count; i++) {
        const struct bindings *parameters = &cover->configurations[i].parameters;
        for (size_t j = 0; j < parameters->count; j++) {
            char text[VALUE_TEXT_BYTES];
            add(lines, alloc_format("configuration.%zu.%s", i + 1, parameters->items[j].name),
                alloc_string(value_exact_text(parameters->items[j].value, text)));
        }
    }
    for (size_t i = 0; i < cover->configuration_count; i++) {
        const struct cover_configuration *configuration = &cover->configurations[i];
        if (configuration->registers > 0)
            add(lines, alloc_format("compiled.%zu.registers", i + 1),
                alloc_format("%d", configuration->registers));
        if (configuration->blocks_per_sm > 0)
            add(lines, alloc_format("compiled.%zu.blocks_per_sm", i + 1),
                alloc_format("%d", configuration->blocks_per_sm));
    }
}

static void add_rule(struct lines *lines, const struct cover_entry *cover)
{
    for (size_t i = 0; i < cover->figure_count; i++)
        add(lines, alloc_format("figure.%s", cover->figures[i].name),
            alloc_string(cover->figures[i].expression));
    for (size_t i = 0; i < cover->line_count; i++) {
        const struct cover_line *line = &cover->lines[i];
        bool always = line->condition == NULL;
        add(lines, alloc_format("rule.%zu", i + 1),
            alloc_format("%zu%s%s", line->configuration + 1, always ? "" : " if ",
                         always ? "" : line->condition));
    }
}

/* The numbers in the order of the ranges, which is that of reading. */
static void add_size(struct lines *lines, const struct cover_entry *cover, size_t index)
{
    const struct cover_size *size = &cover->sizes[index];
    char buffer[VALUE_TEXT_BYTES];
    char *text = alloc_string("");
    for (size_t i = 0; i < cover->range_count; i++) {
        const char *name = cover->ranges[i].name;
        const struct value *value = bindings_find(&size->problem, name);
        char *longer = alloc_format("%s%s%s=%s", text, i > 0 ? " " : "", name,
                                    value != NULL ? value_exact_text(*value, buffer) : "?");
        free(text);
        text = longer;
    }
    char loss[VALUE_TEXT_BYTES];
    add(lines, alloc_format("measured.%zu", index + 1),
        alloc_format("%s: %zu, %s ns, %s %%", text, size->fastest + 1,
                     value_exact_text(value_real(size->median_ns), buffer),
                     value_exact_text(value_real(size->loss_percent), loss)));
    free(text);
}

int cover_entry_lines(const struct cover_entry *cover,
                      int (*take)(void *user, const char *key, const char *text), void *user)
{
    struct lines lines = {take, user, 0};
    for (size_t i = 0; i < cover->range_count; i++)
        add_range(&lines, &cover->ranges[i]);
    if (cover->constraint != NULL)
        add(&lines, alloc_string("constraint"), alloc_string(cover->constraint));
    add_configurations(&lines, cover);
    add_rule(&lines, cover);
    if (cover->held_out_sizes > 0) {
        add_real(&lines, "mean_loss_percent", cover->mean_loss_percent);
        add_real(&lines, "worst_loss_percent", cover->worst_loss_percent);
        add(&lines, alloc_string("held_out_sizes"),
            alloc_format("%" PRId64, cover->held_out_sizes));
    }
    for (size_t i = 0; i < cover->size_count; i++)
        add_size(&lines, cover, i);
    return lines.result;
}
