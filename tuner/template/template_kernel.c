#include "template/loader.h"

#include "base/alloc.h"
#include "base/path.h"
#include "template/compiler_option.h"
#include "template/value_list.h"

#include <autotune/tuned.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* --- [kernel]: the source --- */

void loader_read_kernel(struct loader *loader)
{
    struct template *template = loader->template;
    const struct ini_entry *description = loader_get(loader, "kernel", "description");
    const struct ini_entry *cache = loader_get(loader, "kernel", "cache");
    const struct ini_entry *source = loader_get(loader, "kernel", "source");
    const struct ini_entry *include = loader_get(loader, "kernel", "include");
    const struct ini_entry *depends = loader_get(loader, "kernel", "depends");
    const struct ini_entry *host_code = loader_get(loader, "kernel", "host_code");
    bool ignores = host_code != NULL && strcmp(host_code->value, "ignore") == 0;
    struct names roots = {0};
    template->description = description != NULL ? description->value : "";
    template->cold = cache == NULL || strcmp(cache->value, "warm") != 0;
    if (cache != NULL && template->cold && strcmp(cache->value, "cold") != 0)
        loader_fail(loader, cache->line, "cache '%s' is neither cold nor warm", cache->value);
    if (host_code != NULL && !ignores && strcmp(host_code->value, "compile") != 0)
        loader_fail(loader, host_code->line, "host_code '%s' is neither compile nor ignore",
                    host_code->value);
    for (size_t i = 0; i < template->ini.count && ignores; i++)
        if (template->ini.entries[i].key != NULL && &template->ini.entries[i] != description)
            names_add(&roots, template->ini.entries[i].value);
    /* "a.cu, b.cu", relative to the template's folder; NAME.cu if it is not stated */
    char *usual = template_keep(template, alloc_format("%s.cu", template->name));
    const char *const texts[] = {source != NULL ? source->value : usual,
                                 include != NULL ? include->value : "",
                                 depends != NULL ? depends->value : ""};
    char **lists[3];
    size_t counts[3];
    for (size_t i = 0; i < 3; i++)
        counts[i] = loader_split(loader, texts[i], ',', &lists[i]);
    for (size_t i = 0; i < counts[0]; i++)
        lists[0][i] = template_keep(template, path_beside(template->path, lists[0][i]));
    if (counts[0] == 0)
        loader_fail(loader, source->line, "'source' names no file");
    const struct source_files from = {.paths = (const char *const *)lists[0],
                                      .path_count = counts[0],
                                      .folders = (const char *const *)lists[1],
                                      .folder_count = counts[1],
                                      .depends = (const char *const *)lists[2],
                                      .depend_count = counts[2],
                                      .roots = roots.items,
                                      .root_count = ignores ? roots.count - 1 : 0};
    if (!loader_failed(loader) && template->source.file_count == 0) /* otherwise it was sent */
        (void)source_load_files(&template->source, &from, &loader->error);
    free(roots.items);
}

/* --- parameters and problem values --- */

/* "two_pass | atomic | last_block", or one number. */
static void read_parameter(struct loader *loader, struct parameter *parameter,
                           const struct ini_entry *entry)
{
    char **words;
    size_t count = loader_split(loader, entry->value, '|', &words);
    struct error reason = {0};
    if (count == 0)
        loader_fail(loader, entry->line, "'%s' has no default", entry->key);
    for (size_t i = 0; i < count; i++) {
        struct value value = {0};
        if (value_parse(words[i], &value, &reason) != 0)
            loader_fail(loader, entry->line, "%s", reason.message);
        else if (value.kind != VALUE_WORD && count > 1)
            loader_fail(loader, entry->line,
                        "'%s' is not a word: '|' separates the words a parameter may have; "
                        "give numbers one default, the sweep lists the others",
                        words[i]);
        if (i == 0)
            parameter->fallback = value;
    }
    if (parameter->fallback.kind == VALUE_WORD) {
        parameter->words = words;
        parameter->word_count = count;
    }
}

/* `compiled`: numbers reach the kernel as definitions, as words always do. */
static void read_section(struct loader *loader, const char *section, bool compiled, size_t most,
                         const char *limit, struct parameter **parameters, size_t *count)
{
    const struct ini_file *ini = &loader->template->ini;
    for (size_t i = 0; i < ini->count && !loader_failed(loader); i++) {
        const struct ini_entry *entry = &ini->entries[i];
        if (entry->key == NULL || strcmp(entry->section, section) != 0)
            continue;
        if (*count == most)
            loader_fail(loader, entry->line,
                        "the template has more than %s, the most a tuned INI can hold", limit);
        loader_check_name(loader, entry->key, entry->line);
        struct parameter *parameter = ARRAY_APPEND(*parameters, *count);
        *parameter = (struct parameter){.name = entry->key, .line = entry->line};
        read_parameter(loader, parameter, entry);
        parameter->compiled = compiled || parameter->words != NULL;
        if (parameter->compiled && strlen(parameter->name) < 2)
            loader_fail(loader, entry->line,
                        "name '%s' is one letter, which as a macro would break the compiler's own "
                        "headers; choose a longer one",
                        entry->key);
    }
}

static void check_macro(struct loader *loader, const char *macro, int line)
{
    size_t length = 0;
    while (isalnum((unsigned char)macro[length]) || macro[length] == '_')
        length++;
    if (macro[length] != '\0' || isdigit((unsigned char)macro[0]) || length == 0)
        loader_fail(loader, line, "define '%s' is not the name of a macro", macro);
    if (length < 2)
        loader_fail(loader, line,
                    "macro '%s' is one letter, which would break the compiler's own headers; "
                    "choose a longer one",
                    macro);
    for (size_t i = 0; i < loader->template->definition_count; i++)
        if (strcmp(loader->template->definitions[i].macro, macro) == 0)
            loader_fail(loader, line, "macro '%s' is defined twice", macro);
}

