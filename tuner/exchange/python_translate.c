#include "exchange/python_translate.h"

#include "base/alloc.h"
#include "base/literal.h"
#include "base/suggestion.h"
#include "template/expression.h"
#include "template/expression_parser.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum kind { NUMBER, WORD, CONDITION };

/* How tightly the outermost operator of a text binds, in our expressions. */
enum priority {
    CHOOSES,
    ORS,
    ANDS,
    COMPARES,
    ADDS,
    MULTIPLIES,
    NEGATES,
    RAISES,
    ATOM,
};

/* A translated part. */
struct piece {
    char *text;
    enum kind kind;
    enum priority priority;
};

struct translation {
    const struct python_names *names;
    struct error *error;
};

static int fail(const struct translation *translation, const struct python_node *node,
                const char *reason)
{
    return error_set(translation->error, ERROR_CONFIG, "'%.*s' %s", PYTHON_TEXT(node), reason);
}

/* --- pieces --- */

static void release(struct piece *piece)
{
    free(piece->text);
    *piece = (struct piece){0};
}

/* Makes a piece of the formatted text, which must not outgrow an expression. */
__attribute__((format(printf, 6, 7))) static int
put(const struct translation *translation, const struct python_node *node, struct piece *piece,
    enum kind kind, enum priority priority, const char *format, ...)
{
    char text[EXPRESSION_TEXT_LIMIT + 1];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (length < 0 || (size_t)length >= sizeof text)
        return fail(translation, node, "is too long; split the condition");
    char *made = alloc_string(text); /* `piece` may be among the arguments */
    release(piece);
    *piece = (struct piece){made, kind, priority};
    return 0;
}

/* Puts parentheses around a piece that does not bind as tightly as `least`, or begins with a sign
 * behind an operator. */
static int bracket(const struct translation *translation, const struct python_node *node,
                   struct piece *piece, enum priority least)
{
    bool sign = piece->text[0] == '-' && least > ADDS;
    if (piece->priority >= least && !sign)
        return 0;
    return put(translation, node, piece, piece->kind, ATOM, "(%s)", piece->text);
}

/* A condition as 1 or 0. */
static int make_number(const struct translation *translation, const struct python_node *node,
                       struct piece *piece)
{
    if (piece->kind == WORD)
        return fail(translation, node, "is a string where a number is needed");
    if (piece->kind == NUMBER)
        return 0;
    if (node->kind == PYTHON_BOOLEAN)
        return put(translation, node, piece, NUMBER, ATOM, "%d", (int)node->integer);
    int status = bracket(translation, node, piece, ORS);
    return status != 0 ? status
                       : put(translation, node, piece, NUMBER, ATOM, "(%s ? 1 : 0)", piece->text);
}

/* A number as whether it is not 0. */
static int make_condition(const struct translation *translation, const struct python_node *node,
                          struct piece *piece)
{
    if (piece->kind == WORD)
        return fail(translation, node, "is a string where a condition is needed");
    if (piece->kind == CONDITION)
        return 0;
    int status = bracket(translation, node, piece, ADDS);
    return status != 0 ? status
                       : put(translation, node, piece, CONDITION, COMPARES, "%s != 0", piece->text);
}

/* NOLINTBEGIN(misc-no-recursion): as deep as the parser allows */
static int take_value(const struct translation *translation, const struct python_node *node,
                      struct piece *piece);
static int take_condition(const struct translation *translation, const struct python_node *node,
                          struct piece *piece);

static int take_number(const struct translation *translation, const struct python_node *node,
                       struct piece *piece)
{
    int status = take_value(translation, node, piece);
    return status != 0 ? status : make_number(translation, node, piece);
}

/* Whether the node is `and` or `or`. */
static bool is_logical(const struct python_node *node)
{
    return node->kind == PYTHON_BINARY &&
           (node->operation == PYTHON_AND || node->operation == PYTHON_OR);
}

/* --- names and constants --- */

static int put_real(const struct translation *translation, const struct python_node *node,
                    double real, struct piece *piece)
{
    char text[LITERAL_REAL_BYTES];
    (void)literal_real_text(real, text);
    const char *point = strpbrk(text, ".e") == NULL ? ".0" : "";
    return put(translation, node, piece, NUMBER, ATOM, "%s%s", text, point);
}

static int put_constant(const struct translation *translation, const struct python_node *node,
                        const struct python_value *value, struct piece *piece)
{
    switch (value->kind) {
    case PYTHON_IS_INTEGER:
        return put(translation, node, piece, NUMBER, value->integer < 0 ? NEGATES : ATOM,
                   "%" PRId64, value->integer);
    case PYTHON_IS_REAL:
        return put_real(translation, node, value->real, piece);
    case PYTHON_IS_STRING:
        return put(translation, node, piece, WORD, ATOM, "\"%s\"",
                   words_of(translation->names->words, value->string));
    default:
        return fail(translation, node, "is a list");
    }
}

