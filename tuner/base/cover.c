#include "base/cover.h"

#include "base/expression_steps.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- memory: blocks that are freed together --- */

struct cover_block {
    struct cover_block *next;
    size_t used, room;
    max_align_t bytes[];
};

struct cover *cover_new(void)
{
    struct cover *cover = calloc(1, sizeof *cover);
    if (cover != NULL)
        cover->public.ranges = cover->ranges;
    return cover;
}

void cover_free(struct cover *cover)
{
    if (cover == NULL)
        return;
    while (cover->blocks != NULL) {
        struct cover_block *next = cover->blocks->next;
        free(cover->blocks);
        cover->blocks = next;
    }
    expression_free(cover->constraint.expression);
    expression_free(cover->estimate.expression);
    for (size_t i = 0; i < cover->allowed_count; i++)
        expression_free(cover->allowed[i].expression);
    for (size_t i = 0; i < cover->figure_count; i++)
        expression_free(cover->figures[i].expression);
    free(cover->ratios);
    free(cover->scales);
    free(cover->lines);
    free(cover->sizes);
    free(cover);
}

/* Zeroed bytes of the cover; NULL if memory runs out. */
static void *take_memory(struct cover *cover, size_t bytes)
{
    enum { ROOM = 8192 };
    bytes = (bytes + sizeof(max_align_t) - 1) / sizeof(max_align_t) * sizeof(max_align_t);
    if (cover->blocks == NULL || cover->blocks->room - cover->blocks->used < bytes) {
        size_t room = bytes > ROOM ? bytes : ROOM;
        struct cover_block *block = calloc(1, sizeof *block + room);
        if (block == NULL)
            return NULL;
        *block = (struct cover_block){.next = cover->blocks, .room = room};
        cover->blocks = block;
    }
    void *taken = (char *)cover->blocks->bytes + cover->blocks->used;
    cover->blocks->used += bytes;
    return taken;
}

static const char *keep_string(struct cover *cover, const char *text)
{
    size_t bytes = strlen(text) + 1;
    char *copy = take_memory(cover, bytes);
    return copy != NULL ? memcpy(copy, text, bytes) : NULL;
}

/* Room for element `count` of an array whose capacity is the next power of two. */
static int grow(struct ini_reader *ini, void *array, size_t count, size_t size)
{
    void **items = array;
    if ((count & (count - 1)) != 0)
        return 0;
    void *larger = realloc(*items, (count > 0 ? 2 * count : 1) * size);
    if (larger == NULL)
        return ini_reader_no_memory(ini);
    *items = larger;
    return 0;
}

/* --- names --- */

static int wrong_value(struct ini_reader *ini, const char *key, const char *text,
                       const char *expected)
{
    return ini_reader_fail(ini, "'%s' of key '%s' is not %s", text, key, expected);
}

static int given_twice(struct ini_reader *ini, const char *key)
{
    return ini_reader_fail(ini, "key '%s' is given twice in this section", key);
}

/* `name` and `text` are the cover's. */
static struct tuned_value value_of(const char *name, const char *text, const struct literal *value)
{
    static const enum tuned_kind kinds[] = {[LITERAL_INTEGER] = TUNED_INTEGER,
                                            [LITERAL_REAL] = TUNED_REAL,
                                            [LITERAL_WORD] = TUNED_WORD};
    return (struct tuned_value){name, kinds[value->kind], value->integer, value->real, text};
}

/* SIZE_MAX if there is none of this name. */
static size_t find_value(const struct tuned_value *values, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(values[i].name, name) == 0)
            return i;
    return SIZE_MAX;
}

static size_t find_range(const struct cover *cover, const char *name)
{
    for (size_t i = 0; i < cover->public.range_count; i++)
        if (strcmp(cover->ranges[i].name, name) == 0)
            return i;
    return SIZE_MAX;
}

/* What is known of a compiled configuration. */
static const char *const compiled_names[COVER_COMPILED_VALUES] = {"registers", "blocks_per_sm"};

