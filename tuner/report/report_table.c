#include "base/alloc.h"
#include "base/text_table.h"
#include "record/gpu.h"
#include "report/analysis.h"
#include "report/columns.h"
#include "report/report.h"
#include "report/report_formats.h"
#include "report/report_text.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* --- heading --- */

/* The problems of a group, in lines no longer than the terminal. */
static void print_problems(FILE *stream, const struct study *const *group, size_t count)
{
    int column = fprintf(stream, "the same for %zu problems:", count);
    for (size_t i = 0; i < count; i++) {
        char *problem = bindings_text(&group[i]->problem);
        int width = (int)strlen(problem) + 2;
        if (column + width > REPORT_TERMINAL_WIDTH)
            column = fprintf(stream, "\n ") - 1;
        column += fprintf(stream, " %s%s", problem, i + 1 < count ? "," : "\n");
        free(problem);
    }
}

static void print_heading(FILE *stream, const struct study *const *group, size_t count)
{
    const struct study *study = group[0];
    const struct environment *environment = &study->environment;
    const struct gpu *gpu = &environment->gpu;
    char buffer[REPORT_NUMBER_BYTES];
    const char *latest = environment->date; /* of the group */
    for (size_t i = 1; i < count; i++)
        if (strcmp(group[i]->environment.date, latest) > 0)
            latest = group[i]->environment.date;
    bool has_empty = study->empty_kernel_ns > 0; /* not of a run that was interrupted before */
    char *problem =
        bindings_text(&study->problem); /* stated with the kernel, unless there are several */
    fprintf(stream, "%s%s%s", study->kernel, count == 1 && problem[0] != '\0' ? " " : "",
            count == 1 ? problem : "");
    free(problem);
    if (!environment->static_mode)
        fprintf(stream, " on %s", gpu->name);
    if (study->description != NULL && study->description[0] != '\0')
        fprintf(stream, ": %s", study->description);
    fputc('\n', stream);
    if (count > 1)
        print_problems(stream, group, count);
    if (environment->static_mode)
        fprintf(stream,
                "static mode: compiled for %s but not run, limits of %s\n"
                "NVRTC %s, autotune %s, %s\n",
                gpu->arch, gpu->name, environment->nvrtc, environment->autotune, latest);
    else if (environment->tool[0] != '\0')
        fprintf(stream, "measured by %s, not by autotune; imported%s%s%s%s\n", environment->tool,
                environment->date[0] != '\0' ? ", " : "", environment->date,
                environment->command != NULL ? ", " : "",
                environment->command != NULL ? environment->command : "");
    else
        fprintf(stream, "%s, %" PRId64 " SMs, driver %s, NVRTC %s, autotune %s, %s L2, %s%s%s%s\n",
                gpu->arch, gpu->attributes[GPU_sm_count], gpu->driver, environment->nvrtc,
                environment->autotune, study->cache, has_empty ? "empty kernel " : "",
                has_empty ? report_time(study->empty_kernel_ns, buffer) : "",
                has_empty ? " us, " : "", environment->date);
    report_sampling(stream, study, false);
}

/* --- rows --- */

enum {
    DEFAULT_ROWS = 10,
    SHOWN_REASONS = 5, /* of each outcome */
    SHOWN_IMPROVEMENTS = 5,
};

/* What to show in the table of one study. */
struct view {
    const struct study *study;
    size_t *ranking; /* indices of results, best first */
    size_t ranked;   /* those that can have a row: measured, or in static mode all of them */
    size_t rows;
    bool *varies; /* by parameter: whether it has a column */
    enum column *columns;
    size_t column_count;
};

