#include "template/template_read_figures.h"

#include "base/alloc.h"
#include "template/template_figures.h"
#include "template/template_names.h"

#include <stdlib.h>
#include <string.h>

/* Adds a figure, which only those after it may name. */
static int read_figure(struct loader *loader, const struct ini_entry *entry,
                       const struct names *known)
{
    struct template *template = loader->template;
    struct template_figure figure = {.name = entry->key};
    int status = loader_check_name(loader, entry->key, entry->line);
    if (status == 0 && names_have(loader->grids.items, entry->key))
        status = loader_fail(loader, entry->line, "name '%s' is given twice", entry->key);
    if (status == 0)
        status =
            loader_read_expression(loader, entry->value, entry->line, known, &figure.expression);
    if (status != 0) {
        expression_free(figure.expression);
        return status;
    }
    *ARRAY_APPEND(template->figures, template->figure_count) = figure;
    return 0;
}

int loader_read_figures(struct loader *loader)
{
    struct ini_file *ini = &loader->template->ini;
    struct names known = {0}; /* whatever some launch may name */
    int status = 0;
    names_add_all(&known, loader->grids.items);
    names_add_all(&known, launch_figure_names());
    for (size_t i = 0; i < ini->count && status == 0; i++) {
        struct ini_entry *entry = &ini->entries[i];
        if (entry->key == NULL || strcmp(entry->section, "figures") != 0)
            continue;
        status = read_figure(loader, entry, &known);
    }
    free(known.items);
    for (size_t i = 0; i < loader->template->figure_count; i++) { /* for suggestions */
        names_add(&loader->base, loader->template->figures[i].name);
        names_add(&loader->grids, loader->template->figures[i].name);
    }
    return status;
}
