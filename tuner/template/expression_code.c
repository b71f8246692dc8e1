#include "template/expression_code.h"

#include "base/alloc.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STACK_LIMIT = 24, EXACT_INTEGERS = 53 /* bits of whole numbers that doubles all have */ };

/*
 * X(name, text, priority, priority of what is on its right): Lua's binary operators with the
 * priorities of its reference manual (3.4.8); longer texts first.
 */
#define OPERATORS(X)                                                                               \
    X(EQUAL, "==", 3, 3)                                                                           \
    X(DIFFERS, "~=", 3, 3)                                                                         \
    X(LESS_EQUAL, "<=", 3, 3)                                                                      \
    X(GREATER_EQUAL, ">=", 3, 3)                                                                   \
    X(LESS, "<", 3, 3)                                                                             \
    X(GREATER, ">", 3, 3)                                                                          \
    X(FLOOR_DIVIDE, "//", 11, 11)                                                                  \
    X(ADD, "+", 10, 10)                                                                            \
    X(SUBTRACT, "-", 10, 10)                                                                       \
    X(MULTIPLY, "*", 11, 11)                                                                       \
    X(DIVIDE, "/", 11, 11)                                                                         \
    X(MODULO, "%", 11, 11)                                                                         \
    X(POWER, "^", 14, 13)                                                                          \
    X(AND, "and", 2, 2)                                                                            \
    X(OR, "or", 1, 1)

enum { UNARY_PRIORITY = 12 };

enum operation {
#define X(name, text, left, right) DO_##name,
    OPERATORS(X)
#undef X
        DO_LOAD,
    DO_NEGATE,
    DO_NOT,
};

/* Where a step's right operand comes from. */
enum source { FROM_STACK, FROM_NAME, FROM_CONSTANT };

struct step {
    enum operation operation;
    enum source source;
    size_t index;          /* of the name; of the step to go on with, of AND and OR */
    struct value constant; /* its word is owned */
};

struct expression_code {
    struct step *steps;
    size_t count;
};

/* -- values --------------------------------------------------------------------------------------
 */

static bool is_number(const struct value *value)
{
    return value->kind == VALUE_INTEGER || value->kind == VALUE_REAL;
}

static double real_of(const struct value *value)
{
    return value->kind == VALUE_INTEGER ? (double)value->as.integer : value->as.real;
}

static bool is_exact(const struct value *value)
{
    const int64_t limit = (int64_t)1 << EXACT_INTEGERS;
    return value->kind != VALUE_INTEGER ||
           (value->as.integer <= limit && value->as.integer >= -limit);
}

/* Whole numbers wrap around, as Lua's do. */
static bool compute_integers(enum operation operation, int64_t a, int64_t b, int64_t *result)
{
    switch (operation) {
    case DO_ADD:
        *result = (int64_t)((uint64_t)a + (uint64_t)b);
        return true;
    case DO_SUBTRACT:
        *result = (int64_t)((uint64_t)a - (uint64_t)b);
        return true;
    case DO_MULTIPLY:
        *result = (int64_t)((uint64_t)a * (uint64_t)b);
        return true;
    case DO_FLOOR_DIVIDE:
        if (b == 0 || b == -1)
            return false; /* an error, or next to an overflow */
        *result = a / b - (a % b != 0 && (a ^ b) < 0);
        return true;
    case DO_MODULO:
        if (b == 0 || b == -1)
            return false;
        *result = a % b + (a % b != 0 && (a ^ b) < 0 ? b : 0);
        return true;
    default:
        return false;
    }
}

static bool compute_reals(enum operation operation, double a, double b, double *result)
{
    switch (operation) {
    case DO_ADD:
        *result = a + b;
        return true;
    case DO_SUBTRACT:
        *result = a - b;
        return true;
    case DO_MULTIPLY:
        *result = a * b;
        return true;
    case DO_DIVIDE:
        *result = a / b;
        return true;
    case DO_FLOOR_DIVIDE:
        *result = floor(a / b);
        return true;
    case DO_POWER:
        *result = b == 2 ? a * a : pow(a, b);
        return true;
    default: /* the remainder of reals too: let Lua */
        return false;
    }
}