static struct view view_of(const struct study *study, size_t top)
{
    static const enum column columns[] = {
        COLUMN_mark,        COLUMN_median,       COLUMN_interval,         COLUMN_noise,
        COLUMN_gb_per_s,    COLUMN_gflop_per_s,  COLUMN_ns_per_operation, COLUMN_registers,
        COLUMN_spill_bytes, COLUMN_shared_bytes, COLUMN_blocks_per_sm,    COLUMN_occupancy,
        COLUMN_limiter,     COLUMN_PARAMETERS,   COLUMN_outcome,
    };
    struct view view = {.study = study};
    view.ranking = alloc_zeroed(study->result_count, sizeof *view.ranking);
    study_rank(study, view.ranking);
    view.ranked =
        study->environment.static_mode ? study->result_count : study_count(study, OUTCOME_MEASURED);
    size_t wanted = top > 0 ? top : DEFAULT_ROWS;
    view.rows = wanted < view.ranked ? wanted : view.ranked;
    view.varies = report_varying(study);
    view.columns = columns_choose(study, view.varies, view.ranking, view.rows, columns,
                                  sizeof columns / sizeof *columns, &view.column_count);
    return view;
}

static void add_columns(struct text_table *table, const struct study *study,
                        const enum column *columns, size_t count)
{
    for (size_t i = 0; i < count; i++)
        text_table_column(table, column_heading(columns[i], study, false),
                          column_is_text(columns[i], study) ? TABLE_LEFT : TABLE_RIGHT);
}

static void add_cells(struct text_table *table, const struct study *study,
                      const enum column *columns, size_t count, const struct result *result)
{
    for (size_t i = 0; i < count; i++) {
        char buffer[COLUMN_TEXT_BYTES];
        const char *text = column_text(columns[i], study, result, buffer);
        if (columns[i] == COLUMN_mark)
            text = text == NULL ? "" : *text == 'w' ? "*" : "=";
        text_table_cell(table, text != NULL ? text : "-");
    }
}

/* --- rows of static mode, where many variants have the same figures --- */

/* Variants whose cells are the same but for parameters, which have all combinations of the values in theirs. */
struct alike {
    char **cells; /* of view->columns; "1, 2" for several values */
    size_t variants;
};

/* Makes one of neighbours that differ in this column alone; returns how many are left. */
static size_t join_neighbours(struct alike *rows, size_t count, size_t columns, size_t column)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        struct alike *last = kept > 0 ? &rows[kept - 1] : NULL;
        bool same = last != NULL;
        for (size_t j = 0; j < columns && same; j++)
            same = j == column || strcmp(last->cells[j], rows[i].cells[j]) == 0;
        if (!same) {
            rows[kept++] = rows[i];
            continue;
        }
        alloc_append(&last->cells[column], ", %s", rows[i].cells[column]);
        last->variants += rows[i].variants;
        for (size_t j = 0; j < columns; j++)
            free(rows[i].cells[j]);
        free(rows[i].cells);
    }
    return kept;
}

/* A table of view->rows rows at most; sets `*all` to how many there are. */
static struct text_table *build_static_table(const struct view *view, size_t *all)
{
    const struct study *study = view->study;
    struct text_table *table = text_table_new();
    struct alike *rows = alloc_zeroed(view->ranked, sizeof *rows);
    size_t count = view->ranked;
    for (size_t i = 0; i < count; i++) {
        rows[i].variants = 1;
        rows[i].cells = alloc_zeroed(view->column_count, sizeof *rows[i].cells);
        for (size_t j = 0; j < view->column_count; j++) {
            char buffer[COLUMN_TEXT_BYTES];
            const char *text =
                column_text(view->columns[j], study, &study->results[view->ranking[i]], buffer);
            rows[i].cells[j] = alloc_string(text != NULL ? text : "-");
        }
    }
    for (size_t j = view->column_count; j-- > 0;)
        if (view->columns[j] >= COLUMN_PARAMETERS)
            count = join_neighbours(rows, count, view->column_count, j);
    add_columns(table, study, view->columns, view->column_count);
    if (count < view->ranked)
        text_table_column(table, "variants", TABLE_RIGHT);
    for (size_t i = 0; i < count; i++) {
        char number[24];
        for (size_t j = 0; j < view->column_count; j++) {
            if (i < view->rows)
                text_table_cell(table, rows[i].cells[j]);
            free(rows[i].cells[j]);
        }
        (void)snprintf(number, sizeof number, "%zu", rows[i].variants);
        if (i < view->rows && count < view->ranked)
            text_table_cell(table, number);
        free(rows[i].cells);
    }
    free(rows);
    *all = count;
    return table;
}

