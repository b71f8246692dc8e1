#include "report/charts.h"

#include "base/alloc.h"
#include "report/plot.h"
#include "report/report_text.h"

#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

void chart_begin(struct plot *plot, const char *title, const char *caption_format, ...)
{
    va_list arguments;
    char *caption;
    va_start(arguments, caption_format);
    if (vasprintf(&caption, caption_format, arguments) < 0)
        abort(); /* out of memory, as in alloc.h */
    va_end(arguments);
    html_print(plot->stream,
               "<figure><figcaption><b>%s</b> %s</figcaption><div class=\"plot-box\">", title,
               caption);
    free(caption);
    plot_begin(plot, title);
}

void chart_end(const struct plot *plot)
{
    plot_end(plot);
    fputs("</div></figure>\n", plot->stream);
}

static enum chart_mark chart_mark(const struct study *study, size_t index)
{
    if (study->has_winner && study->winner == index)
        return CHART_WINNER;
    return study->results[index].tied ? CHART_TIE : CHART_PLAIN;
}

/* The number that the parameters' importance compares, as charts show it: microseconds, or per cent of occupancy. */
static double chart_number(const struct importance *importance, const struct result *result)
{
    double number = importance_number(importance, result);
    return importance->of_time ? number / 1000 : 100 * number;
}

struct chart_point *chart_points(const struct study *study,
                                 bool (*place)(const struct result *result, double *x, double *y),
                                 size_t *count)
{
    struct chart_point *points = alloc_zeroed(study->result_count, sizeof *points);
    *count = 0;
    for (size_t i = 0; i < study->result_count; i++) {
        struct chart_point *point = &points[*count];
        point->mark = chart_mark(study, i);
        *count += place(&study->results[i], &point->x, &point->y);
    }
    return points;
}

struct plot_range chart_range(const struct chart_point *points, size_t count, bool of_x)
{
    struct plot_range range = PLOT_RANGE_EMPTY;
    for (size_t i = 0; i < count; i++)
        plot_range_add(&range, of_x ? points[i].x : points[i].y);
    return range;
}

struct plot chart_plot(const struct charts *charts, const struct chart_point *points, size_t count,
                       const char *x_label, const char *y_label)
{
    struct plot plot = {.stream = charts->stream,
                        .x = plot_axis_of(chart_range(points, count, true)),
                        .y = plot_axis_of(chart_range(points, count, false))};
    plot.x.label = x_label;
    plot.y.label = y_label;
    return plot;
}

void chart_scatter(const struct plot *plot, const struct chart_point *points, size_t count)
{
    static const enum colour colours[] = {[CHART_TIE] = COLOUR_tie, [CHART_WINNER] = COLOUR_winner};
    static const double radii[] = {[CHART_TIE] = 3.3, [CHART_WINNER] = 4.2};
    struct plot_point *plain = alloc_zeroed(count, sizeof *plain);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (points[i].mark == CHART_PLAIN)
            plain[kept++] = (struct plot_point){points[i].x, points[i].y};
    plot_dots(plot, plain, kept, COLOUR_dot, count > 300 ? 1.8 : count > 60 ? 2.3 : 2.8);
    free(plain);
    for (int mark = CHART_TIE; mark < CHART_MARK_COUNT; mark++)
        for (size_t i = 0; i < count; i++)
            if ((int)points[i].mark == mark)
                plot_dot(plot, (struct plot_point){points[i].x, points[i].y}, colours[mark],
                         radii[mark]);
}

enum {
    MANY_RANKS = 40,  /* from here on the axis of ranks is logarithmic */
    HEAT_CELLS = 150, /* at most, so that each has room for its number */
};

/* --- sorted times --- */

/* How clear the result is, a new string. */
static char *verdict(const struct study *study, const struct chart_point *points, size_t count)
{
    size_t tied = 0;
    for (size_t i = 0; i < count; i++)
        tied += points[i].mark != CHART_PLAIN;
    if (!study->has_winner)
        return alloc_string("");
    if (tied > 1)
        return alloc_format("%zu of %zu variants tie for first place. ", tied, count);
    return alloc_format("One of %zu variants is clearly the fastest. ", count);
}

