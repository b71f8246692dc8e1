#include "template/template_launches.h"

#include "base/alloc.h"
#include "template/launch_attributes.h"
#include "template/template_arguments.h"
#include "template/template_kernel.h"
#include "template/template_names.h"
#include "template/value_list.h"

#include <stdlib.h>
#include <string.h>

static int read_extents(struct loader *loader, const char *section, const char *key,
                        const struct names *known, struct expression **extents, size_t *count)
{
    const struct ini_entry *entry = loader_get(loader, section, key);
    *count = 0;
    if (entry == NULL)
        return 0;
    char **texts;
    size_t parts = text_split(entry->value, ',', &texts);
    int status = parts >= 1 && parts <= 3
                     ? 0
                     : loader_fail(loader, entry->line, "'%s' takes 1 to 3 expressions", key);
    for (size_t i = 0; i < parts && status == 0; i++) {
        *count = i + 1;
        status = loader_read_expression(loader, texts[i], entry->line, known, &extents[i]);
    }
    text_split_release(texts, parts);
    return status;
}

static int read_loop(struct loader *loader, const char *section, const struct names *known,
                     struct launch *launch)
{
    const char *const keys[] = {"from", "while", "next"};
    struct expression **const expressions[] = {&launch->from, &launch->condition, &launch->next};
    for (size_t i = 0; i < 3; i++) {
        struct ini_entry *entry = loader_get(loader, section, keys[i]);
        if (launch->loop == NULL && entry != NULL)
            return loader_fail(loader, entry->line, "'%s' without a 'loop' variable", keys[i]);
        if (launch->loop == NULL)
            continue;
        int status = loader_need(loader, section, launch->line, keys[i], &entry);
        if (status == 0)
            status = loader_read_expression(loader, entry->value, entry->line,
                                            i == 0 ? &loader->base : known, expressions[i]);
        if (status != 0)
            return status;
    }
    return 0;
}

static int line_of(struct loader *loader, const char *section, const char *key, int otherwise)
{
    const struct ini_entry *entry = loader_get(loader, section, key);
    return entry != NULL ? entry->line : otherwise;
}

/* Of the first unit that declares the entry. */
static void read_signature(const struct source *source, struct launch *launch)
{
    bool found = source_signature_read(source->text, launch->entry, &launch->signature);
    for (size_t i = 0; i < source->unit_count && !found; i++)
        found = source_signature_read(source->units[i].text, launch->entry, &launch->signature);
}

int loader_read_geometry(struct loader *loader, const char *section, const struct names *known,
                         struct launch *launch)
{
    launch->lines = (struct launch_lines){
        .entry = line_of(loader, section, "entry", launch->line),
        .grid = line_of(loader, section, "grid", launch->line),
        .block = line_of(loader, section, "block", launch->line),
        .shared_bytes = line_of(loader, section, "shared_bytes", launch->line),
        .arguments = line_of(loader, section, "arguments", launch->line),
    };
    read_signature(&loader->template->source, launch);
    int status = loader_take_entry(loader, launch);
    if (status == 0)
        status = read_extents(loader, section, "grid", known, launch->grid, &launch->grid_count);
    if (status == 0)
        status = read_extents(loader, section, "block", known, launch->block, &launch->block_count);
    if (status == 0)
        status = loader_read_key(loader, section, "shared_bytes", known, &launch->shared_bytes);
    struct names names = {0};
    names_add_all(&names, known->items);
    names_add_all(&names, loader->buffers.items);
    if (status == 0)
        status = loader_read_arguments(loader, section, &names, launch);
    free(names.items);
    return status;
}

/* What cuLaunchKernelEx takes beyond the geometry. */
static int read_attributes(struct loader *loader, const char *section, const struct names *known,
                           struct launch *launch)
{
    int status =
        read_extents(loader, section, "cluster", known, launch->cluster, &launch->cluster_count);
    if (status == 0)
        status = loader_read_key(loader, section, "programmatic", known, &launch->programmatic);
    if (status == 0)
        status =
            loader_read_word_key(loader, section, "cluster_scheduling", cluster_scheduling_names(),
                                 known, &launch->cluster_scheduling);
    if (status == 0)
        status =
            loader_read_key(loader, section, "shared_carveout", known, &launch->shared_carveout);
    return status;
}

/* The loop variable is a name of its own. */
static int read_loop_name(struct loader *loader, const char *section, struct launch *launch,
                          struct names *known)
{
    const struct ini_entry *entry = loader_get(loader, section, "loop");
    if (entry == NULL)
        return 0;
    int status = loader_check_name(loader, entry->value, entry->line);
    if (status == 0 && names_have(loader->grids.items, entry->value))
        status = loader_fail(loader, entry->line, "name '%s' is given twice", entry->value);
    if (status != 0)
        return status;
    launch->loop = entry->value;
    names_add(known, launch->loop);
    names_add(known, "iteration");
    return 0;
}

int loader_read_launch(struct loader *loader, const char *section, struct launch *launch)
{
    struct names known = {0}; /* base, own statistics, earlier launches, loop variable */
    struct ini_entry *entry;
    names_add_all(&known, loader->base.items);
    names_add_all(&known, launch_figure_names());
    for (size_t i = 0; loader->grids.items != NULL && i + 1 < loader->made_count; i += 2) {
        if (&loader->template->launches[i / 2] == launch)
            break;
        names_add(&known, loader->made[i]);
        names_add(&known, loader->made[i + 1]);
    }
    int status = loader_need(loader, section, launch->line, "entry", &entry);
    if (status == 0)
        launch->entry = alloc_string(entry->value);
    if (status == 0)
        status = read_loop_name(loader, section, launch, &known);
    if (status == 0)
        status = loader_read_key(loader, section, "when", &loader->base, &launch->when);
    if (status == 0)
        status = loader_read_geometry(loader, section, &known, launch);
    if (status == 0)
        status =
            loader_refuse_name(loader, launch, "reference", "the reference of an [expect] section");
    if (status == 0 && loader->template->verifier_count > 0)
        status = loader_refuse_name(loader, launch, "wrong", "a [verify] section");
    if (status == 0 && (launch->grid_count == 0 || launch->block_count == 0))
        status = loader_need(loader, section, launch->line,
                             launch->grid_count == 0 ? "grid" : "block", &entry);
    if (status == 0)
        status = read_loop(loader, section, &known, launch);
    if (status == 0)
        status =
            loader_read_key(loader, section, "cooperative", &loader->base, &launch->cooperative);
    if (status == 0)
        status =
            loader_read_key(loader, section, "co_resident", &loader->base, &launch->co_resident);
    if (status == 0)
        status = read_attributes(loader, section, &known, launch);
    if (status == 0)
        status = loader_read_yes(loader, section, "main", &launch->main);
    free(known.items);
    return status;
}