static struct text_table *build_table(const struct view *view)
{
    struct text_table *table = text_table_new();
    add_columns(table, view->study, view->columns, view->column_count);
    for (size_t i = 0; i < view->rows; i++)
        add_cells(table, view->study, view->columns, view->column_count,
                  &view->study->results[view->ranking[i]]);
    return table;
}

/* If the table is too wide for the terminal, drops redundant columns: GFLOP/s if there is GB/s, then
 * the noise, which the interval also shows. */
static void print_rows(FILE *stream, struct view *view)
{
    static const enum column redundant[] = {COLUMN_gflop_per_s, COLUMN_noise};
    if (view->rows == 0)
        return;
    const bool is_static = view->study->environment.static_mode;
    size_t all = view->ranked;
    struct text_table *table = is_static ? build_static_table(view, &all) : build_table(view);
    for (int step = is_static ? 2 : 0; step < 2 && text_table_width(table) > REPORT_TERMINAL_WIDTH;
         step++) {
        size_t kept = 0;
        bool drops = step > 0;
        for (size_t i = 0; i < view->column_count; i++) {
            drops = drops || view->columns[i] == COLUMN_gb_per_s; /* which comes first */
            if (!drops || view->columns[i] != redundant[step])
                view->columns[kept++] = view->columns[i];
        }
        view->column_count = kept;
        text_table_free(table);
        table = build_table(view);
    }
    fputc('\n', stream);
    text_table_print(table, REPORT_TERMINAL_WIDTH, stream);
    text_table_free(table);
    if (view->rows < all)
        fprintf(stream, "%zu of %zu %s; --top %zu shows all\n", view->rows, all,
                !is_static           ? "measured variants, fastest first"
                : all < view->ranked ? "rows, highest occupancy first"
                                     : "variants, highest occupancy first",
                all);
}

/* The values that all variants share, which have no column. */
static void print_constants(FILE *stream, const struct view *view)
{
    const struct study *study = view->study;
    char *constants = report_constants(study, view->varies, ", ");
    bool no_spills = study->result_count > 0 && study->environment.tool[0] == '\0';
    for (size_t i = 0; i < study->result_count; i++)
        no_spills = no_spills && study->results[i].stats.spill_bytes <= 0;
    if (constants[0] != '\0' || no_spills)
        fprintf(stream, "all variants: %s%s%s\n", constants,
                constants[0] != '\0' && no_spills ? ", " : "", no_spills ? "no spills" : "");
    free(constants);
}

static void print_failures(FILE *stream, const struct study *study, enum outcome outcome)
{
    size_t count = 0;
    struct reason *reasons = report_reasons(study, outcome, &count);
    size_t rest = 0;
    if (count > 0)
        fprintf(stream, "\n%s (%s):\n", outcome_name(outcome), outcome_meaning(outcome));
    for (size_t i = 0; i < count; i++) {
        if (i < SHOWN_REASONS)
            fprintf(stream, "  %5zu  %s\n", reasons[i].count, reasons[i].text);
        else
            rest += reasons[i].count;
    }
    if (rest > 0)
        fprintf(stream, "  %5zu  for %zu other reasons; --format csv lists them\n", rest,
                count - SHOWN_REASONS);
    report_reasons_free(reasons, count);
}

/* How much of the space was seen, and how the best time improved on the way. */
static void print_search(FILE *stream, const struct study *study)
{
    char share[REPORT_NUMBER_BYTES];
    char time[REPORT_NUMBER_BYTES];
    char seen[REPORT_NUMBER_BYTES];
    size_t count;
    if (!study_is_partial(study))
        return;
    struct improvement *improvements = improvements_of(study, &count);
    size_t first = count > SHOWN_IMPROVEMENTS ? count - SHOWN_IMPROVEMENTS : 0;
    fprintf(stream, "searched: %s of the space's variants were tried\n", report_seen(study, share));
    for (size_t i = first; i < count; i++)
        fprintf(stream, "%s%s us after %s s, variant %zu\n",
                i == first ? "improved: " : "          ",
                report_time(improvements[i].result->time.median_ns, time),
                report_fixed(improvements[i].result->seen_s, 1, seen), improvements[i].number);
    free(improvements);
    char *estimate = report_estimate(study);
    fprintf(stream, "%s\n", estimate);
    free(estimate);
}

