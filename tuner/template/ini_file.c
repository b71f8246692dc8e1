#include "template/ini_file.h"

#include "base/alloc.h"

#include <autotune/tuned.h>
#include <ctype.h>
#include <errno.h>
#include <ini.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LINE_BYTES = 197, /* INI_MAX_LINE of packaged inih, 200, less "\r\n" and the final zero */
    NAME_BYTES = 49,  /* MAX_SECTION and MAX_NAME, 50, less the final zero */
};

/* Where the reading is: the reader hands inih one line at a time, the handler gets what it made of
 * it. */
struct parse {
    struct ini_file *ini;
    const char *next; /* the unread rest of the text */
    const char *end;
    const char *section;
    int line;
    bool continuation; /* the current line began with white space */
    struct error *error;
    int status;
};

static const char nothing_above[] = "line '%s' begins with white space but continues nothing";

static int fail(struct parse *parse, const char *message, const char *subject)
{
    if (parse->status == 0)
        parse->status = error_set_at(parse->error, ERROR_CONFIG, parse->ini->path, parse->line,
                                     message, subject);
    return parse->status;
}

static const char *keep_string(struct ini_file *ini, const char *text, size_t length)
{
    for (size_t i = 0; i < ini->string_count; i++)
        if (strlen(ini->strings[i]) == length && memcmp(ini->strings[i], text, length) == 0)
            return ini->strings[i];
    char **slot = ARRAY_APPEND(ini->strings, ini->string_count);
    *slot = alloc_string_n(text, length);
    return *slot;
}

static struct ini_entry *add_entry(struct parse *parse, const char *key, const char *value)
{
    struct ini_entry *entry = ARRAY_APPEND(parse->ini->entries, parse->ini->count);
    entry->section = parse->section;
    entry->key = key;
    entry->value = alloc_string(value);
    entry->line = parse->line;
    return entry;
}

/* A heading "[name]" is noted here, since inih tells of a section only when it has a key. */
static int note_heading(struct parse *parse, const char *line)
{
    const char *close = strchr(line, ']');
    if (close == NULL)
        return fail(parse, "section heading '%s' has no ']'", line);
    size_t length = (size_t)(close - line - 1);
    const char *rest = close + 1 + strspn(close + 1, " \t\r");
    if (*rest != '\0' && *rest != ';' && *rest != '#')
        return fail(parse, "unexpected text after a section heading: '%s'", rest);
    size_t known = parse->ini->string_count;
    const char *name = keep_string(parse->ini, line + 1, length);
    if (length == 0)
        return fail(parse, "section heading '%s' has no name", line);
    if (length > NAME_BYTES)
        return fail(parse, "section name '%s' is longer than 49 bytes, which inih would cut", name);
    for (size_t i = 0; i < parse->ini->count && parse->ini->string_count == known; i++)
        if (parse->ini->entries[i].key == NULL && parse->ini->entries[i].section == name)
            return fail(parse, "section '%s' is given twice; put its keys in one place", name);
    parse->section = name;
    (void)add_entry(parse, NULL, "");
    return 0;
}

/* Whether there is a value that a line with white space at its beginning would continue. */
static bool continues(const struct parse *parse)
{
    const struct ini_file *ini = parse->ini;
    return ini->count > 0 && ini->entries[ini->count - 1].key != NULL;
}

/* inih's fgets: one line into `buffer`, NULL at the end or after an error. */
static char *read_line(char *buffer, int size, void *user)
{
    struct parse *parse = user;
    if (parse->status != 0 || parse->next >= parse->end || size <= LINE_BYTES + 1)
        return NULL;
    const char *newline = memchr(parse->next, '\n', (size_t)(parse->end - parse->next));
    const char *stop = newline != NULL ? newline : parse->end;
    size_t length = (size_t)(stop - parse->next);
    if (length > 0 && parse->next[length - 1] == '\r')
        length--;
    parse->line++;
    if (length > LINE_BYTES) {
        (void)fail(parse,
                   "line is longer than %s bytes, which inih would split; continue it on a line "
                   "that begins with white space",
                   "197");
        return NULL;
    }
    if (memchr(parse->next, '\0', length) != NULL) {
        (void)fail(parse, "line has a zero byte%s", "; is this a text file?");
        return NULL;
    }
    memcpy(buffer, parse->next, length);
    buffer[length] = '\0';
    parse->next = newline != NULL ? newline + 1 : parse->end;
    parse->continuation = isspace((unsigned char)buffer[0]) != 0;
    if (buffer[0] == '[' && note_heading(parse, buffer) != 0)
        return NULL;
    if (parse->continuation && !continues(parse) && buffer[strspn(buffer, " \t\v\f\r")] == '[') {
        (void)fail(parse, nothing_above, buffer); /* inih would take it for a heading */
        return NULL;
    }
    return buffer;
}

