/* [kernel], [parameters], [problem] and [launch.NAME] of an imported template. */
#include "exchange/t1_text.h"

#include "base/alloc.h"
#include "template/compiler_option.h"
#include "template/expression.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *const axes[] = {"X", "Y", "Z"};

/* --- [kernel] --- */

/* The architecture is autotune's to choose; the folders of -I are `include`'s. */
static bool is_dropped(const char *option)
{
    static const char *const dropped[] = {"-arch",    "--gpu-architecture", "--arch",
                                          "-gencode", "--generate-code",    "-code"};
    for (size_t i = 0; i < sizeof dropped / sizeof *dropped; i++)
        if (strncmp(option, dropped[i], strlen(dropped[i])) == 0)
            return true;
    return compiler_option_writes_files(option) || compiler_option_includes_files(option);
}

/* A comment of one line. */
static void print_dropped(FILE *stream, const char *option)
{
    size_t length = strcspn(option, "\r\n");
    fprintf(stream, "; left out: %.*s\n", length < 150 ? (int)length : 150, option);
}

static void print_options(FILE *stream, const struct t1 *t1)
{
    const json_t *options = json_object_get(t1->kernel, "CompilerOptions");
    char *text = alloc_string(json_is_string(options) ? json_string_value(options) : "");
    for (size_t i = 0; i < json_array_size(options); i++) {
        const char *option = json_string_value(json_array_get(options, i));
        if (option == NULL)
            continue;
        if (is_dropped(option)) {
            if (strncmp(option, "-I", 2) != 0 || option[2] == '\0')
                print_dropped(stream, option);
            continue;
        }
        char *longer = alloc_format("%s%s%s", text, text[0] != '\0' ? " " : "", option);
        free(text);
        text = longer;
    }
    if (text[0] != '\0')
        t1_print_entry(stream, "options", text);
    free(text);
}

static void print_kernel(FILE *stream, const struct t1 *t1, const char *file, const char *include)
{
    fputs("[kernel]\n", stream);
    t1_print_entry(stream, "source", file);
    if (include != NULL)
        t1_print_entry(stream, "include", include);
    print_options(stream, t1);
    for (size_t i = 0; i < t1->constraint_count; i++)
        t1_print_entry(stream, "constraint", t1->constraints[i]);
}

/* A word lists all its words, the default first. */
static void print_parameter(FILE *stream, const struct t1 *t1, const struct t1_parameter *parameter)
{
    const struct python_value *values = &parameter->values;
    char *text = t1_value_text(t1, &values->items[parameter->fallback]);
    for (size_t i = 0; parameter->is_word && i < values->count; i++) {
        if (i == parameter->fallback)
            continue;
        char *word = t1_value_text(t1, &values->items[i]);
        char *longer = alloc_format("%s | %s", text, word);
        free(word);
        free(text);
        text = longer;
    }
    t1_print_entry(stream, parameter->ours, text);
    free(text);
}

/* --- the grid --- */

/* A translated expression, or a number; NULL, with `*reason`, if it cannot be translated. A new
 * string. */
static char *size_text(const struct python_names *names, const json_t *json, struct error *reason)
{
    char *text = NULL;
    if (json_is_integer(json))
        return alloc_format("%" JSON_INTEGER_FORMAT, json_integer_value(json));
    if (json_string_value(json) == NULL)
        (void)error_set(reason, ERROR_CONFIG, "it is missing");
    else
        (void)python_translate_value(json_string_value(json), names, &text, reason);
    return text;
}

/* ceil_div(problem_x, a * b), as Kernel Tuner has it. NULL: it does not say, or cannot be
 * translated. A new string. */
