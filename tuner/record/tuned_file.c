#include "record/tuned_file.h"

#include "base/alloc.h"
#include "base/tuned_reader.h"
#include "base/write_file.h"
#include "record/study.h"

#include <autotune/tuned.h>
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

/* Where a key's value is in struct tuned_entry. */
static const size_t members[TUNED_KEY_COUNT] = {
#define X(member, ...) offsetof(struct tuned_entry, member),
    TUNED_KEYS(X)
#undef X
};

static void *member_of(struct tuned_entry *entry, size_t key)
{
    return (char *)entry + members[key];
}

static bool is_text(enum tuned_syntax syntax)
{
    return syntax == TUNED_SYNTAX_NAME || syntax == TUNED_SYNTAX_TEXT ||
           syntax == TUNED_SYNTAX_GPU || syntax == TUNED_SYNTAX_DATE;
}

void tuned_entry_release(struct tuned_entry *entry)
{
    free(entry->section);
    for (size_t key = 0; key < TUNED_KEY_COUNT; key++) {
        void *member = member_of(entry, key);
        if (is_text(tuned_key_rules[key].syntax))
            free(*(char **)member);
        else if (tuned_key_rules[key].syntax == TUNED_SYNTAX_VALUES)
            bindings_release(member);
    }
    cover_free(entry->cover);
    for (size_t i = 0; i < entry->tie_count; i++)
        bindings_release(&entry->ties[i]);
    free(entry->ties);
    free(entry->other);
    *entry = (struct tuned_entry){0};
}

static void release_skipped(struct tuned_skipped *skipped)
{
    free(skipped->section);
    free(skipped->text);
}

void tuned_file_drop_skipped(struct tuned_file *tuned)
{
    for (size_t i = 0; i < tuned->skipped_count; i++)
        release_skipped(&tuned->skipped[i]);
    free(tuned->skipped);
    tuned->skipped = NULL;
    tuned->skipped_count = 0;
}

void tuned_file_release(struct tuned_file *tuned)
{
    for (size_t i = 0; i < tuned->count; i++)
        tuned_entry_release(&tuned->entries[i]);
    tuned_file_drop_skipped(tuned);
    free(tuned->entries);
    free(tuned->heading);
    *tuned = (struct tuned_file){0};
}

static size_t find_section(const struct tuned_file *tuned, const char *section)
{
    size_t i = 0;
    while (i < tuned->count && strcmp(tuned->entries[i].section, section) != 0)
        i++;
    return i;
}

/* --- reading --- */

/* What reading makes of a line. */
enum line { LINE_OTHER, LINE_HEADING, LINE_BAD_HEADING, LINE_KEY };

struct reading {
    struct tuned_file *tuned;
    const char *path;
    unsigned char *lines; /* enum line of each line, from 1 */
    char section[TUNED_SECTION_BYTES + 1];
    int section_line;
    bool is_entry; /* the open section is the last entry */
};

static int begin_section(struct tuned_reader *reader, const char *section)
{
    struct reading *reading = reader->user;
    struct tuned_file *tuned = reading->tuned;
    (void)snprintf(reading->section, sizeof reading->section, "%s", section);
    reading->section_line = reader->ini.line;
    reading->is_entry = find_section(tuned, section) == tuned->count;
    reading->lines[reading->section_line] = LINE_HEADING;
    if (!reading->is_entry)
        return tuned_reader_fail_twice(reader, section);
    ARRAY_APPEND(tuned->entries, tuned->count)->section = alloc_string(section);
    return 0;
}

static void skip_section(struct tuned_reader *reader)
{
    struct reading *reading = reader->user;
    struct tuned_file *tuned = reading->tuned;
    struct tuned_skipped *skipped = ARRAY_APPEND(tuned->skipped, tuned->skipped_count);
    skipped->section = alloc_string(reading->section);
    (void)error_set_at(&skipped->reason, ERROR_CONFIG, reading->path, reader->ini.line,
                       "section '%s' is skipped: %s", reading->section, reader->ini.message);
    reading->lines[reading->section_line] = LINE_BAD_HEADING;
    if (reading->is_entry)
        tuned_entry_release(&tuned->entries[--tuned->count]);
}

