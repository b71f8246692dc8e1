#include "template/sweep_cover.h"

#include "base/alloc.h"
#include "base/suggestion.h"
#include "template/value.h"
#include "template/value_list.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct cover_reading {
    struct sweep_cover *cover;
    const struct template *template;
    const char *path;
    int line;
    size_t named; /* axes that have a name; the last of them may still lack their bounds */
    size_t bounded;
    struct error *error;
};

static int fail(const struct cover_reading *reading, const char *text, const char *reason)
{
    return error_set_at(reading->error, ERROR_CONFIG, reading->path, reading->line, "cover '%s' %s",
                        text, reason);
}

static int unknown_name(const struct cover_reading *reading, const char *name)
{
    const struct template *template = reading->template;
    const char **names = alloc_zeroed(template->problem_count + 1, sizeof *names);
    for (size_t i = 0; i < template->problem_count; i++)
        names[i] = template->problem[i].name;
    int status = suggestion_unknown(reading->path, reading->line, "problem value", name, names,
                                    reading->error);
    free(names);
    return status;
}

static bool depends(const struct expression *expression, const char *name)
{
    for (size_t i = 0; expression != NULL && i < expression_name_count(expression); i++)
        if (strcmp(expression_name(expression, i), name) == 0)
            return true;
    return false;
}

/* Whether each value of the problem value needs cubins of its own. */
static bool is_compiled_in(const struct template *template, const char *name)
{
    bool compiled = depends(template->max_registers, name) || depends(template->features, name);
    for (size_t i = 0; i < template->definition_count; i++)
        compiled = compiled || strcmp(template->definitions[i].name, name) == 0;
    for (size_t i = 0; i < template->option_count; i++)
        compiled = compiled || depends(template->options[i].value, name);
    return compiled;
}

static int add_name(struct cover_reading *reading, const char *name)
{
    const struct parameter *value = template_problem_value(reading->template, name);
    if (value == NULL)
        return unknown_name(reading, name);
    if (value->fallback.kind != VALUE_INTEGER)
        return fail(reading, name, "is not a whole number and cannot have a range");
    if (is_compiled_in(reading->template, name))
        return fail(reading, name,
                    "cannot have a range: the kernel is compiled for each of its values; list "
                    "values instead, or pass it as an argument");
    for (size_t i = 0; i < reading->named; i++)
        if (strcmp(reading->cover->axes[i].name, name) == 0)
            return fail(reading, name, "is given twice");
    if (reading->named == SWEEP_COVER_AXES)
        return fail(reading, name, "is one problem value too many; 6 may have a range");
    reading->cover->axes[reading->named++].name = value->name;
    return 0;
}

static bool parse_bound(const char *text, int64_t *bound)
{
    char **parts; /* one: without the blanks around it */
    struct value value;
    size_t count = text_split(text, ',', &parts);
    bool valid = count == 1 && value_parse(parts[0], &value, NULL) == 0 &&
                 value.kind == VALUE_INTEGER && value.as.integer >= 1;
    if (valid)
        *bound = value.as.integer;
    text_split_release(parts, count);
    return valid;
}

/* "16 .. 8192", for the names that have no bounds yet. */
static int add_bounds(struct cover_reading *reading, const char *text)
{
    const char *dots = strstr(text, "..");
    int64_t low = 0;
    int64_t high = 0;
    char *first = alloc_string_n(text, dots != NULL ? (size_t)(dots - text) : 0);
    bool valid = dots != NULL && parse_bound(first, &low) && parse_bound(dots + 2, &high);
    free(first);
    if (!valid)
        return fail(reading, text,
                    "is not a range; write it as n = 2^10 .. 2^30, in whole numbers from 1");
    if (low > high)
        return fail(reading, text, "ends below its start");
    for (; reading->bounded < reading->named; reading->bounded++) {
        reading->cover->axes[reading->bounded].low = low;
        reading->cover->axes[reading->bounded].high = high;
    }
    return 0;
}

/* "m" or "n = 16 .. 8192" */
static int read_part(struct cover_reading *reading, const char *part)
{
    size_t length = strcspn(part, "= \t");
    const char *equals = strchr(part, '=');
    char *name = alloc_string_n(part, length);
    int status = name[0] != '\0' ? add_name(reading, name)
                                 : fail(reading, part, "does not name a problem value");
    if (status == 0 && equals != NULL)
        status = add_bounds(reading, equals + 1 + strspn(equals + 1, " \t"));
    free(name);
    return status;
}

static int read_ranges(struct cover_reading *reading, const char *text)
{
    char **parts;
    size_t count = text_split(text, ',', &parts);
    int status = 0;
    for (size_t i = 0; i < count && status == 0; i++)
        status = read_part(reading, parts[i]);
    text_split_release(parts, count);
    if (status == 0 && (count == 0 || reading->bounded < reading->named))
        status = fail(reading, text, "has no range; write it as n = 2^10 .. 2^30");
    reading->cover->axis_count = reading->named;
    return status;
}

static int read_configurations(struct cover_reading *reading, const struct ini_entry *entry)
{
    struct value value;
    if (value_parse(entry->value, &value, NULL) != 0 || value.kind != VALUE_INTEGER ||
        value.as.integer < 1 || value.as.integer > SWEEP_COVER_MOST)
        return error_set_at(reading->error, ERROR_CONFIG, reading->path, entry->line,
                            "cover_configurations '%s' is not a whole number from 1 to %d",
                            entry->value, SWEEP_COVER_MOST);
    reading->cover->configurations = (size_t)value.as.integer;
    return 0;
}

int sweep_cover_read(struct sweep_cover *cover, const struct template *template,
                     struct ini_file *ini, const char *section, struct error *error)
{
    const struct ini_entry *ranges = ini_file_get(ini, section, "cover");
    const struct ini_entry *configurations = ini_file_get(ini, section, "cover_configurations");
    struct cover_reading reading = {
        .cover = cover, .template = template, .path = ini->path, .error = error};
    int status = 0;
    *cover = (struct sweep_cover){.configurations = SWEEP_COVER_USUAL};
    if (ranges != NULL) {
        cover->line = reading.line = ranges->line;
        status = read_ranges(&reading, ranges->value);
    }
    return status == 0 && configurations != NULL ? read_configurations(&reading, configurations)
                                                 : status;
}
