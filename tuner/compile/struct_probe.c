#include "compile/struct_probe.h"

#include "base/alloc.h"
#include "template/compiler_option.h"
#include "template/source_signature.h"
#include "template/value_list.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The name of a file in the compiler's messages begins so; behind it are the template's line and a place. */
#define PROBE "autotune-probe:"
#define PROBE_END PROBE "end"
#define OF_BUFFER "the type of buffer '"
#define OF_CONSTANT "constant '"

/* of<T>() is one of these, or for numbers with the size added. */
enum { IS_POINTER = 1, IS_ARRAY, IS_CLASS, IS_FLOATING = 40, IS_INTEGER = 50 };

static const struct {
    int code;
    const char *text;
} kinds[] = {{IS_POINTER, "a pointer"},
             {IS_ARRAY, "an array"},
             {IS_CLASS, "a struct"},
             {IS_FLOATING + 4, "a float"},
             {IS_FLOATING + 8, "a double"},
             {IS_INTEGER + 1, "an integer of 1 byte"},
             {IS_INTEGER + 2, "an integer of 2 bytes"},
             {IS_INTEGER + 4, "an integer of 4 bytes"},
             {IS_INTEGER + 8, "an integer of 8 bytes"}};

extern const char struct_probe_prelude[]; /* struct_probe.cuh, made by CMake */

struct probing {
    char *text;
    const struct template *template;
    const struct scope *scope;
    int line; /* of the template */
    size_t names;
};

static void probe_struct(struct probing *probing, const struct argument *argument,
                         const char *value, const char *place);

/* With quotes and backslashes as C++ has them in texts; a new string. */
static char *quote(const char *text)
{
    char *quoted = alloc_string("");
    for (; *text != '\0'; text++)
        alloc_append(&quoted, "%s%c", *text == '"' || *text == '\\' ? "\\" : "", *text);
    return quoted;
}

/* That the type of `value` is of this kind; with `bits`, which 16-bit floats have, its size is enough. */
static void assert_kind(struct probing *probing, const struct argument *argument, int code,
                        bool bits, const char *value, const char *place)
{
    char *plain = argument_text(argument);
    char *text = quote(plain);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        bool fits = kinds[i].code == code || (bits && kinds[i].code == IS_CLASS);
        if (!fits)
            alloc_append(&probing->text,
                         "static_assert(autotune_probe::of<decltype(%s)>::value != %d, "
                         "\"%s is %s, but the argument has %s\");\n",
                         value, kinds[i].code, place, kinds[i].text, text);
    }
    if (argument->kind == ARGUMENT_SCALAR)
        alloc_append(&probing->text,
                     "static_assert(sizeof(%s) == %zu, "
                     "\"%s does not have %zu bytes, as the argument's %s has\");\n",
                     value, argument->bytes, place, argument->bytes, text);
    free(plain);
    free(text);
}

/* That a pointer may point to the elements of every buffer that the expression names. */
static void assert_elements(struct probing *probing, const struct argument *argument,
                            const char *value, const char *place)
{
    const struct template *template = probing->template;
    for (size_t i = 0; i < template->buffer_count; i++) {
        const struct buffer *buffer = &template->buffers[i];
        enum element_type type;
        if (!expression_depends(argument->expression, buffer->name) ||
            template_element_type(buffer->type, probing->scope, &type, NULL) != 0)
            continue;
        alloc_append(&probing->text,
                     "static_assert(autotune_probe::may_be(autotune_probe::of<"
                     "autotune_probe::of<decltype(%s)>::to>::value, %d, %zu), "
                     "\"%s does not point to %s, the type of the elements of buffer '%s'\");\n",
                     value, element_is_floating(type), element_bytes(type), place,
                     element_name(type), buffer->name);
    }
}

