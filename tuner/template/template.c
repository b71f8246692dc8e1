#include "template/template.h"

#include "base/alloc.h"
#include "base/expression_steps.h"
#include "base/suggestion.h"
#include "template/device_attributes.h"
#include "template/value_list.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const struct parameter *find_parameter(const struct parameter *parameters, size_t count,
                                              const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(parameters[i].name, name) == 0)
            return &parameters[i];
    return NULL;
}

const struct parameter *template_parameter(const struct template *template, const char *name)
{
    return find_parameter(template->parameters, template->parameter_count, name);
}

const struct parameter *template_problem_value(const struct template *template, const char *name)
{
    return find_parameter(template->problem, template->problem_count, name);
}

const struct parameter *template_value(const struct template *template, const char *name)
{
    const struct parameter *value = template_parameter(template, name);
    return value != NULL ? value : template_problem_value(template, name);
}

size_t template_buffer(const struct template *template, const char *name)
{
    size_t index = 0;
    while (index < template->buffer_count && strcmp(template->buffers[index].name, name) != 0)
        index++;
    return index;
}

size_t template_result(const struct template *template, const struct launch *launch,
                       const char *name)
{
    const size_t length = strlen(EXPECTED_PREFIX);
    size_t index = 0;
    if (strcmp(name, "reference") == 0)
        return launch->reference;
    if (strncmp(name, EXPECTED_PREFIX, length) != 0)
        return template->expectation_count;
    while (index < template->expectation_count &&
           strcmp(template->buffers[template->expectations[index].buffer].name, name + length) != 0)
        index++;
    return index;
}

bool template_compiles_in(const struct template *template, const char *name)
{
    bool compiled = expression_depends(template->max_registers, name) ||
                    expression_depends(template->features, name);
    for (size_t i = 0; i < template->definition_count; i++)
        compiled = compiled || strcmp(template->definitions[i].name, name) == 0;
    for (size_t i = 0; i < template->option_count; i++)
        compiled = compiled || expression_depends(template->options[i].value, name);
    return compiled;
}

void template_add_names(const struct template *template, struct names *names)
{
    for (size_t i = 0; i < template->parameter_count; i++)
        names_add(names, template->parameters[i].name);
    for (size_t i = 0; i < template->problem_count; i++)
        names_add(names, template->problem[i].name);
}

const char *const *template_stat_names(void)
{
    static const char *const names[] = {"registers",     "spill_bytes", "shared_bytes",
                                        "blocks_per_sm", "occupancy",   NULL};
    return names;
}

static const char *const launch_stats[] = {"registers",     "spill_bytes",   "static_shared_bytes",
                                           "blocks_per_sm", "block_threads", NULL};

const char *const *launch_stat_names(void)
{
    return launch_stats;
}

/* Keys of a sweep's kernel section, and names that some expressions have values for. */
static const char *const reserved_names[] = {"template",
                                             "description",
                                             "constraint",
                                             "cache",
                                             "budget",
                                             "evaluations",
                                             "iteration",
                                             "reference",
                                             "null",
                                             "cover",
                                             "cover_configurations",
                                             NULL};

bool template_name_is_reserved(const char *name)
{
    return expression_reserves(name) || names_have(reserved_names, name) ||
           names_have(template_stat_names(), name) || names_have(launch_stats, name) ||
           names_have(gpu_binding_names(), name);
}

void template_names_reserved(struct names *names)
{
    static const char *const words[] = {"and", "or", "not", "true", "false", "yes", "no", NULL};
    names_add_all(names, words);
    for (size_t i = 0; expression_function_name(i) != NULL; i++)
        names_add(names, expression_function_name(i));
    names_add_all(names, reserved_names);
    names_add_all(names, template_stat_names());
    names_add_all(names, launch_stats);
    names_add_all(names, gpu_binding_names());
}

bool constraint_needs_stats(const struct expression *constraint)
{
    for (size_t i = 0; i < expression_name_count(constraint); i++)
        if (names_have(template_stat_names(), expression_name(constraint, i)))
            return true;
    return false;
}

