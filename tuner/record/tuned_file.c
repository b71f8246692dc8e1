#include "record/tuned_file.h"

#include "base/alloc.h"
#include "base/suggestion.h"
#include "base/write_file.h"
#include "template/ini_file.h"

#include <autotune/tuned.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

static const char heading[] =
    "; The fastest verified configuration of each kernel: one section per kernel, GPU and "
    "problem.\n"
    "; Written by `autotune --config FILE`, which replaces the sections that it tunes again and\n"
    "; leaves the others alone. `command` is the command that made the section.\n"
    ";   problem.NAME    what it was tuned for\n"
    ";   parameter.NAME  what to compile and launch with\n"
    ";   *_ns            nanoseconds; low_ns to high_ns is the 95 % interval of the median\n"
    ";   tie.N.NAME      configurations that could not be told apart from this one\n";

enum field_kind {
    FIELD_TEXT,
    FIELD_INT,
    FIELD_INT64,
    FIELD_SIZE,
    FIELD_REAL,
    FIELD_BINDINGS, /* the key is the prefix of any number of keys */
    FIELD_TIES,     /* likewise, followed by a number from 1 and a dot */
};

/* What is optional is left out where it is NULL or 0. */
static const struct field {
    const char *key;
    enum field_kind kind;
    bool optional;
    size_t offset;
} fields[] = {
    {"kernel", FIELD_TEXT, false, offsetof(struct tuned_entry, kernel)},
    {"template", FIELD_TEXT, false, offsetof(struct tuned_entry, template_name)},
    {"template_hash", FIELD_TEXT, false, offsetof(struct tuned_entry, template_hash)},
    {"gpu", FIELD_TEXT, false, offsetof(struct tuned_entry, gpu)},
    {"arch", FIELD_TEXT, false, offsetof(struct tuned_entry, arch)},
    {"compute_capability", FIELD_INT, false, offsetof(struct tuned_entry, compute_capability)},
    {"sm_count", FIELD_INT, false, offsetof(struct tuned_entry, sm_count)},
    {"l2_bytes", FIELD_INT64, false, offsetof(struct tuned_entry, l2_bytes)},
    {"memory_bytes", FIELD_INT64, false, offsetof(struct tuned_entry, memory_bytes)},
    {"memory_gb_per_s", FIELD_REAL, true, offsetof(struct tuned_entry, memory_gb_per_s)},
    {"driver", FIELD_TEXT, false, offsetof(struct tuned_entry, driver)},
    {"nvrtc", FIELD_TEXT, false, offsetof(struct tuned_entry, nvrtc)},
    {"autotune", FIELD_TEXT, false, offsetof(struct tuned_entry, autotune)},
    {"date", FIELD_TEXT, false, offsetof(struct tuned_entry, date)},
    {"command", FIELD_TEXT, true, offsetof(struct tuned_entry, command)},
    {"cache", FIELD_TEXT, false, offsetof(struct tuned_entry, cache)},
    {"problem.", FIELD_BINDINGS, true, offsetof(struct tuned_entry, problem)},
    {"parameter.", FIELD_BINDINGS, true, offsetof(struct tuned_entry, parameters)},
    {"median_ns", FIELD_REAL, false, offsetof(struct tuned_entry, median_ns)},
    {"low_ns", FIELD_REAL, false, offsetof(struct tuned_entry, low_ns)},
    {"high_ns", FIELD_REAL, false, offsetof(struct tuned_entry, high_ns)},
    {"samples", FIELD_SIZE, false, offsetof(struct tuned_entry, samples)},
    {"runs", FIELD_INT, true, offsetof(struct tuned_entry, runs)},
    {"gb_per_s", FIELD_REAL, true, offsetof(struct tuned_entry, gb_per_s)},
    {"gflop_per_s", FIELD_REAL, true, offsetof(struct tuned_entry, gflop_per_s)},
    {"empty_kernel_ns", FIELD_REAL, true, offsetof(struct tuned_entry, empty_kernel_ns)},
    {"sm_clock_mhz", FIELD_REAL, true, offsetof(struct tuned_entry, sm_clock_mhz)},
    {"dropped_samples", FIELD_INT64, true, offsetof(struct tuned_entry, dropped_samples)},
    {"throttled_samples", FIELD_INT64, true, offsetof(struct tuned_entry, throttled_samples)},
    {"other_processes", FIELD_INT64, true, offsetof(struct tuned_entry, other_processes)},
    {"registers", FIELD_INT, false, offsetof(struct tuned_entry, registers)},
    {"blocks_per_sm", FIELD_INT, false, offsetof(struct tuned_entry, blocks_per_sm)},
    {"occupancy", FIELD_REAL, false, offsetof(struct tuned_entry, occupancy)},
    {"tie.", FIELD_TIES, true, offsetof(struct tuned_entry, ties)},
};

