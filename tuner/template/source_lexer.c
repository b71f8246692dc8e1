#include "template/source_lexer.h"

#include "base/alloc.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { RAW_DELIMITER_MOST = 16 };

/* The longest first. */
static const char *const punctuation[] = {
    "%:%:", "<<=", ">>=", "...", "->*", "<=>", "<<<", ">>>", "::", "->", "++", "--",
    "<<",   ">>",  "<=",  ">=",  "==",  "!=",  "&&",  "||",  "+=", "-=", "*=", "/=",
    "%=",   "&=",  "|=",  "^=",  "##",  ".*",  "<:",  ":>",  "<%", "%>", "%:"};

void source_lexer_init(struct source_lexer *lexer, const char *text)
{
    *lexer = (struct source_lexer){.at = text, .next_line = 1, .line_start = true};
    *ARRAY_APPEND(lexer->token, lexer->length) = '\0';
}

void source_lexer_release(struct source_lexer *lexer)
{
    free(lexer->token);
    *lexer = (struct source_lexer){0};
}

/* --- characters --- */

/* The number of bytes of the splice at `at`, 0 if there is none. */
static size_t splice_bytes(const char *at)
{
    if (at[0] != '\\')
        return 0;
    return at[1] == '\n' ? 2 : at[1] == '\r' && at[2] == '\n' ? 3 : 0;
}

/* `at` behind any splices there. */
static const char *unspliced(const char *at)
{
    size_t bytes;
    while ((bytes = splice_bytes(at)) > 0)
        at += bytes;
    return at;
}

static char peek(const struct source_lexer *lexer)
{
    return *unspliced(lexer->at);
}

/* The character after the next. */
static char peek_second(const struct source_lexer *lexer)
{
    const char *at = unspliced(lexer->at);
    if (*at != '\0')
        at = unspliced(at + 1);
    return *at;
}

static void skip_splices(struct source_lexer *lexer)
{
    for (size_t bytes; (bytes = splice_bytes(lexer->at)) > 0; lexer->next_line++)
        lexer->at += bytes;
}

static char take(struct source_lexer *lexer)
{
    skip_splices(lexer);
    if (*lexer->at == '\n')
        lexer->next_line++;
    char character = *lexer->at;
    lexer->at += character != '\0';
    return character;
}

static void append(struct source_lexer *lexer, char character)
{
    lexer->token[lexer->length - 1] = character;
    *ARRAY_APPEND(lexer->token, lexer->length) = '\0';
}

static void keep(struct source_lexer *lexer)
{
    append(lexer, take(lexer));
}

static bool ends_line(char character)
{
    return character == '\n' || character == '\0';
}

static bool is_name_character(char character)
{
    return isalnum((unsigned char)character) || character == '_' || character == '$' ||
           (unsigned char)character >= 0x80;
}

/* --- what is between tokens --- */

static void skip_block_comment(struct source_lexer *lexer)
{
    (void)take(lexer);
    (void)take(lexer);
    while (peek(lexer) != '\0' && (peek(lexer) != '*' || peek_second(lexer) != '/'))
        (void)take(lexer);
    (void)take(lexer);
    (void)take(lexer);
}

/* Skips white space and comments, but not the end of a directive's line. */
static void skip_blanks(struct source_lexer *lexer)
{
    lexer->spaced = false;
    for (;;) {
        char next = peek(lexer);
        if (next == '/' && peek_second(lexer) == '*') {
            skip_block_comment(lexer);
        } else if (next == '/' && peek_second(lexer) == '/') {
            while (!ends_line(peek(lexer)))
                (void)take(lexer);
        } else if (next == '\n' && !lexer->in_directive) {
            (void)take(lexer);
            lexer->line_start = true;
        } else if (next != '\n' && isspace((unsigned char)next)) {
            (void)take(lexer);
        } else {
            return;
        }
        lexer->spaced = true;
    }
}

/* --- tokens --- */

/* Up to the closing quote or the end of the line. */
static enum token_kind take_quoted(struct source_lexer *lexer, char closing, bool escapes,
                                   enum token_kind kind)
{
    keep(lexer);
    while (!ends_line(peek(lexer)) && peek(lexer) != closing) {
        if (escapes && peek(lexer) == '\\' && !ends_line(peek_second(lexer)))
            keep(lexer);
        keep(lexer);
    }
    if (peek(lexer) == closing)
        keep(lexer);
    return kind;
}

/* R"delimiter(...)delimiter", in which nothing is spliced; the R is taken. */
static enum token_kind take_raw_string(struct source_lexer *lexer)
{
    const char *start = unspliced(lexer->at);
    size_t length = strcspn(start + 1, "()\\ \t\n\"");
    const char *end = NULL;
    if (length <= RAW_DELIMITER_MOST && start[1 + length] == '(') {
        char *closing = alloc_format(")%.*s\"", (int)length, start + 1);
        end = strstr(start + 2 + length, closing);
        end = end != NULL ? end + strlen(closing) : NULL;
        free(closing);
    }
    if (end == NULL) /* not one that compiles */
        return take_quoted(lexer, '"', true, TOKEN_TEXT);
    for (lexer->at = start; lexer->at < end; lexer->at++) {
        lexer->next_line += *lexer->at == '\n';
        append(lexer, *lexer->at);
    }
    return TOKEN_TEXT;
}

