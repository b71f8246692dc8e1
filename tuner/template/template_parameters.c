#include "template/template_parameters.h"

#include "base/alloc.h"
#include "template/template_names.h"
#include "template/value_list.h"

#include <autotune/tuned.h>
#include <stdlib.h>
#include <string.h>

/* "two_pass | atomic | last_block", or one number. */
static int read_parameter(struct loader *loader, struct parameter *parameter,
                          const struct ini_entry *entry)
{
    char **words;
    size_t count = text_split(entry->value, '|', &words);
    struct error reason = {0};
    int status = 0;
    *parameter = (struct parameter){.name = entry->key, .line = entry->line};
    for (size_t i = 0; i < count && status == 0; i++) {
        struct value value;
        if (value_parse(words[i], &value, &reason) != 0)
            status = loader_fail(loader, entry->line, "%s", reason.message);
        else if (value.kind != VALUE_WORD && count > 1)
            status =
                loader_fail(loader, entry->line,
                            "'%s' is not a word: '|' separates the words a parameter may have; "
                            "give numbers one default, the sweep lists the others",
                            words[i]);
        else if (i == 0)
            parameter->fallback = value;
    }
    if (status == 0 && count == 0)
        status = loader_fail(loader, entry->line, "'%s' has no default", entry->key);
    if (status == 0 && parameter->fallback.kind == VALUE_WORD) {
        parameter->words = words;
        parameter->word_count = count;
    } else {
        text_split_release(words, count);
    }
    return status;
}

/* That one more parameter or problem value can be written to a tuned INI. */
static int check_room(const struct loader *loader, bool is_problem, int line)
{
    const struct template *template = loader->template;
    if (is_problem ? template->problem_count < TUNED_PROBLEM_VALUES
                   : template->parameter_count < TUNED_PARAMETERS)
        return 0;
    return loader_fail(loader, line, "the template has more than %s, the most a tuned INI can hold",
                       is_problem ? "16 problem values" : "64 parameters");
}

int loader_read_parameters(struct loader *loader, const char *section, bool compiled)
{
    struct template *template = loader->template;
    bool is_problem = strcmp(section, "problem") == 0;
    for (size_t i = 0; i < template->ini.count; i++) {
        struct ini_entry *entry = &template->ini.entries[i];
        if (entry->key == NULL || strcmp(entry->section, section) != 0)
            continue;
        struct parameter parameter;
        int status = check_room(loader, is_problem, entry->line);
        if (status == 0)
            status = loader_check_name(loader, entry->key, entry->line);
        if (status == 0)
            status = read_parameter(loader, &parameter, entry);
        if (status != 0)
            return status;
        /* a word can only reach a kernel as a definition */
        parameter.compiled = compiled || parameter.words != NULL;
        if (is_problem)
            *ARRAY_APPEND(template->problem, template->problem_count) = parameter;
        else
            *ARRAY_APPEND(template->parameters, template->parameter_count) = parameter;
        if (parameter.compiled && strlen(parameter.name) < 2)
            return loader_fail(
                loader, entry->line,
                "name '%s' is one letter, which as a macro would break the compiler's own "
                "headers; choose a longer one",
                entry->key);
    }
    return 0;
}
