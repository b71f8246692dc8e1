#include "gpu/measure.h"

#include "base/statistics.h"

enum {
    MAX_HOLD_NS = 2000000,
    QUEUE_LIMIT = 512,       /* calls in flight; the driver's queue holds 1024 */
    CALL_NS = 3000,          /* rough time to queue one call; a first guess */
    GRAPH_LAUNCH_NS = 40000, /* rough time to queue a batch; a first guess */
    ATTEMPTS = 8,
};

int measure_init(struct measure *measure, struct device_context *device, struct error *error)
{
    int status = 0;
    *measure = (struct measure){0};
    for (size_t i = 0; i < MEASURE_IN_FLIGHT && status == 0; i++) {
        status = CUDA(device, cuEventCreate, &measure->begin[i], CU_EVENT_DEFAULT);
        if (status == 0)
            status = CUDA(device, cuEventCreate, &measure->end[i], CU_EVENT_DEFAULT);
    }
    return status;
}

static int queue_hold(const struct measure *measure, struct device_context *device,
                      struct error *error)
{
    unsigned long long ns = measure->hold_ns;
    void *arguments[] = {&ns};
    if (ns == 0)
        return 0;
    return device_launch_single(device, SUPPORT_delay, arguments, error);
}

int measure_flush(struct device_problem *problem, struct error *error)
{
    if (problem->flush == 0)
        return 0;
    CUdeviceptr words = problem->flush;
    unsigned long long count = problem->flush_bytes / 16;
    CUdeviceptr sink = problem->flush + problem->flush_bytes;
    void *arguments[] = {&words, &count, &sink};
    return device_launch_support(problem->device, SUPPORT_read, count, arguments, error);
}

/* What to sample: a variant, a batch or, if both are NULL, an empty kernel. */
struct subject {
    struct device_problem *problem;
    struct device_variant *variant;
    const struct batches *batches;
    const struct batch *batch;
    struct measure_follower *follower;
};

static int queue_reset(const struct subject *subject, struct error *error)
{
    if (subject->batch != NULL)
        return batch_reset(subject->batches, subject->batch, subject->variant, error);
    return subject->variant != NULL
               ? device_variant_reset(subject->variant, subject->problem, error)
               : 0;
}

static int queue_run(const struct subject *subject, struct error *error)
{
    if (subject->batch != NULL)
        return batch_run(subject->batches, subject->batch, error);
    if (subject->variant != NULL)
        return device_variant_run(subject->variant, subject->problem, error);
    return device_launch_single(subject->problem->device, SUPPORT_empty, NULL, error);
}

/* Sets `*late` if the GPU passed the begin event before the end event was queued. */
static int queue_timed(struct measure *measure, const struct subject *subject, size_t index,
                       bool *late, struct error *error)
{
    struct device_context *device = subject->problem->device;
    int status = queue_hold(measure, device, error);
    if (status == 0)
        status = CUDA(device, cuEventRecord, measure->begin[index], device->stream);
    if (status == 0)
        status = queue_run(subject, error);
    if (status == 0)
        status = CUDA(device, cuEventRecord, measure->end[index], device->stream);
    if (status != 0)
        return status;
    CUresult begun = device->driver.cuEventQuery(measure->begin[index]);
    *late = begun == CUDA_SUCCESS;
    return begun == CUDA_ERROR_NOT_READY ? 0 : device_check(device, begun, "cuEventQuery", error);
}

static int queue_sample(struct measure *measure, const struct subject *subject, size_t index,
                        bool *late, struct error *error)
{
    int status = queue_reset(subject, error);
    if (status == 0)
        status = measure_flush(subject->problem, error);
    return status != 0 ? status : queue_timed(measure, subject, index, late, error);
}

/* The number of calls that one sample queues; for a batch an upper bound, one call per run. */
static size_t sample_calls(const struct subject *subject)
{
    enum { OWN = 4 };
    const struct device_problem *problem = subject->problem;
    if (subject->batch != NULL)
        return OWN + BATCH_RUNS + batch_reset_calls(subject->batches);
    if (subject->variant == NULL)
        return OWN + 1;
    return OWN + subject->variant->launch_plan.step_count + device_variant_reset_calls(problem);
}

/* Appends the times, divided by `runs`, of the samples that were not late. */
static int read_samples(struct measure *measure, struct device_context *device, size_t count,
                        const bool *late, double runs, double *samples_ns, size_t *taken,
                        struct error *error)
{
    for (size_t i = 0; i < count; i++) {
        float milliseconds = 0;
        if (late[i])
            continue;
        int status =
            CUDA(device, cuEventElapsedTime, &milliseconds, measure->begin[i], measure->end[i]);
        if (status != 0)
            return status;
        samples_ns[(*taken)++] = (double)milliseconds * 1e6 / runs;
    }
    return 0;
}

static int run_samples(struct measure *measure, const struct subject *subject, size_t count,
                       bool last, bool *late, struct error *error)
{
    int status = 0;
    for (size_t i = 0; i < count && status == 0; i++)
        status = queue_sample(measure, subject, i, &late[i], error);
    if (status == 0 && last && subject->follower != NULL) {
        status = subject->follower->queue(subject->follower->owner, error);
        subject->follower->queued = true;
    }
    return status != 0 ? status : device_synchronise(subject->problem->device, error);
}

