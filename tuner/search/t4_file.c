#include "search/t4_file.h"

#include "base/alloc.h"
#include "base/json_text.h"
#include "base/statistics.h"

#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Where a message belongs: a file, and one of its results. */
struct place {
    const char *path;
    size_t index;
};

static int refuse(struct place place, const char *reason, struct error *error)
{
    return error_set_at(error, ERROR_CONFIG, place.path, 0, "result %zu: %s", place.index + 1,
                        reason);
}

/* --- times --- */

static const struct unit {
    const char *name;
    double ns;
} units[] = {
    {"ms", 1e6}, {"milliseconds", 1e6}, {"s", 1e9},  {"seconds", 1e9},
    {"us", 1e3}, {"microseconds", 1e3}, {"ns", 1.0}, {"nanoseconds", 1.0},
};

/* The unit's nanoseconds; `otherwise` for "" or NULL, 0 for a unit that is unknown. */
static double unit_ns(const char *name, double otherwise)
{
    if (name == NULL || name[0] == '\0')
        return otherwise;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(units[i].name, name) == 0)
            return units[i].ns;
    return 0;
}

/* The median of the run times in the file's unit, 0 if there are none. */
static double median_of_runs(const json_t *result)
{
    const json_t *runs = json_object_get(json_object_get(result, "times"), "runtimes");
    size_t count = json_array_size(runs);
    if (count == 0)
        return 0;
    double *times = alloc_zeroed(count, sizeof *times);
    for (size_t i = 0; i < count; i++)
        times[i] = json_number_value(json_array_get(runs, i));
    double median = statistics_median(times, count);
    free(times);
    return median;
}

static int read_time(const json_t *object, double file_unit_ns, struct place place,
                     struct t4_result *result, struct error *error)
{
    const json_t *measurements = json_object_get(object, "measurements");
    const json_t *measurement = NULL; /* of the time */
    for (size_t i = json_array_size(measurements); i-- > 0;) {
        const json_t *other = json_array_get(measurements, i);
        const char *name = json_string_value(json_object_get(other, "name"));
        if (name != NULL && strcmp(name, "time") == 0)
            measurement = other;
    }
    const json_t *value = json_object_get(measurement, "value");
    const char *unit = json_string_value(json_object_get(measurement, "unit"));
    double median = median_of_runs(object);
    if (json_is_number(value))
        result->time_ns = json_number_value(value) * unit_ns(unit, file_unit_ns);
    else if (json_is_string(value) && median == 0) /* the name of a failure */
        return 0;
    else
        result->time_ns = median * file_unit_ns;
    if (!isfinite(result->time_ns) || result->time_ns <= 0)
        return refuse(place,
                      "a correct result needs a time above 0: the measurement 'time', in s, "
                      "ms, us or ns, or run times",
                      error);
    return 0;
}

/* --- the file --- */

static int read_result(const json_t *object, double file_unit_ns, struct place place,
                       struct t4_result *result, struct error *error)
{
    const json_t *configuration = json_object_get(object, "configuration");
    struct error inner;
    result->time_ns = INFINITY;
    result->invalidity = json_string_value(json_object_get(object, "invalidity"));
    if (!json_is_object(configuration))
        return refuse(place, "the object 'configuration' is missing", error);
    if (result->invalidity == NULL)
        return refuse(place, "the text 'invalidity' is missing", error);
    if (bindings_from_json(&result->parameters, configuration, &inner) != 0)
        return refuse(place, inner.message, error);
    if (strcmp(result->invalidity, "correct") != 0)
        return 0;
    return read_time(object, file_unit_ns, place, result, error);
}

static int read_results(const char *path, struct t4_file *file, struct error *error)
{
    const json_t *results = json_object_get(file->json, "results");
    const json_t *metadata = json_object_get(file->json, "metadata");
    const char *unit = json_string_value(json_object_get(metadata, "timeunit"));
    double file_unit_ns = unit_ns(unit, units[0].ns);
    if (!json_is_array(results))
        return error_set_at(error, ERROR_CONFIG, path, 0,
                            "not a T4 results file: the array 'results' is missing");
    if (file_unit_ns == 0)
        return error_set_at(error, ERROR_CONFIG, path, 0, "unknown timeunit '%s'; use milliseconds",
                            unit);
    for (size_t i = 0; i < json_array_size(results); i++) {
        struct t4_result *result = ARRAY_APPEND(file->results, file->count);
        int status = read_result(json_array_get(results, i), file_unit_ns, (struct place){path, i},
                                 result, error);
        if (status != 0)
            return status;
    }
    return 0;
}

/* Texts of a stranger end up on terminals: control characters become spaces. A new string. */
static char *printable(const char *text)
{
    char *copy = alloc_string(text);
    for (char *at = copy; *at != '\0'; at++)
        if ((unsigned char)*at < ' ' || *at == 127)
            *at = ' ';
    return copy;
}

/* A copy in which all texts and names are printable. */
/* NOLINTNEXTLINE(misc-no-recursion): jansson limits the depth */
static json_t *printable_json(json_t *json)
{
    const char *key;
    size_t index;
    json_t *value;
    if (json_is_string(json)) {
        char *text = printable(json_string_value(json));
        json_t *string = json_string(text);
        free(text);
        return string;
    }
    if (!json_is_object(json) && !json_is_array(json))
        return json_incref(json);
    json_t *copy = json_is_object(json) ? json_object() : json_array();
    json_object_foreach(json, key, value)
    {
        char *name = printable(key);
        (void)json_object_set_new(copy, name, printable_json(value));
        free(name);
    }
    json_array_foreach(json, index, value)
    {
        (void)json_array_append_new(copy, printable_json(value));
    }
    return copy;
}

int t4_file_read(const char *path, struct t4_file *file, struct error *error)
{
    *file = (struct t4_file){0};
    json_t *json;
    int status = json_read_file(path, &json, error);
    if (status == 0) {
        file->json = printable_json(json);
        json_decref(json);
        status = read_results(path, file, error);
    }
    if (status != 0)
        t4_file_release(file);
    return status;
}

void t4_file_release(struct t4_file *file)
{
    for (size_t i = 0; i < file->count; i++)
        bindings_release(&file->results[i].parameters);
    free(file->results);
    json_decref(file->json);
    *file = (struct t4_file){0};
}
