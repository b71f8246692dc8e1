#include "exchange/python_translate.h"

#include "base/alloc.h"
#include "exchange/python.h"
#include "exchange/python_evaluate.h"
#include "exchange/python_pieces.h"
#include "template/expression.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* NOLINTBEGIN(misc-no-recursion): as deep as the parser allows */
static int take_value(const struct translation *translation, const struct python_node *node,
                      struct piece *piece);
static int take_condition(const struct translation *translation, const struct python_node *node,
                          struct piece *piece);

static int take_number(const struct translation *translation, const struct python_node *node,
                       struct piece *piece)
{
    int status = take_value(translation, node, piece);
    return status != 0 ? status : piece_make_number(translation, node, piece);
}

/* Whether the node is `and` or `or`. */
static bool is_logical(const struct python_node *node)
{
    return node->kind == PYTHON_BINARY &&
           (node->operation == PYTHON_AND || node->operation == PYTHON_OR);
}

/* ProblemSize[0] is a name as well. */
static int take_index(const struct translation *translation, const struct python_node *node,
                      struct piece *piece)
{
    const struct python_node *list = node->children[0];
    const struct python_node *index = node->children[1];
    if (list->kind != PYTHON_NAME || index->kind != PYTHON_INTEGER)
        return piece_fail(translation, node, "cannot be translated");
    char *text = alloc_format("%s[%" PRId64 "]", list->text, index->integer);
    int status = piece_put_name(translation, node, text, piece);
    free(text);
    return status;
}

/* --- comparisons --- */

/* An operand of a comparison: a number or a word. */
static int take_compared(const struct translation *translation, const struct python_node *node,
                         struct piece *piece)
{
    int status = take_value(translation, node, piece);
    if (status == 0 && piece->kind == PIECE_CONDITION)
        status = piece_make_number(translation, node, piece);
    return status != 0 ? status : piece_bracket(translation, node, piece, PIECE_ADDS);
}

/* `left in (a, b)` as `left == a or left == b`, and `not in` as `left != a and left != b`. */
static int compare_items(const struct translation *translation, const struct python_node *node,
                         bool in, const struct piece *left, struct piece *items, size_t count,
                         struct piece *piece)
{
    int status = 0;
    for (size_t i = 0; i < count && status == 0; i++) {
        struct piece pair = {0};
        status = piece_compare(translation, node, in ? PYTHON_EQUAL : PYTHON_DIFFERENT, left,
                               &items[i], &pair);
        if (status == 0)
            status = piece_join(translation, node, !in, piece, &pair);
        piece_release(&pair);
    }
    if (count == 0)
        status = piece_put(translation, node, piece, PIECE_CONDITION, PIECE_ATOM, "%s",
                           in ? "false" : "true");
    return status;
}

/* The items of a list that is written out, or that can be evaluated, such as range(4). */
static int take_items(const struct translation *translation, const struct python_node *list,
                      struct piece **items, size_t *count)
{
    struct python_value value = {0};
    int status = 0;
    if (list->kind == PYTHON_LIST) {
        for (size_t i = 0; i < list->count && status == 0; i++)
            status = take_compared(translation, list->children[i], ARRAY_APPEND(*items, *count));
        return status;
    }
    status = python_evaluate(list, &value, translation->error);
    if (status == 0 && value.kind != PYTHON_IS_LIST)
        status = piece_fail(translation, list, "is not a list");
    for (size_t i = 0; i < value.count && status == 0; i++)
        status =
            piece_put_constant(translation, list, &value.items[i], ARRAY_APPEND(*items, *count));
    python_value_release(&value);
    return status;
}

static int compare_list(const struct translation *translation, const struct python_node *node,
                        bool in, const struct piece *left, const struct python_node *list,
                        struct piece *piece)
{
    struct piece *items = NULL;
    size_t count = 0;
    int status = take_items(translation, list, &items, &count);
    if (status == 0)
        status = compare_items(translation, node, in, left, items, count, piece);
    for (size_t i = 0; i < count; i++)
        piece_release(&items[i]);
    free(items);
    return status;
}

