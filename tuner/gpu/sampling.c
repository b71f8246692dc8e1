#include "gpu/sampling.h"

#include "base/statistics.h"

/* Measures an empty kernel in a batch, once per worker. */
static int measure_empty_batch(struct sampling *sampling, struct device_problem *problem,
                               struct error *error)
{
    struct batch *batch = NULL;
    double empty_ns[EMPTY_SAMPLES];
    bool ready;
    if (sampling->empty_batch_ns > 0)
        return 0;
    int status = batch_prepare(&sampling->batches, problem, NULL, &batch, &ready, error);
    if (status == 0 && ready) {
        status = measure_batches(&sampling->measure, &sampling->batches, batch, NULL, EMPTY_SAMPLES,
                                 empty_ns, error);
        if (status == 0)
            sampling->empty_batch_ns = statistics_median(empty_ns, EMPTY_SAMPLES);
    }
    batch_free(&sampling->batches, batch);
    return status;
}

/* Replaces `samples` by batched ones if the variant can be batched. */
static int take_batches(struct sampling *sampling, struct device_problem *problem,
                        struct device_variant *variant, size_t count, struct samples *samples,
                        struct error *error)
{
    bool ready = false;
    int status = measure_empty_batch(sampling, problem, error);
    if (status == 0)
        status =
            batch_prepare(&sampling->batches, problem, variant, &variant->batch, &ready, error);
    if (status != 0 || !ready)
        return status;
    samples->count = count;
    samples->runs = BATCH_RUNS;
    return measure_batches(&sampling->measure, &sampling->batches, variant->batch, variant, count,
                           samples->ns, error);
}

/* Takes single samples, but only one if that is above `enough_ns` (0: no limit). */
static int take_single(struct sampling *sampling, struct device_problem *problem,
                       struct device_variant *variant, size_t count, double enough_ns,
                       struct samples *samples, struct error *error)
{
    size_t first = enough_ns > 0 ? 1 : 0;
    int status = 0;
    if (first > 0)
        status = measure_samples(&sampling->measure, problem, variant, first, samples->ns, error);
    if (first > 0 && samples->ns[0] > enough_ns)
        count = 1;
    else if (status == 0)
        status = measure_samples(&sampling->measure, problem, variant, count - first,
                                 samples->ns + first, error);
    samples->count = count;
    samples->runs = 1;
    if (status == 0)
        samples->single_ns = statistics_median(samples->ns, count);
    return status;
}

int sampling_take(struct sampling *sampling, struct device_problem *problem, const json_t *request,
                  struct device_variant *variant, size_t count, struct samples *samples,
                  struct error *error)
{
    double enough_ns = json_number_value(json_object_get(request, "enough_ns"));
    double short_ns = json_number_value(json_object_get(request, "short_ns"));
    int status = 0;
    if (json_is_true(json_object_get(request, "batched")))
        status = take_batches(sampling, problem, variant, count, samples, error);
    if (status != 0 || samples->count > 0)
        return status;
    status = take_single(sampling, problem, variant, count, enough_ns, samples, error);
    if (status == 0 && samples->single_ns < short_ns) /* one sample may have been disturbed */
        status = take_batches(sampling, problem, variant, count, samples, error);
    return status;
}

json_t *times_to_json(const double *times_ns, size_t count)
{
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(array, json_real(times_ns[i]));
    return array;
}

json_t *samples_to_json(const struct samples *samples, double empty_batch_ns)
{
    return json_pack("{s:o, s:[i, f, f]}", "samples_ns", times_to_json(samples->ns, samples->count),
                     "sampled", samples->runs, samples->single_ns, empty_batch_ns);
}
