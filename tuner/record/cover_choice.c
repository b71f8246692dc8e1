#include "record/cover_choice.h"

#include "base/alloc.h"
#include "base/cover_section.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* A section being made from an entry. */
struct making {
    struct cover_section *section;
    struct ini_reader ini;
};

static int take_line(void *user, const char *key, const char *text)
{
    struct making *making = user;
    if (strlen(key) + strlen(" = ") + strlen(text) > TUNED_LINE_BYTES)
        return ini_reader_fail(&making->ini,
                               "'%s = %.60s…' has more than %d bytes; make it shorter", key, text,
                               TUNED_LINE_BYTES);
    return cover_section_add(making->section, &making->ini, key, text);
}

static int fix_values(struct making *making, const struct bindings *problem)
{
    int status = 0;
    for (size_t i = 0; i < problem->count && status == 0; i++) {
        char text[VALUE_TEXT_BYTES];
        struct literal literal;
        (void)value_exact_text(problem->items[i].value, text);
        status = literal_parse(text, &literal) != NULL
                     ? ini_reader_fail(&making->ini, "'%s' is not a value", text)
                     : cover_section_fix(making->section, &making->ini, problem->items[i].name,
                                         text, &literal);
    }
    return status;
}

/* Makes the section as a reader would, compiled; free `making->section`. */
static int make(struct making *making, const struct tuned_entry *entry, struct error *error)
{
    *making = (struct making){.section = alloc_zeroed(1, sizeof *making->section)};
    cover_section_clear(making->section);
    int status = fix_values(making, &entry->problem);
    if (status == 0)
        status = cover_entry_lines(entry->cover, take_line, making);
    if (status == 0)
        status = cover_section_finish(making->section, &making->ini);
    return status == 0 ? 0
                       : error_set(error, ERROR_CONFIG, "the cover of '%s' cannot be written: %s",
                                   entry->kernel, making->ini.message);
}

int cover_entry_section(const struct tuned_entry *entry, struct cover_section **section,
                        struct error *error)
{
    struct making making;
    int status = make(&making, entry, error);
    *section = making.section;
    return status;
}

int cover_entry_check(const struct tuned_entry *entry, struct error *error)
{
    struct making making;
    int status = make(&making, entry, error);
    free(making.section);
    return status;
}

/* The values of the ranges and the SMs. */
static int take_values(const struct tuned_entry *entry, const struct bindings *problem,
                       int sm_count, double values[COVER_VALUES], struct error *error)
{
    const struct cover_entry *cover = entry->cover;
    for (size_t i = 0; i < cover->range_count; i++) {
        const struct value *value = bindings_find(problem, cover->ranges[i].name);
        if (value == NULL || (value->kind != VALUE_INTEGER && value->kind != VALUE_REAL))
            return error_set(error, ERROR_CONFIG, "the problem has no number '%s'",
                             cover->ranges[i].name);
        values[i] = value->kind == VALUE_INTEGER ? (double)value->as.integer : value->as.real;
    }
    values[cover->range_count] = sm_count > 0 ? sm_count : entry->sm_count;
    return 0;
}

int cover_entry_choose(const struct tuned_entry *entry, const struct bindings *problem,
                       int sm_count, size_t *line, size_t *configuration, struct error *error)
{
    struct making making;
    double values[COVER_VALUES];
    int status = make(&making, entry, error);
    if (status == 0)
        status = take_values(entry, problem, sm_count, values, error);
    if (status == 0 && cover_rule_decide(&making.section->rule, values, line)) {
        *configuration = entry->cover->lines[*line].configuration;
        status = 1;
    }
    free(making.section);
    return status;
}

static bool has_values(const struct bindings *values, const struct bindings *wanted)
{
    bool has = true;
    for (size_t i = 0; i < wanted->count && has; i++) {
        const struct value *value = bindings_find(values, wanted->items[i].name);
        has = value != NULL && value_alike(*value, wanted->items[i].value);
    }
    return has;
}

bool cover_entry_has(const struct tuned_entry *entry, const struct bindings *problem)
{
    size_t line;
    size_t configuration;
    return has_values(problem, &entry->problem) &&
           cover_entry_choose(entry, problem, 0, &line, &configuration, NULL) == 1;
}

bool cover_entry_allows(const struct tuned_entry *entry, size_t configuration,
                        const struct bindings *problem, int sm_count)
{
    double allowed = 0;
    return !cover_entry_has_figure(entry->cover, "allowed") ||
           (cover_entry_figure(entry, "allowed", configuration, problem, sm_count, &allowed,
                               NULL) == 0 &&
            allowed > 0);
}

int cover_entry_figure(const struct tuned_entry *entry, const char *expression,
                       size_t configuration, const struct bindings *problem, int sm_count,
                       double *value, struct error *error)
{
    struct making making;
    double values[COVER_VALUES];
    int status = make(&making, entry, error);
    if (status == 0)
        status = take_values(entry, problem, sm_count, values, error);
    if (status == 0 && configuration >= entry->cover->configuration_count)
        status = error_set(error, ERROR_CONFIG, "there is no configuration %zu", configuration + 1);
    if (status == 0) {
        making.ini.message[0] = '\0';
        cover_section_evaluate(making.section, &making.ini, expression, configuration, values, 1,
                               value);
        if (making.ini.message[0] != '\0')
            status = error_set(error, ERROR_CONFIG, "%s", making.ini.message);
    }
    free(making.section);
    return status;
}

/* --- what a cover makes superfluous --- */

static bool is_choice(const struct tuned_entry *entry, const struct bindings *parameters)
{
    bool is = bindings_alike(&entry->parameters, parameters);
    for (size_t i = 0; i < entry->tie_count; i++)
        is = is || bindings_alike(&entry->ties[i], parameters);
    return is;
}

/* Whether the cover decides about the entry's problem, and what it chooses. */
static bool decides(const struct tuned_entry *cover, const struct tuned_entry *entry,
                    const struct bindings **parameters)
{
    size_t line;
    size_t configuration = 0;
    if (strcmp(cover->kernel, entry->kernel) != 0 ||
        strcmp(cover->template_hash, entry->template_hash) != 0 ||
        !tuned_entry_same_gpu(cover, entry) || strcmp(cover->cache, entry->cache) != 0 ||
        !has_values(&entry->problem, &cover->problem) ||
        cover_entry_choose(cover, &entry->problem, 0, &line, &configuration, NULL) != 1)
        return false;
    *parameters = &cover->cover->configurations[configuration].parameters;
    return true;
}

/* Whether an application without the entry gets its configuration, or one that ties, from a cover: as in
 * a look-up, from the one with the fewest ranges, the first of several. */
static bool is_covered(const struct tuned_file *tuned, const struct tuned_entry *entry)
{
    const struct bindings *chosen = NULL;
    size_t fewest = SIZE_MAX;
    for (size_t i = 0; i < tuned->count && entry->cover == NULL; i++) {
        const struct tuned_entry *cover = &tuned->entries[i];
        if (cover->cover != NULL && cover->cover->range_count < fewest &&
            decides(cover, entry, &chosen))
            fewest = cover->cover->range_count;
    }
    return chosen != NULL && is_choice(entry, chosen);
}

void cover_drop_covered(struct tuned_file *tuned)
{
    for (size_t i = tuned->count; i-- > 0;) {
        if (!is_covered(tuned, &tuned->entries[i]))
            continue;
        tuned_entry_release(&tuned->entries[i]);
        memmove(&tuned->entries[i], &tuned->entries[i + 1],
                (--tuned->count - i) * sizeof *tuned->entries);
    }
}
