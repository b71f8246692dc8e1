#include "lines.h"

#include <ctype.h>
#include <errno.h>
#include <ini.h>
#include <locale.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LINE_BYTES = 197, /* INI_MAX_LINE of packaged inih, 200, less "\r\n" and the final zero */
    SECTION_BYTES = 49,
    KEY_BYTES = 49,
};

int tuned_fail(struct tuned_error *error, enum tuned_code code, const char *file, int line,
               const char *format, ...)
{
    if (error == NULL)
        return code;
    va_list arguments;
    error->code = code;
    error->line = line;
    (void)snprintf(error->file, sizeof error->file, "%s", file != NULL ? file : "");
    va_start(arguments, format);
    (void)vsnprintf(error->message, sizeof error->message, format, arguments);
    va_end(arguments);
    return code;
}

int lines_fail(struct lines *lines, const char *format, ...)
{
    char message[512];
    va_list arguments;
    if (lines->status != 0)
        return lines->status;
    va_start(arguments, format);
    (void)vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    lines->status =
        tuned_fail(lines->error, TUNED_BAD_FILE, lines->name, lines->line, "%s", message);
    return lines->status;
}

/* A heading is taken here, since inih tells of a section only with its first key. */
static int take_heading(struct lines *lines, const char *line)
{
    const char *close = strchr(line, ']');
    if (close == NULL)
        return lines_fail(lines, "section heading '%.60s' has no ']'", line);
    size_t length = (size_t)(close - line - 1);
    if (length == 0 || length > SECTION_BYTES)
        return lines_fail(lines, "section name '%.60s' has not 1 to %d bytes", line, SECTION_BYTES);
    lines->status = lines->heading(lines, line + 1, length);
    return lines->status;
}

/* inih's fgets. */
static char *read_line(char *buffer, int size, void *user)
{
    struct lines *lines = user;
    if (lines->status != 0 || lines->next >= lines->end || size <= LINE_BYTES + 1)
        return NULL;
    size_t left = (size_t)(lines->end - lines->next);
    const char *newline = memchr(lines->next, '\n', left);
    size_t length = newline != NULL ? (size_t)(newline - lines->next) : left;
    const char *line = lines->next;
    lines->next = newline != NULL ? newline + 1 : lines->end;
    lines->line++;
    if (length > 0 && line[length - 1] == '\r')
        length--;
    if (length > LINE_BYTES) {
        (void)lines_fail(lines, "line is longer than %d bytes", LINE_BYTES);
        return NULL;
    }
    if (memchr(line, '\0', length) != NULL) {
        (void)lines_fail(lines, "line has a zero byte; is this a text file?");
        return NULL;
    }
    memcpy(buffer, line, length);
    buffer[length] = '\0';
    lines->continuation = isspace((unsigned char)buffer[0]) != 0;
    if (lines->continuation && buffer[strspn(buffer, " \t\v\f\r")] == '[') {
        (void)lines_fail(lines, "section heading '%.60s' begins with white space", buffer);
        return NULL;
    }
    if (buffer[0] == '[' && take_heading(lines, buffer) != 0)
        return NULL;
    return buffer;
}

/* Returns nonzero on success, as inih wants. */
static int take_entry(void *user, const char *section, const char *key, const char *value)
{
    struct lines *lines = user;
    (void)section; /* inih's copy may be cut; the heading was taken before */
    if (lines->status != 0)
        return 0;
    if (!lines->continuation && (*key == '\0' || strlen(key) > KEY_BYTES))
        return lines_fail(lines, "key '%.60s' has not 1 to %d bytes", key, KEY_BYTES), 0;
    lines->status = lines->entry(lines, key, value);
    return lines->status == 0;
}

int lines_read(struct lines *lines)
{
    static const char mark[] = "\xef\xbb\xbf"; /* some editors begin UTF-8 with it */
    if (lines->end - lines->next >= 3 && memcmp(lines->next, mark, 3) == 0)
        lines->next += 3;
    int bad_line = ini_parse_stream(read_line, lines, take_entry, lines);
    if (bad_line != 0 && lines->status == 0) {
        lines->line = bad_line;
        return lines_fail(lines, "line is no [section], no key = value and no comment");
    }
    return lines->status;
}

static bool is_lower(char letter)
{
    return letter >= 'a' && letter <= 'z';
}

static bool is_digit(char letter)
{
    return letter >= '0' && letter <= '9';
}

