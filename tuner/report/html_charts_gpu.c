#include "report/html_charts.h"

#include "base/alloc.h"
#include "record/occupancy.h"
#include "report/plot_axis.h"
#include "report/plot_svg.h"
#include "report/report_text.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    LIMIT_CURVES = 4, /* block sizes whose register limit is drawn */
    MIN_REGISTERS = 16,
    MAX_REGISTERS = 255, /* a thread can have */
};

/* -- roofline -----------------------------------------------------------------------------------
 */

static size_t collect_roofline(const struct study *study, struct point *points)
{
    size_t count = 0;
    for (size_t i = 0; i < study->result_count; i++) {
        const struct result *result = &study->results[i];
        if (result->outcome == OUTCOME_MEASURED && result->time.median_ns > 0 &&
            result->bytes > 0 && result->operations > 0)
            points[count++] =
                (struct point){result->operations / result->bytes,
                               result->operations / result->time.median_ns, chart_mark(study, i)};
    }
    return count;
}

static const char *how(bool was_measured)
{
    return was_measured ? "measured" : "theoretical";
}

/* The bandwidth's name right of its line, half way from the first points to the ridge. */
static void write_roof_labels(FILE *script, const struct roofs *roofs, double x_points,
                              double x_high)
{
    char text[96];
    char number[REPORT_NUMBER_BYTES];
    double ridge = roofs->operations_per_ns / roofs->bytes_per_ns;
    double x = x_points < ridge ? sqrt(x_points * ridge) : ridge / 4;
    (void)snprintf(text, sizeof text, "%s TB/s, %s",
                   report_number(roofs->bytes_per_ns / 1000, number), how(roofs->bytes_measured));
    fputs("set label ", script);
    plot_quote(text, script);
    fprintf(script, " at %.9g,%.9g left offset 0.8,-0.4 textcolor rgb c_limit font ',12'\n", x,
            roofs->bytes_per_ns * x);
    (void)snprintf(text, sizeof text, "%s TFLOP/s, %s",
                   report_number(roofs->operations_per_ns / 1000, number),
                   how(roofs->operations_measured));
    fputs("set label ", script);
    plot_quote(text, script);
    fprintf(script, " at %.9g,%.9g right offset 0,0.6 textcolor rgb c_limit font ',12'\n", x_high,
            roofs->operations_per_ns);
}

static void caption_roofline(struct charts *charts)
{
    const struct study *study = charts->study;
    const struct roofs *roofs = charts->roofs;
    if (!study->has_winner || study->results[study->winner].time.median_ns <= 0) {
        chart_caption(charts, "How far the variants are from what the GPU can do at most.");
        return;
    }
    const struct result *winner = &study->results[study->winner];
    double intensity = winner->operations / winner->bytes;
    bool by_memory = intensity * roofs->bytes_per_ns < roofs->operations_per_ns;
    double rate = winner->operations / winner->time.median_ns;
    double roof = fmin(intensity * roofs->bytes_per_ns, roofs->operations_per_ns);
    char number[REPORT_NUMBER_BYTES];
    char operations[REPORT_NUMBER_BYTES];
    chart_caption(charts,
                  "At %s operation%s a byte the kernel is limited by %s: the winner reaches %s "
                  "%s, %.0f %% of the %s roof.",
                  report_number(intensity, operations), intensity == 1 ? "" : "s",
                  by_memory ? "memory" : "arithmetic",
                  report_number(by_memory ? winner->bytes / winner->time.median_ns : rate, number),
                  by_memory ? "GB/s" : "GFLOP/s", 100 * rate / roof,
                  how(by_memory ? roofs->bytes_measured : roofs->operations_measured));
}

void chart_roofline(struct charts *charts)
{
    const struct study *study = charts->study;
    const struct roofs *roofs = charts->roofs;
    struct point *points = alloc_zeroed(study->result_count, sizeof *points);
    size_t count = collect_roofline(study, points);
    if (count > 0 && roofs->bytes_per_ns > 0 && roofs->operations_per_ns > 0) {
        double ridge = roofs->operations_per_ns / roofs->bytes_per_ns;
        double least = points[0].x;
        double most = points[0].x;
        double low, high;
        for (size_t i = 1; i < count; i++) {
            least = fmin(least, points[i].x);
            most = fmax(most, points[i].x);
        }
        chart_bounds(points, count, &low, &high);
        struct plot_axis x = plot_axis_log(fmin(least, ridge) / 4, fmax(most, ridge) * 8);
        struct plot_axis y = plot_axis_log(fmin(low / 2, x.low * roofs->bytes_per_ns),
                                           fmax(high, roofs->operations_per_ns) * 2);
        FILE *script = chart_begin(charts, "Roofline");
        plot_axis_write(&x, 'x', "operations a byte", script);
        plot_axis_write(&y, 'y', "GFLOP/s", script);
        fprintf(script, "$roof << EOD\n%.9g %.9g\n%.9g %.9g\n%.9g %.9g\nEOD\n", x.low,
                x.low * roofs->bytes_per_ns, ridge, roofs->operations_per_ns, x.high,
                roofs->operations_per_ns);
        write_roof_labels(script, roofs, least, x.high);
        chart_scatter(script, "$roof with lines lw 2 lc rgb c_limit, ", points, count);
        caption_roofline(charts);
    }
    free(points);
}

