#include "base/alloc.h"
#include "record/gpu.h"
#include "report/charts.h"
#include "report/plot.h"
#include "report/report_text.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

enum {
    LIMIT_CURVES = 4, /* block sizes whose register limit is drawn */
    MIN_REGISTERS = 16,
    MAX_REGISTERS = 255, /* of a thread */
};

/* --- roofline --- */

static bool place_rate(const struct result *result, double *x, double *y)
{
    *x = result->operations / result->bytes;
    *y = result->operations / result->time.median_ns;
    return result->outcome == OUTCOME_MEASURED && result->time.median_ns > 0 && result->bytes > 0 &&
           result->operations > 0;
}

static const char *origin(bool was_measured)
{
    return was_measured ? "measured" : "theoretical";
}

/* The bandwidth's name stands beside its line, half way from the first points to the ridge. */
static void draw_roof_names(const struct plot *plot, const struct roofs *roofs, double least)
{
    char number[REPORT_NUMBER_BYTES];
    double ridge = roofs->operations_per_ns / roofs->bytes_per_ns;
    double x = least < ridge ? sqrt(least * ridge) : ridge / 4;
    char *text = alloc_format("%s TB/s, %s", report_number(roofs->bytes_per_ns / 1000, number),
                              origin(roofs->bytes_measured));
    plot_note(plot, (struct plot_point){x, roofs->bytes_per_ns * x}, PLOT_RIGHT_BELOW, COLOUR_limit,
              text);
    free(text);
    text = alloc_format("%s TFLOP/s, %s", report_number(roofs->operations_per_ns / 1000, number),
                        origin(roofs->operations_measured));
    plot_note(plot, (struct plot_point){plot->x.high, roofs->operations_per_ns}, PLOT_LEFT_ABOVE,
              COLOUR_limit, text);
    free(text);
}

/* Which roof limits the winner, and how near it comes; a new string. */
static char *roofline_caption(const struct study *study, const struct roofs *roofs)
{
    if (!study->has_winner || study->results[study->winner].time.median_ns <= 0)
        return alloc_string("The variants' rates below the limits of the GPU.");
    const struct result *winner = &study->results[study->winner];
    double intensity = winner->operations / winner->bytes;
    double rate = winner->operations / winner->time.median_ns;
    bool by_memory = intensity * roofs->bytes_per_ns < roofs->operations_per_ns;
    double roof = by_memory ? intensity * roofs->bytes_per_ns : roofs->operations_per_ns;
    char operations[REPORT_NUMBER_BYTES], number[REPORT_NUMBER_BYTES];
    return alloc_format(
        "At %s operation%s per byte, %s limits the kernel: the winner reaches %s %s, %.0f %% of "
        "the %s roof.",
        report_number(intensity, operations), intensity == 1 ? "" : "s",
        by_memory ? "memory bandwidth" : "arithmetic",
        report_number(by_memory ? winner->bytes / winner->time.median_ns : rate, number),
        by_memory ? "GB/s" : "GFLOP/s", 100 * rate / roof,
        origin(by_memory ? roofs->bytes_measured : roofs->operations_measured));
}

/* Axes that show the points and the ridge between the roofs. */
static struct plot roofline_plot(const struct charts *charts, struct plot_range x,
                                 struct plot_range y)
{
    const struct roofs *roofs = charts->roofs;
    plot_range_add(&x, roofs->operations_per_ns / roofs->bytes_per_ns);
    x = (struct plot_range){x.low / 4, x.high * 8};
    plot_range_add(&y, x.low * roofs->bytes_per_ns);
    plot_range_add(&y, 2 * roofs->operations_per_ns);
    struct plot plot = {.stream = charts->stream,
                        .x = plot_axis_log(x, PLOT_LOG10),
                        .y = plot_axis_log(y, PLOT_LOG10)};
    plot.x.label = "operations per byte";
    plot.y.label = "GFLOP/s";
    return plot;
}