/* `value` is an lvalue; `place` is "member 2 of parameter 1 of kernel 'k'". */
/* NOLINTNEXTLINE(misc-no-recursion): structs nest to a limited depth */
static void probe_member(struct probing *probing, const struct argument *argument,
                         const char *value, const char *place)
{
    bool bits = argument->kind == ARGUMENT_SCALAR && element_is_floating(argument->type) &&
                argument->bytes == 2;
    int number = (int)argument->bytes +
                 (element_is_floating(argument->type) && !bits ? IS_FLOATING : IS_INTEGER);
    int code = argument->kind == ARGUMENT_SCALAR   ? number
               : argument->kind == ARGUMENT_STRUCT ? IS_CLASS
               : argument->kind == ARGUMENT_ARRAY  ? IS_ARRAY
                                                   : IS_POINTER;
    assert_kind(probing, argument, code, bits, value, place);
    if (argument->kind == ARGUMENT_BUFFER)
        assert_elements(probing, argument, value, place);
    if (argument->kind == ARGUMENT_STRUCT) {
        alloc_append(&probing->text,
                     "static_assert(alignof(autotune_probe::bare<decltype(%s)>::type) == %zu, "
                     "\"%s is not aligned to %zu bytes, as the argument's is\");\n",
                     value, argument->alignment, place, argument->alignment);
        probe_struct(probing, argument, value, place);
    }
    if (argument->kind != ARGUMENT_ARRAY)
        return;
    alloc_append(&probing->text,
                 "static_assert(autotune_probe::of<decltype(%s)>::count == %zu, "
                 "\"%s does not have %zu elements, as the argument has\");\n",
                 value, argument->field_count, place, argument->field_count);
    char *element = alloc_format("%s[0]", value);
    for (size_t i = 0; i < argument->field_count; i++) {
        const struct argument *field = &argument->fields[i];
        char *inner = alloc_format("element %zu of %s", i + 1, place);
        if (field->repeats > 0 ? field->number == 1 : i == 0 || field->kind != ARGUMENT_SCALAR)
            probe_member(probing, field, element, inner);
        free(inner);
    }
    free(element);
}

/* The members of the lvalue `value`. */
/* NOLINTNEXTLINE(misc-no-recursion): as probe_member() */
static void probe_struct(struct probing *probing, const struct argument *argument,
                         const char *value, const char *place)
{
    size_t first = probing->names;
    probing->names += argument->field_count;
    alloc_append(&probing->text, "#line 1 \"" PROBE "%d:%s\"\n", probing->line, place);
    for (size_t i = 0; i < argument->field_count; i++)
        alloc_append(&probing->text, "%s_%zu", i == 0 ? "auto &[" : ", ", first + i);
    if (argument->field_count > 0)
        alloc_append(&probing->text, "] = %s;\n", value);
    for (size_t i = 0; i < argument->field_count; i++) {
        char *name = alloc_format("_%zu", first + i);
        char *inner = alloc_format("member %zu of %s", i + 1, place);
        probe_member(probing, &argument->fields[i], name, inner);
        free(name);
        free(inner);
    }
    if (argument->field_count > 0)
        alloc_append(&probing->text, "static_assert(sizeof(%s) == %zu, ", value, argument->bytes);
    else
        alloc_append(&probing->text,
                     "static_assert(__is_empty(autotune_probe::bare<decltype(%s)>::type), ", value);
    alloc_append(&probing->text, "\"%s does not have %zu bytes%s, as the argument's has\");\n",
                 place, argument->bytes, argument->field_count > 0 ? "" : " and no members");
}

static void probe_launch(struct probing *probing, const struct launch *launch)
{
    probing->line = launch->lines.arguments;
    for (size_t i = 0; i < launch->argument_count; i++) {
        const struct argument *argument = &launch->arguments[i];
        if (argument->kind != ARGUMENT_STRUCT)
            continue;
        char *entry = quote(launch->entry);
        char *place = alloc_format("parameter %zu of kernel '%s'", i + 1, entry);
        alloc_append(&probing->text,
                     "#line 1 \"" PROBE "%d:%s\"\n__device__ inline void autotune_probe_%zu("
                     "autotune_probe::parameters<decltype(&%s)>::at<%zu> &value) { (void)value;\n",
                     probing->line, place, probing->names++, launch->entry, i);
        assert_kind(probing, argument, IS_CLASS, false, "value", place);
        probe_struct(probing, argument, "value", place);
        alloc_append(&probing->text, "}\n");
        free(entry);
        free(place);
    }
}

