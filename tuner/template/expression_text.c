#include "template/expression_text.h"
#include "base/suggestion.h"

#include "base/alloc.h"
#include "template/expression_functions.h"
#include "template/ini_file.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TEXT_LIMIT = 4096, /* bytes of an expression */
    DEPTH_LIMIT = 64,  /* nested parentheses */
};

#define NAME_LETTERS "abcdefghijklmnopqrstuvwxyz0123456789_"

/* yes and no are globals of the evaluator, equal to true and false. `in`, a keyword of loops, is a
 * name here: buffers are called so. */
static const char *const allowed_keywords[] = {"and", "or",  "not", "true", "false",
                                               "nil", "yes", "no",  NULL};
static const char *const refused_keywords[] = {
    "break",    "do",    "else",   "elseif", "end",  "for",   "goto",  "if",
    "function", "local", "repeat", "return", "then", "until", "while", NULL};

static bool is_among(const char *name, const char *const *names)
{
    for (; *names != NULL; names++)
        if (strcmp(name, *names) == 0)
            return true;
    return false;
}

static int fail(const struct expression_text *source, struct error *error, const char *what,
                const char *subject)
{
    return error_set_at(error, ERROR_CONFIG, source->file, source->line,
                        "%s '%s' in expression '%s'; README of kernel_templates lists what an "
                        "expression may contain",
                        what, subject, source->text);
}

static int take_name(struct expression_text *source, const char *start, size_t length,
                     struct error *error)
{
    char name[64];
    if (length >= sizeof name)
        return fail(source, error, "overlong name", source->text);
    memcpy(name, start, length);
    name[length] = '\0';
    if (is_among(name, allowed_keywords))
        return 0;
    if (is_among(name, refused_keywords))
        return fail(source, error, "keyword", name);
    if (strspn(name, NAME_LETTERS) != length)
        return fail(source, error, "names are lower-case, not", name);
    if (expression_functions_have(name) || expression_text_uses(source, name))
        return 0;
    if (source->name_count == EXPRESSION_NAME_LIMIT)
        return fail(source, error, "too many names: at most 32, not also", name);
    *ARRAY_APPEND(source->names, source->name_count) = alloc_string(name);
    return 0;
}

/* The length of the operator at `text`; 0 where there is none that is allowed. */
static size_t operator_length(const char *text)
{
    static const char *const operators[] = {"==", "~=", "<=", ">=", "//", "+", "-", "*", "/",
                                            "%",  "^",  "<",  ">",  "(",  ")", ",", NULL};
    for (size_t i = 0; operators[i] != NULL; i++)
        if (strncmp(text, operators[i], strlen(operators[i])) == 0)
            return strlen(operators[i]);
    return 0;
}

static size_t number_length(const char *text)
{
    const char *p = text;
    while (isdigit((unsigned char)*p) || *p == '.')
        p++;
    if (*p == 'e' || *p == 'E') {
        p++;
        if (*p == '+' || *p == '-')
            p++;
        while (isdigit((unsigned char)*p))
            p++;
    }
    return (size_t)(p - text);
}

/* The length of the quoted word at `text`, quotes included; 0 where it holds anything but a word
 * (Lua would take text of digits for a number). */
static size_t string_length(const char *text)
{
    const char *p = text + 1 + strspn(text + 1, NAME_LETTERS);
    return islower((unsigned char)text[1]) && *p == *text ? (size_t)(p + 1 - text) : 0;
}

/* Takes one token; `*length` is its length. */
static int take_token(struct expression_text *source, const char *text, size_t *length,
                      struct error *error)
{
    char shown[2] = {*text, '\0'};
    if (isalpha((unsigned char)*text) || *text == '_') {
        *length = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
        return take_name(source, text, *length, error);
    }
    if (isdigit((unsigned char)*text) || (*text == '.' && isdigit((unsigned char)text[1]))) {
        *length = number_length(text);
        if (isalnum((unsigned char)text[*length]))
            return fail(source, error, "malformed number at", text);
        return 0;
    }
    if (*text == '"' || *text == '\'') {
        *length = string_length(text);
        return *length > 0 ? 0 : fail(source, error, "text that is no word at", text);
    }
    if (strncmp(text, "<<", 2) == 0 || strncmp(text, ">>", 2) == 0)
        return fail(source, error, "multiply or divide by a power of two for", "<< or >>");
    *length = operator_length(text);
    if (*length > 0)
        return 0;
    if (strncmp(text, "!=", 2) == 0)
        return fail(source, error, "write '~=' for", "!=");
    if (strncmp(text, "&&", 2) == 0)
        return fail(source, error, "write 'and' for", "&&");
    if (strncmp(text, "||", 2) == 0)
        return fail(source, error, "write 'or' for", "||");
    return fail(source, error, "unexpected character", shown);
}

int expression_text_check(struct expression_text *source, struct error *error)
{
    if (strlen(source->text) > TEXT_LIMIT)
        return error_set_at(error, ERROR_CONFIG, source->file, source->line,
                            "expression is longer than 4096 bytes");
    if (source->text[strspn(source->text, " \t")] == '\0')
        return error_set_at(error, ERROR_CONFIG, source->file, source->line, "expression is empty");
    size_t length;
    size_t depth = 0;
    for (const char *p = source->text; *p != '\0'; p += length) {
        length = strspn(p, " \t");
        if (length > 0)
            continue;
        if (p[0] == '-' && p[1] == '-') /* Lua's comment */
            return fail(source, error, "unexpected", "--");
        int status = take_token(source, p, &length, error);
        if (status != 0)
            return status;
        depth += *p == '(';
        depth -= *p == ')' && depth > 0;
        if (depth > DEPTH_LIMIT)
            return fail(source, error, "too deeply nested", "(");
    }
    return 0;
}

bool expression_text_uses(const struct expression_text *source, const char *name)
{
    for (size_t i = 0; i < source->name_count; i++)
        if (strcmp(source->names[i], name) == 0)
            return true;
    return false;
}

int expression_text_check_names(const struct expression_text *source, const char *const *known,
                                struct error *error)
{
    for (size_t i = 0; i < source->name_count; i++)
        if (!is_among(source->names[i], known))
            return suggestion_unknown(source->file, source->line, "name", source->names[i], known,
                                      error);
    return 0;
}

/* Writes names and expressions as Lua has them: `in` as IN, which is no other name since ours are
 * lower-case. */
static void put_lua(FILE *stream, const char *text)
{
    size_t length;
    for (const char *p = text; *p != '\0'; p += length) {
        length = strspn(p, NAME_LETTERS);
        bool quoted = p > text && (p[-1] == '"' || p[-1] == '\'');
        if (length == 2 && memcmp(p, "in", 2) == 0 && !quoted)
            fputs("IN", stream);
        else if (length > 0)
            fwrite(p, 1, length, stream);
        else
            fputc(p[length++], stream);
    }
}

char *expression_text_lua(const struct expression_text *source)
{
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    if (stream == NULL)
        abort();
    if (source->name_count > 0) {
        fputs("local ", stream);
        for (size_t i = 0; i < source->name_count; i++) {
            fputs(i > 0 ? "," : "", stream);
            put_lua(stream, source->names[i]);
        }
        fputs(" = ... ", stream);
    }
    fputs("return (", stream);
    put_lua(stream, source->text);
    fputc(')', stream);
    if (fclose(stream) != 0)
        abort();
    return text;
}

void expression_text_release(struct expression_text *source)
{
    for (size_t i = 0; i < source->name_count; i++)
        free(source->names[i]);
    free(source->names);
    free(source->text);
    *source = (struct expression_text){0};
}