/* The measured variants, fastest first. */
static void chart_sorted(const struct charts *charts)
{
    const struct study *study = charts->study;
    char slowdown[2][REPORT_NUMBER_BYTES];
    size_t count = study_count(study, OUTCOME_MEASURED);
    if (count < 2)
        return;
    size_t *ranking = alloc_zeroed(study->result_count, sizeof *ranking);
    struct chart_point *points = alloc_zeroed(count, sizeof *points);
    study_rank(study, ranking); /* measured ones first */
    for (size_t i = 0; i < count; i++)
        points[i] = (struct chart_point){.x = (double)i + 1,
                                         .y = study->results[ranking[i]].time.median_ns / 1000,
                                         .mark = chart_mark(study, ranking[i])};
    struct plot plot = chart_plot(charts, points, count, "rank", "time, µs");
    plot.x = count < MANY_RANKS
                 ? (struct plot_axis){.low = 0.5, .high = (double)count + 0.5, .whole = true}
                 : plot_axis_log((struct plot_range){1, (double)count}, PLOT_LOG10);
    plot.x.label = "rank";
    char *summary = verdict(study, points, count);
    chart_begin(&plot, "All variants, fastest first",
                "%sThe median variant takes %s times as long as the fastest, and the slowest %s "
                "times. Vertical bars are 95 %% confidence intervals of the finalists.",
                summary, report_fixed(points[count / 2].y / points[0].y, 2, slowdown[0]),
                report_fixed(points[count - 1].y / points[0].y, 2, slowdown[1]));
    for (size_t i = 0; i < count; i++) {
        const struct result *result = &study->results[ranking[i]];
        if (result->finalist || i == 0)
            plot_interval(&plot, (double)i + 1, result->time.low_ns / 1000,
                          result->time.high_ns / 1000, COLOUR_tie);
    }
    chart_scatter(&plot, points, count);
    chart_end(&plot);
    free(summary);
    free(points);
    free(ranking);
}

/* --- how the best improved --- */

static bool place_by_time(const struct result *result, double *x, double *y)
{
    *x = result->seen_s;
    *y = result->time.median_ns / 1000;
    return result->outcome == OUTCOME_MEASURED && result->seen_s > 0;
}

static void chart_improvements(const struct charts *charts)
{
    const struct plot_line_style style = {PLOT_STEPS, COLOUR_accent, 1.8, 0};
    const struct study *study = charts->study;
    char seen[REPORT_NUMBER_BYTES];
    size_t count;
    size_t point_count;
    double end_s = 0; /* when the last variant was tried */
    struct improvement *improvements = improvements_of(study, &count);
    if (count < 2) {
        free(improvements);
        return;
    }
    const struct improvement *last = &improvements[count - 1];
    struct chart_point *points = chart_points(study, place_by_time, &point_count);
    for (size_t i = 0; i < study->result_count; i++)
        end_s = fmax(end_s, study->results[i].seen_s);
    struct plot_point *line = alloc_zeroed(count + 1, sizeof *line);
    for (size_t i = 0; i < count; i++)
        line[i] = (struct plot_point){improvements[i].result->seen_s,
                                      improvements[i].result->time.median_ns / 1000};
    line[count] = (struct plot_point){end_s, line[count - 1].y};
    struct plot plot = chart_plot(charts, points, point_count, "seconds of tuning", "time, µs");
    chart_begin(&plot, "Best so far",
                "Every variant at the time it was tried, and the best until then. The last "
                "improvement came after %s seconds, with variant %zu of %zu.",
                report_fixed(last->result->seen_s, 1, seen), last->number, study->result_count);
    chart_scatter(&plot, points, point_count);
    plot_line(&plot, &style, line, count + 1);
    chart_end(&plot);
    free(points);
    free(line);
    free(improvements);
}

/* --- a parameter --- */

/* The texts of a parameter's values, a new array of new strings. */
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
                               const struct parameter_importance *parameter,
                               struct chart_point *points)
{
    const struct study *study = charts->study;
    size_t count = 0;
    for (size_t i = 0; i < study->result_count; i++) {
        const struct result *result = &study->results[i];
        if (!importance_usable(charts->importance, result))
            continue;
        enum chart_mark mark = chart_mark(study, i);
        double shift = mark == CHART_PLAIN ? jitter(i) : 0;
        points[count++] =
            (struct chart_point){.x = (double)parameter_level_of(parameter, result) + shift,
                                 .y = chart_number(charts->importance, result),
                                 .mark = mark};
    }
    return count;
}

