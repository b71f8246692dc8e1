#include "template/expression_symbols.h"

#include <ctype.h>
#include <string.h>

/*
 * Priorities are those of Lua 5.4 (reference manual, 3.4.8). C has the same, except that it puts ==
 * below <, where the parser wants parentheses. A text that another begins with comes after it.
 */
enum { UNARY_PRIORITY = 7, FOREIGN_PRIORITY = 10 };

#define FOREIGN(text, instead)                                                                     \
    {                                                                                              \
        text, DO_LOAD, FOREIGN_PRIORITY, FOREIGN_PRIORITY, instead                                 \
    }

static const struct symbol binary_operators[] = {
    {"or", DO_OR, 1, 1, NULL},
    {"||", DO_OR, 1, 1, NULL},
    {"and", DO_AND, 2, 2, NULL},
    {"&&", DO_AND, 2, 2, NULL},
    {"==", DO_EQUAL, 3, 3, NULL},
    {"!=", DO_DIFFERENT, 3, 3, NULL},
    {"~=", DO_DIFFERENT, 3, 3, NULL},
    FOREIGN("<<", "a * 2^b"),
    FOREIGN(">>", "a // 2^b"),
    FOREIGN("<>", "a != b"),
    {"<=", DO_LESS_EQUAL, 3, 3, NULL},
    {">=", DO_GREATER_EQUAL, 3, 3, NULL},
    {"<", DO_LESS, 3, 3, NULL},
    {">", DO_GREATER, 3, 3, NULL},
    FOREIGN("--", "a - -b"),
    {"+", DO_ADD, 5, 5, NULL},
    {"-", DO_SUBTRACT, 5, 5, NULL},
    FOREIGN("**", "a ^ b"),
    {"//", DO_FLOOR_DIVIDE, 6, 6, NULL},
    {"*", DO_MULTIPLY, 6, 6, NULL},
    {"/", DO_DIVIDE, 6, 6, NULL},
    {"%", DO_MODULO, 6, 6, NULL},
    {"^", DO_POWER, 9, 8, NULL},
    FOREIGN("=", "a == b"),
    FOREIGN("&", "a and b"),
    FOREIGN("|", "a or b"),
};

static const struct symbol unary_operators[] = {
    {"not", DO_NOT, UNARY_PRIORITY, UNARY_PRIORITY, NULL},
    {"!", DO_NOT, UNARY_PRIORITY, UNARY_PRIORITY, NULL},
    FOREIGN("--", "- -a"),
    {"-", DO_NEGATE, UNARY_PRIORITY, UNARY_PRIORITY, NULL},
};

size_t symbol_name_length(const char *text)
{
    return strspn(text, NAME_LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZ");
}

static const struct symbol *find_operator(const char *text, const struct symbol *operators,
                                          size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t length = strlen(operators[i].text);
        bool letters = islower((unsigned char)*operators[i].text) != 0;
        if (strncmp(text, operators[i].text, length) == 0 &&
            (!letters || symbol_name_length(text) == length))
            return &operators[i];
    }
    return NULL;
}

const struct symbol *symbol_binary(const char *text)
{
    return find_operator(text, binary_operators,
                         sizeof binary_operators / sizeof *binary_operators);
}

const struct symbol *symbol_unary(const char *text)
{
    return find_operator(text, unary_operators, sizeof unary_operators / sizeof *unary_operators);
}
