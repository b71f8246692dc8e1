#include "template/template_arguments.h"

#include "base/alloc.h"
#include "template/template_tensor_maps.h"
#include "template/template_textures.h"
#include "template/value_list.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* "uint64 n" is a scalar, "bool x" a condition; anything else an expression that yields a buffer. */
static int read_plain(struct loader *loader, const char *text, int line, const struct names *known,
                      struct argument *argument)
{
    size_t word = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789");
    bool typed = isspace((unsigned char)text[word]);
    int type = typed ? element_from_name(text, word) : -1;
    argument->is_condition = typed && word == strlen("bool") && strncmp(text, "bool", word) == 0;
    if (argument->is_condition)
        type = ELEMENT_UINT8;
    argument->kind = type < 0 ? ARGUMENT_BUFFER : ARGUMENT_SCALAR;
    if (type >= 0) {
        argument->type = (enum element_type)type;
        text += word + strspn(text + word, " \t");
    }
    int status = loader_read_expression(loader, text, line, known, &argument->expression);
    if (status != 0 || type >= 0)
        return status;
    for (size_t i = 0; i < expression_name_count(argument->expression); i++) {
        const char *name = expression_name(argument->expression, i);
        if (names_have(loader->buffers.items, name) && !names_have(loader->base.items, name))
            return 0;
    }
    return loader_fail(loader, line,
                       "argument '%s' is not a buffer; give a scalar its type, such as uint64 n",
                       text);
}

/* "float 1, int32 n", the inside of a struct. */
static int read_fields(struct loader *loader, const char *text, int line, const struct names *known,
                       struct argument *argument)
{
    char **texts;
    size_t count = text_split(text, ',', &texts);
    argument->kind = ARGUMENT_STRUCT;
    int status = count > 0 ? 0 : loader_fail(loader, line, "struct(%s) has no fields", text);
    for (size_t i = 0; i < count && status == 0; i++) {
        struct argument *field = ARRAY_APPEND(argument->fields, argument->field_count);
        status = read_plain(loader, texts[i], line, known, field);
        if (status == 0 && field->kind != ARGUMENT_SCALAR)
            status = loader_fail(loader, line, "field '%s' of a struct is not a scalar", texts[i]);
    }
    if (status == 0 && argument_field_offset(argument, argument->field_count) > STRUCT_BYTES)
        status = loader_fail(loader, line, "struct(%s) has more than 64 bytes", text);
    text_split_release(texts, count);
    return status;
}

/* "a", or "a by m * k": pointers to the parts of the buffer, of so many elements each. */
static int read_pointer(struct loader *loader, char *text, int line, const struct names *known,
                        struct argument *argument)
{
    static const char by[] = " by ";
    char *part = strstr(text, by);
    int status = 0;
    if (part != NULL) {
        *part = '\0';
        status = loader_read_expression(loader, part + strlen(by), line, known, &argument->part);
    }
    return status == 0 ? read_plain(loader, text, line, known, argument) : status;
}

/* "a, b, c by n", the inside of pointers. */
static int read_pointers(struct loader *loader, const char *text, int line,
                         const struct names *known, struct argument *argument)
{
    char **texts;
    size_t count = text_split(text, ',', &texts);
    argument->kind = ARGUMENT_POINTERS;
    int status = count > 0 ? 0 : loader_fail(loader, line, "pointers(%s) has no buffers", text);
    for (size_t i = 0; i < count && status == 0; i++) {
        struct argument *field = ARRAY_APPEND(argument->fields, argument->field_count);
        status = read_pointer(loader, texts[i], line, known, field);
        if (status == 0 && field->kind != ARGUMENT_BUFFER)
            status = loader_fail(loader, line, "'%s' among pointers is not a buffer", texts[i]);
    }
    text_split_release(texts, count);
    return status;
}

static bool is_call(const char *text, const char *word)
{
    size_t length = strlen(word);
    return strncmp(text, word, length) == 0 && text[length + strspn(text + length, " \t")] == '(';
}

static int read_argument(struct loader *loader, const char *text, int line,
                         const struct names *known, struct argument *argument)
{
    static const struct {
        const char *word, *example;
        int (*read)(struct loader *loader, const char *inner, int line, const struct names *known,
                    struct argument *argument);
    } calls[] = {{"struct", "'%s' is not of the form struct(float 1, int32 n)", read_fields},
                 {"pointers", "'%s' is not of the form pointers(a, b)", read_pointers},
                 {"texture", "'%s' is not a texture over a buffer", loader_read_texture},
                 {"tensor_map", "'%s' is not of the form tensor_map(a, (n, m), (64, 32))",
                  loader_read_tensor_map}};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        if (!is_call(text, calls[i].word))
            continue;
        char *copy = alloc_string(text);
        char *inner;
        int status = split_call(copy, &inner) ? calls[i].read(loader, inner, line, known, argument)
                                              : loader_fail(loader, line, calls[i].example, text);
        free(copy);
        return status;
    }
    return read_plain(loader, text, line, known, argument);
}

int loader_append_arguments(struct loader *loader, char **texts, size_t count, int line,
                            const struct names *known, struct launch *launch)
{
    int status = 0;
    for (size_t i = 0; i < count && status == 0; i++)
        status = read_argument(loader, texts[i], line, known,
                               ARRAY_APPEND(launch->arguments, launch->argument_count));
    return status;
}

int loader_read_arguments(struct loader *loader, const char *section, const struct names *known,
                          struct launch *launch)
{
    const struct ini_entry *entry = loader_get(loader, section, "arguments");
    if (entry == NULL)
        return 0;
    char **texts;
    size_t count = text_split(entry->value, ',', &texts);
    int status = loader_append_arguments(loader, texts, count, entry->line, known, launch);
    text_split_release(texts, count);
    return status;
}

int loader_refuse_name(struct loader *loader, const struct launch *launch, const char *name,
                       const char *who)
{
    for (size_t i = 0; i < launch->argument_count; i++)
        if (argument_uses_buffer(&launch->arguments[i], name))
            return error_set_at(loader->error, ERROR_CONFIG, loader->template->path,
                                launch->lines.arguments,
                                "launch '%s' has '%s' among its arguments, which only %s has",
                                launch->name, name, who);
    return 0;
}

int loader_check_helper_arguments(struct loader *loader, const struct launch *helper,
                                  const char *what)
{
    for (size_t i = 0; i < helper->argument_count; i++) {
        enum argument_kind kind = helper->arguments[i].kind;
        if (kind == ARGUMENT_TEXTURE || kind == ARGUMENT_TENSOR_MAP)
            return error_set_at(loader->error, ERROR_CONFIG, loader->template->path,
                                helper->lines.arguments,
                                "%s '%s' has a %s; give it the buffer itself", what, helper->entry,
                                kind == ARGUMENT_TEXTURE ? "texture" : "tensor map");
    }
    return 0;
}
