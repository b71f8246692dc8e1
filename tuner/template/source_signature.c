#include "template/source_signature.h"

#include "base/alloc.h"
#include "template/source_lexer.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* --- one parameter --- */

/* What has been read of a parameter's type. */
struct type_words {
    int longs, shorts, pointers;
    bool is_unsigned, is_signed, is_int;
    bool foreign; /* something that is not understood */
    bool named;   /* `element` is set */
    size_t names; /* other names: at most the parameter's own */
    enum element_type element;
};

static bool is_one_of(const char *word, const char *const *words)
{
    while (*words != NULL && strcmp(*words, word) != 0)
        words++;
    return *words != NULL;
}

/* A type of one word; false if it is not one. */
static bool name_type(const char *word, enum element_type *type)
{
    static const struct {
        const char *name;
        enum element_type type;
    } types[] = {
        {"float", ELEMENT_FLOAT},
        {"double", ELEMENT_DOUBLE},
        {"char", ELEMENT_INT8},
        {"bool", ELEMENT_UINT8},
        {"int8_t", ELEMENT_INT8},
        {"int16_t", ELEMENT_INT16},
        {"int32_t", ELEMENT_INT32},
        {"int64_t", ELEMENT_INT64},
        {"uint8_t", ELEMENT_UINT8},
        {"uint16_t", ELEMENT_UINT16},
        {"uint32_t", ELEMENT_UINT32},
        {"uint64_t", ELEMENT_UINT64},
        {"size_t", ELEMENT_UINT64},
        {"ptrdiff_t", ELEMENT_INT64},
        {"half", ELEMENT_HALF},
        {"__half", ELEMENT_HALF},
        {"nv_bfloat16", ELEMENT_BFLOAT16},
        {"__nv_bfloat16", ELEMENT_BFLOAT16},
    };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (strcmp(types[i].name, word) != 0)
            continue;
        *type = types[i].type;
        return true;
    }
    return false;
}

static void add_name(struct type_words *words, const char *word)
{
    static const char *const ignored[] = {"const",        "volatile",   "restrict",
                                          "__restrict__", "__restrict", "__grid_constant__",
                                          "std",          NULL};
    if (is_one_of(word, ignored))
        return;
    if (strcmp(word, "unsigned") == 0)
        words->is_unsigned = true;
    else if (strcmp(word, "signed") == 0)
        words->is_signed = true;
    else if (strcmp(word, "int") == 0)
        words->is_int = true;
    else if (strcmp(word, "long") == 0)
        words->longs++;
    else if (strcmp(word, "short") == 0)
        words->shorts++;
    else if (!words->named && words->names == 0 && name_type(word, &words->element))
        words->named = true;
    else
        words->names++;
}

static void add_punctuation(struct type_words *words, const char *token)
{
    if (strcmp(token, "*") == 0 || strcmp(token, "[") == 0)
        words->pointers++;
    else if (strcmp(token, "::") != 0 && strcmp(token, "]") != 0)
        words->foreign = true;
}

/* The type of the words; false if they are none of the basic ones. */
static bool read_type(const struct type_words *words, enum element_type *type)
{
    bool integer = words->is_unsigned || words->is_signed || words->is_int || words->longs > 0 ||
                   words->shorts > 0;
    bool is_char = words->named && words->element == ELEMENT_INT8;
    *type = words->element;
    if (words->foreign || words->names > 1 || words->pointers > 1)
        return false;
    if (integer && words->named && !is_char)
        return false;
    if (is_char)
        *type = words->is_unsigned ? ELEMENT_UINT8 : ELEMENT_INT8;
    else if (integer && words->longs > 0)
        *type = words->is_unsigned ? ELEMENT_UINT64 : ELEMENT_INT64;
    else if (integer && words->shorts > 0)
        *type = words->is_unsigned ? ELEMENT_UINT16 : ELEMENT_INT16;
    else if (integer)
        *type = words->is_unsigned ? ELEMENT_UINT32 : ELEMENT_INT32;
    return integer || words->named;
}

/* --- a declaration --- */

struct reading {
    struct source_lexer lexer;
    enum token_kind kind; /* of the current token */
};

static enum token_kind next(struct reading *reading)
{
    reading->kind = source_lexer_next(&reading->lexer);
    return reading->kind;
}

static bool at(const struct reading *reading, const char *token)
{
    return strcmp(reading->lexer.token, token) == 0;
}

static void append(char **text, const struct reading *reading)
{
    bool space = reading->lexer.spaced && (*text)[0] != '\0';
    char *longer = alloc_format("%s%s%s", *text, space ? " " : "", reading->lexer.token);
    free(*text);
    *text = longer;
}

/* The open brackets, the innermost in the lowest bit: 1 for '<', 0 for another. */
struct brackets {
    uint64_t kinds;
    int depth;
};

