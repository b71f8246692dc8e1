#include "report/html_charts.h"

#include "base/alloc.h"
#include "report/plot_axis.h"
#include "report/plot_svg.h"
#include "report/report_text.h"

#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
    FEW_RANKS = 10,    /* each has its tic */
    MANY_RANKS = 40,   /* from here on ranks are on a logarithmic axis */
    HEAT_LETTERS = 32, /* in a row, at full size */
    HEAT_CELLS = 150,  /* at most, so that each has room for its number */
};

/* -- tools --------------------------------------------------------------------------------------
 */

FILE *chart_begin(struct charts *charts, const char *title)
{
    struct chart *chart = ARRAY_APPEND(charts->items, charts->count);
    chart->title = alloc_string(title);
    chart->plot = charts->plots->count;
    return plots_add(charts->plots, title);
}

void chart_caption(struct charts *charts, const char *format, ...)
{
    va_list arguments;
    char *text;
    va_start(arguments, format);
    if (vasprintf(&text, format, arguments) < 0)
        abort(); /* out of memory, as in alloc.h */
    va_end(arguments);
    charts->items[charts->count - 1].caption = text;
}

void charts_release(struct charts *charts)
{
    for (size_t i = 0; i < charts->count; i++) {
        free(charts->items[i].title);
        free(charts->items[i].caption);
    }
    free(charts->items);
    charts->items = NULL;
    charts->count = 0;
}

enum mark chart_mark(const struct study *study, size_t index)
{
    if (study->has_winner && study->winner == index)
        return MARK_WINNER;
    return study->results[index].tied ? MARK_TIE : MARK_PLAIN;
}

double chart_number(const struct importance *importance, const struct result *result)
{
    double number = importance_number(importance, result);
    return importance->of_time ? number / 1000 : 100 * number;
}

const char *chart_number_label(const struct importance *importance)
{
    return importance->of_time ? "time, µs" : "occupancy, %";
}

void chart_bounds(const struct point *points, size_t count, double *low, double *high)
{
    *low = *high = count > 0 ? points[0].y : 1;
    for (size_t i = 1; i < count; i++) {
        *low = fmin(*low, points[i].y);
        *high = fmax(*high, points[i].y);
    }
}

static int compare_points(const void *left, const void *right)
{
    const struct point *a = left;
    const struct point *b = right;
    const double differences[] = {(double)a->mark - (double)b->mark, a->x - b->x, a->y - b->y};
    for (size_t i = 0; i < sizeof differences / sizeof *differences; i++)
        if (differences[i] != 0)
            return differences[i] < 0 ? -1 : 1;
    return 0;
}

/* Points closer than this cannot be told apart. */
struct grain {
    double x;
    double y;
};

static struct grain grain_of(const struct point *points, size_t count)
{
    double left = INFINITY, right = -INFINITY, low, high;
    chart_bounds(points, count, &low, &high);
    for (size_t i = 0; i < count; i++) {
        left = fmin(left, points[i].x);
        right = fmax(right, points[i].x);
    }
    return (struct grain){(right - left) / PLOT_WIDTH / 4, (high - low) / PLOT_HEIGHT / 4};
}

/* The points of one mark as a data block, each place once; returns how many. */
static size_t write_points(FILE *script, const char *name, const struct point *sorted, size_t count,
                           enum mark mark, struct grain grain)
{
    const struct point *before = NULL;
    size_t written = 0;
    fprintf(script, "$%s << EOD\n", name);
    for (size_t i = 0; i < count; i++) {
        const struct point *point = &sorted[i];
        if (point->mark != mark || (before != NULL && point->x - before->x <= grain.x &&
                                    fabs(point->y - before->y) <= grain.y))
            continue;
        fprintf(script, "%.9g %.9g\n", point->x, point->y);
        before = point;
        written++;
    }
    fputs("EOD\n", script);
    return written;
}

