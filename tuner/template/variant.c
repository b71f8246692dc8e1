#include "template/variant.h"

#include "base/alloc.h"
#include "template/compiler_option.h"
#include "template/value_list.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void upper_case(char *text)
{
    for (; *text != '\0'; text++)
        *text = (char)toupper((unsigned char)*text);
}

char *variant_macro(const char *name)
{
    char *macro = alloc_string(name);
    upper_case(macro);
    return macro;
}

static void define(struct options *options, const char *macro, const char *prefix,
                   struct value value, const char *text)
{
    const char *point = value.kind == VALUE_REAL && strpbrk(text, ".e") == NULL ? ".0" : "";
    *ARRAY_APPEND(options->items, options->count) =
        alloc_format("-D%s=%s%s%s", macro, prefix, text, point);
}

static void add_definition(struct options *options, const char *name, struct value value)
{
    char text[VALUE_TEXT_BYTES];
    char *macro = variant_macro(name);
    char *prefix = alloc_format("%s_", macro);
    bool word = value.kind == VALUE_WORD;
    value_text(value, text);
    if (word)
        upper_case(text);
    define(options, macro, word ? prefix : "", value, text);
    free(macro);
    free(prefix);
}

static void add_definitions(struct options *options, const struct parameter *parameters,
                            size_t count, const struct bindings *values)
{
    for (size_t i = 0; i < count; i++) {
        const struct value *value = bindings_find(values, parameters[i].name);
        if (parameters[i].compiled && !parameters[i].renamed && value != NULL)
            add_definition(options, parameters[i].name, *value);
    }
}

/* What C++ calls an element type, unless the source knows that word. */
static const char *cpp_word(const struct template *template, const char *word)
{
    int type = element_from_name(word, strlen(word));
    return type >= 0 && source_find_name(&template->source, word) == NULL
               ? element_cpp_name((enum element_type)type)
               : word;
}

/* Macros whose names are the source's own; words as they are, so that they may be types. */
static void add_own_definitions(struct options *options, const struct template *template,
                                const struct bindings *parameters, const struct bindings *problem)
{
    for (size_t i = 0; i < template->definition_count; i++) {
        const struct definition *definition = &template->definitions[i];
        char text[VALUE_TEXT_BYTES];
        const struct value *value = bindings_find(parameters, definition->name);
        if (value == NULL)
            value = bindings_find(problem, definition->name);
        if (value != NULL)
            define(options, definition->macro, "", *value,
                   cpp_word(template, value_text(*value, text)));
    }
}

static void add_option(struct options *options, const char *text, const char *value)
{
    *ARRAY_APPEND(options->items, options->count) = alloc_format("%s%s", text, value);
}

/* Whether the user has a header of that name, which the compiler would not see beside ours. */
static bool has_own(const struct source *source, const char *name)
{
    for (size_t i = 1; i < source->followed_count; i++) {
        const char *slash = strrchr(source->files[i].path, '/');
        if (slash != NULL && strcmp(slash + 1, name) == 0)
            return true;
    }
    return false;
}

/* Takes `option`, unless it is NULL; leaves it out if it was added before. */
static void add_once(struct options *options, char *option)
{
    for (size_t i = 0; i < options->count && option != NULL; i++)
        if (strcmp(options->items[i], option) == 0) {
            free(option);
            return;
        }
    if (option != NULL)
        *ARRAY_APPEND(options->items, options->count) = option;
}

/* If it is a standard header, and the user has no such file. */
static void add_header(struct options *options, const struct source *source, const char *name)
{
    add_once(options, has_own(source, name) ? NULL : standard_header_option(name));
}

void options_add_headers(struct options *options, const struct source *source)
{
    static const char *const drivers[] = {"cuda.h", "cudaTypedefs.h", NULL};
    for (size_t i = 0; i < source->toolkit_count; i++) {
        const char *name = source->toolkit_headers[i];
        add_header(options, source, name);
        if (!names_have(drivers, name))
            continue;
        add_header(options, source, "stdlib.h"); /* which they include, as … */
        add_header(options, source, "stdint.h");
        add_once(options, alloc_string("-default-device")); /* they declare functions of the host */
    }
}

