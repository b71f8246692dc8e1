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

static void add_member(struct tuned_table *table, struct kernel *kernel, size_t index)
{
    const struct tuned_configuration *configuration = table->members[index].configuration;
    const struct tuned_configuration *before =
        kernel->group_count > 0 ? table->members[index - 1].configuration : NULL;
    if (before == NULL || compare_groups(before, configuration) != 0) {
        table->groups[table->group_count++] = (struct group){
            .model = configuration,
            .first = index,
            .like_last = before != NULL && compare_shapes(before, configuration) == 0};
        kernel->group_count++;
    }
    table->groups[table->group_count - 1].count++;
}

/* The kernel that `configuration`, which comes after those of all kernels so far, belongs to. */
static struct kernel *last_kernel(struct tuned_table *table,
                                  const struct tuned_configuration *configuration)
{
    struct kernel *last = &table->kernels[table->kernel_count];
    if (table->kernel_count > 0 && strcmp(last[-1].name, configuration->kernel) == 0)
        return last - 1;
    *last = (struct kernel){
        .name = configuration->kernel, .first = configuration, .first_cover = table->cover_count};
    table->kernel_count++;
    return last;
}

/* Makes the kernels and the sorted covers, and lists the members. */
static void list_configurations(struct tuned_table *table)
{
    table->cover_count = 0;
    for (size_t i = 0; i < table->count; i++) {
        const struct tuned_configuration *configuration = &table->configurations[i];
        struct kernel *kernel = last_kernel(table, configuration);
        if (configuration->cover == NULL) {
            struct member *member = &table->members[table->member_count++];
            member->configuration = configuration;
            member->scales =
                table->problems.scales + (configuration->problem - table->problems.items);
        } else if (configuration->number == 1) {
            kernel->cover_count++;
            struct cover *cover = (struct cover *)configuration->cover; /* the table's own */
            cover->public.configurations = configuration;
            table->sorted_covers[table->cover_count++] = cover;
        }
    }
}

bool tuned_group(struct tuned_table *table)
{
    table->kernels = calloc(table->count + 1, sizeof *table->kernels);
    table->groups = calloc(table->count + 1, sizeof *table->groups);
    table->members = calloc(table->count + 1, sizeof *table->members);
    table->sorted_covers = calloc(table->cover_count + 1, sizeof *table->sorted_covers);
    if (table->kernels == NULL || table->groups == NULL || table->members == NULL ||
        table->sorted_covers == NULL)
        return false;
    list_configurations(table);
    qsort(table->members, table->member_count, sizeof *table->members, compare_members);
    struct kernel *kernel = table->kernels;
    for (size_t i = 0; i < table->member_count; i++) {
        /* NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): each member's kernel is there */
        while (strcmp(kernel->name, table->members[i].configuration->kernel) != 0)
            kernel++;
        if (kernel->group_count == 0)
            kernel->first_group = table->group_count;
        add_member(table, kernel, i);
    }
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