static int take_item(struct tuned_reader *reader, const struct tuned_item *item)
{
    struct reading *reading = reader->user;
    struct tuned_entry *entry = &reading->tuned->entries[reading->tuned->count - 1];
    reading->lines[reader->ini.line] = LINE_KEY;
    if (item->key == TUNED_KEY_COUNT)
        return 0;
    void *member = member_of(entry, item->key);
    switch (tuned_key_rules[item->key].syntax) {
    case TUNED_SYNTAX_NAME:
    case TUNED_SYNTAX_TEXT:
    case TUNED_SYNTAX_GPU:
    case TUNED_SYNTAX_DATE:
        *(char **)member = alloc_string(item->text);
        break;
    case TUNED_SYNTAX_INT:
        *(int *)member = (int)item->value.integer;
        break;
    case TUNED_SYNTAX_INT64:
        *(int64_t *)member = item->value.integer;
        break;
    case TUNED_SYNTAX_REAL:
    case TUNED_SYNTAX_BOUND:
        *(double *)member = item->value.real;
        break;
    case TUNED_SYNTAX_FLAG:
        *(bool *)member = item->flag;
        break;
    case TUNED_SYNTAX_VALUES:
        bindings_set(member, item->name, value_from_literal(&item->value, item->text));
        break;
    case TUNED_SYNTAX_TIES:
        if (item->tie == entry->tie_count)
            (void)ARRAY_APPEND(entry->ties, entry->tie_count);
        bindings_set(&entry->ties[item->tie], item->name,
                     value_from_literal(&item->value, item->text));
        break;
    case TUNED_SYNTAX_COVER: /* at the end of the section */
        break;
    }
    return 0;
}

/* A tie's lines name only where it differs from the entry's own configuration. */
static void complete_ties(struct tuned_entry *entry)
{
    for (size_t i = 0; i < entry->tie_count; i++) {
        struct bindings whole = {0};
        bindings_copy(&whole, &entry->parameters);
        for (size_t j = 0; j < entry->ties[i].count; j++)
            bindings_set(&whole, entry->ties[i].items[j].name, entry->ties[i].items[j].value);
        bindings_release(&entry->ties[i]);
        entry->ties[i] = whole;
    }
}

static int end_section(struct tuned_reader *reader)
{
    struct reading *reading = reader->user;
    struct tuned_entry *entry = &reading->tuned->entries[reading->tuned->count - 1];
    complete_ties(entry);
    entry->cover = reader->cover;
    reader->cover = NULL;
    return 0;
}

static size_t count_lines(const char *text, size_t length)
{
    size_t lines = 1;
    for (size_t i = 0; i < length; i++)
        lines += text[i] == '\n';
    return lines;
}

/* The comment at the end of a line; NULL if there is none. */
static const char *trailing_comment(const char *line, size_t length)
{
    for (size_t i = 1; i < length; i++)
        if (line[i] == ';' && isspace((unsigned char)line[i - 1]))
            return line + i;
    return NULL;
}

/* Gives every line that autotune does not write to the section that it is in. */
static void keep_other_lines(const struct reading *reading, const char *text, size_t length)
{
    struct tuned_file *tuned = reading->tuned;
    char *kept = alloc_zeroed(length + count_lines(text, length) + 1, 1);
    char **target = &tuned->heading;
    size_t used = 0;
    size_t entry = 0;
    size_t skipped = 0;
    bool is_skipped = false;
    const char *end = text + length;
    for (size_t number = 1; text < end; number++) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        const char *next = newline != NULL ? newline + 1 : end;
        size_t bytes = (size_t)((newline != NULL ? newline : end) - text);
        enum line line = reading->lines[number];
        const char *from = text;
        if (line == LINE_HEADING || line == LINE_BAD_HEADING) {
            *target = alloc_string_n(kept, used);
            used = 0;
            is_skipped = line == LINE_BAD_HEADING;
            target = is_skipped ? &tuned->skipped[skipped++].text : &tuned->entries[entry++].other;
        }
        if (line != LINE_OTHER && !(line == LINE_KEY && is_skipped))
            from = trailing_comment(text, bytes);
        if (from != NULL) {
            memcpy(kept + used, from, bytes - (size_t)(from - text));
            used += bytes - (size_t)(from - text);
            kept[used++] = '\n';
        }
        text = next;
    }
    *target = alloc_string_n(kept, used);
    free(kept);
}

