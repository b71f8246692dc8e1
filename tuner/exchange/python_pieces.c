#include "exchange/python_pieces.h"

#include "base/alloc.h"
#include "base/expression.h"
#include "base/literal.h"
#include "base/suggestion.h"
#include "exchange/python.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

int piece_fail(const struct translation *translation, const struct python_node *node,
               const char *reason)
{
    (void)error_set(translation->error, ERROR_CONFIG, "'%.*s' %s", PYTHON_TEXT(node), reason);
    return ERROR_CONFIG;
}

void piece_release(struct piece *piece)
{
    free(piece->text);
    *piece = (struct piece){0};
}

/* Makes a piece of the formatted text, which must not outgrow an expression. */
int piece_put(const struct translation *translation, const struct python_node *node,
              struct piece *piece, enum piece_kind kind, enum piece_priority priority,
              const char *format, ...)
{
    char text[EXPRESSION_TEXT_LIMIT + 1];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (length < 0 || (size_t)length >= sizeof text)
        return piece_fail(translation, node, "is too long; split the condition");
    char *made = alloc_string(text); /* `piece` may be among the arguments */
    piece_release(piece);
    *piece = (struct piece){made, kind, priority};
    return 0;
}

/* Puts parentheses around a piece that does not bind as tightly as `least`, or begins with a sign
 * behind an operator. */
int piece_bracket(const struct translation *translation, const struct python_node *node,
                  struct piece *piece, enum piece_priority least)
{
    bool sign = piece->text[0] == '-' && least > PIECE_ADDS;
    if (piece->priority >= least && !sign)
        return 0;
    return piece_put(translation, node, piece, piece->kind, PIECE_ATOM, "(%s)", piece->text);
}

/* A condition as 1 or 0. */
int piece_make_number(const struct translation *translation, const struct python_node *node,
                      struct piece *piece)
{
    if (piece->kind == PIECE_WORD)
        return piece_fail(translation, node, "is a string where a number is needed");
    if (piece->kind == PIECE_NUMBER)
        return 0;
    if (node->kind == PYTHON_BOOLEAN)
        return piece_put(translation, node, piece, PIECE_NUMBER, PIECE_ATOM, "%d",
                         (int)node->integer);
    int status = piece_bracket(translation, node, piece, PIECE_ORS);
    return status != 0 ? status
                       : piece_put(translation, node, piece, PIECE_NUMBER, PIECE_ATOM,
                                   "(%s ? 1 : 0)", piece->text);
}

/* A number as whether it is not 0. */
int piece_make_condition(const struct translation *translation, const struct python_node *node,
                         struct piece *piece)
{
    if (piece->kind == PIECE_WORD)
        return piece_fail(translation, node, "is a string where a condition is needed");
    if (piece->kind == PIECE_CONDITION)
        return 0;
    int status = piece_bracket(translation, node, piece, PIECE_ADDS);
    return status != 0 ? status
                       : piece_put(translation, node, piece, PIECE_CONDITION, PIECE_COMPARES,
                                   "%s != 0", piece->text);
}

static int put_real(const struct translation *translation, const struct python_node *node,
                    double real, struct piece *piece)
{
    char text[LITERAL_REAL_BYTES];
    (void)literal_real_text(real, text);
    const char *point = strpbrk(text, ".e") == NULL ? ".0" : "";
    return piece_put(translation, node, piece, PIECE_NUMBER, PIECE_ATOM, "%s%s", text, point);
}

int piece_put_constant(const struct translation *translation, const struct python_node *node,
                       const struct python_value *value, struct piece *piece)
{
    switch (value->kind) {
    case PYTHON_IS_INTEGER:
        return piece_put(translation, node, piece, PIECE_NUMBER,
                         value->integer < 0 ? PIECE_NEGATES : PIECE_ATOM, "%" PRId64,
                         value->integer);
    case PYTHON_IS_REAL:
        return put_real(translation, node, value->real, piece);
    case PYTHON_IS_STRING:
        return piece_put(translation, node, piece, PIECE_WORD, PIECE_ATOM, "\"%s\"",
                         words_of(translation->names->words, value->string));
    default:
        return piece_fail(translation, node, "is a list");
    }
}

const struct python_name *piece_find_name(const struct translation *translation, const char *text)
{
    const struct python_names *names = translation->names;
    for (size_t i = 0; i < names->count; i++)
        if (strcmp(names->items[i].theirs, text) == 0)
            return &names->items[i];
    return NULL;
}

static int unknown_name(const struct translation *translation, const char *name)
{
    const char **known = alloc_zeroed(translation->names->count + 1, sizeof *known);
    for (size_t i = 0; i < translation->names->count; i++)
        known[i] = translation->names->items[i].theirs;
    int status = suggestion_unknown("", 0, "name", name, known, translation->error);
    free(known);
    return status;
}

int piece_put_name(const struct translation *translation, const struct python_node *node,
                   const char *text, struct piece *piece)
{
    const struct python_name *name = piece_find_name(translation, text);
    if (name == NULL)
        return unknown_name(translation, text);
    return piece_put(translation, node, piece, name->is_word ? PIECE_WORD : PIECE_NUMBER,
                     PIECE_ATOM, "%s", name->ours);
}

