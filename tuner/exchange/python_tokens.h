/* The text of a Python expression, token by token, and its nodes: for python.c. */
#ifndef AUTOTUNE_PYTHON_TOKENS_H
#define AUTOTUNE_PYTHON_TOKENS_H

#include "base/error.h"
#include "exchange/python_node.h"

struct python_parser {
    struct python *python;
    const char *next; /* never at a blank */
    const char *last; /* the end of what was taken last */
    struct error *error;
    int depth;
};

bool token_is_letter(char c);
bool token_is_word_part(char c);

/* Goes on by `length` bytes, and the blanks behind them. */
void token_take(struct python_parser *parser, size_t length);

/* Whether `text`, a whole word or an operator, comes next; token_take_text() takes it if so. */
bool token_is(const struct python_parser *parser, const char *text);
bool token_take_text(struct python_parser *parser, const char *text);

/* ERROR_CONFIG: something else comes next than what is `wanted`. */
int token_unexpected(const struct python_parser *parser, const char *wanted);

/* Around what may nest: 0, or ERROR_CONFIG if it is too deep. */
int token_enter(struct python_parser *parser);
void token_leave(struct python_parser *parser);

/* A new node from `start` to what was taken last; and one more child, up to there. */
struct python_node *token_node(struct python_parser *parser, enum python_kind kind,
                               const char *start);
void token_adopt(const struct python_parser *parser, struct python_node *node,
                 struct python_node *child);

/* The number or string that comes next. */
int token_take_number(struct python_parser *parser, struct python_node **operand);
int token_take_string(struct python_parser *parser, struct python_node **operand);

#endif