/* -- occupancy ----------------------------------------------------------------------------------
 */

/* Measured variants with their occupancy; whether it differs goes to `*differs`. */
static size_t collect_occupancy(const struct study *study, struct point *points, bool *differs)
{
    size_t count = 0;
    *differs = false;
    for (size_t i = 0; i < study->result_count; i++) {
        const struct result *result = &study->results[i];
        if (result->outcome != OUTCOME_MEASURED || !result->stats.known)
            continue;
        points[count] = (struct point){100 * result->stats.occupancy, result->time.median_ns / 1000,
                                       chart_mark(study, i)};
        *differs = *differs || points[count].x != points[0].x;
        count++;
    }
    return count;
}

/* The fastest at full occupancy over the fastest of all, for the caption; 0 where there is none. */
static double loss_at_full(const struct point *points, size_t count)
{
    double full = INFINITY;
    double best = INFINITY;
    for (size_t i = 0; i < count; i++) {
        best = fmin(best, points[i].y);
        if (points[i].x > 99.5)
            full = fmin(full, points[i].y);
    }
    return isfinite(full) ? full / best : 0;
}

void chart_occupancy(struct charts *charts)
{
    const struct study *study = charts->study;
    struct point *points = alloc_zeroed(study->result_count, sizeof *points);
    bool differs;
    size_t count = collect_occupancy(study, points, &differs);
    if (count > 1 && differs) {
        double low, high;
        chart_bounds(points, count, &low, &high);
        struct plot_axis x = {.low = 0, .high = 104};
        struct plot_axis y = plot_axis_of(low, high);
        FILE *script = chart_begin(charts, "Time against occupancy");
        plot_axis_write(&x, 'x', "occupancy, %", script);
        plot_axis_write(&y, 'y', "time, µs", script);
        chart_scatter(script, "", points, count);
        double loss = loss_at_full(points, count);
        if (loss > 0 && loss < 1.0005)
            chart_caption(charts, "Resident warps over what an SM can hold. The fastest variant "
                                  "fills the SM.");
        else if (loss > 0)
            chart_caption(charts,
                          "Resident warps over what an SM can hold. The fastest variant that fills "
                          "the SM takes %.3f times as long as the fastest of all.",
                          loss);
        else
            chart_caption(charts,
                          "Resident warps over what an SM can hold. No variant fills the SM.");
    }
    free(points);
}

/* -- registers ----------------------------------------------------------------------------------
 */

/* The block sizes of the variants, the winner's first, then as they come; at most LIMIT_CURVES. */
static size_t collect_blocks(const struct study *study, int blocks[LIMIT_CURVES])
{
    size_t count = 0;
    if (study->has_winner && study->results[study->winner].stats.known)
        blocks[count++] = study->results[study->winner].stats.block_threads;
    for (size_t i = 0; i < study->result_count && count < LIMIT_CURVES; i++) {
        size_t j = 0;
        if (!study->results[i].stats.known)
            continue;
        while (j < count && blocks[j] != study->results[i].stats.block_threads)
            j++;
        if (j == count)
            blocks[count++] = study->results[i].stats.block_threads;
    }
    return count;
}

/* The occupancy that blocks of this size can have at most, by registers alone: its steps. */
static void write_limit(FILE *script, const struct gpu *gpu, int block_threads, size_t index,
                        int least, int most)
{
    double before = -1;
    fprintf(script, "$limit%zu << EOD\n", index);
    for (int registers = least; registers <= most; registers++) {
        struct occupancy_input input = {.block_threads = block_threads, .registers = registers};
        struct occupancy occupancy;
        if (occupancy_compute(gpu, &input, &occupancy, NULL) != 0 ||
            (occupancy.fraction == before && registers < most))
            continue;
        fprintf(script, "%d %.4g\n", registers, 100 * occupancy.fraction);
        before = occupancy.fraction;
    }
    fputs("EOD\n", script);
}

