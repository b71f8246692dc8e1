#include "exchange/python.h"

#include "base/alloc.h"
#include "base/literal.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct parser {
    struct python *python;
    const char *next; /* never at a blank */
    const char *last; /* the end of what was taken last */
    struct error *error;
    int depth;
};

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

/* --- text --- */

static bool is_letter(char c)
{
    return isalpha((unsigned char)c) || c == '_';
}

static bool is_word_part(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static void take(struct parser *parser, size_t length)
{
    parser->next += length;
    parser->last = parser->next;
    parser->next += strspn(parser->next, " \t\r\n");
}

static bool at_text(const struct parser *parser, const char *text)
{
    size_t length = strlen(text);
    return strncmp(parser->next, text, length) == 0 &&
           !(is_letter(*text) && is_word_part(parser->next[length]));
}

static bool take_text(struct parser *parser, const char *text)
{
    if (!at_text(parser, text))
        return false;
    take(parser, strlen(text));
    return true;
}

static int unexpected(const struct parser *parser, const char *wanted)
{
    const char *const foreign[][2] = {{"&&", "and"}, {"||", "or"}, {"!", "not"}};
    if (*parser->next == '\0')
        return error_set(parser->error, ERROR_CONFIG, "expected %s at the end", wanted);
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++)
        if (at_text(parser, foreign[i][0]))
            return error_set(parser->error, ERROR_CONFIG, "'%s' is not Python; write '%s'",
                             foreign[i][0], foreign[i][1]);
    return error_set(parser->error, ERROR_CONFIG, "expected %s before '%.40s'", wanted,
                     parser->next);
}

static int enter(struct parser *parser)
{
    if (++parser->depth <= PYTHON_DEPTH_LIMIT)
        return 0;
    return error_set(parser->error, ERROR_CONFIG, "nested more than %d deep", PYTHON_DEPTH_LIMIT);
}

static void leave(struct parser *parser)
{
    parser->depth--;
}

/* --- nodes --- */

static struct python_node *make(struct parser *parser, enum python_kind kind, const char *start)
{
    struct python *python = parser->python;
    struct python_node *node = alloc_zeroed(1, sizeof *node);
    *ARRAY_APPEND(python->nodes, python->node_count) = node;
    node->kind = kind;
    node->start = start;
    node->end = parser->last;
    return node;
}

static void adopt(const struct parser *parser, struct python_node *node, struct python_node *child)
{
    *ARRAY_APPEND(node->children, node->count) = child;
    node->end = parser->last;
}

/* --- operands --- */

/* Digits of `base` with underscores between them; the prefix is gone. */
static int read_digits(struct parser *parser, const char *digits, size_t length, int base,
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

static int read_real(struct parser *parser, struct python_node *node, const char *text,
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

static int take_number(struct parser *parser, struct python_node **operand)
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
            while (is_word_part(text[length]))
                length++;
        }
    while (is_word_part(text[length])) /* letters that do not belong there */
        length++;
    take(parser, length);
    *operand = make(parser, PYTHON_INTEGER, text);
    if (base != 10)
        return read_digits(parser, text + 2, length - 2, base, &(*operand)->integer);
    if (strspn(text, "0123456789_") >= length)
        return read_digits(parser, text, length, 10, &(*operand)->integer);
    return read_real(parser, *operand, text, length);
}

static int take_string(struct parser *parser, struct python_node **operand)
{
    const char *start = parser->next;
    const char stops[] = {*start, '\\', '\n', '\0'};
    size_t length = strcspn(start + 1, stops);
    if (start[1 + length] != *start || (length == 0 && start[2] == *start))
        return error_set(parser->error, ERROR_CONFIG, "'%.40s' is not a plain string", start);
    take(parser, length + 2);
    *operand = make(parser, PYTHON_STRING, start);
    (*operand)->text = alloc_string_n(start + 1, length);
    return 0;
}

static bool word_is(const char *text, size_t length, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strlen(words[i]) == length && strncmp(words[i], text, length) == 0)
            return true;
    return false;
}

/* NOLINTBEGIN(misc-no-recursion): as deep as enter() allows */
static int take_expression(struct parser *parser, struct python_node **node);
static int take_binary(struct parser *parser, int limit, struct python_node **left);

/* What follows an opening bracket, up to `close`. */
static int take_items(struct parser *parser, struct python_node *list, const char *close)
{
    int status = enter(parser);
    while (status == 0 && !at_text(parser, close)) {
        struct python_node *item;
        status = take_expression(parser, &item);
        if (status != 0)
            return status;
        adopt(parser, list, item);
        if (!take_text(parser, ","))
            break;
    }
    if (status == 0 && !take_text(parser, close))
        status = unexpected(parser, "an operator, ',' or the closing bracket");
    leave(parser);
    list->end = parser->last;
    return status;
}

