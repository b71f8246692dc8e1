#include "base/decision_parser.h"

#include <stdint.h>
#include <string.h>

static struct decision_operand parse_or(struct decision_parser *parser);
static struct decision_operand parse_unary(struct decision_parser *parser);

/* NOLINTBEGIN(misc-no-recursion): as deep as DECISION_DEPTH allows */

static struct decision_operand parse_nested_unary(struct decision_parser *parser)
{
    if (parser->nesting == DECISION_DEPTH)
        return decision_fail(parser, "it is nested too deeply");
    parser->nesting++;
    struct decision_operand operand = parse_unary(parser);
    parser->nesting--;
    return operand;
}

static struct decision_operand parse_unary(struct decision_parser *parser)
{
    if (decision_take(parser, "-"))
        return decision_is_number(parser, parse_nested_unary(parser))
                   ? decision_emit_operation(parser, DECISION_NEGATE, number)
                   : wrong;
    if (decision_take(parser, "not") ||
        (parser->at[0] == '!' && parser->at[1] != '=' && decision_take(parser, "!")))
        return decision_is_condition(parser, parse_nested_unary(parser))
                   ? decision_emit_operation(parser, DECISION_NOT, condition)
                   : wrong;
    return decision_parse_operand(parser);
}

struct sign {
    const char *text;
    enum decision_operation operation;
};

static const struct sign products[] = {{"*", DECISION_MULTIPLY},
                                       {"//", DECISION_QUOTIENT},
                                       {"/", DECISION_DIVIDE},
                                       {"%", DECISION_REMAINDER}};
static const struct sign sums[] = {{"+", DECISION_ADD}, {"-", DECISION_SUBTRACT}};
static const struct sign comparisons[] = {
    {"==", DECISION_EQUAL},      {"!=", DECISION_UNEQUAL},       {"~=", DECISION_UNEQUAL},
    {"<=", DECISION_LESS_EQUAL}, {">=", DECISION_GREATER_EQUAL}, {"<", DECISION_LESS},
    {">", DECISION_GREATER}};

static const struct sign *take_sign(struct decision_parser *parser, const struct sign *signs,
                                    size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (decision_take(parser, signs[i].text))
            return &signs[i];
    return NULL;
}

static struct decision_operand parse_product(struct decision_parser *parser)
{
    struct decision_operand left = parse_unary(parser);
    const struct sign *sign;
    while (!decision_has_failed(parser) && (sign = take_sign(parser, products, 4)) != NULL)
        left = decision_is_number(parser, left) && decision_is_number(parser, parse_unary(parser))
                   ? decision_emit_operation(parser, sign->operation, number)
                   : wrong;
    return left;
}

static struct decision_operand parse_sum(struct decision_parser *parser)
{
    struct decision_operand left = parse_product(parser);
    const struct sign *sign;
    while (!decision_has_failed(parser) && (sign = take_sign(parser, sums, 2)) != NULL)
        left = decision_is_number(parser, left) && decision_is_number(parser, parse_product(parser))
                   ? decision_emit_operation(parser, sign->operation, number)
                   : wrong;
    return left;
}

/* Words are known already. */
static struct decision_operand compare_words(struct decision_parser *parser,
                                             struct decision_operand left,
                                             struct decision_operand right,
                                             enum decision_operation operation)
{
    bool equal = left.type == WORD && right.type == WORD && left.letters == right.letters &&
                 strncmp(left.word, right.word, left.letters) == 0;
    if (operation != DECISION_EQUAL && operation != DECISION_UNEQUAL)
        return decision_fail(parser, "words can only be compared with == and !=");
    if (left.type != right.type)
        return decision_fail(parser, "a word is compared with a number");
    return decision_emit_number(parser, equal == (operation == DECISION_EQUAL), condition);
}

