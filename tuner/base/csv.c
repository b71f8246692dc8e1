#include "base/csv.h"

#include <stdbool.h>
#include <string.h>

static const char *skip_digits(const char *text)
{
    return text + strspn(text, "0123456789");
}

/* "-1", "+2.5e-3": in every locale. */
static bool is_signed_number(const char *text)
{
    const char *end = skip_digits(text + 1);
    if (end == text + 1)
        return false;
    if (*end == '.')
        end = skip_digits(end + 1);
    if (*end == 'e')
        end = skip_digits(end + 1 + (end[1] == '-' || end[1] == '+'));
    return *end == '\0' && (*text == '-' || *text == '+');
}

/* Whether a spreadsheet would compute the cell. */
static bool is_formula(const char *text)
{
    return text[0] != '\0' && strchr("=+-@\t\r", text[0]) != NULL && !is_signed_number(text);
}

void csv_text(FILE *stream, const char *text)
{
    if (text == NULL)
        return;
    const char *mark = is_formula(text) ? "'" : "";
    if (strpbrk(text, ",\"\r\n") == NULL) {
        fputs(mark, stream);
        fputs(text, stream);
        return;
    }
    fprintf(stream, "\"%s", mark);
    for (; *text != '\0'; text++) {
        if (*text == '"')
            fputc('"', stream);
        fputc(*text, stream);
    }
    fputc('"', stream);
}