/* The same by the shared memory of `figures` alone, where that is less than all; else 0. */
static double shared_limit(const struct gpu *gpu, const struct kernel_stats *figures)
{
    struct occupancy_input input = {.block_threads = figures->block_threads,
                                    .registers = MIN_REGISTERS,
                                    .static_shared_bytes = figures->static_shared_bytes,
                                    .dynamic_shared_bytes = figures->dynamic_shared_bytes};
    struct occupancy occupancy;
    if (!figures->known || occupancy_compute(gpu, &input, &occupancy, NULL) != 0 ||
        (occupancy.limiters & OCCUPANCY_LIMIT_SHARED) == 0)
        return 0;
    return 100 * occupancy.fraction;
}

static char *limit_clauses(const struct study *study, const int *blocks, size_t count, int most)
{
    char *clauses = alloc_string("");
    double shared = study->has_winner ? shared_limit(&study->environment.gpu,
                                                     &study->results[study->winner].stats)
                                      : 0;
    for (size_t i = 0; i < count; i++) {
        char *longer =
            alloc_format("%s$limit%zu with steps lw %s lc rgb c_series%zu title '%d%s', ", clauses,
                         i, i == 0 ? "2" : "1.3", i, blocks[i], i == 0 ? " threads a block" : "");
        free(clauses);
        clauses = longer;
    }
    if (shared > 0) {
        char *longer = alloc_format("%s[%d:%d] %.4g with lines dt 2 lw 1.5 lc rgb c_limit title "
                                    "'shared memory', ",
                                    clauses, MIN_REGISTERS, most, shared);
        free(clauses);
        clauses = longer;
    }
    return clauses;
}

static size_t collect_registers(const struct study *study, struct point *points, int *least,
                                int *most)
{
    size_t count = 0;
    *least = MIN_REGISTERS;
    *most = 0;
    for (size_t i = 0; i < study->result_count; i++) {
        const struct kernel_stats *figures = &study->results[i].stats;
        if (!figures->known)
            continue;
        points[count++] =
            (struct point){figures->registers, 100 * figures->occupancy, chart_mark(study, i)};
        *least = figures->registers < *least ? figures->registers : *least;
        *most = figures->registers > *most ? figures->registers : *most;
    }
    return count;
}

void chart_registers(struct charts *charts)
{
    const struct study *study = charts->study;
    struct point *points = alloc_zeroed(study->result_count, sizeof *points);
    int blocks[LIMIT_CURVES];
    int least, most;
    size_t count = collect_registers(study, points, &least, &most);
    size_t block_count = collect_blocks(study, blocks);
    if (count > 0) {
        most = most + 24 < 72 ? 72 : most + 24;
        most = most > MAX_REGISTERS ? MAX_REGISTERS : most;
        struct plot_axis x = {.low = least - 2, .high = most};
        struct plot_axis y = {.low = 0, .high = 106};
        FILE *script = chart_begin(charts, "Occupancy against registers");
        plot_axis_write(&x, 'x', "registers a thread", script);
        plot_axis_write(&y, 'y', "occupancy, %", script);
        plot_axis_write_key(strlen("1024 threads a block"), script);
        for (size_t i = 0; i < block_count; i++)
            write_limit(script, &study->environment.gpu, blocks[i], i, least, most);
        char *clauses = limit_clauses(study, blocks, block_count, most);
        chart_scatter(script, clauses, points, count);
        chart_caption(charts,
                      "The lines are the limits that registers set to blocks of so many threads; "
                      "points below them are limited by something else%s.",
                      strstr(clauses, "shared") != NULL ? "; dashed: the winner's shared memory"
                                                        : "");
        free(clauses);
    }
    free(points);
}

/* -- blocks and threads -------------------------------------------------------------------------
 */

/* The word parameter that matters most and has few values: a line for each. NULL: one line. */
static const struct parameter_importance *find_lines(const struct importance *importance)
{
    for (size_t i = 0; i < importance->count; i++)
        if (importance->items[i].levels[0].value.kind == VALUE_WORD &&
            importance->items[i].level_count <= PLOT_SERIES)
            return &importance->items[i];
    return NULL;
}

/* Time of one operation where there are any, otherwise of the whole run, in microseconds. */
static double latency(const struct result *result)
{
    return result->time.median_ns / (result->operations > 0 ? result->operations : 1) / 1000;
}

static int64_t extent(const struct result *result, bool blocks)
{
    return blocks ? result->stats.grid_blocks : result->stats.block_threads;
}

static int ascending(const void *left, const void *right)
{
    const struct point *a = left;
    const struct point *b = right;
    int order = (a->x > b->x) - (a->x < b->x);
    return order != 0 ? order : (a->y > b->y) - (a->y < b->y);
}