int template_violated_constraint(const struct template *template, const struct scope *scope,
                                 const char **violated, struct error *error)
{
    int status = 0;
    *violated = NULL;
    for (size_t i = 0; i < template->constraint_count && status == 0 && *violated == NULL; i++) {
        bool holds = true;
        if (!constraint_needs_stats(template->constraints[i]))
            status = expression_boolean(template->constraints[i], scope, &holds, error);
        if (status == 0 && !holds)
            *violated = expression_text(template->constraints[i]);
    }
    return status;
}

int parameter_check(const struct parameter *parameter, struct value value, const char *file,
                    int line, struct error *error)
{
    char text[VALUE_TEXT_BYTES];
    value_text(value, text);
    if (parameter->words == NULL) {
        if (value.kind != VALUE_WORD)
            return 0;
        return error_set_at(error, ERROR_CONFIG, file, line, "'%s' takes numbers, not '%s'",
                            parameter->name, text);
    }
    struct names words = {0};
    for (size_t i = 0; i < parameter->word_count; i++)
        names_add(&words, parameter->words[i]);
    int status = 0;
    if (!names_have(words.items, text)) {
        char *what = alloc_format("value of %s", parameter->name);
        status = suggestion_unknown(file, line, what, text, words.items, error);
        free(what);
    }
    free(words.items);
    return status;
}

int template_in_buffer(const struct template *template, size_t index, int status,
                       struct error *error)
{
    if (status == 0 || error == NULL || error->file[0] != '\0')
        return status;
    const struct buffer *buffer = &template->buffers[index];
    struct error inner = *error;
    return error_set_at(error, inner.code, template->path, buffer->line, "buffer '%s': %.1400s",
                        buffer->name, inner.message);
}

int template_element_type(const char *type, const struct scope *scope, enum element_type *element,
                          struct error *error)
{
    int found = element_from_name(type, strlen(type));
    for (; found < 0 && scope != NULL; scope = scope->outer) {
        const struct value *value = bindings_find(scope->bindings, type);
        if (value != NULL && value->kind == VALUE_WORD)
            found = element_from_name(value->as.word, strlen(value->as.word));
    }
    if (found < 0)
        return error_set(error, ERROR_CONFIG, "'%s' is not an element type", type);
    *element = (enum element_type)found;
    return 0;
}

int buffer_describe(const struct buffer *buffer, const struct scope *scope, enum element_type *type,
                    uint64_t *length, struct error *error)
{
    struct evaluation evaluation = {scope, error,
                                    template_element_type(buffer->type, scope, type, error)};
    int64_t elements = evaluate_integer(&evaluation, buffer->length, 0);
    if (elements < 0)
        evaluation_refuse(&evaluation, buffer->length, "the length is negative");
    if (__builtin_mul_overflow((uint64_t)elements, buffer->components, length))
        evaluation_refuse(&evaluation, buffer->length, "the length is too large");
    return evaluation.status;
}

int template_expected_type(const struct template *template, const struct expectation *expectation,
                           const struct scope *scope, enum element_type *element,
                           struct error *error)
{
    const struct buffer *buffer = &template->buffers[expectation->buffer];
    if (expectation->reference_type != NULL)
        return template_element_type(expectation->reference_type, scope, element, error);
    int status = template_element_type(buffer->type, scope, element, error);
    if (status == 0 && expectation->kind != EXPECT_FILE &&
        expectation->compare != COMPARE_UNORDERED && element_is_floating(*element))
        *element = ELEMENT_DOUBLE;
    return status;
}

bool argument_has_buffer(const struct argument *argument)
{
    return argument->kind == ARGUMENT_BUFFER || argument->kind == ARGUMENT_TEXTURE ||
           argument->kind == ARGUMENT_TENSOR_MAP;
}

/* NOLINTNEXTLINE(misc-no-recursion): structs nest to a limited depth */
bool argument_uses_buffer(const struct argument *argument, const char *name)
{
    bool uses = argument_has_buffer(argument) && expression_depends(argument->expression, name);
    for (size_t i = 0; i < argument->field_count && !uses; i++)
        uses = argument_uses_buffer(&argument->fields[i], name);
    return uses;
}

