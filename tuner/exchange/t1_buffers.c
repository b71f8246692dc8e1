/* The kernel's arguments in an imported template: buffers, scalars and what is expected of outputs. */
#include "exchange/t1_text.h"

#include "base/alloc.h"
#include "base/literal.h"
#include "template/element.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool text_is(const json_t *json, const char *member, const char *text)
{
    const char *is = t1_text_of(json, member);
    return is != NULL && strcmp(is, text) == 0;
}

/* A vector in memory, also if the kernel reads it as __constant__. */
static bool is_buffer(const struct t1_argument *argument)
{
    return text_is(argument->json, "MemoryType", "Vector") ||
           text_is(argument->json, "MemoryType", "Symbol");
}

static bool is_constant_memory(const struct t1_argument *argument)
{
    return text_is(argument->json, "MemoryType", "Symbol") ||
           text_is(argument->json, "MemType", "Constant");
}

static bool is_output(const struct t1_argument *argument)
{
    const json_t *output = json_object_get(argument->json, "Output");
    if (output != NULL)
        return json_is_true(output) || json_integer_value(output) != 0;
    return text_is(argument->json, "AccessType", "WriteOnly") ||
           text_is(argument->json, "AccessType", "ReadWrite");
}

/* --- types --- */

/* "float4": our type for an element, and how many there are. False if there is none. */
static bool find_type(const struct t1_argument *argument, const char **type, int64_t *elements)
{
    const char *theirs = t1_text_of(argument->json, "Type");
    *elements = 1;
    if (theirs == NULL)
        return false;
    if (strcmp(theirs, "bool") == 0)
        theirs = "uint8";
    for (int i = 0; i < ELEMENT_TYPE_COUNT; i++) {
        const char *name = element_name((enum element_type)i);
        size_t length = strlen(name);
        const char *count = theirs + length;
        if (strncmp(theirs, name, length) != 0)
            continue;
        *type = name;
        if (*count == '\0')
            return true;
        if (element_is_floating((enum element_type)i) &&
            strspn(count, "0123456789") == strlen(count)) {
            *elements = strtoll(count, NULL, 10);
            return *elements > 0 && *elements <= 16;
        }
    }
    return false;
}

static bool is_floating(const char *type)
{
    int element = element_from_name(type, strlen(type));
    return element >= 0 && element_is_floating((enum element_type)element);
}

/* FillValue as that type writes it; NULL if there is none, or it does not fit. A new string. */
static char *number_text(const json_t *json, const char *member, const char *type)
{
    const json_t *value = json_object_get(json, member);
    char text[LITERAL_REAL_BYTES];
    double real = json_number_value(value);
    if (json_is_boolean(value))
        return alloc_string(json_is_true(value) ? "1" : "0");
    if (json_is_integer(value))
        return alloc_format("%" JSON_INTEGER_FORMAT, json_integer_value(value));
    bool whole = fabs(real) < 9e15 && !(real < floor(real)) && !(real > floor(real));
    if (!json_is_real(value) || (!whole && !is_floating(type)))
        return NULL;
    return whole ? alloc_format("%" PRId64, (int64_t)real)
                 : alloc_string(literal_real_text(real, text));
}

/* --- [buffer.NAME] --- */

static void print_length(FILE *stream, struct t1 *t1, const struct t1_argument *argument,
                         int64_t elements, const char *section)
{
    const json_t *size = json_object_get(argument->json, "Size");
    struct error reason = {0};
    char *text = NULL;
    if (json_is_integer(size)) {
        text = alloc_format("%" JSON_INTEGER_FORMAT, json_integer_value(size));
    } else if (json_is_string(size)) {
        struct python_names names;
        t1_names_init(&names, t1, true);
        (void)python_translate_value(json_string_value(size), &names, &text, &reason);
        t1_names_release(&names);
    }
    if (text == NULL) {
        t1_print_gap(stream, t1, section, "length: how many elements%s%.80s",
                     reason.message[0] != '\0' ? "; " : "", reason.message);
        return;
    }
    char *length = elements > 1 ? alloc_format("%" PRId64 " * (%s)", elements, text) : NULL;
    t1_print_entry(stream, "length", length != NULL ? length : text);
    free(length);
    free(text);
}