static bool compute(enum operation operation, struct value *left, const struct value *right)
{
    if (left->kind == VALUE_INTEGER && right->kind == VALUE_INTEGER && operation != DO_DIVIDE &&
        operation != DO_POWER)
        return compute_integers(operation, left->as.integer, right->as.integer, &left->as.integer);
    if (!is_number(left) || !is_number(right))
        return false;
    double result;
    if (!compute_reals(operation, real_of(left), real_of(right), &result))
        return false;
    *left = value_real(result);
    return true;
}

/* -1, 0 or 1; 2 where a NaN compares with nothing. False where they are not for us to compare. */
static bool order(const struct value *left, const struct value *right, int *result)
{
    if (left->kind == VALUE_INTEGER && right->kind == VALUE_INTEGER) {
        *result = (left->as.integer > right->as.integer) - (left->as.integer < right->as.integer);
        return true;
    }
    if (!is_number(left) || !is_number(right))
        return false;
    if (left->kind != right->kind && !(is_exact(left) && is_exact(right)))
        return false;
    double a = real_of(left);
    double b = real_of(right);
    *result = a < b ? -1 : a > b ? 1 : a == b ? 0 : 2;
    return true;
}

/* Whether they are equal, of whatever kinds. */
static bool match(const struct value *left, const struct value *right, bool *same)
{
    int compared;
    if (is_number(left) && is_number(right)) {
        bool known = order(left, right, &compared);
        *same = known && compared == 0;
        return known;
    }
    *same = left->kind == right->kind && value_equal(*left, *right);
    return true;
}

static bool compare(enum operation operation, struct value *left, const struct value *right)
{
    int compared = 0;
    bool holds = false;
    if (operation == DO_EQUAL || operation == DO_DIFFERS) {
        if (!match(left, right, &holds))
            return false;
        *left = value_boolean(holds == (operation == DO_EQUAL));
        return true;
    }
    if (!order(left, right, &compared))
        return false;
    switch (operation) {
    case DO_LESS:
        holds = compared == -1;
        break;
    case DO_LESS_EQUAL:
        holds = compared == -1 || compared == 0;
        break;
    case DO_GREATER:
        holds = compared == 1;
        break;
    default:
        holds = compared == 1 || compared == 0;
        break;
    }
    *left = value_boolean(holds);
    return true;
}

static bool is_comparison(enum operation operation)
{
    return operation <= DO_GREATER;
}

static bool is_true(const struct value *value)
{
    return value->kind != VALUE_BOOLEAN || value->as.boolean;
}

static bool negate(struct value *value)
{
    if (value->kind == VALUE_INTEGER)
        value->as.integer = (int64_t)(0 - (uint64_t)value->as.integer);
    else if (value->kind == VALUE_REAL)
        value->as.real = -value->as.real;
    return is_number(value);
}

/* -- evaluating ----------------------------------------------------------------------------------
 */

/* Loads, AND and OR move the stack; `*next` is the step to go on with. */
static void move(const struct step *step, const struct value *right, struct value *stack,
                 size_t *depth, size_t *next)
{
    if (step->operation == DO_LOAD)
        stack[(*depth)++] = *right;
    else if (is_true(&stack[*depth - 1]) == (step->operation == DO_OR))
        *next = step->index;
    else
        --*depth;
}

bool expression_code_decide(const struct expression_code *code, const struct value *const *values,
                            bool *result)
{
    struct value stack[STACK_LIMIT];
    size_t depth = 0;
    stack[0] = value_boolean(false); /* a load comes first, which static analysis cannot know */
    for (size_t i = 0; i < code->count;) {
        const struct step *step = &code->steps[i++];
        const struct value *right = &step->constant;
        bool done = true;
        if (step->operation == DO_LOAD || step->operation == DO_AND || step->operation == DO_OR) {
            move(step, step->source == FROM_NAME ? values[step->index] : right, stack, &depth, &i);
            continue;
        }
        if (step->operation == DO_NOT)
            stack[depth - 1] = value_boolean(!is_true(&stack[depth - 1]));
        else if (step->operation == DO_NEGATE)
            done = negate(&stack[depth - 1]);
        else {
            if (step->source == FROM_NAME)
                right = values[step->index];
            else if (step->source == FROM_STACK)
                right = &stack[--depth];
            done = is_comparison(step->operation)
                       ? compare(step->operation, &stack[depth - 1], right)
                       : compute(step->operation, &stack[depth - 1], right);
        }
        if (!done)
            return false;
    }
    if (stack[0].kind != VALUE_BOOLEAN)
        return false;
    *result = stack[0].as.boolean;
    return true;
}

