#include "template/value.h"

#include "base/alloc.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct value value_integer(int64_t integer)
{
    return (struct value){.kind = VALUE_INTEGER, .as.integer = integer};
}

struct value value_real(double real)
{
    return (struct value){.kind = VALUE_REAL, .as.real = real};
}

struct value value_word(const char *word)
{
    return (struct value){.kind = VALUE_WORD, .as.word = word};
}

struct value value_boolean(bool boolean)
{
    return (struct value){.kind = VALUE_BOOLEAN, .as.boolean = boolean};
}

bool value_equal(struct value a, struct value b)
{
    if (a.kind != b.kind)
        return false;
    switch (a.kind) {
    case VALUE_INTEGER:
        return a.as.integer == b.as.integer;
    case VALUE_REAL:
        return !(a.as.real < b.as.real) && !(a.as.real > b.as.real);
    case VALUE_WORD:
        return strcmp(a.as.word, b.as.word) == 0;
    case VALUE_BOOLEAN:
        return a.as.boolean == b.as.boolean;
    }
    return false;
}

char *value_text(struct value value, char buffer[VALUE_TEXT_BYTES])
{
    switch (value.kind) {
    case VALUE_INTEGER:
        (void)snprintf(buffer, VALUE_TEXT_BYTES, "%" PRId64, value.as.integer);
        break;
    case VALUE_REAL:
        for (int digits = 6; digits <= 17; digits++) {
            (void)snprintf(buffer, VALUE_TEXT_BYTES, "%.*g", digits, value.as.real);
            if (value_equal(value_real(strtod(buffer, NULL)), value))
                break;
        }
        break;
    case VALUE_WORD:
        (void)snprintf(buffer, VALUE_TEXT_BYTES, "%s", value.as.word);
        break;
    case VALUE_BOOLEAN:
        (void)snprintf(buffer, VALUE_TEXT_BYTES, "%s", value.as.boolean ? "true" : "false");
        break;
    }
    return buffer;
}

static bool is_word(const char *text)
{
    if (!islower((unsigned char)*text))
        return false;
    for (; *text != '\0'; text++)
        if (!islower((unsigned char)*text) && !isdigit((unsigned char)*text) && *text != '_')
            return false;
    return true;
}

/* base^exponent in 64 bits; false when it does not fit. */
static bool integer_power(int64_t base, int64_t exponent, int64_t *power)
{
    *power = 1;
    for (int64_t i = 0; i < exponent; i++)
        if (__builtin_mul_overflow(*power, base, power))
            return false;
    return true;
}

int value_parse(const char *text, struct value *value, struct error *error)
{
    if (is_word(text)) {
        if (strlen(text) >= VALUE_TEXT_BYTES)
            return error_set(error, ERROR_CONFIG, "word '%.20s…' is longer than %d letters", text,
                             VALUE_TEXT_BYTES - 1);
        *value = value_word(text);
        return 0;
    }
    char *end = NULL;
    errno = 0;
    int64_t integer = strtoll(text, &end, 10);
    bool fits = errno == 0;
    if (end != text && *end == '^') {
        char *exponent_end = NULL;
        errno = 0;
        int64_t exponent = strtoll(end + 1, &exponent_end, 10);
        if (exponent_end == end + 1 || *exponent_end != '\0' || exponent < 0)
            return error_set(error, ERROR_CONFIG, "'%s' is not a power; write it as 2^20", text);
        if (!fits || errno != 0 || exponent > 63 || !integer_power(integer, exponent, &integer))
            return error_set(error, ERROR_CONFIG, "'%s' does not fit in 64 bits", text);
        *value = value_integer(integer);
        return 0;
    }
    if (end != text && *end == '\0') {
        if (!fits)
            return error_set(error, ERROR_CONFIG, "'%s' does not fit in 64 bits", text);
        *value = value_integer(integer);
        return 0;
    }
    errno = 0;
    double real = strtod(text, &end);
    if (end == text || *end != '\0' || errno != 0 || !isfinite(real) || strpbrk(text, "xXpP"))
        return error_set(error, ERROR_CONFIG,
                         "'%s' is neither a number nor a lower-case word; "
                         "write 256, 2^20, 0.5 or last_block",
                         text);
    *value = value_real(real);
    return 0;
}

