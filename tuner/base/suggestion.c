#include "base/suggestion.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

static size_t smallest(size_t a, size_t b, size_t c)
{
    size_t least = a < b ? a : b;
    return least < c ? least : c;
}

/* Levenshtein distance, computed in one row. Names over 63 bytes are never close. */
static size_t edit_distance(const char *a, const char *b)
{
    size_t row[64];
    size_t length = strlen(b);
    if (length >= 64 || strlen(a) >= 64)
        return SIZE_MAX;
    for (size_t j = 0; j <= length; j++)
        row[j] = j;
    for (size_t i = 1; a[i - 1] != '\0'; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= length; j++) {
            size_t substitution = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            row[j] = smallest(row[j] + 1, row[j - 1] + 1, substitution);
        }
    }
    return row[length];
}

const char *suggestion_nearest(const char *name, const char *const *known)
{
    const char *nearest = NULL;
    size_t letters = strlen(name);
    size_t least = letters > 1 ? (letters + 2) / 3 : 0; /* any two single letters would match */
    for (; *known != NULL; known++) {
        size_t distance = edit_distance(name, *known);
        if (distance <= least && (nearest == NULL || distance < least)) {
            nearest = *known;
            least = distance;
        }
    }
    return nearest;
}

int suggestion_unknown(const char *path, int line, const char *what, const char *name,
                       const char *const *known, struct error *error)
{
    const char *nearest = suggestion_nearest(name, known);
    if (nearest != NULL)
        return error_set_at(error, ERROR_CONFIG, path, line, "unknown %s '%s'; did you mean '%s'?",
                            what, name, nearest);
    char list[512] = "";
    size_t used = 0;
    for (; *known != NULL; known++) {
        int length =
            snprintf(list + used, sizeof list - used, "%s%s", used > 0 ? ", " : "", *known);
        if (length < 0 || (size_t)length >= sizeof list - used)
            break;
        used += (size_t)length;
    }
    return error_set_at(error, ERROR_CONFIG, path, line, "unknown %s '%s'; expected one of: %s",
                        what, name, list);
}
