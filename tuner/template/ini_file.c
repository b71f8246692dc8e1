#include "template/ini_file.h"

#include "base/alloc.h"
#include "base/ini_reader.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static struct ini_entry *last_entry(const struct ini_file *ini)
{
    return &ini->entries[ini->count - 1];
}

static int take_section(struct ini_reader *reader, const char *name)
{
    struct ini_file *ini = reader->user;
    for (size_t i = 0; i < ini->count; i++)
        if (ini->entries[i].key == NULL && strcmp(ini->entries[i].section, name) == 0)
            return ini_reader_fail(reader, "section '%s' is given twice; put its keys in one place",
                                   name);
    *ARRAY_APPEND(ini->entries, ini->count) =
        (struct ini_entry){alloc_string(name), NULL, alloc_string(""), reader->line};
    return 0;
}

/* Looks back to the section's heading. */
static bool is_repeated(const struct ini_file *ini, const char *key)
{
    if (strcmp(key, "constraint") == 0)
        return false;
    for (size_t i = ini->count; i > 0 && ini->entries[i - 1].key != NULL; i--)
        if (strcmp(ini->entries[i - 1].key, key) == 0)
            return true;
    return false;
}

static int take_entry(struct ini_reader *reader, const char *key, const char *value)
{
    struct ini_file *ini = reader->user;
    const char *section = ini->count > 0 ? last_entry(ini)->section : "";
    if (is_repeated(ini, key))
        return ini_reader_fail(reader, "key '%s' is given twice in this section", key);
    *ARRAY_APPEND(ini->entries, ini->count) =
        (struct ini_entry){section, alloc_string(key), alloc_string(value), reader->line};
    return 0;
}

/* The lines of a value are joined with one blank between. */
static int take_more(struct ini_reader *reader, const char *text)
{
    struct ini_entry *entry = last_entry(reader->user);
    char *value = alloc_format("%s%s%s", entry->value, entry->value[0] != '\0' ? " " : "", text);
    free(entry->value);
    entry->value = value;
    return 0;
}

static int parse(struct ini_file *ini, const char *path, const char *text, size_t length,
                 struct error *error)
{
    struct ini_reader reader = {
        .section = take_section, .entry = take_entry, .more = take_more, .user = ini};
    ini->path = alloc_string(path);
    ini->text = alloc_string_n(text, length);
    if (ini_reader_read(&reader, text, length) == 0)
        return 0;
    ini_file_release(ini);
    return error_set_at(error, ERROR_CONFIG, path, reader.line, "%s", reader.message);
}

int ini_file_read_text(struct ini_file *ini, const char *path, const char *text,
                       struct error *error)
{
    *ini = (struct ini_file){0};
    return parse(ini, path, text, strlen(text), error);
}

int ini_file_read(struct ini_file *ini, const char *path, struct error *error)
{
    struct ini_reader reader = {0};
    char *text;
    size_t length;
    *ini = (struct ini_file){0};
    if (ini_reader_load(&reader, path, &text, &length) != 0)
        return error_set_at(error, ERROR_CONFIG, path, 0, "%s", reader.message);
    int status = parse(ini, path, text, length, error);
    free(text);
    return status;
}

void ini_file_release(struct ini_file *ini)
{
    for (size_t i = 0; i < ini->count; i++) {
        struct ini_entry *entry = &ini->entries[i];
        free(entry->key != NULL ? entry->key : (void *)(uintptr_t)entry->section);
        free(entry->value);
    }
    free(ini->entries);
    free(ini->path);
    free(ini->text);
    *ini = (struct ini_file){0};
}

const struct ini_entry *ini_file_get(const struct ini_file *ini, const char *section,
                                     const char *key)
{
    for (size_t i = 0; i < ini->count; i++) {
        const struct ini_entry *entry = &ini->entries[i];
        if (entry->key != NULL && strcmp(entry->key, key) == 0 &&
            strcmp(entry->section, section) == 0)
            return entry;
    }
    return NULL;
}