/* "block_size_x" or "SIZE = n": a parameter or problem value, which then has no macro in capitals. */
static void read_definition(struct loader *loader, const char *text, int line)
{
    struct template *template = loader->template;
    char **parts;
    size_t count = loader_split(loader, text, '=', &parts);
    if (count == 1 || count == 2) {
        const char *name = parts[count - 1];
        struct parameter *parameter = (struct parameter *)(uintptr_t)template_value(template, name);
        struct names known = {0};
        template_add_names(template, &known);
        check_macro(loader, parts[0], line);
        if (parameter == NULL)
            loader_fail_unknown(loader, line, "parameter or problem value", name, known.items);
        else {
            parameter->renamed = true;
            *ARRAY_APPEND(template->definitions, template->definition_count) =
                (struct definition){.macro = parts[0], .name = parameter->name, .line = line};
        }
        free(known.items);
    } else {
        loader_fail(loader, line, "define '%s' is not of the form SIZE = n", text);
    }
}

void loader_read_parameters(struct loader *loader)
{
    struct template *template = loader->template;
    for (int compiled = 1; compiled >= 0; compiled--)
        read_section(loader, compiled ? "parameters" : "launch_parameters", compiled != 0,
                     TUNED_PARAMETERS, "64 parameters", &template->parameters,
                     &template->parameter_count);
    read_section(loader, "problem", false, TUNED_PROBLEM_VALUES, "16 problem values",
                 &template->problem, &template->problem_count);
    const struct ini_entry *entry = loader_get(loader, "kernel", "define");
    char **texts = NULL;
    size_t count = entry != NULL ? loader_split(loader, entry->value, ',', &texts) : 0;
    for (size_t i = 0; i < count && !loader_failed(loader); i++)
        read_definition(loader, texts[i], entry->line);
}

/* --- options --- */

/* "--name" or "--name={expression}"; the template's. */
static void read_option(struct loader *loader, char *text, const struct place *at)
{
    struct template *template = loader->template;
    char *open = strchr(text, '{');
    size_t length = strlen(text);
    if (open != NULL && (text[length - 1] != '}' || strchr(open + 1, '{') != NULL)) {
        loader_fail(loader, at->line, "option '%s' must end with one {expression}", text);
        return;
    }
    if (template->source.root_count > 0 &&
        (strstr(text, "-default-device") != NULL || strstr(text, "-device-as-default-ex") != NULL))
        loader_fail(loader, at->line,
                    "option '%s' makes functions without __device__ the GPU's, and 'host_code = "
                    "ignore' leaves them out; remove one of the two",
                    text);
    if (open != NULL) {
        const char *whole = loader_copy(loader, text);
        text[length - 1] = '\0';
        *open = '\0';
        if (!compiler_option_takes_value(text))
            loader_fail(loader, at->line,
                        "in option '%s' only what follows the '=' can be an {expression}", whole);
    }
    if (compiler_option_writes_files(text))
        loader_fail(loader, at->line, "option '%s' makes the compiler write files; remove it",
                    text);
    if (compiler_option_includes_files(text))
        loader_fail(loader, at->line,
                    "option '%s' adds headers or other files; write headers as #include in "
                    "the source, and as 'include' in [kernel]",
                    text);
    *ARRAY_APPEND(template->options, template->option_count) = (struct template_option){
        text, open != NULL ? loader_expression(loader, open + 1, at) : NULL};
}

/* The length of the option that `text` begins with: up to a blank outside of braces. */
static size_t option_length(const char *text)
{
    int depth = 0;
    size_t length = 0;
    for (; text[length] != '\0' && (depth > 0 || strchr(" \t", text[length]) == NULL); length++)
        depth += text[length] == '{' ? 1 : text[length] == '}' ? -1 : 0;
    return length;
}

/* A header of the user's could depend on parameters. */
static void read_precompiled(struct loader *loader, const struct ini_entry *entry,
                             const struct names *known)
{
    struct template *template = loader->template;
    bool included = template->source.include_count == 0; /* it was sent: this was checked before */
    for (size_t i = 0; i < template->source.toolkit_count; i++)
        included = included || strcmp(template->source.toolkit_headers[i], entry->key) == 0;
    if (!included)
        loader_fail(loader, entry->line,
                    "the source includes no toolkit header '%s'; only such headers can be "
                    "precompiled",
                    entry->key);
    struct expression *when =
        loader_expression(loader, entry->value, &(struct place){entry->line, known});
    if (when != NULL)
        *ARRAY_APPEND(template->precompiled, template->precompiled_count) =
            (struct precompiled_header){entry->key, when};
}

void loader_read_options(struct loader *loader)
{
    struct template *template = loader->template;
    struct names known = {0}; /* before the GPU is, and may decide what is compiled */
    const struct ini_entry *entry = loader_get(loader, "kernel", "options");
    template_add_names(template, &known);
    for (const char *at = entry != NULL ? entry->value : ""; *at != '\0';) {
        at += strspn(at, " \t");
        size_t length = option_length(at);
        if (length > 0)
            read_option(loader, template_keep(template, alloc_string_n(at, length)),
                        &(struct place){entry->line, &known});
        at += length;
    }
    template->max_registers = loader_expression_of(loader, "kernel", "max_registers", &known);
    template->features =
        loader_word_of(loader, "kernel", "features", compiler_feature_names(), &known);
    for (size_t i = 0; i < template->ini.count; i++) {
        entry = &template->ini.entries[i];
        if (entry->key != NULL && strcmp(entry->section, "precompiled_headers") == 0)
            read_precompiled(loader, entry, &known);
    }
    free(known.items);
}
