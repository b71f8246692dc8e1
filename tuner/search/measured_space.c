#include "search/measured_space.h"

#include "base/alloc.h"
#include "base/statistics.h"
#include "base/value.h"
#include "search/t4_file.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* --- lists of values --- */

static bool has_value(const struct value_list *list, struct value value)
{
    for (size_t i = 0; i < list->count; i++)
        if (value_equal(list->values[i], value))
            return true;
    return false;
}

static void add_value(struct value_list *list, struct value value)
{
    if (value.kind == VALUE_WORD) {
        char **word = ARRAY_APPEND(list->words, list->word_count);
        *word = alloc_string(value.as.word);
        value.as.word = *word;
    }
    *ARRAY_APPEND(list->values, list->count) = value;
}

/* Numbers in ascending order; words and booleans stay behind them. */
static int compare_values(const void *a, const void *b)
{
    const struct value *left = a;
    const struct value *right = b;
    if (!number_is(left) || !number_is(right))
        return number_is(right) - number_is(left);
    double difference = number_real(left) - number_real(right);
    return (difference > 0) - (difference < 0);
}

/* --- from a file --- */

static bool same_names(const struct bindings *a, const struct bindings *b)
{
    for (size_t i = 0; i < a->count; i++)
        if (bindings_find(b, a->items[i].name) == NULL)
            return false;
    return a->count == b->count;
}

static int take_parameters(const char *path, const struct t4_file *file,
                           struct measured_space *measured, struct error *error)
{
    const struct bindings *first = &file->results[0].parameters;
    measured->points.dimensions = first->count;
    measured->names = alloc_zeroed(first->count, sizeof *measured->names);
    measured->values = alloc_zeroed(first->count, sizeof *measured->values);
    for (size_t i = 0; i < first->count; i++)
        measured->names[i] = alloc_string(first->items[i].name);
    for (size_t r = 0; r < file->count; r++) {
        const struct bindings *parameters = &file->results[r].parameters;
        if (!same_names(first, parameters))
            return error_set_at(error, ERROR_CONFIG, path, 0,
                                "result %zu has other parameters than result 1", r + 1);
        for (size_t i = 0; i < first->count; i++) {
            const struct value *value = bindings_find(parameters, measured->names[i]);
            if (!has_value(&measured->values[i], *value))
                add_value(&measured->values[i], *value);
        }
    }
    for (size_t i = 0; i < first->count; i++)
        qsort(measured->values[i].values, measured->values[i].count,
              sizeof *measured->values[i].values, compare_values);
    return 0;
}

static void take_points(const struct t4_file *file, struct measured_space *measured)
{
    size_t dimensions = measured->points.dimensions;
    uint32_t *point = alloc_zeroed(dimensions, sizeof *point);
    struct search_space *space = search_space_of_points(
        dimensions, (const char *const *)measured->names, measured->values, NULL, 0);
    for (size_t i = 0; i < file->count; i++) {
        (void)search_space_point(space, &file->results[i].parameters, point); /* it has them all */
        if (point_table_find(&measured->points, point) != POINT_NONE)
            continue;
        size_t count = point_table_add(&measured->points, point);
        *ARRAY_APPEND(measured->times_ns, count) = file->results[i].time_ns;
    }
    search_space_free(space);
    free(point);
    measured->space =
        search_space_of_points(dimensions, (const char *const *)measured->names, measured->values,
                               measured->points.points, measured->points.count);
}

/* False if every point failed. */
static bool summarise(struct measured_space *measured)
{
    size_t count = 0;
    double *times = alloc_zeroed(measured->points.count, sizeof *times);
    for (size_t i = 0; i < measured->points.count; i++)
        if (isfinite(measured->times_ns[i]))
            times[count++] = measured->times_ns[i];
    statistics_sort(times, count);
    if (count > 0) {
        measured->optimum_ns = times[0];
        measured->median_ns = statistics_quantile(times, count, 0.5);
    }
    free(times);
    return count > 0;
}

int measured_space_read(const char *path, struct measured_space *measured, struct error *error)
{
    struct t4_file file;
    *measured = (struct measured_space){0};
    int status = t4_file_read(path, &file, error);
    if (status != 0)
        return status;
    if (file.count > 0)
        status = take_parameters(path, &file, measured, error);
    if (file.count > 0 && status == 0)
        take_points(&file, measured);
    if (status == 0 && (file.count == 0 || !summarise(measured)))
        status =
            error_set_at(error, ERROR_CONFIG, path, 0, "no result is correct; leave out this file");
    t4_file_release(&file);
    if (status != 0)
        measured_space_release(measured);
    return status;
}

void measured_space_release(struct measured_space *measured)
{
    for (size_t i = 0; i < measured->points.dimensions; i++) {
        free(measured->names[i]);
        value_list_release(&measured->values[i]);
    }
    free(measured->names);
    free(measured->values);
    free(measured->times_ns);
    point_table_release(&measured->points);
    search_space_free(measured->space);
    *measured = (struct measured_space){0};
}

double measured_space_time(const struct measured_space *measured, const uint32_t *point)
{
    return measured->times_ns[point_table_find(&measured->points, point)];
}
