#include "exchange/python.h"

#include "base/alloc.h"
#include "exchange/python_tokens.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/*
 * Priorities are those of the Python reference, "Operator precedence". A text that another begins
 * with comes after it.
 */
enum { LOWEST, PRIORITY_NOT = 3, PRIORITY_COMPARE = 4, PRIORITY_UNARY = 11, PRIORITY_POWER = 12 };

static const struct symbol {
    const char *text;
    enum python_operation operation;
    int priority;
} symbols[] = {
    {"or", PYTHON_OR, 1},
    {"and", PYTHON_AND, 2},
    {"==", PYTHON_EQUAL, PRIORITY_COMPARE},
    {"!=", PYTHON_DIFFERENT, PRIORITY_COMPARE},
    {"<<", PYTHON_SHIFT_LEFT, 8},
    {">>", PYTHON_SHIFT_RIGHT, 8},
    {"<=", PYTHON_LESS_EQUAL, PRIORITY_COMPARE},
    {">=", PYTHON_GREATER_EQUAL, PRIORITY_COMPARE},
    {"<", PYTHON_LESS, PRIORITY_COMPARE},
    {">", PYTHON_GREATER, PRIORITY_COMPARE},
    {"in", PYTHON_IN, PRIORITY_COMPARE},
    {"|", PYTHON_BIT_OR, 5},
    {"^", PYTHON_BIT_XOR, 6},
    {"&", PYTHON_BIT_AND, 7},
    {"+", PYTHON_ADD, 9},
    {"-", PYTHON_SUBTRACT, 9},
    {"**", PYTHON_POWER, PRIORITY_POWER},
    {"//", PYTHON_FLOOR_DIVIDE, 10},
    {"*", PYTHON_MULTIPLY, 10},
    {"/", PYTHON_DIVIDE, 10},
    {"%", PYTHON_MODULO, 10},
};

/* Never operators or names here. */
static const char *const refused_words[] = {"lambda", "is",     "None",   "await", "yield",
                                            "def",    "class",  "import", "from",  "while",
                                            "return", "global", "assert", "with",  "del"};

/* Python's own words that end an operand. */
static const char *const other_words[] = {"if", "else", "for", "in", "and", "or", "not"};

const char *python_operation_text(enum python_operation operation)
{
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++)
        if (symbols[i].operation == operation)
            return symbols[i].text;
    switch (operation) {
    case PYTHON_NOT:
        return "not";
    case PYTHON_NOT_IN:
        return "not in";
    case PYTHON_PLUS:
        return "+";
    default:
        return "-";
    }
}

/* --- operands --- */

static bool word_is(const char *text, size_t length, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strlen(words[i]) == length && strncmp(words[i], text, length) == 0)
            return true;
    return false;
}

/* NOLINTBEGIN(misc-no-recursion): as deep as token_enter() allows */
static int take_expression(struct python_parser *parser, struct python_node **node);
static int take_binary(struct python_parser *parser, int limit, struct python_node **left);

/* What follows an opening bracket, up to `close`. */
static int take_items(struct python_parser *parser, struct python_node *list, const char *close)
{
    int status = token_enter(parser);
    while (status == 0 && !token_is(parser, close)) {
        struct python_node *item;
        status = take_expression(parser, &item);
        if (status != 0)
            return status;
        token_adopt(parser, list, item);
        if (!token_take_text(parser, ","))
            break;
    }
    if (status == 0 && !token_take_text(parser, close))
        status = token_unexpected(parser, "an operator, ',' or the closing bracket");
    token_leave(parser);
    list->end = parser->last;
    return status;
}

/* `for x in … if …`, of which the element has been taken. */
static int take_clauses(struct python_parser *parser, struct python_node *each)
{
    int status = 0;
    while (status == 0 && (token_is(parser, "for") || token_is(parser, "if"))) {
        const char *start = parser->next;
        struct python_node *inner;
        struct python_node *clause = token_node(parser, PYTHON_IF, start);
        size_t length = 0;
        if (token_take_text(parser, "for")) {
            clause->kind = PYTHON_FOR;
            while (token_is_word_part(parser->next[length]))
                length++;
            if (!token_is_letter(*parser->next))
                return token_unexpected(parser, "a name");
            clause->text = alloc_string_n(parser->next, length);
            token_take(parser, length);
            if (!token_take_text(parser, "in"))
                return token_unexpected(parser, "'in'");
        } else {
            token_take(parser, 2);
        }
        status = take_binary(parser, LOWEST, &inner);
        if (status != 0)
            return status;
        token_adopt(parser, clause, inner);
        token_adopt(parser, each, clause);
    }
    return status;
}

