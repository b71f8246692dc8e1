#include "report/report_formats.h"

#include "base/json_text.h"
#include "report/report_text.h"

#include <jansson.h>
#include <math.h>

static const double NS_PER_MS = 1e6;

/* "correct", "compile", "runtime", "timeout", "correctness" or "constraints". */
static const char *t4_invalidity(enum outcome outcome)
{
    static const char *const names[OUTCOME_COUNT] = {
        [OUTCOME_MEASURED] = "correct",         [OUTCOME_COMPILED] = "correct",
        [OUTCOME_INVALID] = "constraints",      [OUTCOME_CONSTRAINT] = "constraints",
        [OUTCOME_COMPILE_ERROR] = "compile",    [OUTCOME_LOAD_ERROR] = "runtime",
        [OUTCOME_NOT_RESIDENT] = "constraints", [OUTCOME_WRONG_RESULT] = "correctness",
        [OUTCOME_LAUNCH_ERROR] = "runtime",     [OUTCOME_FAULT] = "runtime",
        [OUTCOME_TIMEOUT] = "timeout",          [OUTCOME_DUPLICATE] = "constraints", /* no twin */
    };
    return names[outcome];
}

static void add(json_t *measurements, const char *name, json_t *value, const char *unit)
{
    json_t *measurement = json_object();
    set(measurement, "name", json_string(name));
    set(measurement, "value", value);
    set(measurement, "unit", json_string(unit));
    (void)json_array_append_new(measurements, measurement);
}

/* Work over time; nothing if either is unknown. */
static void add_rate(json_t *measurements, const char *name, double work, double time_ns,
                     const char *unit)
{
    if (work > 0 && time_ns > 0 && isfinite(work / time_ns))
        add(measurements, name, json_real(work / time_ns), unit);
}

/* The objective comes first. If there is no time, the outcome takes its place, as in the files of
 * other tuners. */
static json_t *measurements_json(const struct result *result)
{
    json_t *measurements = json_array();
    double time_ns = result->time.median_ns;
    if (result->outcome == OUTCOME_MEASURED) {
        add(measurements, "time", json_real(time_ns / NS_PER_MS), "ms");
        add_rate(measurements, "bandwidth", result->bytes, time_ns, "GB/s");
        add_rate(measurements, "throughput", result->operations, time_ns, "GFLOP/s");
        if (result->runs > 1)
            add(measurements, "runs_per_sample", json_integer(result->runs), "");
    } else {
        add(measurements, "time", json_string(outcome_name(result->outcome)), "ms");
        if (result->reason != NULL)
            add(measurements, "reason", json_text(result->reason), "");
    }
    const struct kernel_stats *stats = &result->stats;
    if (stats->known) {
        add(measurements, "registers", json_integer(stats->registers), "");
        add(measurements, "spills", json_integer(stats->spill_bytes), "bytes");
        add(measurements, "shared_memory",
            json_integer(stats->static_shared_bytes + stats->dynamic_shared_bytes), "bytes");
        add(measurements, "blocks_per_sm", json_integer(stats->blocks_per_sm), "");
        add(measurements, "occupancy", json_real(stats->occupancy), "");
    }
    return measurements;
}

static json_t *result_json(const struct study *study, const struct result *result)
{
    json_t *object = json_object();
    const struct result *run = study_run(study, result);
    json_t *measurements = measurements_json(run);
    json_t *runtimes = json_array();
    for (size_t i = 0; i < run->sample_count; i++)
        if (isfinite(run->samples_ns[i]))
            (void)json_array_append_new(runtimes, json_real(run->samples_ns[i] / NS_PER_MS));
    if (run != result)
        add(measurements, "duplicate_of", json_text(result->reason), "");
    set(object, "timestamp", json_string(study->environment.date));
    set(object, "configuration", bindings_to_json(&result->parameters));
    set(object, "objectives", json_pack("[s]", "time"));
    set(object, "times", json_pack("{s:o}", "runtimes", runtimes));
    set(object, "invalidity", json_string(t4_invalidity(run->outcome)));
    set(object, "correctness", json_integer(run->outcome == OUTCOME_MEASURED));
    set(object, "measurements", measurements);
    return object;
}

static json_t *metadata_json(const struct study *study)
{
    const struct environment *environment = &study->environment;
    json_t *object = json_object();
    if (environment->tool[0] != '\0') { /* another tool, of which less is known */
        set(object, "autotuner", json_text(environment->tool));
    } else {
        char platform[48];
        (void)snprintf(platform, sizeof platform, "CUDA %s", environment->gpu.driver);
        set(object, "compute_api", json_string("CUDA"));
        set(object, "platform", json_text(platform));
        set(object, "autotuner", json_string("autotune"));
        set(object, "autotuner_version", json_text(environment->autotune));
    }
    set(object, "device", json_text(environment->gpu.name));
    set(object, "timestamp", json_string(environment->date));
    set(object, "timeunit", json_string("milliseconds"));
    set(object, "kernel", json_text(study->kernel));
    set(object, "problem", bindings_to_json(&study->problem));
    if (study->cache[0] != '\0')
        set(object, "cache", json_text(study->cache));
    if (study->conditions.known)
        set(object, "watched", report_conditions_json(&study->conditions));
    return object;
}

int report_t4(FILE *stream, const struct study *studies, size_t count,
              const struct report_options *options, struct error *error)
{
    (void)options;
    size_t printed = 0;
    for (size_t i = 0; i < count; i++) {
        if (studies[i].environment.static_mode)
            continue;
        json_t *object = json_object();
        json_t *results = json_array();
        set(object, "schema_version", json_string("1.0.0"));
        set(object, "metadata", metadata_json(&studies[i]));
        for (size_t j = 0; j < studies[i].result_count; j++)
            (void)json_array_append_new(results, result_json(&studies[i], &studies[i].results[j]));
        set(object, "results", results);
        /* failures: see ferror() */
        (void)json_dumpf(object, stream,
                         JSON_COMPACT | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(9));
        fputc('\n', stream);
        json_decref(object);
        printed++;
    }
    if (printed == 0)
        return error_set(error, ERROR_USAGE,
                         "T4 needs variants that were run, and none was; for static mode choose "
                         "table, csv, json or html");
    return 0;
}