/* `for x in … if …`, of which the element has been taken. */
static int take_clauses(struct parser *parser, struct python_node *each)
{
    int status = 0;
    while (status == 0 && (at_text(parser, "for") || at_text(parser, "if"))) {
        const char *start = parser->next;
        struct python_node *inner;
        struct python_node *clause = make(parser, PYTHON_IF, start);
        size_t length = 0;
        if (take_text(parser, "for")) {
            clause->kind = PYTHON_FOR;
            while (is_word_part(parser->next[length]))
                length++;
            if (!is_letter(*parser->next))
                return unexpected(parser, "a name");
            clause->text = alloc_string_n(parser->next, length);
            take(parser, length);
            if (!take_text(parser, "in"))
                return unexpected(parser, "'in'");
        } else {
            take(parser, 2);
        }
        status = take_binary(parser, LOWEST, &inner);
        if (status != 0)
            return status;
        adopt(parser, clause, inner);
        adopt(parser, each, clause);
    }
    return status;
}

/* A list, a tuple, a set, a comprehension, or an expression in parentheses. */
static int take_brackets(struct parser *parser, struct python_node **operand)
{
    const char *start = parser->next;
    const char *close = *start == '[' ? "]" : *start == '{' ? "}" : ")";
    struct python_node *first;
    take(parser, 1);
    struct python_node *list = make(parser, PYTHON_LIST, start);
    *operand = list;
    if (take_text(parser, close)) {
        list->end = parser->last;
        return 0;
    }
    int status = enter(parser);
    if (status == 0)
        status = take_expression(parser, &first);
    if (status != 0)
        return status;
    adopt(parser, list, first);
    if (at_text(parser, "for")) {
        list->kind = PYTHON_EACH;
        status = take_clauses(parser, list);
    }
    leave(parser);
    if (status == 0 && list->kind == PYTHON_LIST && take_text(parser, ","))
        return take_items(parser, list, close);
    if (status == 0 && !take_text(parser, close))
        status = unexpected(parser, "an operator or the closing bracket");
    list->end = parser->last;
    if (status == 0 && *close == ')' && list->kind == PYTHON_LIST) {
        *operand = first;
        first->bracketed = true;
        first->start = start;
        first->end = parser->last;
    }
    return status;
}

static int take_call(struct parser *parser, struct python_node *name)
{
    name->kind = PYTHON_CALL;
    take(parser, 1);
    int status = enter(parser);
    while (status == 0 && !at_text(parser, ")")) {
        struct python_node *argument;
        const char *start = parser->next;
        status = take_expression(parser, &argument);
        if (status == 0 && at_text(parser, "for")) { /* sum(x for x in …) */
            struct python_node *each = make(parser, PYTHON_EACH, start);
            adopt(parser, each, argument);
            status = take_clauses(parser, each);
            argument = each;
        }
        if (status != 0)
            return status;
        adopt(parser, name, argument);
        if (!take_text(parser, ","))
            break;
    }
    if (status == 0 && !take_text(parser, ")"))
        status = unexpected(parser, "',' or ')'");
    leave(parser);
    name->end = parser->last;
    return status;
}

static int take_name(struct parser *parser, struct python_node **operand)
{
    const char *start = parser->next;
    size_t length = 0;
    while (is_word_part(start[length]) || (start[length] == '.' && is_letter(start[length + 1])))
        length++;
    if (word_is(start, length, refused_words, sizeof refused_words / sizeof *refused_words))
        return error_set(parser->error, ERROR_CONFIG, "'%.*s' cannot be translated", (int)length,
                         start);
    if (word_is(start, length, other_words, sizeof other_words / sizeof *other_words))
        return unexpected(parser, "a value");
    take(parser, length);
    *operand = make(parser, PYTHON_NAME, start);
    (*operand)->text = alloc_string_n(start, length);
    if (strcmp((*operand)->text, "True") == 0 || strcmp((*operand)->text, "False") == 0) {
        (*operand)->kind = PYTHON_BOOLEAN;
        (*operand)->integer = (*operand)->text[0] == 'T';
        return 0;
    }
    return *parser->next == '(' ? take_call(parser, *operand) : 0;
}

/* Indices that follow an operand. */
static int take_indices(struct parser *parser, struct python_node **operand)
{
    int status = 0;
    while (status == 0 && *parser->next == '[') {
        struct python_node *index = make(parser, PYTHON_INDEX, (*operand)->start);
        struct python_node *inner;
        take(parser, 1);
        status = enter(parser);
        if (status == 0)
            status = take_expression(parser, &inner);
        if (status != 0)
            return status;
        if (!take_text(parser, "]"))
            return unexpected(parser, "']'");
        leave(parser);
        adopt(parser, index, *operand);
        adopt(parser, index, inner);
        *operand = index;
    }
    return status;
}

static int take_atom(struct parser *parser, struct python_node **operand)
{
    const char *next = parser->next;
    int status;
    if (*next == '(' || *next == '[' || *next == '{')
        status = take_brackets(parser, operand);
    else if (*next == '"' || *next == '\'')
        status = take_string(parser, operand);
    else if (isdigit((unsigned char)*next) || (*next == '.' && isdigit((unsigned char)next[1])))
        status = take_number(parser, operand);
    else
        status = is_letter(*next) ? take_name(parser, operand) : unexpected(parser, "a value");
    return status == 0 ? take_indices(parser, operand) : status;
}

