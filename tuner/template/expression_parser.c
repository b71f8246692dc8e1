#include "template/expression_parser.h"

#include "base/alloc.h"
#include "base/literal.h"
#include "template/expression_builder.h"
#include "template/expression_functions.h"
#include "template/expression_symbols.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

struct parser {
    const char *text;
    const char *next;
    struct expression_names *names;
    struct steps *steps;
    struct error *error;
    int depth;
};

/* --- text --- */

static unsigned position(const struct parser *parser)
{
    return (unsigned)(parser->next - parser->text);
}

/* From `start` to what comes next. */
static struct span span_from(const struct parser *parser, unsigned start)
{
    return (struct span){start, position(parser)};
}

static void skip_blanks(struct parser *parser)
{
    parser->next += strspn(parser->next, " \t");
}

/* --- what is refused --- */

static int unexpected(const struct parser *parser, const char *wanted)
{
    unsigned char character = (unsigned char)*parser->next;
    size_t length = symbol_name_length(parser->next);
    if (character == '\0')
        return error_set(parser->error, ERROR_CONFIG, "expected %s at the end", wanted);
    if (length > 0)
        return error_set(parser->error, ERROR_CONFIG, "expected %s before '%.*s'", wanted,
                         (int)length, parser->next);
    if (character < ' ' || character > '~')
        return error_set(parser->error, ERROR_CONFIG, "unexpected character 0x%02x; expected %s",
                         character, wanted);
    return error_set(parser->error, ERROR_CONFIG, "unexpected character '%c'; expected %s",
                     character, wanted);
}

static int foreign(const struct parser *parser, const struct symbol *symbol)
{
    return error_set(parser->error, ERROR_CONFIG, "'%s' is not an operator here; write '%s'",
                     symbol->text, symbol->instead);
}

static int enter(struct parser *parser)
{
    if (++parser->depth <= EXPRESSION_DEPTH_LIMIT)
        return 0;
    return error_set(parser->error, ERROR_CONFIG,
                     "nested more than %d deep; use fewer parentheses, or several constraints",
                     EXPRESSION_DEPTH_LIMIT);
}

static void leave(struct parser *parser)
{
    parser->depth--;
}

/* --- numbers, words and names --- */

static size_t number_length(const char *text)
{
    size_t length = strspn(text, "0123456789.");
    if (text[length] == 'e' || text[length] == 'E') {
        length++;
        length += text[length] == '+' || text[length] == '-';
        length += strspn(text + length, "0123456789");
    }
    return length;
}

static int take_number(struct parser *parser, struct operand *operand)
{
    unsigned start = position(parser);
    size_t length = number_length(parser->next);
    length += symbol_name_length(parser->next + length); /* letters that do not belong there */
    char *text = alloc_string_n(parser->next, length);
    struct literal literal;
    const char *wrong = literal_parse(text, &literal);
    bool whole = text[strspn(text, "0123456789")] == '\0';
    int status = wrong == NULL
                     ? 0
                     : error_set(parser->error, ERROR_CONFIG, "'%.200s' %s%s", text, wrong,
                                 whole ? "; end it with .0 for a real number" : "");
    free(text);
    if (status != 0)
        return status;
    parser->next += length;
    *operand = build_constant(parser->steps,
                              whole ? value_integer(literal.integer) : value_real(literal.real),
                              span_from(parser, start));
    return 0;
}

/* A word in quotes of either kind. */
static int take_word(struct parser *parser, struct operand *operand)
{
    unsigned start = position(parser);
    const char *word = parser->next + 1;
    size_t length = strspn(word, NAME_LETTERS);
    if (!islower((unsigned char)*word) || word[length] != *parser->next)
        return error_set(parser->error, ERROR_CONFIG,
                         "not a word at %.40s; words have lower-case letters, digits and _, and "
                         "begin with a letter",
                         parser->next);
    parser->next += length + 2;
    *operand = build_constant(parser->steps, value_word(alloc_string_n(word, length)),
                              span_from(parser, start));
    return 0;
}

/* The index of `name`, which is added if it is new. */
static int take_slot(struct parser *parser, const char *name, unsigned *index)
{
    struct expression_names *names = parser->names;
    for (size_t i = 0; i < names->count; i++)
        if (strcmp(names->items[i], name) == 0) {
            *index = (unsigned)i;
            return 0;
        }
    if (names->count == EXPRESSION_NAME_LIMIT)
        return error_set(parser->error, ERROR_CONFIG, "too many names: at most %d, not also '%s'",
                         EXPRESSION_NAME_LIMIT, name);
    *index = (unsigned)names->count;
    *ARRAY_APPEND(names->items, names->count) = alloc_string(name);
    return 0;
}

/* NOLINTBEGIN(misc-no-recursion): as deep as enter() allows */
static int take_expression(struct parser *parser, struct operand *operand);

static int take_arguments(struct parser *parser, size_t *count)
{
    struct operand argument;
    *count = 0;
    do {
        parser->next++; /* the parenthesis, or a comma */
        skip_blanks(parser);
        if (*count == 0 && *parser->next == ')')
            break;
        int status = take_expression(parser, &argument);
        if (status != 0)
            return status;
        ++*count;
    } while (*parser->next == ',');
    if (*parser->next != ')')
        return unexpected(parser, "',' or ')'");
    parser->next++;
    return 0;
}

