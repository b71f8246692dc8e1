#include "base/decision_parser.h"
#include "base/literal.h"

#include <stdint.h>
#include <string.h>

/* --- names --- */

/* Later expressions take the figure's value instead of computing it, unless that is as simple. */
static void keep_figure(struct decision_parser *parser, size_t steps, unsigned short *kept)
{
    enum { SIMPLE = 2 };
    struct decision_program *program = parser->program;
    if (decision_has_failed(parser) || program->kept_count == DECISION_KEPT ||
        program->count - steps <= SIMPLE)
        return;
    decision_emit(parser, (struct decision_step){.operation = DECISION_KEEP,
                                                 .value = (unsigned)program->kept_count});
    *kept = (unsigned short)++program->kept_count;
}

static struct decision_operand parse_figure(struct decision_parser *parser,
                                            const struct decision_name *figure,
                                            size_t configuration)
{
    struct decision_parser inner = *parser;
    unsigned short *kept = &parser->program->kept[figure->figure][configuration];
    size_t steps = parser->program->count;
    if (*kept > 0) {
        decision_emit(parser, (struct decision_step){.operation = DECISION_TAKE,
                                                     .value = (unsigned)*kept - 1});
        return number;
    }
    inner.configuration = configuration;
    inner.figure = figure->figure;
    inner.at = figure->text;
    struct decision_operand value = decision_parse(&inner);
    decision_skip_blanks(&inner);
    if (*inner.at != '\0')
        value = decision_fail(&inner, "'%.40s' is not expected in a figure", inner.at);
    if (decision_is_number(&inner, value))
        value = number;
    parser->stack = inner.stack;
    keep_figure(parser, steps, kept);
    return value;
}

/* The N of "waves(N)"; the line's own configuration for "waves". */
static bool take_configuration(struct decision_parser *parser, size_t *configuration)
{
    *configuration = parser->configuration;
    if (!decision_take(parser, "("))
        return true;
    decision_skip_blanks(parser);
    size_t digits = strspn(parser->at, "0123456789");
    size_t value = 0;
    for (size_t i = 0; i < digits && value <= parser->scope->configuration_count; i++)
        value = value * 10 + (size_t)(parser->at[i] - '0');
    if (parser->figure != SIZE_MAX || value == 0 || value > parser->scope->configuration_count) {
        (void)decision_fail(parser, "'%.40s' is not the number of a configuration", parser->at);
        return false;
    }
    parser->at += digits;
    *configuration = value - 1;
    return decision_expect(parser, ")", number).type != WRONG;
}

static struct decision_operand parse_name(struct decision_parser *parser, const char *name,
                                          size_t letters)
{
    struct decision_name meaning = parser->scope->find(parser->scope->user, name, letters,
                                                       parser->configuration, parser->figure);
    size_t configuration;
    switch (meaning.kind) {
    case DECISION_IS_VALUE:
        decision_emit(parser,
                      (struct decision_step){.operation = DECISION_VALUE, .value = meaning.value});
        return number;
    case DECISION_IS_NUMBER:
        return decision_emit_number(parser, meaning.number, number);
    case DECISION_IS_WORD:
        return (struct decision_operand){WORD, meaning.text, strlen(meaning.text)};
    case DECISION_IS_FIGURE:
        return take_configuration(parser, &configuration)
                   ? parse_figure(parser, &meaning, configuration)
                   : wrong;
    case DECISION_UNKNOWN:
        break;
    }
    return letters == 4 && strncmp(name, "true", 4) == 0
               ? decision_emit_number(parser, 1, condition)
           : letters == 5 && strncmp(name, "false", 5) == 0
               ? decision_emit_number(parser, 0, condition)
               : decision_fail(parser, "unknown name '%.*s'", (int)letters, name);
}

/* --- functions --- */

static const struct function {
    const char *name;
    enum decision_operation operation;
    bool takes_more; /* than its operator, from left to right */
} functions[] = {{"min", DECISION_MIN, true},
                 {"max", DECISION_MAX, true},
                 {"floor", DECISION_FLOOR, false},
                 {"ceil", DECISION_CEIL, false},
                 {"ceil_div", DECISION_CEIL_DIV, false}};

static struct decision_operand parse_call(struct decision_parser *parser,
                                          const struct function *function)
{
    size_t arity = decision_arity(function->operation);
    size_t count = 0;
    (void)decision_expect(parser, "(", number);
    do {
        (void)decision_is_number(parser, decision_parse(parser));
        count++;
        if (count >= arity && (count == arity || function->takes_more))
            (void)decision_emit_operation(parser, function->operation, number);
    } while (decision_take(parser, ",") && !decision_has_failed(parser));
    if (count != arity && !(function->takes_more && count > arity))
        return decision_fail(parser, "%s() takes %zu number%s%s", function->name, arity,
                             arity > 1 ? "s" : "", function->takes_more ? " or more" : "");
    return decision_expect(parser, ")", number);
}

/* --- operands --- */

/* "256", "2^20" or "0.5". */
static struct decision_operand parse_number(struct decision_parser *parser)
{
    char text[64];
    struct literal literal;
    size_t length = strspn(parser->at, "0123456789.^");
    if (length > 0 && length < sizeof text &&
        (parser->at[length] == 'e' || parser->at[length] == 'E')) {
        length += strspn(parser->at + length, "eE+-");
        length += strspn(parser->at + length, "0123456789");
    }
    if (length == 0 || length >= sizeof text)
        return decision_fail(parser,
                             *parser->at == '\0' ? "it ends too early" : "'%.40s' is not expected",
                             parser->at);
    memcpy(text, parser->at, length);
    text[length] = '\0';
    if (literal_parse(text, &literal) != NULL || literal.kind == LITERAL_WORD)
        return decision_fail(parser, "'%s' is not a number", text);
    parser->at += length;
    return decision_emit_number(parser, literal.real, number);
}

static struct decision_operand parse_word(struct decision_parser *parser)
{
    const char *end = strchr(parser->at, '"');
    if (end == NULL)
        return decision_fail(parser, "a word lacks its closing quote");
    struct decision_operand operand = {WORD, parser->at, (size_t)(end - parser->at)};
    parser->at = end + 1;
    return operand;
}

struct decision_operand decision_parse_operand(struct decision_parser *parser)
{
    if (++parser->program->tokens > DECISION_TOKENS)
        return decision_fail(parser, "it is too long");
    if (decision_take(parser, "(")) {
        struct decision_operand operand = decision_parse(parser);
        return operand.type == WRONG ? wrong : decision_expect(parser, ")", operand);
    }
    if (decision_take(parser, "\""))
        return parse_word(parser);
    const char *name = parser->at;
    size_t letters = decision_letters(name);
    if (letters == 0)
        return parse_number(parser);
    parser->at += letters;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (strlen(functions[i].name) == letters && strncmp(functions[i].name, name, letters) == 0)
            return parse_call(parser, &functions[i]);
    return parse_name(parser, name, letters);
}
