#include "base/cover_section.h"

#include <string.h>

/* Reads a number and the unit behind it; returns what follows, or NULL. */
static const char *read_real(const char *at, const char *unit, double *number)
{
    char text[LITERAL_REAL_BYTES];
    struct literal value;
    at += strspn(at, " ");
    size_t length = strcspn(at, " ,");
    if (length == 0 || length >= sizeof text)
        return NULL;
    memcpy(text, at, length);
    text[length] = '\0';
    if (literal_parse(text, &value) != NULL || value.kind == LITERAL_WORD || value.real < 0)
        return NULL;
    *number = value.real;
    at += length + strspn(at + length, " ");
    return strncmp(at, unit, strlen(unit)) == 0 ? at + strlen(unit) : NULL;
}

/* Reads NAME=NUMBER for each range in order; returns what follows the colon, or NULL. */
static const char *read_numbers(const struct cover_section *section, const char *at,
                                struct cover_measured *size)
{
    for (size_t i = 0; i < section->range_count; i++) {
        const char *name = section->ranges[i].name;
        char text[LITERAL_REAL_BYTES];
        at += strspn(at, " ");
        if (strncmp(at, name, strlen(name)) != 0 || at[strlen(name)] != '=')
            return NULL;
        at += strlen(name) + 1;
        size_t length = strcspn(at, " :");
        if (length == 0 || length >= sizeof text)
            return NULL;
        memcpy(text, at, length);
        text[length] = '\0';
        if (literal_parse(text, &size->numbers[i]) != NULL || size->numbers[i].kind == LITERAL_WORD)
            return NULL;
        at += length;
    }
    return *at == ':' ? at + 1 : NULL;
}

bool cover_section_read_size(const struct cover_section *section, const char *text,
                             struct cover_measured *size)
{
    double fastest = 0;
    const char *at = read_numbers(section, text, size);
    at = at != NULL ? read_real(at, ",", &fastest) : NULL;
    at = at != NULL ? read_real(at, "ns,", &size->median_ns) : NULL;
    at = at != NULL ? read_real(at, "%", &size->loss_percent) : NULL;
    if (at == NULL || *at != '\0' || !(fastest >= 1) || !(fastest <= COVER_CONFIGURATIONS))
        return false;
    size->fastest = (size_t)fastest - 1;
    return true;
}