/* One of a chain, `left operation right`, with `operation` as our expressions write it. */
int piece_compare(const struct translation *translation, const struct python_node *node,
                  enum python_operation operation, const struct piece *left,
                  const struct piece *right, struct piece *piece)
{
    bool equality = operation == PYTHON_EQUAL || operation == PYTHON_DIFFERENT;
    if (left->kind != right->kind && equality)
        return piece_put(translation, node, piece, PIECE_CONDITION, PIECE_ATOM, "%s",
                         operation == PYTHON_EQUAL ? "false" : "true");
    if (!equality && (left->kind == PIECE_WORD || right->kind == PIECE_WORD))
        return piece_fail(translation, node, "orders strings");
    return piece_put(translation, node, piece, PIECE_CONDITION, PIECE_COMPARES, "%s %s %s",
                     left->text, python_operation_text(operation), right->text);
}

/* Joins `more` to `piece` with `and` or `or`. */
int piece_join(const struct translation *translation, const struct python_node *node, bool all,
               struct piece *piece, struct piece *more)
{
    enum piece_priority priority = all ? PIECE_ANDS : PIECE_ORS;
    if (piece->text == NULL) {
        *piece = *more;
        *more = (struct piece){0};
        return 0;
    }
    int status = piece_bracket(translation, node, piece, priority);
    if (status == 0)
        status = piece_bracket(translation, node, more, priority);
    return status != 0 ? status
                       : piece_put(translation, node, piece, PIECE_CONDITION, priority, "%s %s %s",
                                   piece->text, all ? "and" : "or", more->text);
}

/* How a binary operator of numbers is written: "%s" twice, and its priority. */
static const struct arithmetic {
    enum python_operation operation;
    enum piece_priority left, right; /* what the operands must bind as tightly as */
    enum piece_priority priority;
    const char *text;
} arithmetics[] = {
    {PYTHON_ADD, PIECE_ADDS, PIECE_MULTIPLIES, PIECE_ADDS, " + "},
    {PYTHON_SUBTRACT, PIECE_ADDS, PIECE_MULTIPLIES, PIECE_ADDS, " - "},
    {PYTHON_MULTIPLY, PIECE_MULTIPLIES, PIECE_NEGATES, PIECE_MULTIPLIES, " * "},
    {PYTHON_DIVIDE, PIECE_MULTIPLIES, PIECE_NEGATES, PIECE_MULTIPLIES, " / "},
    {PYTHON_FLOOR_DIVIDE, PIECE_MULTIPLIES, PIECE_NEGATES, PIECE_MULTIPLIES, " // "},
    {PYTHON_MODULO, PIECE_MULTIPLIES, PIECE_NEGATES, PIECE_MULTIPLIES, " % "},
    {PYTHON_POWER, PIECE_ATOM, PIECE_ATOM, PIECE_RAISES, " ^ "},
    {PYTHON_SHIFT_LEFT, PIECE_MULTIPLIES, PIECE_ATOM, PIECE_MULTIPLIES, " * 2 ^ "},
    {PYTHON_SHIFT_RIGHT, PIECE_MULTIPLIES, PIECE_ATOM, PIECE_MULTIPLIES, " // 2 ^ "},
};

int piece_join_numbers(const struct translation *translation, const struct python_node *node,
                       struct piece *left, struct piece *right, struct piece *piece)
{
    const struct arithmetic *found = NULL;
    for (size_t i = 0; i < sizeof arithmetics / sizeof *arithmetics; i++)
        if (arithmetics[i].operation == node->operation)
            found = &arithmetics[i];
    if (found == NULL)
        return piece_fail(translation, node,
                          "has an operator on bits, which autotune does not have");
    int status = piece_bracket(translation, node, left, found->left);
    if (status == 0)
        status = piece_bracket(translation, node, right, found->right);
    return status != 0 ? status
                       : piece_put(translation, node, piece, PIECE_NUMBER, found->priority,
                                   "%s%s%s", left->text, found->text, right->text);
}

/* &, | and ^ of conditions. */
int piece_join_conditions(const struct translation *translation, const struct python_node *node,
                          struct piece *left, struct piece *right, struct piece *piece)
{
    if (node->operation != PYTHON_BIT_XOR) {
        int status = piece_join(translation, node, node->operation == PYTHON_BIT_AND, left, right);
        *piece = *left;
        *left = (struct piece){0};
        return status;
    }
    int status = piece_make_number(translation, node, left);
    if (status == 0)
        status = piece_make_number(translation, node, right);
    return status != 0 ? status
                       : piece_put(translation, node, piece, PIECE_CONDITION, PIECE_COMPARES,
                                   "%s != %s", left->text, right->text);
}

int piece_put_choice(const struct translation *translation, const struct python_node *node,
                     struct piece *condition, struct piece *chosen, struct piece *other,
                     struct piece *piece)
{
    int status = 0;
    if (chosen->kind != other->kind) {
        status = piece_make_number(translation, node, chosen);
        if (status == 0)
            status = piece_make_number(translation, node, other);
    }
    if (status == 0)
        status = piece_bracket(translation, node, condition, PIECE_ORS);
    if (status == 0)
        status = piece_bracket(translation, node, chosen, PIECE_ORS);
    if (status == 0)
        status = piece_bracket(translation, node, other, PIECE_ORS);
    return status != 0 ? status
                       : piece_put(translation, node, piece, chosen->kind, PIECE_CHOOSES,
                                   "%s ? %s : %s", condition->text, chosen->text, other->text);
}
