#include "exchange/t4_study.h"

#include "base/alloc.h"
#include "search/t4_file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double NS_PER_MS = 1e6;

static const char *text_of(const json_t *json, const char *member)
{
    return json_string_value(json_object_get(json, member));
}

/* --- where it was measured --- */

/* What the user says, else the metadata's `member`. */
static int take_text(const char *path, const char *stated, const json_t *metadata,
                     const char *member, const char *option, const char **text, struct error *error)
{
    *text = stated != NULL ? stated : text_of(metadata, member);
    if (*text != NULL && (*text)[0] != '\0')
        return 0;
    return error_set(error, ERROR_USAGE, "'%s' does not say which %s; add %s", path,
                     strcmp(member, "autotuner") == 0 ? "tool measured it"
                     : strcmp(member, "device") == 0  ? "GPU it is about"
                                                      : "kernel it is about",
                     option);
}

/* A GPU that autotune knows by name has an architecture; nothing else is known of one. */
static void name_gpu(struct gpu *gpu, const char *name)
{
    (void)snprintf(gpu->name, sizeof gpu->name, "%s", name);
    for (int capability = 50; capability < 200; capability++) {
        char arch[16];
        struct gpu known;
        (void)snprintf(arch, sizeof arch, "sm_%d", capability);
        if (gpu_from_arch(arch, &known, NULL) == 0 && strcmp(known.name, gpu->name) == 0) {
            (void)snprintf(gpu->arch, sizeof gpu->arch, "%s", known.arch);
            gpu->compute_capability = known.compute_capability;
        }
    }
}

static int read_origin(const char *path, const struct t4_origin *origin, const json_t *json,
                       struct study *study, struct error *error)
{
    const json_t *metadata = json_object_get(json, "metadata");
    const json_t *first = json_array_get(json_object_get(json, "results"), 0);
    const char *date = text_of(metadata, "timestamp");
    const char *cache = text_of(metadata, "cache");
    const char *kernel = NULL;
    const char *tool = NULL;
    const char *gpu = NULL;
    int status =
        take_text(path, origin->kernel, metadata, "kernel", "--kernel NAME", &kernel, error);
    if (status == 0)
        status = take_text(path, origin->tool, metadata, "autotuner", "--tool \"Kernel Tuner\"",
                           &tool, error);
    if (status == 0)
        status =
            take_text(path, origin->gpu, metadata, "device", "--gpu \"NVIDIA H200\"", &gpu, error);
    if (status != 0)
        return status;
    struct environment *environment = &study->environment;
    name_gpu(&environment->gpu, gpu);
    date = date != NULL ? date : text_of(first, "timestamp");
    (void)snprintf(environment->tool, sizeof environment->tool, "%s", tool);
    (void)snprintf(environment->date, sizeof environment->date, "%s", date != NULL ? date : "");
    (void)snprintf(study->cache, sizeof study->cache, "%s", cache != NULL ? cache : "");
    study->kernel = alloc_string(kernel);
    study->template_name = alloc_string(kernel);
    study->template_hash = alloc_string("");
    const json_t *problem = json_object_get(metadata, "problem");
    return json_is_object(problem) ? bindings_from_json(&study->problem, problem, error) : 0;
}

/* --- results --- */

/* The `member` of the measurement `name`, if it is a text; NULL: there is none. The value of "time" is a
 * text if there is no time. */
static const char *measured_text(const json_t *result, const char *name, const char *member)
{
    const json_t *list = json_object_get(result, "measurements");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *is = text_of(json_array_get(list, i), "name");
        if (is != NULL && strcmp(is, name) == 0)
            return text_of(json_array_get(list, i), member);
    }
    return NULL;
}

/* Tools that measure with autotune's outcomes say which in place of the time. */
static enum outcome outcome_of(const char *invalidity, const char *time)
{
    static const struct {
        const char *invalidity;
        enum outcome outcome;
    } outcomes[] = {
        {"correct", OUTCOME_MEASURED},       {"compile", OUTCOME_COMPILE_ERROR},
        {"timeout", OUTCOME_TIMEOUT},        {"correctness", OUTCOME_WRONG_RESULT},
        {"constraints", OUTCOME_CONSTRAINT},
    };
    int named = time != NULL ? outcome_from_name(time) : -1;
    if (named >= 0)
        return (enum outcome)named;
    for (size_t i = 0; i < sizeof outcomes / sizeof *outcomes; i++)
        if (strcmp(outcomes[i].invalidity, invalidity) == 0)
            return outcomes[i].outcome;
    return OUTCOME_LAUNCH_ERROR; /* "runtime" */
}

/* Run times in milliseconds, the format's unit; none if there is another unit. */
static void read_samples(const json_t *result, const char *unit, struct result *into)
{
    const json_t *runs = json_object_get(json_object_get(result, "times"), "runtimes");
    if (unit != NULL && unit[0] != '\0' && strcmp(unit, "milliseconds") != 0 &&
        strcmp(unit, "ms") != 0)
        return;
    for (size_t i = 0; i < json_array_size(runs); i++) {
        double time = json_number_value(json_array_get(runs, i)) * NS_PER_MS;
        if (isfinite(time) && time > 0)
            *ARRAY_APPEND(into->samples_ns, into->sample_count) = time;
    }
}

static void read_result(const struct t4_result *from, const json_t *json, const char *unit,
                        struct result *result)
{
    const char *time = measured_text(json, "time", "value");
    const char *reason = measured_text(json, "reason", "value");
    bindings_copy(&result->parameters, &from->parameters);
    result->outcome = outcome_of(from->invalidity, time);
    if (!isfinite(from->time_ns)) {
        if (result->outcome == OUTCOME_MEASURED) /* "correct", but with a word for a time */
            result->outcome = OUTCOME_LAUNCH_ERROR;
        reason = reason != NULL ? reason : time;
        result->reason = alloc_string(reason != NULL ? reason : from->invalidity);
        return;
    }
    result->outcome = OUTCOME_MEASURED;
    result->runs = 1;
    read_samples(json, unit != NULL ? unit : measured_text(json, "time", "unit"), result);
    if (result->sample_count == 0)
        *ARRAY_APPEND(result->samples_ns, result->sample_count) = from->time_ns;
    result->time = statistics_summarise(result->samples_ns, result->sample_count);
}

int t4_study_read(const char *path, const struct t4_origin *origin, struct study *study,
                  struct error *error)
{
    struct t4_file file;
    *study = (struct study){.complete = true};
    int status = t4_file_read(path, &file, error);
    if (status != 0)
        return status;
    const json_t *results = json_object_get(file.json, "results");
    const char *unit = text_of(json_object_get(file.json, "metadata"), "timeunit");
    status = read_origin(path, origin, file.json, study, error);
    for (size_t i = 0; i < file.count && status == 0; i++)
        read_result(&file.results[i], json_array_get(results, i), unit,
                    ARRAY_APPEND(study->results, study->result_count));
    if (status == 0 && file.count == 0)
        status = error_set_at(error, ERROR_CONFIG, path, 0, "the file has no results");
    t4_file_release(&file);
    return status;
}