void chart_scatter(FILE *script, const char *under, const struct point *points, size_t count)
{
    static const char *const names[MARK_COUNT] = {"plain", "tie", "winner"};
    static const char *const colours[MARK_COUNT] = {"dot", "tie", "winner"};
    const double sizes[MARK_COUNT] = {count > 300 ? 0.42 : count > 60 ? 0.55 : 0.7, 0.8, 1};
    size_t counts[MARK_COUNT];
    struct point *sorted = alloc_zeroed(count, sizeof *sorted);
    memcpy(sorted, points, count * sizeof *sorted);
    if (count > 1)
        qsort(sorted, count, sizeof *sorted, compare_points);
    for (int mark = 0; mark < MARK_COUNT; mark++)
        counts[mark] = write_points(script, names[mark], sorted, count, (enum mark)mark,
                                    grain_of(points, count));
    free(sorted);
    fprintf(script, "plot %s", under);
    const char *separator = "";
    for (int mark = 0; mark < MARK_COUNT; mark++) {
        if (counts[mark] == 0)
            continue;
        fprintf(script, "%s$%s with points pt 7 ps %.2f lc rgb c_%s notitle", separator,
                names[mark], sizes[mark], colours[mark]);
        separator = ", ";
    }
    fputc('\n', script);
}

/* -- sorted times -------------------------------------------------------------------------------
 */

/* The 95 % intervals of the finalists, as vectors: gnuplot puts a white disc behind error bars. */
static void write_intervals(FILE *script, const struct study *study, const size_t *ranking,
                            size_t count)
{
    fputs("$intervals << EOD\n", script);
    for (size_t i = 0; i < count; i++) {
        const struct result *result = &study->results[ranking[i]];
        if (result->finalist || i == 0)
            fprintf(script, "%zu %.9g 0 %.9g\n", i + 1, result->time.low_ns / 1000,
                    (result->time.high_ns - result->time.low_ns) / 1000);
    }
    fputs("EOD\n", script);
}

static void caption_sorted(struct charts *charts, const struct point *points, size_t count)
{
    const struct study *study = charts->study;
    size_t tied = 0;
    for (size_t i = 0; i < count; i++)
        tied += points[i].mark != MARK_PLAIN;
    char ties[96] = "";
    if (study->has_winner && tied > 1)
        (void)snprintf(ties, sizeof ties, "%zu of %zu variants are tied for the first place. ",
                       tied, count);
    else if (study->has_winner)
        (void)snprintf(ties, sizeof ties, "Of %zu variants one wins alone. ", count);
    chart_caption(charts,
                  "%sThe median variant takes %.2f times as long as the fastest, the slowest %.2f "
                  "times. Bars are 95 %% intervals.",
                  ties, points[count / 2].y / points[0].y, points[count - 1].y / points[0].y);
}

static void chart_sorted(struct charts *charts)
{
    const struct study *study = charts->study;
    size_t count = study_count(study, OUTCOME_MEASURED);
    if (count < 2)
        return;
    size_t *ranking = alloc_zeroed(study->result_count, sizeof *ranking);
    struct point *points = alloc_zeroed(count, sizeof *points);
    study_rank(study, ranking); /* measured ones first */
    for (size_t i = 0; i < count; i++)
        points[i] = (struct point){(double)i + 1, study->results[ranking[i]].time.median_ns / 1000,
                                   chart_mark(study, ranking[i])};
    double low, high;
    chart_bounds(points, count, &low, &high);
    FILE *script = chart_begin(charts, "All variants, fastest first");
    struct plot_axis y = plot_axis_of(low, high);
    struct plot_axis x = count < MANY_RANKS ? plot_axis_of(1, 3) : plot_axis_log(1, (double)count);
    if (count < MANY_RANKS)
        x = (struct plot_axis){.low = 0, .high = (double)count + 1};
    plot_axis_write(&x, 'x', "rank", script);
    if (count <= FEW_RANKS)
        fputs("set xtics 1\n", script);
    plot_axis_write(&y, 'y', "time, µs", script);
    write_intervals(script, study, ranking, count);
    chart_scatter(script, "$intervals with vectors nohead lw 2 lc rgb c_tie, ", points, count);
    caption_sorted(charts, points, count);
    free(points);
    free(ranking);
}

/* -- a parameter --------------------------------------------------------------------------------
 */

/* Texts of the levels, new; numbers as they are, words shortened by nothing. */
static char **level_texts(const struct parameter_importance *parameter)
{
    char **texts = alloc_zeroed(parameter->level_count, sizeof *texts);
    for (size_t i = 0; i < parameter->level_count; i++) {
        char value[VALUE_TEXT_BYTES];
        texts[i] = alloc_string(value_text(parameter->levels[i].value, value));
    }
    return texts;
}

static void free_texts(char **texts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(texts[i]);
    free(texts);
}

/* From -0.28 to 0.28, the same for the same variant: spreads points of one value. */
static double jitter(size_t index)
{
    uint64_t mixed = (index + 1) * UINT64_C(0x9e3779b97f4a7c15);
    return 0.56 * ((double)(mixed >> 40) / (double)(1 << 24) - 0.5);
}

