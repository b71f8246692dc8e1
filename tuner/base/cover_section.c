#include "base/cover_section.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct cover_section *cover_section_new(void)
{
    return calloc(1, sizeof(struct cover_section));
}

/* Sizes and steps are written before they are read. */
void cover_section_clear(struct cover_section *section)
{
    section->fixed_count = section->range_count = section->configuration_count = 0;
    section->figure_count = section->line_count = section->size_count = 0;
    section->constraint = (struct cover_text){0};
    section->mean_loss_percent = section->worst_loss_percent = 0;
    section->held_out_sizes = 0;
    section->seen_mean = section->seen_worst = section->seen_held_out = false;
    section->rule = (struct cover_rule){0};
    section->program = (struct decision_program){0};
    section->used = 0;
}

static int too_many(struct ini_reader *ini, const char *what, size_t limit)
{
    return ini_reader_fail(ini, "the cover has more than %zu %s", limit, what);
}

static int wrong_value(struct ini_reader *ini, const char *key, const char *text,
                       const char *expected)
{
    return ini_reader_fail(ini, "'%s' of key '%s' is not %s", text, key, expected);
}

/* A copy in the section; NULL if it is full. */
static const char *keep(struct cover_section *section, const char *text, size_t length)
{
    if (length >= sizeof section->text - section->used)
        return NULL;
    char *copy = section->text + section->used;
    memcpy(copy, text, length);
    copy[length] = '\0';
    section->used += length + 1;
    return copy;
}

static int keep_text(struct cover_section *section, struct ini_reader *ini, const char *text,
                     const char **kept)
{
    *kept = keep(section, text, strlen(text));
    return *kept != NULL ? 0 : too_many(ini, "bytes of names and values", COVER_TEXT_BYTES);
}

static int keep_value(struct cover_section *section, struct ini_reader *ini, const char *name,
                      const char *text, const struct literal *value, struct cover_value *kept)
{
    kept->value = *value;
    int status = keep_text(section, ini, name, &kept->name);
    return status == 0 ? keep_text(section, ini, text, &kept->text) : status;
}

/* --- names --- */