/* The best latency at each extent, of the variants of one line (level_count: of all). */
static size_t collect_line(const struct study *study, const struct parameter_importance *lines,
                           size_t level, bool blocks, struct point *points)
{
    size_t all = 0;
    size_t kept = 0;
    for (size_t i = 0; i < study->result_count; i++) {
        const struct result *result = &study->results[i];
        if (result->outcome == OUTCOME_MEASURED && result->stats.known &&
            extent(result, blocks) > 0 &&
            (lines == NULL || parameter_level_of(lines, result) == level))
            points[all++] =
                (struct point){(double)extent(result, blocks), latency(result), MARK_PLAIN};
    }
    if (all > 1)
        qsort(points, all, sizeof *points, ascending);
    for (size_t i = 0; i < all; i++)
        if (kept == 0 || points[i].x > points[kept - 1].x)
            points[kept++] = points[i];
    return kept;
}

static size_t longest_level(const struct parameter_importance *lines)
{
    size_t longest = 0;
    for (size_t i = 0; lines != NULL && i < lines->level_count; i++) {
        char value[VALUE_TEXT_BYTES];
        size_t length = strlen(value_text(lines->levels[i].value, value));
        longest = length > longest ? length : longest;
    }
    return longest;
}

/* `unit` in microseconds. */
static void write_lines(FILE *script, const struct study *study,
                        const struct parameter_importance *lines, bool blocks, double unit,
                        struct point *points)
{
    size_t count = lines != NULL ? lines->level_count : 1;
    char *clauses = alloc_string("");
    for (size_t i = 0; i < count; i++) {
        size_t length = collect_line(study, lines, i, blocks, points);
        char value[VALUE_TEXT_BYTES] = "best";
        if (length == 0)
            continue;
        fprintf(script, "$line%zu << EOD\n", i);
        for (size_t j = 0; j < length; j++)
            fprintf(script, "%.9g %.9g\n", points[j].x, points[j].y / unit);
        fputs("EOD\n", script);
        if (lines != NULL)
            (void)value_text(lines->levels[i].value, value);
        char *longer = alloc_format("%s%s$line%zu with linespoints pt 7 ps 0.6 lw 1.8 lc rgb "
                                    "c_series%zu title '%s'",
                                    clauses, clauses[0] != '\0' ? ", " : "", i, i, value);
        free(clauses);
        clauses = longer;
    }
    fprintf(script, "plot %s\n", clauses);
    free(clauses);
}

static void chart_extent(struct charts *charts, bool blocks, struct point *points)
{
    const struct study *study = charts->study;
    const struct parameter_importance *lines = find_lines(charts->importance);
    size_t count = collect_line(study, NULL, 0, blocks, points);
    if (count < 2)
        return;
    double least = points[0].x;
    double most = points[count - 1].x;
    double low = INFINITY;
    double high = 0;
    size_t levels = lines != NULL ? lines->level_count : 1;
    for (size_t i = 0; i < levels; i++) {
        double line_low, line_high;
        size_t length = collect_line(study, lines, i, blocks, points);
        if (length == 0)
            continue;
        chart_bounds(points, length, &line_low, &line_high);
        low = fmin(low, line_low);
        high = fmax(high, line_high);
    }
    char label[64];
    bool each = study->results[0].operations > 0;
    double unit = high < 1 ? 0.001 : 1;
    struct plot_axis x = plot_axis_log(least, most);
    struct plot_axis y = plot_axis_of(low / unit, high / unit);
    x.binary = true;
    FILE *script =
        chart_begin(charts, blocks ? "Latency against blocks" : "Latency against threads");
    plot_axis_write(&x, 'x', blocks ? "blocks of the grid" : "threads of a block", script);
    (void)snprintf(label, sizeof label, "time%s, %s", each ? " of one operation" : "",
                   unit < 1 ? "ns" : "µs");
    plot_axis_write(&y, 'y', label, script);
    plot_axis_write_key(longest_level(lines), script);
    write_lines(script, study, lines, blocks, unit, points);
    chart_caption(charts, "%s, the best variant at each point%s%s.",
                  each ? "One operation (a round, a barrier)" : "One run",
                  lines != NULL ? ", a line for each " : "", lines != NULL ? lines->name : "");
}

/* For kernels that move no bytes, such as barriers: what they cost is latency. */
void chart_launch(struct charts *charts)
{
    const struct study *study = charts->study;
    for (size_t i = 0; i < study->result_count; i++)
        if (study->results[i].bytes > 0)
            return;
    struct point *points = alloc_zeroed(study->result_count, sizeof *points);
    chart_extent(charts, true, points);
    chart_extent(charts, false, points);
    free(points);
}
