#include "template/loader.h"

#include "base/alloc.h"
#include "template/template_figures.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

int loader_fail(const struct loader *loader, int line, const char *format, const char *subject)
{
    return error_set_at(loader->error, ERROR_CONFIG, loader->template->path, line, format, subject);
}

struct ini_entry *loader_get(struct loader *loader, const char *section, const char *key)
{
    return ini_file_get(&loader->template->ini, section, key);
}

int loader_need(struct loader *loader, const char *section, int line, const char *key,
                struct ini_entry **entry)
{
    *entry = loader_get(loader, section, key);
    if (*entry != NULL)
        return 0;
    return error_set_at(loader->error, ERROR_CONFIG, loader->template->path, line,
                        "section '%s' has no key '%s'", section, key);
}

int loader_read_expression(struct loader *loader, const char *text, int line,
                           const struct names *known, struct expression **expression)
{
    char *expanded = template_figures_expand(loader->template, text);
    int status = expression_new_expanded(expression, text, expanded, loader->template->path, line,
                                         loader->error);
    if (status == 0)
        status = expression_check_names(*expression, known->items, loader->error);
    free(expanded);
    return status;
}

int loader_read_key(struct loader *loader, const char *section, const char *key,
                    const struct names *known, struct expression **expression)
{
    const struct ini_entry *entry = loader_get(loader, section, key);
    return entry == NULL
               ? 0
               : loader_read_expression(loader, entry->value, entry->line, known, expression);
}

int loader_read_word_key(struct loader *loader, const char *section, const char *key,
                         const char *const *words, const struct names *known,
                         struct expression **expression)
{
    const struct ini_entry *entry = loader_get(loader, section, key);
    if (entry == NULL || !names_have(words, entry->value))
        return loader_read_key(loader, section, key, known, expression);
    char *quoted = alloc_format("\"%s\"", entry->value);
    int status = loader_read_expression(loader, quoted, entry->line, known, expression);
    free(quoted);
    return status;
}

int loader_read_yes(struct loader *loader, const char *section, const char *key, bool *yes)
{
    const struct ini_entry *entry = loader_get(loader, section, key);
    *yes = entry != NULL && strcmp(entry->value, "yes") == 0;
    if (entry == NULL || *yes || strcmp(entry->value, "no") == 0)
        return 0;
    return error_set_at(loader->error, ERROR_CONFIG, loader->template->path, entry->line,
                        "%s '%s' is neither yes nor no", key, entry->value);
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