/* a < b <= c as `a < b and b <= c`. */
static int take_chain(const struct translation *translation, const struct python_node *node,
                      struct piece *piece)
{
    struct piece left = {0};
    int status = take_compared(translation, node->children[0], &left);
    for (size_t i = 0; i < node->operation_count && status == 0; i++) {
        enum python_operation operation = node->operations[i];
        const struct python_node *other = node->children[i + 1];
        struct piece right = {0};
        struct piece pair = {0};
        if (operation == PYTHON_IN || operation == PYTHON_NOT_IN) {
            status = compare_list(translation, node, operation == PYTHON_IN, &left, other, &pair);
            if (status == 0 && i + 1 < node->operation_count)
                status = piece_fail(translation, node, "compares a list");
        } else {
            status = take_compared(translation, other, &right);
            if (status == 0)
                status = piece_compare(translation, node, operation, &left, &right, &pair);
        }
        if (status == 0)
            status = piece_join(translation, node, true, piece, &pair);
        piece_release(&pair);
        piece_release(&left);
        left = right;
    }
    piece_release(&left);
    return status;
}

/* --- operators --- */

static int take_not(const struct translation *translation, const struct python_node *node,
                    struct piece *piece)
{
    const struct python_node *inner = node->children[0];
    int status = (is_logical(inner) ? take_condition : take_value)(translation, inner, piece);
    if (status == 0 && piece->kind == PIECE_NUMBER) {
        status = piece_bracket(translation, node, piece, PIECE_ADDS);
        return status != 0 ? status
                           : piece_put(translation, node, piece, PIECE_CONDITION, PIECE_COMPARES,
                                       "%s == 0", piece->text);
    }
    if (status == 0)
        status = piece_make_condition(translation, inner, piece);
    return status != 0 ? status
                       : piece_put(translation, node, piece, PIECE_CONDITION, PIECE_NEGATES,
                                   "not (%s)", piece->text);
}

static int take_sign(const struct translation *translation, const struct python_node *node,
                     struct piece *piece)
{
    int status = take_number(translation, node->children[0], piece);
    if (status != 0 || node->operation == PYTHON_PLUS)
        return status;
    status = piece_bracket(translation, node, piece, PIECE_RAISES);
    return status != 0 ? status
                       : piece_put(translation, node, piece, PIECE_NUMBER, PIECE_NEGATES, "-%s",
                                   piece->text);
}

static int take_arithmetic(const struct translation *translation, const struct python_node *node,
                           struct piece *piece)
{
    bool bits = node->operation == PYTHON_BIT_AND || node->operation == PYTHON_BIT_OR ||
                node->operation == PYTHON_BIT_XOR;
    struct piece left = {0};
    struct piece right = {0};
    int status = take_value(translation, node->children[0], &left);
    if (status == 0)
        status = take_value(translation, node->children[1], &right);
    if (status == 0 && bits && left.kind == PIECE_CONDITION && right.kind == PIECE_CONDITION) {
        status = piece_join_conditions(translation, node, &left, &right, piece);
    } else if (status == 0) {
        status = piece_make_number(translation, node->children[0], &left);
        if (status == 0)
            status = piece_make_number(translation, node->children[1], &right);
        if (status == 0)
            status = piece_join_numbers(translation, node, &left, &right, piece);
    }
    piece_release(&left);
    piece_release(&right);
    return status;
}

static int take_choice(const struct translation *translation, const struct python_node *node,
                       struct piece *piece)
{
    struct piece parts[3] = {{0}};
    int status = take_condition(translation, node->children[0], &parts[0]);
    for (size_t i = 1; i < 3 && status == 0; i++)
        status = take_value(translation, node->children[i], &parts[i]);
    if (status == 0)
        status = piece_put_choice(translation, node, &parts[0], &parts[1], &parts[2], piece);
    for (size_t i = 0; i < 3; i++)
        piece_release(&parts[i]);
    return status;
}

/* `and` and `or` where the value of an operand is wanted: a or b is (a != 0 ? a : b). */
static int take_logical_value(const struct translation *translation, const struct python_node *node,
                              struct piece *piece)
{
    bool all = node->operation == PYTHON_AND;
    struct piece left = {0};
    struct piece right = {0};
    struct piece condition = {0};
    int status = take_value(translation, node->children[0], &left);
    if (status == 0)
        status = take_value(translation, node->children[1], &right);
    if (status == 0)
        status = take_condition(translation, node->children[0], &condition);
    if (status == 0 && left.kind == PIECE_CONDITION && right.kind == PIECE_CONDITION) {
        status = piece_join(translation, node, all, &left, &right);
        *piece = left;
        left = (struct piece){0};
    } else if (status == 0) {
        status = piece_put_choice(translation, node, &condition, all ? &right : &left,
                                  all ? &left : &right, piece);
    }
    piece_release(&left);
    piece_release(&right);
    piece_release(&condition);
    return status;
}

