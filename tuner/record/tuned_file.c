#include "record/tuned_file.h"

#include "base/alloc.h"
#include "base/path.h"
#include "base/suggestion.h"
#include "base/tuned_reader.h"
#include "base/write_file.h"

#include <autotune/tuned.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

static const char heading[] =
    "; The fastest verified configuration for each kernel, GPU, problem and cache state.\n"
    "; Written by `autotune --config FILE`, which replaces the sections that it tunes again and\n"
    "; leaves the others alone. `command` is the command that made the section.\n"
    ";   problem.NAME    what it was tuned for\n"
    ";   parameter.NAME  what to compile and launch with\n"
    ";   *_ns            nanoseconds; low_ns to high_ns is the 95 % interval of the median\n"
    ";   tie.N.NAME      configurations that could not be told apart from this one\n";

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

static const void *const_member_of(const struct tuned_entry *entry, size_t key)
{
    return (const char *)entry + members[key];
}

static bool is_text(enum tuned_syntax syntax)
{
    return syntax == TUNED_SYNTAX_NAME || syntax == TUNED_SYNTAX_TEXT || syntax == TUNED_SYNTAX_GPU;
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

static size_t find_section(const struct tuned_file *tuned, const char *section)
{
    size_t i = 0;
    while (i < tuned->count && strcmp(tuned->entries[i].section, section) != 0)
        i++;
    return i;
}

static int begin_section(struct tuned_reader *reader, const char *section)
{
    struct tuned_file *tuned = reader->user;
    if (find_section(tuned, section) < tuned->count)
        return ini_reader_fail(&reader->ini,
                               "section '%s' is given twice; put its keys in one place", section);
    ARRAY_APPEND(tuned->entries, tuned->count)->section = alloc_string(section);
    return 0;
}

static int take_item(struct tuned_reader *reader, const struct tuned_item *item)
{
    struct tuned_file *tuned = reader->user;
    struct tuned_entry *entry = &tuned->entries[tuned->count - 1];
    void *member = member_of(entry, item->key);
    switch (tuned_key_rules[item->key].syntax) {
    case TUNED_SYNTAX_NAME:
    case TUNED_SYNTAX_TEXT:
    case TUNED_SYNTAX_GPU:
        *(char **)member = alloc_string(item->text);
        break;
    case TUNED_SYNTAX_INT:
        *(int *)member = (int)item->value.integer;
        break;
    case TUNED_SYNTAX_INT64:
        *(int64_t *)member = item->value.integer;
        break;
    case TUNED_SYNTAX_REAL:
        *(double *)member = item->value.real;
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
    }
    return 0;
}

static int refuse_unknown(struct tuned_reader *reader, const char *key)
{
    const char *known[TUNED_KEY_COUNT + 1] = {NULL};
    struct error error;
    for (size_t i = 0; i < TUNED_KEY_COUNT; i++)
        known[i] = tuned_key_rules[i].key;
    (void)suggestion_unknown("", 0, "key", key, known, &error);
    return ini_reader_fail(&reader->ini, "%s", error.message);
}

int tuned_file_read(const char *path, struct tuned_file *tuned, struct error *error)
{
    struct tuned_reader reader = {.reading = TUNED_BY_TUNER,
                                  .begin = begin_section,
                                  .item = take_item,
                                  .unknown = refuse_unknown,
                                  .user = tuned};
    char *text;
    size_t length;
    *tuned = (struct tuned_file){0};
    if (access(path, F_OK) != 0 && (errno == ENOENT || errno == ENOTDIR))
        return 0;
    int status = ini_reader_load(&reader.ini, path, &text, &length);
    if (status == 0)
        status = tuned_reader_read(&reader, text, length);
    free(text);
    if (status == 0)
        return 0;
    tuned_file_release(tuned);
    return error_set_at(error, ERROR_CONFIG, path, reader.ini.line, "%s", reader.ini.message);
}

bool tuned_entry_same_kernel(const struct tuned_entry *a, const struct tuned_entry *b)
{
    return strcmp(a->kernel, b->kernel) == 0 && strcmp(a->gpu, b->gpu) == 0 &&
           strcmp(a->arch, b->arch) == 0 && bindings_match(&a->problem, &b->problem);
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

void tuned_file_merge(struct tuned_file *tuned, struct tuned_entry *entry)
{
    size_t i = tuned_file_find(tuned, entry);
    if (i < tuned->count) {
        name_section(entry, alloc_string(tuned->entries[i].section));
        tuned_entry_release(&tuned->entries[i]);
    } else {
        for (uint32_t digits = 1; find_section(tuned, entry->section) < tuned->count; digits++)
            name_section(entry, alloc_format("%s %08" PRIx32, entry->kernel, digits));
        (void)ARRAY_APPEND(tuned->entries, tuned->count);
    }
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

/* What is optional is left out if it is NULL or 0. */
static void write_key(struct writer *writer, size_t key, const struct tuned_entry *entry)
{
    const struct tuned_key_rule *rule = &tuned_key_rules[key];
    const void *member = const_member_of(entry, key);
    char buffer[VALUE_TEXT_BYTES];
    const char *text = buffer;
    bool empty = false;
    switch (rule->syntax) {
    case TUNED_SYNTAX_NAME:
    case TUNED_SYNTAX_TEXT:
    case TUNED_SYNTAX_GPU:
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
        empty = !(*(const double *)member > 0);
        (void)value_text(value_real(*(const double *)member), buffer);
        break;
    case TUNED_SYNTAX_VALUES:
        write_bindings(writer, rule->key, member);
        return;
    case TUNED_SYNTAX_TIES:
        write_ties(writer, rule->key, entry);
        return;
    }
    if (!empty || rule->presence[TUNED_BY_TUNER] == TUNED_REQUIRED)
        write_line(writer, "", rule->key, text != NULL ? text : "");
}

static void write_entry(struct writer *writer, const struct tuned_entry *entry)
{
    if (!readable(entry->section, TUNED_SECTION_BYTES) && writer->result == 0)
        writer->result =
            error_set_at(writer->error, ERROR_RECORD, writer->path, 0,
                         "section '%s' would not read back; its name may have %d bytes",
                         entry->section, TUNED_SECTION_BYTES);
    fprintf(writer->stream, "\n[%s]\n", entry->section);
    for (size_t key = 0; key < TUNED_KEY_COUNT; key++)
        write_key(writer, key, entry);
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
    return write_file_finish(&file, writer.result, error);
}

/* Waits for the folder of `path`, which is there. Returns a descriptor to close, or -1 where the
 * file system knows no such locks: then the last writer wins. */
static int lock_folder_of(const char *path)
{
    char *folder = path_folder(path);
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