static int take_call(struct parser *parser, const char *name, unsigned start,
                     struct operand *operand)
{
    const struct expression_function *function = expression_function_find(name);
    size_t first = parser->steps->count;
    size_t count;
    if (function == NULL)
        return expression_function_unknown(name, parser->error);
    int status = enter(parser);
    if (status == 0)
        status = take_arguments(parser, &count);
    if (status != 0)
        return status;
    leave(parser);
    if (count < function->least || count > function->most)
        return error_set(parser->error, ERROR_CONFIG, "'%s' takes %s%zu argument%s, not %zu", name,
                         function->most > function->least ? "at least " : "", function->least,
                         function->least == 1 ? "" : "s", count);
    *operand = (struct operand){.first = first, .span = span_from(parser, start)};
    struct step *step = build_step(parser->steps, DO_CALL, operand->span);
    step->count = (unsigned)count;
    step->as.function = function;
    return 0;
}

/* The name that comes next, with capitals refused. */
static int read_name(struct parser *parser, char name[EXPRESSION_NAME_BYTES])
{
    size_t length = symbol_name_length(parser->next);
    if (length >= EXPRESSION_NAME_BYTES)
        return error_set(parser->error, ERROR_CONFIG, "name '%.20s...' is longer than %d letters",
                         parser->next, EXPRESSION_NAME_BYTES - 1);
    memcpy(name, parser->next, length);
    name[length] = '\0';
    if (strspn(name, NAME_LETTERS) != length)
        return error_set(parser->error, ERROR_CONFIG, "names are lower-case, not '%s'", name);
    if (symbol_binary(name) != NULL)
        return unexpected(parser, "a value");
    parser->next += length;
    return 0;
}

static int take_name(struct parser *parser, struct operand *operand)
{
    char name[EXPRESSION_NAME_BYTES];
    bool truth;
    unsigned slot = 0;
    unsigned start = position(parser);
    int status = read_name(parser, name);
    if (status != 0)
        return status;
    if (steps_truth(name, &truth)) {
        *operand = build_constant(parser->steps, value_boolean(truth), span_from(parser, start));
        return 0;
    }
    if (parser->next[strspn(parser->next, " \t")] == '(')
        return take_call(parser, name, start, operand);
    if (expression_function_find(name) != NULL)
        return error_set(parser->error, ERROR_CONFIG, "'%s' is a function; write %s(...)", name,
                         name);
    status = take_slot(parser, name, &slot);
    *operand = build_name(parser->steps, slot, span_from(parser, start));
    return status;
}

/* --- operators --- */

static int take_binary(struct parser *parser, int limit, struct operand *left);

static int take_parentheses(struct parser *parser, struct operand *operand)
{
    unsigned start = position(parser);
    int status = enter(parser);
    parser->next++;
    if (status == 0)
        status = take_expression(parser, operand);
    if (status == 0 && *parser->next != ')')
        status = unexpected(parser, "an operator or ')'");
    if (status != 0)
        return status;
    leave(parser);
    parser->next++;
    operand->span = span_from(parser, start);
    operand->kind = operand->kind == ANY ? ANY : CONDITION;
    return 0;
}

static int take_unary(struct parser *parser, const struct symbol *symbol, struct operand *operand)
{
    unsigned start = position(parser);
    if (symbol->instead != NULL)
        return foreign(parser, symbol);
    int status = enter(parser);
    parser->next += strlen(symbol->text);
    if (status == 0)
        status = take_binary(parser, symbol->right, operand);
    if (status != 0)
        return status;
    leave(parser);
    build_unary(parser->steps, symbol->operation, start, operand);
    return 0;
}

static int take_operand(struct parser *parser, struct operand *operand)
{
    *operand = (struct operand){0};
    skip_blanks(parser);
    const char *next = parser->next;
    const struct symbol *symbol = symbol_unary(next);
    if (symbol != NULL)
        return take_unary(parser, symbol, operand);
    if (*next == '(')
        return take_parentheses(parser, operand);
    if (*next == '"' || *next == '\'')
        return take_word(parser, operand);
    if (isdigit((unsigned char)*next) || (*next == '.' && isdigit((unsigned char)next[1])))
        return take_number(parser, operand);
    return symbol_name_length(next) > 0 ? take_name(parser, operand)
                                        : unexpected(parser, "a value");
}

/* The right operand of `and` and `or`, which is evaluated only if the left one does not decide. */
static int take_logical(struct parser *parser, const struct symbol *symbol, struct operand *left)
{
    struct operand right;
    bool is_or = symbol->operation == DO_OR;
    bool chooses = is_or && left->kind == UNCHECKED; /* condition and a or b */
    size_t branch = build_branch(parser->steps, chooses ? DO_CHOSEN : symbol->operation, left);
    int status = take_binary(parser, symbol->right, &right);
    if (status != 0)
        return status;
    left->span.end = right.span.end;
    if (is_or && right.kind == UNCHECKED) {
        left->unchecked = chooses ? left->span : right.unchecked;
        left->kind = UNCHECKED;
    } else if (!is_or && right.kind == ANY) {
        left->unchecked = right.span;
        left->kind = UNCHECKED;
    } else if (chooses) {
        left->kind = ANY;
    } else {
        build_check(parser->steps, &right);
        left->kind = CONDITION;
    }
    build_target(parser->steps, branch);
    return 0;
}

