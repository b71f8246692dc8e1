#include "base/cover_section.h"

#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static_assert((int)COVER_FIGURES <= (int)DECISION_FIGURES &&
                  (int)COVER_CONFIGURATIONS <= (int)DECISION_CONFIGURATIONS,
              "a program can keep every figure of every configuration");

static bool is_name(const char *known, const char *name, size_t length)
{
    return strlen(known) == length && strncmp(known, name, length) == 0;
}

static struct decision_name meaning_of(const struct cover_value *value)
{
    return value->value.kind == LITERAL_WORD
               ? (struct decision_name){.kind = DECISION_IS_WORD, .text = value->text}
               : (struct decision_name){.kind = DECISION_IS_NUMBER, .number = value->value.real};
}

/* Of a value of the problem, or sm_count. */
static struct decision_name find_value(const struct cover_section *section, const char *name,
                                       size_t length)
{
    for (size_t i = 0; i < section->range_count; i++)
        if (is_name(section->ranges[i].name, name, length))
            return (struct decision_name){.kind = DECISION_IS_VALUE, .value = (unsigned)i};
    for (size_t i = 0; i < section->fixed_count; i++)
        if (is_name(section->fixed[i].name, name, length))
            return meaning_of(&section->fixed[i]);
    return is_name("sm_count", name, length)
               ? (struct decision_name){.kind = DECISION_IS_VALUE,
                                        .value = (unsigned)section->range_count}
               : (struct decision_name){0};
}

/* What a figure sees of a configuration; what is not known of it has no meaning. */
static struct decision_name find_parameter(const struct cover_variant *variant, const char *name,
                                           size_t length)
{
    for (size_t i = 0; i < variant->count; i++)
        if (is_name(variant->parameters[i].name, name, length))
            return meaning_of(&variant->parameters[i]);
    int compiled = is_name("registers", name, length)       ? variant->registers
                   : is_name("blocks_per_sm", name, length) ? variant->blocks_per_sm
                                                            : 0;
    return compiled > 0 ? (struct decision_name){.kind = DECISION_IS_NUMBER, .number = compiled}
                        : (struct decision_name){0};
}

static struct decision_name find(const void *user, const char *name, size_t length,
                                 size_t configuration, size_t figure)
{
    const struct cover_section *section = user;
    for (size_t i = 0; i < section->figure_count && i < figure; i++)
        if (is_name(section->figures[i].name, name, length))
            return (struct decision_name){
                .kind = DECISION_IS_FIGURE, .text = section->figures[i].text, .figure = i};
    struct decision_name meaning = find_value(section, name, length);
    if (meaning.kind == DECISION_UNKNOWN && figure != SIZE_MAX)
        meaning = find_parameter(&section->configurations[configuration], name, length);
    return meaning;
}

/* --- checks --- */

static int fail_at(struct ini_reader *ini, int line, const char *key, size_t number,
                   const char *text, const char *message)
{
    if (line > 0)
        ini->line = line;
    return number > 0 ? ini_reader_fail(ini, "'%s' of key '%s%zu': %s", text, key, number, message)
                      : ini_reader_fail(ini, "'%s' of key '%s': %s", text, key, message);
}

/* Every configuration has the names of the first. */
static int check_configurations(const struct cover_section *section, struct ini_reader *ini)
{
    const struct cover_variant *first = &section->configurations[0];
    for (size_t i = 1; i < section->configuration_count; i++) {
        const struct cover_variant *variant = &section->configurations[i];
        for (size_t j = 0; j < first->count || j < variant->count; j++)
            if (j >= first->count || j >= variant->count ||
                strcmp(first->parameters[j].name, variant->parameters[j].name) != 0)
                return ini_reader_fail(ini,
                                       "configuration %zu does not have the same parameters in the "
                                       "same order as configuration 1",
                                       i + 1);
    }
    return 0;
}

/* A name has one meaning: a parameter is neither a figure nor a value of the problem. */
static int check_names(const struct cover_section *section, struct ini_reader *ini)
{
    const struct cover_variant *first = &section->configurations[0];
    for (size_t i = 0; i < first->count; i++) {
        const char *name = first->parameters[i].name;
        if (find(section, name, strlen(name), 0, section->figure_count).kind ==
                DECISION_IS_FIGURE ||
            find_value(section, name, strlen(name)).kind != DECISION_UNKNOWN)
            return ini_reader_fail(ini, "'%s' is a parameter and something else in this cover",
                                   name);
    }
    return 0;
}