static size_t find_compiled(const char *name)
{
    for (size_t i = 0; i < COVER_COMPILED_VALUES; i++)
        if (strcmp(compiled_names[i], name) == 0)
            return i;
    return SIZE_MAX;
}

/* The name of a value of the problem: new, and with no other meaning. */
static int check_name(const struct cover *cover, struct ini_reader *ini, const char *name)
{
    bool is_reserved = expression_reserves(name) || strcmp(name, "sm_count") == 0 ||
                       find_compiled(name) != SIZE_MAX;
    if (!literal_is_name(name, LITERAL_NAME_LETTERS))
        return ini_reader_fail(ini, "'%s' is not a lower-case name of at most %d letters", name,
                               LITERAL_NAME_LETTERS);
    if (is_reserved)
        return ini_reader_fail(ini, "'%s' has a meaning of its own in a cover", name);
    if (find_value(cover->fixed, cover->fixed_count, name) != SIZE_MAX ||
        find_range(cover, name) != SIZE_MAX)
        return ini_reader_fail(ini, "'%s' is given twice in this section", name);
    return cover->fixed_count + cover->public.range_count < TUNED_PROBLEM_VALUES
               ? 0
               : ini_reader_fail(ini, "the cover has more than %d values of the problem",
                                 TUNED_PROBLEM_VALUES);
}

int cover_fix(struct cover *cover, struct ini_reader *ini, const char *name, const char *text,
              const struct literal *value)
{
    int status = check_name(cover, ini, name);
    if (status != 0)
        return status;
    const char *kept_name = keep_string(cover, name);
    const char *kept_text = keep_string(cover, text);
    if (kept_name == NULL || kept_text == NULL)
        return ini_reader_no_memory(ini);
    cover->fixed[cover->fixed_count] = value_of(kept_name, kept_text, value);
    cover->fixed_values[cover->fixed_count++] = value_from_literal(value, kept_text);
    return 0;
}

/* --- lines; `key` is the whole key, `rest` what follows the prefix. Both, and `text`, are the cover's --- */

/* Reads a number and what stands behind it; returns what follows, or NULL. */
static const char *take_real(const char *at, const char *behind, double *number)
{
    char text[LITERAL_REAL_BYTES];
    struct literal value;
    at += strspn(at, " ");
    size_t length = strcspn(at, " ,:");
    if (length == 0 || length >= sizeof text)
        return NULL;
    memcpy(text, at, length);
    text[length] = '\0';
    if (literal_parse(text, &value) != NULL || value.kind == LITERAL_WORD)
        return NULL;
    *number = value.real;
    at += length;
    at += *behind != ' ' ? strspn(at, " ") : 0;
    return strncmp(at, behind, strlen(behind)) == 0 ? at + strlen(behind) : NULL;
}

static int add_range(struct cover *cover, struct ini_reader *ini, const char *key, const char *rest,
                     const char *text)
{
    struct tuned_range *range = &cover->ranges[cover->public.range_count];
    const char *high = take_real(text, "..", &range->low);
    int status = check_name(cover, ini, rest);
    if (status != 0)
        return status;
    const char *end = high != NULL ? take_real(high, "", &range->high) : NULL;
    if (end == NULL || *end != '\0')
        return wrong_value(ini, key, text, "LOW .. HIGH");
    if (range->low > range->high)
        return wrong_value(ini, key, text, "a range: it is empty");
    range->name = rest;
    cover->public.range_count++;
    return 0;
}

static struct cover_expression expression_of(const struct ini_reader *ini, const char *key,
                                             const char *text)
{
    return (struct cover_expression){.line = ini->line, .key = key, .text = text};
}

static int add_expression(struct cover *cover, struct ini_reader *ini, const char *key,
                          const char *rest, const char *text)
{
    bool is_estimate = strcmp(key, "estimate") == 0;
    (void)rest;
    *(is_estimate ? &cover->estimate : &cover->constraint) = expression_of(ini, key, text);
    cover->public.constraint = cover->constraint.text;
    return 0;
}

