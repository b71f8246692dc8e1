#include "template/template_names.h"

#include "base/alloc.h"
#include "base/expression_steps.h"
#include "base/literal.h"
#include "template/device_attributes.h"

#include <stdint.h>
#include <string.h>

/* Statistics of the launch's own kernel that its expressions may name. */
static const char *const launch_stats[] = {"registers",     "spill_bytes",   "static_shared_bytes",
                                           "blocks_per_sm", "block_threads", NULL};

/* Keys of a sweep's kernel section, and names that some expressions have values for. */
static const char *const reserved_names[] = {
    "template", "description",          "constraint", "cache",
    "budget",   "evaluations",          "iteration",  "reference",
    "cover",    "cover_configurations", NULL};

const char *const *launch_figure_names(void)
{
    return launch_stats;
}

int loader_check_letters(const struct loader *loader, const char *name, int line)
{
    if (literal_is_name(name, LITERAL_NAME_LETTERS))
        return 0;
    return loader_fail(
        loader, line,
        "name '%s' must consist of at most 31 lower-case letters, digits and underscores", name);
}

bool template_name_is_reserved(const char *name)
{
    return expression_reserves(name) || names_have(reserved_names, name) ||
           names_have(template_stat_names(), name) || names_have(launch_stats, name) ||
           names_have(gpu_binding_names(), name);
}

void template_names_reserved(struct names *names)
{
    static const char *const words[] = {"and", "or", "not", "true", "false", "yes", "no", NULL};
    names_add_all(names, words);
    for (size_t i = 0; expression_function_name(i) != NULL; i++)
        names_add(names, expression_function_name(i));
    names_add_all(names, reserved_names);
    names_add_all(names, template_stat_names());
    names_add_all(names, launch_stats);
    names_add_all(names, gpu_binding_names());
}

int loader_check_unused(const struct loader *loader, const char *name, int line)
{
    const struct template *template = loader->template;
    if (template_name_is_reserved(name))
        return loader_fail(loader, line,
                           "name '%s' has another meaning in expressions; choose another name",
                           name);
    bool used = template_parameter(template, name) != NULL ||
                template_problem_value(template, name) != NULL;
    for (size_t i = 0; i < template->buffer_count && !used; i++)
        used = strcmp(template->buffers[i].name, name) == 0;
    for (size_t i = 0; i < template->figure_count && !used; i++)
        used = strcmp(template->figures[i].name, name) == 0;
    return used ? loader_fail(loader, line, "name '%s' is given twice", name) : 0;
}

int loader_check_name(const struct loader *loader, const char *name, int line)
{
    int status = loader_check_letters(loader, name, line);
    return status != 0 ? status : loader_check_unused(loader, name, line);
}

int loader_collect_members(struct loader *loader)
{
    struct template *template = loader->template;
    for (size_t i = 0; i < template->ini.count; i++) {
        const struct ini_entry *entry = &template->ini.entries[i];
        const char *dot = strchr(entry->section, '.');
        if (entry->key != NULL || dot == NULL)
            continue;
        int status = 0;
        if (entry->section[0] == 'b') {
            status = loader_check_name(loader, dot + 1, entry->line);
            struct buffer *buffer = ARRAY_APPEND(template->buffers, template->buffer_count);
            *buffer = (struct buffer){.name = dot + 1, .line = entry->line};
        } else if (entry->section[0] == 'l') {
            status = loader_check_letters(loader, dot + 1, entry->line);
            struct launch *launch = ARRAY_APPEND(template->launches, template->launch_count);
            *launch = (struct launch){.name = dot + 1, .line = entry->line};
        } else if (entry->section[0] == 'v') {
            struct verifier *verifier = ARRAY_APPEND(template->verifiers, template->verifier_count);
            *verifier = (struct verifier){.expectation = SIZE_MAX, .line = entry->line};
        } else {
            struct expectation *expectation =
                ARRAY_APPEND(template->expectations, template->expectation_count);
            *expectation = (struct expectation){.line = entry->line};
        }
        if (status != 0)
            return status;
    }
    if (template->launch_count == 0)
        return loader_fail(loader, 0, "the template has no [launch.%s] section: nothing to run",
                           "NAME");
    if (template->expectation_count + template->verifier_count == 0)
        return loader_fail(loader, 0,
                           "the template has no [expect.%s] section: nothing would be verified",
                           "NAME");
    return template->verifier_count > 0
               ? loader_check_unused(loader, "wrong", template->verifiers[0].line)
               : 0;
}

/* NAME_grid and NAME_block of every launch. */
static int collect_grids(struct loader *loader)
{
    struct template *template = loader->template;
    int status = 0;
    for (size_t i = 0; i < template->launch_count && status == 0; i++) {
        const struct launch *launch = &template->launches[i];
        for (int j = 0; j < 2 && status == 0; j++) {
            char **made = ARRAY_APPEND(loader->made, loader->made_count);
            *made = alloc_format("%s_%s", launch->name, j == 0 ? "grid" : "block");
            names_add(&loader->grids, *made);
            status = loader_check_unused(loader, *made, launch->line);
        }
    }
    return status;
}

int loader_collect_names(struct loader *loader)
{
    struct template *template = loader->template;
    for (size_t i = 0; i < template->problem_count; i++)
        names_add(&loader->fixed, template->problem[i].name);
    names_add_all(&loader->fixed, gpu_binding_names());
    for (size_t i = 0; i < template->parameter_count; i++)
        names_add(&loader->base, template->parameters[i].name);
    names_add_all(&loader->base, loader->fixed.items);
    names_add_all(&loader->grids, loader->base.items);
    for (size_t i = 0; i < template->buffer_count; i++)
        names_add(&loader->buffers, template->buffers[i].name);
    names_add(&loader->buffers, "reference");
    if (template->verifier_count > 0)
        names_add(&loader->buffers, "wrong");
    struct names constraint = {0};
    names_add_all(&constraint, loader->base.items);
    names_add_all(&constraint, template_stat_names());
    template->constraint_names = constraint.items;
    return collect_grids(loader);
}
