/*
 * What the files of the parser of base/decision.h share: decision_parser.c has the tokens, the steps
 * and the types, decision_operand.c operands, decision_compile.c operators.
 *
 * A function that fails stores its message in the parser, which keeps the first one; the caller can
 * continue, or ask decision_has_failed().
 */
#ifndef AUTOTUNE_DECISION_PARSER_H
#define AUTOTUNE_DECISION_PARSER_H

#include "base/decision.h"

#include <stdbool.h>
#include <stddef.h>

/* CHOICE: "c and a" with a number a, whose steps are those of c and a; "or b" has to follow. */
enum decision_operand_type { WRONG, NUMBER, CONDITION, WORD, CHOICE };

/* What a part of the text is; its steps are in the program, unless it is a word. */
struct decision_operand {
    enum decision_operand_type type;
    const char *word;
    size_t letters;
};

static const struct decision_operand wrong = {WRONG, NULL, 0};
static const struct decision_operand number = {NUMBER, NULL, 0};
static const struct decision_operand condition = {CONDITION, NULL, 0};

struct decision_parser {
    const struct decision_scope *scope;
    struct decision_program *program;
    size_t configuration;
    size_t figure;  /* that is being parsed; SIZE_MAX: a line */
    const char *at; /* the rest of the text */
    size_t nesting, stack;
    char *message; /* "": nothing is wrong yet */
};

/* Keeps the message if it is the first, and returns `wrong`. */
struct decision_operand decision_fail(struct decision_parser *parser, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
bool decision_has_failed(const struct decision_parser *parser);

/* How many values an operation takes. */
size_t decision_arity(enum decision_operation operation);

/* Add a step, or its value if its operands are known. The last two return `result`. */
void decision_emit(struct decision_parser *parser, struct decision_step step);
struct decision_operand decision_emit_operation(struct decision_parser *parser,
                                                enum decision_operation operation,
                                                struct decision_operand result);
struct decision_operand decision_emit_number(struct decision_parser *parser, double value,
                                             struct decision_operand result);

void decision_skip_blanks(struct decision_parser *parser);

/* The letters of the name that `text` begins with; 0 if it begins with none. */
size_t decision_letters(const char *text);

/* Takes `token`, a sign or a word of the language, if it is next. */
bool decision_take(struct decision_parser *parser, const char *token);

/* The same for a sign that must be next; returns `result`. */
struct decision_operand decision_expect(struct decision_parser *parser, const char *sign,
                                        struct decision_operand result);

/* Fail if the operand is of another type. A word that is a condition (yes, true, no, false) becomes
 * one. */
bool decision_is_condition(struct decision_parser *parser, struct decision_operand operand);
bool decision_is_number(struct decision_parser *parser, struct decision_operand operand);

/* A number, word, name, function or expression in parentheses; a whole expression. */
struct decision_operand decision_parse_operand(struct decision_parser *parser);
struct decision_operand decision_parse(struct decision_parser *parser);

#endif