static void draw_best_line(const struct plot *plot, const struct charts *charts,
                           const struct parameter_importance *parameter)
{
    const struct plot_line_style style = {.colour = COLOUR_accent, .width = 1.5, .radius = 2.2};
    struct plot_point *best = alloc_zeroed(parameter->level_count, sizeof *best);
    size_t count = 0;
    for (size_t i = 0; i < parameter->level_count; i++) {
        const struct parameter_level *level = &parameter->levels[i];
        if (level->usable > 0)
            best[count++] = (struct plot_point){
                (double)i, chart_number(charts->importance, &charts->study->results[level->best])};
    }
    plot_line(plot, &style, best, count);
    free(best);
}

/* How much the parameter matters and its best value, a new string. */
static char *parameter_caption(const struct charts *charts,
                               const struct parameter_importance *parameter)
{
    size_t best = parameter_best_level(charts->importance, parameter, charts->study);
    char value[VALUE_TEXT_BYTES];
    bool largest;
    bool end = parameter_best_at_end(charts->importance, parameter, charts->study, &largest);
    return alloc_format("Explains %.0f %% of the variance on its own, %.0f %% with its "
                        "interactions, and %.0f %% near the best. %s with %s%s.",
                        100 * parameter->alone, 100 * parameter->total, 100 * parameter->near,
                        charts->importance->of_time ? "Fastest" : "Highest",
                        value_text(parameter->levels[best].value, value),
                        !end      ? ""
                        : largest ? ", the largest value tried; larger values may be better"
                                  : ", the smallest value tried; smaller values may be better");
}

static void chart_parameter(const struct charts *charts,
                            const struct parameter_importance *parameter)
{
    struct chart_point *points = alloc_zeroed(charts->study->result_count, sizeof *points);
    size_t count = collect_by_level(charts, parameter, points);
    char **texts = level_texts(parameter);
    struct plot plot = chart_plot(charts, points, count, parameter->name,
                                  charts->importance->of_time ? "time, µs" : "occupancy, %");
    plot.x = plot_axis_words(texts, parameter->level_count);
    plot.x.label = parameter->name;
    char *title = alloc_format("%s against %s", charts->importance->of_time ? "Time" : "Occupancy",
                               parameter->name);
    char *caption = parameter_caption(charts, parameter);
    chart_begin(&plot, title, "%s", caption);
    draw_best_line(&plot, charts, parameter);
    chart_scatter(&plot, points, count);
    chart_end(&plot);
    free(caption);
    free(title);
    free_texts(texts, parameter->level_count);
    free(points);
}

/* --- the two parameters that matter most --- */

/* The best results of each pair of values. */
struct heat {
    const struct parameter_importance *x;
    const struct parameter_importance *y;
    const struct result **cells; /* x fastest; NULL if there is none */
    size_t count;
    struct plot_range range; /* of the cells' numbers */
};

static void find_best_of_pairs(const struct charts *charts, struct heat *heat)
{
    const struct importance *importance = charts->importance;
    heat->cells = alloc_zeroed(heat->count, sizeof *heat->cells);
    for (size_t i = 0; i < charts->study->result_count; i++) {
        const struct result *result = &charts->study->results[i];
        size_t column = parameter_level_of(heat->x, result);
        size_t row = parameter_level_of(heat->y, result);
        if (!importance_usable(importance, result) || column == heat->x->level_count ||
            row == heat->y->level_count)
            continue;
        const struct result **cell = &heat->cells[row * heat->x->level_count + column];
        if (*cell == NULL || importance_better(importance, importance_number(importance, result),
                                               importance_number(importance, *cell)))
            *cell = result;
    }
    for (size_t i = 0; i < heat->count; i++)
        if (heat->cells[i] != NULL)
            plot_range_add(&heat->range, chart_number(importance, heat->cells[i]));
}

/* 0 for the best, COLOUR_HEAT - 1 for the worst, by ratio. */
static int shade(double number, double best, double worst)
{
    if (!(number > 0 && best > 0 && worst > 0))
        return COLOUR_HEAT - 1;
    double span = log(worst / best);
    double place = span != 0 ? log(number / best) / span : 0;
    return (int)fmin(fmax(place * COLOUR_HEAT, 0), COLOUR_HEAT - 1);
}

