#include "measure.h"

enum {
    FIRST_HOLD_NS = 4000, /* for each queued call: about what one takes on a slow host */
    MOST_HOLD_NS = 200000,
    QUEUE_LIMIT = 512, /* calls in flight; the driver's queue holds 1024 */
    ATTEMPTS = 8,
};

int measure_init(struct measure *measure, struct device_context *device, struct error *error)
{
    *measure = (struct measure){.hold_ns = FIRST_HOLD_NS};
    int status = CUDA(device, cuEventCreate, &measure->held, CU_EVENT_DISABLE_TIMING);
    for (size_t i = 0; i < MEASURE_BATCH && status == 0; i++) {
        status = CUDA(device, cuEventCreate, &measure->begin[i], CU_EVENT_DEFAULT);
        if (status == 0)
            status = CUDA(device, cuEventCreate, &measure->end[i], CU_EVENT_DEFAULT);
    }
    return status;
}

static int queue_hold(struct measure *measure, struct device_context *device, size_t calls,
                      struct error *error)
{
    unsigned long long ns = measure->hold_ns * (calls + 4);
    void *arguments[] = {&ns};
    int status = CUDA(device, cuLaunchKernel, device->support[SUPPORT_delay], 1, 1, 1, 1, 1, 1, 0,
                      device->stream, arguments, NULL);
    return status != 0 ? status : CUDA(device, cuEventRecord, measure->held, device->stream);
}

static int queue_flush(struct device_problem *problem, struct error *error)
{
    if (problem->flush == 0)
        return 0;
    CUdeviceptr words = problem->flush;
    unsigned long long count = problem->flush_bytes / 16;
    CUdeviceptr sink = problem->flush + problem->flush_bytes;
    void *arguments[] = {&words, &count, &sink};
    return device_launch_support(problem->device, SUPPORT_read, count, arguments, error);
}

static int queue_sample(struct measure *measure, struct device_problem *problem,
                        const struct device_variant *variant, size_t index, struct error *error)
{
    struct device_context *device = problem->device;
    int status = variant != NULL ? device_problem_restore(problem, error) : 0;
    if (status == 0)
        status = queue_flush(problem, error);
    if (status == 0)
        status = CUDA(device, cuEventRecord, measure->begin[index], device->stream);
    if (status == 0)
        status = variant != NULL ? device_variant_run(variant, problem, error)
                                 : CUDA(device, cuLaunchKernel, device->support[SUPPORT_empty], 1,
                                        1, 1, 1, 1, 1, 0, device->stream, NULL, NULL);
    if (status == 0)
        status = CUDA(device, cuEventRecord, measure->end[index], device->stream);
    return status;
}

/* Calls that one sample queues. */
static size_t sample_calls(const struct device_problem *problem,
                           const struct device_variant *variant)
{
    size_t calls = 3 + (variant != NULL ? variant->schedule.step_count : 1);
    for (size_t i = 0; i < problem->template.buffer_count; i++)
        calls += problem->pristine[i].base != 0;
    return calls;
}

/* One batch; `*late` says that the host was still queueing when the stream went on. */
static int run_batch(struct measure *measure, struct device_problem *problem,
                     const struct device_variant *variant, size_t count, bool *late,
                     struct error *error)
{
    struct device_context *device = problem->device;
    int status = queue_hold(measure, device, count * sample_calls(problem, variant), error);
    for (size_t i = 0; i < count && status == 0; i++)
        status = queue_sample(measure, problem, variant, i, error);
    if (status != 0)
        return status;
    CUresult held = device->driver.cuEventQuery(measure->held);
    *late = held == CUDA_SUCCESS;
    if (held != CUDA_SUCCESS && held != CUDA_ERROR_NOT_READY)
        return device_check(device, held, "cuEventQuery", error);
    return device_synchronise(device, error);
}

static int read_batch(struct measure *measure, struct device_context *device, size_t count,
                      double *samples_ns, struct error *error)
{
    int status = 0;
    for (size_t i = 0; i < count && status == 0; i++) {
        float milliseconds = 0;
        status =
            CUDA(device, cuEventElapsedTime, &milliseconds, measure->begin[i], measure->end[i]);
        samples_ns[i] = (double)milliseconds * 1e6;
    }
    return status;
}

int measure_samples(struct measure *measure, struct device_problem *problem,
                    const struct device_variant *variant, size_t count, double *samples_ns,
                    struct error *error)
{
    size_t most = QUEUE_LIMIT / sample_calls(problem, variant);
    most = most < 1 ? 1 : most < MEASURE_BATCH ? most : MEASURE_BATCH;
    for (size_t done = 0; done < count;) {
        size_t batch = count - done < most ? count - done : most;
        bool late = true;
        for (int attempt = 0; attempt < ATTEMPTS && late; attempt++) {
            int status = run_batch(measure, problem, variant, batch, &late, error);
            if (status != 0)
                return status;
            if (late) {
                measure->late_batches++;
                measure->hold_ns =
                    measure->hold_ns * 2 < MOST_HOLD_NS ? measure->hold_ns * 2 : MOST_HOLD_NS;
            }
        }
        int status = read_batch(measure, problem->device, batch, samples_ns + done, error);
        if (status != 0)
            return status;
        done += batch;
    }
    return 0;
}