/* A list, a tuple, a set, a comprehension, or an expression in parentheses. */
static int take_brackets(struct python_parser *parser, struct python_node **operand)
{
    const char *start = parser->next;
    const char *close = *start == '[' ? "]" : *start == '{' ? "}" : ")";
    struct python_node *first;
    token_take(parser, 1);
    struct python_node *list = token_node(parser, PYTHON_LIST, start);
    *operand = list;
    if (token_take_text(parser, close)) {
        list->end = parser->last;
        return 0;
    }
    int status = token_enter(parser);
    if (status == 0)
        status = take_expression(parser, &first);
    if (status != 0)
        return status;
    token_adopt(parser, list, first);
    if (token_is(parser, "for")) {
        list->kind = PYTHON_EACH;
        status = take_clauses(parser, list);
    }
    token_leave(parser);
    if (status == 0 && list->kind == PYTHON_LIST && token_take_text(parser, ","))
        return take_items(parser, list, close);
    if (status == 0 && !token_take_text(parser, close))
        status = token_unexpected(parser, "an operator or the closing bracket");
    list->end = parser->last;
    if (status == 0 && *close == ')' && list->kind == PYTHON_LIST) {
        *operand = first;
        first->bracketed = true;
        first->start = start;
        first->end = parser->last;
    }
    return status;
}

static int take_call(struct python_parser *parser, struct python_node *name)
{
    name->kind = PYTHON_CALL;
    token_take(parser, 1);
    int status = token_enter(parser);
    while (status == 0 && !token_is(parser, ")")) {
        struct python_node *argument;
        const char *start = parser->next;
        status = take_expression(parser, &argument);
        if (status == 0 && token_is(parser, "for")) { /* sum(x for x in …) */
            struct python_node *each = token_node(parser, PYTHON_EACH, start);
            token_adopt(parser, each, argument);
            status = take_clauses(parser, each);
            argument = each;
        }
        if (status != 0)
            return status;
        token_adopt(parser, name, argument);
        if (!token_take_text(parser, ","))
            break;
    }
    if (status == 0 && !token_take_text(parser, ")"))
        status = token_unexpected(parser, "',' or ')'");
    token_leave(parser);
    name->end = parser->last;
    return status;
}

static int take_name(struct python_parser *parser, struct python_node **operand)
{
    const char *start = parser->next;
    size_t length = 0;
    while (token_is_word_part(start[length]) ||
           (start[length] == '.' && token_is_letter(start[length + 1])))
        length++;
    if (word_is(start, length, refused_words, sizeof refused_words / sizeof *refused_words))
        return error_set(parser->error, ERROR_CONFIG, "'%.*s' cannot be translated", (int)length,
                         start);
    if (word_is(start, length, other_words, sizeof other_words / sizeof *other_words))
        return token_unexpected(parser, "a value");
    token_take(parser, length);
    *operand = token_node(parser, PYTHON_NAME, start);
    (*operand)->text = alloc_string_n(start, length);
    if (strcmp((*operand)->text, "True") == 0 || strcmp((*operand)->text, "False") == 0) {
        (*operand)->kind = PYTHON_BOOLEAN;
        (*operand)->integer = (*operand)->text[0] == 'T';
        return 0;
    }
    return *parser->next == '(' ? take_call(parser, *operand) : 0;
}

/* Indices that follow an operand. */
static int take_indices(struct python_parser *parser, struct python_node **operand)
{
    int status = 0;
    while (status == 0 && *parser->next == '[') {
        struct python_node *index = token_node(parser, PYTHON_INDEX, (*operand)->start);
        struct python_node *inner;
        token_take(parser, 1);
        status = token_enter(parser);
        if (status == 0)
            status = take_expression(parser, &inner);
        if (status != 0)
            return status;
        if (!token_take_text(parser, "]"))
            return token_unexpected(parser, "']'");
        token_leave(parser);
        token_adopt(parser, index, *operand);
        token_adopt(parser, index, inner);
        *operand = index;
    }
    return status;
}

static int take_atom(struct python_parser *parser, struct python_node **operand)
{
    const char *next = parser->next;
    int status;
    if (*next == '(' || *next == '[' || *next == '{')
        status = take_brackets(parser, operand);
    else if (*next == '"' || *next == '\'')
        status = token_take_string(parser, operand);
    else if (isdigit((unsigned char)*next) || (*next == '.' && isdigit((unsigned char)next[1])))
        status = token_take_number(parser, operand);
    else
        status = token_is_letter(*next) ? take_name(parser, operand)
                                        : token_unexpected(parser, "a value");
    return status == 0 ? take_indices(parser, operand) : status;
}

/* `not`, or a sign: what it applies to binds more tightly than `priority`. */
static int take_prefix(struct python_parser *parser, enum python_operation operation, size_t length,
                       int priority, struct python_node **operand)
{
    const char *start = parser->next;
    struct python_node *inner;
    token_take(parser, length);
    int status = token_enter(parser);
    if (status == 0)
        status = take_binary(parser, priority - 1, &inner);
    if (status != 0)
        return status;
    token_leave(parser);
    *operand = token_node(parser, PYTHON_UNARY, start);
    (*operand)->operation = operation;
    token_adopt(parser, *operand, inner);
    return 0;
}