#define FIELD_COUNT (sizeof fields / sizeof *fields)

static void *member_of(struct tuned_entry *entry, const struct field *field)
{
    return (char *)entry + field->offset;
}

static const void *const_member_of(const struct tuned_entry *entry, const struct field *field)
{
    return (const char *)entry + field->offset;
}

void tuned_entry_release(struct tuned_entry *entry)
{
    free(entry->section);
    for (size_t i = 0; i < FIELD_COUNT; i++) {
        void *member = member_of(entry, &fields[i]);
        if (fields[i].kind == FIELD_TEXT)
            free(*(char **)member);
        else if (fields[i].kind == FIELD_BINDINGS)
            bindings_release(member);
    }
    for (size_t i = 0; i < entry->tie_count; i++)
        bindings_release(&entry->ties[i]);
    free(entry->ties);
    *entry = (struct tuned_entry){0};
}

void tuned_file_release(struct tuned_file *tuned)
{
    for (size_t i = 0; i < tuned->count; i++)
        tuned_entry_release(&tuned->entries[i]);
    free(tuned->entries);
    *tuned = (struct tuned_file){0};
}

/* A line being read, for messages. */
struct place {
    const char *path;
    const struct ini_entry *line;
    struct error *error;
};

static int bad_value(const struct place *place, const char *expected)
{
    return error_set_at(place->error, ERROR_CONFIG, place->path, place->line->line,
                        "'%s' of key '%s' is not %s; restore the file or remove the section",
                        place->line->value, place->line->key, expected);
}

/* A whole number from 0 to `highest`. */
static int read_whole(const struct place *place, int64_t highest, int64_t *number)
{
    char *end = NULL;
    errno = 0;
    long long read = strtoll(place->line->value, &end, 10);
    if (end == place->line->value || *end != '\0' || errno != 0 || read < 0 || read > highest)
        return bad_value(place, "a whole number in range");
    *number = read;
    return 0;
}

static int read_real(const struct place *place, double *real)
{
    char *end = NULL;
    *real = strtod(place->line->value, &end);
    if (end == place->line->value || *end != '\0' || !isfinite(*real) || *real < 0)
        return bad_value(place, "a number of 0 or more");
    return 0;
}

static int read_binding(const struct place *place, const char *name, struct bindings *bindings)
{
    struct value value;
    if (*name == '\0')
        return bad_value(place, "the value of a name");
    if (value_parse(place->line->value, &value, NULL) != 0)
        return bad_value(place, "a number or a lower-case word");
    bindings_set(bindings, name, value);
    return 0;
}

/* "1.block_size": the ties are numbered in order. */
static int read_tie(const struct place *place, const char *rest, struct tuned_entry *entry)
{
    char *end = NULL;
    errno = 0;
    unsigned long number = strtoul(rest, &end, 10);
    if (end == rest || *end != '.' || errno != 0 || number == 0 || number > entry->tie_count + 1)
        return error_set_at(place->error, ERROR_CONFIG, place->path, place->line->line,
                            "key '%s' is out of order; ties are numbered from 1", place->line->key);
    if (number > entry->tie_count)
        (void)ARRAY_APPEND(entry->ties, entry->tie_count);
    return read_binding(place, end + 1, &entry->ties[number - 1]);
}

static int read_field(const struct place *place, const struct field *field,
                      struct tuned_entry *entry)
{
    void *member = member_of(entry, field);
    const char *rest = place->line->key + strlen(field->key); /* of a prefix */
    int64_t number = 0;
    int result = 0;
    switch (field->kind) {
    case FIELD_TEXT:
        *(char **)member = alloc_string(place->line->value);
        return 0;
    case FIELD_INT:
        result = read_whole(place, INT_MAX, &number);
        *(int *)member = (int)number;
        return result;
    case FIELD_INT64:
        return read_whole(place, INT64_MAX, member);
    case FIELD_SIZE:
        result = read_whole(place, INT64_MAX, &number);
        *(size_t *)member = (size_t)number;
        return result;
    case FIELD_REAL:
        return read_real(place, member);
    case FIELD_BINDINGS:
        return read_binding(place, rest, member);
    case FIELD_TIES:
        return read_tie(place, rest, entry);
    }
    return 0;
}