static const struct python_name *find_name(const struct translation *translation, const char *text)
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

static int put_name(const struct translation *translation, const struct python_node *node,
                    const char *text, struct piece *piece)
{
    const struct python_name *name = find_name(translation, text);
    if (name == NULL)
        return unknown_name(translation, text);
    return put(translation, node, piece, name->is_word ? WORD : NUMBER, ATOM, "%s", name->ours);
}

/* ProblemSize[0] is a name as well. */
static int take_index(const struct translation *translation, const struct python_node *node,
                      struct piece *piece)
{
    const struct python_node *list = node->children[0];
    const struct python_node *index = node->children[1];
    if (list->kind != PYTHON_NAME || index->kind != PYTHON_INTEGER)
        return fail(translation, node, "cannot be translated");
    char *text = alloc_format("%s[%" PRId64 "]", list->text, index->integer);
    int status = put_name(translation, node, text, piece);
    free(text);
    return status;
}

/* --- comparisons --- */

/* One of a chain, `left operation right`, with `operation` as our expressions write it. */
static int compare_pair(const struct translation *translation, const struct python_node *node,
                        enum python_operation operation, const struct piece *left,
                        const struct piece *right, struct piece *piece)
{
    bool equality = operation == PYTHON_EQUAL || operation == PYTHON_DIFFERENT;
    if (left->kind != right->kind && equality)
        return put(translation, node, piece, CONDITION, ATOM, "%s",
                   operation == PYTHON_EQUAL ? "false" : "true");
    if (!equality && (left->kind == WORD || right->kind == WORD))
        return fail(translation, node, "orders strings");
    return put(translation, node, piece, CONDITION, COMPARES, "%s %s %s", left->text,
               python_operation_text(operation), right->text);
}

/* An operand of a comparison: a number or a word. */
static int take_compared(const struct translation *translation, const struct python_node *node,
                         struct piece *piece)
{
    int status = take_value(translation, node, piece);
    if (status == 0 && piece->kind == CONDITION)
        status = make_number(translation, node, piece);
    return status != 0 ? status : bracket(translation, node, piece, ADDS);
}

/* Joins `more` to `piece` with `and` or `or`. */
static int join(const struct translation *translation, const struct python_node *node, bool all,
                struct piece *piece, struct piece *more)
{
    enum priority priority = all ? ANDS : ORS;
    if (piece->text == NULL) {
        *piece = *more;
        *more = (struct piece){0};
        return 0;
    }
    int status = bracket(translation, node, piece, priority);
    if (status == 0)
        status = bracket(translation, node, more, priority);
    return status != 0 ? status
                       : put(translation, node, piece, CONDITION, priority, "%s %s %s", piece->text,
                             all ? "and" : "or", more->text);
}

/* `left in (a, b)` as `left == a or left == b`, and `not in` as `left != a and left != b`. */
static int compare_items(const struct translation *translation, const struct python_node *node,
                         bool in, const struct piece *left, struct piece *items, size_t count,
                         struct piece *piece)
{
    int status = 0;
    for (size_t i = 0; i < count && status == 0; i++) {
        struct piece pair = {0};
        status = compare_pair(translation, node, in ? PYTHON_EQUAL : PYTHON_DIFFERENT, left,
                              &items[i], &pair);
        if (status == 0)
            status = join(translation, node, !in, piece, &pair);
        release(&pair);
    }
    if (count == 0)
        status = put(translation, node, piece, CONDITION, ATOM, "%s", in ? "false" : "true");
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
        status = fail(translation, list, "is not a list");
    for (size_t i = 0; i < value.count && status == 0; i++)
        status = put_constant(translation, list, &value.items[i], ARRAY_APPEND(*items, *count));
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
        release(&items[i]);
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
                status = fail(translation, node, "compares a list");
        } else {
            status = take_compared(translation, other, &right);
            if (status == 0)
                status = compare_pair(translation, node, operation, &left, &right, &pair);
        }
        if (status == 0)
            status = join(translation, node, true, piece, &pair);
        release(&pair);
        release(&left);
        left = right;
    }
    release(&left);
    return status;
}

/* --- operators --- */

static int take_not(const struct translation *translation, const struct python_node *node,
                    struct piece *piece)
{
    const struct python_node *inner = node->children[0];
    int status = (is_logical(inner) ? take_condition : take_value)(translation, inner, piece);
    if (status == 0 && piece->kind == NUMBER) {
        status = bracket(translation, node, piece, ADDS);
        return status != 0
                   ? status
                   : put(translation, node, piece, CONDITION, COMPARES, "%s == 0", piece->text);
    }
    if (status == 0)
        status = make_condition(translation, inner, piece);
    return status != 0 ? status
                       : put(translation, node, piece, CONDITION, NEGATES, "not (%s)", piece->text);
}