int tuned_file_read(const char *path, struct tuned_file *tuned, struct error *error)
{
    struct reading reading = {.tuned = tuned, .path = path};
    struct tuned_reader reader = {.reading = TUNED_BY_TUNER,
                                  .begin = begin_section,
                                  .item = take_item,
                                  .end = end_section,
                                  .skip = skip_section,
                                  .user = &reading};
    char *text;
    size_t length;
    *tuned = (struct tuned_file){0};
    if (access(path, F_OK) != 0 && (errno == ENOENT || errno == ENOTDIR))
        return 0;
    int status = ini_reader_load(&reader.ini, path, &text, &length);
    if (status == 0) {
        reading.lines = alloc_zeroed(count_lines(text, length) + 1, 1);
        status = tuned_reader_read(&reader, text, length);
    }
    if (status == 0)
        keep_other_lines(&reading, text, length);
    free(reading.lines);
    free(text);
    if (status == 0)
        return 0;
    tuned_file_release(tuned);
    return error_set_at(error, ERROR_CONFIG, path, reader.ini.line, "%s", reader.ini.message);
}

bool tuned_entry_same_gpu(const struct tuned_entry *a, const struct tuned_entry *b)
{
    return strcmp(a->gpu, b->gpu) == 0 && strcmp(a->arch, b->arch) == 0 &&
           (a->sm_count == 0 || b->sm_count == 0 || a->sm_count == b->sm_count);
}

size_t tuned_entry_count(const struct tuned_entry *entry)
{
    return entry->cover != NULL ? entry->cover->public.count : 1;
}

struct bindings tuned_entry_parameters(const struct tuned_entry *entry, size_t configuration)
{
    struct bindings parameters = {0};
    if (entry->cover == NULL) {
        bindings_copy(&parameters, &entry->parameters);
        return parameters;
    }
    const struct cover_configuration *from = &entry->cover->configurations[configuration];
    for (size_t i = 0; i < from->count; i++)
        bindings_set(&parameters, from->parameters[i].name, from->values[i]);
    return parameters;
}

bool tuned_entry_allows(const struct tuned_entry *entry, size_t configuration,
                        const struct bindings *problem)
{
    const struct cover *cover = entry->cover;
    const size_t ranges = cover->public.range_count;
    struct value values[COVER_VALUES];
    values[ranges] = value_integer(entry->sm_count);
    for (size_t i = 0; i < entry->problem.count; i++) {
        const struct value *value = bindings_find(problem, entry->problem.items[i].name);
        if (value == NULL || !value_alike(*value, entry->problem.items[i].value))
            return false;
    }
    for (size_t i = 0; i < ranges; i++) {
        const struct value *value = bindings_find(problem, cover->ranges[i].name);
        if (value == NULL || !number_is(value))
            return false;
        values[i] = *value;
    }
    return cover_has(cover, values) && cover_allows(cover, configuration, values);
}

bool tuned_entry_same_kernel(const struct tuned_entry *a, const struct tuned_entry *b)
{
    return strcmp(a->kernel, b->kernel) == 0 && tuned_entry_same_gpu(a, b) &&
           (a->cover != NULL) == (b->cover != NULL) && bindings_alike(&a->problem, &b->problem);
}

size_t tuned_file_find(const struct tuned_file *tuned, const struct tuned_entry *entry)
{
    size_t i = 0;
    while (i < tuned->count && (!tuned_entry_same_kernel(&tuned->entries[i], entry) ||
                                strcmp(tuned->entries[i].cache, entry->cache) != 0))
        i++;
    return i;
}

static void name_section(struct tuned_entry *entry, char *name)
{
    free(entry->section);
    entry->section = name;
}

/* "reduce_sum 5f1c09ab", for a cover: the kernel, and a hash of what tuned_file_find() compares. */
static char *cover_section_name(const struct tuned_entry *entry)
{
    char *problem = bindings_text(&entry->problem);
    char *key = alloc_format("cover\n%s\n%s\n%s\n%s\n%s", entry->kernel, entry->gpu, entry->arch,
                             problem, entry->cache);
    XXH64_hash_t hash = XXH3_64bits(key, strlen(key));
    char *section = alloc_format("%s %08" PRIx32, entry->kernel, (uint32_t)hash);
    free(key);
    free(problem);
    return section;
}

