/*
 * Parts of a translation, and what puts them together as our expressions are written: for
 * python_translate.c. Functions that return int return 0, or ERROR_CONFIG with the node's text; on
 * failure a piece is still to be released.
 */
#ifndef AUTOTUNE_PYTHON_PIECES_H
#define AUTOTUNE_PYTHON_PIECES_H

#include "base/error.h"
#include "exchange/python_names.h"
#include "exchange/python_node.h"

enum piece_kind { PIECE_NUMBER, PIECE_WORD, PIECE_CONDITION };

/* How tightly the outermost operator of a text binds, in our expressions. */
enum piece_priority {
    PIECE_CHOOSES,
    PIECE_ORS,
    PIECE_ANDS,
    PIECE_COMPARES,
    PIECE_ADDS,
    PIECE_MULTIPLIES,
    PIECE_NEGATES,
    PIECE_RAISES,
    PIECE_ATOM,
};

/* A translated part. */
struct piece {
    char *text;
    enum piece_kind kind;
    enum piece_priority priority;
};

struct translation {
    const struct python_names *names;
    struct error *error;
};

int piece_fail(const struct translation *translation, const struct python_node *node,
               const char *reason);
void piece_release(struct piece *piece);

/* Makes a piece of the formatted text, which must not outgrow an expression. `piece` may be among
 * the arguments. */
int piece_put(const struct translation *translation, const struct python_node *node,
              struct piece *piece, enum piece_kind kind, enum piece_priority priority,
              const char *format, ...) __attribute__((format(printf, 6, 7)));

/* A number, or a string's word. */
int piece_put_constant(const struct translation *translation, const struct python_node *node,
                       const struct python_value *value, struct piece *piece);

/* A name; piece_find_name() returns NULL if it is unknown. */
const struct python_name *piece_find_name(const struct translation *translation, const char *text);
int piece_put_name(const struct translation *translation, const struct python_node *node,
                   const char *text, struct piece *piece);

/* Puts parentheses around a piece that does not bind as tightly as `least`. */
int piece_bracket(const struct translation *translation, const struct python_node *node,
                  struct piece *piece, enum piece_priority least);

/* A condition becomes 1 or 0; a number becomes whether it is not 0. */
int piece_make_number(const struct translation *translation, const struct python_node *node,
                      struct piece *piece);
int piece_make_condition(const struct translation *translation, const struct python_node *node,
                         struct piece *piece);

/* `left operation right` of numbers and words. */
int piece_compare(const struct translation *translation, const struct python_node *node,
                  enum python_operation operation, const struct piece *left,
                  const struct piece *right, struct piece *piece);

/* Joins `more`, a condition, to `piece` with `and` or `or`. An empty piece becomes `more`. */
int piece_join(const struct translation *translation, const struct python_node *node, bool all,
               struct piece *piece, struct piece *more);

/* The node's operator on two numbers; and &, | and ^ of conditions. */
int piece_join_numbers(const struct translation *translation, const struct python_node *node,
                       struct piece *left, struct piece *right, struct piece *piece);
int piece_join_conditions(const struct translation *translation, const struct python_node *node,
                          struct piece *left, struct piece *right, struct piece *piece);

/* `condition ? chosen : other` */
int piece_put_choice(const struct translation *translation, const struct python_node *node,
                     struct piece *condition, struct piece *chosen, struct piece *other,
                     struct piece *piece);

#endif
