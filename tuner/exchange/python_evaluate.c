#include "exchange/python_evaluate.h"

#include "base/alloc.h"
#include "exchange/python.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A variable of a comprehension. */
struct variable {
    const char *name;
    const struct python_value *value;
    const struct variable *outer;
};

struct evaluation {
    const struct variable *variables;
    size_t *items; /* made so far */
    struct error *error;
};

static int fail(const struct evaluation *evaluation, const struct python_node *node,
                const char *reason)
{
    return error_set(evaluation->error, ERROR_CONFIG, "'%.*s' %s", PYTHON_TEXT(node), reason);
}

/* Adds an item to a list, which takes it. */
static int append(const struct evaluation *evaluation, const struct python_node *node,
                  struct python_value *list, struct python_value item)
{
    *ARRAY_APPEND(list->items, list->count) = item;
    if (++*evaluation->items <= PYTHON_ITEM_LIMIT)
        return 0;
    return fail(evaluation, node, "has too many values");
}

/* Lists are added, and multiplied by a whole number. */
static int compute_lists(const struct evaluation *evaluation, const struct python_node *node,
                         const struct python_value *a, const struct python_value *b,
                         struct python_value *value)
{
    bool add = node->operation == PYTHON_ADD && b->kind == PYTHON_IS_LIST;
    bool repeat = node->operation == PYTHON_MULTIPLY && b->kind == PYTHON_IS_INTEGER;
    int64_t times = repeat ? b->integer : 1;
    int status = 0;
    if (a->kind != PYTHON_IS_LIST || (!add && !repeat))
        return fail(evaluation, node, "cannot be evaluated");
    value->kind = PYTHON_IS_LIST;
    for (int64_t i = 0; i < times && a->count > 0 && status == 0; i++)
        for (size_t j = 0; j < a->count && status == 0; j++)
            status = append(evaluation, node, value, python_value_copy(&a->items[j]));
    for (size_t j = 0; add && j < b->count && status == 0; j++)
        status = append(evaluation, node, value, python_value_copy(&b->items[j]));
    return status;
}

static int compute(const struct evaluation *evaluation, const struct python_node *node,
                   const struct python_value *a, const struct python_value *b,
                   struct python_value *value)
{
    if (!python_is_number(a) || !python_is_number(b))
        return compute_lists(evaluation, node, a, b, value);
    if (python_compute(node->operation, a, b, value))
        return 0;
    return fail(evaluation, node, "has no value that fits in 64 bits");
}

/* NOLINTBEGIN(misc-no-recursion): as deep as the parser allows */
static int evaluate(const struct evaluation *evaluation, const struct python_node *node,
                    struct python_value *value);

static int evaluate_comparison(const struct evaluation *evaluation, const struct python_node *node,
                               struct python_value *value)
{
    struct python_value left = {0};
    int status = evaluate(evaluation, node->children[0], &left);
    bool truth = true;
    for (size_t i = 0; i < node->operation_count && truth && status == 0; i++) {
        enum python_operation operation = node->operations[i];
        struct python_value right = {0};
        status = evaluate(evaluation, node->children[i + 1], &right);
        bool ordered = operation == PYTHON_EQUAL || operation == PYTHON_DIFFERENT ||
                       (operation == PYTHON_IN || operation == PYTHON_NOT_IN
                            ? right.kind == PYTHON_IS_LIST
                            : python_order(&left, &right) != 2);
        if (status == 0 && !ordered)
            status = fail(evaluation, node, "compares what Python does not compare");
        truth = status == 0 && python_holds(operation, &left, &right);
        python_value_release(&left);
        left = right;
    }
    python_value_release(&left);
    *value = python_of_integer(truth);
    return status;
}

static int evaluate_unary(const struct evaluation *evaluation, const struct python_node *node,
                          struct python_value *value)
{
    int status = evaluate(evaluation, node->children[0], value);
    if (status != 0)
        return status;
    if (node->operation == PYTHON_NOT) {
        bool truth = python_is_true(value);
        python_value_release(value);
        *value = python_of_integer(!truth);
        return 0;
    }
    if (!python_is_number(value) ||
        (value->kind == PYTHON_IS_INTEGER && value->integer == INT64_MIN))
        return fail(evaluation, node, "cannot be evaluated");
    if (node->operation == PYTHON_MINUS) {
        value->integer = -value->integer;
        value->real = -value->real;
    }
    return 0;
}

static int evaluate_binary(const struct evaluation *evaluation, const struct python_node *node,
                           struct python_value *value)
{
    struct python_value left = {0};
    struct python_value right = {0};
    int status = evaluate(evaluation, node->children[0], &left);
    bool decided = status == 0 && ((node->operation == PYTHON_OR && python_is_true(&left)) ||
                                   (node->operation == PYTHON_AND && !python_is_true(&left)));
    if (decided) {
        *value = left;
        return 0;
    }
    if (status == 0)
        status = evaluate(evaluation, node->children[1], &right);
    if (status == 0 && (node->operation == PYTHON_OR || node->operation == PYTHON_AND)) {
        *value = right;
        right = (struct python_value){0};
    } else if (status == 0) {
        status = compute(evaluation, node, &left, &right, value);
    }
    python_value_release(&left);
    python_value_release(&right);
    return status;
}