/* The template's options, with the values of this variant. */
static void add_template_options(struct options *options, const struct template *template,
                                 struct evaluation *evaluation)
{
    char text[VALUE_TEXT_BYTES];
    for (size_t i = 0; i < template->option_count; i++) {
        const struct template_option *option = &template->options[i];
        struct value value = evaluate_value(evaluation, option->value, value_word(""));
        add_option(options, option->text, value_text(value, text));
    }
    int64_t registers = evaluate_integer(evaluation, template->max_registers, 0);
    if (registers < 0 || registers > INT32_MAX)
        evaluation_refuse(evaluation, template->max_registers,
                          "max_registers must be a number of registers, or 0 for no limit");
    if (registers != 0)
        add_option(options, "--maxrregcount=", value_text(value_integer(registers), text));
    struct value features = evaluate_value(evaluation, template->features, value_word("portable"));
    if (features.kind != VALUE_WORD || !names_have(compiler_feature_names(), features.as.word))
        evaluation_refuse(evaluation, template->features,
                          "features must be portable or architecture");
    else if (strcmp(features.as.word, "architecture") == 0)
        add_option(options, COMPILER_OPTION_ARCHITECTURE_FEATURES, "");
}

/* --- kernels that need not be compiled, which takes most of the time in a source with a reference and several
 * kernels --- */

static bool has_symbols(const struct template *template)
{
    if (template->constants.argument_count > 0)
        return true;
    for (size_t i = 0; i < template->buffer_count; i++)
        if (template->buffers[i].symbol != NULL)
            return true;
    return false;
}

/* Copies the values that the compiler gets. */
static void add_defined(struct bindings *defined, const struct template *template,
                        const struct parameter *parameters, size_t count,
                        const struct bindings *values)
{
    for (size_t i = 0; i < count; i++) {
        const struct value *value = bindings_find(values, parameters[i].name);
        bool compiled = parameters[i].compiled;
        for (size_t j = 0; j < template->definition_count; j++)
            compiled = compiled || strcmp(template->definitions[j].name, parameters[i].name) == 0;
        if (value != NULL && compiled)
            bindings_set(defined, parameters[i].name, *value);
    }
}

static bool is_helper(const struct template *template, const char *entry)
{
    const struct launch *launch;
    for (size_t i = template->launch_count; (launch = template_any_launch(template, i)) != NULL;
         i++)
        if (strcmp(launch->entry, entry) == 0)
            return true;
    return false;
}

/* Whether a variant launches the entry, or may. A `when` that needs more than what the compiler gets may
 * be true: variants that differ only in that share a cubin. */
static bool may_launch(const struct template *template, const char *entry,
                       const struct bindings *defined)
{
    const struct scope scope = {defined, NULL};
    for (size_t i = 0; i < template->launch_count; i++) {
        const struct launch *launch = &template->launches[i];
        bool active = true;
        if (strcmp(launch->entry, entry) == 0 &&
            (launch->when == NULL || expression_boolean(launch->when, &scope, &active, NULL) != 0 ||
             active))
            return true;
    }
    return false;
}

/* A condition such as #ifdef would change with the macro that hides a name (compile/nvrtc.c), so one that
 * is in a directive is left out. */
static void add_unlaunched(struct names *names, const struct template *template, const char *entry)
{
    const struct source_name *name = source_find_name(&template->source, entry);
    if (!names_have(names->items, entry) && !(name != NULL && name->in_directive))
        names_add(names, entry);
}

/*
 * Entries of helpers, and of launches whose `when` is false, unless something else of the variant
 * launches them; with `helpers`, entries of launches that no helper launches, unless they are C++ names:
 * the first compilation of a run shows whether these exist. The list is empty if variables of the source
 * are buffers, since the compiler removes those that no kernel uses. Free its items.
 */
