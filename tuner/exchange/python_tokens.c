#include "exchange/python_tokens.h"

#include "base/alloc.h"
#include "base/literal.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool token_is_letter(char c)
{
    return isalpha((unsigned char)c) || c == '_';
}

bool token_is_word_part(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

void token_take(struct python_parser *parser, size_t length)
{
    parser->next += length;
    parser->last = parser->next;
    parser->next += strspn(parser->next, " \t\r\n");
}

bool token_is(const struct python_parser *parser, const char *text)
{
    size_t length = strlen(text);
    return strncmp(parser->next, text, length) == 0 &&
           !(token_is_letter(*text) && token_is_word_part(parser->next[length]));
}

bool token_take_text(struct python_parser *parser, const char *text)
{
    if (!token_is(parser, text))
        return false;
    token_take(parser, strlen(text));
    return true;
}

int token_unexpected(const struct python_parser *parser, const char *wanted)
{
    const char *const foreign[][2] = {{"&&", "and"}, {"||", "or"}, {"!", "not"}};
    if (*parser->next == '\0')
        return error_set(parser->error, ERROR_CONFIG, "expected %s at the end", wanted);
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++)
        if (token_is(parser, foreign[i][0]))
            return error_set(parser->error, ERROR_CONFIG, "'%s' is not Python; write '%s'",
                             foreign[i][0], foreign[i][1]);
    return error_set(parser->error, ERROR_CONFIG, "expected %s before '%.40s'", wanted,
                     parser->next);
}

int token_enter(struct python_parser *parser)
{
    if (++parser->depth <= PYTHON_DEPTH_LIMIT)
        return 0;
    return error_set(parser->error, ERROR_CONFIG, "nested more than %d deep", PYTHON_DEPTH_LIMIT);
}

void token_leave(struct python_parser *parser)
{
    parser->depth--;
}

struct python_node *token_node(struct python_parser *parser, enum python_kind kind,
                               const char *start)
{
    struct python *python = parser->python;
    struct python_node *node = alloc_zeroed(1, sizeof *node);
    *ARRAY_APPEND(python->nodes, python->node_count) = node;
    node->kind = kind;
    node->start = start;
    node->end = parser->last;
    return node;
}

void token_adopt(const struct python_parser *parser, struct python_node *node,
                 struct python_node *child)
{
    *ARRAY_APPEND(node->children, node->count) = child;
    node->end = parser->last;
}

/* Digits of `base` with underscores between them; the prefix is gone. */
static int read_digits(struct python_parser *parser, const char *digits, size_t length, int base,
                       int64_t *integer)
{
    char *text = alloc_zeroed(length + 1, 1);
    char *end = text;
    size_t used = 0;
    for (size_t i = 0; i < length; i++)
        if (digits[i] != '_')
            text[used++] = digits[i];
    errno = 0;
    *integer = strtoll(text, &end, base);
    bool good = used > 0 && *end == '\0' && errno == 0;
    bool octal = base == 10 && used > 1 && text[0] == '0';
    free(text);
    if (good && !octal)
        return 0;
    return error_set(parser->error, ERROR_CONFIG, "'%.*s' is not a whole number of 64 bits",
                     (int)length, digits);
}

static size_t real_length(const char *text)
{
    size_t length = strspn(text, "0123456789_.");
    if (text[length] == 'e' || text[length] == 'E') {
        length++;
        length += text[length] == '+' || text[length] == '-';
        length += strspn(text + length, "0123456789_");
    }
    return length;
}

static int read_real(struct python_parser *parser, struct python_node *node, const char *text,
                     size_t length)
{
    struct literal literal;
    char *plain = alloc_zeroed(length + 1, 1);
    size_t used = 0;
    for (size_t i = 0; i < length; i++)
        if (text[i] != '_')
            plain[used++] = text[i];
    bool good = literal_parse(plain, &literal) == NULL && literal.kind == LITERAL_REAL;
    free(plain);
    node->kind = PYTHON_REAL;
    node->real = literal.real;
    if (good)
        return 0;
    return error_set(parser->error, ERROR_CONFIG, "'%.*s' is not a number", (int)length, text);
}

int token_take_number(struct python_parser *parser, struct python_node **operand)
{
    static const struct {
        char letter;
        int base;
    } bases[] = {{'x', 16}, {'o', 8}, {'b', 2}};
    const char *text = parser->next;
    size_t length = real_length(text);
    int base = 10;
    for (size_t i = 0; i < sizeof bases / sizeof *bases; i++)
        if (text[0] == '0' && tolower((unsigned char)text[1]) == bases[i].letter) {
            base = bases[i].base;
            length = 2;
            while (token_is_word_part(text[length]))
                length++;
        }
    while (token_is_word_part(text[length])) /* letters that do not belong there */
        length++;
    token_take(parser, length);
    *operand = token_node(parser, PYTHON_INTEGER, text);
    if (base != 10)
        return read_digits(parser, text + 2, length - 2, base, &(*operand)->integer);
    if (strspn(text, "0123456789_") >= length)
        return read_digits(parser, text, length, 10, &(*operand)->integer);
    return read_real(parser, *operand, text, length);
}

int token_take_string(struct python_parser *parser, struct python_node **operand)
{
    const char *start = parser->next;
    const char stops[] = {*start, '\\', '\n', '\0'};
    size_t length = strcspn(start + 1, stops);
    if (start[1 + length] != *start || (length == 0 && start[2] == *start))
        return error_set(parser->error, ERROR_CONFIG, "'%.40s' is not a plain string", start);
    token_take(parser, length + 2);
    *operand = token_node(parser, PYTHON_STRING, start);
    (*operand)->text = alloc_string_n(start + 1, length);
    return 0;
}
