#include "table.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int tuned_fail(struct tuned_error *error, enum tuned_code code, const char *file, int line,
               const char *format, ...)
{
    va_list arguments;
    if (error == NULL)
        return code;
    error->code = code;
    error->line = line;
    (void)snprintf(error->file, sizeof error->file, "%s", file != NULL ? file : "");
    va_start(arguments, format);
    (void)vsnprintf(error->message, sizeof error->message, format, arguments);
    va_end(arguments);
    return code;
}

int tuned_hand_on(struct tuned_error *error, const char *file, const struct ini_reader *reader,
                  int status)
{
    return tuned_fail(error, status == INI_READER_NO_MEMORY ? TUNED_NO_MEMORY : TUNED_BAD_FILE,
                      file, reader->line, "%s", reader->message);
}

struct text_size pool_measure(const char *text, size_t length)
{
    static const char prefix[] = "configuration.";
    struct text_size size = {.bytes = length, .lines = 1};
    for (size_t i = 0; i < length; i++) {
        size.lines += text[i] == '\n';
        size.configurations +=
            text[i] == '[' || (text[i] == 'c' && length - i > sizeof prefix - 1 &&
                               memcmp(text + i, prefix, sizeof prefix - 1) == 0);
    }
    return size;
}

bool pool_init(struct pool *pool, size_t room)
{
    pool->strings = calloc(room, 1);
    pool->room = room;
    return pool->strings != NULL;
}

const char *pool_keep(struct pool *pool, const char *text, size_t length)
{
    if (length >= pool->room - pool->used)
        return NULL;
    char *copy = pool->strings + pool->used;
    memcpy(copy, text, length);
    copy[length] = '\0';
    pool->used += length + 1;
    return copy;
}

bool values_init(struct values *values, size_t count)
{
    values->items = calloc(count + 1, sizeof *values->items);
    values->scales = calloc(count + 1, sizeof *values->scales);
    values->room = count;
    return values->items != NULL && values->scales != NULL;
}

bool values_add(struct values *values, const char *name, const char *text,
                const struct literal *literal)
{
    static const enum tuned_kind kinds[] = {[LITERAL_INTEGER] = TUNED_INTEGER,
                                            [LITERAL_REAL] = TUNED_REAL,
                                            [LITERAL_WORD] = TUNED_WORD};
    if (name == NULL || text == NULL || values->count == values->room)
        return false;
    values->scales[values->count] = literal->kind == LITERAL_WORD ? 0 : value_scale(literal->real);
    values->items[values->count++] =
        (struct tuned_value){name, kinds[literal->kind], literal->integer, literal->real, text};
    return true;
}

static void values_release(struct values *values)
{
    free(values->items);
    free(values->scales);
}

void defaults_free(struct defaults *defaults)
{
    if (defaults == NULL)
        return;
    values_release(&defaults->parameters);
    values_release(&defaults->problem);
    free(defaults->pool.strings);
    free(defaults);
}

void tuned_free(struct tuned_table *table)
{
    if (table == NULL)
        return;
    while (table->templates != NULL) {
        struct defaults *next = table->templates->next;
        defaults_free(table->templates);
        table->templates = next;
    }
    while (table->covers != NULL) {
        struct cover *next = table->covers->next;
        cover_free(table->covers);
        table->covers = next;
    }
    values_release(&table->parameters);
    values_release(&table->problems);
    free(table->configurations);
    free(table->sorted_covers);
    free(table->kernels);
    free(table->groups);
    free(table->members);
    free(table->gpus);
    free(table->pool.strings);
    free(table->folder);
    free(table);
}

size_t tuned_count(const struct tuned_table *table)
{
    return table->count;
}

const struct tuned_configuration *tuned_at(const struct tuned_table *table, size_t index)
{
    return index < table->count ? &table->configurations[index] : NULL;
}

const struct defaults *tuned_defaults_of(const struct tuned_table *table, const char *name)
{
    const struct defaults *defaults = table->templates;
    while (defaults != NULL && strcmp(defaults->name, name) != 0)
        defaults = defaults->next;
    return defaults;
}

const struct defaults *tuned_defaults_for(const struct tuned_table *table,
                                          const struct kernel *known, const char *kernel)
{
    return tuned_defaults_of(table, known != NULL ? known->first->template_name : kernel);
}