bool tuned_is_name(const char *text, size_t letters)
{
    size_t length = 0;
    if (text == NULL || !is_lower(*text))
        return false;
    for (; text[length] != '\0'; length++)
        if (length == letters ||
            !(is_lower(text[length]) || is_digit(text[length]) || text[length] == '_'))
            return false;
    return true;
}

/* strtod() in any locale: the application's may write numbers with a comma. Decimal digits, a point
 * and an exponent only; false for anything else. */
static bool read_decimal(const char *text, double *real)
{
    char plain[LINE_BYTES + 1];
    const char *point = localeconv()->decimal_point;
    size_t used = 0;
    if (strlen(point) > 8 || strlen(text) + 8 > sizeof plain)
        return false;
    for (; *text != '\0'; text++) {
        if (*text == '.') {
            memcpy(plain + used, point, strlen(point));
            used += strlen(point);
        } else if (is_digit(*text) || strchr("+-eE", *text) != NULL) {
            plain[used++] = *text;
        } else {
            return false;
        }
        if (used + 8 > sizeof plain)
            return false;
    }
    plain[used] = '\0';
    char *end = NULL;
    *real = strtod(plain, &end);
    return end != plain && *end == '\0' && isfinite(*real);
}

static bool integer_power(int64_t base, int64_t exponent, int64_t *power)
{
    *power = 1;
    for (int64_t i = 0; i < exponent; i++)
        if (__builtin_mul_overflow(*power, base, power))
            return false;
    return true;
}

/* "2^24" */
static bool read_power(const char *text, const char *caret, int64_t *power)
{
    char *end = NULL;
    errno = 0;
    long long base = strtoll(text, &end, 10);
    if (end != caret || end == text || errno != 0)
        return false;
    long long exponent = strtoll(caret + 1, &end, 10);
    return end != caret + 1 && *end == '\0' && errno == 0 && exponent >= 0 && exponent <= 63 &&
           integer_power(base, exponent, power);
}

bool lines_value(const char *text, struct tuned_value *value)
{
    *value = (struct tuned_value){.name = value->name, .text = text};
    if (tuned_is_name(text, WORD_LETTERS)) {
        value->kind = TUNED_WORD;
        return true;
    }
    const char *caret = strchr(text, '^');
    char *end = NULL;
    errno = 0;
    long long integer = strtoll(text, &end, 10);
    value->kind = TUNED_INTEGER;
    value->integer = integer;
    if (caret != NULL) {
        if (!read_power(text, caret, &value->integer))
            return false;
    } else if (end == text || *end != '\0' || errno != 0) {
        value->kind = TUNED_REAL;
        value->integer = 0;
        return read_decimal(text, &value->real);
    }
    value->real = (double)value->integer;
    return true;
}

bool lines_whole(const char *text, int64_t highest, int64_t *number)
{
    char *end = NULL;
    errno = 0;
    *number = strtoll(text, &end, 10);
    return end != text && *end == '\0' && errno == 0 && *number >= 0 && *number <= highest;
}

bool lines_real(const char *text, double *real)
{
    return read_decimal(text, real) && *real >= 0;
}

int lines_file(const char *path, char **text, size_t *length, struct tuned_error *error)
{
    int code = 0;
    size_t room = (size_t)64 << 10;
    FILE *file = fopen(path, "rbe");
    *text = NULL;
    *length = 0;
    if (file == NULL)
        return tuned_fail(error, TUNED_BAD_FILE, path, 0, "cannot open the file: %s",
                          strerror(errno));
    while (code == 0) {
        char *larger = realloc(*text, room + 1);
        if (larger == NULL) {
            code = TUNED_NO_MEMORY;
            (void)tuned_fail(error, TUNED_NO_MEMORY, path, 0, "out of memory");
            break;
        }
        *text = larger;
        *length += fread(larger + *length, 1, room - *length, file);
        if (ferror(file))
            code = tuned_fail(error, TUNED_BAD_FILE, path, 0, "cannot read the file: %s",
                              strerror(errno));
        else if (*length < room)
            break;
        else if (room > TUNED_FILE_BYTES)
            code = tuned_fail(error, TUNED_BAD_FILE, path, 0, "file is larger than 16 MiB");
        else
            room = room < TUNED_FILE_BYTES / 4 ? 4 * room : TUNED_FILE_BYTES + 1;
    }
    (void)fclose(file); /* opened for reading: nothing to lose */
    if (code == 0)
        (*text)[*length] = '\0';
    else
        free(*text), *text = NULL;
    return code;
}