static char *divided_problem(const struct t1 *t1, const struct python_names *names, size_t axis)
{
    char member[] = {'G', 'r', 'i', 'd', 'D', 'i', 'v', axes[axis][0], '\0'};
    const json_t *divisors = json_object_get(t1->kernel, member);
    struct error reason;
    if (axis >= t1->problem_count)
        return alloc_string("1");
    char *product = json_is_array(divisors) ? alloc_string("") : NULL;
    for (size_t i = 0; i < json_array_size(divisors) && product != NULL; i++) {
        char *divisor = size_text(names, json_array_get(divisors, i), &reason);
        bool plain = divisor != NULL && strpbrk(divisor, " ?") == NULL;
        char *longer = divisor == NULL ? NULL
                                       : alloc_format("%s%s%s%s%s", product, i > 0 ? " * " : "",
                                                      plain ? "" : "(", divisor, plain ? "" : ")");
        free(divisor);
        free(product);
        product = longer;
    }
    char *text = product == NULL      ? NULL
                 : product[0] == '\0' ? alloc_string(t1_extents[axis])
                                      : alloc_format("ceil_div(%s, %s)", t1_extents[axis], product);
    free(product);
    return text;
}

/* GlobalSize: blocks, or threads in OpenCL's way. NULL if it does not say. A new string. */
static char *global_size(const struct t1 *t1, const struct python_names *names, size_t axis,
                         const char *block)
{
    const json_t *sizes = json_object_get(t1->kernel, "GlobalSize");
    const json_t *size = json_object_get(sizes, axes[axis]);
    const char *type = t1_text_of(t1->kernel, "GlobalSizeType");
    struct error reason;
    if (size == NULL && json_object_get(sizes, "X") != NULL)
        return alloc_string("1");
    char *text = size_text(names, size, &reason);
    if (text == NULL || type == NULL || strcmp(type, "OpenCL") != 0)
        return text;
    char *blocks = block != NULL ? alloc_format("ceil_div(%s, %s)", text, block) : NULL;
    free(text);
    return blocks;
}

/* The value of an expression for the parameters' defaults; -1 if it has none. */
static int64_t value_by_default(const struct t1 *t1, const char *text)
{
    struct bindings bindings = {0};
    const struct scope scope = {.bindings = &bindings};
    struct expression *expression = NULL;
    int64_t integer = -1;
    for (size_t i = 0; i < t1->problem_count; i++)
        bindings_set(&bindings, t1_extents[i], value_integer(t1->problem[i]));
    for (size_t i = 0; i < t1->parameter_count; i++) {
        const struct python_value *value =
            &t1->parameters[i].values.items[t1->parameters[i].fallback];
        bindings_set(&bindings, t1->parameters[i].ours,
                     value->kind == PYTHON_IS_INTEGER ? value_integer(value->integer)
                                                      : value_real(value->real));
    }
    if (expression_new(&expression, text, "", 0, NULL) != 0 ||
        expression_integer(expression, &scope, &integer, NULL) != 0)
        integer = -1;
    expression_free(expression);
    bindings_release(&bindings);
    return integer;
}

/* "a, b, c", without the last ones that are 1; a new string. */
static char *extents_text(char *const extents[3])
{
    if (strcmp(extents[2], "1") != 0)
        return alloc_format("%s, %s, %s", extents[0], extents[1], extents[2]);
    return strcmp(extents[1], "1") != 0 ? alloc_format("%s, %s", extents[0], extents[1])
                                        : alloc_string(extents[0]);
}

/* Three extents; takes them. NULL if one is not known. A new string. */
static char *join_extents(char *extents[3])
{
    bool known = extents[0] != NULL && extents[1] != NULL && extents[2] != NULL;
    char *text = known ? extents_text(extents) : NULL;
    for (size_t i = 0; i < 3; i++)
        free(extents[i]);
    return text;
}

/* Whether both grids are the same for the parameters' defaults. */
static bool grids_agree(const struct t1 *t1, char *const a[3], char *const b[3])
{
    for (size_t i = 0; i < 3; i++)
        if (a[i] == NULL || b[i] == NULL ||
            value_by_default(t1, a[i]) != value_by_default(t1, b[i]))
            return false;
    return true;
}

