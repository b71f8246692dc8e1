#include "template/template_figures.h"

#include "base/alloc.h"
#include "base/expression.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* --- words of a text --- */

static bool belongs_to_word(char character)
{
    return isalnum((unsigned char)character) || character == '_' || character == '.';
}

/* The next word or number from `text` on, outside quotes; sets its length, which is 0 at the end. */
static const char *next_word(const char *text, size_t *length)
{
    char quote = '\0';
    for (; *text != '\0'; text++) {
        if (quote == '\0' && belongs_to_word(*text))
            break;
        if (*text == quote)
            quote = '\0';
        else if (quote == '\0' && (*text == '"' || *text == '\''))
            quote = *text;
    }
    for (*length = 0; belongs_to_word(text[*length]);)
        ++*length;
    return text;
}

static bool is_name(const char *name, const char *word, size_t length)
{
    return strncmp(name, word, length) == 0 && name[length] == '\0';
}

bool template_figure_is_named(const struct template_figure *figure, const char *text)
{
    size_t length;
    for (text = next_word(text, &length); length > 0; text = next_word(text + length, &length))
        if (is_name(figure->name, text, length))
            return true;
    return false;
}

/* --- expanding --- */

static const struct template_figure *find(const struct template *template, const char *word,
                                          size_t length)
{
    for (size_t i = 0; i < template->figure_count; i++)
        if (is_name(template->figures[i].name, word, length))
            return &template->figures[i];
    return NULL;
}

static char *append(char *to, const char *text, size_t length, const char *figure)
{
    char *longer = figure != NULL
                       ? alloc_format("%s%.*s(%s)", to != NULL ? to : "", (int)length, text, figure)
                       : alloc_format("%s%.*s", to, (int)length, text);
    free(to);
    return longer;
}

char *template_figures_expand(const struct template *template, const char *text)
{
    const char *taken = text; /* up to here */
    char *expanded = NULL;
    size_t length;
    for (const char *word = next_word(text, &length); length > 0;
         word = next_word(word + length, &length)) {
        const struct template_figure *figure = find(template, word, length);
        if (figure == NULL)
            continue;
        expanded = append(expanded, taken, (size_t)(word - taken),
                          expression_expanded(figure->expression));
        taken = word + length;
        if (strlen(expanded) > EXPRESSION_TEXT_LIMIT)
            return expanded;
    }
    return expanded != NULL ? append(expanded, taken, strlen(taken), NULL) : NULL;
}
