#include "table.h"

#include "base/literal.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *tuned_rule_text(enum tuned_rule rule)
{
    static const char *const texts[] = {
        [TUNED_NOTHING] = "nothing",
        [TUNED_EXACT] = "same GPU, same size",
        [TUNED_COVER] = "same GPU, in the range of a cover",
        [TUNED_OUTSIDE_COVER] = "same GPU, outside the range of a cover",
        [TUNED_NEAREST_SIZE] = "same GPU, nearest size",
        [TUNED_NEAREST_GPU] = "same compute capability, nearest GPU",
        [TUNED_SAME_FAMILY] = "same compute-capability family, nearest GPU",
        [TUNED_DEFAULTS] = "defaults of the template",
    };
    return (size_t)rule < sizeof texts / sizeof *texts ? texts[rule] : "unknown rule";
}

/* A text that is cut if it does not fit, but whose whole length is counted. */
struct text {
    char *buffer;
    size_t size;
    size_t length;
};

static void add(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add(struct text *text, const char *format, ...)
{
    bool full = text->length >= text->size;
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(full ? NULL : text->buffer + text->length,
                           full ? 0 : text->size - text->length, format, arguments);
    va_end(arguments);
    if (length > 0)
        text->length += (size_t)length;
}

static void add_values(struct text *text, const struct tuned_value *values, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        add(text, "%s%s=", i > 0 ? " " : "", values[i].name);
        if (values[i].kind == TUNED_INTEGER)
            add(text, "%lld", (long long)values[i].integer);
        else if (values[i].kind == TUNED_REAL)
            add(text, "%g", values[i].real);
        else
            add(text, "%s", values[i].text);
    }
}

static void add_refused(struct text *text, const struct tuned_match *match)
{
    if (match->candidates == 0) {
        add(text, "; the tuned INI has no configuration of this kernel");
        return;
    }
    add(text, "; of %zu configuration%s of this kernel", match->candidates,
        match->candidates > 1 ? "s" : "");
    const struct {
        size_t count;
        const char *reason;
    } refused[] = {
        {match->refused_versions, "of another version of the template"},
        {match->refused_problems, "not for this problem"},
        {match->refused_gpus, "for GPUs beyond the limit"},
    };
    const char *separator = "";
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        if (refused[i].count == 0)
            continue;
        add(text, "%s %zu %s %s", separator, refused[i].count, refused[i].count > 1 ? "are" : "is",
            refused[i].reason);
        separator = ",";
    }
}

/* What decided, and what that may lose. */
static void add_cover(struct text *text, const struct tuned_match *match)
{
    const struct tuned_cover *cover = match->from->cover;
    add(text, "%s, by the nearest measured sizes",
        match->outside && match->rule != TUNED_OUTSIDE_COVER ? ", outside the range of the cover"
                                                             : "");
    if (match->outside)
        return;
    if (cover->held_out_sizes > 0)
        add(text, ", expected loss %.3g %%, worst %.3g %%", cover->mean_loss_percent,
            cover->worst_loss_percent);
}

static void add_from(struct text *text, const struct tuned_query *query,
                     const struct tuned_match *match)
{
    const struct tuned_configuration *from = match->from;
    add(text, ": [%s] of %s", from->section, from->gpu->name);
    if (from->cover != NULL)
        add(text, ", configuration %d of its cover", from->number);
    if (from->problem_count > 0)
        add(text, ", ");
    add_values(text, from->problem, from->problem_count);
    add(text, " (%s", tuned_rule_text(match->rule));
    if (from->cover != NULL)
        add_cover(text, match);
    if (match->gpu_distance > 0)
        add(text, ", GPU distance %.2f", match->gpu_distance);
    if (match->size_distance > 0)
        add(text, ", size distance %.2f", match->size_distance);
    if (from->cache != NULL &&
        strcmp(from->cache, query->cache != NULL ? query->cache : "cold") != 0)
        add(text, ", measured with a %s cache", from->cache);
    if (match->incomplete)
        add(text, ", the best so far when tuning was interrupted");
    if (match->other_version)
        add(text, ", of another version of the template");
    add(text, ")");
}

size_t tuned_explain(const struct tuned_query *query, const struct tuned_match *match, char *buffer,
                     size_t size)
{
    struct text text = {buffer, size, 0};
    if (size > 0)
        buffer[0] = '\0';
    add(&text, "%s", query->kernel);
    if (query->problem_count > 0)
        add(&text, " for ");
    add_values(&text, query->problem, query->problem_count);
    add(&text, " on %s", query->gpu->name[0] != '\0' ? query->gpu->name : "a GPU");
    if (match->from != NULL) {
        add_from(&text, query, match);
    } else {
        add(&text, ": %s", tuned_rule_text(match->rule));
        add_refused(&text, match);
    }
    return text.length;
}