static struct value value_copy(struct value value)
{
    if (value.kind == VALUE_WORD)
        value.as.word = alloc_string(value.as.word);
    return value;
}

static void value_release(struct value value)
{
    if (value.kind == VALUE_WORD)
        free((void *)(uintptr_t)value.as.word);
}

void bindings_set(struct bindings *bindings, const char *name, struct value value)
{
    struct value copy = value_copy(value);
    for (size_t i = 0; i < bindings->count; i++) {
        if (strcmp(bindings->items[i].name, name) == 0) {
            value_release(bindings->items[i].value);
            bindings->items[i].value = copy;
            return;
        }
    }
    struct binding *binding = ARRAY_APPEND(bindings->items, bindings->count);
    binding->name = alloc_string(name);
    binding->value = copy;
}

const struct value *bindings_find(const struct bindings *bindings, const char *name)
{
    for (size_t i = 0; i < bindings->count; i++)
        if (strcmp(bindings->items[i].name, name) == 0)
            return &bindings->items[i].value;
    return NULL;
}

void bindings_append(struct bindings *to, const struct bindings *from)
{
    for (size_t i = 0; i < from->count; i++)
        bindings_set(to, from->items[i].name, from->items[i].value);
}

void bindings_copy(struct bindings *to, const struct bindings *from)
{
    bindings_release(to);
    bindings_append(to, from);
}

bool bindings_equal(const struct bindings *a, const struct bindings *b)
{
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++)
        if (strcmp(a->items[i].name, b->items[i].name) != 0 ||
            !value_equal(a->items[i].value, b->items[i].value))
            return false;
    return true;
}

void bindings_release(struct bindings *bindings)
{
    for (size_t i = 0; i < bindings->count; i++) {
        free(bindings->items[i].name);
        value_release(bindings->items[i].value);
    }
    free(bindings->items);
    *bindings = (struct bindings){0};
}

char *bindings_text(const struct bindings *bindings)
{
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    if (stream == NULL)
        abort();
    for (size_t i = 0; i < bindings->count; i++) {
        char buffer[VALUE_TEXT_BYTES];
        fprintf(stream, "%s%s=%s", i > 0 ? " " : "", bindings->items[i].name,
                value_text(bindings->items[i].value, buffer));
    }
    if (fclose(stream) != 0)
        abort();
    return text;
}

static json_t *value_to_json(struct value value)
{
    switch (value.kind) {
    case VALUE_INTEGER:
        return json_integer(value.as.integer);
    case VALUE_REAL:
        return json_real(value.as.real);
    case VALUE_WORD:
        return json_string(value.as.word);
    case VALUE_BOOLEAN:
        return json_boolean(value.as.boolean);
    }
    return json_null();
}

json_t *bindings_to_json(const struct bindings *bindings)
{
    json_t *object = json_object();
    for (size_t i = 0; i < bindings->count; i++)
        json_object_set_new(object, bindings->items[i].name,
                            value_to_json(bindings->items[i].value));
    return object;
}

int bindings_from_json(struct bindings *bindings, const json_t *object, struct error *error)
{
    const char *name;
    json_t *member;
    json_object_foreach((json_t *)(uintptr_t)object, name, member)
    {
        struct value value;
        if (json_is_integer(member))
            value = value_integer(json_integer_value(member));
        else if (json_is_real(member))
            value = value_real(json_real_value(member));
        else if (json_is_string(member) && json_string_length(member) < VALUE_TEXT_BYTES)
            value = value_word(json_string_value(member));
        else if (json_is_boolean(member))
            value = value_boolean(json_boolean_value(member));
        else
            return error_set(error, ERROR_RECORD,
                             "member '%s' is neither a number, a word nor a boolean", name);
        bindings_set(bindings, name, value);
    }
    return 0;
}
