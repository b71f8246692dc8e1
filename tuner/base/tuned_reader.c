#include "base/tuned_reader.h"

#include <errno.h>
#include <float.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

const struct tuned_key_rule tuned_key_rules[TUNED_KEY_COUNT] = {
#define X(member, key, syntax, application, tuner)                                                 \
    {key, TUNED_SYNTAX_##syntax, {TUNED_##application, TUNED_##tuner}},
    TUNED_KEYS(X)
#undef X
};

static enum tuned_presence presence_of(const struct tuned_reader *reader, enum tuned_key key)
{
    return tuned_key_rules[key].presence[reader->reading];
}

/* The key, or TUNED_KEY_COUNT if it is unknown. */
static enum tuned_key find_key(const char *text)
{
    size_t key = 0;
    for (; key < TUNED_KEY_COUNT; key++) {
        const struct tuned_key_rule *rule = &tuned_key_rules[key];
        bool is_prefix = rule->syntax == TUNED_SYNTAX_VALUES || rule->syntax == TUNED_SYNTAX_TIES;
        if (is_prefix ? strncmp(text, rule->key, strlen(rule->key)) == 0
                      : strcmp(text, rule->key) == 0)
            break;
    }
    return (enum tuned_key)key;
}

static int bad_value(struct tuned_reader *reader, const char *key, const char *text,
                     const char *expected)
{
    return ini_reader_fail(&reader->ini,
                           "'%s' of key '%s' is not %s; restore the file or remove the section",
                           text, key, expected);
}

int tuned_names_add(struct tuned_names *names, struct ini_reader *ini, const char *name,
                    size_t limit)
{
    if (!literal_is_name(name, LITERAL_NAME_LETTERS))
        return ini_reader_fail(ini, "'%s' is not a lower-case name of at most %d letters", name,
                               LITERAL_NAME_LETTERS);
    for (size_t i = 0; i < names->count; i++)
        if (strcmp(names->items[i], name) == 0)
            return ini_reader_fail(ini, "'%s' is given twice in this section", name);
    if (names->count == limit)
        return ini_reader_fail(ini, "section has more than %zu values of this kind", limit);
    memcpy(names->items[names->count++], name, strlen(name) + 1);
    return 0;
}

static int read_value(struct tuned_reader *reader, const char *key, struct tuned_item *item,
                      struct tuned_names *names, size_t limit)
{
    int status = tuned_names_add(names, &reader->ini, item->name, limit);
    if (status == 0 && literal_parse(item->text, &item->value) != NULL)
        status = bad_value(reader, key, item->text, "a number or a lower-case word");
    return status;
}

/* From here on, what the section has belongs to its cover. */
static int read_cover(struct tuned_reader *reader, const char *key, struct tuned_item *item)
{
    if (literal_parse(item->text, &item->value) != NULL || item->value.kind != LITERAL_INTEGER ||
        item->value.integer < 1)
        return bad_value(reader, key, item->text, "the version of a cover");
    if (item->value.integer > COVER_VERSION)
        return ini_reader_fail(&reader->ini,
                               "the cover is of version %lld, which a newer autotune reads",
                               (long long)item->value.integer);
    if (item->value.integer < COVER_VERSION)
        return ini_reader_fail(
            &reader->ini,
            "the cover is of version %lld, which is no longer read; make it again "
            "with `autotune cover`",
            (long long)item->value.integer);
    if (reader->problem.count > 0)
        return ini_reader_fail(&reader->ini, "key 'cover' must come before the problem's values");
    if (reader->has_unknown)
        return ini_reader_fail(&reader->ini,
                               "a key above 'cover' is unknown; a newer autotune may have "
                               "written it");
    reader->cover = cover_new();
    return reader->cover != NULL ? 0 : ini_reader_no_memory(&reader->ini);
}

static int read_problem(struct tuned_reader *reader, const char *key, struct tuned_item *item)
{
    int status = read_value(reader, key, item, &reader->problem, TUNED_PROBLEM_VALUES);
    return status == 0 && reader->cover != NULL
               ? cover_fix(reader->cover, &reader->ini, item->name, item->text, &item->value)
               : status;
}

/* Reads "tie.1.block_size"; item->name is the text after "tie." */
static int read_tie(struct tuned_reader *reader, const char *key, struct tuned_item *item)
{
    char *dot = NULL;
    errno = 0;
    unsigned long number = strtoul(item->name, &dot, 10);
    if (*item->name < '1' || *item->name > '9' || *dot != '.' || errno != 0 ||
        (number != reader->tie_count && number != reader->tie_count + 1))
        return ini_reader_fail(&reader->ini, "key '%s' is out of order; ties are numbered from 1",
                               key);
    if (number > reader->tie_count) {
        reader->tie_count++;
        reader->tie.count = 0;
    }
    item->name = dot + 1;
    item->tie = number - 1;
    return read_value(reader, key, item, &reader->tie, TUNED_PARAMETERS);
}

static int read_whole(struct tuned_reader *reader, const char *key, struct tuned_item *item,
                      int64_t highest)
{
    if (literal_parse(item->text, &item->value) != NULL || item->value.kind != LITERAL_INTEGER ||
        item->value.integer < 0 || item->value.integer > highest)
        return bad_value(reader, key, item->text, "a whole number in range");
    return 0;
}

static int read_real(struct tuned_reader *reader, const char *key, struct tuned_item *item)
{
    if (literal_parse(item->text, &item->value) != NULL || item->value.kind == LITERAL_WORD ||
        item->value.real < 0)
        return bad_value(reader, key, item->text, "a number of 0 or more");
    return 0;
}

static int read_bound(struct tuned_reader *reader, const char *key, struct tuned_item *item)
{
    double *bound = item->key == TUNED_KEY_low_ns ? &reader->low_ns : &reader->high_ns;
    int status = read_real(reader, key, item);
    *bound = status == 0 ? item->value.real : *bound;
    return status == 0 && reader->low_ns > reader->high_ns
               ? bad_value(reader, key, item->text, "a bound with low_ns <= high_ns")
               : status;
}

static bool is_date(const char *text)
{
    static const char format[] = "%Y-%m-%dT%H:%M:%SZ";
    char again[32] = "";
    struct tm date = {0};
    const char *end = strptime(text, format, &date);
    time_t seconds = timegm(&date); /* which turns 30 February into 2 March */
    return end != NULL && *end == '\0' && gmtime_r(&seconds, &date) != NULL &&
           strftime(again, sizeof again, format, &date) == strlen("2026-11-21T06:12:00Z") &&
           strcmp(again, text) == 0;
}

static int read_item(struct tuned_reader *reader, const char *key, struct tuned_item *item)
{
    static const size_t gpu_bytes = sizeof((struct tuned_gpu *)NULL)->name;
    switch (tuned_key_rules[item->key].syntax) {
    case TUNED_SYNTAX_NAME:
        return literal_is_name(item->text, SIZE_MAX)
                   ? 0
                   : bad_value(reader, key, item->text, "a lower-case name");
    case TUNED_SYNTAX_TEXT:
        return 0;
    case TUNED_SYNTAX_GPU:
        return *item->text != '\0' && strlen(item->text) < gpu_bytes
                   ? 0
                   : bad_value(reader, key, item->text, "a GPU's name, of 1 to 127 bytes");
    case TUNED_SYNTAX_INT:
        return read_whole(reader, key, item, INT_MAX);
    case TUNED_SYNTAX_INT64:
        return read_whole(reader, key, item, INT64_MAX);
    case TUNED_SYNTAX_REAL:
        return read_real(reader, key, item);
    case TUNED_SYNTAX_BOUND:
        return read_bound(reader, key, item);
    case TUNED_SYNTAX_DATE:
        return is_date(item->text)
                   ? 0
                   : bad_value(reader, key, item->text, "a date like 2026-11-21T06:12:00Z");
    case TUNED_SYNTAX_FLAG:
        item->flag = strcmp(item->text, "yes") == 0;
        return item->flag || strcmp(item->text, "no") == 0
                   ? 0
                   : bad_value(reader, key, item->text, "yes or no");
    case TUNED_SYNTAX_VALUES:
        return item->key == TUNED_KEY_problem
                   ? read_problem(reader, key, item)
                   : read_value(reader, key, item, &reader->parameters, TUNED_PARAMETERS);
    case TUNED_SYNTAX_TIES:
        return read_tie(reader, key, item);
    case TUNED_SYNTAX_COVER:
        return read_cover(reader, key, item);
    }
    return 0;
}

/* Skips the open section if `status` says that it is bad. Returns the other statuses. */
static int skip_if_bad(struct tuned_reader *reader, int status)
{
    if (status != INI_READER_BAD_FILE)
        return status;
    if (reader->skipped_count++ == 0) {
        reader->skipped_line = reader->ini.line;
        memcpy(reader->skipped_message, reader->ini.message, sizeof reader->skipped_message);
    }
    reader->skipping = true;
    reader->skip(reader);
    return 0;
}

/* The first required key that the open section lacks, or TUNED_KEY_COUNT. */
static enum tuned_key missing_key(const struct tuned_reader *reader)
{
    size_t key = 0;
    for (; key < TUNED_KEY_COUNT; key++) {
        enum tuned_presence presence = presence_of(reader, (enum tuned_key)key);
        bool required =
            presence == TUNED_REQUIRED || (presence == TUNED_MEASURED && reader->cover == NULL);
        if (required && !reader->seen[key])
            break;
    }
    return (enum tuned_key)key;
}

static int finish_cover(struct tuned_reader *reader)
{
    for (size_t key = TUNED_KEY_parameters; key < TUNED_KEY_COUNT; key++)
        if (reader->seen[key])
            return ini_reader_fail(&reader->ini,
                                   "section '%s' has a cover and key '%s', which is "
                                   "for one problem",
                                   reader->section, tuned_key_rules[key].key);
    return cover_finish(reader->cover, &reader->ini, reader->sm_count);
}

/* A time that nothing supports would win over measured ones. */
static int check_time(struct tuned_reader *reader)
{
    if (reader->median_ns <= 0)
        return 0;
    if (reader->no_samples)
        return ini_reader_fail(&reader->ini, "section '%s' has a median_ns, but samples = 0",
                               reader->section);
    return reader->median_ns >= reader->low_ns && reader->median_ns <= reader->high_ns
               ? 0
               : ini_reader_fail(&reader->ini,
                                 "median_ns of section '%s' is not between its low_ns and high_ns",
                                 reader->section);
}

static int finish_section(struct tuned_reader *reader)
{
    enum tuned_key missing = missing_key(reader);
    reader->ini.line = reader->section_line;
    if (missing == TUNED_KEY_COUNT) {
        int status = reader->cover != NULL ? finish_cover(reader) : check_time(reader);
        return status == 0 && reader->end != NULL ? reader->end(reader) : status;
    }
    return ini_reader_fail(&reader->ini,
                           "section '%s' has no key '%s'; is this a tuned INI of autotune?",
                           reader->section, tuned_key_rules[missing].key);
}

/* Ends the open section, if there is one. */
static int close_section(struct tuned_reader *reader)
{
    if (reader->section_line == 0 || reader->skipping)
        return 0;
    int line = reader->ini.line;
    int status = skip_if_bad(reader, finish_section(reader));
    if (status == 0) {
        reader->ini.line = line;
        reader->read_count += !reader->skipping;
    }
    return status;
}

static int open_section(struct ini_reader *ini, const char *name)
{
    struct tuned_reader *reader = ini->user;
    int status = close_section(reader);
    if (status != 0)
        return status;
    (void)snprintf(reader->section, sizeof reader->section, "%s", name);
    reader->section_line = ini->line;
    reader->skipping = reader->has_unknown = false;
    cover_free(reader->cover);
    reader->cover = NULL;
    memset(reader->seen, 0, sizeof reader->seen);
    reader->sm_count = 0;
    reader->median_ns = reader->low_ns = 0;
    reader->high_ns = DBL_MAX;
    reader->no_samples = false;
    reader->problem.count = reader->parameters.count = reader->tie.count = reader->tie_count = 0;
    return skip_if_bad(reader, reader->begin(reader, name));
}

static int read_key(struct tuned_reader *reader, const char *key, struct tuned_item *item)
{
    const struct tuned_key_rule *rule = &tuned_key_rules[item->key];
    if (rule->syntax == TUNED_SYNTAX_VALUES || rule->syntax == TUNED_SYNTAX_TIES)
        item->name = key + strlen(rule->key);
    else if (reader->seen[item->key])
        return ini_reader_fail(&reader->ini, "key '%s' is given twice in this section", key);
    reader->seen[item->key] = true;
    int status = read_item(reader, key, item);
    if (status == 0 && item->key == TUNED_KEY_sm_count)
        reader->sm_count = (int)item->value.integer;
    if (status == 0 && item->key == TUNED_KEY_median_ns)
        reader->median_ns = item->value.real;
    if (status == 0 && item->key == TUNED_KEY_samples)
        reader->no_samples = item->value.integer == 0;
    return status == 0 ? reader->item(reader, item) : status;
}

/* A key that a cover has, or one of a newer autotune. Of a cover every key must be known, since one
 * that is misspelt may change what its rule chooses. */
static int read_other_key(struct tuned_reader *reader, const char *key,
                          const struct tuned_item *item)
{
    if (reader->cover == NULL && cover_has_key(key))
        return ini_reader_fail(&reader->ini,
                               "key '%s' belongs to a cover; put 'cover = %d' above it", key,
                               COVER_VERSION);
    if (reader->cover == NULL) {
        reader->has_unknown = true;
        return 0;
    }
    int status = cover_add(reader->cover, &reader->ini, key, item->text);
    return status == 0 ? reader->item(reader, item) : status;
}

static int read_entry(struct ini_reader *ini, const char *key, const char *value)
{
    struct tuned_reader *reader = ini->user;
    struct tuned_item item = {.key = find_key(key), .text = value};
    if (reader->section_line == 0)
        return ini_reader_fail(ini, "key '%s' is in no section; is this a tuned INI of autotune?",
                               key);
    if (reader->skipping)
        return 0;
    if (item.key == TUNED_KEY_COUNT)
        return skip_if_bad(reader, read_other_key(reader, key, &item));
    if (presence_of(reader, item.key) == TUNED_IGNORED)
        return 0;
    return skip_if_bad(reader, read_key(reader, key, &item));
}

bool tuned_reader_same_gpu(const struct tuned_gpu *a, const struct tuned_gpu *b)
{
    return a->compute_capability == b->compute_capability &&
           (a->sm_count == 0 || b->sm_count == 0 || a->sm_count == b->sm_count) &&
           strcmp(a->name, b->name) == 0;
}

int tuned_reader_fail_twice(struct tuned_reader *reader, const char *section)
{
    return ini_reader_fail(&reader->ini, "section '%s' is given twice; put its keys in one place",
                           section);
}

static int read_sections(struct tuned_reader *reader, const char *text, size_t length)
{
    reader->ini = (struct ini_reader){.section = open_section, .entry = read_entry, .user = reader};
    reader->section_line = 0;
    reader->skipping = false;
    reader->read_count = reader->skipped_count = 0;
    int status = ini_reader_read(&reader->ini, text, length);
    if (status == 0)
        status = close_section(reader);
    if (status != 0 || reader->read_count > 0 || reader->skipped_count == 0)
        return status;
    reader->ini.line = reader->skipped_line;
    return ini_reader_fail(&reader->ini, "%s", reader->skipped_message);
}

int tuned_reader_read(struct tuned_reader *reader, const char *text, size_t length)
{
    reader->cover = NULL;
    int status = read_sections(reader, text, length);
    cover_free(reader->cover);
    reader->cover = NULL;
    return status;
}