/* '>' closes a '<', and ">>" two; within other brackets, they compare and shift. */
static void count_brackets(struct brackets *brackets, const char *token)
{
    size_t closed = strspn(token, ">");
    if (closed == strlen(token)) {
        for (; closed > 0 && (brackets->kinds & 1) != 0; closed--, brackets->depth--)
            brackets->kinds >>= 1;
    } else if (strcmp(token, ")") == 0 || strcmp(token, "]") == 0 || strcmp(token, "}") == 0) {
        brackets->kinds >>= 1;
        brackets->depth--;
    } else if (strcmp(token, "(") == 0 || strcmp(token, "[") == 0 || strcmp(token, "{") == 0 ||
               strcmp(token, "<") == 0) {
        brackets->kinds = brackets->kinds << 1 | (token[0] == '<');
        brackets->depth++;
    }
}

/* One parameter up to the comma or parenthesis behind it; false at a directive or the end. */
static bool read_parameter(struct reading *reading, struct source_parameter *parameter)
{
    struct type_words words = {0};
    struct brackets brackets = {0};
    bool value = false; /* behind "=": a default */
    parameter->text = alloc_string("");
    while (reading->kind != TOKEN_END && reading->kind != TOKEN_DIRECTIVE) {
        if (brackets.depth == 0 && (at(reading, ",") || at(reading, ")"))) {
            parameter->pointer = words.pointers > 0;
            parameter->known = read_type(&words, &parameter->type);
            return true;
        }
        count_brackets(&brackets, reading->lexer.token);
        value = value || at(reading, "=");
        append(&parameter->text, reading);
        if (!value && reading->kind == TOKEN_NAME)
            add_name(&words, reading->lexer.token);
        else if (!value && reading->kind == TOKEN_PUNCTUATION)
            add_punctuation(&words, reading->lexer.token);
        (void)next(reading);
    }
    return false;
}

/* The parameters behind the opening parenthesis. */
static bool read_parameters(struct reading *reading, struct source_signature *signature)
{
    (void)next(reading);
    while (!at(reading, ")")) {
        struct source_parameter *parameter = ARRAY_APPEND(signature->parameters, signature->count);
        if (!read_parameter(reading, parameter))
            return false;
        if (at(reading, ","))
            (void)next(reading);
    }
    if (signature->count == 1 && strcmp(signature->parameters[0].text, "void") == 0)
        source_signature_release(signature);
    return true;
}

static bool is_same(const struct source_signature *a, const struct source_signature *b)
{
    bool same = a->count == b->count;
    for (size_t i = 0; same && i < a->count; i++)
        same = strcmp(a->parameters[i].text, b->parameters[i].text) == 0;
    return same;
}

/* Skips to the next declaration of `entry`, behind its opening parenthesis; false at the end. */
static bool find_declaration(struct reading *reading, const char *entry)
{
    bool kernel = false; /* __global__ is before, in the same declaration */
    while (next(reading) != TOKEN_END) {
        if (reading->kind == TOKEN_DIRECTIVE)
            while (reading->kind != TOKEN_DIRECTIVE_END && reading->kind != TOKEN_END)
                (void)next(reading);
        else if (reading->kind == TOKEN_PUNCTUATION &&
                 (at(reading, ";") || at(reading, "{") || at(reading, "}")))
            kernel = false;
        else if (reading->kind == TOKEN_NAME && at(reading, "__global__"))
            kernel = true;
        else if (kernel && reading->kind == TOKEN_NAME && at(reading, entry) &&
                 next(reading) == TOKEN_PUNCTUATION && at(reading, "("))
            return true;
    }
    return false;
}

/* "scale" of "ns::scale<float, TILE>"; a new string. */
static char *function_name(const char *entry)
{
    char *name = alloc_string_n(entry, strcspn(entry, "<"));
    for (char *at; (at = strstr(name, "::")) != NULL;)
        memmove(name, at + 2, strlen(at + 2) + 1);
    size_t blanks = strspn(name, " ");
    size_t length = strcspn(name + blanks, " ");
    memmove(name, name + blanks, length);
    name[length] = '\0';
    return name;
}

bool source_signature_declares(const char *text, const char *entry)
{
    struct reading reading;
    char *name = function_name(entry);
    source_lexer_init(&reading.lexer, text);
    bool found = find_declaration(&reading, name);
    source_lexer_release(&reading.lexer);
    free(name);
    return found;
}

bool source_signature_read(const char *text, const char *entry, struct source_signature *signature)
{
    struct reading reading;
    size_t found = 0;
    bool plain = true;
    char *name = function_name(entry);
    *signature = (struct source_signature){0};
    source_lexer_init(&reading.lexer, text);
    while (plain && find_declaration(&reading, name)) {
        struct source_signature other = {0};
        plain = read_parameters(&reading, found == 0 ? signature : &other) &&
                (found == 0 || is_same(signature, &other));
        source_signature_release(&other);
        found++;
    }
    source_lexer_release(&reading.lexer);
    free(name);
    if (!plain)
        source_signature_release(signature);
    return plain && found > 0;
}

void source_signature_release(struct source_signature *signature)
{
    for (size_t i = 0; i < signature->count; i++)
        free(signature->parameters[i].text);
    free(signature->parameters);
    *signature = (struct source_signature){0};
}

char *source_signature_text(const struct source_signature *signature)
{
    char *text = alloc_string("");
    for (size_t i = 0; i < signature->count; i++) {
        char *longer =
            alloc_format("%s%s%s", text, i > 0 ? ", " : "", signature->parameters[i].text);
        free(text);
        text = longer;
    }
    return text;
}
