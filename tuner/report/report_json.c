#include "report/report_formats.h"

#include "base/json_text.h"
#include "record/study.h"
#include "report/analysis.h"
#include "report/columns.h"
#include "report/report_text.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static json_t *limiters_json(unsigned limiters)
{
    json_t *names = json_array();
    for (unsigned bit = 1; bit != 0 && bit <= limiters; bit <<= 1) {
        char name[OCCUPANCY_LIMITER_BYTES];
        if (limiters & bit)
            (void)json_array_append_new(names, json_string(occupancy_limiter_text(bit, name)));
    }
    return names;
}

static json_t *value_json(enum column column, const struct study *study,
                          const struct result *result)
{
    struct column_value value = {0};
    if (!column_value(column, study, result, &value))
        return json_null();
    switch (column_rules[column].kind) {
    case COLUMN_INTEGER:
        return json_integer(value.integer);
    case COLUMN_FLAG:
        return json_boolean(value.integer);
    case COLUMN_TEXT:
        return json_text(value.text);
    default:
        return real_json(value.real);
    }
}

/* The columns of one of the variant's objects. */
static void set_columns(json_t *object, const char *name, const struct study *study,
                        const struct result *result)
{
    for (int i = 0; i < COLUMN_COUNT; i++)
        if (column_rules[i].json != NULL && strcmp(column_rules[i].object, name) == 0)
            set(object, column_rules[i].json, value_json((enum column)i, study, result));
}

static json_t *result_json(const struct study *study, const struct result *result)
{
    const struct result *run = study_run(study, result); /* of a duplicate: its twin */
    json_t *object = json_object();
    json_t *figures = result->stats.known ? json_object() : json_null();
    json_t *time = result->time.count > 0 ? json_object() : json_null();
    json_t *samples = json_array();
    set(object, "parameters", bindings_to_json(&result->parameters));
    set_columns(object, "", study, result);
    set(object, "twin", run != result ? json_integer(run - study->results) : json_null());
    if (result->stats.known) {
        set_columns(figures, "figures", study, result);
        set(figures, "limiters", limiters_json(result->stats.limiters));
    }
    if (result->time.count > 0)
        set_columns(time, "time", study, result);
    set(object, "figures", figures);
    set(object, "time", time);
    for (size_t i = 0; i < result->sample_count; i++)
        (void)json_array_append_new(samples, real_json(result->samples_ns[i]));
    set(object, "samples_ns", samples);
    return object;
}

json_t *report_conditions_json(const struct gpu_conditions *conditions)
{
    if (!conditions->known)
        return json_null();
    json_t *object = json_object();
    set(object, "sm_clock_mhz", real_json(conditions->sm_clock_mhz));
    set(object, "dropped_samples", json_integer((json_int_t)conditions->dropped_samples));
    set(object, "throttled_samples", json_integer((json_int_t)conditions->throttled_samples));
    set(object, "other_processes", json_integer(conditions->other_processes));
    return object;
}

/* How the best time improved; "variant" is an index. */
static json_t *improvements_json(const struct study *study)
{
    size_t count;
    struct improvement *improvements = improvements_of(study, &count);
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++) {
        json_t *object = json_object();
        set(object, "variant", json_integer((json_int_t)(improvements[i].result - study->results)));
        set(object, "number", json_integer((json_int_t)improvements[i].number));
        set(object, "seen_s", real_json(improvements[i].result->seen_s));
        set(object, "median_ns", real_json(improvements[i].result->time.median_ns));
        (void)json_array_append_new(array, object);
    }
    free(improvements);
    return array;
}

static json_t *study_json(const struct study *study)
{
    const struct environment *environment = &study->environment;
    size_t in_vain;
    json_t *object = json_object();
    set(object, "kernel", json_text(study->kernel));
    set(object, "template", json_text(study->template_name));
    set(object, "template_hash", json_text(study->template_hash));
    set(object, "description", json_text(study->description));
    set(object, "problem", bindings_to_json(&study->problem));
    set(object, "mode", json_string(environment->static_mode ? "static" : "measured"));
    set(object, "cache", json_text(study->cache));
    set(object, "gpu", gpu_to_json(&environment->gpu));
    set(object, "nvrtc", json_text(environment->nvrtc));
    set(object, "autotune", json_text(environment->autotune));
    set(object, "tool", environment->tool[0] != '\0' ? json_text(environment->tool) : json_null());
    set(object, "host", json_text(environment->host));
    set(object, "date", json_text(environment->date));
    set(object, "command", json_text(environment->command));
    set(object, "points", json_integer((json_int_t)study->points));
    set(object, "rejected", json_integer((json_int_t)study->rejected));
    set(object, "rejected_estimated", json_boolean(study->rejected_estimated));
    set(object, "estimate", real_json(study_estimate(study, &in_vain)));
    set(object, "improvements", improvements_json(study));
    set(object, "empty_kernel_ns", real_json(study->empty_kernel_ns));
    set(object, "empty_batch_ns",
        study->empty_batch_ns > 0 ? real_json(study->empty_batch_ns) : json_null());
    set(object, "watched", report_conditions_json(&study->conditions));
    set(object, "gpus", study_gpus_to_json(study->gpus, study->gpu_count));
    set(object, "complete", json_boolean(study->complete));
    set(object, "refusal", study->complete ? json_null() : json_text(study->refusal));
    set(object, "winner",
        study->has_winner ? json_integer((json_int_t)study->winner) : json_null());
    json_t *variants = json_array();
    for (size_t i = 0; i < study->result_count; i++)
        (void)json_array_append_new(variants, result_json(study, &study->results[i]));
    set(object, "variants", variants);
    return object;
}

/* An array of studies; "winner" is an index into a study's variants. */
int report_json(FILE *stream, const struct study *studies, size_t count,
                const struct report_options *options, struct error *error)
{
    (void)options;
    (void)error;
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++)
        (void)json_array_append_new(array, study_json(&studies[i]));
    (void)json_dumpf(array, stream, JSON_INDENT(1) | JSON_PRESERVE_ORDER); /* see ferror(stream) */
    fputc('\n', stream);
    json_decref(array);
    return 0;
}