/* `not`, or a sign: what it applies to binds more tightly than `priority`. */
static int take_prefix(struct parser *parser, enum python_operation operation, size_t length,
                       int priority, struct python_node **operand)
{
    const char *start = parser->next;
    struct python_node *inner;
    take(parser, length);
    int status = enter(parser);
    if (status == 0)
        status = take_binary(parser, priority - 1, &inner);
    if (status != 0)
        return status;
    leave(parser);
    *operand = make(parser, PYTHON_UNARY, start);
    (*operand)->operation = operation;
    adopt(parser, *operand, inner);
    return 0;
}

static int take_operand(struct parser *parser, int limit, struct python_node **operand)
{
    if (at_text(parser, "not") && limit < PRIORITY_NOT)
        return take_prefix(parser, PYTHON_NOT, 3, PRIORITY_NOT, operand);
    if (*parser->next == '-' || *parser->next == '+')
        return take_prefix(parser, *parser->next == '-' ? PYTHON_MINUS : PYTHON_PLUS, 1,
                           PRIORITY_UNARY, operand);
    return take_atom(parser, operand);
}

/* --- operators --- */

/* The operator that comes next, with the length of its text; NULL if there is none. */
static const struct symbol *find_symbol(const struct parser *parser, size_t *length)
{
    static const struct symbol not_in = {"not in", PYTHON_NOT_IN, PRIORITY_COMPARE};
    if (at_text(parser, "not")) {
        const char *in = parser->next + 3 + strspn(parser->next + 3, " \t\r\n");
        *length = (size_t)(in + 2 - parser->next);
        return strncmp(in, "in", 2) == 0 && !is_word_part(in[2]) ? &not_in : NULL;
    }
    if (at_text(parser, "&&") || at_text(parser, "||"))
        return NULL;
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        *length = strlen(symbols[i].text);
        if (at_text(parser, symbols[i].text))
            return &symbols[i];
    }
    return NULL;
}

static int take_comparison(struct parser *parser, enum python_operation operation,
                           struct python_node **left)
{
    struct python_node *right;
    int status = take_binary(parser, PRIORITY_COMPARE, &right);
    if (status != 0)
        return status;
    struct python_node *chain = *left;
    if (chain->kind != PYTHON_COMPARE || chain->bracketed) {
        chain = make(parser, PYTHON_COMPARE, (*left)->start);
        adopt(parser, chain, *left);
        *left = chain;
    }
    adopt(parser, chain, right);
    *ARRAY_APPEND(chain->operations, chain->operation_count) = operation;
    return 0;
}

static int take_right(struct parser *parser, const struct symbol *symbol, struct python_node **left)
{
    struct python_node *right;
    if (symbol->priority == PRIORITY_COMPARE)
        return take_comparison(parser, symbol->operation, left);
    /* a power's right operand may have a sign, and is a power itself: 2**-3**2 */
    bool power = symbol->operation == PYTHON_POWER;
    int status = power ? enter(parser) : 0;
    if (status == 0)
        status = take_binary(parser, power ? PRIORITY_UNARY : symbol->priority, &right);
    if (status != 0)
        return status;
    if (power)
        leave(parser);
    struct python_node *node = make(parser, PYTHON_BINARY, (*left)->start);
    node->operation = symbol->operation;
    adopt(parser, node, *left);
    adopt(parser, node, right);
    *left = node;
    return 0;
}

/* What binds more tightly than `limit`. */
static int take_binary(struct parser *parser, int limit, struct python_node **left)
{
    size_t length;
    int status = take_operand(parser, limit, left);
    while (status == 0) {
        const struct symbol *symbol = find_symbol(parser, &length);
        if (symbol == NULL || symbol->priority <= limit)
            break;
        take(parser, length);
        status = take_right(parser, symbol, left);
    }
    return status;
}

static int take_expression(struct parser *parser, struct python_node **node)
{
    struct python_node *condition;
    struct python_node *other;
    int status = take_binary(parser, LOWEST, node);
    if (status != 0 || !take_text(parser, "if"))
        return status;
    status = enter(parser);
    if (status == 0)
        status = take_binary(parser, LOWEST, &condition);
    if (status == 0 && !take_text(parser, "else"))
        status = unexpected(parser, "'else'");
    if (status == 0)
        status = take_expression(parser, &other);
    if (status != 0)
        return status;
    leave(parser);
    struct python_node *choice = make(parser, PYTHON_CHOICE, (*node)->start);
    adopt(parser, choice, condition);
    adopt(parser, choice, *node);
    adopt(parser, choice, other);
    *node = choice;
    return 0;
}
/* NOLINTEND(misc-no-recursion) */

int python_parse(struct python *python, const char *text, struct error *error)
{
    *python = (struct python){.text = alloc_string(text)};
    struct parser parser = {.python = python, .next = python->text, .error = error};
    if (strlen(text) > PYTHON_TEXT_LIMIT)
        return error_set(error, ERROR_CONFIG, "the expression is longer than %d bytes",
                         PYTHON_TEXT_LIMIT);
    take(&parser, 0);
    int status = take_expression(&parser, &python->root);
    if (status == 0 && *parser.next != '\0')
        status = unexpected(&parser, "an operator");
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
