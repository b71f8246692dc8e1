#include "command/command.h"

#include "base/alloc.h"
#include "base/literal.h"
#include "base/text_table.h"
#include "search/search.h"
#include "search/simulation.h"
#include "template/value_list.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REPEATS_MAX = 100000, BATCH_MAX = 1024, EVALUATIONS_MAX = 10000000, WIDTH = 100 };

static const char usual_evaluations[] = "50,100,200,400";

struct simulate_options {
    char *evaluations;
    char *strategy;
    char *known;
    char *format;
    int repeat;
    int seed;
    int batch;
};

/* --- options --- */

static int parse_budgets(const char *text, size_t **budgets, size_t *count, struct error *error)
{
    char **parts;
    size_t part_count = text_split(text, ',', &parts);
    int64_t previous = 0;
    bool good = part_count > 0;
    for (size_t i = 0; i < part_count && good; i++) {
        struct literal literal;
        good = literal_parse(parts[i], &literal) == NULL && literal.kind == LITERAL_INTEGER &&
               literal.integer > previous && literal.integer <= EVALUATIONS_MAX;
        if (good)
            *ARRAY_APPEND(*budgets, *count) = (size_t)literal.integer;
        previous = good ? literal.integer : 0;
    }
    free(parts);
    if (good)
        return 0;
    return error_set(error, ERROR_USAGE,
                     "--evaluations %s: give numbers from 1 to %d in ascending order, such as %s",
                     text, EVALUATIONS_MAX, usual_evaluations);
}

static int check_number(const char *name, int value, int least, int most, struct error *error)
{
    if (value >= least && value <= most)
        return 0;
    return error_set(error, ERROR_USAGE, "--%s %d: give a number from %d to %d", name, value, least,
                     most);
}

static int read_options(const struct simulate_options *options,
                        struct simulation_options *simulation, size_t **budgets,
                        struct error *error)
{
    int status = 0;
    if (options->format != NULL && strcmp(options->format, "table") != 0 &&
        strcmp(options->format, "csv") != 0)
        status = error_set(error, ERROR_USAGE, "unknown format '%s'; choose table or csv",
                           options->format);
    if (status == 0)
        status = check_number("repeat", options->repeat, 1, REPEATS_MAX, error);
    if (status == 0)
        status = check_number("seed", options->seed, 0, INT_MAX, error);
    if (status == 0)
        status = check_number("batch", options->batch, 1, BATCH_MAX, error);
    simulation->strategy = search_strategy_find(options->strategy);
    if (status == 0 && simulation->strategy == NULL) {
        char *known = alloc_string(search_strategy_name(0));
        for (size_t i = 1; search_strategy_name(i) != NULL; i++)
            alloc_append(&known, " or %s", search_strategy_name(i));
        status = error_set(error, ERROR_USAGE, "unknown strategy '%s'; choose %s",
                           options->strategy, known);
        free(known);
    }
    if (status == 0)
        status =
            parse_budgets(options->evaluations != NULL ? options->evaluations : usual_evaluations,
                          budgets, &simulation->budget_count, error);
    simulation->budgets = *budgets;
    simulation->repeats = (size_t)options->repeat;
    simulation->batch = (size_t)options->batch;
    simulation->seed = (uint32_t)options->seed;
    return status;
}

/* --- output --- */

static const char *const columns[] = {"file",     "strategy",   "evaluations",
                                      "repeats",  "share_mean", "share_min",
                                      "share_p5", "gap_mean",   "cpu_us"};

enum { COLUMN_COUNT = sizeof columns / sizeof *columns, TEXT_COLUMNS = 2 };

/* Into a table, or to standard output as CSV if that is NULL. */
static void put_row(struct text_table *table, const char *const *cells)
{
    for (size_t i = 0; i < COLUMN_COUNT; i++) {
        if (table != NULL) {
            text_table_cell(table, cells[i]);
            continue;
        }
        csv_text(stdout, cells[i]);
        putchar(i + 1 < COLUMN_COUNT ? ',' : '\n');
    }
}

