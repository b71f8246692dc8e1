#include "template/template_options.h"

#include "base/alloc.h"
#include "template/compiler_option.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

struct names loader_compile_names(const struct loader *loader)
{
    const struct template *template = loader->template;
    struct names names = {0};
    for (size_t i = 0; i < template->parameter_count; i++)
        names_add(&names, template->parameters[i].name);
    for (size_t i = 0; i < template->problem_count; i++)
        names_add(&names, template->problem[i].name);
    return names;
}

/* Splits "--name={expression}" into the part before the brace, which stays at `text`, and `*value`;
 * NULL if there is no brace. */
static int split_value(const struct loader *loader, char *text, int line, char **value)
{
    char *open = strchr(text, '{');
    size_t length = strlen(text);
    *value = NULL;
    if (open == NULL)
        return 0;
    if (text[length - 1] != '}' || strchr(open + 1, '{') != NULL)
        return loader_fail(loader, line, "option '%s' must end with one {expression}", text);
    char *whole = alloc_string(text);
    text[length - 1] = '\0';
    *open = '\0';
    *value = open + 1;
    int status =
        compiler_option_takes_value(text)
            ? 0
            : loader_fail(loader, line,
                          "in option '%s' only what follows the '=' can be an {expression}", whole);
    free(whole);
    return status;
}

static int read_option(struct loader *loader, char *text, int line, const struct names *known)
{
    struct template *template = loader->template;
    char *value;
    int status = split_value(loader, text, line, &value);
    if (status != 0)
        return status;
    if (compiler_option_writes_files(text))
        return loader_fail(loader, line, "option '%s' makes the compiler write files; remove it",
                           text);
    if (compiler_option_includes_files(text))
        return loader_fail(loader, line,
                           "option '%s' adds headers or their folders; write them as #include in "
                           "the source, and as 'include' in [kernel]",
                           text);
    struct template_option *option = ARRAY_APPEND(template->options, template->option_count);
    option->text = alloc_string(text);
    return value != NULL ? loader_read_expression(loader, value, line, known, &option->value) : 0;
}

/* The length of the option that `text` begins with: up to a blank outside of braces. */
static size_t option_length(const char *text)
{
    int depth = 0;
    size_t length = 0;
    for (; text[length] != '\0' && (depth > 0 || strchr(" \t", text[length]) == NULL); length++)
        depth += text[length] == '{' ? 1 : text[length] == '}' ? -1 : 0;
    return length;
}

static int read_options(struct loader *loader, const struct names *known)
{
    const struct ini_entry *entry = loader_get(loader, "kernel", "options");
    int status = 0;
    for (const char *at = entry != NULL ? entry->value : ""; *at != '\0' && status == 0;) {
        at += strspn(at, " \t");
        size_t length = option_length(at);
        char *text = alloc_string_n(at, length);
        if (length > 0)
            status = read_option(loader, text, entry->line, known);
        free(text);
        at += length;
    }
    return status;
}

static char *upper_case(const char *text)
{
    char *copy = alloc_string(text);
    for (char *c = copy; *c != '\0'; c++)
        *c = (char)toupper((unsigned char)*c);
    return copy;
}

/* Refuses a parameter that can make the #include of a macro read a header that was not found. */
static int check_computed_parameter(const struct loader *loader, const struct parameter *parameter)
{
    const struct source *source = &loader->template->source;
    char *macro = upper_case(parameter->name);
    const struct computed_name *found =
        parameter->words == NULL ? source_unfollowed(source, macro, NULL) : NULL;
    for (size_t i = 0; i < parameter->word_count && found == NULL; i++) {
        char *word = upper_case(parameter->words[i]);
        char *value = alloc_format("%s_%s", macro, word);
        found = source_unfollowed(source, macro, value);
        free(value);
        free(word);
    }
    free(macro);
    if (found == NULL)
        return 0;
    return error_set_at(
        loader->error, ERROR_CONFIG, found->path, found->line,
        "'%s' decides which file an #include of a macro reads; %slist the files that "
        "it can read as 'depends' in [kernel] of '%s'",
        parameter->name,
        parameter->words != NULL ? "give each of its words a #define in the source, or " : "",
        loader->template->path);
}

/* Parameters, a definition among the options and one by `define` could decide what the #include of
 * a macro reads. */
static int check_computed_includes(struct loader *loader)
{
    const struct template *template = loader->template;
    int status = 0;
    if (template->source.computed_count == 0 || loader_get(loader, "kernel", "depends") != NULL)
        return 0;
    for (size_t i = 0; i < template->option_count; i++)
        if (compiler_option_defines(template->options[i].text))
            return error_set_at(loader->error, ERROR_CONFIG, template->source.path, 0,
                                "an #include names a macro, and the template's option '%s' defines "
                                "one; #define it in the source, or write the header's name",
                                template->options[i].text);
    if (template->definition_count > 0)
        return loader_fail(loader, template->definitions[0].line,
                           "an #include names a macro, and 'define' sets '%s', which could decide "
                           "what it reads; write the header's name, or remove it from 'define'",
                           template->definitions[0].macro);
    for (size_t i = 0; i < template->parameter_count && status == 0; i++)
        if (template->parameters[i].compiled)
            status = check_computed_parameter(loader, &template->parameters[i]);
    for (size_t i = 0; i < template->problem_count && status == 0; i++)
        if (template->problem[i].compiled)
            status = check_computed_parameter(loader, &template->problem[i]);
    return status;
}

int loader_read_options(struct loader *loader)
{
    struct template *template = loader->template;
    struct names known = loader_compile_names(loader);
    int status = read_options(loader, &known);
    if (status == 0)
        status = check_computed_includes(loader);
    if (status == 0)
        status =
            loader_read_key(loader, "kernel", "max_registers", &known, &template->max_registers);
    if (status == 0)
        status = loader_read_word_key(loader, "kernel", "features", compiler_feature_names(),
                                      &known, &template->features);
    free(known.items);
    return status;
}

/* [precompiled_headers]: after the names. A header of the user's could depend on parameters. */
int loader_read_precompiled_headers(struct loader *loader)
{
    struct template *template = loader->template;
    struct names known = loader_compile_names(loader);
    int status = 0;
    for (size_t i = 0; i < template->ini.count && status == 0; i++) {
        const struct ini_entry *entry = &template->ini.entries[i];
        bool included = false;
        if (entry->key == NULL || strcmp(entry->section, "precompiled_headers") != 0)
            continue;
        for (size_t j = 0; j < template->source.toolkit_count; j++)
            included = included || strcmp(template->source.toolkit_headers[j], entry->key) == 0;
        if (!included) {
            status =
                loader_fail(loader, entry->line,
                            "the source includes no toolkit header '%s'; only such headers can be "
                            "precompiled",
                            entry->key);
            break;
        }
        struct precompiled_header *header =
            ARRAY_APPEND(template->precompiled, template->precompiled_count);
        header->name = entry->key;
        status = loader_read_expression(loader, entry->value, entry->line, &known, &header->when);
    }
    free(known.items);
    return status;
}