static int evaluate_list(const struct evaluation *evaluation, const struct python_node *node,
                         struct python_value *value)
{
    int status = 0;
    value->kind = PYTHON_IS_LIST;
    for (size_t i = 0; i < node->count && status == 0; i++) {
        struct python_value item = {0};
        status = evaluate(evaluation, node->children[i], &item);
        int added = append(evaluation, node, value, item);
        status = status != 0 ? status : added;
    }
    return status;
}

/* The clauses of a comprehension from `clause` on. */
static int evaluate_clauses(const struct evaluation *evaluation, const struct python_node *each,
                            size_t clause, struct python_value *list)
{
    struct python_value value = {0};
    if (clause == each->count) {
        int result = evaluate(evaluation, each->children[0], &value);
        int added = append(evaluation, each, list, value);
        return result != 0 ? result : added;
    }
    const struct python_node *node = each->children[clause];
    int status = evaluate(evaluation, node->children[0], &value);
    if (status == 0 && node->kind == PYTHON_IF) {
        if (python_is_true(&value))
            status = evaluate_clauses(evaluation, each, clause + 1, list);
    } else if (status == 0 && value.kind != PYTHON_IS_LIST) {
        status = fail(evaluation, node->children[0], "is not a list");
    }
    for (size_t i = 0; node->kind == PYTHON_FOR && i < value.count && status == 0; i++) {
        const struct variable variable = {node->text, &value.items[i], evaluation->variables};
        const struct evaluation inner = {&variable, evaluation->items, evaluation->error};
        status = evaluate_clauses(&inner, each, clause + 1, list);
    }
    python_value_release(&value);
    return status;
}

/* --- functions --- */

static int call_range(const struct evaluation *evaluation, const struct python_node *node,
                      const struct python_value *arguments, struct python_value *value)
{
    int64_t bounds[3] = {0, 0, 1};
    int status = 0;
    if (arguments->count < 1 || arguments->count > 3)
        return fail(evaluation, node, "has not 1 to 3 arguments");
    for (size_t i = 0; i < arguments->count; i++) {
        if (arguments->items[i].kind != PYTHON_IS_INTEGER)
            return fail(evaluation, node, "is not of whole numbers");
        bounds[arguments->count == 1 ? 1 : i] = arguments->items[i].integer;
    }
    if (bounds[2] == 0)
        return fail(evaluation, node, "has a step of 0");
    value->kind = PYTHON_IS_LIST;
    int64_t at = bounds[0];
    while (status == 0 && (bounds[2] > 0 ? at < bounds[1] : at > bounds[1])) {
        status = append(evaluation, node, value, python_of_integer(at));
        if (__builtin_add_overflow(at, bounds[2], &at))
            break;
    }
    return status;
}

/* min, max and sum of the items. */
static int call_reduce(const struct evaluation *evaluation, const struct python_node *node,
                       const struct python_value *items, struct python_value *value)
{
    bool sum = strcmp(node->text, "sum") == 0;
    int wanted = strcmp(node->text, "max") == 0 ? 1 : -1;
    if (items->count == 0 && !sum)
        return fail(evaluation, node, "has no items");
    for (size_t i = 0; i < items->count; i++) {
        const struct python_value *item = &items->items[i];
        struct python_value left = *value;
        const struct python_node add = {
            .operation = PYTHON_ADD, .start = node->start, .end = node->end};
        if (!python_is_number(item))
            return fail(evaluation, node, "is not of numbers");
        int status = sum ? compute(evaluation, &add, &left, item, value) : 0;
        if (status != 0)
            return status;
        if (!sum && (i == 0 || python_order(item, value) == wanted))
            *value = *item;
    }
    return 0;
}

static int compare_values(const void *left, const void *right)
{
    return python_order(left, right);
}

/* int, float, abs, round and so on of one number. */
static int call_number(const struct evaluation *evaluation, const struct python_node *node,
                       const struct python_value *argument, struct python_value *value)
{
    const char *name = strncmp(node->text, "math.", 5) == 0 ? node->text + 5 : node->text;
    double real = python_number(argument);
    if (!python_is_number(argument))
        return fail(evaluation, node, "is not of a number");
    *value = *argument;
    if (strcmp(name, "float") == 0)
        *value = python_of_real(real);
    else if (strcmp(name, "sqrt") == 0 && real >= 0)
        *value = python_of_real(sqrt(real));
    else if (strcmp(name, "log2") == 0 && real > 0)
        *value = python_of_real(log2(real));
    else if (strcmp(name, "abs") == 0 && argument->integer != INT64_MIN)
        *value = argument->kind == PYTHON_IS_REAL ? python_of_real(fabs(real))
                                                  : python_of_integer(llabs(argument->integer));
    else if (strcmp(name, "int") != 0 && strcmp(name, "ceil") != 0 && strcmp(name, "floor") != 0)
        return fail(evaluation, node, "cannot be evaluated");
    else if (argument->kind == PYTHON_IS_REAL && fabs(real) < 9e18)
        *value = python_of_integer((int64_t)(*name == 'c'   ? ceil(real)
                                             : *name == 'f' ? floor(real)
                                                            : trunc(real)));
    return 0;
}