static void print_counts(FILE *stream, const struct study *study)
{
    fprintf(stream, "\n%zu variant%s", study->result_count, study->result_count == 1 ? "" : "s");
    if (study->points > 0)
        fprintf(stream, " of %" PRIu64 " point%s (%s%" PRIu64 " rejected by constraints)",
                study->points, study->points == 1 ? "" : "s",
                study->rejected_estimated ? "about " : "", study->rejected);
    report_outcomes(stream, study);
    fputc('\n', stream);
    for (size_t i = 0; i < study->rejection_count; i++)
        fprintf(stream, "  %5" PRIu64 "  constraint: %s\n", study->rejections[i].points,
                study->rejections[i].constraint);
    print_search(stream, study);
    if (!study->complete && study->refusal != NULL)
        fprintf(stream, "left out: %s\n", study->refusal);
    else if (!study->complete)
        fputs("not complete: run the same command again to continue\n", stream);
    for (int i = 0; i < OUTCOME_COUNT; i++)
        if (i != OUTCOME_MEASURED && i != OUTCOME_COMPILED)
            print_failures(stream, study, (enum outcome)i);
}

static void print_ties(FILE *stream, const struct view *view)
{
    const struct study *study = view->study;
    bool any = false;
    for (size_t i = 0; i < study->result_count; i++) {
        const struct result *result = &study->results[view->ranking[i]];
        if (!result->tied || view->ranking[i] == study->winner)
            continue;
        char buffer[REPORT_NUMBER_BYTES];
        char *text = report_distinction(study, view->varies, result);
        fprintf(stream, "tied:   %s, %s us\n", text, report_time(result->time.median_ns, buffer));
        free(text);
        any = true;
    }
    if (any)
        fputs("within 0.25 % of the fastest, fewer registers win, then fewer threads per block\n",
              stream);
}

static void print_other_launches(FILE *stream, const char *whose, const struct result *result)
{
    if (result->other_launches != NULL)
        fprintf(stream, "%s other launches: %s\n", whose, result->other_launches);
}

static void print_winner(FILE *stream, const struct view *view)
{
    const struct study *study = view->study;
    const char *tool = study->environment.tool;
    char buffer[REPORT_NUMBER_BYTES];
    /* the best of another tool's variants is no winner: nothing was verified, and there were no finals */
    size_t best = tool[0] != '\0' ? study_best(study) : study->winner;
    if (tool[0] != '\0' ? best == study->result_count : !study->has_winner) {
        if (tool[0] == '\0' && study->complete)
            fputs("\nno winner: no variant was measured\n", stream);
        return;
    }
    const struct result *winner = &study->results[best];
    char *text = report_distinction(study, view->varies, winner);
    fprintf(stream, tool[0] != '\0' ? "\nbest of %s: " : "\nwinner%s: ", tool);
    fprintf(stream, "%s, %s us", text, report_time(winner->time.median_ns, buffer));
    free(text);
    if (tool[0] == '\0') {
        fprintf(stream, " (median of %zu samples)\n", winner->time.count);
        print_other_launches(stream, "its", winner);
        print_ties(stream, view);
    } else {
        fputc('\n', stream);
    }
}

enum {
    HEADROOM_ROWS = 10,
    LEVELS_BYTES = 84, /* width left for the values of a parameter */
};

/* --- headroom --- */

/* Whether a variant ranked higher has the same statistics. */
static bool is_repeated(const struct study *study, const size_t *ranking, size_t index)
{
    const struct kernel_stats *stats = &study->results[ranking[index]].stats;
    for (size_t i = 0; i < index; i++) {
        const struct kernel_stats *other = &study->results[ranking[i]].stats;
        if (other->known && other->registers == stats->registers &&
            other->block_threads == stats->block_threads &&
            other->static_shared_bytes + other->dynamic_shared_bytes ==
                stats->static_shared_bytes + stats->dynamic_shared_bytes &&
            other->blocks_per_sm == stats->blocks_per_sm)
            return true;
    }
    return false;
}