static struct names unlaunched_by(const struct template *template, bool helpers,
                                  const struct bindings *parameters, const struct bindings *problem)
{
    struct names names = {0};
    struct bindings defined = {0};
    const struct launch *launch;
    if (has_symbols(template))
        return names;
    add_defined(&defined, template, template->parameters, template->parameter_count, parameters);
    add_defined(&defined, template, template->problem, template->problem_count, problem);
    for (size_t i = template->launch_count;
         !helpers && (launch = template_any_launch(template, i)) != NULL; i++)
        if (!may_launch(template, launch->entry, &defined))
            add_unlaunched(&names, template, launch->entry);
    for (size_t i = 0; i < template->launch_count; i++) {
        const char *entry = template->launches[i].entry;
        bool launched = helpers ? is_helper(template, entry) || strpbrk(entry, "<:") != NULL
                                : may_launch(template, entry, &defined);
        if (!launched)
            add_unlaunched(&names, template, entry);
    }
    bindings_release(&defined);
    return names;
}

/* --- together --- */

/* The C++ names of what is launched, and the names of all other kernels. */
static void add_entries(struct options *options, const struct template *template,
                        const struct names *unlaunched)
{
    for (size_t i = 0; i < template->name_expression_count; i++)
        if (!names_have(unlaunched->items, template->name_expressions[i]))
            add_option(options, COMPILER_OPTION_ENTRY, template->name_expressions[i]);
    for (size_t i = 0; i + 1 < unlaunched->count; i++)
        if (strpbrk(unlaunched->items[i], "<:") == NULL)
            add_option(options, COMPILER_OPTION_UNLAUNCHED, unlaunched->items[i]);
}

static int make_options(const struct template *template, const struct bindings *parameters,
                        const struct bindings *problem, bool helpers, struct options *options,
                        struct error *error)
{
    struct names unlaunched = unlaunched_by(template, helpers, parameters, problem);
    const struct scope outer = {problem, NULL};
    const struct scope scope = {parameters, &outer};
    struct evaluation evaluation = {&scope, error, 0};
    *options = (struct options){0};
    for (size_t i = 0; i < template->source.include_count; i++)
        add_option(options, "-I", template->source.include_folders[i]);
    add_template_options(options, template, &evaluation);
    options_add_headers(options, &template->source);
    for (size_t i = 1; i < template->source.unit_count; i++)
        add_option(options, COMPILER_OPTION_UNIT, template->source.files[i].path);
    add_entries(options, template, &unlaunched);
    free(unlaunched.items);
    size_t before = options->count;
    add_definitions(options, template->parameters, template->parameter_count, parameters);
    add_definitions(options, template->problem, template->problem_count, problem);
    add_own_definitions(options, template, parameters, problem);
    options->definition_count = options->count - before;
    return evaluation.status;
}

int variant_options(const struct template *template, const struct bindings *parameters,
                    const struct bindings *problem, struct options *options, struct error *error)
{
    return make_options(template, parameters, problem, false, options, error);
}

int helper_options(const struct template *template, const struct bindings *defaults,
                   const struct bindings *problem, struct options *options, struct error *error)
{
    return make_options(template, defaults, problem, true, options, error);
}

void variant_headers(const struct template *template, const struct bindings *parameters,
                     const struct bindings *problem, struct options *options)
{
    const struct scope outer = {problem, NULL};
    const struct scope scope = {parameters, &outer};
    if (template->source.followed_count < template->source.file_count)
        return; /* the user's headers, which the toolkit's may include, could depend on parameters */
    for (size_t i = 0; i < template->precompiled_count; i++) {
        const struct precompiled_header *header = &template->precompiled[i];
        bool wanted = false;
        if (expression_boolean(header->when, &scope, &wanted, NULL) == 0 && wanted)
            *ARRAY_APPEND(options->headers, options->header_count) = alloc_string(header->name);
    }
}

void options_copy(struct options *copy, const struct options *options)
{
    *copy = (struct options){.definition_count = options->definition_count};
    for (size_t i = 0; i < options->count; i++)
        *ARRAY_APPEND(copy->items, copy->count) = alloc_string(options->items[i]);
    for (size_t i = 0; i < options->header_count; i++)
        *ARRAY_APPEND(copy->headers, copy->header_count) = alloc_string(options->headers[i]);
}

void options_release(struct options *options)
{
    texts_free(options->items, options->count);
    texts_free(options->headers, options->header_count);
    *options = (struct options){0};
}

void variant_defaults(const struct template *template, struct bindings *parameters)
{
    bindings_release(parameters);
    for (size_t i = 0; i < template->parameter_count; i++)
        bindings_set(parameters, template->parameters[i].name, template->parameters[i].fallback);
}
