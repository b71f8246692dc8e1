#include "command/cover_conditions.h"

#include "base/alloc.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Whether it names a value with a range, and something that is not a value of the problem. */
static bool is_of_both(const struct cover_session *session, const struct expression *constraint)
{
    const struct sweep_kernel *kernel = session->range.kernel;
    bool ranges = false;
    bool others = false;
    for (size_t i = 0; i < kernel->cover.axis_count; i++)
        ranges = ranges || expression_uses(constraint, kernel->cover.axes[i].name);
    for (size_t i = 0; i < expression_name_count(constraint); i++)
        others = others ||
                 template_problem_value(&kernel->template, expression_name(constraint, i)) == NULL;
    return ranges && others;
}

/* Whether the constraint holds at every size, as far as that can be told without one. */
static bool holds(const struct cover_session *session, const struct expression *constraint,
                  const struct bindings *device, const struct bindings *parameters)
{
    bool result = false;
    const struct scope attributes = {.bindings = device};
    const struct scope values = {.bindings = &session->range.fixed, .outer = &attributes};
    const struct scope scope = {.bindings = parameters, .outer = &values};
    return expression_boolean(constraint, &scope, &result, NULL) == 0 && result;
}

static bool applies(const struct cover_session *session, const struct expression *constraint,
                    const struct bindings *device, const struct bindings *parameters)
{
    return is_of_both(session, constraint) && !holds(session, constraint, device, parameters);
}

bool cover_conditions_apply(const struct cover_session *session, const struct bindings *device,
                            const struct bindings *parameters)
{
    const struct sweep_kernel *kernel = session->range.kernel;
    bool any = false;
    for (size_t i = 0; i < kernel->constraint_count; i++)
        any = any || applies(session, kernel->constraints[i], device, parameters);
    return any;
}

/* --- texts --- */

static size_t name_length(const char *text)
{
    size_t length = 0;
    while (isalnum((unsigned char)text[length]) || text[length] == '_')
        length++;
    return length;
}

/* Writes what is at `text`: a word in quotes, a name or number, or a character. Returns what
 * follows. */
static const char *write_part(FILE *stream, const char *text, const struct bindings *device)
{
    char number[VALUE_TEXT_BYTES];
    const char *quote = text[0] == '"' ? strchr(text + 1, '"') : NULL;
    size_t length = quote != NULL ? (size_t)(quote + 1 - text) : name_length(text);
    char *part = alloc_string_n(text, length > 0 ? length : 1);
    const struct value *value = strcmp(part, "sm_count") != 0 ? bindings_find(device, part) : NULL;
    (void)fputs(value != NULL                     ? value_exact_text(*value, number)
                : isspace((unsigned char)part[0]) ? " "
                                                  : part,
                stream);
    free(part);
    return text + (length > 0 ? length : 1);
}

/* The constraint on one line, with numbers for the GPU's attributes; a new string. */
static char *constraint_text(const struct expression *constraint, const struct bindings *device)
{
    char *text = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&text, &length);
    if (stream == NULL)
        return alloc_string("");
    for (const char *at = expression_text(constraint); *at != '\0';)
        at = write_part(stream, at, device);
    (void)fclose(stream);
    return text;
}

/* Whether a configuration of the cover needs the constraint's figure. */
static bool is_needed(const struct cover_entry *cover, const struct cover_session *session,
                      const struct expression *constraint, const struct bindings *device)
{
    bool needed = false;
    for (size_t i = 0; i < cover->configuration_count; i++)
        needed =
            needed || applies(session, constraint, device, &cover->configurations[i].parameters);
    return needed;
}

/* Adds a constraint as the figure `name`. */
static void add_constraint(struct cover_entry *cover, const char *name,
                           const struct expression *constraint, const struct bindings *device)
{
    char *text = constraint_text(constraint, device);
    char *figure = alloc_format("(%s) ? 1 : 0", text);
    cover_entry_add_figure(cover, name, figure);
    free(figure);
    free(text);
}

void cover_conditions_add(struct cover_entry *cover, const struct cover_session *session,
                          const struct bindings *device, bool all)
{
    const struct sweep_kernel *kernel = session->range.kernel;
    char *names = NULL;
    size_t count = 0;
    for (size_t i = 0; i < kernel->constraint_count; i++) {
        const struct expression *constraint = kernel->constraints[i];
        if (all ? !is_of_both(session, constraint) : !is_needed(cover, session, constraint, device))
            continue;
        char *name = alloc_format("allowed_%zu", i + 1);
        char *longer = names != NULL ? alloc_format("%s, %s", names, name) : alloc_string(name);
        add_constraint(cover, name, constraint, device);
        free(names);
        free(name);
        names = longer;
        count++;
    }
    char *allowed = alloc_format(count > 1 ? "min(%s)" : "%s", names != NULL ? names : "");
    if (count > 0)
        cover_entry_add_figure(cover, "allowed", allowed);
    free(allowed);
    free(names);
}
