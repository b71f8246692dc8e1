#include "exchange/t1_text.h"

#include "base/alloc.h"
#include "base/literal.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_COLUMNS = 120 };

const char *t1_file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

const char *t1_text_of(const json_t *json, const char *member)
{
    return json_string_value(json_object_get(json, member));
}

char *t1_value_text(const struct t1 *t1, const struct python_value *value)
{
    char real[LITERAL_REAL_BYTES];
    if (value->kind == PYTHON_IS_STRING)
        for (size_t i = 0; i < t1->words.text_count; i++)
            if (strcmp(t1->words.texts[i], value->string) == 0)
                return alloc_string(t1->words.words[i]);
    if (value->kind == PYTHON_IS_INTEGER)
        return alloc_format("%" PRId64, value->integer);
    (void)literal_real_text(value->real, real);
    return alloc_format("%s%s", real, strpbrk(real, ".e") == NULL ? ".0" : "");
}

void t1_print_entry(FILE *stream, const char *key, const char *value)
{
    static const char blanks[] = " \t\r\n";
    size_t column = (size_t)fprintf(stream, "%s =", key);
    while (*value != '\0') {
        size_t length = strcspn(value, blanks);
        if (column > strlen(key) + 2 && column + 1 + length > LINE_COLUMNS)
            column = (size_t)fprintf(stream, "\n   ") - 1;
        column += (size_t)fprintf(stream, " %.*s", (int)length, value);
        value += length;
        value += strspn(value, blanks);
    }
    fputc('\n', stream);
}

void t1_print_gap(FILE *stream, struct t1 *t1, const char *section, const char *format, ...)
{
    char text[160]; /* one line, which INI readers limit */
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    for (char *c = text; (c = strpbrk(c, "\r\n")) != NULL;)
        *c = ' ';
    fprintf(stream, "; TODO: %s\n", text);
    *ARRAY_APPEND(t1->gaps, t1->gap_count) = alloc_format("[%s] %s", section, text);
}

/* --- names in sizes --- */

static void add_name(struct python_names *names, struct python_name **items, const char *theirs,
                     const char *ours, const struct python_value *values)
{
    *ARRAY_APPEND(*items, names->count) =
        (struct python_name){alloc_string(theirs), ours, false, values};
}

void t1_names_init(struct python_names *names, struct t1 *t1, bool fixed)
{
    struct python_name *items = NULL;
    *names = (struct python_names){.words = &t1->words};
    for (size_t i = 0; i < t1->problem_count; i++) {
        char *indexed = alloc_format("ProblemSize[%zu]", i);
        add_name(names, &items, indexed, alloc_string(t1_extents[i]), NULL);
        free(indexed);
    }
    if (t1->problem_count == 1)
        add_name(names, &items, "ProblemSize", alloc_string(t1_extents[0]), NULL);
    for (size_t i = 0; i < t1->parameter_count; i++) {
        const struct t1_parameter *parameter = &t1->parameters[i];
        const struct python_value *values = &parameter->values;
        char *ours = !fixed               ? alloc_string(parameter->ours)
                     : values->count == 1 ? t1_value_text(t1, &values->items[0])
                                          : NULL;
        add_name(names, &items, parameter->theirs, ours, values);
        items[names->count - 1].is_word = parameter->is_word;
    }
    names->items = items;
}

void t1_names_release(struct python_names *names)
{
    for (size_t i = 0; i < names->count; i++) {
        free((void *)(uintptr_t)names->items[i].theirs);
        free((void *)(uintptr_t)names->items[i].ours);
    }
    free((void *)(uintptr_t)names->items);
    *names = (struct python_names){0};
}

/* --- the sweep --- */

/* How many values from `first` on are FIRST..LAST step STEP, or step *2 if `*doubles`. */
static size_t run_length(const struct python_value *values, size_t first, int64_t *step,
                         bool *doubles)
{
    const struct python_value *items = values->items + first;
    size_t left = values->count - first;
    size_t sum = 2;
    size_t product = 2;
    for (size_t i = 0; i < left; i++)
        if (items[i].kind != PYTHON_IS_INTEGER || items[i].integer < 0 ||
            items[i].integer > INT32_MAX)
            left = i;
    if (left < 4 || items[1].integer <= items[0].integer)
        return 1;
    *step = items[1].integer - items[0].integer;
    while (sum < left && items[sum].integer - items[sum - 1].integer == *step)
        sum++;
    *doubles = items[0].integer > 0 && items[1].integer == 2 * items[0].integer;
    while (*doubles && product < left && items[product].integer == 2 * items[product - 1].integer)
        product++;
    *doubles = *doubles && product > sum;
    return *doubles ? product : sum;
}

static void print_values(FILE *stream, const struct t1 *t1, const struct python_value *values)
{
    for (size_t i = 0; i < values->count;) {
        int64_t step = 1;
        bool doubles = false;
        size_t run = run_length(values, i, &step, &doubles);
        const char *comma = i > 0 ? ", " : "";
        char *first = t1_value_text(t1, &values->items[i]);
        if (run < 4) {
            fprintf(stream, "%s%s", comma, first);
            i++;
        } else {
            fprintf(stream, "%s%s..%" PRId64, comma, first, values->items[i + run - 1].integer);
            if (doubles)
                fputs(" step *2", stream);
            else if (step > 1)
                fprintf(stream, " step %" PRId64, step);
            i += run;
        }
        free(first);
    }
}

void t1_sweep_print(FILE *stream, const struct t1 *t1)
{
    fprintf(stream, "; Imported from %s\n[sweep]\ntemplates = .\n\n[%s]\n", t1_file_name(t1->path),
            t1->name);
    for (size_t i = 0; i < t1->parameter_count; i++) {
        char *text = NULL;
        size_t size;
        FILE *list = open_memstream(&text, &size);
        if (list == NULL)
            abort(); /* out of memory, as in alloc.h */
        print_values(list, t1, &t1->parameters[i].values);
        (void)fclose(list);
        t1_print_entry(stream, t1->parameters[i].ours, text);
        free(text);
    }
}