/* A comparison whose left operand is a comparison, or `not x`: languages differ in what it means. */
static int take_chained(struct parser *parser, const struct symbol *symbol,
                        const struct operand *left)
{
    const struct step last = parser->steps->items[parser->steps->count - 1];
    const char *text = parser->text;
    struct operand right;
    int status = take_binary(parser, symbol->right, &right);
    if (status != 0)
        return status;
    if (last.operation == DO_NOT)
        return error_set(parser->error, ERROR_CONFIG,
                         "'not' applies to '%.*s' alone; write 'not (%.*s %s %.*s)'",
                         SPAN_TEXT(text, last.left), SPAN_TEXT(text, last.left), symbol->text,
                         SPAN_TEXT(text, right.span));
    if (last.operation >= DO_LESS && symbol->operation < DO_LESS)
        return error_set(parser->error, ERROR_CONFIG,
                         "'%.*s' needs parentheses here; write '(%.*s) %s %.*s'",
                         SPAN_TEXT(text, left->span), SPAN_TEXT(text, left->span), symbol->text,
                         SPAN_TEXT(text, right.span));
    return error_set(parser->error, ERROR_CONFIG,
                     "comparisons cannot be chained; write '%.*s and %.*s %s %.*s'",
                     SPAN_TEXT(text, left->span), SPAN_TEXT(text, last.right), symbol->text,
                     SPAN_TEXT(text, right.span));
}

static int take_right(struct parser *parser, const struct symbol *symbol, struct operand *left)
{
    struct operand right;
    bool nests = symbol->right < symbol->left; /* each in the one before */
    if (symbol->instead != NULL)
        return foreign(parser, symbol);
    parser->next += strlen(symbol->text);
    if (symbol->operation == DO_AND || symbol->operation == DO_OR)
        return take_logical(parser, symbol, left);
    if (symbol->operation >= DO_EQUAL && left->kind == COMPARISON)
        return take_chained(parser, symbol, left);
    int status = nests ? enter(parser) : 0;
    if (status == 0)
        status = take_binary(parser, symbol->right, &right);
    if (status != 0)
        return status;
    if (nests)
        leave(parser);
    build_binary(parser->steps, symbol->operation, left, &right);
    return 0;
}

/* What binds more tightly than `limit`; blanks behind it are taken, too. */
static int take_binary(struct parser *parser, int limit, struct operand *left)
{
    int status = take_operand(parser, left);
    while (status == 0) {
        skip_blanks(parser);
        const struct symbol *symbol = symbol_binary(parser->next);
        if (symbol == NULL || symbol->left <= limit)
            break;
        status = take_right(parser, symbol, left);
    }
    return status;
}

/* `condition ? a : b`, of which the condition has been taken. */
static int take_choice(struct parser *parser, struct operand *condition)
{
    struct operand chosen;
    struct operand other;
    size_t branch = build_branch(parser->steps, DO_BRANCH, condition);
    int status = enter(parser);
    parser->next++;
    if (status == 0)
        status = take_expression(parser, &chosen);
    if (status == 0 && *parser->next != ':')
        status = unexpected(parser, "an operator or ':'");
    if (status != 0)
        return status;
    parser->next++;
    size_t jump = build_branch(parser->steps, DO_JUMP, &chosen);
    build_target(parser->steps, branch);
    status = take_expression(parser, &other);
    if (status != 0)
        return status;
    leave(parser);
    build_target(parser->steps, jump);
    condition->kind = chosen.kind != ANY && other.kind != ANY ? CONDITION : ANY;
    condition->span.end = other.span.end;
    return 0;
}

/* Everything up to what cannot belong to it. Its kind is not UNCHECKED. */
static int take_expression(struct parser *parser, struct operand *operand)
{
    int status = take_binary(parser, LOWEST_PRIORITY, operand);
    if (status != 0)
        return status;
    if (*parser->next == '?')
        return take_choice(parser, operand);
    if (operand->kind == UNCHECKED)
        build_check(parser->steps, operand);
    return 0;
}

/* NOLINTEND(misc-no-recursion) */

int expression_parse(const char *text, struct expression_names *names, struct steps *steps,
                     struct error *error)
{
    struct parser parser = {
        .text = text, .next = text, .names = names, .steps = steps, .error = error};
    struct operand whole;
    steps->text = text;
    int status = take_expression(&parser, &whole);
    if (status != 0)
        return status;
    if (*parser.next != '\0')
        return unexpected(&parser, "an operator");
    if (steps_stack_needed(steps) > STEPS_STACK_LIMIT)
        return error_set(error, ERROR_CONFIG,
                         "it needs more than %d values at a time; give functions fewer arguments",
                         STEPS_STACK_LIMIT);
    return 0;
}
