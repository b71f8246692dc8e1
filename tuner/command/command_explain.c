#include "command/command.h"

#include "base/alloc.h"
#include "command/command_query.h"
#include "template/template_load.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- covers --- */

static void print_cover(const struct command_query *query)
{
    const struct tuned_match *match = &query->match;
    const struct tuned_cover *cover = match->from->cover;
    const struct tuned_size *size = match->size;
    const double time_ns = size->times_ns[match->from->number - 1];
    printf("nearest measured size:");
    for (size_t i = 0; i < cover->range_count; i++)
        printf(" %s=%.15g", cover->ranges[i].name, size->numbers[i]);
    printf(", where configuration %d ", match->from->number);
    if (time_ns > 0 && time_ns < INFINITY)
        printf("took %.2f us", time_ns * 1e-3);
    else
        fputs(time_ns > 0 ? "failed" : "was not measured", stdout);
    printf("; the fastest, %zu, %.2f us\nrange:", size->fastest + 1,
           size->times_ns[size->fastest] * 1e-3);
    for (size_t i = 0; i < cover->range_count; i++)
        printf(" %s = %.15g .. %.15g%s", cover->ranges[i].name, cover->ranges[i].low,
               cover->ranges[i].high,
               i + 1 < cover->range_count || cover->constraint != NULL ? "," : "");
    printf("%s%s\n", cover->constraint != NULL ? " " : "",
           cover->constraint != NULL ? cover->constraint : "");
    if (cover->held_out_sizes > 0)
        printf(
            "expected loss in the range: mean %.3g %%, worst %.3g %%, from %lld sizes held out\n",
            cover->mean_loss_percent, cover->worst_loss_percent, (long long)cover->held_out_sizes);
    else
        puts("expected loss in the range: not known");
}

/* --- values that are not given --- */

static bool is_given(const struct tuned_query *query, const char *name)
{
    size_t i = 0;
    while (i < query->problem_count && strcmp(query->problem[i].name, name) != 0)
        i++;
    return i < query->problem_count;
}

/* What the look-up took for the values of the problem that are not given. */
static void print_taken(const struct command_query *query)
{
    const struct tuned_configuration *from = query->match.from;
    const struct tuned_query *asked = &query->query;
    const struct template *template = &query->template;
    size_t count = 0;
    for (size_t i = 0; i < template->problem_count; i++) {
        char text[VALUE_TEXT_BYTES];
        const struct parameter *value = &template->problem[i];
        if (!is_given(asked, value->name))
            printf("%s %s=%s", count++ == 0 ? "not given, so the template's defaults:" : "",
                   value->name, value_text(value->fallback, text));
    }
    for (size_t i = 0; i < from->problem_count && template->problem_count == 0; i++)
        if (!is_given(asked, from->problem[i].name))
            printf("%s %s=%s",
                   count++ == 0 ? "not given, so as in the first section that fits:" : "",
                   from->problem[i].name, from->problem[i].text);
    if (count > 0)
        putchar('\n');
}

static void print_answer(const struct command_query *query)
{
    char text[1024];
    const struct tuned_match *match = &query->match;
    if (query->query.template_hash != NULL)
        printf("template %s: version %s\n", query->template.name, query->template.hash);
    (void)tuned_explain(&query->query, match, text, sizeof text);
    puts(text);
    if (match->from != NULL)
        print_taken(query);
    for (size_t i = 0; i < match->parameter_count; i++)
        printf("  %-20s %s\n", match->parameters[i].name, match->parameters[i].text);
    if (match->from != NULL && match->from->cover != NULL)
        print_cover(query);
    if (match->from != NULL && match->from->median_ns > 0)
        printf("took %.2f us there, in version %s of its template\n", match->from->median_ns * 1e-3,
               match->from->template_hash);
}

/* In a bundle, the template is the one that tuned_kernel_get() would compare with. One that cannot be loaded has
 * no problem values and no version here. */
static void take_bundled(struct command_query *query)
{
    const struct tuned_configuration *configuration;
    const char *name = query->kernel;
    if (query->template_path != NULL || query->tuned == NULL)
        return;
    for (size_t i = 0; (configuration = tuned_at(query->table, i)) != NULL; i++)
        if (strcmp(configuration->kernel, query->kernel) == 0) {
            name = configuration->template_name;
            break;
        }
    char *path = alloc_format("%s/templates/%s.ini", query->tuned, name);
    if (access(path, R_OK) == 0 && template_load(&query->template, path, NULL) == 0)
        query->query.template_hash = query->template.hash;
    free(path);
}

static int explain(void *user, struct command_input *input, struct error *error)
{
    struct command_query *query = user;
    int status = command_query_load(query, true, error);
    if (status == 0)
        take_bundled(query);
    if (status == 0)
        status = command_query_ask(query, input, error);
    if (status == 0)
        print_answer(query);
    command_query_release(query);
    return status;
}

int command_explain(int argc, const char **argv, struct error *error)
{
    struct command_query query = {0};
    struct poptOption table[QUERY_OPTIONS + 1];
    const struct command_line line = {
        table, TAKES_VALUES,
        "explain --kernel NAME [--VALUE NUMBER...] [OPTION...]\n\n"
        "Prints which configuration an application would get for a problem on a GPU, and\n"
        "why. Give each value of the problem as an option with its name: --n 4096.\n\n"
        "Example: autotune explain --kernel reduce_sum --n 5000000 --gpu \"NVIDIA H200\"",
        explain, &query};
    command_query_options(&query, table);
    return command_perform(argc, argv, &line, error);
}
