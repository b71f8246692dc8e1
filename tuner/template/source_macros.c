#include "template/source_macros.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_PARTIALS = 2000 };

void macro_tokens_add(struct macro_tokens *tokens, const char *text, bool is_name, bool spaced)
{
    *ARRAY_APPEND(tokens->items, tokens->count) =
        (struct macro_token){alloc_string(text), is_name, spaced};
}

void macro_tokens_release(struct macro_tokens *tokens)
{
    for (size_t i = 0; i < tokens->count; i++)
        free(tokens->items[i].text);
    free(tokens->items);
    *tokens = (struct macro_tokens){0};
}

void source_macros_release(struct source_macros *macros)
{
    for (size_t i = 0; i < macros->count; i++) {
        free(macros->items[i].name);
        macro_tokens_release(&macros->items[i].body);
    }
    free(macros->items);
    *macros = (struct source_macros){0};
}

void header_names_release(struct header_names *names)
{
    for (size_t i = 0; i < names->count; i++)
        free(names->items[i]);
    free(names->items);
    *names = (struct header_names){0};
}

void met_macros_release(struct met_macros *met)
{
    for (size_t i = 0; i < met->count; i++)
        free(met->items[i].name);
    free(met->items);
    *met = (struct met_macros){0};
}

static void meet(struct met_macros *met, const char *name, bool defined)
{
    for (size_t i = 0; i < met->count; i++)
        if (strcmp(met->items[i].name, name) == 0) {
            met->items[i].defined = met->items[i].defined || defined;
            return;
        }
    *ARRAY_APPEND(met->items, met->count) = (struct met_macro){alloc_string(name), defined};
}

/* Text that is begun, and the tokens that are left to expand. */
struct partial {
    char *begun;
    struct macro_token *tokens; /* their texts are borrowed */
    size_t count;
};

struct expansion {
    const struct source_macros *macros;
    struct header_names *names;
    struct met_macros *met;
    struct partial *partials;
    size_t count;
};

/* Adds a partial of `first` and then what follows the first token of `after`; takes `begun`. */
static void add_partial(struct expansion *expansion, char *begun, const struct macro_tokens *first,
                        const struct partial *after)
{
    struct partial *partial = ARRAY_APPEND(expansion->partials, expansion->count);
    size_t rest = after->count > 0 ? after->count - 1 : 0;
    partial->begun = begun;
    partial->tokens = alloc_zeroed(first->count + rest, sizeof *partial->tokens);
    for (size_t i = 0; i < first->count; i++)
        partial->tokens[partial->count++] = first->items[i];
    for (size_t i = 1; i < after->count; i++)
        partial->tokens[partial->count++] = after->tokens[i];
}

static bool is_text(const struct macro_token *token, const char *text)
{
    return strcmp(token->text, text) == 0;
}

/* Takes the first token as it is. */
static void expand_text(struct expansion *expansion, const struct partial *partial)
{
    static const struct macro_tokens none = {0};
    const struct macro_token *token = &partial->tokens[0];
    bool begins = partial->begun[0] == '\0';
    if (begins && token->text[0] != '"' && token->text[0] != '<')
        return; /* not a header's name */
    char *longer =
        alloc_format("%s%s%s", partial->begun, !begins && token->spaced ? " " : "", token->text);
    if (longer[0] == '"' || strchr(token->text, '>') != NULL)
        *ARRAY_APPEND(expansion->names->items, expansion->names->count) = longer;
    else
        add_partial(expansion, longer, &none, partial);
}

/* Puts each definition of the first token in its place. Returns false if it has none. */
static bool expand_name(struct expansion *expansion, const struct partial *partial)
{
    const struct macro_token *name = &partial->tokens[0];
    size_t length = strlen(name->text);
    bool defined = false;
    for (size_t i = 0; i < expansion->macros->count; i++) {
        const struct source_macro *macro = &expansion->macros->items[i];
        if (macro->function_like || strncmp(macro->name, name->text, length) != 0 ||
            (macro->name[length] != '\0' && macro->name[length] != '_'))
            continue;
        defined = defined || macro->name[length] == '\0';
        meet(expansion->met, macro->name, true);
        size_t added = expansion->count;
        add_partial(expansion, alloc_string(partial->begun), &macro->body, partial);
        if (macro->body.count > 0)
            expansion->partials[added].tokens[0].spaced = name->spaced;
    }
    meet(expansion->met, name->text, defined);
    return defined;
}

/* Returns false if it cannot be told what the first token means. */
static bool expand(struct expansion *expansion, const struct partial *partial)
{
    if (partial->count == 0)
        return true;
    if (partial->tokens[0].is_name && partial->count > 1 &&
        (is_text(&partial->tokens[1], "(") || is_text(&partial->tokens[1], "##")))
        return false;
    if (!partial->tokens[0].is_name || !expand_name(expansion, partial))
        expand_text(expansion, partial);
    return true;
}

bool source_macros_headers(const struct source_macros *macros, const struct macro_tokens *tokens,
                           struct header_names *names, struct met_macros *met)
{
    static const struct partial nothing = {0};
    struct expansion expansion = {.macros = macros, .names = names, .met = met};
    bool known = true;
    *names = (struct header_names){0};
    add_partial(&expansion, alloc_string(""), tokens, &nothing);
    for (size_t i = 0; i < expansion.count && known; i++) { /* grows */
        const struct partial partial = expansion.partials[i];
        known = expansion.count < MOST_PARTIALS && expand(&expansion, &partial);
        free(partial.begun);
        free(partial.tokens);
        expansion.partials[i] = (struct partial){0};
    }
    for (size_t i = 0; i < expansion.count; i++) { /* those that were not looked at */
        free(expansion.partials[i].begun);
        free(expansion.partials[i].tokens);
    }
    free(expansion.partials);
    return known && names->count > 0;
}