/* Without their seed: two buffers may share it, and their generator is another one. */
static void print_random(FILE *stream, struct t1 *t1, const struct t1_argument *argument,
                         const char *type, const char *section)
{
    char *high = number_text(argument->json, "FillValue", type);
    if (high == NULL)
        t1_print_gap(stream, t1, section, "fill: the range of its random numbers");
    else
        fprintf(stream, "fill = %s(0, %s)\n", is_floating(type) ? "uniform" : "integers", high);
    free(high);
}

static void print_fill(FILE *stream, struct t1 *t1, const struct t1_argument *argument,
                       const char *type, const char *section)
{
    const char *fill = t1_text_of(argument->json, "FillType");
    const char *data = t1_text_of(argument->json, "DataSource");
    if (fill != NULL && strcmp(fill, "Random") == 0) {
        print_random(stream, t1, argument, type, section);
        return;
    }
    char *value = number_text(argument->json, "FillValue", type);
    if (fill != NULL && strcmp(fill, "Constant") == 0 && value != NULL)
        fprintf(stream, "fill = constant(%s)\n", value);
    else
        t1_print_gap(stream, t1, section, "fill: what it holds%s%s%s%.60s",
                     fill != NULL ? "; it is filled by " : "", fill != NULL ? fill : "",
                     data != NULL ? " of " : "", data != NULL ? data : "");
    free(value);
}

static size_t count_outputs(const struct t1 *t1)
{
    size_t outputs = 0;
    for (size_t i = 0; i < t1->argument_count; i++)
        outputs += is_buffer(&t1->arguments[i]) && is_output(&t1->arguments[i]);
    return outputs;
}

static void print_access(FILE *stream, struct t1 *t1, const struct t1_argument *argument,
                         const char *type, const char *section)
{
    static const struct {
        const char *theirs;
        const char *ours;
    } accesses[] = {{"ReadOnly", "read"}, {"WriteOnly", "write"}, {"ReadWrite", "read_write"}};
    const char *access = t1_text_of(argument->json, "AccessType");
    const char *ours = NULL;
    for (size_t i = 0; i < sizeof accesses / sizeof *accesses && access != NULL; i++)
        if (strcmp(accesses[i].theirs, access) == 0)
            ours = accesses[i].ours;
    bool unchecked =
        ours != NULL && strcmp(ours, "read") != 0 && !is_output(argument) && count_outputs(t1) > 0;
    if (is_constant_memory(argument)) /* no access, so that it cannot be used by mistake */
        t1_print_gap(stream, t1, section,
                     "access: it is in __constant__ memory, which autotune cannot fill; make it an "
                     "argument of the kernel");
    else if (ours == NULL)
        t1_print_gap(stream, t1, section, "access: read, write or read_write");
    else
        fprintf(stream, "access = %s\n%s", ours, unchecked ? "unchecked = yes\n" : "");
    if (ours == NULL || strcmp(ours, "write") != 0)
        print_fill(stream, t1, argument, type, section);
}

static void print_buffer(FILE *stream, struct t1 *t1, const struct t1_argument *argument)
{
    const char *type = "float";
    int64_t elements;
    char *section = alloc_format("buffer.%s", argument->ours);
    fprintf(stream, "\n[%s]\n", section);
    if (find_type(argument, &type, &elements))
        t1_print_entry(stream, "type", type);
    else
        t1_print_gap(stream, t1, section, "type: of its elements; here they are '%s'",
                     t1_text_of(argument->json, "Type") != NULL ? t1_text_of(argument->json, "Type")
                                                                : "");
    print_length(stream, t1, argument, elements, section);
    print_access(stream, t1, argument, type, section);
    free(section);
}

/* --- [expect.NAME] --- */

/* The ReferenceArgument that says what the argument must hold; NULL if there is none. */
static const json_t *reference_of(const struct t1 *t1, const struct t1_argument *argument)
{
    const json_t *list = json_object_get(t1->kernel, "ReferenceArguments");
    const char *name = t1_text_of(argument->json, "Name");
    for (size_t i = 0; i < json_array_size(list) && name != NULL; i++)
        if (text_is(json_array_get(list, i), "TargetName", name))
            return json_array_get(list, i);
    return NULL;
}