static bool token_is(const struct source_lexer *lexer, const char *text)
{
    return strcmp(lexer->token, text) == 0;
}

/* A name, or a literal that begins with one. */
static enum token_kind take_name(struct source_lexer *lexer)
{
    while (is_name_character(peek(lexer)))
        keep(lexer);
    bool encoding = token_is(lexer, "u8") || token_is(lexer, "u") || token_is(lexer, "U") ||
                    token_is(lexer, "L");
    if (peek(lexer) == '"' &&
        (token_is(lexer, "R") || token_is(lexer, "u8R") || token_is(lexer, "uR") ||
         token_is(lexer, "UR") || token_is(lexer, "LR")))
        return take_raw_string(lexer);
    if (encoding && (peek(lexer) == '"' || peek(lexer) == '\''))
        return take_quoted(lexer, peek(lexer), true, TOKEN_TEXT);
    return TOKEN_NAME;
}

static enum token_kind take_number(struct source_lexer *lexer)
{
    for (;;) {
        char next = peek(lexer);
        if (strchr("eEpP", next) != NULL && next != '\0' &&
            (peek_second(lexer) == '+' || peek_second(lexer) == '-'))
            keep(lexer);
        else if (next == '\'' ? !is_name_character(peek_second(lexer))
                              : next != '.' && !is_name_character(next))
            return TOKEN_NUMBER;
        keep(lexer);
    }
}

/* The number of characters of the punctuation that begins here. */
static size_t punctuation_length(const struct source_lexer *lexer)
{
    char next[5] = "";
    const char *at = unspliced(lexer->at);
    for (size_t i = 0; i < sizeof next - 1 && *at != '\0'; i++, at = unspliced(at + 1))
        next[i] = *at;
    for (size_t i = 0; i < sizeof punctuation / sizeof *punctuation; i++)
        if (next[0] == punctuation[i][0] &&
            strncmp(next, punctuation[i], strlen(punctuation[i])) == 0)
            return strlen(punctuation[i]);
    return strncmp(next, "?\?=", 3) == 0 ? 3 : 1;
}

static enum token_kind take_punctuation(struct source_lexer *lexer, bool line_start)
{
    for (size_t length = punctuation_length(lexer); length > 0; length--)
        keep(lexer);
    if (!line_start || !(token_is(lexer, "#") || token_is(lexer, "%:") || token_is(lexer, "?\?=")))
        return TOKEN_PUNCTUATION;
    lexer->in_directive = true;
    return TOKEN_DIRECTIVE;
}

static enum token_kind take_token(struct source_lexer *lexer, bool line_start)
{
    char next = peek(lexer);
    if (next == '\n' || (next == '\0' && lexer->in_directive)) {
        lexer->in_directive = false;
        return TOKEN_DIRECTIVE_END;
    }
    if (next == '\0')
        return TOKEN_END;
    if (lexer->header == HEADER_NOW && (next == '"' || next == '<'))
        return take_quoted(lexer, next == '<' ? '>' : '"', false, TOKEN_HEADER);
    if (next == '"' || next == '\'')
        return take_quoted(lexer, next, true, TOKEN_TEXT);
    if (isdigit((unsigned char)next) || (next == '.' && isdigit((unsigned char)peek_second(lexer))))
        return take_number(lexer);
    if (is_name_character(next))
        return take_name(lexer);
    return take_punctuation(lexer, line_start);
}

/* Decides whether the token after this one is a header's name. In the condition of an #if, only
 * __has_include or a macro that calls it takes text in quotes or angle brackets. */
static void expect_header(struct source_lexer *lexer, enum token_kind kind)
{
    bool begins = lexer->last == TOKEN_DIRECTIVE && kind == TOKEN_NAME;
    bool includes = begins && (token_is(lexer, "include") || token_is(lexer, "include_next"));
    if (begins || !lexer->in_directive)
        lexer->in_condition = begins && (token_is(lexer, "if") || token_is(lexer, "elif"));
    bool tests = kind == TOKEN_NAME && (lexer->in_condition || token_is(lexer, "__has_include") ||
                                        token_is(lexer, "__has_include_next"));
    if (includes || (lexer->header == HEADER_AFTER_PARENTHESIS && token_is(lexer, "(")))
        lexer->header = HEADER_NOW;
    else
        lexer->header = tests ? HEADER_AFTER_PARENTHESIS : HEADER_NO;
}

enum token_kind source_lexer_next(struct source_lexer *lexer)
{
    skip_blanks(lexer);
    skip_splices(lexer);
    bool line_start = lexer->line_start;
    lexer->line = lexer->next_line;
    lexer->start = lexer->at;
    lexer->line_start = false;
    lexer->token[0] = '\0';
    lexer->length = 1;
    enum token_kind kind = take_token(lexer, line_start);
    expect_header(lexer, kind);
    lexer->last = kind;
    return kind;
}
