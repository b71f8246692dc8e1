#include "exchange/t1.h"

#include "base/alloc.h"
#include "base/literal.h"
#include "exchange/json_file.h"
#include "exchange/python_evaluate.h"
#include "template/template_names.h"

#include <stdlib.h>
#include <string.h>

enum { NAME_LETTERS = LITERAL_NAME_LETTERS - 5 }; /* with room for a number and _grid */

const char *const t1_extents[3] = {"problem_x", "problem_y", "problem_z"};

/* Puts the file, and `what` of it, before the error's message. */
static int refuse(const struct t1 *t1, const char *what, const char *text, struct error *error)
{
    struct error reason = {0};
    if (error != NULL)
        reason = *error;
    return error_set_at(error, ERROR_CONFIG, t1->path, 0, "%s '%.400s': %s", what, text,
                        reason.message);
}

static int missing(const struct t1 *t1, const char *member, struct error *error)
{
    return error_set_at(error, ERROR_CONFIG, t1->path, 0,
                        "no usable '%s'; is this a T1 file, the input format of Kernel Tuner, KTT "
                        "and BAT?",
                        member);
}

/* --- names --- */

static bool is_used(const struct t1 *t1, const char *name)
{
    for (size_t i = 0; i < t1->parameter_count; i++)
        if (t1->parameters[i].ours != NULL && strcmp(t1->parameters[i].ours, name) == 0)
            return true;
    for (size_t i = 0; i < t1->argument_count; i++)
        if (t1->arguments[i].ours != NULL && strcmp(t1->arguments[i].ours, name) == 0)
            return true;
    for (size_t i = 0; i < t1->problem_count; i++)
        if (strcmp(t1_extents[i], name) == 0)
            return true;
    return template_name_is_reserved(name);
}

/* A name of at least `least` letters that a template may contain, and that nothing else has; a new
 * string. */
static char *new_name(const struct t1 *t1, const char *theirs, size_t least)
{
    char *name = words_name(theirs, least, NAME_LETTERS);
    for (int number = 2; is_used(t1, name); number++) {
        char *base = words_name(theirs, least, NAME_LETTERS - 3);
        free(name);
        name = alloc_format("%s_%d", base, number);
        free(base);
    }
    return name;
}

/* "GEMM-CAFF.json" gives "gemm_caff"; a new string. */
static char *name_of_file(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *base = slash != NULL ? slash + 1 : path;
    char *stem = alloc_string_n(base, strcspn(base, "."));
    char *name = words_name(stem, 2, NAME_LETTERS);
    free(stem);
    return name;
}

/* --- parameters --- */

/* NOLINTNEXTLINE(misc-no-recursion): jansson limits the depth */
static struct python_value value_of_json(const json_t *json)
{
    struct python_value value = {.kind = PYTHON_IS_INTEGER};
    if (json_is_array(json)) {
        value.kind = PYTHON_IS_LIST;
        for (size_t i = 0; i < json_array_size(json); i++)
            *ARRAY_APPEND(value.items, value.count) = value_of_json(json_array_get(json, i));
    } else if (json_is_string(json)) {
        value.kind = PYTHON_IS_STRING;
        value.string = alloc_string(json_string_value(json));
    } else if (json_is_real(json)) {
        value.kind = PYTHON_IS_REAL;
        value.real = json_real_value(json);
    } else {
        value.integer = json_is_true(json) ? 1 : json_integer_value(json);
    }
    return value;
}

/* The list without what is in it already: each value is one of the sweep's. */
static void remove_repetitions(struct python_value *list)
{
    size_t kept = 0;
    for (size_t i = 0; i < list->count; i++) {
        bool repeated = false;
        for (size_t j = 0; j < kept && !repeated; j++)
            repeated = python_value_equal(&list->items[i], &list->items[j]);
        if (repeated)
            python_value_release(&list->items[i]);
        else
            list->items[kept++] = list->items[i];
    }
    list->count = kept;
}

