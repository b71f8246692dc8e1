#include "command/export_text.h"

#include "base/alloc.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

void export_put_upper(FILE *stream, const char *text)
{
    for (; *text != '\0'; text++)
        fputc(toupper((unsigned char)*text), stream);
}

void export_put_string(FILE *stream, const char *text)
{
    fputc('"', stream);
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\' || *text == '?' || *text == '/')
            fprintf(stream, "\\%03o", (unsigned)*text);
        else
            fputc(*text, stream);
    }
    fputc('"', stream);
}

/* Writes a value as the tuner passes it to the compiler: 256, 0.5, FINISH_TWO_PASS. */
static void put_value(FILE *stream, const struct tuned_value *value)
{
    if (value->kind == TUNED_WORD) {
        export_put_upper(stream, value->name);
        fputc('_', stream);
        export_put_upper(stream, value->text);
    } else if (value->kind == TUNED_INTEGER) {
        fprintf(stream, "%lld", (long long)value->integer);
    } else {
        fprintf(stream, "%s%s", value->text, strpbrk(value->text, ".e") == NULL ? ".0" : "");
    }
}

void export_put_names(FILE *stream, const struct tuned_value *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        fprintf(stream, ", %s", values[i].name);
}

void export_put_values(FILE *stream, const struct tuned_value *values, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        fputs(", ", stream);
        put_value(stream, &values[i]);
    }
}

char *export_prefixed(const char *kernel, const char *name)
{
    char *text = alloc_format("%s_%s", kernel, name);
    for (char *next = text; *next != '\0'; next++)
        *next = (char)toupper((unsigned char)*next);
    return text;
}

/* The marker of a macro with this value; a name has no characters of numbers or strings. */
static void put_marker(FILE *stream, const char *name, const char *value)
{
    fprintf(stream, "AUTOTUNE_EXPORTED_%s_IS_", name);
    for (; *value != '\0'; value++) {
        if (*value == '.' || *value == '-' || *value == '+')
            fputc(*value == '.' ? 'D' : *value == '-' ? 'M' : 'P', stream);
        else if (*value != '"')
            fputc(*value, stream);
    }
    fputc('\n', stream);
}

void export_put_define(FILE *stream, const char *name, const char *value)
{
    fprintf(stream, "#ifndef %s\n#define %s %s\n#define AUTOTUNE_EXPORTED_%s\n#define ", name, name,
            value, name);
    put_marker(stream, name, value);
    fprintf(stream, "#elif defined AUTOTUNE_EXPORTED_%s && !defined ", name);
    put_marker(stream, name, value);
    fprintf(stream, "#error %s has another value in another header of `autotune export`\n#endif\n",
            name);
}

void export_put_template_hash(FILE *stream, const char *kernel, const char *hash)
{
    char *name = export_prefixed(kernel, "template_hash");
    char *value = NULL;
    size_t length;
    FILE *memory = open_memstream(&value, &length);
    if (memory == NULL)
        abort(); /* out of memory, as in alloc.h */
    export_put_string(memory, hash);
    if (fclose(memory) != 0)
        abort();
    export_put_define(stream, name, value);
    free(value);
    free(name);
}