static void print_headroom(FILE *stream, const struct study *study, const size_t *ranking,
                           size_t count)
{
    struct text_table *table = text_table_new();
    add_columns(table, study, headroom_columns, HEADROOM_COLUMNS);
    text_table_column(table, "more occupancy with", TABLE_LEFT);
    size_t rows = 0;
    size_t more = 0;
    for (size_t i = 0; i < count; i++) {
        const struct kernel_stats *stats = &study->results[ranking[i]].stats;
        if (!stats->known || stats->occupancy > 1 - 1e-9 || is_repeated(study, ranking, i))
            continue;
        if (rows == HEADROOM_ROWS) {
            more++;
            continue;
        }
        add_cells(table, study, headroom_columns, HEADROOM_COLUMNS, &study->results[ranking[i]]);
        char *steps = headroom_text(&study->environment.gpu, stats);
        text_table_cell(table, steps);
        free(steps);
        rows++;
    }
    if (rows > 0) {
        fputs("\nvariants below 100 % occupancy, and how reducing one resource would raise it:\n",
              stream);
        text_table_print(table, REPORT_TERMINAL_WIDTH, stream);
    }
    if (more > 0)
        fprintf(stream, "and %zu more; --format html has them all\n", more);
    text_table_free(table);
}

/* --- importance --- */

/* "512 20.13": a value and the best result with it; a new string. */
static char *level_text(const struct study *study, const struct importance *importance,
                        const struct parameter_level *level)
{
    char value[VALUE_TEXT_BYTES];
    char number[REPORT_NUMBER_BYTES] = "none";
    if (level->usable > 0) {
        double best = importance_number(importance, &study->results[level->best]);
        if (importance->of_time)
            (void)report_time(best, number);
        else
            (void)snprintf(number, sizeof number, "%.0f", 100 * best);
    }
    return alloc_format("%s %s", value_text(level->value, value), number);
}

/* "128 20.65, 256 20.30, 512*20.29": as many as fit, the best with a star; a new string. */
static char *levels_text(const struct study *study, const struct importance *importance,
                         const struct parameter_importance *parameter)
{
    size_t best = parameter_best_level(importance, parameter, study);
    char *text = alloc_string("");
    for (size_t i = 0; i < parameter->level_count; i++) {
        char *shorter = text;
        char *level = level_text(study, importance, &parameter->levels[i]);
        size_t reserve = i + 1 == parameter->level_count ? 0 : sizeof ", 100 more" - 1;
        bool fits = strlen(shorter) + 2 + strlen(level) + reserve <= LEVELS_BYTES;
        if (i == best)
            *strrchr(level, ' ') = '*';
        text = fits ? alloc_format("%s%s%s", shorter, i > 0 ? ", " : "", level)
                    : alloc_format("%s, %zu more", shorter, parameter->level_count - i);
        free(level);
        free(shorter);
        if (!fits)
            break;
    }
    return text;
}

static void print_ends(FILE *stream, const struct study *study, const struct importance *importance)
{
    const char *separator = "best at the end of its range, so try values beyond: ";
    for (size_t i = 0; i < importance->count; i++) {
        const struct parameter_importance *parameter = &importance->items[i];
        char value[VALUE_TEXT_BYTES];
        bool largest;
        if (!parameter_best_at_end(importance, parameter, study, &largest))
            continue;
        size_t best = parameter_best_level(importance, parameter, study);
        fprintf(stream, "%s%s=%s (%s)", separator, parameter->name,
                value_text(parameter->levels[best].value, value), largest ? "largest" : "smallest");
        separator = ", ";
    }
    if (separator[0] == ',')
        fputc('\n', stream);
}