static void print_compare(FILE *stream, struct t1 *t1, const json_t *reference, const char *section)
{
    char *threshold = number_text(reference, "ValidationThreshold", "double");
    const char *how = text_is(reference, "ValidationMethod", "SideBySideComparison") ? "absolute"
                      : text_is(reference, "ValidationMethod", "SideBySideRelativeComparison")
                          ? "relative"
                          : NULL;
    if (how != NULL && threshold != NULL)
        fprintf(stream, "compare = %s(%s)\n", how, threshold);
    else
        t1_print_gap(stream, t1, section, "compare: exact, absolute(e), relative(e) or unordered");
    free(threshold);
}

static void print_reference_gap(FILE *stream, struct t1 *t1, const json_t *reference,
                                const char *section)
{
    const char *fill = t1_text_of(reference, "FillType");
    const char *data = t1_text_of(reference, "DataSource");
    t1_print_gap(stream, t1, section,
                 "reference: a slow, obviously right kernel of the source, constant(x) or "
                 "file(x.npy)%s%s%s%.40s",
                 fill != NULL ? "; here it is " : "", fill != NULL ? fill : "",
                 data != NULL ? " of " : "", data != NULL ? data : "");
}

static void print_expectation(FILE *stream, struct t1 *t1, const struct t1_argument *argument)
{
    const json_t *reference = reference_of(t1, argument);
    char *section = alloc_format("expect.%s", argument->ours);
    char *value = number_text(reference, "FillValue", "double");
    fprintf(stream, "\n[%s]\n", section);
    if (text_is(reference, "FillType", "Constant") && value != NULL)
        fprintf(stream, "reference = constant(%s)\n", value);
    else
        print_reference_gap(stream, t1, reference, section);
    print_compare(stream, t1, reference, section);
    free(value);
    free(section);
}

void t1_buffers_print(FILE *stream, struct t1 *t1)
{
    for (size_t i = 0; i < t1->argument_count; i++)
        if (is_buffer(&t1->arguments[i]))
            print_buffer(stream, t1, &t1->arguments[i]);
    for (size_t i = 0; i < t1->argument_count; i++)
        if (is_buffer(&t1->arguments[i]) && is_output(&t1->arguments[i]))
            print_expectation(stream, t1, &t1->arguments[i]);
    if (count_outputs(t1) == 0) {
        fputs("\n[expect.output]\n", stream);
        t1_print_gap(stream, t1, "expect.output",
                     "the file names no output; name the buffer here instead of 'output'");
    }
}

/* --- arguments --- */

/* "int32 4096", or NULL. A new string. */
static char *scalar_text(const struct t1_argument *argument)
{
    const char *type;
    int64_t elements;
    if (!find_type(argument, &type, &elements) || elements > 1)
        return NULL;
    char *value = number_text(argument->json, "FillValue", type);
    char *text = value != NULL ? alloc_format("%s %s", type, value) : NULL;
    free(value);
    return text;
}

char *t1_arguments_text(FILE *stream, struct t1 *t1, const char *section)
{
    char *text = alloc_string("");
    for (size_t i = 0; i < t1->argument_count; i++) {
        const struct t1_argument *argument = &t1->arguments[i];
        char *item = NULL;
        if (is_constant_memory(argument)) /* its buffer has the gap */
            continue;
        if (is_buffer(argument))
            item = alloc_string(argument->ours);
        else if (text_is(argument->json, "MemoryType", "Scalar"))
            item = scalar_text(argument);
        if (item == NULL) {
            t1_print_gap(stream, t1, section, "arguments: argument %zu, '%s'", i + 1,
                         argument->ours);
            item = alloc_string("TODO"); /* which is not a name, so that it cannot be overlooked */
        }
        char *longer = alloc_format("%s%s%s", text, text[0] != '\0' ? ", " : "", item);
        free(item);
        free(text);
        text = longer;
    }
    return text;
}
