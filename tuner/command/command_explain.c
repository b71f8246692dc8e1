#include "command/command.h"

#include "command/command_query.h"
#include "command/command_values.h"

#include <stdio.h>

static void print_values(const struct tuned_value *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        printf("  %-20s %s\n", values[i].name, values[i].text);
}

static void print_answer(const struct command_query *query)
{
    char text[1024];
    const struct tuned_match *match = &query->match;
    if (query->template_path != NULL)
        printf("template %s: version %s\n", query->template.name, query->template.hash);
    (void)tuned_explain(&query->query, match, text, sizeof text);
    puts(text);
    print_values(match->parameters, match->parameter_count);
    if (match->from != NULL && match->from->median_ns > 0)
        printf("took %.2f us there, in version %s of its template\n", match->from->median_ns * 1e-3,
               match->from->template_hash);
}

static int explain(struct command_query *query, const struct bindings *values, struct error *error)
{
    int status = command_query_load(query, true, error);
    if (status == 0)
        status = command_query_find_gpu(query, error);
    if (status == 0)
        status = command_query_ask(query, values, error);
    if (status == 0)
        print_answer(query);
    return status;
}

int command_explain(int argc, const char **argv, struct error *error)
{
    struct command_query query = {0};
    struct poptOption table[QUERY_OPTIONS + 1];
    struct command_values taken;
    command_query_options(&query, table);
    int status = command_values_take(&taken, argc, argv, table, error);
    if (status == 0)
        status = command_parse(
            taken.argc, taken.argv, table,
            "explain --kernel NAME [--VALUE NUMBER...] [OPTION...]\n\n"
            "Prints which configuration an application would get for a problem on a GPU, and\n"
            "why. Give each value of the problem as an option with its name: --n 4096.\n\n"
            "Example: autotune explain --kernel reduce_sum --n 5000000 --gpu \"NVIDIA H200\"",
            error);
    if (status == 0)
        status = explain(&query, &taken.values, error);
    command_values_release(&taken);
    command_query_release(&query);
    return status < 0 ? status : 0;
}
