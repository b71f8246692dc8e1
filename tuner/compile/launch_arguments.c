#include "compile/launch_arguments.h"

#include "base/alloc.h"
#include "compile/cubin_elf.h"
#include "template/source_signature.h"

#include <stdlib.h>

/* A launch, and what its kernel takes. */
struct comparison {
    const struct template *template;
    const struct step *step;
    struct cubin_parameters parameters;
};

static int fail(const struct comparison *comparison, const char *has, const char *given,
                struct error *error)
{
    return error_set_at(
        error, ERROR_CONFIG, comparison->template->path, comparison->step->launch->lines.arguments,
        "kernel '%s' has %s; 'arguments' gives %s", comparison->step->entry, has, given);
}

/* "float *in, uint64 n" as the template has it, or sizes; a new string. */
static char *given_text(const struct step *step)
{
    char *text = alloc_string("");
    for (size_t i = 0; i < step->argument_count; i++) {
        char *argument = argument_text(&step->launch->arguments[i]);
        char *longer = alloc_format("%s%s%s", text, i > 0 ? ", " : "", argument);
        free(argument);
        free(text);
        text = longer;
    }
    return text;
}

static char *sizes_text(const struct cubin_parameters *parameters)
{
    char *text = alloc_string("");
    for (size_t i = 0; i < parameters->count && i < CUBIN_PARAMETERS; i++) {
        char *longer = alloc_format("%s%s%u", text, i > 0 ? ", " : "of ", parameters->bytes[i]);
        free(text);
        text = longer;
    }
    char *sentence = alloc_format("%s bytes", text);
    free(text);
    return sentence;
}

static bool source_tells(const struct comparison *comparison)
{
    return comparison->step->launch->signature.count == comparison->parameters.count;
}

static int refuse_number(const struct comparison *comparison, struct error *error)
{
    size_t count = comparison->parameters.count;
    size_t given_count = comparison->step->argument_count;
    char *parameters = source_tells(comparison)
                           ? source_signature_text(&comparison->step->launch->signature)
                           : sizes_text(&comparison->parameters);
    char *arguments = given_text(comparison->step);
    char *has = alloc_format("%zu parameter%s%s%s", count, count == 1 ? "" : "s",
                             count == 0 ? "" : ": ", count == 0 ? "" : parameters);
    char *given = alloc_format("%zu%s%s", given_count, given_count == 0 ? "" : ": ", arguments);
    int status = fail(comparison, has, given, error);
    free(parameters);
    free(arguments);
    free(has);
    free(given);
    return status;
}

static int refuse_size(const struct comparison *comparison, size_t index, struct error *error)
{
    const struct step_argument *given = &comparison->step->arguments[index];
    char *argument = argument_text(&comparison->step->launch->arguments[index]);
    bool tells = source_tells(comparison);
    char *has =
        alloc_format("parameter %zu%s%s%s of %u bytes", index + 1, tells ? ", '" : "",
                     tells ? comparison->step->launch->signature.parameters[index].text : "",
                     tells ? "'," : "", comparison->parameters.bytes[index]);
    char *gives = alloc_format("'%s', of %zu bytes", argument, given->size);
    free(argument);
    int status = fail(comparison, has, gives, error);
    free(has);
    free(gives);
    return status;
}

static int compare(const struct comparison *comparison, struct error *error)
{
    const struct step *step = comparison->step;
    bool same_number = comparison->parameters.count == step->argument_count;
    size_t wrong = 0;
    while (same_number && wrong < step->argument_count && wrong < CUBIN_PARAMETERS &&
           comparison->parameters.bytes[wrong] == step->arguments[wrong].size)
        wrong++;
    if (same_number && (wrong == step->argument_count || wrong == CUBIN_PARAMETERS))
        return 0;
    return same_number ? refuse_size(comparison, wrong, error) : refuse_number(comparison, error);
}

int launch_arguments_check(const struct launch_plan *launch_plan, const struct template *template,
                           const struct compilation *compilation, struct error *error)
{
    int status = 0;
    for (size_t i = 0; i < launch_plan->step_count && status == 0; i++) {
        struct comparison comparison = {.template = template, .step = &launch_plan->steps[i]};
        const char *symbol = compilation_symbol(compilation, comparison.step->entry);
        if (cubin_elf_parameters(compilation->cubin, compilation->cubin_bytes, symbol,
                                 &comparison.parameters))
            status = compare(&comparison, error);
    }
    return status;
}
