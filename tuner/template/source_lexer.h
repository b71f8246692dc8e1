/*
 * The preprocessing tokens of a CUDA C++ source, one after another: comments and white space are
 * left out, spliced lines (a backslash before the line's end) are joined, and raw strings are kept
 * as they are. Every text can be split, even one that does not compile.
 *
 *     struct source_lexer lexer;
 *     source_lexer_init(&lexer, text);
 *     while (source_lexer_next(&lexer) != TOKEN_END)
 *         ... lexer.token, lexer.spaced, lexer.line ...
 *     source_lexer_release(&lexer);
 */
#ifndef AUTOTUNE_SOURCE_LEXER_H
#define AUTOTUNE_SOURCE_LEXER_H

#include <stdbool.h>
#include <stddef.h>

enum token_kind {
    TOKEN_END,
    TOKEN_DIRECTIVE,     /* the # (or %: or ??=) that begins a directive */
    TOKEN_DIRECTIVE_END, /* the end of its line */
    TOKEN_NAME,
    TOKEN_NUMBER,
    TOKEN_TEXT,   /* a string or character literal with its quotes, raw or not */
    TOKEN_HEADER, /* "name" or <name> behind #include, __has_include( or NAME( in an #if */
    TOKEN_PUNCTUATION,
};

struct source_lexer {
    char *token; /* until the next call */
    size_t length;
    bool spaced;            /* white space or a comment is before the token */
    int line;               /* on which the token begins */
    const char *start, *at; /* where it begins in the text, and behind it */

    /* private */
    int next_line;
    bool line_start, in_directive, in_condition;
    enum { HEADER_NO, HEADER_AFTER_PARENTHESIS, HEADER_NOW } header;
    enum token_kind last;
};

/* `text` must outlive it. */
void source_lexer_init(struct source_lexer *lexer, const char *text);
void source_lexer_release(struct source_lexer *lexer);

enum token_kind source_lexer_next(struct source_lexer *lexer);

#endif