static int take_logical_condition(const struct translation *translation,
                                  const struct python_node *node, struct piece *piece)
{
    struct piece right = {0};
    int status = take_condition(translation, node->children[0], piece);
    if (status == 0)
        status = take_condition(translation, node->children[1], &right);
    if (status == 0)
        status = piece_join(translation, node, node->operation == PYTHON_AND, piece, &right);
    piece_release(&right);
    return status;
}

/* --- functions --- */

/* all([…]) and any([…]) */
static int call_all(const struct translation *translation, const struct python_node *node,
                    struct piece *piece)
{
    bool all = strcmp(node->text, "all") == 0;
    const struct python_node *list = node->children[0];
    if (node->count != 1 || list->kind != PYTHON_LIST || list->count == 0)
        return piece_fail(translation, node, "cannot be translated");
    int status = 0;
    for (size_t i = 0; i < list->count && status == 0; i++) {
        struct piece item = {0};
        status = take_condition(translation, list->children[i], &item);
        if (status == 0)
            status = piece_join(translation, node, all, piece, &item);
        piece_release(&item);
    }
    return status;
}

/* min(…) and max(…), also of a list. */
static int call_extreme(const struct translation *translation, const struct python_node *node,
                        struct piece *piece)
{
    bool of_list = node->count == 1 && node->children[0]->kind == PYTHON_LIST;
    const struct python_node *list = of_list ? node->children[0] : node;
    struct piece text = {0};
    int status =
        list->count < (of_list ? 1U : 2U) ? piece_fail(translation, node, "has no list") : 0;
    for (size_t i = 0; i < list->count && status == 0; i++) {
        struct piece item = {0};
        status = take_number(translation, list->children[i], &item);
        if (status == 0)
            status = piece_put(translation, node, &text, PIECE_NUMBER, PIECE_ATOM, "%s%s%s",
                               i > 0 ? text.text : "", i > 0 ? ", " : "", item.text);
        piece_release(&item);
    }
    if (status == 0)
        status = piece_put(translation, node, piece, PIECE_NUMBER, PIECE_ATOM, "%s(%s)", node->text,
                           text.text);
    piece_release(&text);
    return status;
}

/* max(filter_width): the largest of the parameter's values. */
static int call_extreme_of_name(const struct translation *translation,
                                const struct python_node *node, const struct python_name *name,
                                struct piece *piece)
{
    const struct python_value *values = name->values;
    const struct python_value *best = &values->items[0];
    for (size_t i = 0; i < values->count; i++) {
        const struct python_value *item = &values->items[i];
        if (item->kind != PYTHON_IS_INTEGER)
            return piece_fail(translation, node, "cannot be translated");
        if (*node->text == 'm' && node->text[1] == 'a' ? item->integer > best->integer
                                                       : item->integer < best->integer)
            best = item;
    }
    return piece_put_constant(translation, node, best, piece);
}

/* What a function of one number becomes; its argument may stand in it twice. */
static const struct function {
    const char *name;
    enum piece_priority argument;
    enum piece_priority priority;
    const char *before, *after;
} functions[] = {
    {"abs", PIECE_CHOOSES, PIECE_ATOM, "abs(", ")"},
    {"math.floor", PIECE_CHOOSES, PIECE_ATOM, "floor(", ")"},
    {"floor", PIECE_CHOOSES, PIECE_ATOM, "floor(", ")"},
    {"math.ceil", PIECE_CHOOSES, PIECE_ATOM, "ceil(", ")"},
    {"ceil", PIECE_CHOOSES, PIECE_ATOM, "ceil(", ")"},
    {"float", PIECE_NEGATES, PIECE_MULTIPLIES, "1.0 * ", ""},
    {"math.sqrt", PIECE_ATOM, PIECE_RAISES, "", " ^ 0.5"},
    {"sqrt", PIECE_ATOM, PIECE_RAISES, "", " ^ 0.5"},
};

static int call_number(const struct translation *translation, const struct python_node *node,
                       struct piece *piece)
{
    const struct function *found = NULL;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (strcmp(functions[i].name, node->text) == 0)
            found = &functions[i];
    bool to_integer = strcmp(node->text, "int") == 0;
    if (node->count != 1 || (found == NULL && !to_integer))
        return piece_fail(translation, node, "cannot be translated");
    int status = take_number(translation, node->children[0], piece);
    if (status == 0)
        status = piece_bracket(translation, node, piece, to_integer ? PIECE_ADDS : found->argument);
    if (status == 0 && to_integer)
        return piece_put(translation, node, piece, PIECE_NUMBER, PIECE_ATOM,
                         "(%s < 0 ? ceil(%s) : floor(%s))", piece->text, piece->text, piece->text);
    return status != 0 ? status
                       : piece_put(translation, node, piece, PIECE_NUMBER, found->priority,
                                   "%s%s%s", found->before, piece->text, found->after);
}