static int take_sign(const struct translation *translation, const struct python_node *node,
                     struct piece *piece)
{
    int status = take_number(translation, node->children[0], piece);
    if (status != 0 || node->operation == PYTHON_PLUS)
        return status;
    status = bracket(translation, node, piece, RAISES);
    return status != 0 ? status
                       : put(translation, node, piece, NUMBER, NEGATES, "-%s", piece->text);
}

/* How a binary operator of numbers is written: "%s" twice, and its priority. */
static const struct arithmetic {
    enum python_operation operation;
    enum priority left, right; /* what the operands must bind as tightly as */
    enum priority priority;
    const char *text;
} arithmetics[] = {
    {PYTHON_ADD, ADDS, MULTIPLIES, ADDS, " + "},
    {PYTHON_SUBTRACT, ADDS, MULTIPLIES, ADDS, " - "},
    {PYTHON_MULTIPLY, MULTIPLIES, NEGATES, MULTIPLIES, " * "},
    {PYTHON_DIVIDE, MULTIPLIES, NEGATES, MULTIPLIES, " / "},
    {PYTHON_FLOOR_DIVIDE, MULTIPLIES, NEGATES, MULTIPLIES, " // "},
    {PYTHON_MODULO, MULTIPLIES, NEGATES, MULTIPLIES, " % "},
    {PYTHON_POWER, ATOM, ATOM, RAISES, " ^ "},
    {PYTHON_SHIFT_LEFT, MULTIPLIES, ATOM, MULTIPLIES, " * 2 ^ "},
    {PYTHON_SHIFT_RIGHT, MULTIPLIES, ATOM, MULTIPLIES, " // 2 ^ "},
};

static int join_numbers(const struct translation *translation, const struct python_node *node,
                        struct piece *left, struct piece *right, struct piece *piece)
{
    const struct arithmetic *found = NULL;
    for (size_t i = 0; i < sizeof arithmetics / sizeof *arithmetics; i++)
        if (arithmetics[i].operation == node->operation)
            found = &arithmetics[i];
    if (found == NULL)
        return fail(translation, node, "has an operator on bits, which autotune does not have");
    int status = bracket(translation, node, left, found->left);
    if (status == 0)
        status = bracket(translation, node, right, found->right);
    return status != 0 ? status
                       : put(translation, node, piece, NUMBER, found->priority, "%s%s%s",
                             left->text, found->text, right->text);
}

/* &, | and ^ of conditions. */
static int join_conditions(const struct translation *translation, const struct python_node *node,
                           struct piece *left, struct piece *right, struct piece *piece)
{
    if (node->operation != PYTHON_BIT_XOR) {
        int status = join(translation, node, node->operation == PYTHON_BIT_AND, left, right);
        *piece = *left;
        *left = (struct piece){0};
        return status;
    }
    int status = make_number(translation, node, left);
    if (status == 0)
        status = make_number(translation, node, right);
    return status != 0 ? status
                       : put(translation, node, piece, CONDITION, COMPARES, "%s != %s", left->text,
                             right->text);
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
    if (status == 0 && bits && left.kind == CONDITION && right.kind == CONDITION) {
        status = join_conditions(translation, node, &left, &right, piece);
    } else if (status == 0) {
        status = make_number(translation, node->children[0], &left);
        if (status == 0)
            status = make_number(translation, node->children[1], &right);
        if (status == 0)
            status = join_numbers(translation, node, &left, &right, piece);
    }
    release(&left);
    release(&right);
    return status;
}

static int put_choice(const struct translation *translation, const struct python_node *node,
                      struct piece *condition, struct piece *chosen, struct piece *other,
                      struct piece *piece)
{
    int status = 0;
    if (chosen->kind != other->kind) {
        status = make_number(translation, node, chosen);
        if (status == 0)
            status = make_number(translation, node, other);
    }
    if (status == 0)
        status = bracket(translation, node, condition, ORS);
    if (status == 0)
        status = bracket(translation, node, chosen, ORS);
    if (status == 0)
        status = bracket(translation, node, other, ORS);
    return status != 0 ? status
                       : put(translation, node, piece, chosen->kind, CHOOSES, "%s ? %s : %s",
                             condition->text, chosen->text, other->text);
}