void chart_roofline(const struct charts *charts)
{
    const struct roofs *roofs = charts->roofs;
    size_t count;
    struct chart_point *points = chart_points(charts->study, place_rate, &count);
    if (count > 0 && roofs->bytes_per_ns > 0 && roofs->operations_per_ns > 0) {
        struct plot_range x = chart_range(points, count, true);
        struct plot plot = roofline_plot(charts, x, chart_range(points, count, false));
        char *caption = roofline_caption(charts->study, roofs);
        chart_begin(&plot, "Roofline", "%s", caption);
        const struct plot_line_style style = {.colour = COLOUR_limit, .width = 2};
        const struct plot_point corners[] = {
            {plot.x.low, plot.x.low * roofs->bytes_per_ns},
            {roofs->operations_per_ns / roofs->bytes_per_ns, roofs->operations_per_ns},
            {plot.x.high, roofs->operations_per_ns},
        };
        plot_line(&plot, &style, corners, sizeof corners / sizeof *corners);
        chart_scatter(&plot, points, count);
        draw_roof_names(&plot, roofs, x.low);
        chart_end(&plot);
        free(caption);
    }
    free(points);
}

/* --- time against occupancy --- */

static bool place_time(const struct result *result, double *x, double *y)
{
    *x = 100 * result->stats.occupancy;
    *y = result->time.median_ns / 1000;
    return result->outcome == OUTCOME_MEASURED && result->stats.known;
}

/* What full occupancy is worth, a new string. */
static char *occupancy_caption(const struct chart_point *points, size_t count)
{
    static const char explanation[] = "Occupancy is the share of an SM's warp slots that are used.";
    char number[REPORT_NUMBER_BYTES];
    double full = INFINITY;
    double best = INFINITY;
    for (size_t i = 0; i < count; i++) {
        best = fmin(best, points[i].y);
        if (points[i].x > 99.5)
            full = fmin(full, points[i].y);
    }
    if (isinf(full))
        return alloc_format("%s No variant reaches full occupancy.", explanation);
    if (full / best < 1.0005)
        return alloc_format("%s The fastest variant has full occupancy.", explanation);
    return alloc_format("%s The fastest variant with full occupancy takes %s times as long as the "
                        "fastest of all.",
                        explanation, report_fixed(full / best, 3, number));
}

void chart_occupancy(const struct charts *charts)
{
    size_t count;
    struct chart_point *points = chart_points(charts->study, place_time, &count);
    struct plot_range x = chart_range(points, count, true);
    if (x.low < x.high) {
        struct plot plot = chart_plot(charts, points, count, "", "time, µs");
        plot.x = (struct plot_axis){.label = "occupancy, %", .low = 0, .high = 104};
        char *caption = occupancy_caption(points, count);
        chart_begin(&plot, "Time against occupancy", "%s", caption);
        chart_scatter(&plot, points, count);
        chart_end(&plot);
        free(caption);
    }
    free(points);
}

/* --- occupancy against registers --- */

/* The limits that are drawn: of blocks of some sizes by their registers, and of the winner by its
 * shared memory. */
struct limits {
    struct plot_key keys[LIMIT_CURVES + 1];
    char *texts[LIMIT_CURVES + 1]; /* of the keys */
    int blocks[LIMIT_CURVES];      /* threads of each size */
    size_t block_count;
    double shared; /* the occupancy that it alone allows, in per cent; 0: no limit */
};

/* The sizes of blocks, the winner's first, then as they come. */
static void add_block(struct limits *limits, const struct kernel_stats *stats)
{
    if (!stats->known || limits->block_count == LIMIT_CURVES)
        return;
    for (size_t i = 0; i < limits->block_count; i++)
        if (limits->blocks[i] == stats->block_threads)
            return;
    limits->blocks[limits->block_count++] = stats->block_threads;
}

static void limits_init(struct limits *limits, const struct study *study)
{
    *limits = (struct limits){.block_count = 0};
    if (study->has_winner) {
        const struct kernel_stats *stats = &study->results[study->winner].stats;
        struct occupancy_input input = {.block_threads = stats->block_threads,
                                        .registers = MIN_REGISTERS,
                                        .static_shared_bytes = stats->static_shared_bytes,
                                        .dynamic_shared_bytes = stats->dynamic_shared_bytes};
        struct occupancy occupancy;
        add_block(limits, stats);
        if (stats->known &&
            occupancy_compute(&study->environment.gpu, &input, &occupancy, NULL) == 0 &&
            (occupancy.limiters & OCCUPANCY_LIMIT_SHARED) != 0)
            limits->shared = 100 * occupancy.fraction;
    }
    for (size_t i = 0; i < study->result_count; i++)
        add_block(limits, &study->results[i].stats);
    for (size_t i = 0; i < limits->block_count; i++) {
        limits->texts[i] =
            alloc_format("%d%s", limits->blocks[i], i == 0 ? " threads per block" : "");
        limits->keys[i] = (struct plot_key){
            limits->texts[i], {PLOT_STEPS, (enum colour)(COLOUR_series0 + i), i == 0 ? 2 : 1.3, 0}};
    }
    if (limits->shared > 0)
        limits->keys[limits->block_count] =
            (struct plot_key){"shared memory", {PLOT_DASHED, COLOUR_limit, 1.5, 0}};
}