static int take_call(const struct translation *translation, const struct python_node *node,
                     struct piece *piece)
{
    const char *name = node->text;
    if (node->count == 0)
        return piece_fail(translation, node, "cannot be translated");
    const struct python_node *first = node->children[0];
    if (strcmp(name, "all") == 0 || strcmp(name, "any") == 0)
        return call_all(translation, node, piece);
    if (strcmp(name, "bool") == 0 && node->count == 1)
        return take_condition(translation, first, piece);
    if (strcmp(name, "pow") == 0 && node->count == 2) {
        struct python_node power = *node;
        power.kind = PYTHON_BINARY;
        power.operation = PYTHON_POWER;
        return take_arithmetic(translation, &power, piece);
    }
    if (strcmp(name, "min") != 0 && strcmp(name, "max") != 0)
        return call_number(translation, node, piece);
    const struct python_name *parameter = node->count == 1 && first->kind == PYTHON_NAME
                                              ? piece_find_name(translation, first->text)
                                              : NULL;
    return parameter != NULL && parameter->values != NULL && parameter->values->count > 0
               ? call_extreme_of_name(translation, node, parameter, piece)
               : call_extreme(translation, node, piece);
}

/* --- anything --- */

static int take_constant(const struct translation *translation, const struct python_node *node,
                         struct piece *piece)
{
    struct python_value value = {0};
    int status = python_evaluate(node, &value, translation->error);
    if (status == 0)
        status = piece_put_constant(translation, node, &value, piece);
    python_value_release(&value);
    return status;
}

static int take_value(const struct translation *translation, const struct python_node *node,
                      struct piece *piece)
{
    switch (node->kind) {
    case PYTHON_BOOLEAN:
        return piece_put(translation, node, piece, PIECE_CONDITION, PIECE_ATOM, "%s",
                         node->integer != 0 ? "true" : "false");
    case PYTHON_INTEGER:
    case PYTHON_REAL:
    case PYTHON_STRING:
        return take_constant(translation, node, piece);
    case PYTHON_NAME:
        return piece_put_name(translation, node, node->text, piece);
    case PYTHON_INDEX:
        return take_index(translation, node, piece);
    case PYTHON_UNARY:
        return node->operation == PYTHON_NOT ? take_not(translation, node, piece)
                                             : take_sign(translation, node, piece);
    case PYTHON_BINARY:
        return is_logical(node) ? take_logical_value(translation, node, piece)
                                : take_arithmetic(translation, node, piece);
    case PYTHON_COMPARE:
        return take_chain(translation, node, piece);
    case PYTHON_CHOICE:
        return take_choice(translation, node, piece);
    case PYTHON_CALL:
        return take_call(translation, node, piece);
    default:
        return piece_fail(translation, node, "cannot be translated");
    }
}

static int take_condition(const struct translation *translation, const struct python_node *node,
                          struct piece *piece)
{
    if (is_logical(node))
        return take_logical_condition(translation, node, piece);
    int status = take_value(translation, node, piece);
    return status != 0 ? status : piece_make_condition(translation, node, piece);
}
/* NOLINTEND(misc-no-recursion) */

/* That our own parser takes it: its limits on names and depth may be exceeded. */
static int check(const char *translated, struct error *error)
{
    struct expression *expression = NULL;
    int status = expression_new(&expression, translated, "", 0, error);
    expression_free(expression);
    return status;
}

static int translate(const char *text, const struct python_names *names, bool condition,
                     char **translated, struct error *error)
{
    const struct translation translation = {names, error};
    struct piece piece = {0};
    struct python python;
    *translated = NULL;
    int status = python_parse(&python, text, error);
    if (status == 0)
        status = (condition ? take_condition : take_value)(&translation, python.root, &piece);
    if (status == 0)
        status = check(piece.text, error);
    if (status == 0)
        *translated = alloc_string(piece.text);
    piece_release(&piece);
    python_release(&python);
    return status;
}

int python_translate_condition(const char *text, const struct python_names *names,
                               char **translated, struct error *error)
{
    return translate(text, names, true, translated, error);
}

int python_translate_value(const char *text, const struct python_names *names, char **translated,
                           struct error *error)
{
    return translate(text, names, false, translated, error);
}