static void print_grid(FILE *stream, struct t1 *t1, const struct python_names *names,
                       char *const blocks[3], const char *section)
{
    char *divided[3];
    char *global[3];
    bool has_divisors = json_object_get(t1->kernel, "GridDivX") != NULL && t1->problem_count > 0;
    for (size_t i = 0; i < 3; i++) {
        divided[i] = has_divisors ? divided_problem(t1, names, i) : NULL;
        global[i] = global_size(t1, names, i, blocks[i]);
    }
    bool agree = grids_agree(t1, divided, global);
    char *first = join_extents(divided);
    char *second = join_extents(global);
    if (first != NULL && second != NULL && !agree) {
        t1_print_gap(stream, t1, section,
                     "grid: ProblemSize and GlobalSize contradict each other; choose one of:");
        fprintf(stream, "; grid = %.170s\n; grid = %.170s\n", first, second);
    } else if (first != NULL || second != NULL) {
        t1_print_entry(stream, "grid", first != NULL ? first : second);
    } else {
        t1_print_gap(stream, t1, section, "grid: how many blocks; GlobalSize cannot be translated");
    }
    free(first);
    free(second);
}

static void print_block(FILE *stream, struct t1 *t1, char *const blocks[3], const char *section)
{
    if (blocks[0] != NULL && blocks[1] != NULL && blocks[2] != NULL) {
        char *text = extents_text(blocks);
        t1_print_entry(stream, "block", text);
        free(text);
    } else {
        t1_print_gap(stream, t1, section,
                     "block: how many threads; LocalSize cannot be translated");
    }
}

static void print_shared(FILE *stream, struct t1 *t1, const struct python_names *names,
                         const char *section)
{
    const json_t *shared = json_object_get(t1->kernel, "SharedMemory");
    struct error reason = {0};
    if (shared == NULL || json_is_null(shared) ||
        (json_is_integer(shared) && json_integer_value(shared) == 0))
        return;
    char *text = size_text(names, shared, &reason);
    if (text != NULL)
        t1_print_entry(stream, "shared_bytes", text);
    else
        t1_print_gap(stream, t1, section, "shared_bytes: %s", reason.message);
    free(text);
}

void t1_launch_print(FILE *stream, struct t1 *t1, const struct t1_source *source)
{
    const json_t *sizes = json_object_get(t1->kernel, "LocalSize");
    const char *entry = t1_text_of(t1->kernel, "KernelName");
    struct python_names names;
    char *blocks[3];
    char *section = alloc_format("launch.%s", t1->name);
    t1_names_init(&names, t1, false);
    for (size_t i = 0; i < 3; i++) {
        const json_t *size = json_object_get(sizes, axes[i]);
        struct error reason;
        blocks[i] = size == NULL && i > 0 && sizes != NULL ? alloc_string("1")
                                                           : size_text(&names, size, &reason);
    }
    fprintf(stream, "\n[%s]\n", section);
    if (source->gap != NULL) /* without an entry, since there is none yet */
        t1_print_gap(stream, t1, section, "entry: %s", source->gap);
    else
        t1_print_entry(stream, "entry", entry);
    print_grid(stream, t1, &names, blocks, section);
    print_block(stream, t1, blocks, section);
    print_shared(stream, t1, &names, section);
    char *arguments = t1_arguments_text(stream, t1, section);
    if (arguments[0] != '\0')
        t1_print_entry(stream, "arguments", arguments);
    free(arguments);
    for (size_t i = 0; i < 3; i++)
        free(blocks[i]);
    t1_names_release(&names);
    free(section);
}

void t1_template_print(FILE *stream, struct t1 *t1, const struct t1_source *source,
                       const char *file, const char *include)
{
    fprintf(stream, "; Imported from %s\n", t1_file_name(t1->path));
    print_kernel(stream, t1, file, include);
    fputs("\n[parameters]\n", stream);
    for (size_t i = 0; i < t1->parameter_count; i++)
        print_parameter(stream, t1, &t1->parameters[i]);
    if (t1->problem_count > 0)
        fputs("\n[problem]\n", stream);
    for (size_t i = 0; i < t1->problem_count; i++)
        fprintf(stream, "%s = %" PRId64 "\n", t1_extents[i], t1->problem[i]);
    t1_buffers_print(stream, t1);
    t1_launch_print(stream, t1, source);
}