/* That the types of the source that buffers have are as large as element_bytes says. */
static void probe_buffers(struct probing *probing)
{
    for (size_t i = 0; i < probing->template->buffer_count; i++) {
        const struct buffer *buffer = &probing->template->buffers[i];
        if (buffer->own_type == NULL)
            continue;
        alloc_append(&probing->text, "#line 1 \"" PROBE "%d:" OF_BUFFER "%s'\"\n", buffer->line,
                     buffer->name);
        alloc_append(
            &probing->text,
            "static_assert(sizeof(%s) == %zu, "
            "\"buffer '%s': type '%s' does not have %zu bytes, as element_bytes says\");\n",
            buffer->own_type, buffer->components, buffer->name, buffer->own_type,
            buffer->components);
    }
}

/* Of [constants]. */
static void probe_constants(struct probing *probing)
{
    const struct launch *constants = &probing->template->constants;
    probing->line = constants->line;
    for (size_t i = 0; i < constants->argument_count; i++) {
        const struct argument *argument = &constants->arguments[i];
        char *place = alloc_format(OF_CONSTANT "%s'", argument->symbol);
        alloc_append(&probing->text,
                     "#line 1 \"" PROBE "%d:%s\"\n__device__ inline void autotune_probe_%zu() {\n",
                     probing->line, place, probing->names++);
        probe_member(probing, argument, argument->symbol, place);
        alloc_append(&probing->text, "}\n");
        free(place);
    }
}

static bool has_own_types(const struct template *template)
{
    if (template->constants.argument_count > 0)
        return true;
    for (size_t i = 0; i < template->buffer_count; i++)
        if (template->buffers[i].own_type != NULL)
            return true;
    return false;
}

static bool has_struct(const struct launch *launch)
{
    for (size_t i = 0; i < launch->argument_count; i++)
        if (launch->arguments[i].kind == ARGUMENT_STRUCT)
            return true;
    return false;
}

/* The unit that declares the kernel; the first if none does. */
static size_t unit_of(const struct template *template, const struct launch *launch)
{
    const struct source *source = &template->source;
    for (size_t i = 0; i < source->unit_count; i++)
        if (source_signature_declares(source->files[i].text, launch->entry))
            return i;
    return 0;
}

/* The options of the variant without its entries and other units: nothing is made of them. */
static int make_options(const struct template *template, const struct bindings *parameters,
                        const struct bindings *problem, struct options *options)
{
    static const char *const left_out[] = {COMPILER_OPTION_ENTRY, COMPILER_OPTION_UNLAUNCHED,
                                           COMPILER_OPTION_UNIT};
    int status = variant_options(template, parameters, problem, options, NULL);
    size_t kept = 0;
    for (size_t i = 0; i < options->count; i++) {
        bool keep = true;
        for (size_t j = 0; j < sizeof left_out / sizeof *left_out; j++)
            keep = keep && compiler_option_value(options->items[i], left_out[j]) == NULL;
        if (keep)
            options->items[kept++] = options->items[i];
        else
            free(options->items[i]);
    }
    options->count = kept;
    if (status != 0)
        options_release(options);
    return status;
}

bool struct_probe_make(struct source *probe, struct options *options,
                       const struct template *template, const struct scope *scope,
                       const struct bindings *problem)
{
    const struct source *source = &template->source;
    struct probing probing = {.template = template, .scope = scope};
    const struct launch *launch;
    size_t first = 0; /* of those that have structs */
    while ((launch = template_any_launch(template, first)) != NULL && !has_struct(launch))
        first++;
    if ((launch == NULL && !has_own_types(template)) ||
        make_options(template, scope->bindings, problem, options) != 0)
        return false;
    size_t unit = launch != NULL ? unit_of(template, launch) : 0;
    probing.text = alloc_format("%s\n#line 1 \"" PROBE_END "\"\n%s", source->files[unit].text,
                                struct_probe_prelude);
    for (size_t i = first; (launch = template_any_launch(template, i)) != NULL; i++)
        if (has_struct(launch) && unit == unit_of(template, launch))
            probe_launch(&probing, launch);
    probe_buffers(&probing);
    probe_constants(&probing);
    *probe = *source;
    probe->unit_count = 1;
    probe->files = alloc_zeroed(source->file_count, sizeof *probe->files);
    memcpy(probe->files, source->files, source->file_count * sizeof *probe->files);
    probe->files[unit] = source->files[0];
    probe->files[0] = source->files[unit];
    probe->files[0].text = probing.text;
    probe->files[0].bytes = strlen(probing.text);
    hash_of(probing.text, probe->files[0].bytes, probe->files[0].hash);
    char *hashes = alloc_format("%s%s", source->text_hash, probe->files[0].hash);
    hash_of(hashes, strlen(hashes), probe->text_hash);
    free(hashes);
    return true;
}