/* The name of a figure, behind "figure.". */
static const char *name_of(const struct cover_expression *figure)
{
    return figure->key + strlen("figure.");
}

/* SIZE_MAX if there is none of this name. */
static size_t find_figure(const struct cover *cover, const char *name)
{
    for (size_t i = 0; i < cover->figure_count; i++)
        if (strcmp(name_of(&cover->figures[i]), name) == 0)
            return i;
    return SIZE_MAX;
}

static int add_figure(struct cover *cover, struct ini_reader *ini, const char *key,
                      const char *rest, const char *text)
{
    if (find_figure(cover, rest) != SIZE_MAX)
        return given_twice(ini, key);
    if (cover->figure_count == COVER_FIGURES)
        return ini_reader_fail(ini, "the cover has more than %d figures", COVER_FIGURES);
    cover->figures[cover->figure_count++] = expression_of(ini, key, text);
    return 0;
}

/* Reads the N of "N" or "N.NAME", which is `first` to `last`, into `*index`, counted from 0; `*name` is NULL
 * or NAME. */
static int read_index(struct ini_reader *ini, const char *key, const char *rest, size_t first,
                      size_t last, size_t limit, size_t *index, const char **name)
{
    size_t digits = strspn(rest, "0123456789");
    unsigned long number = digits > 0 && digits < 6 && *rest != '0' ? strtoul(rest, NULL, 10) : 0;
    *name = rest[digits] == '.' ? rest + digits + 1 : NULL;
    *index = number - 1;
    if (number == 0 || (rest[digits] != '\0' && rest[digits] != '.') || number < first ||
        number > last)
        return ini_reader_fail(ini, "key '%s' is out of order; they are numbered from 1", key);
    return number > limit ? ini_reader_fail(ini, "key '%s' is one of more than %zu", key, limit)
                          : 0;
}

/* The same of a key that must be the next of its kind, of which there are `count`. */
static int read_next(struct ini_reader *ini, const char *key, const char *rest, size_t count,
                     size_t limit)
{
    size_t index;
    const char *name;
    int status = read_index(ini, key, rest, count + 1, count + 1, limit, &index, &name);
    return status == 0 && name != NULL
               ? ini_reader_fail(ini, "key '%s' is out of order; they are numbered from 1", key)
               : status;
}

static int add_allowed(struct cover *cover, struct ini_reader *ini, const char *key,
                       const char *rest, const char *text)
{
    int status = read_next(ini, key, rest, cover->allowed_count, COVER_CONDITIONS);
    if (status == 0)
        cover->allowed[cover->allowed_count++] = expression_of(ini, key, text);
    return status;
}

static int add_parameter(struct cover *cover, struct ini_reader *ini, const char *key,
                         const char *rest, const char *text)
{
    size_t index;
    const char *name;
    struct literal value;
    size_t count = cover->public.count;
    int status = read_index(ini, key, rest, count, count + 1, COVER_CONFIGURATIONS, &index, &name);
    if (status != 0)
        return status;
    struct cover_configuration *configuration = &cover->configurations[index];
    if (configuration->parameters == NULL) {
        /* as many as the first has: the others have the same */
        size_t room = index > 0 ? cover->configurations[0].count : TUNED_PARAMETERS;
        configuration->parameters =
            take_memory(cover, (room + 1) * sizeof *configuration->parameters);
        configuration->values = take_memory(cover, (room + 1) * sizeof *configuration->values);
        if (configuration->parameters == NULL || configuration->values == NULL)
            return ini_reader_no_memory(ini);
        cover->public.count++;
    }
    if (name == NULL || !literal_is_name(name, LITERAL_NAME_LETTERS))
        return ini_reader_fail(ini, "key '%s' does not end with a lower-case name", key);
    if (find_value(configuration->parameters, configuration->count, name) != SIZE_MAX)
        return given_twice(ini, key);
    if (index > 0 &&
        (configuration->count == cover->configurations[0].count ||
         strcmp(cover->configurations[0].parameters[configuration->count].name, name) != 0))
        return ini_reader_fail(ini,
                               "configuration %zu does not have the same parameters in the same "
                               "order as configuration 1",
                               index + 1);
    if (configuration->count == TUNED_PARAMETERS)
        return ini_reader_fail(ini, "the cover has more than %d parameters", TUNED_PARAMETERS);
    if (literal_parse(text, &value) != NULL)
        return wrong_value(ini, key, text, "a number or a lower-case word");
    configuration->parameters[configuration->count] = value_of(name, text, &value);
    configuration->values[configuration->count++] = value_from_literal(&value, text);
    return 0;
}

