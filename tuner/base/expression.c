#include "base/expression.h"

#include "base/expression_steps.h"
#include "base/literal.h"
#include "base/suggestion.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* In one block of memory, but for the steps and rows. */
struct expression {
    const char *text;
    const char *file; /* borrowed */
    int line;
    const char *names[EXPRESSION_NAME_LIMIT]; /* each once, in the order of their first use */
    size_t name_count;
    struct steps steps; /* its text is what is compiled */
    struct value *rows; /* in place of the steps: a value for each name, in order; NULL: none */
    size_t row_count;
    size_t kept_bytes; /* of `kept`: texts, names and words, each with its NUL */
    char kept[];
};

#define NAME_LETTERS "abcdefghijklmnopqrstuvwxyz0123456789_"

/* --- operators --- */

/* To add one, add a line to the table, its operation to expression_steps.h, and both to
 * docs/expressions.md. */

/*
 * An operator. The higher `left`, the more tightly it binds; if `right` is lower than `left`, a
 * chain is evaluated from right to left: 2^3^2 is 2^9.
 */
struct symbol {
    const char *text;
    enum operation operation;
    int left, right;
    const char *instead; /* NULL, or what to write for an operator of another language */
};

enum { LOWEST_PRIORITY = 0 };

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

/* The length of the name or number at `text`, 0 if there is none; capitals count, to refuse them. */
static size_t symbol_name_length(const char *text)
{
    return strspn(text, NAME_LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZ");
}

/* The operator that `text` begins with; NULL if there is none. */
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

static const struct symbol *symbol_binary(const char *text)
{
    return find_operator(text, binary_operators,
                         sizeof binary_operators / sizeof *binary_operators);
}

static const struct symbol *symbol_unary(const char *text)
{
    return find_operator(text, unary_operators, sizeof unary_operators / sizeof *unary_operators);
}

/* --- steps --- */

/* What the parser knows of an operand that it has compiled. */
enum operand_kind {
    ANY,        /* not known before it is evaluated */
    CONDITION,  /* true or false */
    COMPARISON, /* true or false; a comparison or `not x`, and not in parentheses */
    UNCHECKED,  /* the `a` of `condition and a`: a condition, or, if `or` follows, anything */
};

struct operand {
    enum operand_kind kind;
    size_t first;          /* its first step */
    struct span span;      /* of the text */
    struct span unchecked; /* the part of it that is UNCHECKED */
};

/* Adds a step of any kind, on the operand at `operand`; the pointer is valid until the next one. */
static struct step *build_step(struct steps *steps, enum operation operation, struct span operand)
{
    struct step *step =
        &steps->items[steps->count++]; /* there is room for all that a text can need */
    *step = (struct step){.operation = operation, .left = operand};
    return step;
}

static struct operand build_name(struct steps *steps, unsigned index, struct span span)
{
    const struct operand operand = {.first = steps->count, .span = span};
    struct step *step = build_step(steps, DO_LOAD, span);
    step->source = FROM_NAME;
    step->index = index;
    return operand;
}

/* A word must stay where it is. */
static struct operand build_constant(struct steps *steps, struct value value, struct span span)
{
    const struct operand operand = {
        .kind = value.kind == VALUE_BOOLEAN ? CONDITION : ANY, .first = steps->count, .span = span};
    struct step *step = build_step(steps, DO_LOAD, span);
    step->source = FROM_CONSTANT;
    step->as.constant = value;
    return operand;
}

static bool is_constant_number(const struct step *step)
{
    return step->source == FROM_CONSTANT && number_is(&step->as.constant);
}

/* An operation on numbers that are all known is done now; if it fails, that waits until it is
 * evaluated, which may never be. It began at step `first`. */
static void fold(struct steps *steps, size_t first)
{
    struct step *load = &steps->items[first];
    const struct steps two = {steps->text, load, 2};
    struct value value;
    if (steps->count != first + 2 || load->operation != DO_LOAD || !is_constant_number(load) ||
        !(load[1].operation == DO_NEGATE ||
          (load[1].operation < DO_EQUAL && is_constant_number(&load[1]))) ||
        steps_run(&two, NULL, &value, NULL) != 0)
        return;
    load->as.constant = value;
    steps->count--;
}

/* These apply an operation; `operand` or `left` becomes its result. The text of a unary operation begins
 * at `start`. */
static void build_unary(struct steps *steps, enum operation operation, unsigned start,
                        struct operand *operand)
{
    struct step *step = build_step(steps, operation, operand->span);
    operand->span.start = start;
    operand->kind = operation == DO_NOT ? COMPARISON : ANY;
    step->right = operand->span;
    fold(steps, operand->first);
}

static void build_binary(struct steps *steps, enum operation operation, struct operand *left,
                         const struct operand *right)
{
    struct step *step = &steps->items[steps->count - 1];
    if (steps->count != right->first + 1 || step->operation != DO_LOAD)
        step = build_step(steps, operation, left->span);
    step->operation = operation; /* of a load, which becomes the right operand */
    step->left = left->span;
    step->right = right->span;
    left->kind = operation >= DO_EQUAL ? COMPARISON : ANY;
    left->span.end = right->span.end;
    fold(steps, left->first);
}

/* The part of an operand that a message names if it is not a condition. */
static struct span tested(const struct operand *operand)
{
    return operand->kind == UNCHECKED ? operand->unchecked : operand->span;
}

/* Adds a step that jumps; build_target() makes it jump to the step added next. */
static size_t build_branch(struct steps *steps, enum operation operation,
                           const struct operand *condition)
{
    (void)build_step(steps, operation, tested(condition));
    return steps->count - 1;
}

static void build_target(struct steps *steps, size_t branch)
{
    steps->items[branch].index = (unsigned)steps->count;
}

/* Makes `operand` a condition: unless it is known to be one, adds a check for its evaluation. */
static void build_check(struct steps *steps, struct operand *operand)
{
    if (operand->kind == ANY || operand->kind == UNCHECKED)
        (void)build_step(steps, DO_CONDITION, tested(operand));
    operand->kind = CONDITION;
}

/* --- parsing --- */

/* After the first failure, nothing is left to read. */
struct parser {
    const char *text;
    const char *next;
    struct expression *expression;
    struct steps *steps; /* of the expression */
    struct error *error;
    int depth;
    bool failed;
};

/* A text in the expression. There is room for every name, word and number of its text: none of them is
 * longer there, and something stands between any two. */
static char *keep(struct expression *expression, const char *text, size_t length)
{
    char *copy = expression->kept + expression->kept_bytes;
    memcpy(copy, text, length);
    copy[length] = '\0';
    expression->kept_bytes += length + 1;
    return copy;
}

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

static void fail(struct parser *parser, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void fail(struct parser *parser, const char *format, ...)
{
    char message[sizeof parser->error->message];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    if (!parser->failed)
        (void)error_set(parser->error, ERROR_CONFIG, "%s", message);
    parser->failed = true;
    parser->next += strlen(parser->next);
}

static void unexpected(struct parser *parser, const char *wanted)
{
    unsigned char character = (unsigned char)*parser->next;
    size_t length = symbol_name_length(parser->next);
    if (character == '\0')
        fail(parser, "expected %s at the end", wanted);
    else if (length > 0)
        fail(parser, "expected %s before '%.*s'", wanted, (int)length, parser->next);
    else if (character < ' ' || character > '~')
        fail(parser, "unexpected character 0x%02x; expected %s", character, wanted);
    else
        fail(parser, "unexpected character '%c'; expected %s", character, wanted);
}

/* Takes `character`, one of what is `wanted` here. */
static void take(struct parser *parser, char character, const char *wanted)
{
    if (*parser->next == character)
        parser->next++;
    else
        unexpected(parser, wanted);
}

static void foreign(struct parser *parser, const struct symbol *symbol)
{
    fail(parser, "'%s' is not an operator here; write '%s'", symbol->text, symbol->instead);
}

static void enter(struct parser *parser)
{
    if (++parser->depth > EXPRESSION_DEPTH_LIMIT)
        fail(parser, "nested more than %d deep; use fewer parentheses, or several constraints",
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

static void take_number(struct parser *parser, struct operand *operand)
{
    unsigned start = position(parser);
    size_t length = number_length(parser->next);
    length += symbol_name_length(parser->next + length); /* letters that do not belong there */
    const char *text = keep(parser->expression, parser->next, length);
    struct literal literal;
    const char *wrong = literal_parse(text, &literal);
    bool whole = text[strspn(text, "0123456789")] == '\0';
    parser->next += length;
    if (wrong != NULL)
        fail(parser, "'%.200s' %s%s", text, wrong,
             whole ? "; end it with .0 for a real number" : "");
    parser->expression->kept_bytes -= length + 1;
    *operand = build_constant(parser->steps,
                              whole ? value_integer(literal.integer) : value_real(literal.real),
                              span_from(parser, start));
}

/* A word in quotes of either kind. */
static void take_word(struct parser *parser, struct operand *operand)
{
    unsigned start = position(parser);
    const char *word = parser->next + 1;
    size_t length = strspn(word, NAME_LETTERS);
    if (!islower((unsigned char)*word) || word[length] != *parser->next) {
        fail(parser,
             "not a word at %.40s; words have lower-case letters, digits and _, and begin with a "
             "letter",
             parser->next);
        return;
    }
    parser->next += length + 2;
    *operand = build_constant(parser->steps, value_word(keep(parser->expression, word, length)),
                              span_from(parser, start));
}

/* The index of `name`, which is added if it is new. */
static unsigned take_slot(struct parser *parser, const char *name)
{
    struct expression *expression = parser->expression;
    for (size_t i = 0; i < expression->name_count; i++)
        if (strcmp(expression->names[i], name) == 0)
            return (unsigned)i;
    if (expression->name_count == EXPRESSION_NAME_LIMIT) {
        fail(parser, "too many names: at most %d, not also '%s'", EXPRESSION_NAME_LIMIT, name);
        return 0;
    }
    expression->names[expression->name_count] = keep(expression, name, strlen(name));
    return (unsigned)expression->name_count++;
}

/* NOLINTBEGIN(misc-no-recursion): as deep as enter() allows */
static void take_expression(struct parser *parser, struct operand *operand);

static void take_call(struct parser *parser, const char *name, unsigned start,
                      struct operand *operand)
{
    const struct expression_function *function = expression_function_find(name);
    size_t first = parser->steps->count;
    size_t count = 0;
    struct operand argument;
    if (function == NULL) {
        struct error unknown;
        (void)expression_function_unknown(name, &unknown);
        fail(parser, "%s", unknown.message);
        return;
    }
    skip_blanks(parser);
    enter(parser);
    while (*parser->next == (count == 0 ? '(' : ',')) {
        parser->next++;
        skip_blanks(parser);
        if (count == 0 && *parser->next == ')')
            break;
        take_expression(parser, &argument);
        count++;
    }
    take(parser, ')', "',' or ')'");
    leave(parser);
    if (count < function->least || count > function->most)
        fail(parser, "'%s' takes %s%zu argument%s, not %zu", name,
             function->most > function->least ? "at least " : "", function->least,
             function->least == 1 ? "" : "s", count);
    *operand = (struct operand){.first = first, .span = span_from(parser, start)};
    struct step *step = build_step(parser->steps, DO_CALL, operand->span);
    step->count = (unsigned)count;
    step->as.function = function;
}

static void take_name(struct parser *parser, struct operand *operand)
{
    char name[EXPRESSION_NAME_BYTES];
    bool truth;
    unsigned start = position(parser);
    size_t length = symbol_name_length(parser->next);
    if (length >= EXPRESSION_NAME_BYTES) {
        fail(parser, "name '%.20s...' is longer than %d letters", parser->next,
             EXPRESSION_NAME_BYTES - 1);
        return;
    }
    memcpy(name, parser->next, length);
    name[length] = '\0';
    if (strspn(name, NAME_LETTERS) != length)
        fail(parser, "names are lower-case, not '%s'", name);
    else if (symbol_binary(name) != NULL)
        unexpected(parser, "a value");
    else
        parser->next += length;
    if (steps_truth(name, &truth))
        *operand = build_constant(parser->steps, value_boolean(truth), span_from(parser, start));
    else if (parser->next[strspn(parser->next, " \t")] == '(')
        take_call(parser, name, start, operand);
    else if (expression_function_find(name) != NULL)
        fail(parser, "'%s' is a function; write %s(...)", name, name);
    else
        *operand = build_name(parser->steps, take_slot(parser, name), span_from(parser, start));
}

/* --- operators --- */

static void take_binary(struct parser *parser, int limit, struct operand *left);

static void take_operand(struct parser *parser, struct operand *operand)
{
    *operand = (struct operand){0};
    skip_blanks(parser);
    const char *next = parser->next;
    unsigned start = position(parser);
    const struct symbol *symbol = symbol_unary(next);
    if (symbol != NULL && symbol->instead != NULL) {
        foreign(parser, symbol);
    } else if (symbol != NULL) {
        parser->next += strlen(symbol->text);
        enter(parser);
        take_binary(parser, symbol->right, operand);
        leave(parser);
        build_unary(parser->steps, symbol->operation, start, operand);
    } else if (*next == '(') {
        parser->next++;
        enter(parser);
        take_expression(parser, operand);
        take(parser, ')', "an operator or ')'");
        leave(parser);
        operand->span = span_from(parser, start);
        operand->kind = operand->kind == ANY ? ANY : CONDITION;
    } else if (*next == '"' || *next == '\'') {
        take_word(parser, operand);
    } else if (isdigit((unsigned char)*next) || (*next == '.' && isdigit((unsigned char)next[1]))) {
        take_number(parser, operand);
    } else if (symbol_name_length(next) > 0) {
        take_name(parser, operand);
    } else {
        unexpected(parser, "a value");
    }
}

/* The right operand of `and` and `or`, which is evaluated only if the left one does not decide. */
static void take_logical(struct parser *parser, const struct symbol *symbol, struct operand *left)
{
    struct operand right;
    bool is_or = symbol->operation == DO_OR;
    bool chooses = is_or && left->kind == UNCHECKED; /* condition and a or b */
    size_t branch = build_branch(parser->steps, chooses ? DO_CHOSEN : symbol->operation, left);
    take_binary(parser, symbol->right, &right);
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
}

/* A comparison whose left operand is a comparison, or `not x`: languages differ in what it means. */
static void refuse_chain(struct parser *parser, const struct symbol *symbol,
                         const struct operand *left)
{
    const struct step last = parser->steps->items[parser->steps->count - 1];
    const char *text = parser->text;
    struct operand right;
    take_binary(parser, symbol->right, &right);
    if (last.operation == DO_NOT)
        fail(parser, "'not' applies to '%.*s' alone; write 'not (%.*s %s %.*s)'",
             SPAN_TEXT(text, last.left), SPAN_TEXT(text, last.left), symbol->text,
             SPAN_TEXT(text, right.span));
    else if (last.operation >= DO_LESS && symbol->operation < DO_LESS)
        fail(parser, "'%.*s' needs parentheses here; write '(%.*s) %s %.*s'",
             SPAN_TEXT(text, left->span), SPAN_TEXT(text, left->span), symbol->text,
             SPAN_TEXT(text, right.span));
    else
        fail(parser, "comparisons cannot be chained; write '%.*s and %.*s %s %.*s'",
             SPAN_TEXT(text, left->span), SPAN_TEXT(text, last.right), symbol->text,
             SPAN_TEXT(text, right.span));
}

static void take_right(struct parser *parser, const struct symbol *symbol, struct operand *left)
{
    struct operand right;
    bool nests = symbol->right < symbol->left; /* each in the one before */
    parser->next += strlen(symbol->text);
    if (symbol->instead != NULL) {
        foreign(parser, symbol);
    } else if (symbol->operation == DO_AND || symbol->operation == DO_OR) {
        take_logical(parser, symbol, left);
    } else if (symbol->operation >= DO_EQUAL && left->kind == COMPARISON) {
        refuse_chain(parser, symbol, left);
    } else {
        if (nests)
            enter(parser);
        take_binary(parser, symbol->right, &right);
        if (nests)
            leave(parser);
        build_binary(parser->steps, symbol->operation, left, &right);
    }
}

/* What binds more tightly than `limit`; blanks behind it are taken, too. */
static void take_binary(struct parser *parser, int limit, struct operand *left)
{
    take_operand(parser, left);
    for (;;) {
        skip_blanks(parser);
        const struct symbol *symbol = symbol_binary(parser->next);
        if (symbol == NULL || symbol->left <= limit)
            break;
        take_right(parser, symbol, left);
    }
}

/* `condition ? a : b`, of which the condition has been taken. */
static void take_choice(struct parser *parser, struct operand *condition)
{
    struct operand chosen;
    struct operand other;
    size_t branch = build_branch(parser->steps, DO_BRANCH, condition);
    parser->next++;
    enter(parser);
    take_expression(parser, &chosen);
    take(parser, ':', "an operator or ':'");
    size_t jump = build_branch(parser->steps, DO_JUMP, &chosen);
    build_target(parser->steps, branch);
    take_expression(parser, &other);
    leave(parser);
    build_target(parser->steps, jump);
    condition->kind = chosen.kind != ANY && other.kind != ANY ? CONDITION : ANY;
    condition->span.end = other.span.end;
}

/* Everything up to what cannot belong to it. Its kind is not UNCHECKED. */
static void take_expression(struct parser *parser, struct operand *operand)
{
    take_binary(parser, LOWEST_PRIORITY, operand);
    if (*parser->next == '?')
        take_choice(parser, operand);
    else if (operand->kind == UNCHECKED)
        build_check(parser->steps, operand);
}

/* NOLINTEND(misc-no-recursion) */

/* Compiles the text. The message says what is wrong and how to write it, without a place. */
static bool parse_text(struct expression *expression, struct error *error)
{
    struct parser parser = {.text = expression->steps.text,
                            .next = expression->steps.text,
                            .expression = expression,
                            .steps = &expression->steps,
                            .error = error};
    struct operand whole;
    take_expression(&parser, &whole);
    if (*parser.next != '\0')
        unexpected(&parser, "an operator");
    if (!parser.failed && steps_stack_needed(&expression->steps) > STEPS_STACK_LIMIT)
        fail(&parser, "it needs more than %d values at a time; give functions fewer arguments",
             STEPS_STACK_LIMIT);
    return !parser.failed;
}

/* --- making --- */

static int no_memory(const char *file, int line, struct error *error)
{
    return error_set_at(error, ERROR_MEMORY, file, line, "out of memory");
}

static int parse(struct expression *expression, struct error *error)
{
    struct steps *steps = &expression->steps;
    struct error reason;
    if (strlen(steps->text) > EXPRESSION_TEXT_LIMIT)
        return error_set_at(error, ERROR_CONFIG, expression->file, expression->line,
                            "expression is longer than %d bytes", EXPRESSION_TEXT_LIMIT);
    if (steps->text[strspn(steps->text, " \t")] == '\0')
        return error_set_at(error, ERROR_CONFIG, expression->file, expression->line,
                            "expression is empty");
    /* a letter makes at most two steps; "?:" makes two jumps and two checks */
    steps->items = calloc(2 * strlen(steps->text) + 2, sizeof *steps->items);
    if (steps->items == NULL)
        return no_memory(expression->file, expression->line, error);
    if (!parse_text(expression, &reason))
        return error_set_at(error, ERROR_CONFIG, expression->file, expression->line,
                            "cannot parse expression '%s': %s", expression->text, reason.message);
    struct step *fitting = realloc(steps->items, steps->count * sizeof *steps->items);
    if (fitting != NULL)
        steps->items = fitting;
    return 0;
}

/* One with `bytes` of texts, `text` among them. */
static struct expression *new_expression(const char *text, size_t bytes, const char *file, int line)
{
    struct expression *new = calloc(1, sizeof *new + strlen(text) + 1 + bytes);
    if (new == NULL)
        return NULL;
    new->text = keep(new, text, strlen(text));
    new->steps.text = new->text;
    new->file = file;
    new->line = line;
    return new;
}

int expression_new(struct expression **expression, const char *text, const char *file, int line,
                   struct error *error)
{
    return expression_new_expanded(expression, text, NULL, file, line, error);
}

int expression_new_expanded(struct expression **expression, const char *text, const char *expanded,
                            const char *file, int line, struct error *error)
{
    size_t bytes = expanded != NULL ? 2 * (strlen(expanded) + 1) : strlen(text) + 1;
    struct expression *new = new_expression(text, bytes + 1, file, line);
    *expression = NULL;
    if (new == NULL)
        return no_memory(file, line, error);
    if (expanded != NULL)
        new->steps.text = keep(new, expanded, strlen(expanded));
    int status = parse(new, error);
    if (status == 0)
        *expression = new;
    else
        expression_free(new);
    return status;
}

/* Any order in which numbers of the same size are equal will do. */
static int order_rows(const void *left, const void *right, void *name_count)
{
    const struct value *a = left;
    const struct value *b = right;
    int order = 0;
    for (size_t i = 0; i < *(const size_t *)name_count && order == 0; i++) {
        if (number_is(&a[i]) && number_is(&b[i]))
            order = (int)number_order(&a[i], &b[i]) - (int)ORDER_EQUAL;
        else if (a[i].kind == VALUE_WORD && b[i].kind == VALUE_WORD)
            order = strcmp(a[i].as.word, b[i].as.word);
        else
            order = (int)number_is(&b[i]) - (int)number_is(&a[i]);
    }
    return order;
}

int expression_new_rows(struct expression **expression, const char *text, char *const *names,
                        size_t name_count, struct value *const *rows, size_t row_count,
                        const char *file, int line, struct error *error)
{
    size_t row_bytes = name_count * sizeof(struct value);
    size_t bytes = 0;
    for (size_t i = 0; i < name_count; i++)
        bytes += strlen(names[i]) + 1;
    struct expression *new = new_expression(text, bytes, file, line);
    *expression = new;
    if (new == NULL || (new->rows = calloc(row_count, row_bytes)) == NULL) {
        expression_free(new);
        *expression = NULL;
        return no_memory(file, line, error);
    }
    for (size_t i = 0; i < name_count; i++)
        new->names[new->name_count++] = keep(new, names[i], strlen(names[i]));
    new->row_count = row_count;
    for (size_t i = 0; i < row_count; i++)
        memcpy(new->rows + i *name_count, rows[i], row_bytes);
    qsort_r(new->rows, row_count, row_bytes, order_rows, &name_count);
    return 0;
}

static bool is_row(const struct expression *expression, const struct value *const *values)
{
    struct value key[EXPRESSION_NAME_LIMIT];
    size_t count = expression->name_count;
    size_t low = 0;
    size_t high = expression->row_count;
    for (size_t i = 0; i < count; i++)
        key[i] = *values[i];
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = order_rows(key, expression->rows + middle * count, &count);
        if (order == 0)
            return true;
        low = order > 0 ? middle + 1 : low;
        high = order < 0 ? middle : high;
    }
    return false;
}

void expression_free(struct expression *expression)
{
    if (expression == NULL)
        return;
    free(expression->steps.items);
    free(expression->rows);
    free(expression);
}

/* --- text and names --- */

const char *expression_text(const struct expression *expression)
{
    return expression->text;
}

const char *expression_expanded(const struct expression *expression)
{
    return expression->steps.text;
}

const struct steps *expression_steps(const struct expression *expression)
{
    return &expression->steps;
}

size_t expression_name_count(const struct expression *expression)
{
    return expression->name_count;
}

const char *expression_name(const struct expression *expression, size_t index)
{
    return expression->names[index];
}

bool expression_uses(const struct expression *expression, const char *name)
{
    for (size_t i = 0; i < expression->name_count; i++)
        if (strcmp(expression->names[i], name) == 0)
            return true;
    return false;
}

bool expression_reserves(const char *name)
{
    bool truth;
    return expression_function_find(name) != NULL || symbol_unary(name) != NULL ||
           symbol_binary(name) != NULL || steps_truth(name, &truth);
}

/* The condition from `begin` to `end` of the expression's text, which compiled as a part; NULL if memory
 * runs out. */
static struct expression *part_of(const struct expression *expression, const char *begin,
                                  const char *end)
{
    struct expression *part = NULL;
    char *text = strndup(begin, (size_t)(end - begin));
    if (text != NULL)
        (void)expression_new(&part, text, expression->file, expression->line, NULL);
    free(text);
    return part;
}

size_t expression_conditions(const struct expression *expression, struct expression ***conditions)
{
    const char *next = expression_expanded(expression);
    const char *begin = next;
    bool joined = true;
    size_t count = 0;
    int depth = 0;
    /* `a&&` are three letters */
    *conditions = calloc(strlen(next) / 3 + 1, sizeof(struct expression *));
    if (*conditions == NULL)
        return 0;
    while (*next != '\0' && joined) {
        const struct symbol *symbol = depth == 0 ? symbol_binary(next) : NULL;
        size_t length = symbol_name_length(next);
        if (symbol != NULL && symbol->operation == DO_AND) {
            joined = ((*conditions)[count++] = part_of(expression, begin, next)) != NULL;
            begin = next + strlen(symbol->text);
        }
        joined = joined && !(symbol != NULL && symbol->operation == DO_OR) &&
                 !(depth == 0 && *next == '?');
        depth += (*next == '(') - (*next == ')');
        if (*next == '"' || *next == '\'')
            length = strcspn(next + 1, "\"'") + 2;
        next += symbol != NULL ? strlen(symbol->text) : length > 0 ? length : 1;
    }
    if (count > 0 && joined)
        joined = ((*conditions)[count++] = part_of(expression, begin, next)) != NULL;
    for (; count > 0 && !joined; count--)
        expression_free((*conditions)[count - 1]);
    return count;
}

static bool is_among(const char *name, const char *const *names)
{
    for (; *names != NULL; names++)
        if (strcmp(name, *names) == 0)
            return true;
    return false;
}

int expression_check_names(const struct expression *expression, const char *const *known,
                           struct error *error)
{
    for (size_t i = 0; i < expression->name_count; i++)
        if (!is_among(expression->names[i], known))
            return suggestion_unknown(expression->file, expression->line, "name",
                                      expression->names[i], known, error);
    return 0;
}

/* --- evaluating --- */

enum { EXPRESSION_VALUES_BYTES = 512 };

/* Writes " (n = 1024, block_size = 64)", or nothing if it names nothing. */
static void write_values(const struct expression *expression, const struct value *const *values,
                         char text[EXPRESSION_VALUES_BYTES])
{
    size_t length = 0;
    text[0] = '\0';
    for (size_t i = 0; i < expression->name_count; i++) {
        char value[VALUE_TEXT_BYTES];
        value_text(*values[i], value);
        int more = snprintf(text + length, EXPRESSION_VALUES_BYTES - length, "%s%s = %s",
                            length == 0 ? " (" : ", ", expression->names[i], value);
        if (more < 0 || (size_t)more >= EXPRESSION_VALUES_BYTES - length - 1) {
            text[length] = '\0'; /* no room for it and the parenthesis */
            break;
        }
        length += (size_t)more;
    }
    if (length > 0)
        (void)snprintf(text + length, EXPRESSION_VALUES_BYTES - length, ")");
}

int expression_refuse_of(const struct expression *expression, const struct value *const *values,
                         const char *reason, struct error *error)
{
    char text[EXPRESSION_VALUES_BYTES];
    if (error == NULL)
        return ERROR_CONFIG;
    write_values(expression, values, text);
    return error_set_at(error, ERROR_CONFIG, expression->file, expression->line,
                        "cannot evaluate '%s': %s%s", expression->text, reason, text);
}

int expression_value_of(const struct expression *expression, const struct value *const *values,
                        struct value *value, struct error *error)
{
    struct error reason;
    for (size_t i = 0; i < expression->name_count; i++)
        if (values[i] == NULL)
            return error_set_at(error, ERROR_CONFIG, expression->file, expression->line,
                                "'%s' has no value here, in expression '%s'", expression->names[i],
                                expression->text);
    if (expression->rows != NULL) {
        *value = value_boolean(is_row(expression, values));
        return 0;
    }
    int status = steps_run(&expression->steps, values, value, &reason);
    return status == 0 ? 0 : expression_refuse_of(expression, values, reason.message, error);
}

int expression_boolean_of(const struct expression *expression, const struct value *const *values,
                          bool *boolean, struct error *error)
{
    struct value value;
    struct error reason;
    int status = expression_value_of(expression, values, &value, error);
    if (status != 0 || steps_condition(&value, boolean))
        return status;
    (void)steps_not_a_condition(expression->text, strlen(expression->text), &value, &reason);
    return expression_refuse_of(expression, values, reason.message, error);
}