/* sm_count and the like have a meaning of their own, which nothing in the cover may change. */
static bool is_reserved(const char *name)
{
    static const char *const names[] = {
        "sm_count", "blocks_per_sm", "registers", "min", "max", "floor", "ceil",
        "ceil_div", "true",          "false",     "and", "or",  "not",   "if"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

static bool is_taken(const struct cover_section *section, const char *name)
{
    for (size_t i = 0; i < section->fixed_count; i++)
        if (strcmp(section->fixed[i].name, name) == 0)
            return true;
    for (size_t i = 0; i < section->range_count; i++)
        if (strcmp(section->ranges[i].name, name) == 0)
            return true;
    for (size_t i = 0; i < section->figure_count; i++)
        if (strcmp(section->figures[i].name, name) == 0)
            return true;
    return false;
}

/* The name of a value of the problem or of a figure: new, and with no other meaning. */
static int check_name(const struct cover_section *section, struct ini_reader *ini, const char *name)
{
    if (!literal_is_name(name, LITERAL_NAME_LETTERS))
        return ini_reader_fail(ini, "'%s' is not a lower-case name of at most %d letters", name,
                               LITERAL_NAME_LETTERS);
    if (is_reserved(name))
        return ini_reader_fail(ini, "'%s' has a meaning of its own in a cover", name);
    return is_taken(section, name)
               ? ini_reader_fail(ini, "'%s' is given twice in this section", name)
               : 0;
}

int cover_section_fix(struct cover_section *section, struct ini_reader *ini, const char *name,
                      const char *text, const struct literal *value)
{
    int status = check_name(section, ini, name);
    if (status == 0 && section->fixed_count + section->range_count == TUNED_PROBLEM_VALUES)
        status = too_many(ini, "values of the problem", TUNED_PROBLEM_VALUES);
    return status == 0 ? keep_value(section, ini, name, text, value,
                                    &section->fixed[section->fixed_count++])
                       : status;
}

/* --- lines; `key` is the whole key, `rest` what follows the prefix --- */

static int read_number(struct ini_reader *ini, const char *key, const char *text,
                       struct literal *value)
{
    return literal_parse(text, value) == NULL && value->kind != LITERAL_WORD
               ? 0
               : wrong_value(ini, key, text, "a number");
}

static int add_range(struct cover_section *section, struct ini_reader *ini, const char *key,
                     const char *rest, const char *text)
{
    struct cover_interval range = {0};
    const char *dots = strstr(text, " .. ");
    int status = check_name(section, ini, rest);
    if (dots == NULL)
        return status == 0 ? wrong_value(ini, key, text, "LOW .. HIGH") : status;
    if (status == 0 && section->fixed_count + section->range_count == TUNED_PROBLEM_VALUES)
        status = too_many(ini, "values of the problem", TUNED_PROBLEM_VALUES);
    if (status == 0)
        status = keep_text(section, ini, rest, &range.name);
    if (status == 0 && (range.low_text = keep(section, text, (size_t)(dots - text))) == NULL)
        status = too_many(ini, "bytes of names and values", COVER_TEXT_BYTES);
    if (status == 0)
        status = keep_text(section, ini, dots + strlen(" .. "), &range.high_text);
    if (status == 0)
        status = read_number(ini, key, range.low_text, &range.low);
    if (status == 0)
        status = read_number(ini, key, range.high_text, &range.high);
    if (status == 0 && range.low.real > range.high.real)
        status = wrong_value(ini, key, text, "a range: it is empty");
    if (status == 0)
        section->ranges[section->range_count++] = range;
    return status;
}

static int add_constraint(struct cover_section *section, struct ini_reader *ini, const char *key,
                          const char *rest, const char *text)
{
    (void)rest;
    if (section->constraint.text != NULL)
        return ini_reader_fail(ini, "key '%s' is given twice in this section", key);
    section->constraint.line = ini->line;
    return keep_text(section, ini, text, &section->constraint.text);
}

/* Reads the N of "N" or "N.NAME", which is `count`, or `count` + 1 for the next; `*name` is NULL or
 * NAME. */
static int read_index(struct ini_reader *ini, const char *key, const char *rest, size_t count,
                      size_t limit, size_t *index, const char **name)
{
    size_t digits = strspn(rest, "0123456789");
    unsigned long number = digits > 0 && digits < 6 && *rest != '0' ? strtoul(rest, NULL, 10) : 0;
    *name = rest[digits] == '.' ? rest + digits + 1 : NULL;
    *index = number - 1;
    if (number == 0 || (rest[digits] != '\0' && rest[digits] != '.') ||
        (number != count && number != count + 1))
        return ini_reader_fail(ini, "key '%s' is out of order; they are numbered from 1", key);
    return number > limit ? ini_reader_fail(ini, "key '%s' is one of more than %zu", key, limit)
                          : 0;
}

static int add_parameter(struct cover_section *section, struct ini_reader *ini, const char *key,
                         const char *rest, const char *text)
{
    size_t index;
    const char *name;
    struct literal value;
    int status = read_index(ini, key, rest, section->configuration_count, COVER_CONFIGURATIONS,
                            &index, &name);
    if (status != 0)
        return status;
    struct cover_variant *variant = &section->configurations[index];
    if (index == section->configuration_count) {
        section->configuration_count++;
        variant->count = 0;
        variant->registers = variant->blocks_per_sm = 0;
    }
    if (name == NULL || !literal_is_name(name, LITERAL_NAME_LETTERS))
        return ini_reader_fail(ini, "key '%s' does not end with a lower-case name", key);
    for (size_t i = 0; i < variant->count; i++)
        if (strcmp(variant->parameters[i].name, name) == 0)
            return ini_reader_fail(ini, "key '%s' is given twice in this section", key);
    if (variant->count == TUNED_PARAMETERS)
        return too_many(ini, "parameters", TUNED_PARAMETERS);
    if (literal_parse(text, &value) != NULL)
        return wrong_value(ini, key, text, "a number or a lower-case word");
    return keep_value(section, ini, name, text, &value, &variant->parameters[variant->count++]);
}

static int add_compiled(struct cover_section *section, struct ini_reader *ini, const char *key,
                        const char *rest, const char *text)
{
    size_t index;
    const char *name;
    struct literal value;
    size_t digits = strspn(rest, "0123456789");
    unsigned long number = digits > 0 && digits < 6 ? strtoul(rest, NULL, 10) : 0;
    index = number - 1;
    name = rest[digits] == '.' ? rest + digits + 1 : "";
    if (number == 0 || number > section->configuration_count)
        return ini_reader_fail(ini, "key '%s' comes before the configuration", key);
    struct cover_variant *variant = &section->configurations[index];
    int *member = strcmp(name, "registers") == 0       ? &variant->registers
                  : strcmp(name, "blocks_per_sm") == 0 ? &variant->blocks_per_sm
                                                       : NULL;
    if (member == NULL)
        return ini_reader_fail(ini, "unknown key '%s' in a cover", key);
    if (*member != 0)
        return ini_reader_fail(ini, "key '%s' is given twice in this section", key);
    if (literal_parse(text, &value) != NULL || value.kind != LITERAL_INTEGER || value.integer < 1 ||
        value.integer > INT_MAX)
        return wrong_value(ini, key, text, "a whole number, 1 or more");
    *member = (int)value.integer;
    return 0;
}

static int add_figure(struct cover_section *section, struct ini_reader *ini, const char *key,
                      const char *rest, const char *text)
{
    (void)key;
    int status = check_name(section, ini, rest);
    if (status == 0 && section->figure_count == COVER_FIGURES)
        status = too_many(ini, "figures", COVER_FIGURES);
    if (status != 0)
        return status;
    struct cover_text *figure = &section->figures[section->figure_count++];
    figure->line = ini->line;
    status = keep_text(section, ini, rest, &figure->name);
    return status == 0 ? keep_text(section, ini, text, &figure->text) : status;
}

/* "M if CONDITION", or "M". */
static int add_line(struct cover_section *section, struct ini_reader *ini, const char *key,
                    const char *rest, const char *text)
{
    size_t index;
    const char *name;
    int status = read_index(ini, key, rest, section->line_count, COVER_LINES, &index, &name);
    if (status == 0 && (index < section->line_count || name != NULL))
        status = ini_reader_fail(ini, "key '%s' is out of order; they are numbered from 1", key);
    if (status != 0)
        return status;
    struct cover_rule_text *line = &section->lines[section->line_count++];
    *line = (struct cover_rule_text){.line = ini->line};
    size_t digits = strspn(text, "0123456789");
    unsigned long number = digits > 0 && digits < 6 ? strtoul(text, NULL, 10) : 0;
    const char *after = text + digits;
    bool conditional = strncmp(after, " if ", 4) == 0;
    if (number == 0 || (!conditional && *after != '\0'))
        return wrong_value(ini, key, text, "a configuration's number, or NUMBER if CONDITION");
    line->configuration = number - 1;
    status = keep_text(section, ini, text, &line->text);
    if (status == 0 && conditional)
        line->condition = line->text + digits + strlen(" if ");
    return status;
}

static int add_size(struct cover_section *section, struct ini_reader *ini, const char *key,
                    const char *rest, const char *text)
{
    size_t index;
    const char *name;
    int status = read_index(ini, key, rest, section->size_count, COVER_SIZES, &index, &name);
    if (status == 0 && (index < section->size_count || name != NULL))
        status = ini_reader_fail(ini, "key '%s' is out of order; they are numbered from 1", key);
    if (status != 0)
        return status;
    if (!cover_section_read_size(section, text, &section->sizes[section->size_count++]))
        return wrong_value(
            ini, key, text,
            "NAME=NUMBER for each range in order, then ': CONFIGURATION, TIME ns, LOSS %'");
    return 0;
}

static int add_loss(struct ini_reader *ini, const char *key, const char *text, bool *seen,
                    double *loss)
{
    struct literal value;
    if (*seen)
        return ini_reader_fail(ini, "key '%s' is given twice in this section", key);
    *seen = true;
    if (literal_parse(text, &value) != NULL || value.kind == LITERAL_WORD || value.real < 0)
        return wrong_value(ini, key, text, "a number of 0 or more");
    *loss = value.real;
    return 0;
}

static int add_mean(struct cover_section *section, struct ini_reader *ini, const char *key,
                    const char *rest, const char *text)
{
    (void)rest;
    return add_loss(ini, key, text, &section->seen_mean, &section->mean_loss_percent);
}

static int add_worst(struct cover_section *section, struct ini_reader *ini, const char *key,
                     const char *rest, const char *text)
{
    (void)rest;
    return add_loss(ini, key, text, &section->seen_worst, &section->worst_loss_percent);
}

static int add_held_out(struct cover_section *section, struct ini_reader *ini, const char *key,
                        const char *rest, const char *text)
{
    (void)rest;
    double count = 0;
    int status = add_loss(ini, key, text, &section->seen_held_out, &count);
    section->held_out_sizes = count < 1e9 ? (int64_t)count : 0;
    return status;
}

/* A key that ends with '.' is a prefix. */
static const struct key {
    const char *key;
    int (*add)(struct cover_section *section, struct ini_reader *ini, const char *key,
               const char *rest, const char *text);
} keys[] = {{"range.", add_range},
            {"constraint", add_constraint},
            {"configuration.", add_parameter},
            {"compiled.", add_compiled},
            {"figure.", add_figure},
            {"rule.", add_line},
            {"mean_loss_percent", add_mean},
            {"worst_loss_percent", add_worst},
            {"held_out_sizes", add_held_out},
            {"measured.", add_size}};

static const struct key *find_line(const char *text)
{
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        size_t length = strlen(keys[i].key);
        bool is_prefix = keys[i].key[length - 1] == '.';
        if (is_prefix ? strncmp(keys[i].key, text, length) == 0 : strcmp(keys[i].key, text) == 0)
            return &keys[i];
    }
    return NULL;
}

bool cover_section_has_key(const char *key)
{
    return find_line(key) != NULL;
}

int cover_section_add(struct cover_section *section, struct ini_reader *ini, const char *key,
                      const char *text)
{
    const struct key *found = find_line(key);
    if (found == NULL)
        return ini_reader_fail(
            ini, "unknown key '%s' in a cover; a newer autotune may have written it", key);
    return found->add(section, ini, key, key + strlen(found->key), text);
}