static bool name_is_among(const char *name, const char *const *names)
{
    while (*names != NULL && strcmp(*names, name) != 0)
        names++;
    return *names != NULL;
}

static int call(const struct evaluation *evaluation, const struct python_node *node,
                const struct python_value *arguments, struct python_value *value)
{
    static const char *const lists[] = {"list", "tuple", "set", "sorted", NULL};
    static const char *const reductions[] = {"min", "max", "sum", NULL};
    const struct python_value *first = arguments->count > 0 ? arguments->items : NULL;
    bool of_list = arguments->count == 1 && first->kind == PYTHON_IS_LIST;
    if (strcmp(node->text, "range") == 0)
        return call_range(evaluation, node, arguments, value);
    if (name_is_among(node->text, reductions))
        return call_reduce(evaluation, node, of_list ? first : arguments, value);
    if (arguments->count == 0)
        return fail(evaluation, node, "cannot be evaluated");
    if (of_list && name_is_among(node->text, lists)) {
        *value = python_value_copy(first);
        if (strcmp(node->text, "sorted") == 0 && value->count > 1)
            qsort(value->items, value->count, sizeof *value->items, compare_values);
        return 0;
    }
    if (of_list && strcmp(node->text, "len") == 0) {
        *value = python_of_integer((int64_t)first->count);
        return 0;
    }
    return arguments->count == 1 ? call_number(evaluation, node, first, value)
                                 : fail(evaluation, node, "cannot be evaluated");
}

static int evaluate_call(const struct evaluation *evaluation, const struct python_node *node,
                         struct python_value *value)
{
    struct python_value arguments = {.kind = PYTHON_IS_LIST};
    int status = evaluate_list(evaluation, node, &arguments);
    if (status == 0)
        status = call(evaluation, node, &arguments, value);
    python_value_release(&arguments);
    return status;
}

static int evaluate_choice(const struct evaluation *evaluation, const struct python_node *node,
                           struct python_value *value)
{
    struct python_value condition = {0};
    int status = evaluate(evaluation, node->children[0], &condition);
    if (status == 0)
        status = evaluate(evaluation, node->children[python_is_true(&condition) ? 1 : 2], value);
    python_value_release(&condition);
    return status;
}

static int evaluate_name(const struct evaluation *evaluation, const struct python_node *node,
                         struct python_value *value)
{
    const struct variable *variable = evaluation->variables;
    while (variable != NULL && strcmp(variable->name, node->text) != 0)
        variable = variable->outer;
    if (variable == NULL)
        return fail(evaluation, node, "is not known here");
    *value = python_value_copy(variable->value);
    return 0;
}

static int evaluate(const struct evaluation *evaluation, const struct python_node *node,
                    struct python_value *value)
{
    *value = (struct python_value){0};
    switch (node->kind) {
    case PYTHON_INTEGER:
    case PYTHON_BOOLEAN:
        *value = python_of_integer(node->integer);
        return 0;
    case PYTHON_REAL:
        *value = python_of_real(node->real);
        return 0;
    case PYTHON_STRING:
        *value =
            (struct python_value){.kind = PYTHON_IS_STRING, .string = alloc_string(node->text)};
        return 0;
    case PYTHON_NAME:
        return evaluate_name(evaluation, node, value);
    case PYTHON_UNARY:
        return evaluate_unary(evaluation, node, value);
    case PYTHON_BINARY:
        return evaluate_binary(evaluation, node, value);
    case PYTHON_COMPARE:
        return evaluate_comparison(evaluation, node, value);
    case PYTHON_CHOICE:
        return evaluate_choice(evaluation, node, value);
    case PYTHON_CALL:
        return evaluate_call(evaluation, node, value);
    case PYTHON_LIST:
        return evaluate_list(evaluation, node, value);
    case PYTHON_EACH:
        value->kind = PYTHON_IS_LIST;
        return evaluate_clauses(evaluation, node, 1, value);
    default:
        return fail(evaluation, node, "cannot be evaluated");
    }
}
/* NOLINTEND(misc-no-recursion) */

int python_evaluate(const struct python_node *node, struct python_value *value, struct error *error)
{
    size_t items = 0;
    const struct evaluation evaluation = {.items = &items, .error = error};
    return evaluate(&evaluation, node, value);
}

int python_evaluate_text(const char *text, struct python_value *value, struct error *error)
{
    struct python python;
    *value = (struct python_value){0};
    int status = python_parse(&python, text, error);
    if (status == 0)
        status = python_evaluate(python.root, value, error);
    python_release(&python);
    return status;
}