static struct decision_operand parse_comparison(struct decision_parser *parser)
{
    struct decision_operand left = parse_sum(parser);
    const struct sign *sign =
        decision_has_failed(parser) ? NULL : take_sign(parser, comparisons, 7);
    if (sign == NULL)
        return left;
    struct decision_operand right = parse_sum(parser);
    if (decision_has_failed(parser))
        return wrong;
    if (left.type == WORD || right.type == WORD)
        left = compare_words(parser, left, right, sign->operation);
    else if (decision_is_number(parser, left) && decision_is_number(parser, right))
        left = decision_emit_operation(parser, sign->operation, condition);
    return take_sign(parser, comparisons, 7) == NULL
               ? left
               : decision_fail(parser, "comparisons do not chain; write a < b and b < c");
}

static struct decision_operand parse_and(struct decision_parser *parser)
{
    struct decision_operand left = parse_comparison(parser);
    while (!decision_has_failed(parser) && left.type != CHOICE &&
           (decision_take(parser, "and") || decision_take(parser, "&&"))) {
        if (!decision_is_condition(parser, left))
            return wrong;
        struct decision_operand right = parse_comparison(parser);
        if (right.type == NUMBER)
            left.type = CHOICE;
        else
            left = decision_is_condition(parser, right)
                       ? decision_emit_operation(parser, DECISION_AND, condition)
                       : wrong;
    }
    return left;
}

/* Of "c and a or b", a if c holds and otherwise b. */
static struct decision_operand parse_choice(struct decision_parser *parser)
{
    if (!decision_take(parser, "or") && !decision_take(parser, "||"))
        return decision_fail(parser, "a number is not a condition; write x != 0 for x");
    return decision_is_number(parser, parse_or(parser))
               ? decision_emit_operation(parser, DECISION_SELECT, number)
               : wrong;
}

static struct decision_operand parse_or(struct decision_parser *parser)
{
    struct decision_operand left = parse_and(parser);
    while (!decision_has_failed(parser)) {
        if (left.type == CHOICE)
            return parse_choice(parser);
        if (!decision_take(parser, "or") && !decision_take(parser, "||"))
            break;
        left =
            decision_is_condition(parser, left) && decision_is_condition(parser, parse_and(parser))
                ? decision_emit_operation(parser, DECISION_OR, condition)
                : wrong;
    }
    return left;
}

/* The second and third operand of "c ? a : b". */
static struct decision_operand parse_alternatives(struct decision_parser *parser)
{
    struct decision_operand first = decision_parse(parser);
    (void)decision_expect(parser, ":", number);
    struct decision_operand second = decision_parse(parser);
    if (first.type == WORD || first.type != second.type)
        return decision_fail(parser, "the two sides of ':' are not of one kind");
    return decision_emit_operation(parser, DECISION_SELECT, first);
}

struct decision_operand decision_parse(struct decision_parser *parser)
{
    if (parser->nesting == DECISION_DEPTH)
        return decision_fail(parser, "it is nested too deeply");
    parser->nesting++;
    struct decision_operand left = parse_or(parser);
    if (!decision_has_failed(parser) && decision_take(parser, "?"))
        left = decision_is_condition(parser, left) ? parse_alternatives(parser) : wrong;
    parser->nesting--;
    return decision_has_failed(parser) ? wrong : left;
}

/* NOLINTEND(misc-no-recursion) */

bool decision_compile(struct decision_program *program, const struct decision_scope *scope,
                      const char *text, size_t configuration, enum decision_type type,
                      char message[DECISION_MESSAGE_BYTES])
{
    struct decision_parser parser = {.scope = scope,
                                     .program = program,
                                     .configuration = configuration,
                                     .figure = SIZE_MAX,
                                     .at = text,
                                     .message = message};
    message[0] = '\0';
    struct decision_operand result = decision_parse(&parser);
    decision_skip_blanks(&parser);
    if (!decision_has_failed(&parser) && *parser.at != '\0')
        (void)decision_fail(&parser, "'%.40s' is not expected", parser.at);
    if (!decision_has_failed(&parser) && type == DECISION_CONDITION)
        (void)decision_is_condition(&parser, result);
    else if (!decision_has_failed(&parser))
        (void)decision_is_number(&parser, result);
    return !decision_has_failed(&parser);
}
