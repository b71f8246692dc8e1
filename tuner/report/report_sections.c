#include "report/report_formats.h"

#include "base/alloc.h"
#include "base/text_table.h"
#include "record/occupancy.h"
#include "report/parameter_importance.h"
#include "report/report_headroom.h"
#include "report/report_text.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

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

static void cell_integer(struct text_table *table, int64_t integer)
{
    char buffer[REPORT_NUMBER_BYTES];
    (void)snprintf(buffer, sizeof buffer, "%" PRId64, integer);
    text_table_cell(table, buffer);
}

static void cell_percent(struct text_table *table, double fraction, int decimals)
{
    char buffer[REPORT_NUMBER_BYTES];
    (void)snprintf(buffer, sizeof buffer, "%.*f", decimals, 100 * fraction);
    text_table_cell(table, buffer);
}

static void add_headroom(struct text_table *table, const struct kernel_stats *stats,
                         const char *steps)
{
    char limiters[OCCUPANCY_LIMITER_BYTES];
    cell_integer(table, stats->block_threads);
    cell_integer(table, stats->registers);
    cell_integer(table, stats->static_shared_bytes + stats->dynamic_shared_bytes);
    cell_integer(table, stats->blocks_per_sm);
    cell_percent(table, stats->occupancy, 0);
    text_table_cell(table, occupancy_limiter_text(stats->limiters, limiters));
    text_table_cell(table, steps[0] != '\0' ? steps : "no single change");
}

static struct text_table *headroom_table(void)
{
    struct text_table *table = text_table_new();
    text_table_column(table, "threads /block", TABLE_RIGHT);
    text_table_column(table, "regs", TABLE_RIGHT);
    text_table_column(table, "shared B", TABLE_RIGHT);
    text_table_column(table, "blocks /SM", TABLE_RIGHT);
    text_table_column(table, "occ. %", TABLE_RIGHT);
    text_table_column(table, "limited by", TABLE_LEFT);
    text_table_column(table, "more occupancy with", TABLE_LEFT);
    return table;
}

void report_headroom(FILE *stream, const struct study *study, const size_t *ranking, size_t count)
{
    struct text_table *table = headroom_table();
    size_t rows = 0;
    size_t more = 0;
    for (size_t i = 0; i < count; i++) {
        const struct kernel_stats *stats = &study->results[ranking[i]].stats;
        struct headroom headroom;
        char steps[HEADROOM_TEXT_BYTES];
        if (!stats->known || stats->occupancy > 1 - 1e-9 || is_repeated(study, ranking, i))
            continue;
        if (rows == HEADROOM_ROWS) {
            more++;
            continue;
        }
        headroom_find(&study->environment.gpu, stats, &headroom);
        add_headroom(table, stats, headroom_text(&headroom, steps));
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

void report_importance(FILE *stream, const struct study *study)
{
    struct importance importance;
    importance_find(study, &importance);
    if (importance.count > 0 && importance.varies) {
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
            cell_percent(table, importance.items[i].alone, 1);
            cell_percent(table, importance.items[i].total, 1);
            cell_percent(table, importance.items[i].near, 1);
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