static bool is_prefix(const struct field *field)
{
    return field->kind == FIELD_BINDINGS || field->kind == FIELD_TIES;
}

/* The field that `key` belongs to; FIELD_COUNT where there is none. */
static size_t find_field(const char *key)
{
    size_t i = 0;
    for (; i < FIELD_COUNT; i++) {
        const struct field *field = &fields[i];
        if (is_prefix(field) ? strncmp(key, field->key, strlen(field->key)) == 0
                             : strcmp(key, field->key) == 0)
            break;
    }
    return i;
}

static int unknown_key(const struct place *place)
{
    const char *known[FIELD_COUNT + 1] = {NULL};
    for (size_t i = 0; i < FIELD_COUNT; i++)
        known[i] = fields[i].key;
    return suggestion_unknown(place->path, place->line->line, "key", place->line->key, known,
                              place->error);
}

/* Reads the section whose heading is `heading_line`; the lines up to `end` are after it. */
static int read_section(const struct ini_file *ini, const struct ini_entry *heading_line,
                        const struct ini_entry *end, struct tuned_entry *entry, struct error *error)
{
    bool seen[FIELD_COUNT] = {false};
    entry->section = alloc_string(heading_line->section);
    for (const struct ini_entry *line = heading_line + 1; line < end; line++) {
        struct place place = {ini->path, line, error};
        size_t index = find_field(line->key);
        if (index == FIELD_COUNT)
            return unknown_key(&place);
        seen[index] = true;
        int result = read_field(&place, &fields[index], entry);
        if (result != 0)
            return result;
    }
    for (size_t i = 0; i < FIELD_COUNT; i++)
        if (!seen[i] && !fields[i].optional)
            return error_set_at(error, ERROR_CONFIG, ini->path, heading_line->line,
                                "section '%s' has no key '%s'; is this a tuned INI of autotune?",
                                heading_line->section, fields[i].key);
    return 0;
}

static int read_sections(const struct ini_file *ini, struct tuned_file *tuned, struct error *error)
{
    if (ini->count == 0) /* no entries to point to */
        return 0;
    const struct ini_entry *stop = ini->entries + ini->count;
    const struct ini_entry *line = ini->entries;
    int result = 0;
    while (result == 0 && line < stop) {
        if (line->key != NULL)
            return error_set_at(error, ERROR_CONFIG, ini->path, line->line,
                                "key '%s' is in no section; is this a tuned INI of autotune?",
                                line->key);
        const struct ini_entry *end = line + 1;
        while (end < stop && end->key != NULL)
            end++;
        result = read_section(ini, line, end, ARRAY_APPEND(tuned->entries, tuned->count), error);
        line = end;
    }
    return result;
}

int tuned_file_read(const char *path, struct tuned_file *tuned, struct error *error)
{
    *tuned = (struct tuned_file){0};
    if (access(path, F_OK) != 0 && (errno == ENOENT || errno == ENOTDIR))
        return 0;
    struct ini_file ini;
    int result = ini_file_read(&ini, path, error);
    if (result != 0)
        return result;
    result = read_sections(&ini, tuned, error);
    if (result != 0)
        tuned_file_release(tuned);
    ini_file_release(&ini);
    return result;
}

void tuned_file_merge(struct tuned_file *tuned, struct tuned_entry *entry)
{
    size_t i = 0;
    while (i < tuned->count && strcmp(tuned->entries[i].section, entry->section) != 0)
        i++;
    if (i == tuned->count)
        (void)ARRAY_APPEND(tuned->entries, tuned->count);
    else
        tuned_entry_release(&tuned->entries[i]);
    tuned->entries[i] = *entry;
    *entry = (struct tuned_entry){0};
}