bool launch_uses_buffer(const struct launch *launch, const char *name)
{
    for (size_t i = 0; i < launch->argument_count; i++)
        if (argument_uses_buffer(&launch->arguments[i], name))
            return true;
    return false;
}

/* Of an argument without fields. */
static char *plain_text(const struct argument *argument)
{
    const char *text = expression_text(argument->expression);
    switch (argument->kind) {
    case ARGUMENT_TEXTURE:
        return alloc_format("texture(%s)", text);
    case ARGUMENT_TENSOR_MAP:
        return alloc_format("tensor_map(%s, …)", text);
    case ARGUMENT_SCALAR:
        return alloc_format("%s %s", argument->is_condition ? "bool" : element_name(argument->type),
                            text);
    default:
        return argument->part == NULL
                   ? alloc_string(text)
                   : alloc_format("%s by %s", text, expression_text(argument->part));
    }
}

/* NOLINTNEXTLINE(misc-no-recursion): structs nest to a limited depth */
char *argument_text(const struct argument *argument)
{
    const char *separator = "";
    if (argument->expression != NULL)
        return plain_text(argument);
    char *text = alloc_string(argument->kind == ARGUMENT_STRUCT  ? "struct("
                              : argument->kind == ARGUMENT_ARRAY ? "array("
                                                                 : "pointers(");
    for (size_t i = 0; i < argument->field_count; i++) {
        const struct argument *field = &argument->fields[i];
        if (field->repeats > 0 && field->number > 1)
            continue;
        char *member = argument_text(field);
        alloc_append(&text, "%s%s", separator, member);
        if (field->repeats > 0)
            alloc_append(&text, " for %zu", field->repeats);
        separator = ", ";
        free(member);
    }
    alloc_append(&text, ")");
    return text;
}

static size_t round_up(size_t offset, size_t alignment)
{
    return (offset + alignment - 1) / alignment * alignment;
}

void argument_lay_out(struct argument *argument)
{
    bool members = argument->kind == ARGUMENT_STRUCT || argument->kind == ARGUMENT_ARRAY;
    argument->bytes = argument->kind == ARGUMENT_SCALAR       ? element_bytes(argument->type)
                      : argument->kind == ARGUMENT_TENSOR_MAP ? TENSOR_MAP_BYTES
                                                              : sizeof(uint64_t);
    argument->alignment = argument->bytes;
    if (!members)
        return;
    argument->bytes = 0;
    argument->alignment = 1;
    for (size_t i = 0; i < argument->field_count; i++) {
        struct argument *field = &argument->fields[i];
        field->offset = round_up(argument->bytes, field->alignment);
        argument->bytes = field->offset + field->bytes;
        if (field->alignment > argument->alignment)
            argument->alignment = field->alignment;
    }
    argument->bytes = round_up(argument->bytes, argument->alignment);
    if (argument->bytes == 0)
        argument->bytes = 1; /* C++'s empty struct */
}

void *template_keep(struct template *template, void *memory)
{
    *ARRAY_APPEND(template->kept, template->kept_count) = memory;
    return memory;
}

void template_release(struct template *template)
{
    for (size_t i = 0; i < template->expression_count; i++)
        expression_free(template->expressions[i]);
    for (size_t i = 0; i < template->kept_count; i++)
        free(template->kept[i]);
    void *const arrays[] = {
        template->expressions, template->kept,        template->options,
        template->definitions, template->precompiled, template->name_expressions,
        template->parameters,  template->problem,     template->figures,
        template->buffers,     template->launches,    template->expectations,
        template->verifiers,   template->constraints, template->constraint_names,
        template->references,  template->loops,       template->name,
        template->path};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        free(arrays[i]);
    source_release(&template->source);
    ini_file_release(&template->ini);
    *template = (struct template){0};
}

bool template_draws_data(const struct template *template)
{
    bool any = false;
    for (size_t i = 0; i < template->buffer_count; i++) {
        enum fill_kind kind = template->buffers[i].fill.kind;
        any = any || (template->buffers[i].access != ACCESS_SCRATCH &&
                      (kind == FILL_UNIFORM || kind == FILL_INTEGERS || kind == FILL_NORMAL));
    }
    for (size_t i = 0; i < template->expectation_count; i++)
        any = any && template->expectations[i].kind != EXPECT_FILE;
    return any;
}

