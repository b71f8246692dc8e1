#include "base/decision_parser.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct decision_operand decision_fail(struct decision_parser *parser, const char *format, ...)
{
    va_list arguments;
    if (parser->message[0] == '\0') {
        va_start(arguments, format);
        (void)vsnprintf(parser->message, DECISION_MESSAGE_BYTES, format, arguments);
        va_end(arguments);
    }
    return wrong;
}

bool decision_has_failed(const struct decision_parser *parser)
{
    return parser->message[0] != '\0';
}

size_t decision_arity(enum decision_operation operation)
{
    static const size_t arities[] = {0, 0, 0, 1,
#define X(name, arity, result) (arity),
                                     DECISION_OPERATIONS(X)
#undef X
    };
    return arities[operation];
}

/* Where the operand that ends before step `end` begins. */
static size_t operand_begin(const struct decision_program *program, size_t end)
{
    size_t missing = 1;
    while (missing > 0)
        missing = missing - 1 + decision_arity(program->steps[--end].operation);
    return end;
}

static bool keeps_figures(const struct decision_program *program, size_t begin, size_t end)
{
    bool keeps = false;
    for (size_t i = begin; i < end; i++)
        keeps = keeps || program->steps[i].operation == DECISION_KEEP;
    return keeps;
}

/* Leaves only one of the alternatives of the SELECT at the end if its condition is known. */
static void fold_alternatives(struct decision_program *program)
{
    struct decision_step *steps = program->steps;
    size_t end = program->count - 1;
    size_t second = operand_begin(program, end);
    size_t first = operand_begin(program, second);
    const struct decision_step *known = &steps[first - 1];
    if (known->operation != DECISION_PUSH)
        return;
    bool holds = known->number > 0;
    if (keeps_figures(program, holds ? second : first, holds ? end : second))
        return; /* others may take them */
    size_t count = holds ? second - first : end - second;
    memmove(&steps[first - 1], &steps[holds ? first : second], count * sizeof *steps);
    program->count = first - 1 + count;
}

/* Takes out a product with 1, or a quotient by 1. */
static bool fold_one(struct decision_program *program)
{
    enum decision_operation operation = program->steps[program->count - 1].operation;
    const struct decision_step *second = &program->steps[program->count - 2];
    if ((operation != DECISION_MULTIPLY && operation != DECISION_DIVIDE) ||
        second->operation != DECISION_PUSH || !(second->number >= 1 && second->number <= 1))
        return false;
    program->count -= 2;
    return true;
}

/* Computes what depends on no value, so that a look-up need not. */
static void fold(struct decision_program *program, size_t arity)
{
    if (arity == 0)
        return;
    struct decision_step *first = &program->steps[program->count - 1 - arity];
    if (program->steps[program->count - 1].operation == DECISION_SELECT) {
        fold_alternatives(program);
        return;
    }
    if (arity == 2 && fold_one(program))
        return;
    for (size_t i = 0; i < arity; i++)
        if (first[i].operation != DECISION_PUSH)
            return;
    double result = decision_evaluate(first, arity + 1, NULL, NULL);
    *first = (struct decision_step){.operation = DECISION_PUSH, .number = result};
    program->count -= arity;
}

void decision_emit(struct decision_parser *parser, struct decision_step step)
{
    struct decision_program *program = parser->program;
    size_t arity = decision_arity(step.operation);
    parser->stack += arity == 0;
    if (parser->stack > DECISION_DEPTH || program->count == program->room)
        (void)decision_fail(parser, "it is too long");
    if (decision_has_failed(parser))
        return;
    program->steps[program->count++] = step;
    parser->stack -= arity > 0 ? arity - 1 : 0;
    fold(program, arity);
}

struct decision_operand decision_emit_operation(struct decision_parser *parser,
                                                enum decision_operation operation,
                                                struct decision_operand result)
{
    decision_emit(parser, (struct decision_step){.operation = operation});
    return result;
}

struct decision_operand decision_emit_number(struct decision_parser *parser, double value,
                                             struct decision_operand result)
{
    decision_emit(parser, (struct decision_step){.operation = DECISION_PUSH, .number = value});
    return result;
}

void decision_forget(struct decision_program *program)
{
    memset(program->kept, 0, sizeof program->kept);
}

void decision_skip_blanks(struct decision_parser *parser)
{
    parser->at += strspn(parser->at, " \t");
}

size_t decision_letters(const char *text)
{
    return *text >= 'a' && *text <= 'z' ? strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_") : 0;
}

bool decision_take(struct decision_parser *parser, const char *token)
{
    size_t length = strlen(token);
    size_t letters = decision_letters(token);
    decision_skip_blanks(parser);
    if (strncmp(parser->at, token, length) != 0 ||
        (letters > 0 && decision_letters(parser->at) != length))
        return false;
    parser->at += length;
    if (++parser->program->tokens > DECISION_TOKENS)
        (void)decision_fail(parser, "it is too long");
    return true;
}

/* Says where `what` holds: before the rest of the text. */
static struct decision_operand need(struct decision_parser *parser, const char *what)
{
    decision_skip_blanks(parser);
    return *parser->at == '\0' ? decision_fail(parser, "%s at the end", what)
                               : decision_fail(parser, "%s before '%.40s'", what, parser->at);
}

struct decision_operand decision_expect(struct decision_parser *parser, const char *sign,
                                        struct decision_operand result)
{
    char what[32];
    if (decision_take(parser, sign))
        return result;
    (void)snprintf(what, sizeof what, "'%s' is missing", sign);
    return need(parser, what);
}
bool decision_is_condition(struct decision_parser *parser, struct decision_operand operand)
{
    static const struct {
        const char *word;
        bool value;
    } words[] = {{"yes", true}, {"true", true}, {"no", false}, {"false", false}};
    if (operand.type == CONDITION)
        return true;
    for (size_t i = 0; operand.type == WORD && i < sizeof words / sizeof *words; i++)
        if (strlen(words[i].word) == operand.letters &&
            strncmp(words[i].word, operand.word, operand.letters) == 0) {
            (void)decision_emit_number(parser, words[i].value, condition);
            return true;
        }
    (void)need(parser, "a condition is needed");
    return false;
}

bool decision_is_number(struct decision_parser *parser, struct decision_operand operand)
{
    if (operand.type != NUMBER)
        (void)need(parser, "a number is needed");
    return operand.type == NUMBER;
}
