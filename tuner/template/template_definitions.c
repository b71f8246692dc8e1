#include "template/template_definitions.h"

#include "base/alloc.h"
#include "base/suggestion.h"
#include "template/value_list.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static int check_macro(const struct loader *loader, const char *macro, int line)
{
    size_t length = 0;
    while (isalnum((unsigned char)macro[length]) || macro[length] == '_')
        length++;
    if (macro[length] != '\0' || isdigit((unsigned char)macro[0]) || length == 0)
        return loader_fail(loader, line, "define '%s' is not the name of a macro", macro);
    if (length < 2)
        return loader_fail(
            loader, line,
            "macro '%s' is one letter, which would break the compiler's own headers; "
            "choose a longer one",
            macro);
    for (size_t i = 0; i < loader->template->definition_count; i++)
        if (strcmp(loader->template->definitions[i].macro, macro) == 0)
            return loader_fail(loader, line, "macro '%s' is defined twice", macro);
    return 0;
}

static struct parameter *find(struct parameter *parameters, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(parameters[i].name, name) == 0)
            return &parameters[i];
    return NULL;
}

static int unknown_name(const struct loader *loader, const char *name, int line)
{
    const struct template *template = loader->template;
    const char **known = NULL;
    size_t count = 0;
    for (size_t i = 0; i < template->parameter_count; i++)
        *ARRAY_APPEND(known, count) = template->parameters[i].name;
    for (size_t i = 0; i < template->problem_count; i++)
        *ARRAY_APPEND(known, count) = template->problem[i].name;
    *ARRAY_APPEND(known, count) = NULL;
    int status = suggestion_unknown(template->path, line, "parameter or problem value", name, known,
                                    loader->error);
    free(known);
    return status;
}

/* "block_size_x" or "SIZE = n". */
static int read_definition(struct loader *loader, const char *text, int line)
{
    struct template *template = loader->template;
    char **parts;
    size_t count = text_split(text, '=', &parts);
    const char *name = count > 0 ? parts[count - 1] : "";
    int status = count == 1 || count == 2
                     ? check_macro(loader, parts[0], line)
                     : loader_fail(loader, line, "define '%s' is not of the form SIZE = n", text);
    if (status == 0) {
        struct parameter *parameter = find(template->parameters, template->parameter_count, name);
        if (parameter == NULL)
            parameter = find(template->problem, template->problem_count, name);
        if (parameter == NULL)
            status = unknown_name(loader, name, line);
        else {
            parameter->renamed = true;
            *ARRAY_APPEND(template->definitions, template->definition_count) = (struct definition){
                .macro = alloc_string(parts[0]), .name = parameter->name, .line = line};
        }
    }
    text_split_release(parts, count);
    return status;
}

int loader_read_definitions(struct loader *loader)
{
    const struct ini_entry *entry = loader_get(loader, "kernel", "define");
    char **texts = NULL;
    size_t count = entry != NULL ? text_split(entry->value, ',', &texts) : 0;
    int status = 0;
    for (size_t i = 0; i < count && status == 0; i++)
        status = read_definition(loader, texts[i], entry->line);
    text_split_release(texts, count);
    return status;
}
