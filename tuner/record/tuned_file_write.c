#include "base/alloc.h"
#include "base/tuned_reader.h"
#include "base/write_file.h"
#include "record/cover_entry.h"
#include "record/tuned_file.h"

#include <autotune/tuned.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static const void *const_member_of(const struct tuned_entry *entry, size_t key)
{
    return (const char *)entry + members[key];
}

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
        write_bindings(writer, numbered, &entry->ties[i]);
        free(numbered);
    }
}

/* What is optional is left out if it is NULL, 0 or no. */
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

static int write_cover_line(void *user, const char *key, const char *text)
{
    struct writer *writer = user;
    write_line(writer, "", key, text);
    return 0;
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
    if (entry->cover != NULL)
        (void)cover_entry_lines(entry->cover, write_cover_line, writer);
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