static void draw_cells(const struct plot *plot, const struct importance *importance,
                       const struct heat *heat)
{
    enum { DARK_SHADES = 3 };
    double best = importance->of_time ? heat->range.low : heat->range.high;
    double worst = importance->of_time ? heat->range.high : heat->range.low;
    for (size_t i = 0; i < heat->count; i++) {
        char text[REPORT_NUMBER_BYTES];
        if (heat->cells[i] == NULL)
            continue;
        double number = chart_number(importance, heat->cells[i]);
        int shade_index = shade(number, best, worst);
        plot_cell(plot, i % heat->x->level_count, i / heat->x->level_count,
                  (enum colour)(COLOUR_heat0 + shade_index),
                  shade_index < DARK_SHADES ? COLOUR_heattextbest : COLOUR_heattext,
                  importance->of_time ? report_number(number, text)
                                      : report_fixed(number, 0, text));
    }
}

static void draw_heat(const struct charts *charts, const struct heat *heat, struct plot *plot)
{
    const struct study *study = charts->study;
    bool of_time = charts->importance->of_time;
    char *title = alloc_format("Best %s for each %s and %s", of_time ? "time" : "occupancy",
                               heat->x->name, heat->y->name);
    chart_begin(plot, title,
                "The two parameters that matter most, with all others at their best. Numbers are "
                "%s.%s",
                of_time ? "microseconds" : "per cent",
                study->has_winner ? " The winner is framed." : "");
    draw_cells(plot, charts->importance, heat);
    if (study->has_winner)
        plot_frame(plot, parameter_level_of(heat->x, &study->results[study->winner]),
                   parameter_level_of(heat->y, &study->results[study->winner]), COLOUR_winner);
    chart_end(plot);
    free(title);
}

static void chart_heat(const struct charts *charts)
{
    if (charts->importance->count < 2)
        return;
    const struct parameter_importance *x = &charts->importance->items[0];
    const struct parameter_importance *y = &charts->importance->items[1];
    bool swapped = y->level_count > x->level_count; /* the one with more values lies along x */
    struct heat heat = {.x = swapped ? y : x,
                        .y = swapped ? x : y,
                        .count = x->level_count * y->level_count,
                        .range = PLOT_RANGE_EMPTY};
    if (heat.count > HEAT_CELLS)
        return;
    find_best_of_pairs(charts, &heat);
    char **columns = level_texts(heat.x);
    char **rows = level_texts(heat.y);
    struct plot plot = {.stream = charts->stream,
                        .x = plot_axis_words(columns, heat.x->level_count),
                        .y = plot_axis_words(rows, heat.y->level_count)};
    plot.x.label = heat.x->name;
    plot.y.label = heat.y->name;
    draw_heat(charts, &heat, &plot);
    free_texts(columns, heat.x->level_count);
    free_texts(rows, heat.y->level_count);
    free(heat.cells);
}

/* --- all --- */

void html_charts(const struct charts *charts)
{
    const struct importance *importance = charts->importance;
    const struct study *study = charts->study;
    FILE *stream = charts->stream;
    bool ties = false;
    if (importance->usable < 2)
        return;
    for (size_t i = 0; i < study->result_count; i++)
        ties = ties || chart_mark(study, i) == CHART_TIE;
    fprintf(stream, "<ul class=\"legend\">%s%s%s%s</ul>\n<div class=\"charts\">\n",
            study->has_winner ? "<li><i style=\"background:var(--winner)\"></i>the winner</li>"
                              : "",
            ties ? "<li><i style=\"background:var(--tie)\"></i>tied with the winner</li>" : "",
            study->has_winner ? "<li><i style=\"background:var(--dot)\"></i>other variants</li>"
                              : "<li><i style=\"background:var(--dot)\"></i>variants</li>",
            importance->varies ? "<li><i class=\"bar\" style=\"background:var(--accent)\"></i>the "
                                 "best at each value</li>"
                               : "");
    chart_sorted(charts);
    chart_improvements(charts);
    if (importance->varies)
        chart_heat(charts);
    for (size_t i = 0; i < importance->count && importance->varies; i++)
        chart_parameter(charts, &importance->items[i]);
    chart_latency(charts);
    chart_roofline(charts);
    chart_occupancy(charts);
    chart_registers(charts);
    fputs("</div>\n", stream);
}
