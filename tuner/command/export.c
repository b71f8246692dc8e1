#include "command/export.h"

#include "base/alloc.h"
#include "base/tuned_reader.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* --- texts --- */

void export_put_upper(FILE *stream, const char *text)
{
    for (; *text != '\0'; text++)
        fputc(toupper((unsigned char)*text), stream);
}

char *export_string(const char *text)
{
    char *literal = alloc_string("\"");
    for (; *text != '\0'; text++)
        if (strchr("\"\\?/", *text) != NULL)
            alloc_append(&literal, "\\%03o", (unsigned)*text);
        else
            alloc_append(&literal, "%c", *text);
    alloc_append(&literal, "\"");
    return literal;
}

/* Writes a value as the tuner passes it to the compiler: 256, 0.5, FINISH_TWO_PASS. */
static void put_value(FILE *stream, const struct tuned_value *value)
{
    if (value->kind == TUNED_WORD) {
        export_put_upper(stream, value->name);
        fputc('_', stream);
        export_put_upper(stream, value->text);
    } else if (value->kind == TUNED_INTEGER) {
        fprintf(stream, "%lld", (long long)value->integer);
    } else {
        fprintf(stream, "%s%s", value->text, strpbrk(value->text, ".e") == NULL ? ".0" : "");
    }
}

void export_put_names(FILE *stream, const struct tuned_value *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        fprintf(stream, ", %s", values[i].name);
}

void export_put_values(FILE *stream, const struct tuned_value *values, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        fputs(", ", stream);
        put_value(stream, &values[i]);
    }
}

char *export_prefixed(const char *kernel, const char *name)
{
    char *text = alloc_format("%s_%s", kernel, name);
    for (char *next = text; *next != '\0'; next++)
        *next = (char)toupper((unsigned char)*next);
    return text;
}

/* The marker of a macro with this value; a name has no characters of numbers or strings. */
static void put_marker(FILE *stream, const char *name, const char *value)
{
    fprintf(stream, "AUTOTUNE_EXPORTED_%s_IS_", name);
    for (; *value != '\0'; value++) {
        if (*value == '.' || *value == '-' || *value == '+')
            fputc(*value == '.' ? 'D' : *value == '-' ? 'M' : 'P', stream);
        else if (*value != '"')
            fputc(*value, stream);
    }
    fputc('\n', stream);
}

void export_put_define(FILE *stream, const char *name, const char *value)
{
    fprintf(stream, "#ifndef %s\n#define %s %s\n#define AUTOTUNE_EXPORTED_%s\n#define ", name, name,
            value, name);
    put_marker(stream, name, value);
    fprintf(stream, "#elif defined AUTOTUNE_EXPORTED_%s && !defined ", name);
    put_marker(stream, name, value);
    fprintf(stream, "#error %s has another value in another header of `autotune export`\n#endif\n",
            name);
}

void export_put_template_hash(FILE *stream, const char *kernel, const char *hash)
{
    char *name = export_prefixed(kernel, "template_hash");
    char *value = export_string(hash);
    export_put_define(stream, name, value);
    free(value);
    free(name);
}

/* --- which configurations --- */

int export_check_versions(const struct command_query *query, size_t index, struct error *error)
{
    const struct tuned_configuration *first = tuned_at(query->table, index);
    const struct tuned_configuration *next;
    const char *hash = query->query.template_hash;
    if (hash != NULL && strcmp(first->template_name, query->template.name) == 0 &&
        strcmp(first->template_hash, hash) != 0)
        return error_set(error, ERROR_CONFIG,
                         "[%s] was tuned with another version of '%s'; tune again, or remove it",
                         first->section, query->template.path);
    for (; (next = tuned_at(query->table, index)) != NULL; index++)
        if (strcmp(next->kernel, first->kernel) == 0 &&
            strcmp(next->template_hash, first->template_hash) != 0)
            return error_set(error, ERROR_CONFIG,
                             "[%s] and [%s] come from different versions of the template; tune "
                             "again, or remove one",
                             first->section, next->section);
    return 0;
}

/* As look-ups tell values apart: as doubles, two large integers may be equal. */
static bool same_value(const struct tuned_value *a, const struct tuned_value *b)
{
    if (a->kind == TUNED_WORD || b->kind == TUNED_WORD)
        return strcmp(a->text, b->text) == 0;
    if (a->kind == TUNED_INTEGER && b->kind == TUNED_INTEGER)
        return a->integer == b->integer;
    return !(a->real < b->real) && !(a->real > b->real);
}

static bool same_problem(const struct tuned_configuration *a, const struct tuned_configuration *b)
{
    bool same = a->problem_count == b->problem_count;
    for (size_t i = 0; same && i < a->problem_count; i++)
        same = strcmp(a->problem[i].name, b->problem[i].name) == 0 &&
               same_value(&a->problem[i], &b->problem[i]);
    return same;
}

/* Whether a cover is for all sizes that another one is for; also true if neither is a cover. */
static bool has_sizes_of(const struct tuned_cover *a, const struct tuned_cover *b)
{
    if (a == NULL || b == NULL)
        return a == b;
    const char *constraints[] = {a->constraint != NULL ? a->constraint : "",
                                 b->constraint != NULL ? b->constraint : ""};
    bool has = a->range_count == b->range_count && strcmp(constraints[0], constraints[1]) == 0;
    for (size_t i = 0; has && i < a->range_count; i++)
        has = strcmp(a->ranges[i].name, b->ranges[i].name) == 0 &&
              a->ranges[i].low <= b->ranges[i].low && a->ranges[i].high >= b->ranges[i].high;
    return has;
}

static bool is_cached_as(const struct tuned_configuration *configuration, const char *cache)
{
    return configuration->cache != NULL && strcmp(configuration->cache, cache) == 0;
}

static const char *preferred_cache(const struct command_query *query)
{
    return query->cache != NULL ? query->cache : "cold";
}

bool export_prefers(const struct command_query *query,
                    const struct tuned_configuration *configuration)
{
    return is_cached_as(configuration, preferred_cache(query));
}

bool export_takes(const struct command_query *query,
                  const struct tuned_configuration *configuration)
{
    const char *cache = preferred_cache(query);
    const struct tuned_configuration *other;
    if (is_cached_as(configuration, cache))
        return true;
    /* left out only if another entry answers for every GPU that this one answers for */
    for (size_t i = 0; (other = tuned_at(query->table, i)) != NULL; i++)
        if (is_cached_as(other, cache) && strcmp(other->kernel, configuration->kernel) == 0 &&
            tuned_reader_same_gpu(other->gpu, configuration->gpu) &&
            (other->gpu->sm_count == 0 || other->gpu->sm_count == configuration->gpu->sm_count) &&
            has_sizes_of(other->cover, configuration->cover) && same_problem(other, configuration))
            return false;
    return true;
}