static void print_importance(FILE *stream, const struct study *study)
{
    struct importance importance;
    importance_find(study, &importance);
    if (importance.count > 0 && importance.varies) {
        char number[REPORT_NUMBER_BYTES];
        struct text_table *table = text_table_new();
        text_table_column(table, "parameter", TABLE_LEFT);
        text_table_column(table, "alone %", TABLE_RIGHT);
        text_table_column(table, "total %", TABLE_RIGHT);
        text_table_column(table, "near %", TABLE_RIGHT);
        text_table_column(table, importance.of_time ? "value and best us" : "value and best occ. %",
                          TABLE_LEFT);
        for (size_t i = 0; i < importance.count; i++) {
            char *levels = levels_text(study, &importance, &importance.items[i]);
            text_table_cell(table, importance.items[i].name);
            const struct parameter_importance *item = &importance.items[i];
            const double shares[] = {item->alone, item->total, item->near};
            for (size_t j = 0; j < sizeof shares / sizeof *shares; j++)
                text_table_cell(table, report_fixed(100 * shares[j], 1, number));
            text_table_cell(table, levels);
            free(levels);
        }
        fprintf(stream,
                "\nshare of the variance of %s that each parameter explains: alone, with its "
                "interactions (total),\nand with them among variants within a factor of two of "
                "the best (near):\n",
                importance.of_time ? "the time" : "the occupancy");
        text_table_print(table, REPORT_TERMINAL_WIDTH, stream);
        print_ends(stream, study, &importance);
        text_table_free(table);
    }
    importance_release(&importance);
}

/* --- all --- */

/* All but the heading; a new string. */
static char *body_of(const struct study *study, size_t top)
{
    char *text = NULL;
    size_t bytes;
    struct view view = view_of(study, top);
    FILE *stream = open_memstream(&text, &bytes);
    if (stream == NULL)
        abort(); /* out of memory, as in alloc.h */
    print_constants(stream, &view);
    print_rows(stream, &view);
    print_counts(stream, study);
    if (!study->environment.static_mode)
        print_winner(stream, &view);
    else if (view.rows > 0)
        print_other_launches(stream, "the first row's", &study->results[view.ranking[0]]);
    print_headroom(stream, study, view.ranking,
                   study->environment.static_mode ? view.ranked : view.rows);
    print_importance(stream, study);
    free(view.ranking);
    free(view.varies);
    free(view.columns);
    if (fclose(stream) != 0)
        abort();
    return text;
}

/* Whether one table says all of both, but for their problems and dates. */
static bool are_alike(const struct study *a, const char *a_body, const struct study *b,
                      const char *b_body)
{
    const struct environment *first = &a->environment;
    const struct environment *second = &b->environment;
    return first->static_mode && second->static_mode && strcmp(a->kernel, b->kernel) == 0 &&
           strcmp(a->template_hash, b->template_hash) == 0 &&
           strcmp(first->gpu.arch, second->gpu.arch) == 0 &&
           strcmp(first->gpu.name, second->gpu.name) == 0 &&
           strcmp(first->nvrtc, second->nvrtc) == 0 &&
           strcmp(first->autotune, second->autotune) == 0 && strcmp(a_body, b_body) == 0;
}

int report_table(FILE *stream, const struct study *studies, size_t count,
                 const struct report_options *options, struct error *error)
{
    (void)error;
    const struct study **group = alloc_zeroed(count, sizeof *group);
    char **bodies = alloc_zeroed(count, sizeof *bodies); /* NULL from when they are printed */
    for (size_t i = 0; i < count; i++)
        bodies[i] = body_of(&studies[i], options->top);
    for (size_t i = 0; i < count; i++) {
        size_t members = 0;
        char *body = bodies[i];
        for (size_t j = i; body != NULL && j < count; j++) {
            if (bodies[j] == NULL ||
                (j > i && !are_alike(&studies[i], body, &studies[j], bodies[j])))
                continue;
            group[members++] = &studies[j];
            if (j > i)
                free(bodies[j]);
            bodies[j] = NULL;
        }
        if (body == NULL)
            continue;
        fputs(i > 0 ? "\n\n" : "", stream);
        print_heading(stream, group, members);
        fputs(body, stream);
        free(body);
    }
    free(bodies);
    free(group);
    return 0;
}