void struct_probe_release(struct source *probe)
{
    if (probe->files != NULL)
        free(probe->files[0].text);
    free(probe->files);
    *probe = (struct source){0};
}

/* --- the compiler's log --- */

/* The log while it is read. */
struct probe_log {
    const struct template *template;
    char **places; /* that were not taken apart: messages on their members mean nothing */
    size_t place_count;
    char *unchecked;
};

/* Whether the text is about such a place, or a member of one. */
static bool is_unchecked(const struct probe_log *log, const char *text)
{
    for (size_t i = 0; i < log->place_count; i++)
        if (strstr(text, log->places[i]) != NULL)
            return true;
    return false;
}

/* One message, which is about `place`. Returns 0 if it says only that something could not be looked at. */
static int judge(struct probe_log *log, int line, const char *place, const char *message,
                 struct error *error)
{
    static const char failed[] = "static assertion failed with \"";
    const char *path = log->template->path;
    const char *text = strstr(message, failed);
    if (text != NULL) {
        text += strlen(failed);
        const char *end = strrchr(text, '"');
        size_t length = end != NULL ? (size_t)(end - text) : strlen(text);
        return is_unchecked(log, text + 1) /* what it says of the place itself counts */
                   ? 0
                   : error_set_at(error, ERROR_CONFIG, path, line, "%.*s", (int)length, text);
    }
    bool more = strstr(message, "more elements than") != NULL;
    if (more || strstr(message, "too many identifiers") != NULL)
        return error_set_at(error, ERROR_CONFIG, path, line,
                            "%s has %s members than the argument gives", place,
                            more ? "more" : "fewer");
    bool is_missing = strncmp(place, OF_BUFFER, strlen(OF_BUFFER)) == 0 ||
                      (strncmp(place, OF_CONSTANT, strlen(OF_CONSTANT)) == 0 &&
                       strstr(message, "is undefined") != NULL);
    if (is_missing && log->template->source.unit_count == 1)
        return error_set_at(error, ERROR_CONFIG, path, line, "%s: %s", place, message);
    if (is_unchecked(log, place))
        return 0;
    *ARRAY_APPEND(log->places, log->place_count) = alloc_string(place);
    alloc_append(&log->unchecked, "%s:%d: not checked: %s: %s\n", path, line, place, message);
    return 0;
}

/* A line "autotune-probe:31:PLACE(7): error: MESSAGE"; others say nothing. */
static int read_line(struct probe_log *log, char *text, struct error *error)
{
    static const char behind[] = "): error: ";
    char *message = strstr(text, behind);
    char *open = message;
    char *place;
    if (message == NULL || strncmp(text, PROBE, strlen(PROBE)) != 0)
        return 0;
    while (open > text && *open != '(')
        open--;
    *open = '\0';
    long line = strtol(text + strlen(PROBE), &place, 10);
    return *place == ':' ? judge(log, (int)line, place + 1, message + strlen(behind), error) : 0;
}

int struct_probe_read(const struct template *template, const char *log, char **unchecked,
                      struct error *error)
{
    struct probe_log reading = {.template = template};
    int status = 0;
    bool complete = strstr(log, PROBE_END) != NULL; /* otherwise others say what else is wrong */
    for (const char *line = log; complete && status == 0 && *line != '\0'; line += *line == '\n') {
        size_t length = strcspn(line, "\n");
        char *text = alloc_string_n(line, length);
        status = read_line(&reading, text, error);
        free(text);
        line += length;
    }
    texts_free(reading.places, reading.place_count);
    *unchecked = reading.unchecked;
    return status;
}