struct helper expectation_helper(const struct template *template,
                                 const struct expectation *expectation)
{
    return expectation->kind == EXPECT_LAUNCHES
               ? (struct helper){template->references, template->reference_count}
               : (struct helper){&expectation->reference, 1};
}

bool template_helper(const struct template *template, size_t index, struct helper *helper)
{
    for (size_t i = 0; i < template->buffer_count; i++)
        if (template->buffers[i].fill.kind == FILL_KERNEL && index-- == 0) {
            *helper = (struct helper){template->buffers[i].fill.kernel, 1};
            return true;
        }
    for (size_t i = 0; i < template->expectation_count; i++)
        if (template->expectations[i].kind == EXPECT_REFERENCE && index-- == 0) {
            *helper = expectation_helper(template, &template->expectations[i]);
            return true;
        }
    if (template->reference_count > 0 && index-- == 0) {
        *helper = (struct helper){template->references, template->reference_count};
        return true;
    }
    if (index >= template->verifier_count)
        return false;
    *helper = (struct helper){&template->verifiers[index].launch, 1};
    return true;
}

const struct launch *template_any_launch(const struct template *template, size_t index)
{
    struct helper helper;
    if (index < template->launch_count)
        return &template->launches[index];
    index -= template->launch_count;
    for (size_t i = 0; template_helper(template, i, &helper); index -= helper.count, i++)
        if (index < helper.count)
            return helper.launches + index;
    return NULL;
}

bool buffer_is_for_references(const struct template *template, const struct buffer *buffer)
{
    const struct helper launches = {template->launches, template->launch_count};
    const struct helper references = {template->references, template->reference_count};
    return buffer->access == ACCESS_SCRATCH && helper_uses_buffer(&references, buffer->name) &&
           !helper_uses_buffer(&launches, buffer->name) &&
           !launch_uses_buffer(&template->constants, buffer->name);
}

bool helper_uses_buffer(const struct helper *helper, const char *name)
{
    for (size_t i = 0; i < helper->count; i++)
        if (launch_uses_buffer(&helper->launches[i], name))
            return true;
    return false;
}

bool template_has_state(const struct template *template)
{
    for (size_t i = 0; i < template->buffer_count; i++)
        if (template->buffers[i].access == ACCESS_SCRATCH && !buffer_is_work(&template->buffers[i]))
            return true;
    return false;
}

bool template_has_helpers(const struct template *template)
{
    struct helper helper;
    return template_helper(template, 0, &helper);
}

/* --- figures: names for expressions --- */

bool template_is_word(char character)
{
    return isalnum((unsigned char)character) || character == '_' || character == '.';
}

/* The next word or number from `text` on, outside quotes; sets its length, which is 0 at the end. */
static const char *next_word(const char *text, size_t *length)
{
    char quote = '\0';
    for (; *text != '\0'; text++) {
        if (quote == '\0' && template_is_word(*text))
            break;
        if (*text == quote)
            quote = '\0';
        else if (quote == '\0' && (*text == '"' || *text == '\''))
            quote = *text;
    }
    for (*length = 0; template_is_word(text[*length]);)
        ++*length;
    return text;
}

char *template_figures_expand(const struct template *template, const char *text)
{
    const char *taken = text; /* up to here */
    char *expanded = NULL;
    size_t length;
    for (const char *word = next_word(text, &length); length > 0;
         word = next_word(word + length, &length)) {
        size_t i = 0;
        while (i < template->figure_count &&
               (strncmp(template->figures[i].name, word, length) != 0 ||
                template->figures[i].name[length] != '\0'))
            i++;
        if (i == template->figure_count)
            continue;
        alloc_append(&expanded, "%.*s(%s)", (int)(word - taken), taken,
                     expression_expanded(template->figures[i].expression));
        taken = word + length;
        if (strlen(expanded) > EXPRESSION_TEXT_LIMIT)
            return expanded;
    }
    if (expanded != NULL)
        alloc_append(&expanded, "%s", taken);
    return expanded;
}
