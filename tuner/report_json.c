#include "report_formats.h"

#include "alloc.h"
#include "occupancy.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>

/* Text from compilers and drivers may not be UTF-8, or be cut within a letter: then '?' stands in
 * for every byte beyond ASCII. NULL becomes null. */
static json_t *text_json(const char *text)
{
    if (text == NULL)
        return json_null();
    json_t *json = json_string(text);
    if (json != NULL)
        return json;
    char *plain = alloc_string(text);
    for (char *next = plain; *next != '\0'; next++)
        if ((unsigned char)*next >= 0x80)
            *next = '?';
    json = json_string(plain);
    free(plain);
    return json;
}

static json_t *real_json(double real)
{
    return isfinite(real) ? json_real(real) : json_null();
}

static void set(json_t *object, const char *name, json_t *value)
{
    (void)json_object_set_new(object, name, value); /* fails for lack of memory only */
}

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

static json_t *figures_json(const struct figures *figures)
{
    if (!figures->known)
        return json_null();
    json_t *object = json_object();
    set(object, "registers", json_integer(figures->registers));
    set(object, "spill_bytes", json_integer(figures->spill_bytes));
    set(object, "stack_bytes", json_integer(figures->stack_bytes));
    set(object, "static_shared_bytes", json_integer(figures->static_shared_bytes));
    set(object, "dynamic_shared_bytes", json_integer(figures->dynamic_shared_bytes));
    set(object, "block_threads", json_integer(figures->block_threads));
    set(object, "grid_blocks",
        figures->grid_blocks > 0 ? json_integer(figures->grid_blocks) : json_null());
    set(object, "blocks_per_sm", json_integer(figures->blocks_per_sm));
    set(object, "occupancy", real_json(figures->occupancy));
    set(object, "limiters", limiters_json(figures->limiters));
    return object;
}

static json_t *time_json(const struct summary *time)
{
    if (time->count == 0)
        return json_null();
    json_t *object = json_object();
    set(object, "samples", json_integer((json_int_t)time->count));
    set(object, "median_ns", real_json(time->median_ns));
    set(object, "low_ns", real_json(time->low_ns));
    set(object, "high_ns", real_json(time->high_ns));
    set(object, "minimum_ns", real_json(time->minimum_ns));
    set(object, "relative_iqr", real_json(time->relative_iqr));
    return object;
}

static json_t *result_json(const struct result *result)
{
    json_t *object = json_object();
    set(object, "parameters", bindings_to_json(&result->parameters));
    set(object, "outcome", json_string(outcome_name(result->outcome)));
    set(object, "reason", text_json(result->reason));
    set(object, "figures", figures_json(&result->figures));
    set(object, "time", time_json(&result->time));
    set(object, "bytes", real_json(result->bytes));
    set(object, "operations", real_json(result->operations));
    set(object, "finalist", json_boolean(result->finalist));
    set(object, "tied", json_boolean(result->tied));
    json_t *samples = json_array();
    for (size_t i = 0; i < result->sample_count; i++)
        (void)json_array_append_new(samples, real_json(result->samples_ns[i]));
    set(object, "samples_ns", samples);
    return object;
}

static json_t *study_json(const struct study *study)
{
    const struct environment *environment = &study->environment;
    json_t *object = json_object();
    set(object, "kernel", text_json(study->kernel));
    set(object, "template", text_json(study->template_name));
    set(object, "template_hash", text_json(study->template_hash));
    set(object, "description", text_json(study->description));
    set(object, "problem", bindings_to_json(&study->problem));
    set(object, "mode", json_string(environment->static_mode ? "static" : "measured"));
    set(object, "cache", text_json(study->cache));
    set(object, "gpu", gpu_to_json(&environment->gpu));
    set(object, "nvrtc", text_json(environment->nvrtc));
    set(object, "autotune", text_json(environment->autotune));
    set(object, "host", text_json(environment->host));
    set(object, "date", text_json(environment->date));
    set(object, "command", text_json(environment->command));
    set(object, "points", json_integer((json_int_t)study->points));
    set(object, "rejected", json_integer((json_int_t)study->rejected));
    set(object, "empty_kernel_ns", real_json(study->empty_kernel_ns));
    set(object, "complete", json_boolean(study->complete));
    set(object, "winner",
        study->has_winner ? json_integer((json_int_t)study->winner) : json_null());
    json_t *variants = json_array();
    for (size_t i = 0; i < study->result_count; i++)
        (void)json_array_append_new(variants, result_json(&study->results[i]));
    set(object, "variants", variants);
    return object;
}

/* An array of studies; "winner" is an index into a study's variants. */
void report_json(FILE *stream, const struct study *studies, size_t count, size_t top)
{
    (void)top; /* a program reads this: always every variant */
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++)
        (void)json_array_append_new(array, study_json(&studies[i]));
    (void)json_dumpf(array, stream, JSON_INDENT(1) | JSON_PRESERVE_ORDER); /* see ferror(stream) */
    fputc('\n', stream);
    json_decref(array);
}