static size_t collect_by_level(const struct charts *charts,
                               const struct parameter_importance *parameter, struct point *points)
{
    const struct study *study = charts->study;
    size_t count = 0;
    for (size_t i = 0; i < study->result_count; i++) {
        const struct result *result = &study->results[i];
        if (!importance_usable(charts->importance, result))
            continue;
        enum mark mark = chart_mark(study, i);
        double shift = mark == MARK_PLAIN ? jitter(i) : 0;
        points[count++] = (struct point){(double)parameter_level_of(parameter, result) + shift,
                                         chart_number(charts->importance, result), mark};
    }
    return count;
}

static void write_best_line(FILE *script, const struct charts *charts,
                            const struct parameter_importance *parameter)
{
    fputs("$best << EOD\n", script);
    for (size_t i = 0; i < parameter->level_count; i++)
        if (parameter->levels[i].usable > 0)
            fprintf(script, "%zu %.9g\n", i,
                    chart_number(charts->importance,
                                 &charts->study->results[parameter->levels[i].best]));
    fputs("EOD\n", script);
}

static void caption_parameter(struct charts *charts, const struct parameter_importance *parameter)
{
    size_t best = parameter_best_level(charts->importance, parameter, charts->study);
    char value[VALUE_TEXT_BYTES];
    bool largest;
    bool end = parameter_best_at_end(charts->importance, parameter, charts->study, &largest);
    chart_caption(charts,
                  "Explains %.0f %% of the variance alone, %.0f %% with its interactions, %.0f %% "
                  "near the best. %s with %s%s.",
                  100 * parameter->alone, 100 * parameter->total, 100 * parameter->near,
                  charts->importance->of_time ? "Fastest" : "Highest",
                  value_text(parameter->levels[best].value, value),
                  !end      ? ""
                  : largest ? ", the largest value tried: larger ones may be better"
                            : ", the smallest value tried: smaller ones may be better");
}

static void chart_parameter(struct charts *charts, const struct parameter_importance *parameter)
{
    struct point *points = alloc_zeroed(charts->study->result_count, sizeof *points);
    size_t count = collect_by_level(charts, parameter, points);
    char **texts = level_texts(parameter);
    double low, high;
    chart_bounds(points, count, &low, &high);
    struct plot_axis y = plot_axis_of(low, high);
    char *title = alloc_format("%s against %s", charts->importance->of_time ? "Time" : "Occupancy",
                               parameter->name);
    FILE *script = chart_begin(charts, title);
    plot_axis_write_words('x', parameter->name, texts, parameter->level_count, script);
    plot_axis_write(&y, 'y', chart_number_label(charts->importance), script);
    write_best_line(script, charts, parameter);
    chart_scatter(script, "$best with linespoints pt 7 ps 0.5 lw 1.5 lc rgb c_accent, ", points,
                  count);
    caption_parameter(charts, parameter);
    free(title);
    free_texts(texts, parameter->level_count);
    free(points);
}

/* -- the two that matter most -------------------------------------------------------------------
 */

/* Indices of the best results of each pair of levels; result_count where there is none. New. */
static size_t *best_of_pairs(const struct charts *charts, const struct parameter_importance *x,
                             const struct parameter_importance *y)
{
    const struct study *study = charts->study;
    size_t *best = alloc_zeroed(x->level_count * y->level_count, sizeof *best);
    for (size_t i = 0; i < x->level_count * y->level_count; i++)
        best[i] = study->result_count;
    for (size_t i = 0; i < study->result_count; i++) {
        const struct result *result = &study->results[i];
        size_t column = parameter_level_of(x, result);
        size_t row = parameter_level_of(y, result);
        if (!importance_usable(charts->importance, result) || column == x->level_count ||
            row == y->level_count)
            continue;
        size_t *cell = &best[row * x->level_count + column];
        if (*cell == study->result_count ||
            importance_better(charts->importance, importance_number(charts->importance, result),
                              importance_number(charts->importance, &study->results[*cell])))
            *cell = i;
    }
    return best;
}

/* 0 for the best, PLOT_HEAT - 1 for the worst, by ratio. */
static int heat_of(double number, double best, double worst)
{
    if (!(number > 0 && best > 0 && worst > 0))
        return PLOT_HEAT - 1;
    double span = log(worst / best);
    double place = span != 0 ? log(number / best) / span : 0;
    int heat = (int)(place * PLOT_HEAT);
    return heat < 0 ? 0 : heat >= PLOT_HEAT ? PLOT_HEAT - 1 : heat;
}