/* Drops the skipped sections of this name. */
static void drop_section(struct tuned_file *tuned, const char *section)
{
    size_t kept = 0;
    for (size_t i = 0; i < tuned->skipped_count; i++) {
        if (strcmp(tuned->skipped[i].section, section) == 0)
            release_skipped(&tuned->skipped[i]);
        else
            tuned->skipped[kept++] = tuned->skipped[i];
    }
    tuned->skipped_count = kept;
}

void tuned_file_take_rest(struct tuned_file *tuned, struct tuned_file *from)
{
    if (tuned->heading == NULL) {
        tuned->heading = from->heading;
        from->heading = NULL;
    }
    for (size_t i = 0; i < from->skipped_count; i++) {
        bool has = false;
        for (size_t j = 0; j < tuned->skipped_count; j++)
            has = has || (strcmp(tuned->skipped[j].section, from->skipped[i].section) == 0 &&
                          strcmp(tuned->skipped[j].text, from->skipped[i].text) == 0);
        if (has)
            continue;
        *ARRAY_APPEND(tuned->skipped, tuned->skipped_count) = from->skipped[i];
        from->skipped[i] = (struct tuned_skipped){0};
    }
    tuned_file_release(from);
}

void tuned_file_merge(struct tuned_file *tuned, struct tuned_entry *entry)
{
    size_t i = tuned_file_find(tuned, entry);
    if (entry->section == NULL)
        name_section(entry, cover_section_name(entry));
    if (i < tuned->count) {
        name_section(entry, alloc_string(tuned->entries[i].section));
        free(entry->other);
        entry->other = tuned->entries[i].other;
        tuned->entries[i].other = NULL;
        tuned_entry_release(&tuned->entries[i]);
    } else {
        for (uint32_t digits = 1; find_section(tuned, entry->section) < tuned->count; digits++)
            name_section(entry, alloc_format("%s %08" PRIx32, entry->kernel, digits));
        (void)ARRAY_APPEND(tuned->entries, tuned->count);
    }
    drop_section(tuned, entry->section);
    tuned->entries[i] = *entry;
    *entry = (struct tuned_entry){0};
}

/* --- from a study --- */

/* `text` as the value of an INI key: one line of at most `room` bytes, without what begins a
 * comment or ends in blanks that a reader would drop. A new string; NULL for NULL. */
static char *one_line(const char *text, size_t room)
{
    if (text == NULL)
        return NULL;
    char *line = alloc_string_n(text + strspn(text, " \t\r\n"), room);
    for (char *next = line; *next != '\0'; next++) {
        if ((unsigned char)*next < ' ')
            *next = ' ';
        else if (*next == ';')
            *next = ',';
    }
    size_t length = strlen(line);
    while (length > 0 && line[length - 1] == ' ')
        line[--length] = '\0';
    return line;
}

static char *section_of_study(const struct study *study)
{
    char *key = study_key(study);
    char *section = alloc_format("%s %08" PRIx32, study->kernel,
                                 (uint32_t)(XXH3_64bits(key, strlen(key)) & UINT32_MAX));
    free(key);
    return section;
}

static void set_environment(const struct environment *environment, struct tuned_entry *entry)
{
    const struct gpu *gpu = &environment->gpu;
    entry->gpu = alloc_string(gpu->name);
    entry->arch = alloc_string(gpu->arch);
    entry->compute_capability = gpu->compute_capability;
    entry->sm_count = (int)gpu->attributes[GPU_sm_count];
    entry->l2_bytes = gpu->attributes[GPU_l2_bytes];
    entry->memory_bytes = gpu->memory_bytes;
    entry->memory_gb_per_s = gpu_memory_gb_per_s(gpu);
    entry->driver = alloc_string(gpu->driver);
    entry->nvrtc = alloc_string(environment->nvrtc);
    entry->autotune = alloc_string(environment->autotune);
    entry->date = alloc_string(environment->date);
    entry->command = one_line(environment->command, TUNED_LINE_BYTES - strlen("command = "));
}

static void set_measurement(const struct result *winner, struct tuned_entry *entry)
{
    const struct summary *time = &winner->time;
    bindings_copy(&entry->parameters, &winner->parameters);
    entry->median_ns = time->median_ns;
    entry->low_ns = time->low_ns;
    entry->high_ns = time->high_ns;
    entry->samples = (int64_t)time->count;
    entry->runs = winner->runs > 1 ? winner->runs : 0;
    entry->gb_per_s = time->median_ns > 0 ? winner->bytes / time->median_ns : 0;
    entry->gflop_per_s = time->median_ns > 0 ? winner->operations / time->median_ns : 0;
    entry->registers = winner->stats.registers;
    entry->blocks_per_sm = winner->stats.blocks_per_sm;
    entry->occupancy = winner->stats.occupancy;
}

