#include "table.h"

#include <stdlib.h>
#include <string.h>

/* The order of two problems' names and words; 0 if both are the same. */
static int compare_shapes(const struct tuned_configuration *a, const struct tuned_configuration *b)
{
    if (a->problem_count != b->problem_count)
        return a->problem_count < b->problem_count ? -1 : 1;
    int order = 0;
    for (size_t i = 0; i < a->problem_count && order == 0; i++) {
        const struct tuned_value *first = &a->problem[i];
        const struct tuned_value *second = &b->problem[i];
        order = strcmp(first->name, second->name);
        if (order == 0)
            order = (first->kind == TUNED_WORD) - (second->kind == TUNED_WORD);
        if (order == 0 && first->kind == TUNED_WORD)
            order = strcmp(first->text, second->text);
    }
    return order;
}

/* The order of two configurations of one kernel by group. */
static int compare_groups(const struct tuned_configuration *a, const struct tuned_configuration *b)
{
    int order = strcmp(a->template_hash, b->template_hash);
    if (order == 0)
        order = compare_shapes(a, b);
    if (order == 0)
        order = (a->gpu > b->gpu) - (a->gpu < b->gpu);
    return order;
}

static int compare_members(const void *a, const void *b)
{
    const struct tuned_configuration *first = ((const struct member *)a)->configuration;
    const struct tuned_configuration *second = ((const struct member *)b)->configuration;
    int order = strcmp(first->kernel, second->kernel);
    if (order == 0)
        order = compare_groups(first, second);
    if (order == 0)
        order = (first > second) - (first < second);
    return order;
}

static void add_member(struct tuned_table *table, size_t index)
{
    const struct tuned_configuration *configuration = table->members[index].configuration;
    const struct tuned_configuration *before =
        index > 0 ? table->members[index - 1].configuration : NULL;
    bool new_kernel = before == NULL || strcmp(before->kernel, configuration->kernel) != 0;
    if (new_kernel)
        table->kernels[table->kernel_count++] = (struct kernel){.name = configuration->kernel,
                                                                .first = configuration,
                                                                .first_group = table->group_count};
    struct kernel *kernel = &table->kernels[table->kernel_count - 1];
    if (configuration < kernel->first)
        kernel->first = configuration;
    if (new_kernel || compare_groups(before, configuration) != 0) {
        table->groups[table->group_count++] =
            (struct group){.model = configuration, .first = index};
        kernel->group_count++;
    }
    table->groups[table->group_count - 1].count++;
}

bool tuned_group(struct tuned_table *table)
{
    table->kernels = calloc(table->count + 1, sizeof *table->kernels);
    table->groups = calloc(table->count + 1, sizeof *table->groups);
    table->members = calloc(table->count + 1, sizeof *table->members);
    if (table->kernels == NULL || table->groups == NULL || table->members == NULL)
        return false;
    for (size_t i = 0; i < table->count; i++) {
        const struct tuned_configuration *configuration = &table->configurations[i];
        table->members[i].configuration = configuration;
        table->members[i].scales =
            table->problems.scales + (configuration->problem - table->problems.items);
    }
    qsort(table->members, table->count, sizeof *table->members, compare_members);
    for (size_t i = 0; i < table->count; i++)
        add_member(table, i);
    return true;
}

const struct kernel *tuned_kernel_of(const struct tuned_table *table, const char *name)
{
    size_t low = 0;
    size_t high = table->kernel_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(table->kernels[middle].name, name);
        if (order == 0)
            return &table->kernels[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}