/* The occupancy that registers alone allow for blocks of this size. */
static void draw_register_limit(const struct plot *plot, const struct gpu *gpu, int block_threads,
                                const struct plot_line_style *style)
{
    struct plot_point points[MAX_REGISTERS + 1];
    size_t count = 0;
    for (int registers = (int)ceil(plot->x.low); registers <= plot->x.high; registers++) {
        struct occupancy_input input = {.block_threads = block_threads, .registers = registers};
        struct occupancy occupancy;
        if (occupancy_compute(gpu, &input, &occupancy, NULL) != 0)
            continue;
        double per_cent = 100 * occupancy.fraction;
        if (count > 1 && points[count - 1].y == per_cent && points[count - 2].y == per_cent)
            count--; /* the line goes on */
        points[count++] = (struct plot_point){registers, per_cent};
    }
    plot_line(plot, style, points, count);
}

static bool place_registers(const struct result *result, double *x, double *y)
{
    *x = result->stats.registers;
    *y = 100 * result->stats.occupancy;
    return result->stats.known;
}

void chart_registers(const struct charts *charts)
{
    size_t count;
    struct chart_point *points = chart_points(charts->study, place_registers, &count);
    if (count > 0) {
        struct limits limits;
        limits_init(&limits, charts->study);
        struct plot_range x = chart_range(points, count, true);
        struct plot plot = {.stream = charts->stream,
                            .x = {.label = "registers per thread",
                                  .low = fmin(x.low, MIN_REGISTERS) - 2,
                                  .high = fmin(fmax(x.high + 24, 72), MAX_REGISTERS),
                                  .whole = true}, /* shows where the next limits are */
                            .y = {.label = "occupancy, %", .low = 0, .high = 106},
                            .keys = limits.keys,
                            .key_count = limits.block_count + (limits.shared > 0)};
        chart_begin(&plot, "Occupancy against registers",
                    "Lines show the occupancy that registers allow at each block size; variants "
                    "below their line are limited by something else.%s",
                    limits.shared > 0 ? " Dashed: the limit set by the winner's shared memory."
                                      : "");
        for (size_t i = 0; i < limits.block_count; i++)
            draw_register_limit(&plot, &charts->study->environment.gpu, limits.blocks[i],
                                &limits.keys[i].style);
        const struct plot_point ends[] = {{plot.x.low, limits.shared},
                                          {plot.x.high, limits.shared}};
        if (limits.shared > 0)
            plot_line(&plot, &limits.keys[limits.block_count].style, ends, 2);
        chart_scatter(&plot, points, count);
        chart_end(&plot);
        for (size_t i = 0; i < limits.block_count; i++)
            free(limits.texts[i]);
    }
    free(points);
}

/* --- latency against blocks and threads --- */

/* A line of the best variants. */
struct line {
    struct plot_point *points; /* x ascending */
    size_t count;
};

/* The word parameter that matters most and has few values: a line for each. NULL: one line. */
static const struct parameter_importance *find_lines(const struct importance *importance)
{
    for (size_t i = 0; i < importance->count; i++)
        if (importance->items[i].levels[0].value.kind == VALUE_WORD &&
            importance->items[i].level_count <= COLOUR_SERIES)
            return &importance->items[i];
    return NULL;
}

/* The time of one operation if the template counts them, otherwise of the whole run; in ns. */
static double latency_ns(const struct result *result)
{
    return result->time.median_ns / (result->operations > 0 ? result->operations : 1);
}

static int64_t extent(const struct result *result, bool blocks)
{
    return blocks ? result->stats.grid_blocks : result->stats.block_threads;
}

static int ascending(const void *left, const void *right)
{
    const struct plot_point *a = left;
    const struct plot_point *b = right;
    int order = (a->x > b->x) - (a->x < b->x);
    return order != 0 ? order : (a->y > b->y) - (a->y < b->y);
}