/* Where lines go: the first that a reader would cut is the error of the whole. */
struct writer {
    FILE *stream;
    const char *path;
    struct error *error;
    int result;
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

/* Shortest text that reads back the same; of a real number never that of a whole one. */
static char *exact_text(struct value value, char buffer[VALUE_TEXT_BYTES])
{
    (void)value_text(value, buffer);
    if (value.kind == VALUE_REAL && strpbrk(buffer, ".e") == NULL)
        memcpy(buffer + strlen(buffer), ".0", sizeof ".0"); /* at most 24 bytes so far */
    return buffer;
}

static void write_bindings(struct writer *writer, const char *prefix,
                           const struct bindings *bindings)
{
    char buffer[VALUE_TEXT_BYTES];
    for (size_t i = 0; i < bindings->count; i++)
        write_line(writer, prefix, bindings->items[i].name,
                   exact_text(bindings->items[i].value, buffer));
}

static void write_ties(struct writer *writer, const char *prefix, const struct tuned_entry *entry)
{
    for (size_t i = 0; i < entry->tie_count; i++) {
        char *numbered = alloc_format("%s%zu.", prefix, i + 1);
        write_bindings(writer, numbered, &entry->ties[i]);
        free(numbered);
    }
}

static void write_field(struct writer *writer, const struct field *field,
                        const struct tuned_entry *entry)
{
    const void *member = const_member_of(entry, field);
    char buffer[VALUE_TEXT_BYTES];
    const char *text = buffer;
    switch (field->kind) {
    case FIELD_TEXT:
        text = *(char *const *)member;
        if (text == NULL && field->optional)
            return;
        break;
    case FIELD_INT:
        if (field->optional && *(const int *)member == 0)
            return;
        (void)value_text(value_integer(*(const int *)member), buffer);
        break;
    case FIELD_INT64:
        if (field->optional && *(const int64_t *)member == 0)
            return;
        (void)value_text(value_integer(*(const int64_t *)member), buffer);
        break;
    case FIELD_SIZE:
        (void)value_text(value_integer((int64_t) * (const size_t *)member), buffer);
        break;
    case FIELD_REAL:
        if (field->optional && !(*(const double *)member > 0))
            return;
        (void)value_text(value_real(*(const double *)member), buffer);
        break;
    case FIELD_BINDINGS:
        write_bindings(writer, field->key, member);
        return;
    case FIELD_TIES:
        write_ties(writer, field->key, entry);
        return;
    }
    write_line(writer, "", field->key, text != NULL ? text : "");
}

static void write_entry(struct writer *writer, const struct tuned_entry *entry)
{
    if (!readable(entry->section, TUNED_SECTION_BYTES) && writer->result == 0)
        writer->result =
            error_set_at(writer->error, ERROR_RECORD, writer->path, 0,
                         "section '%s' would not read back; its name may have %d bytes",
                         entry->section, TUNED_SECTION_BYTES);
    fprintf(writer->stream, "\n[%s]\n", entry->section);
    for (size_t i = 0; i < FIELD_COUNT; i++)
        write_field(writer, &fields[i], entry);
}

int tuned_file_write(const char *path, const struct tuned_file *tuned, struct error *error)
{
    struct write_file file;
    int result = write_file_begin(&file, path, error);
    if (result != 0)
        return result;
    struct writer writer = {file.stream, path, error, 0};
    fputs(heading, file.stream);
    for (size_t i = 0; i < tuned->count; i++)
        write_entry(&writer, &tuned->entries[i]);
    if (writer.result == 0 && ftell(file.stream) > TUNED_FILE_BYTES)
        writer.result = error_set_at(error, ERROR_RECORD, path, 0,
                                     "the tuned INI would be larger than 16 MiB, and nobody would "
                                     "read it; write another one with --tuned");
    if (writer.result == 0)
        return write_file_commit(&file, WRITE_FILE_DURABLE, error);
    write_file_abandon(&file);
    return writer.result;
}

/* Waits for the folder of `path`, which is there. Returns a descriptor to close, or -1 where the
 * file system knows no such locks: then the last writer wins. */
static int lock_folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *folder =
        slash != NULL ? alloc_string_n(path, (size_t)(slash - path) + 1) : alloc_string(".");
    int descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    free(folder);
    while (descriptor >= 0 && flock(descriptor, LOCK_EX) != 0 && errno == EINTR)
        continue;
    return descriptor;
}

int tuned_file_update(const char *path, struct tuned_entry *entries, size_t count,
                      struct error *error)
{
    struct tuned_file tuned = {0};
    int lock = -1;
    int result = write_file_make_folders(path, error);
    if (result != 0)
        goto done;
    lock = lock_folder_of(path);
    result = tuned_file_read(path, &tuned, error);
    if (result != 0)
        goto done;
    for (size_t i = 0; i < count; i++)
        tuned_file_merge(&tuned, &entries[i]);
    result = tuned_file_write(path, &tuned, error);
done:
    if (lock >= 0)
        (void)close(lock);
    for (size_t i = 0; i < count; i++)
        tuned_entry_release(&entries[i]);
    tuned_file_release(&tuned);
    return result;
}
