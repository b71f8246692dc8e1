#include "base/figures.h"

#include "base/alloc.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBER_BYTES = 32 };

void figures_release(struct figures *figures)
{
    free(figures->numbers);
    *figures = (struct figures){0};
}

/* --- writing --- */

/* autotune keeps the C locale, so that a point is a point. */
json_t *figures_text(const double *numbers, size_t count)
{
    char *text = alloc_zeroed(count + 1, NUMBER_BYTES);
    char *end = text;
    for (size_t i = 0; i < count; i++)
        end += snprintf(end, NUMBER_BYTES, "%s%.17g", i > 0 ? " " : "", numbers[i]);
    json_t *object = json_string(text);
    free(text);
    return object;
}

void figures_fold(json_t *reply)
{
    static const char *const lists[] = {"took_ns", "stats", "sampled", "samples_ns"};
    enum { LISTS = sizeof lists / sizeof *lists };
    size_t count = 0;
    size_t index;
    json_t *number;
    for (size_t i = 0; i < LISTS; i++)
        count += json_array_size(json_object_get(reply, lists[i]));
    if (count == 0)
        return;
    double *numbers = alloc_zeroed(count, sizeof *numbers);
    count = 0;
    for (size_t i = 0; i < LISTS; i++) {
        json_array_foreach(json_object_get(reply, lists[i]), index, number)
        {
            numbers[count++] = json_is_number(number) ? json_number_value(number) : NAN;
        }
        (void)json_object_del(reply, lists[i]);
    }
    json_object_set_new(reply, "figures", figures_text(numbers, count));
    free(numbers);
}

/* --- reading --- */

static void append(struct figures *figures, double number)
{
    if (figures->count == figures->capacity) {
        figures->capacity = figures->capacity > 0 ? 2 * figures->capacity : 32;
        figures->numbers =
            alloc_resize(figures->numbers, figures->capacity, sizeof *figures->numbers);
    }
    figures->numbers[figures->count++] = number;
}

/* As strtod(), but faster for a whole number, as most are. */
static double read_number(const char *text, const char **end)
{
    enum { DIGITS = 15 }; /* always exact */
    char *after;
    int64_t whole = 0;
    const char *at = text;
    while (*at >= '0' && *at <= '9' && at - text < DIGITS)
        whole = 10 * whole + (*at++ - '0');
    *end = at;
    if (at > text && (*at == ' ' || *at == '\0'))
        return (double)whole;
    double number = strtod(text, &after);
    *end = after;
    return number;
}

void figures_read(struct figures *figures, const json_t *reply)
{
    const char *text = json_string_value(json_object_get(reply, "figures"));
    figures->count = 0;
    while (text != NULL && *text != '\0') {
        const char *end;
        double number = read_number(text, &end);
        bool good = end != text && (*end == ' ' || *end == '\0');
        append(figures, good ? number : NAN);
        text = strchr(good ? end : text, ' ');
        text += text != NULL;
    }
}