void tuned_entry_from_study(const struct study *study, struct tuned_entry *entry)
{
    const size_t best = study_best(study);
    const struct result *result = &study->results[best];
    *entry = (struct tuned_entry){.incomplete = !study->complete};
    entry->section = section_of_study(study);
    entry->kernel = alloc_string(study->kernel);
    entry->template_name = alloc_string(study->template_name);
    entry->template_hash = alloc_string(study->template_hash);
    entry->cache = alloc_string(study->cache);
    entry->empty_kernel_ns = study_empty_ns(study, result);
    entry->sm_clock_mhz = study->conditions.sm_clock_mhz;
    entry->dropped_samples = (int64_t)study->conditions.dropped_samples;
    entry->throttled_samples = (int64_t)study->conditions.throttled_samples;
    entry->other_processes = study->conditions.other_processes;
    if (study_is_partial(study)) {
        size_t in_vain;
        double within = study_estimate(study, &in_vain);
        entry->variants_tried = (int64_t)study->result_count;
        entry->within_percent = isnan(within) ? 0 : 100 * within;
        entry->variants_in_space = study_space(study) < INT64_MAX ? (int64_t)study_space(study) : 0;
    }
    bindings_copy(&entry->problem, &study->problem);
    set_environment(&study->environment, entry);
    set_measurement(result, entry);
    for (size_t i = 0; i < study->result_count; i++)
        if (study->results[i].tied && i != best)
            bindings_copy(ARRAY_APPEND(entry->ties, entry->tie_count),
                          &study->results[i].parameters);
}

/* --- writing --- */

static const char heading[] =
    "; The fastest verified configuration for each kernel, GPU, problem and cache state.\n"
    "; Written by `autotune --config FILE`, which replaces the sections that it tunes again and\n"
    "; leaves the others alone. `command` is the command that made the section.\n"
    ";   problem.NAME    what it was tuned for\n"
    ";   parameter.NAME  what to compile and launch with\n"
    ";   *_ns            nanoseconds; low_ns to high_ns is the 95 % interval of the median\n"
    ";   tie.N.NAME      where configurations differ that could not be told apart from this one\n";

/* Where lines go: the first that a reader would cut is the error of the whole. */
struct writer {
    FILE *stream;
    const char *path;
    struct error *error;
    int result;
    const char *above; /* what was read above the next section, and is written */
};

/* A line that reads back as what it was. */
static bool readable(const char *line, size_t limit)
{
    return strlen(line) <= limit && strpbrk(line, "\r\n") == NULL && strstr(line, " ;") == NULL;
}

static void write_line(struct writer *writer, const char *prefix, const char *key,
                       const char *value)
{
    char *line = alloc_format("%s%s = %s", prefix, key, value);
    if (readable(line, TUNED_LINE_BYTES))
        fprintf(writer->stream, "%s\n", line);
    else if (writer->result == 0)
        writer->result =
            error_set_at(writer->error, ERROR_RECORD, writer->path, 0,
                         "line '%.60s…' would not read back; it may have %d bytes and no ' ;'",
                         line, TUNED_LINE_BYTES);
    free(line);
}

static void write_bindings(struct writer *writer, const char *prefix,
                           const struct bindings *bindings)
{
    char buffer[VALUE_TEXT_BYTES];
    for (size_t i = 0; i < bindings->count; i++)
        write_line(writer, prefix, bindings->items[i].name,
                   value_exact_text(bindings->items[i].value, buffer));
}

static void write_ties(struct writer *writer, const char *prefix, const struct tuned_entry *entry)
{
    for (size_t i = 0; i < entry->tie_count; i++) {
        char *numbered = alloc_format("%s%zu.", prefix, i + 1);
        struct bindings different = {0};
        for (size_t j = 0; j < entry->ties[i].count; j++) {
            const struct binding *item = &entry->ties[i].items[j];
            const struct value *own = bindings_find(&entry->parameters, item->name);
            if (own == NULL || !value_equal(*own, item->value))
                bindings_set(&different, item->name, item->value);
        }
        write_bindings(writer, numbered, &different);
        bindings_release(&different);
        free(numbered);
    }
}