/* Back to the section's heading: there is one only. */
static bool repeated(const struct parse *parse, const char *key)
{
    if (strcmp(key, "constraint") == 0)
        return false;
    for (size_t i = parse->ini->count; i > 0; i--) {
        const struct ini_entry *entry = &parse->ini->entries[i - 1];
        if (entry->key == NULL)
            break;
        if (entry->key == key)
            return true;
    }
    return false;
}

/* Appends a continuation line to the value above it, with one space between. */
static void continue_value(struct ini_entry *entry, const char *text)
{
    const char *stop = text;
    while (*stop != '\0' && !(*stop == ';' && stop > text && isspace((unsigned char)stop[-1])))
        stop++;
    while (stop > text && isspace((unsigned char)stop[-1]))
        stop--;
    char *value = alloc_format("%s%s%.*s", entry->value, entry->value[0] != '\0' ? " " : "",
                               (int)(stop - text), text);
    free(entry->value);
    entry->value = value;
}

/* Returns nonzero on success, as inih wants. */
static int take_entry(void *user, const char *section, const char *name, const char *value)
{
    struct parse *parse = user;
    (void)section; /* inih's copy may be cut; ours is parse->section */
    if (parse->status != 0)
        return 0;
    struct ini_file *ini = parse->ini;
    if (parse->continuation) {
        if (continues(parse)) {
            continue_value(&ini->entries[ini->count - 1], value);
            return 1;
        }
        (void)fail(parse, nothing_above, name);
        return 0;
    }
    if (name[0] == '\0') {
        (void)fail(parse, "'= %s' has no key", value);
        return 0;
    }
    if (strlen(name) > NAME_BYTES) {
        (void)fail(parse, "key '%s' is longer than 49 bytes", name);
        return 0;
    }
    const char *key = keep_string(ini, name, strlen(name));
    if (repeated(parse, key)) {
        (void)fail(parse, "key '%s' is given twice in this section", key);
        return 0;
    }
    (void)add_entry(parse, key, value);
    return 1;
}

static int parse_text(struct ini_file *ini, const char *text, size_t length, struct error *error)
{
    static const char mark[] = "\xef\xbb\xbf"; /* some editors begin UTF-8 with it */
    size_t skip = length >= 3 && memcmp(text, mark, 3) == 0 ? 3 : 0;
    struct parse parse = {
        .ini = ini, .next = text + skip, .end = text + length, .section = "", .error = error};
    int bad_line = ini_parse_stream(read_line, &parse, take_entry, &parse);
    if (bad_line != 0 && (parse.status == 0 || bad_line < parse.line)) {
        parse.status = 0; /* inih goes on after a bad line: the first one counts */
        parse.line = bad_line;
        (void)fail(&parse, "line is no [section], no key = value and no comment%s",
                   "; comments begin with ';'");
    }
    return parse.status;
}

int ini_file_read_text(struct ini_file *ini, const char *path, const char *text,
                       struct error *error)
{
    *ini = (struct ini_file){.path = alloc_string(path)};
    int status = parse_text(ini, text, strlen(text), error);
    if (status != 0)
        ini_file_release(ini);
    return status;
}

int ini_file_read(struct ini_file *ini, const char *path, struct error *error)
{
    *ini = (struct ini_file){0};
    int status = 0;
    char *text = alloc_zeroed(TUNED_FILE_BYTES + 1, 1);
    size_t length = 0;
    FILE *file = fopen(path, "rbe");
    if (file == NULL) {
        status =
            error_set_at(error, ERROR_CONFIG, path, 0, "cannot open the file: %s", strerror(errno));
        goto done;
    }
    length = fread(text, 1, TUNED_FILE_BYTES + 1, file);
    if (ferror(file)) {
        status =
            error_set_at(error, ERROR_CONFIG, path, 0, "cannot read the file: %s", strerror(errno));
        goto done;
    }
    if (length > TUNED_FILE_BYTES) {
        status =
            error_set_at(error, ERROR_CONFIG, path, 0, "file is larger than 16 MiB; is it INI?");
        goto done;
    }
    ini->path = alloc_string(path);
    status = parse_text(ini, text, length, error);
    if (status != 0)
        ini_file_release(ini);
done:
    if (file != NULL)
        (void)fclose(file); /* opened for reading: nothing to lose */
    free(text);
    return status;
}

void ini_file_release(struct ini_file *ini)
{
    for (size_t i = 0; i < ini->count; i++)
        free(ini->entries[i].value);
    for (size_t i = 0; i < ini->string_count; i++)
        free(ini->strings[i]);
    free(ini->entries);
    free(ini->strings);
    free(ini->path);
    *ini = (struct ini_file){0};
}

struct ini_entry *ini_file_get(struct ini_file *ini, const char *section, const char *key)
{
    for (size_t i = 0; i < ini->count; i++) {
        struct ini_entry *entry = &ini->entries[i];
        if (entry->key != NULL && strcmp(entry->key, key) == 0 &&
            strcmp(entry->section, section) == 0) {
            entry->used = true;
            return entry;
        }
    }
    return NULL;
}
