#include "template/value_list.h"

#include "base/alloc.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { RANGE_LIMIT = 4096 };

/* The part between the two, without the blanks around it. */
static char *trim(char *start, char *stop)
{
    while (start < stop && isspace((unsigned char)*start))
        start++;
    while (stop > start && isspace((unsigned char)stop[-1]))
        stop--;
    *stop = '\0';
    return start;
}

size_t text_split(const char *text, char separator, char ***parts)
{
    size_t most = 1;
    for (const char *at = text; *at != '\0'; at++)
        most += *at == separator;
    *parts = alloc_zeroed(most * sizeof **parts + strlen(text) + 1, 1);
    char *start = strcpy((char *)(*parts + most), text); // NOLINT: there is room
    size_t count = 0;
    int depth = 0;
    char quote = '\0';
    if (text[strspn(text, " \t")] == '\0')
        return 0;
    for (char *at = start;; at++) {
        char character = *at;
        if (character == '\0' || (character == separator && depth == 0 && quote == '\0')) {
            (*parts)[count++] = trim(start, at);
            start = at + 1;
            if (character == '\0')
                return count;
        } else if (quote != '\0') {
            quote = (char)(character == quote ? '\0' : quote);
        } else if (character == '"' || character == '\'') {
            quote = character;
        } else {
            depth += (character == '(') - (character == ')');
        }
    }
}

void texts_free(char **texts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(texts[i]);
    free(texts);
}

static int fail(const char *file, int line, const char *item, const char *message,
                struct error *error)
{
    return error_set_at(error, ERROR_CONFIG, file, line, "'%s' in a list: %s", item, message);
}

static int append_value(struct value_list *list, struct value value, const char *item,
                        const char *file, int line, struct error *error)
{
    for (size_t i = 0; i < list->count; i++)
        if (value_alike(list->values[i], value))
            return fail(file, line, item, "the value is given twice; remove one", error);
    if (value.kind == VALUE_WORD) {
        char **word = ARRAY_APPEND(list->words, list->word_count);
        *word = alloc_string(value.as.word);
        value.as.word = *word;
    }
    *ARRAY_APPEND(list->values, list->count) = value;
    return 0;
}

/* The next value of a range, or false past its end or 64 bits. */
static bool range_next(int64_t *value, int64_t step, bool multiply, int64_t last)
{
    bool overflow = multiply ? __builtin_mul_overflow(*value, step, value)
                             : __builtin_add_overflow(*value, step, value);
    return !overflow && *value <= last;
}

/* "FIRST..LAST", "FIRST..LAST step 32", "FIRST..LAST step *2"; `dots` points at the dots of a copy.
 */
static int append_range(struct value_list *list, char *item, char *dots, const char *file, int line,
                        struct error *error)
{
    static const char shape[] = "a range is written 32..1024 step 32 or 32..1024 step *2, "
                                "with whole numbers, ascending";
    char *whole = alloc_string(item);
    char *tail = dots + 2;
    char *step_text = strstr(tail, "step");
    struct value bounds[3] = {[2] = value_integer(1)};
    bool multiply = false;
    *dots = '\0';
    if (step_text != NULL) {
        *step_text = '\0';
        step_text += strlen("step");
        step_text += strspn(step_text, " \t");
        multiply = *step_text == '*';
        step_text += multiply ? 1 + strspn(step_text + 1, " \t") : 0;
    }
    const char *texts[3] = {item, tail, step_text};
    int status = 0;
    for (size_t i = 0; i < 3 && status == 0; i++) {
        if (texts[i] == NULL)
            continue;
        char **parts; /* one: without the blanks around it */
        size_t count = text_split(texts[i], ',', &parts);
        if (count != 1 || value_parse(parts[0], &bounds[i], NULL) != 0 ||
            bounds[i].kind != VALUE_INTEGER)
            status = fail(file, line, whole, shape, error);
        free(parts);
    }
    int64_t step = bounds[2].as.integer;
    if (status == 0 && (bounds[0].as.integer > bounds[1].as.integer || step < 1 ||
                        (multiply && (step < 2 || bounds[0].as.integer < 1))))
        status = fail(file, line, whole, shape, error);
    size_t length = 0;
    int64_t value = status == 0 ? bounds[0].as.integer : 0;
    while (status == 0) {
        if (++length > RANGE_LIMIT)
            status = fail(file, line, whole, "the range has more than 4096 values", error);
        else
            status = append_value(list, value_integer(value), whole, file, line, error);
        if (!range_next(&value, step, multiply, bounds[1].as.integer))
            break;
    }
    free(whole);
    return status;
}

int value_list_parse(struct value_list *list, const char *text, const char *file, int line,
                     struct error *error)
{
    char **items;
    size_t count = text_split(text, ',', &items);
    int status = 0;
    *list = (struct value_list){0};
    if (count == 0)
        status = error_set_at(error, ERROR_CONFIG, file, line, "the list of values is empty");
    for (size_t i = 0; i < count && status == 0; i++) {
        char *dots = strstr(items[i], "..");
        struct value value;
        struct error reason = {0};
        if (items[i][0] == '\0')
            status = error_set_at(error, ERROR_CONFIG, file, line,
                                  "a value is missing between two commas of the list");
        else if (dots != NULL)
            status = append_range(list, items[i], dots, file, line, error);
        else if (value_parse(items[i], &value, &reason) != 0)
            status = error_set_at(error, ERROR_CONFIG, file, line, "%s", reason.message);
        else
            status = append_value(list, value, items[i], file, line, error);
    }
    free(items);
    if (status != 0)
        value_list_release(list);
    return status;
}

struct value value_list_add(struct value_list *list, struct value value)
{
    size_t index = 0;
    while (index < list->count && !value_alike(list->values[index], value))
        index++;
    if (index == list->count)
        (void)append_value(list, value, "", "", 0, NULL);
    return list->values[index];
}

void value_list_release(struct value_list *list)
{
    texts_free(list->words, list->word_count);
    free(list->values);
    *list = (struct value_list){0};
}

/* --- names --- */

void names_add(struct names *names, const char *name)
{
    if (names->count > 0)
        names->count--; /* the NULL */
    *ARRAY_APPEND(names->items, names->count) = name;
    *ARRAY_APPEND(names->items, names->count) = NULL;
}

void names_add_all(struct names *names, const char *const *more)
{
    for (; *more != NULL; more++)
        names_add(names, *more);
}

int names_index(const char *const *names, const char *name)
{
    for (int i = 0; names != NULL && names[i] != NULL; i++)
        if (strcmp(names[i], name) == 0)
            return i;
    return -1;
}

bool names_have(const char *const *names, const char *name)
{
    return names_index(names, name) >= 0;
}