static int take_choice(const struct translation *translation, const struct python_node *node,
                       struct piece *piece)
{
    struct piece parts[3] = {{0}};
    int status = take_condition(translation, node->children[0], &parts[0]);
    for (size_t i = 1; i < 3 && status == 0; i++)
        status = take_value(translation, node->children[i], &parts[i]);
    if (status == 0)
        status = put_choice(translation, node, &parts[0], &parts[1], &parts[2], piece);
    for (size_t i = 0; i < 3; i++)
        release(&parts[i]);
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
    if (status == 0 && left.kind == CONDITION && right.kind == CONDITION) {
        status = join(translation, node, all, &left, &right);
        *piece = left;
        left = (struct piece){0};
    } else if (status == 0) {
        status = put_choice(translation, node, &condition, all ? &right : &left,
                            all ? &left : &right, piece);
    }
    release(&left);
    release(&right);
    release(&condition);
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
        status = join(translation, node, node->operation == PYTHON_AND, piece, &right);
    release(&right);
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
        return fail(translation, node, "cannot be translated");
    int status = 0;
    for (size_t i = 0; i < list->count && status == 0; i++) {
        struct piece item = {0};
        status = take_condition(translation, list->children[i], &item);
        if (status == 0)
            status = join(translation, node, all, piece, &item);
        release(&item);
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
    int status = list->count < (of_list ? 1U : 2U) ? fail(translation, node, "has no list") : 0;
    for (size_t i = 0; i < list->count && status == 0; i++) {
        struct piece item = {0};
        status = take_number(translation, list->children[i], &item);
        if (status == 0)
            status = put(translation, node, &text, NUMBER, ATOM, "%s%s%s", i > 0 ? text.text : "",
                         i > 0 ? ", " : "", item.text);
        release(&item);
    }
    if (status == 0)
        status = put(translation, node, piece, NUMBER, ATOM, "%s(%s)", node->text, text.text);
    release(&text);
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
            return fail(translation, node, "cannot be translated");
        if (*node->text == 'm' && node->text[1] == 'a' ? item->integer > best->integer
                                                       : item->integer < best->integer)
            best = item;
    }
    return put_constant(translation, node, best, piece);
}

/* What a function of one number becomes; its argument may stand in it twice. */
static const struct function {
    const char *name;
    enum priority argument;
    enum priority priority;
    const char *before, *after;
} functions[] = {
    {"abs", CHOOSES, ATOM, "abs(", ")"},       {"math.floor", CHOOSES, ATOM, "floor(", ")"},
    {"floor", CHOOSES, ATOM, "floor(", ")"},   {"math.ceil", CHOOSES, ATOM, "ceil(", ")"},
    {"ceil", CHOOSES, ATOM, "ceil(", ")"},     {"float", NEGATES, MULTIPLIES, "1.0 * ", ""},
    {"math.sqrt", ATOM, RAISES, "", " ^ 0.5"}, {"sqrt", ATOM, RAISES, "", " ^ 0.5"},
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
        return fail(translation, node, "cannot be translated");
    int status = take_number(translation, node->children[0], piece);
    if (status == 0)
        status = bracket(translation, node, piece, to_integer ? ADDS : found->argument);
    if (status == 0 && to_integer)
        return put(translation, node, piece, NUMBER, ATOM, "(%s < 0 ? ceil(%s) : floor(%s))",
                   piece->text, piece->text, piece->text);
    return status != 0 ? status
                       : put(translation, node, piece, NUMBER, found->priority, "%s%s%s",
                             found->before, piece->text, found->after);
}

static int take_call(const struct translation *translation, const struct python_node *node,
                     struct piece *piece)
{
    const char *name = node->text;
    if (node->count == 0)
        return fail(translation, node, "cannot be translated");
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
    const struct python_name *parameter =
        node->count == 1 && first->kind == PYTHON_NAME ? find_name(translation, first->text) : NULL;
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
        status = put_constant(translation, node, &value, piece);
    python_value_release(&value);
    return status;
}

static int take_value(const struct translation *translation, const struct python_node *node,
                      struct piece *piece)
{
    switch (node->kind) {
    case PYTHON_BOOLEAN:
        return put(translation, node, piece, CONDITION, ATOM, "%s",
                   node->integer != 0 ? "true" : "false");
    case PYTHON_INTEGER:
    case PYTHON_REAL:
    case PYTHON_STRING:
        return take_constant(translation, node, piece);
    case PYTHON_NAME:
        return put_name(translation, node, node->text, piece);
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
        return fail(translation, node, "cannot be translated");
    }
}

static int take_condition(const struct translation *translation, const struct python_node *node,
                          struct piece *piece)
{
    if (is_logical(node))
        return take_logical_condition(translation, node, piece);
    int status = take_value(translation, node, piece);
    return status != 0 ? status : make_condition(translation, node, piece);
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
    release(&piece);
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