/* -- compiling -----------------------------------------------------------------------------------
 */

struct compiler {
    const struct expression_text *source;
    const char *next;
    struct expression_code *code;
    size_t depth; /* of the stack, after the steps so far */
};

static void skip_blanks(struct compiler *compiler)
{
    compiler->next += strspn(compiler->next, " \t");
}

static struct step *add_step(struct compiler *compiler, enum operation operation)
{
    struct step *step = ARRAY_APPEND(compiler->code->steps, compiler->code->count);
    step->operation = operation;
    return step;
}

/* False where the stack would not hold it. */
static bool add_constant(struct compiler *compiler, struct value value)
{
    struct step *step = add_step(compiler, DO_LOAD);
    step->source = FROM_CONSTANT;
    step->constant = value;
    return ++compiler->depth <= STACK_LIMIT;
}

/* A decimal number, as Lua reads it: whole where it is written so and fits. */
static bool take_number(struct compiler *compiler)
{
    char *end = NULL;
    size_t digits = strspn(compiler->next, "0123456789");
    bool whole = strchr(".eE", compiler->next[digits]) == NULL || compiler->next[digits] == '\0';
    errno = 0;
    long long integer = strtoll(compiler->next, &end, 10);
    if (whole && errno == 0) {
        compiler->next = end;
        return add_constant(compiler, value_integer(integer));
    }
    double real = strtod(compiler->next, &end);
    compiler->next = end;
    return add_constant(compiler, value_real(real));
}

static bool take_word(struct compiler *compiler)
{
    const char *start = compiler->next + 1;
    const char *end = strchr(start, *compiler->next);
    if (end == NULL)
        return false;
    compiler->next = end + 1;
    return add_constant(compiler, value_word(alloc_string_n(start, (size_t)(end - start))));
}

static size_t name_length(const char *text)
{
    size_t length = 0;
    while (isalnum((unsigned char)text[length]) || text[length] == '_')
        length++;
    return length;
}

static bool is_word(const char *text, size_t length, const char *word)
{
    return strlen(word) == length && strncmp(text, word, length) == 0;
}

/* true and false, which have other names as well, or a value's name; functions are Lua's. */
static bool take_name(struct compiler *compiler)
{
    const char *name = compiler->next;
    size_t length = name_length(name);
    compiler->next += length;
    if (is_word(name, length, "true") || is_word(name, length, "yes"))
        return add_constant(compiler, value_boolean(true));
    if (is_word(name, length, "false") || is_word(name, length, "no"))
        return add_constant(compiler, value_boolean(false));
    for (size_t i = 0; i < compiler->source->name_count; i++)
        if (is_word(name, length, compiler->source->names[i])) {
            struct step *step = add_step(compiler, DO_LOAD);
            step->source = FROM_NAME;
            step->index = i;
            return ++compiler->depth <= STACK_LIMIT;
        }
    return false;
}

/* NOLINTBEGIN(misc-no-recursion): as deep as Lua's parser, which has accepted the text, went */
static bool take_expression(struct compiler *compiler, int limit);

static bool take_parentheses(struct compiler *compiler)
{
    compiler->next++;
    if (!take_expression(compiler, 0) || *compiler->next != ')')
        return false;
    compiler->next++;
    return true;
}

static bool take_operand(struct compiler *compiler)
{
    skip_blanks(compiler);
    const char *next = compiler->next;
    bool is_not = is_word(next, name_length(next), "not");
    if (is_not || *next == '-') {
        compiler->next += is_not ? strlen("not") : 1;
        bool taken = take_expression(compiler, UNARY_PRIORITY);
        (void)add_step(compiler, is_not ? DO_NOT : DO_NEGATE);
        return taken;
    }
    if (*next == '(')
        return take_parentheses(compiler);
    if (*next == '"' || *next == '\'')
        return take_word(compiler);
    if (isdigit((unsigned char)*next) || *next == '.')
        return take_number(compiler);
    return take_name(compiler);
}