/* --- definitions --- */

/* "-DNAME=VALUE", in capitals but for numbers: "-DFINISH=FINISH_ATOMIC". Names and words were checked when they
 * were read, so that the longest is "-D", a name, '=', a name, '_' and a word. */
static int define(struct tuned_definitions *definitions, size_t *used,
                  const struct tuned_value *value)
{
    size_t most = sizeof definitions->items / sizeof *definitions->items;
    size_t room = sizeof definitions->text - *used;
    char *start = definitions->text + *used;
    bool word = value->kind == TUNED_WORD;
    int length = value->kind == TUNED_INTEGER
                     ? snprintf(start, room, "-D%s=%lld", value->name, (long long)value->integer)
                     : snprintf(start, room, "-D%s=%s%s%s", value->name, word ? value->name : "",
                                word ? "_" : "", value->text);
    if (definitions->count == most || length < 0 || (size_t)length >= room)
        return TUNED_INVALID;
    for (char *at = start; *at != '\0' && (word || *at != '='); at++)
        *at = (char)(*at >= 'a' && *at <= 'z' ? *at - 'a' + 'A' : *at); /* in any locale */
    *used += (size_t)length + 1;
    definitions->items[definitions->count++] = start;
    return 0;
}

static bool has(const struct tuned_value *values, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(values[i].name, name) == 0)
            return true;
    return false;
}

/* The words of `values` that `others` does not have. */
static int define_words(struct tuned_definitions *definitions, size_t *used,
                        const struct tuned_value *values, size_t count,
                        const struct tuned_value *others, size_t other_count)
{
    int code = 0;
    for (size_t i = 0; i < count && code == 0; i++) {
        if (values[i].kind != TUNED_WORD || has(others, other_count, values[i].name))
            continue;
        code = values[i].text != NULL && literal_is_name(values[i].name, LITERAL_NAME_LETTERS) &&
                       literal_is_name(values[i].text, LITERAL_WORD_LETTERS)
                   ? define(definitions, used, &values[i])
                   : TUNED_INVALID;
    }
    return code;
}

int tuned_define(const struct tuned_table *table, const struct tuned_query *query,
                 const struct tuned_match *match, struct tuned_definitions *definitions)
{
    size_t used = 0;
    int code = 0;
    const struct defaults *defaults =
        tuned_defaults_for(table, tuned_kernel_of(table, query->kernel), query->kernel);
    const struct tuned_value *rest = match->from != NULL ? match->from->problem
                                     : defaults != NULL  ? defaults->problem.items
                                                         : NULL;
    size_t rest_count = match->from != NULL ? match->from->problem_count
                        : defaults != NULL  ? defaults->problem.count
                                            : 0;
    definitions->count = 0;
    for (size_t i = 0; i < match->parameter_count && code == 0; i++)
        code = define(definitions, &used, &match->parameters[i]);
    if (code == 0)
        code = define_words(definitions, &used, query->problem, query->problem_count, NULL, 0);
    if (code == 0)
        code = define_words(definitions, &used, rest, rest_count, query->problem,
                            query->problem_count);
    return code;
}

/* --- bundles --- */

/* A binary needs the same major, and the same or a later minor compute capability. */
static bool runs_on(const struct tuned_gpu *tuned, const struct tuned_gpu *gpu)
{
    return tuned->compute_capability / 10 == gpu->compute_capability / 10 &&
           tuned->compute_capability % 10 <= gpu->compute_capability % 10;
}

int tuned_cubin_path(const struct tuned_table *table, const struct tuned_query *query,
                     const struct tuned_match *match, char *path, size_t size)
{
    if (table->folder == NULL || match->from == NULL || !runs_on(match->from->gpu, query->gpu))
        return TUNED_NOT_FOUND;
    const char *section = match->from->section;
    const char *blank = strchr(section, ' ');
    size_t name = blank != NULL ? (size_t)(blank - section) : 0;
    if (blank == NULL || strlen(match->from->kernel) != name ||
        strncmp(section, match->from->kernel, name) != 0 ||
        strspn(blank + 1, "0123456789abcdef") != 8 || strlen(blank + 1) != 8)
        return TUNED_NOT_FOUND;
    char number[16] = "";
    if (match->from->cover != NULL)
        (void)snprintf(number, sizeof number, "-%d", match->from->number);
    int length = snprintf(path, size, "%s/cubin/%s-%s%s.cubin", table->folder, match->from->kernel,
                          blank + 1, number);
    return length >= 0 && (size_t)length < size ? 0 : TUNED_INVALID;
}