/* The best latency at each extent, of variants with `level` of `parameter`; of all if it is NULL. */
static struct line collect_line(const struct study *study,
                                const struct parameter_importance *parameter, size_t level,
                                bool blocks)
{
    struct line line = {.points = alloc_zeroed(study->result_count, sizeof *line.points)};
    size_t all = 0;
    for (size_t i = 0; i < study->result_count; i++) {
        const struct result *result = &study->results[i];
        if (result->outcome == OUTCOME_MEASURED && result->stats.known &&
            extent(result, blocks) > 0 &&
            (parameter == NULL || parameter_level_of(parameter, result) == level))
            line.points[all++] =
                (struct plot_point){(double)extent(result, blocks), latency_ns(result)};
    }
    if (all > 1)
        qsort(line.points, all, sizeof *line.points, ascending);
    for (size_t i = 0; i < all; i++)
        if (line.count == 0 || line.points[i].x > line.points[line.count - 1].x)
            line.points[line.count++] = line.points[i];
    return line;
}

/* The lines of a plot, and their keys if there is a parameter to tell them apart by. */
struct lines {
    struct line items[COLOUR_SERIES];
    struct plot_key keys[COLOUR_SERIES];
    char texts[COLOUR_SERIES][VALUE_TEXT_BYTES]; /* of the keys */
    size_t count;
    struct plot_range x;
    struct plot_range y;
};

static void lines_init(struct lines *lines, const struct study *study,
                       const struct parameter_importance *parameter, bool blocks)
{
    *lines = (struct lines){.x = PLOT_RANGE_EMPTY, .y = PLOT_RANGE_EMPTY};
    size_t levels = parameter != NULL ? parameter->level_count : 1;
    for (size_t level = 0; level < levels; level++) {
        struct line line = collect_line(study, parameter, level, blocks);
        if (line.count == 0) {
            free(line.points);
            continue;
        }
        if (parameter != NULL)
            (void)value_text(parameter->levels[level].value, lines->texts[lines->count]);
        for (size_t i = 0; i < line.count; i++) {
            plot_range_add(&lines->x, line.points[i].x);
            plot_range_add(&lines->y, line.points[i].y);
        }
        lines->keys[lines->count] = (struct plot_key){
            lines->texts[lines->count],
            {PLOT_STRAIGHT, (enum colour)(COLOUR_series0 + level), 1.8, 2.7},
        };
        lines->items[lines->count++] = line;
    }
}

static void draw_latency(const struct charts *charts, struct lines *lines, const char *parameter,
                         bool blocks)
{
    bool of_operation = charts->study->results[0].operations > 0;
    bool in_ns = lines->y.high < 1000;
    for (size_t i = 0; i < lines->count && !in_ns; i++)
        for (size_t j = 0; j < lines->items[i].count; j++)
            lines->items[i].points[j].y /= 1000;
    lines->y.low /= in_ns ? 1 : 1000;
    lines->y.high /= in_ns ? 1 : 1000;
    char *label =
        alloc_format("time%s, %s", of_operation ? " per operation" : "", in_ns ? "ns" : "µs");
    struct plot plot = {.stream = charts->stream,
                        .x = plot_axis_log(lines->x, PLOT_LOG2),
                        .y = plot_axis_of(lines->y),
                        .keys = lines->keys,
                        .key_count = parameter != NULL ? lines->count : 0};
    plot.x.label = blocks ? "blocks in the grid" : "threads per block";
    plot.y.label = label;
    chart_begin(&plot, blocks ? "Latency against blocks" : "Latency against threads",
                "The best time of one %s at each point%s%s.",
                of_operation ? "operation (such as a barrier)" : "run",
                parameter != NULL ? ", with a line for each " : "",
                parameter != NULL ? parameter : "");
    for (size_t i = 0; i < lines->count; i++)
        plot_line(&plot, &lines->keys[i].style, lines->items[i].points, lines->items[i].count);
    chart_end(&plot);
    free(label);
}

void chart_latency(const struct charts *charts)
{
    const struct study *study = charts->study;
    const struct parameter_importance *parameter = find_lines(charts->importance);
    for (size_t i = 0; i < study->result_count; i++)
        if (study->results[i].bytes > 0)
            return;
    for (int blocks = 1; blocks >= 0; blocks--) {
        struct lines lines;
        lines_init(&lines, study, parameter, blocks);
        if (lines.x.low < lines.x.high)
            draw_latency(charts, &lines, parameter != NULL ? parameter->name : NULL, blocks);
        for (size_t i = 0; i < lines.count; i++)
            free(lines.items[i].points);
    }
}
