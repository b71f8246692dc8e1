#include "base/ini_reader.h"

#include "base/read_file.h"

#include <autotune/tuned.h>
#include <ctype.h>
#include <errno.h>
#include <ini.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* INI_MAX_LINE of packaged inih, 200, minus "\r\n" and the terminating null */
enum { LINE_BYTES = 197 };

int ini_reader_fail(struct ini_reader *reader, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(reader->message, sizeof reader->message, format, arguments);
    va_end(arguments);
    return INI_READER_BAD_FILE;
}

int ini_reader_no_memory(struct ini_reader *reader)
{
    (void)ini_reader_fail(reader, "out of memory");
    return INI_READER_NO_MEMORY;
}

/* Handles "[name]" here, because inih reports a section only with its first key. */
static int take_heading(struct ini_reader *reader, const char *line)
{
    char name[INI_READER_NAME_BYTES + 1];
    const char *close = strchr(line, ']');
    if (close == NULL)
        return ini_reader_fail(reader, "section heading '%s' has no ']'", line);
    size_t length = (size_t)(close - line - 1);
    const char *rest = close + 1 + strspn(close + 1, " \t\r");
    if (*rest != '\0' && *rest != ';' && *rest != '#')
        return ini_reader_fail(reader, "unexpected text after a section heading: '%s'", rest);
    if (length == 0)
        return ini_reader_fail(reader, "section heading '%s' has no name", line);
    if (length > INI_READER_NAME_BYTES)
        return ini_reader_fail(reader,
                               "section name '%.*s' is longer than %d bytes, which inih would cut",
                               (int)length, line + 1, INI_READER_NAME_BYTES);
    memcpy(name, line + 1, length);
    name[length] = '\0';
    reader->has_value = false;
    return reader->section(reader, name);
}

/* Handles a line that starts with white space here and empties it, because builds of inih differ in
 * whether they accept such a line and whether they strip its comment. */
static int take_continuation(struct ini_reader *reader, char *line)
{
    char *text = line;
    while (isspace((unsigned char)*text))
        text++;
    if (*text == '\0' || *text == ';' || *text == '#')
        return 0;
    if (reader->more == NULL || !reader->has_value)
        return ini_reader_fail(reader, "line '%s' begins with white space, but %s", text,
                               reader->more == NULL
                                   ? "values in this file may not continue on the next line"
                                   : "there is no value above it to continue");
    char *stop = text;
    while (*stop != '\0' && !(*stop == ';' && isspace((unsigned char)stop[-1])))
        stop++;
    while (isspace((unsigned char)stop[-1]))
        stop--;
    *stop = '\0';
    int status = reader->more(reader, text);
    line[0] = '\0';
    return status;
}

/* Copies the next line into `buffer`, without its line end. */
static int copy_line(struct ini_reader *reader, char *buffer, int size)
{
    const char *line = reader->next;
    const char *newline = memchr(line, '\n', (size_t)(reader->end - line));
    size_t length = (size_t)((newline != NULL ? newline : reader->end) - line);
    reader->next = newline != NULL ? newline + 1 : reader->end;
    reader->line++;
    if (length > 0 && line[length - 1] == '\r')
        length--;
    if (length > LINE_BYTES)
        return ini_reader_fail(
            reader, "line is longer than %d bytes, which inih would split%s", LINE_BYTES,
            reader->more != NULL ? "; continue it on a line that begins with white space" : "");
    if (size <= LINE_BYTES + 1)
        return ini_reader_fail(reader, "this build of inih takes lines of less than %d bytes",
                               LINE_BYTES);
    if (memchr(line, '\0', length) != NULL)
        return ini_reader_fail(reader, "line has a zero byte; is this a text file?");
    memcpy(buffer, line, length);
    buffer[length] = '\0';
    return 0;
}

/* inih calls this instead of fgets(). Returns NULL at the end or after a failure. */
static char *next_line(char *buffer, int size, void *user)
{
    struct ini_reader *reader = user;
    if (reader->status != 0 || reader->next == reader->end)
        return NULL;
    reader->status = copy_line(reader, buffer, size);
    if (reader->status == 0 && buffer[0] == '[')
        reader->status = take_heading(reader, buffer);
    else if (reader->status == 0 && isspace((unsigned char)buffer[0]))
        reader->status = take_continuation(reader, buffer);
    return reader->status == 0 ? buffer : NULL;
}

/* Returns nonzero on success, as inih requires. Ignores `section`, which inih may have
 * truncated. */
static int take_entry(void *user, const char *section, const char *key, const char *value)
{
    struct ini_reader *reader = user;
    (void)section;
    reader->has_value = true;
    if (*key == '\0')
        reader->status = ini_reader_fail(reader, "'= %s' has no key", value);
    else
        reader->status = reader->entry(reader, key, value);
    return reader->status == 0;
}

int ini_reader_read(struct ini_reader *reader, const char *text, size_t length)
{
    static const char mark[] = "\xef\xbb\xbf"; /* the byte order mark that some editors write */
    size_t skip = length >= 3 && memcmp(text, mark, 3) == 0 ? 3 : 0;
    reader->next = text + skip;
    reader->end = text + length;
    reader->line = 0;
    reader->has_value = false;
    reader->status = 0;
    int bad_line = ini_parse_stream(next_line, reader, take_entry, reader);
    if (bad_line < 0)
        return ini_reader_no_memory(reader);
    if (bad_line > 0 && (reader->status == 0 || bad_line < reader->line)) {
        reader->line = bad_line; /* inih continues after a bad line; report the first one */
        return ini_reader_fail(
            reader, "expected [section], key = value or a comment; comments begin with ';'");
    }
    return reader->status;
}

int ini_reader_load(struct ini_reader *reader, const char *path, char **text, size_t *length)
{
    *text = NULL;
    reader->line = 0;
    FILE *file = open_regular(path);
    if (file == NULL)
        return ini_reader_fail(reader, "cannot open the file: %s", strerror(errno));
    int number = read_stream(file, TUNED_FILE_BYTES, text, length);
    (void)fclose(file); /* cannot lose data: the file was only read */
    return number == 0        ? 0
           : number == ENOMEM ? ini_reader_no_memory(reader)
           : number == EFBIG
               ? ini_reader_fail(reader, "file is larger than 16 MiB; is it INI?")
               : ini_reader_fail(reader, "cannot read the file: %s", strerror(number));
}
