/*
 * The macros that a source and its headers define, to find out which files an #include of a macro
 * can mean. Conditions are not evaluated: every definition of a macro counts.
 */
#ifndef AUTOTUNE_SOURCE_MACROS_H
#define AUTOTUNE_SOURCE_MACROS_H

#include <stdbool.h>
#include <stddef.h>

struct macro_token {
    char *text;
    bool is_name;
    bool spaced; /* white space is before it */
};

struct macro_tokens {
    struct macro_token *items;
    size_t count;
};

struct source_macro {
    char *name;
    bool function_like;
    struct macro_tokens body;
};

struct source_macros {
    struct source_macro *items;
    size_t count;
};

/* A name that was met while an #include was expanded. */
struct met_macro {
    char *name;
    bool defined; /* the source defines it, and its definitions were followed */
};

struct met_macros {
    struct met_macro *items;
    size_t count;
};

/* The headers that an #include can mean, as "name" or <name>. */
struct header_names {
    char **items;
    size_t count;
};

void macro_tokens_add(struct macro_tokens *tokens, const char *text, bool is_name, bool spaced);
void macro_tokens_release(struct macro_tokens *tokens);
void source_macros_release(struct source_macros *macros);

/*
 * Lists what the tokens behind an #include can expand to. A parameter NAME is defined as NAME_WORD,
 * so the macros that begin with NAME_ count as definitions of NAME. Returns false if that cannot be
 * determined: there are macros with arguments or ##, or nothing is a header's name. Release `names`
 * in any case. Adds each name that may be a macro to `met`, once.
 */
bool source_macros_headers(const struct source_macros *macros, const struct macro_tokens *tokens,
                           struct header_names *names, struct met_macros *met);
void header_names_release(struct header_names *names);
void met_macros_release(struct met_macros *met);

#endif