static int check_values(struct t1 *t1, struct t1_parameter *parameter, struct error *error)
{
    const struct python_value *values = &parameter->values;
    size_t strings = 0;
    if (values->kind != PYTHON_IS_LIST || values->count == 0)
        return error_set(error, ERROR_CONFIG, "is not a list of values");
    for (size_t i = 0; i < values->count; i++) {
        if (values->items[i].kind == PYTHON_IS_LIST)
            return error_set(error, ERROR_CONFIG, "has a list among its values");
        strings += values->items[i].kind == PYTHON_IS_STRING;
        if (values->items[i].kind == PYTHON_IS_STRING)
            (void)words_of(&t1->words, values->items[i].string);
    }
    parameter->is_word = strings > 0;
    return strings == 0 || strings == values->count
               ? 0
               : error_set(error, ERROR_CONFIG, "mixes strings and numbers");
}

/* The index of the stated default, if it is among the values; else of the first. */
static size_t find_default(const struct t1_parameter *parameter, const json_t *stated)
{
    struct python_value value = value_of_json(stated);
    const struct python_value *wanted =
        value.kind == PYTHON_IS_LIST && value.count == 1 ? &value.items[0] : &value;
    size_t index = 0;
    for (size_t i = parameter->values.count; stated != NULL && i-- > 0;)
        if (python_value_equal(&parameter->values.items[i], wanted))
            index = i;
    python_value_release(&value);
    return index;
}

static int read_parameter(struct t1 *t1, const json_t *json, struct error *error)
{
    const char *name = json_string_value(json_object_get(json, "Name"));
    const json_t *values = json_object_get(json, "Values");
    const char *text = json_string_value(values);
    if (name == NULL || values == NULL)
        return missing(t1, name == NULL ? "Name" : "Values", error);
    char *ours = new_name(t1, name, 2); /* as a macro */
    struct t1_parameter *parameter = ARRAY_APPEND(t1->parameters, t1->parameter_count);
    parameter->theirs = name;
    parameter->ours = ours;
    int status = 0;
    if (text != NULL)
        status = python_evaluate_text(text, &parameter->values, error);
    else
        parameter->values = value_of_json(values);
    if (status == 0)
        status = check_values(t1, parameter, error);
    if (status != 0)
        return refuse(t1, name, text != NULL ? text : "Values", error);
    remove_repetitions(&parameter->values);
    parameter->fallback = find_default(parameter, json_object_get(json, "Default"));
    return 0;
}

static int read_parameters(struct t1 *t1, const json_t *space, struct error *error)
{
    const json_t *list = json_object_get(space, "TuningParameters");
    int status = json_array_size(list) > 0 ? 0 : missing(t1, "TuningParameters", error);
    for (size_t i = 0; i < json_array_size(list) && status == 0; i++)
        status = read_parameter(t1, json_array_get(list, i), error);
    return status;
}

/* --- constraints --- */

static int read_constraint(struct t1 *t1, const struct python_names *names, const json_t *json,
                           struct error *error)
{
    const json_t *expression = json_object_get(json, "Expression");
    const char *text = json_string_value(json_is_string(json) ? json : expression);
    char *ours;
    if (text == NULL)
        return missing(t1, "Expression", error);
    if (text[strspn(text, " \t\r\n")] == '\0')
        return 0;
    if (python_translate_condition(text, names, &ours, error) != 0)
        return refuse(t1, "condition", text, error);
    *ARRAY_APPEND(t1->constraints, t1->constraint_count) = ours;
    return 0;
}