/* What is optional is left out if it is NULL, 0 or no. */
static void write_key(struct writer *writer, size_t key, const struct tuned_entry *entry)
{
    const struct tuned_key_rule *rule = &tuned_key_rules[key];
    const void *member = (const char *)entry + members[key];
    char buffer[VALUE_TEXT_BYTES];
    const char *text = buffer;
    bool empty = false;
    switch (rule->syntax) {
    case TUNED_SYNTAX_NAME:
    case TUNED_SYNTAX_TEXT:
    case TUNED_SYNTAX_GPU:
    case TUNED_SYNTAX_DATE:
        text = *(char *const *)member;
        empty = text == NULL;
        break;
    case TUNED_SYNTAX_INT:
        empty = *(const int *)member == 0;
        (void)value_text(value_integer(*(const int *)member), buffer);
        break;
    case TUNED_SYNTAX_INT64:
        empty = *(const int64_t *)member == 0;
        (void)value_text(value_integer(*(const int64_t *)member), buffer);
        break;
    case TUNED_SYNTAX_REAL:
    case TUNED_SYNTAX_BOUND:
        empty = !(*(const double *)member > 0);
        (void)value_text(value_real(*(const double *)member), buffer);
        break;
    case TUNED_SYNTAX_FLAG:
        empty = !*(const bool *)member;
        text = "yes";
        break;
    case TUNED_SYNTAX_VALUES:
        write_bindings(writer, rule->key, member);
        return;
    case TUNED_SYNTAX_TIES:
        write_ties(writer, rule->key, entry);
        return;
    case TUNED_SYNTAX_COVER:
        empty = entry->cover == NULL;
        (void)value_text(value_integer(COVER_VERSION), buffer);
        break;
    }
    if (!empty || rule->presence[TUNED_BY_TUNER] >= TUNED_REQUIRED)
        write_line(writer, "", rule->key, text != NULL ? text : "");
}

/* What was read above a section has its empty line, if it is to have one. */
static void write_heading(struct writer *writer, const char *section)
{
    bool was_read = writer->above != NULL && *writer->above != '\0';
    fprintf(writer->stream, "%s[%s]\n", was_read ? "" : "\n", section);
}

static void write_text(struct writer *writer, const char *text)
{
    writer->above = text;
    if (text != NULL)
        fputs(text, writer->stream);
}

static void write_entry(struct writer *writer, const struct tuned_entry *entry)
{
    if (!readable(entry->section, TUNED_SECTION_BYTES) && writer->result == 0)
        writer->result =
            error_set_at(writer->error, ERROR_RECORD, writer->path, 0,
                         "section '%s' would not read back; its name may have %d bytes",
                         entry->section, TUNED_SECTION_BYTES);
    write_heading(writer, entry->section);
    size_t keys = entry->cover != NULL ? (size_t)TUNED_KEY_parameters : TUNED_KEY_COUNT;
    for (size_t key = 0; key < keys; key++)
        write_key(writer, key, entry);
    for (size_t i = 0; entry->cover != NULL && i < entry->cover->line_count; i++)
        write_line(writer, "", entry->cover->lines[i].key, entry->cover->lines[i].text);
    write_text(writer, entry->other);
}

int tuned_file_write(const char *path, const struct tuned_file *tuned, struct error *error)
{
    struct write_file file;
    int result = write_file_begin(&file, path, error);
    if (result != 0)
        return result;
    struct writer writer = {.stream = file.stream, .path = path, .error = error};
    if (tuned->heading != NULL && *tuned->heading != '\0')
        write_text(&writer, tuned->heading);
    else
        fputs(heading, file.stream);
    for (size_t i = 0; i < tuned->count; i++)
        write_entry(&writer, &tuned->entries[i]);
    for (size_t i = 0; i < tuned->skipped_count; i++) {
        write_heading(&writer, tuned->skipped[i].section);
        write_text(&writer, tuned->skipped[i].text);
    }
    if (writer.result == 0 && ftell(file.stream) > TUNED_FILE_BYTES)
        writer.result = error_set_at(error, ERROR_RECORD, path, 0,
                                     "the tuned INI would be larger than 16 MiB, and nobody would "
                                     "read it; write another one with --tuned");
    return write_file_finish(&file, writer.result, error);
}