static int add_compiled(struct cover *cover, struct ini_reader *ini, const char *key,
                        const char *rest, const char *text)
{
    size_t index;
    const char *name;
    struct literal value;
    int status =
        read_index(ini, key, rest, 1, cover->public.count, COVER_CONFIGURATIONS, &index, &name);
    if (status != 0)
        return status;
    size_t which = name != NULL ? find_compiled(name) : SIZE_MAX;
    if (which == SIZE_MAX)
        return ini_reader_fail(ini, "unknown key '%s' in a cover", key);
    struct value *compiled = &cover->configurations[index].compiled[which];
    if (compiled->as.integer != 0)
        return given_twice(ini, key);
    if (literal_parse(text, &value) != NULL || value.kind != LITERAL_INTEGER || value.integer < 1 ||
        value.integer > INT_MAX)
        return wrong_value(ini, key, text, "a whole number, 1 or more");
    *compiled = value_integer(value.integer);
    return 0;
}

/* Reads "n=65536 k=16: 5.12 4.31 - us": a number for each range in order, and the time of each
 * configuration, as many as there are so far; `-` if it was not measured there. Returns false if the text has
 * another form. */
static bool read_size(const struct cover *cover, const char *text, double *numbers, double *times)
{
    const char *at = text;
    for (size_t i = 0; i < cover->public.range_count && at != NULL; i++) {
        const char *name = cover->ranges[i].name;
        at += strspn(at, " ");
        at = strncmp(at, name, strlen(name)) == 0 && at[strlen(name)] == '='
                 ? take_real(at + strlen(name) + 1, i + 1 < cover->public.range_count ? " " : ":",
                             &numbers[i])
                 : NULL;
    }
    for (size_t i = 0; i < cover->public.count && at != NULL; i++) {
        at += strspn(at, " ");
        if (strncmp(at, "- ", 2) == 0) {
            at += 2;
        } else if (strncmp(at, "failed ", 7) == 0) {
            at += 7;
            times[i] = INFINITY;
        } else {
            at = take_real(at, " ", &times[i]);
            at = at != NULL && times[i] > 0 ? at : NULL;
            times[i] *= 1000; /* us to ns */
        }
    }
    return at != NULL && strcmp(at + strspn(at, " "), "us") == 0;
}

static int add_size(struct cover *cover, struct ini_reader *ini, const char *key, const char *rest,
                    const char *text)
{
    const size_t count = cover->public.size_count;
    const size_t ranges = cover->public.range_count;
    double *numbers = take_memory(cover, (ranges + cover->public.count) * sizeof *numbers);
    int status = read_next(ini, key, rest, count, COVER_SIZES);
    if (status == 0)
        status = numbers != NULL ? grow(ini, &cover->sizes, count, sizeof *cover->sizes)
                                 : ini_reader_no_memory(ini);
    if (status != 0)
        return status;
    struct tuned_size *size = &cover->sizes[count];
    *size = (struct tuned_size){numbers, numbers + ranges, SIZE_MAX};
    if (!read_size(cover, text, numbers, numbers + ranges))
        return wrong_value(ini, key, text,
                           "NAME=NUMBER for each range in order, then ': ', the time of each "
                           "configuration or '-', and 'us'");
    for (size_t i = 0; i < cover->public.count; i++)
        if (size->times_ns[i] > 0 && size->times_ns[i] < INFINITY &&
            (size->fastest == SIZE_MAX || size->times_ns[i] < size->times_ns[size->fastest]))
            size->fastest = i;
    if (size->fastest == SIZE_MAX)
        return wrong_value(ini, key, text, "a size: it has no time");
    cover->public.sizes = cover->sizes;
    cover->public.size_count++;
    return 0;
}

