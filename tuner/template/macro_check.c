#include "template/macro_check.h"

#include "base/alloc.h"
#include "base/read_file.h"
#include "base/suggestion.h"
#include "template/source_lexer.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Whether it is a word of the text, outside comments and strings. */
static bool has_word(const char *text, const char *word)
{
    struct source_lexer lexer;
    enum token_kind kind;
    bool found = false;
    source_lexer_init(&lexer, text);
    while (!found && (kind = source_lexer_next(&lexer)) != TOKEN_END)
        found = kind == TOKEN_NAME && strcmp(lexer.token, word) == 0;
    source_lexer_release(&lexer);
    return found;
}

/* The source, its headers, the compiler options and the C++ names of entries. */
struct texts {
    char **items;
    size_t count;
};

static void read_texts(const struct template *template, struct texts *texts)
{
    const struct source *source = &template->source;
    *ARRAY_APPEND(texts->items, texts->count) = alloc_string(source->text);
    for (size_t i = 0; i < source->followed_count; i++) {
        char *text;
        if (read_file(source->headers[i], &text, NULL, NULL) == 0)
            *ARRAY_APPEND(texts->items, texts->count) = text;
    }
    for (size_t i = 0; i < template->option_count; i++)
        *ARRAY_APPEND(texts->items, texts->count) = alloc_string(template->options[i].text);
    for (size_t i = 0; i < template->name_expression_count; i++)
        *ARRAY_APPEND(texts->items, texts->count) = alloc_string(template->name_expressions[i]);
}

static bool any_has(const struct texts *texts, const char *word)
{
    for (size_t i = 0; i < texts->count; i++)
        if (has_word(texts->items[i], word))
            return true;
    return false;
}

/* Whether a value elsewhere in the template names it. */
static bool template_uses(const struct template *template, const char *name)
{
    for (size_t i = 0; i < template->ini.count; i++)
        if (template->ini.entries[i].value != NULL &&
            has_word(template->ini.entries[i].value, name))
            return true;
    return false;
}

/* The macro that was meant, among the source's words in capitals; NULL, or a new string. */
static char *nearest_macro(const struct texts *texts, const char *macro)
{
    char **words = NULL;
    size_t count = 0;
    for (size_t i = 0; i < texts->count; i++) {
        struct source_lexer lexer;
        enum token_kind kind;
        source_lexer_init(&lexer, texts->items[i]);
        while ((kind = source_lexer_next(&lexer)) != TOKEN_END)
            if (kind == TOKEN_NAME && isupper((unsigned char)*lexer.token))
                *ARRAY_APPEND(words, count) = alloc_string(lexer.token);
        source_lexer_release(&lexer);
    }
    *ARRAY_APPEND(words, count) = NULL;
    const char *nearest = suggestion_nearest(macro, (const char *const *)words);
    char *copy = nearest != NULL ? alloc_string(nearest) : NULL;
    for (size_t i = 0; i < count; i++)
        free(words[i]);
    free(words);
    return copy;
}

static int refuse(const struct template *template, const struct parameter *parameter,
                  const char *macro, const struct texts *texts, struct error *error)
{
    char *nearest = nearest_macro(texts, macro);
    char *advice = nearest != NULL ? alloc_format("did you mean '%s'?", nearest)
                   : parameter->words != NULL
                       ? alloc_string("name it there or in an expression")
                       : alloc_string("name it there, or make it a launch parameter");
    int status = error_set_at(error, ERROR_CONFIG, template->path, parameter->line,
                              "'%s' changes nothing: the source and its headers do not name the "
                              "macro '%s'; %s",
                              parameter->name, macro, advice);
    free(advice);
    free(nearest);
    return status;
}

static int check_parameters(const struct template *template, const struct parameter *parameters,
                            size_t count, const struct texts *texts, struct error *error)
{
    int status = 0;
    for (size_t i = 0; i < count && status == 0; i++) {
        const struct parameter *parameter = &parameters[i];
        if (!parameter->compiled || parameter->renamed)
            continue;
        char *macro = alloc_string(parameter->name);
        for (char *c = macro; *c != '\0'; c++)
            *c = (char)toupper((unsigned char)*c);
        if (!any_has(texts, macro) &&
            !(parameter->words != NULL && template_uses(template, parameter->name)))
            status = refuse(template, parameter, macro, texts, error);
        free(macro);
    }
    return status;
}

static int check_definitions(const struct template *template, const struct texts *texts,
                             struct error *error)
{
    for (size_t i = 0; i < template->definition_count; i++) {
        const struct definition *definition = &template->definitions[i];
        if (!any_has(texts, definition->macro))
            return error_set_at(error, ERROR_CONFIG, template->path, definition->line,
                                "define '%s' changes nothing: the source and its headers do not "
                                "name that macro",
                                definition->macro);
    }
    return 0;
}

int macro_check(const struct template *template, struct error *error)
{
    struct texts texts = {0};
    read_texts(template, &texts);
    int status =
        check_parameters(template, template->parameters, template->parameter_count, &texts, error);
    if (status == 0)
        status =
            check_parameters(template, template->problem, template->problem_count, &texts, error);
    if (status == 0)
        status = check_definitions(template, &texts, error);
    for (size_t i = 0; i < texts.count; i++)
        free(texts.items[i]);
    free(texts.items);
    return status;
}