static int read_constraints(struct t1 *t1, const json_t *space, struct error *error)
{
    static const char *const members[] = {"Conditions", "Constraints"};
    struct python_name *items = NULL;
    struct python_names names = {.words = &t1->words};
    for (size_t i = 0; i < t1->parameter_count; i++)
        *ARRAY_APPEND(items, names.count) = (struct python_name){
            t1->parameters[i].theirs, t1->parameters[i].ours, t1->parameters[i].is_word, NULL};
    names.items = items;
    int status = 0;
    for (size_t i = 0; i < 2; i++) {
        const json_t *list = json_object_get(space, members[i]);
        if (list != NULL && !json_is_array(list) && !json_is_null(list) && status == 0)
            status = missing(t1, members[i], error);
        for (size_t j = 0; j < json_array_size(list) && status == 0; j++)
            status = read_constraint(t1, &names, json_array_get(list, j), error);
    }
    free(items);
    return status;
}

/* --- the kernel --- */

/* ProblemSize: one number, or up to three. */
static void read_problem(struct t1 *t1)
{
    const json_t *size = json_object_get(t1->kernel, "ProblemSize");
    if (json_is_integer(size) && json_integer_value(size) > 0) {
        t1->problem[0] = json_integer_value(size);
        t1->problem_count = 1;
    }
    for (size_t i = 0; i < json_array_size(size) && i < 3; i++) {
        const json_t *extent = json_array_get(size, i);
        if (!json_is_integer(extent) || json_integer_value(extent) <= 0)
            break;
        t1->problem[t1->problem_count++] = json_integer_value(extent);
    }
}

static void read_arguments(struct t1 *t1)
{
    const json_t *list = json_object_get(t1->kernel, "Arguments");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *json = json_array_get(list, i);
        const char *name = json_string_value(json_object_get(json, "Name"));
        char *number = alloc_format("argument_%zu", i + 1);
        char *ours = new_name(t1, name != NULL && name[0] != '\0' ? name : number, 1);
        free(number);
        *ARRAY_APPEND(t1->arguments, t1->argument_count) = (struct t1_argument){ours, json};
    }
}

static int check_name(const struct t1 *t1, struct error *error)
{
    if (literal_is_name(t1->name, NAME_LETTERS) && !template_name_is_reserved(t1->name))
        return 0;
    return error_set(error, ERROR_USAGE,
                     "'%s' cannot be a template's name; choose another with --kernel, of at most "
                     "%d lower-case letters, digits and underscores",
                     t1->name, NAME_LETTERS);
}

int t1_read(struct t1 *t1, const char *path, const char *name, struct error *error)
{
    *t1 = (struct t1){.path = alloc_string(path)};
    t1->name = name != NULL ? alloc_string(name) : name_of_file(path);
    int status = json_file_read(path, &t1->json, error);
    if (status != 0)
        return status;
    const json_t *space = json_object_get(t1->json, "ConfigurationSpace");
    t1->kernel = json_object_get(t1->json, "KernelSpecification");
    if (space == NULL || t1->kernel == NULL)
        return missing(t1, space == NULL ? "ConfigurationSpace" : "KernelSpecification", error);
    read_problem(t1);
    status = check_name(t1, error);
    if (status == 0)
        status = read_parameters(t1, space, error);
    if (status == 0)
        status = read_constraints(t1, space, error);
    if (status == 0)
        read_arguments(t1);
    return status;
}

void t1_release(struct t1 *t1)
{
    for (size_t i = 0; i < t1->parameter_count; i++) {
        free(t1->parameters[i].ours);
        python_value_release(&t1->parameters[i].values);
    }
    for (size_t i = 0; i < t1->argument_count; i++)
        free(t1->arguments[i].ours);
    for (size_t i = 0; i < t1->constraint_count; i++)
        free(t1->constraints[i]);
    for (size_t i = 0; i < t1->gap_count; i++)
        free(t1->gaps[i]);
    for (size_t i = 0; i < sizeof t1->files / sizeof *t1->files; i++)
        free(t1->files[i]);
    free(t1->parameters);
    free(t1->arguments);
    free(t1->constraints);
    free(t1->gaps);
    words_release(&t1->words);
    json_decref(t1->json);
    free(t1->path);
    free(t1->name);
    *t1 = (struct t1){0};
}
