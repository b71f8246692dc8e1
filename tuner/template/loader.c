#include "template/loader.h"

#include "base/alloc.h"
#include "base/literal.h"
#include "base/suggestion.h"
#include "template/device_attributes.h"
#include "template/value_list.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

bool loader_failed(const struct loader *loader)
{
    return loader->error.code != 0;
}

void loader_fail(struct loader *loader, int line, const char *format, ...)
{
    if (loader_failed(loader))
        return;
    char message[sizeof loader->error.message];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    (void)error_set_at(&loader->error, ERROR_CONFIG, loader->template->path, line, "%s", message);
}

void loader_fail_unknown(struct loader *loader, int line, const char *what, const char *name,
                         const char *const *known)
{
    static const char *const none[] = {NULL};
    if (!loader_failed(loader))
        (void)suggestion_unknown(loader->template->path, line, what, name,
                                 known != NULL ? known : none, &loader->error);
}

/* --- keys --- */

const struct ini_entry *loader_get(struct loader *loader, const char *section, const char *key)
{
    return loader_failed(loader) ? NULL : ini_file_get(&loader->template->ini, section, key);
}

const struct ini_entry *loader_need(struct loader *loader, const char *section, int line,
                                    const char *key)
{
    const struct ini_entry *entry = loader_get(loader, section, key);
    if (entry == NULL)
        loader_fail(loader, line, "section '%s' has no key '%s'", section, key);
    return entry;
}

struct expression *loader_expression_of(struct loader *loader, const char *section, const char *key,
                                        const struct names *known)
{
    const struct ini_entry *entry = loader_get(loader, section, key);
    return entry != NULL
               ? loader_expression(loader, entry->value, &(struct place){entry->line, known})
               : NULL;
}

struct expression *loader_word_of(struct loader *loader, const char *section, const char *key,
                                  const char *const *words, const struct names *known)
{
    const struct ini_entry *entry = loader_get(loader, section, key);
    if (entry == NULL || !names_have(words, entry->value))
        return loader_expression_of(loader, section, key, known);
    char *quoted = template_keep(loader->template, alloc_format("\"%s\"", entry->value));
    return loader_expression(loader, quoted, &(struct place){entry->line, known});
}

bool loader_yes(struct loader *loader, const char *section, const char *key)
{
    const struct ini_entry *entry = loader_get(loader, section, key);
    bool yes = entry != NULL && strcmp(entry->value, "yes") == 0;
    if (entry != NULL && !yes && strcmp(entry->value, "no") != 0)
        loader_fail(loader, entry->line, "%s '%s' is neither yes nor no", key, entry->value);
    return yes;
}

size_t loader_split(struct loader *loader, const char *text, char separator, char ***parts)
{
    size_t count = text_split(text, separator, parts);
    (void)template_keep(loader->template, *parts);
    return count;
}

char *loader_copy(struct loader *loader, const char *text)
{
    return template_keep(loader->template, alloc_string(text));
}

bool split_call(char *text, char **inner)
{
    char *open = strchr(text, '(');
    size_t length = strlen(text);
    if (open == NULL || text[length - 1] != ')')
        return false;
    text[length - 1] = '\0';
    *open = '\0';
    *inner = open + 1;
    for (char *p = open; p > text && isspace((unsigned char)p[-1]); p--)
        p[-1] = '\0';
    return true;
}

/* --- names --- */

void loader_check_letters(struct loader *loader, const char *name, int line)
{
    if (!literal_is_name(name, LITERAL_NAME_LETTERS))
        loader_fail(
            loader, line,
            "name '%s' must consist of at most 31 lower-case letters, digits and underscores",
            name);
}

void loader_check_unused(struct loader *loader, const char *name, int line)
{
    const struct template *template = loader->template;
    if (template_name_is_reserved(name))
        loader_fail(loader, line,
                    "name '%s' has another meaning in expressions; choose another name", name);
    bool used = template_value(template, name) != NULL || names_have(loader->grids.items, name);
    for (size_t i = 0; i < template->buffer_count && !used; i++)
        used = strcmp(template->buffers[i].name, name) == 0;
    for (size_t i = 0; i < template->figure_count && !used; i++)
        used = strcmp(template->figures[i].name, name) == 0;
    for (size_t i = 0; i < template->loop_count && !used; i++)
        used = strcmp(template->loops[i].name, name) == 0 && template->loops[i].line != line;
    if (used)
        loader_fail(loader, line, "name '%s' is given twice", name);
}

void loader_check_name(struct loader *loader, const char *name, int line)
{
    loader_check_letters(loader, name, line);
    loader_check_unused(loader, name, line);
}