struct operator_entry {
    enum operation operation;
    const char *text;
    int left, right;
};

/* The binary operator that comes next; NULL where there is none. */
static const struct operator_entry *next_operator(struct compiler *compiler)
{
    static const struct operator_entry operators[] = {
#define X(name, text, left, right) {DO_##name, text, left, right},
        OPERATORS(X)
#undef X
    };
    skip_blanks(compiler);
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
        size_t length = strlen(operators[i].text);
        bool is_name = isalpha((unsigned char)operators[i].text[0]) != 0;
        if (strncmp(compiler->next, operators[i].text, length) == 0 &&
            (!is_name || name_length(compiler->next) == length))
            return &operators[i];
    }
    return NULL;
}

/* Where both operands are constants, the operation is one, too. */
static bool fold(struct compiler *compiler, size_t start, enum operation operation)
{
    struct expression_code *code = compiler->code;
    if (code->count != start + 2)
        return false;
    struct step *left = &code->steps[start];
    const struct step *right = &code->steps[start + 1];
    if (left->operation != DO_LOAD || left->source != FROM_CONSTANT ||
        right->operation != DO_LOAD || right->source != FROM_CONSTANT ||
        !is_number(&left->constant) || is_comparison(operation) ||
        !compute(operation, &left->constant, &right->constant))
        return false;
    code->count--;
    return true;
}

/* The operation on what lies on the stack, of which the right operand's steps begin at `start`. A
 * right operand that is a mere load becomes part of the operation. */
static void add_operation(struct compiler *compiler, size_t start, enum operation operation)
{
    struct expression_code *code = compiler->code;
    struct step *last = &code->steps[code->count - 1];
    compiler->depth--;
    if (code->count == start + 1 && last->operation == DO_LOAD)
        last->operation = operation;
    else
        add_step(compiler, operation)->source = FROM_STACK;
}

/* The right operand of `operator`, and the operation; `start` is where the left one's steps begin.
 */
static bool take_right(struct compiler *compiler, size_t start,
                       const struct operator_entry *operator)
{
    struct expression_code *code = compiler->code;
    compiler->next += strlen(operator->text);
    if (operator->operation == DO_AND || operator->operation == DO_OR) {
        size_t branch = code->count;
        (void)add_step(compiler, operator->operation);
        compiler->depth--;
        if (!take_expression(compiler, operator->right))
            return false;
        code->steps[branch].index = code->count;
        return true;
    }
    size_t right = code->count;
    if (!take_expression(compiler, operator->right))
        return false;
    if (fold(compiler, start, operator->operation))
        compiler->depth--;
    else
        add_operation(compiler, right, operator->operation);
    return true;
}

/* As much as binds more tightly than `limit`. */
static bool take_expression(struct compiler *compiler, int limit)
{
    size_t start = compiler->code->count;
    if (!take_operand(compiler))
        return false;
    for (;;) {
        const struct operator_entry *operator= next_operator(compiler);
        if (operator== NULL || operator->left <= limit)
            return true;
        if (!take_right(compiler, start, operator))
            return false;
    }
}

/* NOLINTEND(misc-no-recursion) */

struct expression_code *expression_code_new(const struct expression_text *source)
{
    struct expression_code *code = alloc_zeroed(1, sizeof *code);
    struct compiler compiler = {.source = source, .next = source->text, .code = code};
    bool taken = take_expression(&compiler, 0);
    if (taken && *compiler.next == '\0')
        return code;
    expression_code_free(code);
    return NULL;
}

void expression_code_free(struct expression_code *code)
{
    if (code == NULL)
        return;
    for (size_t i = 0; i < code->count; i++)
        if (code->steps[i].source == FROM_CONSTANT && code->steps[i].constant.kind == VALUE_WORD)
            free((char *)code->steps[i].constant.as.word);
    free(code->steps);
    free(code);
}