/* Returns the length of the longest text. */
static size_t write_cells(FILE *script, const struct charts *charts, const size_t *best,
                          size_t columns, size_t rows)
{
    size_t longest = 0;
    const struct study *study = charts->study;
    double low = INFINITY;
    double high = 0;
    for (size_t i = 0; i < columns * rows; i++) {
        if (best[i] == study->result_count)
            continue;
        low = fmin(low, chart_number(charts->importance, &study->results[best[i]]));
        high = fmax(high, chart_number(charts->importance, &study->results[best[i]]));
    }
    bool of_time = charts->importance->of_time;
    fputs("$cells << EOD\n", script);
    for (size_t i = 0; i < columns * rows; i++) {
        char text[REPORT_NUMBER_BYTES];
        if (best[i] == study->result_count)
            continue;
        double number = chart_number(charts->importance, &study->results[best[i]]);
        int heat = heat_of(number, of_time ? low : high, of_time ? high : low);
        if (of_time)
            (void)report_number(number, text);
        else
            (void)snprintf(text, sizeof text, "%.0f", number);
        longest = strlen(text) > longest ? strlen(text) : longest;
        fprintf(script, "%zu %zu %d %d %s\n", i % columns, i / columns,
                PLOT_COLOUR_BASE + PLOT_COLOUR_heat0 + heat,
                PLOT_COLOUR_BASE + (heat < 3 ? PLOT_COLOUR_heattextbest : PLOT_COLOUR_heattext),
                text);
    }
    fputs("EOD\n", script);
    return longest;
}

static void write_winner_frame(FILE *script, const struct charts *charts,
                               const struct parameter_importance *x,
                               const struct parameter_importance *y)
{
    const struct study *study = charts->study;
    if (!study->has_winner)
        return;
    size_t column = parameter_level_of(x, &study->results[study->winner]);
    size_t row = parameter_level_of(y, &study->results[study->winner]);
    fprintf(script,
            "set object 1 rectangle center %zu,%zu size 0.94,0.94 front fillstyle empty border rgb "
            "c_winner lw 2.5\n",
            column, row);
}

static void chart_heat(struct charts *charts)
{
    const struct importance *importance = charts->importance;
    if (importance->count < 2)
        return;
    const struct parameter_importance *x = &importance->items[0];
    const struct parameter_importance *y = &importance->items[1];
    if (y->level_count > x->level_count) {
        x = &importance->items[1];
        y = &importance->items[0];
    }
    if (x->level_count * y->level_count > HEAT_CELLS)
        return;
    size_t *best = best_of_pairs(charts, x, y);
    char **columns = level_texts(x);
    char **rows = level_texts(y);
    char *title = alloc_format("Best %s for each %s and %s",
                               importance->of_time ? "time" : "occupancy", x->name, y->name);
    FILE *script = chart_begin(charts, title);
    fputs("unset grid\nset border 0\n", script);
    plot_axis_write_words('x', x->name, columns, x->level_count, script);
    plot_axis_write_words('y', y->name, rows, y->level_count, script);
    size_t longest = write_cells(script, charts, best, x->level_count, y->level_count);
    write_winner_frame(script, charts, x, y);
    fprintf(script,
            "plot $cells using 1:2:(0.47):(0.47):3 with boxxyerror fillstyle solid noborder "
            "fillcolor rgb variable, $cells using 1:2:5:4 with labels textcolor rgb variable "
            "font ',%d'\n",
            x->level_count * longest > HEAT_LETTERS ? 11 : 14);
    chart_caption(charts, "The two parameters that matter most, all others at their best; %s.%s",
                  importance->of_time ? "microseconds" : "per cent",
                  charts->study->has_winner ? " The winner is framed." : "");
    free(title);
    free_texts(columns, x->level_count);
    free_texts(rows, y->level_count);
    free(best);
}

/* -- all ----------------------------------------------------------------------------------------
 */

void charts_add(struct charts *charts)
{
    if (charts->importance->usable < 2)
        return;
    chart_sorted(charts);
    if (charts->importance->varies)
        chart_heat(charts);
    for (size_t i = 0; i < charts->importance->count && charts->importance->varies; i++)
        chart_parameter(charts, &charts->importance->items[i]);
    chart_launch(charts);
    chart_roofline(charts);
    chart_occupancy(charts);
    chart_registers(charts);
}