void loader_collect_names(struct loader *loader)
{
    struct template *template = loader->template;
    struct names constraint = {0};
    template_add_names(template, &loader->base);
    names_add_all(&loader->base, gpu_binding_names());
    for (size_t i = 0; i < template->buffer_count; i++)
        names_add(&loader->buffers, template->buffers[i].name);
    names_add(&loader->buffers, "reference");
    if (template->verifier_count > 0)
        names_add(&loader->buffers, "wrong");
    names_add_all(&loader->grids, loader->base.items);
    names_add_all(&constraint, loader->base.items);
    names_add_all(&constraint, template_stat_names());
    template->constraint_names = constraint.items;
    for (size_t i = 0; i < 2 * template->launch_count; i++) {
        const struct launch *launch = &template->launches[i / 2];
        char *made = template_keep(
            template, alloc_format("%s_%s", launch->name, i % 2 == 0 ? "grid" : "block"));
        loader_check_unused(loader, made, launch->line);
        names_add(&loader->grids, made);
        names_add(&loader->made, made);
    }
}

void loader_release(struct loader *loader)
{
    free(loader->made.items);
    free(loader->base.items);
    free(loader->buffers.items);
    free(loader->grids.items);
}

/* --- expressions --- */

/* Puts names in place of expected(NAME) in an expression, and adds them to `known`. A new string, or NULL if there are
 * none. */
static char *name_expected(struct loader *loader, const char *text, int line, struct names *known)
{
    static const char call[] = "expected(";
    struct template *template = loader->template;
    char *named = NULL;
    for (const char *found; (found = strstr(text, call)) != NULL;) {
        const char *open = found + strlen(call);
        size_t length = strcspn(open, ")");
        char *buffer = template_keep(template, alloc_string_n(open, length));
        if (!loader->expects)
            loader_fail(loader, line, "only the arguments of a [reference.NAME] can have %s%s)",
                        call, buffer);
        if (template_buffer(template, buffer) == template->buffer_count || open[length] == '\0')
            loader_fail(loader, line, "%s%s) does not name a buffer", call, buffer);
        if (loader_failed(loader))
            break;
        alloc_append(&named, "%.*s" EXPECTED_PREFIX "%s", (int)(found - text), text, buffer);
        names_add(known, template_keep(template, alloc_format(EXPECTED_PREFIX "%s", buffer)));
        text = open + length + 1;
    }
    if (named != NULL)
        alloc_append(&named, "%s", text);
    return named;
}

struct expression *loader_expression(struct loader *loader, const char *text,
                                     const struct place *at)
{
    struct template *template = loader->template;
    struct expression *expression = NULL;
    struct names known = {0};
    if (loader_failed(loader))
        return NULL;
    names_add_all(&known, at->known->items);
    char *expanded = template_figures_expand(template, text);
    char *named = name_expected(loader, expanded != NULL ? expanded : text, at->line, &known);
    if (named != NULL) {
        free(expanded);
        expanded = named;
    }
    if (!loader_failed(loader) &&
        expression_new_expanded(&expression, text, expanded, template->path, at->line,
                                &loader->error) == 0) {
        *ARRAY_APPEND(template->expressions, template->expression_count) = expression;
        if (expression_uses(expression, "iteration") && !names_have(known.items, "iteration"))
            loader_fail(loader, at->line,
                        "'%s': `iteration` counts the iterations of a loop, which nothing here is "
                        "in; a launch has a `loop` of its own, or is among the `launches` of a "
                        "[loop.NAME]",
                        text);
        else
            (void)expression_check_names(expression, known.items, &loader->error);
    }
    free(expanded);
    free(known.items);
    return loader_failed(loader) ? NULL : expression;
}

/* A figure may name those before it. */
void loader_read_figures(struct loader *loader)
{
    struct template *template = loader->template;
    struct names known = {0}; /* whatever some launch may name */
    names_add_all(&known, loader->grids.items);
    names_add_all(&known, launch_stat_names());
    struct names looped = {0};
    names_add_all(&looped, known.items);
    names_add(&looped, "iteration");
    for (size_t i = 0; i < template->loop_count; i++)
        names_add(&looped, template->loops[i].name);
    for (size_t i = 0; i < template->ini.count && !loader_failed(loader); i++) {
        const struct ini_entry *entry = &template->ini.entries[i];
        if (entry->key == NULL || strcmp(entry->section, "figures") != 0)
            continue;
        loader_check_name(loader, entry->key, entry->line);
        struct expression *expression =
            loader_expression(loader, entry->value, &(struct place){entry->line, &looped});
        if (expression != NULL)
            *ARRAY_APPEND(template->figures, template->figure_count) =
                (struct template_figure){entry->key, expression};
    }
    template->estimate = loader_expression_of(loader, "metrics", "estimate", &known);
    free(known.items);
    free(looped.items);
    for (size_t i = 0; i < template->figure_count; i++) { /* for suggestions */
        names_add(&loader->base, template->figures[i].name);
        names_add(&loader->grids, template->figures[i].name);
    }
}