static int check_lines(const struct cover_section *section, struct ini_reader *ini)
{
    for (size_t i = 0; i < section->line_count; i++) {
        const struct cover_rule_text *line = &section->lines[i];
        bool is_last = i + 1 == section->line_count;
        if (line->configuration >= section->configuration_count)
            return fail_at(ini, line->line, "rule.", i + 1, line->text,
                           "there is no configuration with this number");
        if (is_last != (line->condition == NULL))
            return fail_at(ini, line->line, "rule.", i + 1, line->text,
                           is_last ? "the last line of the rule must not have a condition"
                                   : "only the last line of the rule has no condition");
    }
    for (size_t i = 0; i < section->size_count; i++)
        if (section->sizes[i].fastest >= section->configuration_count)
            return ini_reader_fail(
                ini, "key 'measured.%zu' names a configuration that does not exist", i + 1);
    return 0;
}

static int check_parts(const struct cover_section *section, struct ini_reader *ini)
{
    const struct {
        size_t count;
        const char *key;
    } parts[] = {{section->configuration_count, "configuration.1."},
                 {section->line_count, "rule.1"},
                 {section->range_count, "range."},
                 {section->size_count, "measured.1"}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (parts[i].count == 0)
            return ini_reader_fail(ini, "the cover has no key '%s'", parts[i].key);
    return 0;
}

/* --- compiling --- */

static int compile(struct cover_section *section, struct ini_reader *ini,
                   const struct cover_text *text, size_t number, size_t configuration,
                   struct cover_part *part)
{
    char message[DECISION_MESSAGE_BYTES];
    const struct decision_scope scope = {find, section, section->configuration_count};
    struct decision_program *program = &section->program;
    *part = (struct cover_part){.first = program->count};
    if (text->text == NULL)
        return 0;
    if (!decision_compile(program, &scope, text->text, configuration, DECISION_CONDITION, message))
        return fail_at(ini, text->line, text->name, number, text->text, message);
    part->count = program->count - part->first;
    return 0;
}

static int check_figure(struct cover_section *section, struct ini_reader *ini,
                        const struct cover_text *figure, size_t configuration)
{
    char message[DECISION_MESSAGE_BYTES];
    char key[2 * LITERAL_NAME_LETTERS];
    const struct decision_scope scope = {find, section, section->configuration_count};
    section->program.count = 0;
    if (decision_compile(&section->program, &scope, figure->name, configuration, DECISION_NUMBER,
                         message))
        return 0;
    (void)snprintf(key, sizeof key, "figure.%s", figure->name);
    return fail_at(ini, figure->line, key, 0, figure->text, message);
}

/* A figure is checked even if no line uses it. Those above it were checked, and are not expanded
 * again. */
static int check_figures(struct cover_section *section, struct ini_reader *ini)
{
    int status = 0;
    for (size_t i = 0; i < section->configuration_count && status == 0; i++) {
        section->program.kept_count = section->program.tokens = 0;
        decision_forget(&section->program);
        for (size_t j = 0; j < section->figure_count && status == 0; j++)
            status = check_figure(section, ini, &section->figures[j], i);
    }
    return status;
}

/* Outside the range, where no line decides, the figure tells by itself whether a configuration fits. */
static int compile_allowed(struct cover_section *section, struct ini_reader *ini)
{
    const struct cover_text text = {"figure.allowed", "allowed > 0", 0};
    int status = 0;
    for (size_t i = 0; i < section->figure_count; i++)
        if (strcmp(section->figures[i].name, "allowed") == 0)
            section->rule.allowed_count = section->configuration_count;
    for (size_t i = 0; i < section->rule.allowed_count && status == 0; i++)
        status = compile(section, ini, &text, 0, i, &section->allowed[i]);
    return status;
}

static int compile_rule(struct cover_section *section, struct ini_reader *ini)
{
    struct cover_rule *rule = &section->rule;
    struct cover_text constraint = section->constraint;
    constraint.name = "constraint";
    int status = compile(section, ini, &constraint, 0, 0, &rule->constraint);
    for (size_t i = 0; i < section->line_count && status == 0; i++) {
        const struct cover_rule_text *line = &section->lines[i];
        const struct cover_text text = {"rule.", line->condition, line->line};
        status = compile(section, ini, &text, i + 1, line->configuration, &section->parts[i]);
    }
    return status == 0 ? compile_allowed(section, ini) : status;
}

/* What look-ups evaluate. */
static void make_code(struct cover_section *section)
{
    struct decision_code *code = &section->rule.code;
    struct decision_code_part *parts[1 + COVER_LINES + COVER_CONFIGURATIONS];
    size_t count = 0;
    size_t end = 1 + section->line_count + section->rule.allowed_count;
    code->instructions = section->instructions;
    code->constants = section->constants;
    code->drafts = section->drafts;
    decision_code_begin(code, section->steps, section->program.count, section->range_count + 1);
    for (size_t i = 0; i < end; i++) {
        struct cover_part *part = i == 0 ? &section->rule.constraint
                                  : i <= section->line_count
                                      ? &section->parts[i - 1]
                                      : &section->allowed[i - 1 - section->line_count];
        part->code = decision_code_add(code, section->steps + part->first, part->count);
        parts[count++] = &part->code;
    }
    decision_code_finish(code, parts, count);
}

int cover_section_finish(struct cover_section *section, struct ini_reader *ini)
{
    struct cover_rule *rule = &section->rule;
    section->program = (struct decision_program){.steps = section->steps, .room = COVER_STEPS};
    for (size_t i = 0; i < section->range_count; i++) {
        section->lows[i] = section->ranges[i].low.real;
        section->highs[i] = section->ranges[i].high.real;
    }
    *rule = (struct cover_rule){.range_count = section->range_count,
                                .lows = section->lows,
                                .highs = section->highs,
                                .lines = section->parts,
                                .line_count = section->line_count,
                                .allowed = section->allowed};
    int status = check_parts(section, ini);
    if (status == 0)
        status = check_configurations(section, ini);
    if (status == 0)
        status = check_names(section, ini);
    if (status == 0)
        status = check_lines(section, ini);
    if (status == 0)
        status = check_figures(section, ini);
    section->program.count = section->program.kept_count = section->program.tokens = 0;
    decision_forget(&section->program);
    if (status == 0)
        status = compile_rule(section, ini);
    if (status == 0)
        make_code(section);
    return status;
}

/* --- evaluating --- */

void cover_section_evaluate(struct cover_section *section, struct ini_reader *ini,
                            const char *expression, size_t configuration, const double *values,
                            size_t count, double *results)
{
    char message[DECISION_MESSAGE_BYTES];
    double kept[DECISION_KEPT];
    const struct decision_scope scope = {find, section, section->configuration_count};
    const struct decision_step *steps = section->steps + section->program.count;
    struct decision_program program = section->program;
    program.tokens = program.kept_count = 0;
    decision_forget(&program);
    bool compiled =
        decision_compile(&program, &scope, expression, configuration, DECISION_NUMBER, message);
    if (!compiled)
        (void)ini_reader_fail(ini, "'%s': %s", expression, message);
    for (size_t i = 0; i < count; i++)
        results[i] = compiled ? decision_evaluate(steps, program.count - section->program.count,
                                                  values + i * (section->range_count + 1), kept)
                              : NAN;
}

/* Values, constants and results: a step has at most one of the last two. */
enum { PLACES = COVER_VALUES + COVER_STEPS };

static bool holds(const struct cover_rule *rule, const struct cover_part *part, double *places)
{
    return part->count == 0 || decision_code_evaluate(&rule->code, &part->code, places) > 0;
}

static bool is_within(const struct cover_rule *rule, const double *values)
{
    for (size_t i = 0; i < rule->range_count; i++)
        if (!(values[i] >= rule->lows[i] && values[i] <= rule->highs[i]))
            return false;
    return true;
}

bool cover_rule_decide(const struct cover_rule *rule, const double *values, size_t *line)
{
    double places[PLACES];
    if (!is_within(rule, values))
        return false;
    decision_code_start(&rule->code, values, places);
    if (!holds(rule, &rule->constraint, places))
        return false;
    *line = 0;
    while (*line + 1 < rule->line_count && !holds(rule, &rule->lines[*line], places))
        ++*line;
    return true;
}

bool cover_rule_allow(const struct cover_rule *rule, const double *values,
                      bool allowed[COVER_CONFIGURATIONS])
{
    double places[PLACES];
    for (size_t i = 0; i < COVER_CONFIGURATIONS; i++)
        allowed[i] = true;
    decision_code_start(&rule->code, values, places);
    if (!holds(rule, &rule->constraint, places))
        return false;
    if (rule->allowed_count == 0)
        return true;
    for (size_t i = 0; i < rule->line_count; i++) /* no part is left out before another */
        (void)holds(rule, &rule->lines[i], places);
    for (size_t i = 0; i < rule->allowed_count; i++)
        allowed[i] = holds(rule, &rule->allowed[i], places);
    return true;
}