static void put_result(struct text_table *table, const char *file, const char *strategy,
                       size_t evaluations, size_t repeats, const struct simulation_result *result)
{
    const double numbers[] = {(double)evaluations, (double)repeats,  result->share_mean,
                              result->share_min,   result->share_p5, result->gap_mean,
                              result->cpu_us};
    static const int decimals[] = {0, 0, 5, 5, 5, 5, 1};
    char texts[COLUMN_COUNT][48];
    const char *cells[COLUMN_COUNT] = {file, strategy};
    for (size_t i = TEXT_COLUMNS; i < COLUMN_COUNT; i++) {
        (void)snprintf(texts[i], sizeof texts[i], "%.*f", decimals[i - TEXT_COLUMNS],
                       numbers[i - TEXT_COLUMNS]);
        cells[i] = texts[i];
    }
    put_row(table, cells);
}

static struct text_table *begin_output(const char *format)
{
    if (format != NULL && strcmp(format, "csv") == 0) {
        put_row(NULL, columns);
        return NULL;
    }
    struct text_table *table = text_table_new();
    for (size_t i = 0; i < COLUMN_COUNT; i++)
        text_table_column(table, columns[i], i < TEXT_COLUMNS ? TABLE_LEFT : TABLE_RIGHT);
    return table;
}

/* --- the command --- */

static int simulate_file(const char *path, const char *strategy,
                         const struct simulation_options *simulation, struct text_table *table,
                         struct error *error)
{
    struct measured_space measured;
    int status = measured_space_read(path, &measured, error);
    if (status != 0)
        return status;
    struct simulation_result *results = alloc_zeroed(simulation->budget_count, sizeof *results);
    status = simulation_run(&measured, simulation, results, error);
    for (size_t i = 0; i < simulation->budget_count && status == 0; i++)
        put_result(table, path, strategy, simulation->budgets[i], simulation->repeats, &results[i]);
    free(results);
    measured_space_release(&measured);
    return status;
}

static int simulate(void *user, struct command_input *input, struct error *error)
{
    const struct simulate_options *options = user;
    char *const *files = input->arguments;
    struct simulation_options simulation = {0};
    struct measured_space known = {0};
    size_t *budgets = NULL;
    if (files[0] == NULL)
        return error_set(error, ERROR_USAGE,
                         "no T4 results file; name one, for example `autotune simulate "
                         "conv.t4.json`");
    int status = read_options(options, &simulation, &budgets, error);
    if (status == 0 && options->known != NULL) {
        status = measured_space_read(options->known, &known, error);
        simulation.known = &known;
    }
    const char *strategy = options->strategy != NULL ? options->strategy : search_strategy_name(0);
    struct text_table *table = status == 0 ? begin_output(options->format) : NULL;
    for (; *files != NULL && status == 0; files++)
        status = simulate_file(*files, strategy, &simulation, table, error);
    if (table != NULL && status == 0)
        text_table_print(table, WIDTH, stdout);
    text_table_free(table);
    measured_space_release(&known);
    free(budgets);
    return status;
}

int command_simulate(int argc, const char **argv, struct error *error)
{
    struct simulate_options options = {.repeat = 25, .seed = 1, .batch = 1};
    const struct poptOption table[] = {
        option_text("evaluations", '\0', &options.evaluations,
                    "how many points a search measures (default: 50,100,200,400)", "N,..."),
        option_number("repeat", '\0', &options.repeat, "searches per file (default: 25)"),
        option_number("seed", '\0', &options.seed, "seed of the random numbers (default: 1)"),
        option_number("batch", '\0', &options.batch,
                      "how many points are proposed at a time (default: 1)"),
        option_text("known", '\0', &options.known,
                    "begin with the results of another GPU or problem, in a T4 file", "FILE"),
        option_text("strategy", '\0', &options.strategy, "model or random (default: model)",
                    "NAME"),
        option_text("format", 'f', &options.format, "table or csv (default: table)", "FORMAT"),
        POPT_TABLEEND};
    const struct command_line line = {
        table, TAKES_ARGUMENTS,
        "simulate FILE... [OPTION...]\n\n"
        "Replays the search on T4 results files in which every point was measured, and\n"
        "prints how good its best point was after each number of evaluations:\n"
        "  share   the fastest point's time over that of the best one found\n"
        "  gap     how much of the way from the median time to the fastest is closed\n"
        "  cpu_us  CPU time that the search took per evaluation, in microseconds\n"
        "Everything but cpu_us depends on the seed alone. Needs no GPU.\n\n"
        "Example: autotune simulate conv.t4.json --strategy random --format csv",
        simulate, &options};
    return command_perform(argc, argv, &line, error);
}