static void lengthen_hold(struct measure *measure, size_t calls)
{
    uint64_t wanted = measure->hold_ns > 0 ? 2 * measure->hold_ns : (uint64_t)CALL_NS * calls;
    measure->hold_ns = wanted < MAX_HOLD_NS ? wanted : MAX_HOLD_NS;
}

/* With a cold cache, flushing the L2 delays the GPU long enough for single runs, but a graph launch
 * may take longer than the flush. */
static uint64_t first_hold_ns(const struct subject *subject, size_t calls)
{
    if (!subject->problem->cold)
        return (uint64_t)CALL_NS * calls;
    return subject->batch != NULL ? GRAPH_LAUNCH_NS : 0;
}

static int take_samples(struct measure *measure, const struct subject *subject, size_t count,
                        double *samples_ns, struct error *error)
{
    struct device_problem *problem = subject->problem;
    double runs = subject->batch != NULL ? BATCH_RUNS : 1;
    size_t calls = sample_calls(subject);
    size_t most = QUEUE_LIMIT / calls;
    size_t taken = 0;
    most = most < 1 ? 1 : most < MEASURE_IN_FLIGHT ? most : MEASURE_IN_FLIGHT;
    measure->hold_ns = first_hold_ns(subject, calls);
    for (unsigned attempt = 0; taken < count;) {
        size_t wanted = count - taken < most ? count - taken : most;
        size_t before = taken;
        bool late[MEASURE_IN_FLIGHT] = {false};
        int status = run_samples(measure, subject, wanted, wanted == count - taken, late, error);
        if (attempt == ATTEMPTS) /* late samples are better than none */
            for (size_t i = 0; i < wanted; i++)
                late[i] = false;
        if (status == 0)
            status = read_samples(measure, problem->device, wanted, late, runs, samples_ns, &taken,
                                  error);
        if (status != 0)
            return status;
        if (taken - before < wanted && attempt < ATTEMPTS) {
            lengthen_hold(measure, calls);
            attempt++;
        }
    }
    return 0;
}

int measure_samples(struct measure *measure, struct device_problem *problem,
                    struct device_variant *variant, size_t count, double *samples_ns,
                    struct error *error)
{
    const struct subject subject = {.problem = problem, .variant = variant};
    return take_samples(measure, &subject, count, samples_ns, error);
}

/* The same with batches: each sample is the time of a batch divided by its number of runs. The L2 is
 * flushed once before each batch, which is enough (batch.h). */
static int measure_batches(struct measure *measure, const struct batches *batches,
                           const struct batch *batch, struct device_variant *variant, size_t count,
                           double *samples_ns, struct error *error)
{
    const struct subject subject = {
        .problem = batches->problem, .variant = variant, .batches = batches, .batch = batch};
    return take_samples(measure, &subject, count, samples_ns, error);
}

int measure_queue_run(struct measure *measure, struct device_problem *problem,
                      struct device_variant *variant, struct error *error)
{
    const struct subject subject = {.problem = problem, .variant = variant};
    measure->hold_ns = (uint64_t)CALL_NS * sample_calls(&subject);
    return queue_timed(measure, &subject, 0, &measure->late_run, error);
}

int measure_take_run(struct measure *measure, struct device_context *device, double *ns,
                     struct error *error)
{
    float milliseconds = 0;
    *ns = 0;
    if (measure->late_run)
        return 0;
    int status =
        CUDA(device, cuEventElapsedTime, &milliseconds, measure->begin[0], measure->end[0]);
    *ns = (double)milliseconds * 1e6;
    return status;
}

/* --- samples as a request asks for them --- */

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

/* Takes single samples, but only one if that is above `enough_ns` (0: no limit). Nothing follows them if
 * they are so short that batches may. */
static int take_single(struct sampling *sampling, struct device_problem *problem,
                       struct device_variant *variant, size_t count, double enough_ns,
                       double short_ns, struct measure_follower *follower, struct samples *samples,
                       struct error *error)
{
    struct subject subject = {.problem = problem, .variant = variant};
    size_t first = enough_ns > 0 ? 1 : 0;
    int status = 0;
    if (first > 0)
        status = take_samples(&sampling->measure, &subject, first, samples->ns, error);
    if (first > 0 && samples->ns[0] >= short_ns)
        subject.follower = follower;
    if (first > 0 && samples->ns[0] > enough_ns)
        count = 1;
    else if (status == 0)
        status =
            take_samples(&sampling->measure, &subject, count - first, samples->ns + first, error);
    samples->count = count;
    samples->runs = 1;
    if (status == 0)
        samples->single_ns = statistics_median(samples->ns, count);
    return status;
}

int measure_take(struct sampling *sampling, struct device_problem *problem, const json_t *request,
                 struct device_variant *variant, size_t count, struct measure_follower *follower,
                 struct samples *samples, struct error *error)
{
    double enough_ns = json_number_value(json_object_get(request, "enough_ns"));
    double short_ns = json_number_value(json_object_get(request, "short_ns"));
    int status = 0;
    if (json_is_true(json_object_get(request, "batched")))
        status = take_batches(sampling, problem, variant, count, samples, error);
    if (status != 0 || samples->count > 0)
        return status;
    status = take_single(sampling, problem, variant, count, enough_ns, short_ns, follower, samples,
                         error);
    if (status != 0 || samples->single_ns >= short_ns)
        return status;
    if (follower != NULL) /* one sample may have been disturbed */
        follower->queued = false;
    return take_batches(sampling, problem, variant, count, samples, error);
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