static int add_loss(struct cover *cover, struct ini_reader *ini, const char *key, const char *rest,
                    const char *text)
{
    struct literal value;
    (void)rest;
    if (literal_parse(text, &value) != NULL || value.kind == LITERAL_WORD || value.real < 0)
        return wrong_value(ini, key, text, "a number of 0 or more");
    if (strcmp(key, "mean_loss_percent") == 0)
        cover->public.mean_loss_percent = value.real;
    else if (strcmp(key, "worst_loss_percent") == 0)
        cover->public.worst_loss_percent = value.real;
    else
        cover->public.held_out_sizes = value.real < 1e9 ? (int64_t)value.real : 0;
    return 0;
}

/* A key that ends with '.' is a prefix. */
static const struct key {
    const char *key;
    int (*add)(struct cover *cover, struct ini_reader *ini, const char *key, const char *rest,
               const char *text);
} keys[] = {{"range.", add_range},
            {"constraint", add_expression},
            {"allowed.", add_allowed},
            {"configuration.", add_parameter},
            {"compiled.", add_compiled},
            {"figure.", add_figure},
            {"estimate", add_expression},
            {"mean_loss_percent", add_loss},
            {"worst_loss_percent", add_loss},
            {"held_out_sizes", add_loss},
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

bool cover_has_key(const char *key)
{
    return find_line(key) != NULL;
}

static bool has_line(const struct cover *cover, const char *key)
{
    for (size_t i = 0; i < cover->line_count; i++)
        if (strcmp(cover->lines[i].key, key) == 0)
            return true;
    return false;
}

int cover_add(struct cover *cover, struct ini_reader *ini, const char *key, const char *text)
{
    const struct key *found = find_line(key);
    if (found == NULL)
        return ini_reader_fail(
            ini, "unknown key '%s' in a cover; a newer autotune may have written it", key);
    const char *rest = key + strlen(found->key);
    if (*rest == '\0' && has_line(cover, key))
        return given_twice(ini, key);
    if (cover->public.size_count > 0 && (found->add == add_range || found->add == add_parameter))
        return ini_reader_fail(ini, "key '%s' must come before 'measured.1'", key);
    int status = grow(ini, &cover->lines, cover->line_count, sizeof *cover->lines);
    if (status != 0)
        return status;
    struct cover_line *line = &cover->lines[cover->line_count];
    line->key = keep_string(cover, key);
    line->text = keep_string(cover, text);
    if (line->key == NULL || line->text == NULL)
        return ini_reader_no_memory(ini);
    cover->line_count++;
    return found->add(cover, ini, line->key, line->key + (rest - key), line->text);
}

/* --- finishing --- */

static int check_parts(const struct cover *cover, struct ini_reader *ini)
{
    const struct {
        size_t count;
        const char *key;
    } parts[] = {{cover->public.count, "configuration.1."},
                 {cover->public.range_count, "range."},
                 {cover->public.size_count, "measured.1"}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (parts[i].count == 0)
            return ini_reader_fail(ini, "the cover has no key '%s'", parts[i].key);
    for (size_t i = 1; i < cover->public.count; i++)
        if (cover->configurations[i].count != cover->configurations[0].count)
            return ini_reader_fail(ini,
                                   "configuration %zu does not have the same parameters in the "
                                   "same order as configuration 1",
                                   i + 1);
    for (size_t i = 0; i < cover->configurations[0].count; i++) {
        const char *name = cover->configurations[0].parameters[i].name;
        if (find_range(cover, name) != SIZE_MAX ||
            find_value(cover->fixed, cover->fixed_count, name) != SIZE_MAX)
            return ini_reader_fail(ini, "'%s' is a parameter and something else in this cover",
                                   name);
    }
    return 0;
}

/* False if the name means nothing. Only what concerns a configuration may name what it has, and figures, of
 * which the first `figures` count. */
static bool find_name(const struct cover *cover, const char *name, bool of_configuration,
                      size_t figures, struct cover_name *found)
{
    const struct cover_configuration *first = &cover->configurations[0];
    const size_t figure = find_figure(cover, name);
    const struct {
        int kind;
        size_t index;
    } meanings[] = {
        {COVER_PROBLEM, find_range(cover, name)},
        {COVER_PROBLEM, strcmp(name, "sm_count") == 0 ? cover->public.range_count : SIZE_MAX},
        {COVER_FIXED, find_value(cover->fixed, cover->fixed_count, name)},
        {COVER_PARAMETER,
         of_configuration ? find_value(first->parameters, first->count, name) : SIZE_MAX},
        {COVER_COMPILED, of_configuration ? find_compiled(name) : SIZE_MAX},
        {COVER_FIGURE, figure < figures ? figure : SIZE_MAX},
    };
    for (size_t i = 0; i < sizeof meanings / sizeof *meanings; i++)
        if (meanings[i].index != SIZE_MAX) {
            found->kind = meanings[i].kind;
            found->index = meanings[i].index;
            return true;
        }
    return false;
}

static int compile(struct cover *cover, struct ini_reader *ini, bool of_configuration,
                   size_t figures, struct cover_expression *to)
{
    struct error error;
    int line = ini->line;
    if (to->text == NULL)
        return 0;
    int status = expression_new(&to->expression, to->text, "", 0, &error);
    if (status == ERROR_MEMORY)
        return ini_reader_no_memory(ini);
    ini->line = to->line > 0 ? to->line : ini->line;
    if (status != 0)
        return ini_reader_fail(ini, "key '%s': %s", to->key, error.message);
    to->steps = expression_steps(to->expression);
    to->name_count = expression_name_count(to->expression);
    for (size_t i = 0; i < to->name_count; i++) {
        const char *name = expression_name(to->expression, i);
        if (!find_name(cover, name, of_configuration, figures, &to->names[i]))
            return ini_reader_fail(ini, "'%s' of key '%s': unknown name '%s'", to->text, to->key,
                                   name);
        for (size_t j = 0; j < cover->public.count && to->names[i].kind == COVER_COMPILED; j++)
            if (cover->configurations[j].compiled[to->names[i].index].as.integer == 0)
                cover->configurations[j].incomplete = true;
    }
    ini->line = line;
    return 0;
}

void cover_compare(const double *times_ns, const double *estimates, double *ratios, size_t count)
{
    static const double failed = 1000; /* chosen only if nothing else is left */
    double fastest_ns = INFINITY;
    double least = INFINITY;
    for (size_t i = 0; i < count; i++)
        fastest_ns = times_ns[i] > 0 ? fmin(fastest_ns, times_ns[i]) : fastest_ns;
    for (size_t i = 0; i < count; i++) {
        double time_ns = isinf(times_ns[i]) ? failed * fastest_ns : times_ns[i];
        ratios[i] = estimates[i] > 0 ? time_ns / estimates[i] : 0;
        least = ratios[i] > 0 ? fmin(least, ratios[i]) : least;
    }
    for (size_t i = 0; i < count; i++)
        ratios[i] = isinf(ratios[i]) ? failed : ratios[i] / least;
}

/* Fills in the ratios of a size. */
static void compare_times(struct cover *cover, size_t at, int sm_count)
{
    const struct tuned_size *size = &cover->sizes[at];
    struct value problem[COVER_VALUES];
    double estimates[COVER_CONFIGURATIONS];
    double ratios[COVER_CONFIGURATIONS];
    for (size_t i = 0; i < cover->public.range_count; i++)
        problem[i] = fabs(size->numbers[i]) < 0x1p53 && floor(size->numbers[i]) >= size->numbers[i]
                         ? value_integer((int64_t)size->numbers[i])
                         : value_real(size->numbers[i]);
    problem[cover->public.range_count] = value_integer(sm_count);
    for (size_t i = 0; i < cover->public.count; i++)
        estimates[i] = cover_estimate(cover, i, problem);
    cover_compare(size->times_ns, estimates, ratios, cover->public.count);
    for (size_t i = 0; i < cover->public.count; i++)
        cover->ratios[i * cover->public.size_count + at] = ratios[i];
}

int cover_finish(struct cover *cover, struct ini_reader *ini, int sm_count)
{
    const size_t ranges = cover->public.range_count;
    int status = check_parts(cover, ini);
    if (status == 0)
        status = compile(cover, ini, false, 0, &cover->constraint);
    for (size_t i = 0; i < cover->allowed_count && status == 0; i++)
        status = compile(cover, ini, true, 0, &cover->allowed[i]);
    for (size_t i = 0; i < cover->figure_count && status == 0; i++)
        status = compile(cover, ini, true, i, &cover->figures[i]);
    if (status == 0)
        status = compile(cover, ini, true, cover->figure_count, &cover->estimate);
    if (status != 0)
        return status;
    cover->scales = calloc(cover->public.size_count * ranges, sizeof *cover->scales);
    cover->ratios = calloc(cover->public.size_count * cover->public.count, sizeof *cover->ratios);
    if (cover->scales == NULL || cover->ratios == NULL)
        return ini_reader_no_memory(ini);
    for (size_t i = 0; i < cover->public.size_count; i++) {
        for (size_t j = 0; j < ranges; j++)
            cover->scales[j * cover->public.size_count + i] =
                value_scale(cover->sizes[i].numbers[j]);
        compare_times(cover, i, sm_count);
    }
    return 0;
}

/* --- look-ups --- */

struct value cover_value(const struct tuned_value *value)
{
    return value->kind == TUNED_INTEGER ? value_integer(value->integer)
           : value->kind == TUNED_REAL  ? value_real(value->real)
                                        : value_word(value->text);
}

struct cover_values cover_values(const struct cover *cover,
                                 const struct cover_configuration *configuration,
                                 const struct value *problem)
{
    struct cover_values values = {{[COVER_PROBLEM] = problem, [COVER_FIXED] = cover->fixed_values}};
    if (configuration != NULL) {
        values.of[COVER_PARAMETER] = configuration->values;
        values.of[COVER_COMPILED] = configuration->compiled;
    }
    return values;
}

/* False if the expression has no value. */
static bool evaluate(const struct cover_expression *expression, const struct cover_values *values,
                     struct value *result)
{
    const struct value *own[EXPRESSION_NAME_LIMIT];
    for (size_t i = 0; i < expression->name_count; i++)
        own[i] = &values->of[expression->names[i].kind][expression->names[i].index];
    return steps_run(expression->steps, own, result, NULL) == 0;
}

static bool holds(const struct cover_expression *condition, const struct cover_values *values)
{
    struct value value;
    bool result = false;
    return condition->text == NULL ||
           (evaluate(condition, values, &value) && steps_condition(&value, &result) && result);
}

/* Whether the constraint on problems holds. */
static bool is_admitted(const struct cover *cover, const struct value *problem)
{
    const struct cover_values values = cover_values(cover, NULL, problem);
    return holds(&cover->constraint, &values);
}

double cover_estimate(const struct cover *cover, size_t configuration,
                      const struct value problem[COVER_VALUES])
{
    struct cover_values values =
        cover_values(cover, &cover->configurations[configuration], problem);
    struct value figures[COVER_FIGURES];
    struct value estimate;
    if (cover->configurations[configuration].incomplete)
        return 0;
    if (cover->estimate.text == NULL)
        return 1;
    values.of[COVER_FIGURE] = figures;
    for (size_t i = 0; i < cover->figure_count; i++)
        if (!evaluate(&cover->figures[i], &values, &figures[i]))
            return 0;
    if (!evaluate(&cover->estimate, &values, &estimate) || !number_is(&estimate))
        return 0;
    double number = number_real(&estimate);
    return number > 0 && number < INFINITY ? number : 0;
}

bool cover_has(const struct cover *cover, const struct value problem[COVER_VALUES])
{
    for (size_t i = 0; i < cover->public.range_count; i++) {
        double number = number_real(&problem[i]);
        if (!(number >= cover->ranges[i].low && number <= cover->ranges[i].high))
            return false;
    }
    return is_admitted(cover, problem);
}

bool cover_allows(const struct cover *cover, size_t configuration,
                  const struct value problem[COVER_VALUES])
{
    const struct cover_values values =
        cover_values(cover, &cover->configurations[configuration], problem);
    bool allows = !cover->configurations[configuration].incomplete;
    for (size_t i = 0; i < cover->allowed_count && allows; i++)
        allows = holds(&cover->allowed[i], &values);
    return allows;
}

/* The sizes at the four least distances, of equals the first ones. */
struct nearest {
    size_t sizes[4];
    size_t count;
};

/* Those at which there is a value, if `values` is not NULL; without those at infinite distances. */
static struct nearest find_nearest(const double *values, const double *distances, size_t count)
{
    struct nearest nearest = {.count = 0};
    const size_t most = sizeof nearest.sizes / sizeof *nearest.sizes;
    double limit = INFINITY;
    for (size_t i = 0; i < count; i++) {
        if (!(distances[i] < limit) || (values != NULL && !(values[i] > 0)))
            continue;
        size_t place = nearest.count < most ? nearest.count++ : most - 1;
        for (; place > 0 && distances[nearest.sizes[place - 1]] > distances[i]; place--)
            nearest.sizes[place] = nearest.sizes[place - 1];
        nearest.sizes[place] = i;
        limit = nearest.count == most ? distances[nearest.sizes[most - 1]] : INFINITY;
    }
    return nearest;
}

/* 0 if a value is missing at any of them. */
static double mean_at(const struct nearest *nearest, const double *values, const double *distances)
{
    double weights = 0;
    double sum = 0;
    bool whole = nearest->count > 0;
    for (size_t i = 0; i < nearest->count; i++) {
        double weight = 1 / (distances[nearest->sizes[i]] + 0.01);
        whole = whole && values[nearest->sizes[i]] > 0;
        weights += weight;
        sum += weight * values[nearest->sizes[i]];
    }
    return whole ? sum / weights : 0;
}

double cover_mean(const double *values, const double *distances, size_t count)
{
    const struct nearest nearest = find_nearest(values, distances, count);
    return mean_at(&nearest, values, distances);
}

bool cover_choose(const struct cover *cover, const struct value problem[COVER_VALUES],
                  struct cover_choice *choice)
{
    const size_t ranges = cover->public.range_count;
    const size_t sizes = cover->public.size_count;
    double distances[COVER_SIZES];
    double least = INFINITY;
    if (!is_admitted(cover, problem))
        return false;
    memset(distances, 0, sizes * sizeof *distances);
    for (size_t i = 0; i < ranges; i++) {
        const double *scales = &cover->scales[i * sizes];
        double own = value_scale(number_real(&problem[i]));
        for (size_t j = 0; j < sizes; j++)
            distances[j] += fabs(scales[j] - own);
    }
    const struct nearest of_all = find_nearest(NULL, distances, sizes);
    for (size_t i = 0; i < cover->public.count; i++) {
        const double *ratios = &cover->ratios[i * sizes];
        struct nearest nearest = of_all;
        double expected = mean_at(&nearest, ratios, distances);
        if (!(expected > 0)) { /* it was not measured at one of them */
            nearest = find_nearest(ratios, distances, sizes);
            expected = mean_at(&nearest, ratios, distances);
        }
        expected *= cover_estimate(cover, i, problem);
        if (!(expected > 0 && expected < least) || !cover_allows(cover, i, problem))
            continue;
        least = expected;
        *choice =
            (struct cover_choice){i, &cover->sizes[nearest.sizes[0]], distances[nearest.sizes[0]]};
    }
    return least < INFINITY;
}