static int take_operand(struct python_parser *parser, int limit, struct python_node **operand)
{
    if (token_is(parser, "not") && limit < PRIORITY_NOT)
        return take_prefix(parser, PYTHON_NOT, 3, PRIORITY_NOT, operand);
    if (*parser->next == '-' || *parser->next == '+')
        return take_prefix(parser, *parser->next == '-' ? PYTHON_MINUS : PYTHON_PLUS, 1,
                           PRIORITY_UNARY, operand);
    return take_atom(parser, operand);
}

/* --- operators --- */

/* The operator that comes next, with the length of its text; NULL if there is none. */
static const struct symbol *find_symbol(const struct python_parser *parser, size_t *length)
{
    static const struct symbol not_in = {"not in", PYTHON_NOT_IN, PRIORITY_COMPARE};
    if (token_is(parser, "not")) {
        const char *in = parser->next + 3 + strspn(parser->next + 3, " \t\r\n");
        *length = (size_t)(in + 2 - parser->next);
        return strncmp(in, "in", 2) == 0 && !token_is_word_part(in[2]) ? &not_in : NULL;
    }
    if (token_is(parser, "&&") || token_is(parser, "||"))
        return NULL;
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        *length = strlen(symbols[i].text);
        if (token_is(parser, symbols[i].text))
            return &symbols[i];
    }
    return NULL;
}

static int take_comparison(struct python_parser *parser, enum python_operation operation,
                           struct python_node **left)
{
    struct python_node *right;
    int status = take_binary(parser, PRIORITY_COMPARE, &right);
    if (status != 0)
        return status;
    struct python_node *chain = *left;
    if (chain->kind != PYTHON_COMPARE || chain->bracketed) {
        chain = token_node(parser, PYTHON_COMPARE, (*left)->start);
        token_adopt(parser, chain, *left);
        *left = chain;
    }
    token_adopt(parser, chain, right);
    *ARRAY_APPEND(chain->operations, chain->operation_count) = operation;
    return 0;
}

static int take_right(struct python_parser *parser, const struct symbol *symbol,
                      struct python_node **left)
{
    struct python_node *right;
    if (symbol->priority == PRIORITY_COMPARE)
        return take_comparison(parser, symbol->operation, left);
    /* a power's right operand may have a sign, and is a power itself: 2**-3**2 */
    bool power = symbol->operation == PYTHON_POWER;
    int status = power ? token_enter(parser) : 0;
    if (status == 0)
        status = take_binary(parser, power ? PRIORITY_UNARY : symbol->priority, &right);
    if (status != 0)
        return status;
    if (power)
        token_leave(parser);
    struct python_node *node = token_node(parser, PYTHON_BINARY, (*left)->start);
    node->operation = symbol->operation;
    token_adopt(parser, node, *left);
    token_adopt(parser, node, right);
    *left = node;
    return 0;
}

/* What binds more tightly than `limit`. */
static int take_binary(struct python_parser *parser, int limit, struct python_node **left)
{
    size_t length;
    int status = take_operand(parser, limit, left);
    while (status == 0) {
        const struct symbol *symbol = find_symbol(parser, &length);
        if (symbol == NULL || symbol->priority <= limit)
            break;
        token_take(parser, length);
        status = take_right(parser, symbol, left);
    }
    return status;
}

static int take_expression(struct python_parser *parser, struct python_node **node)
{
    struct python_node *condition;
    struct python_node *other;
    int status = take_binary(parser, LOWEST, node);
    if (status != 0 || !token_take_text(parser, "if"))
        return status;
    status = token_enter(parser);
    if (status == 0)
        status = take_binary(parser, LOWEST, &condition);
    if (status == 0 && !token_take_text(parser, "else"))
        status = token_unexpected(parser, "'else'");
    if (status == 0)
        status = take_expression(parser, &other);
    if (status != 0)
        return status;
    token_leave(parser);
    struct python_node *choice = token_node(parser, PYTHON_CHOICE, (*node)->start);
    token_adopt(parser, choice, condition);
    token_adopt(parser, choice, *node);
    token_adopt(parser, choice, other);
    *node = choice;
    return 0;
}
/* NOLINTEND(misc-no-recursion) */

int python_parse(struct python *python, const char *text, struct error *error)
{
    *python = (struct python){.text = alloc_string(text)};
    struct python_parser parser = {.python = python, .next = python->text, .error = error};
    if (strlen(text) > PYTHON_TEXT_LIMIT)
        return error_set(error, ERROR_CONFIG, "the expression is longer than %d bytes",
                         PYTHON_TEXT_LIMIT);
    token_take(&parser, 0);
    int status = take_expression(&parser, &python->root);
    if (status == 0 && *parser.next != '\0')
        status = token_unexpected(&parser, "an operator");
    return status;
}

void python_release(struct python *python)
{
    for (size_t i = 0; i < python->node_count; i++) {
        free(python->nodes[i]->text);
        free(python->nodes[i]->children);
        free(python->nodes[i]->operations);
        free(python->nodes[i]);
    }
    free(python->nodes);
    free(python->text);
    *python = (struct python){0};
}
