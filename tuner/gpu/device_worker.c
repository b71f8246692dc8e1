#include "gpu/device_worker.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "compile/cubin_cache.h"
#include "gpu/ahead.h"
#include "gpu/device_context.h"
#include "gpu/device_problem.h"
#include "gpu/device_variant.h"
#include "gpu/differences.h"
#include "gpu/gpu_monitor.h"
#include "gpu/sampling.h"
#include "gpu/verify.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLE_LIMIT = 100000 };

struct device_worker {
    struct channel *channel;
    struct device_context device;
    struct sampling sampling;
    struct gpu_monitor monitor;
    struct device_problem problem;
    bool has_support;
    bool open;
    bool damaged;         /* a variant wrote out of bounds: the problem must be opened again */
    json_t *open_request; /* of the open problem */
    struct device_variant *variants;
    size_t variant_count;
    struct ahead ahead;
};

/* The result of a request: a reply or a variant's failure. */
struct answer {
    json_t *reply;        /* of a success */
    enum outcome outcome; /* of a failed variant; OUTCOME_MEASURED: none failed */
    bool lost;            /* the context is gone */
    json_t *differences;  /* of a wrong result, if they were asked for */
};

static const char *text_of(const json_t *request, const char *key)
{
    return json_string_value(json_object_get(request, key));
}

static json_t *numbers(const double *values, size_t count)
{
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(array, json_real(values[i]));
    return array;
}

/* Reads the cubin of a cache entry; release the compilation. */
static int read_cubin(const char *path, struct compilation *compilation, struct error *error)
{
    bool found = false;
    int status = cubin_cache_read(path, compilation, &found, error);
    if (status == 0 && (!found || compilation->cubin == NULL)) {
        compilation_release(compilation);
        status = error_set(error, ERROR_RECORD,
                           "cubin '%s' is missing or damaged; run again to recompile it", path);
    }
    return status;
}

/* --- variants --- */

static struct device_variant *find_variant(struct device_worker *worker, int64_t id)
{
    for (size_t i = 0; i < worker->variant_count; i++)
        if (worker->variants[i].id == id)
            return &worker->variants[i];
    return NULL;
}

static void unload_variant(struct device_worker *worker, struct device_variant *variant)
{
    batch_free(&worker->sampling.batches, variant->batch);
    device_variant_unload(variant, &worker->problem);
    *variant = worker->variants[--worker->variant_count];
}

static void close_problem(struct device_worker *worker)
{
    while (worker->variant_count > 0)
        unload_variant(worker, &worker->variants[0]);
    batches_release(&worker->sampling.batches);
    if (worker->open)
        device_problem_close(&worker->problem);
    worker->open = false;
}

/*
 * Turns a driver error into the variant's outcome: a timeout or a fault if the context is lost,
 * otherwise `otherwise`. Returns any other error unchanged.
 */
static int to_outcome(struct device_worker *worker, int status, enum outcome otherwise,
                      struct answer *answer)
{
    if (status != ERROR_DEVICE)
        return status;
    answer->lost = device_is_lost(worker->device.last);
    answer->outcome = worker->device.last == CUDA_ERROR_LAUNCH_TIMEOUT ? OUTCOME_TIMEOUT
                      : answer->lost                                   ? OUTCOME_FAULT
                                                                       : otherwise;
    return 0;
}

/* --- requests --- */

static int load_support(struct device_worker *worker, const char *path, struct error *error)
{
    struct compilation support = {0};
    if (worker->has_support)
        return 0;
    int status = read_cubin(path, &support, error);
    if (status == 0)
        status = device_load_support(&worker->device, support.cubin, error);
    if (status == 0)
        status = measure_init(&worker->sampling.measure, &worker->device, error);
    compilation_release(&support);
    worker->has_support = status == 0;
    return status;
}

static int open_problem(struct device_worker *worker, const json_t *request,
                        const struct bindings *values, struct error *error)
{
    struct compilation helpers = {0};
    struct bindings largest = {0};
    const char *path = text_of(request, "reference");
    const json_t *parameters = json_object_get(request, "largest");
    int status = path != NULL ? read_cubin(path, &helpers, error) : 0;
    if (status == 0 && parameters != NULL)
        status = bindings_from_json(&largest, parameters, error);
    struct problem_request problem = {.template_path = text_of(request, "template"),
                                      .template_hash = text_of(request, "hash"),
                                      .data_hash = text_of(request, "data"),
                                      .problem = values,
                                      .largest = &largest,
                                      .helpers = path != NULL ? &helpers : NULL,
                                      .cold = json_is_true(json_object_get(request, "cold"))};
    if (status == 0)
        status = device_problem_open(&worker->problem, &worker->device, &problem, error);
    compilation_release(&helpers);
    bindings_release(&largest);
    worker->open = status == 0;
    worker->damaged = false;
    if (status == 0)
        status = verify_prepare(&worker->problem, error);
    return status;
}

/* Opens the problem again: a write out of bounds may have hit any buffer, even expected results. */
static int repair(struct device_worker *worker, struct error *error)
{
    struct bindings values = {0};
    close_problem(worker);
    ahead_unload(&worker->ahead, &worker->device);
    int status =
        bindings_from_json(&values, json_object_get(worker->open_request, "problem"), error);
    if (status == 0)
        status = open_problem(worker, worker->open_request, &values, error);
    bindings_release(&values);
    return status;
}

static int do_open(struct device_worker *worker, const json_t *request, struct answer *answer,
                   struct error *error)
{
    struct bindings values = {0};
    double empty_ns[EMPTY_SAMPLES];
    size_t free_bytes = 0;
    size_t all_bytes = 0;
    if (text_of(request, "template") == NULL || text_of(request, "support") == NULL)
        return error_set(error, ERROR_WORKER, "'open' needs 'template' and 'support'");
    close_problem(worker);
    json_decref(worker->open_request);
    worker->open_request = json_deep_copy(request);
    int status = bindings_from_json(&values, json_object_get(request, "problem"), error);
    if (status == 0)
        status = load_support(worker, text_of(request, "support"), error);
    if (status == 0)
        status = open_problem(worker, request, &values, error);
    if (status == 0)
        status = measure_samples(&worker->sampling.measure, &worker->problem, NULL, EMPTY_SAMPLES,
                                 empty_ns, error);
    bindings_release(&values);
    if (status == 0)
        status = CUDA(&worker->device, cuMemGetInfo, &free_bytes, &all_bytes);
    if (status == 0)
        answer->reply = json_pack(
            "{s:s, s:o, s:I, s:I}", "event", "opened", "empty_ns", numbers(empty_ns, EMPTY_SAMPLES),
            "needs_bytes", (json_int_t)worker->problem.footprint.bytes, "free_bytes",
            (json_int_t)free_bytes - (json_int_t)worker->problem.store.limit_bytes -
                (json_int_t)worker->problem.store.items.place_bytes);
    return status;
}

static int describe_variant(struct device_worker *worker, const struct device_variant *variant,
                            json_t **reply, struct error *error)
{
    const struct launch_plan *launch_plan = &variant->launch_plan;
    struct scope fixed = {&worker->problem.fixed, NULL};
    struct scope parameters = {&variant->parameters, &fixed};
    double bytes;
    double operations;
    int status = launch_plan_check(launch_plan, error);
    if (status == 0)
        status = launch_plan_metrics(launch_plan, &worker->problem.template, &parameters, &bytes,
                                     &operations, error);
    if (status != 0)
        return status;
    const struct step *step = &launch_plan->steps[launch_plan->main_step];
    *reply =
        json_pack("{s:s, s:s, s:i, s:I, s:I, s:I, s:I, s:I, s:I, s:i, s:f, s:f}", "event", "loaded",
                  "entry", step->entry, "registers", launch_plan->main.registers, "stack_bytes",
                  (json_int_t)launch_plan->main.stack_bytes, "static_shared_bytes",
                  (json_int_t)launch_plan->main.static_shared_bytes, "dynamic_shared_bytes",
                  (json_int_t)step->dynamic_shared_bytes, "block_threads",
                  (json_int_t)step_threads(step), "grid_blocks", (json_int_t)step_blocks(step),
                  "launches", (json_int_t)launch_plan->step_count, "blocks_per_sm",
                  launch_plan->main_blocks_per_sm, "bytes", bytes, "operations", operations);
    return 0;
}

/* Tells the coordinator that the variant's deadline does not run: its data is being made. */
static int tell(struct device_worker *worker, const char *event, struct error *error)
{
    return channel_send(worker->channel, json_pack("{s:s}", "event", event), error);
}

/* What went wrong while the variant's data was made: that the variant cannot be verified. */
static int to_unprepared(struct device_worker *worker, int status, struct answer *answer)
{
    bool memory = worker->device.last == CUDA_ERROR_OUT_OF_MEMORY;
    if (status != ERROR_CONFIG && status != ERROR_DEVICE)
        return status;
    answer->lost = status == ERROR_DEVICE && device_is_lost(worker->device.last);
    answer->outcome = status == ERROR_DEVICE && memory ? OUTCOME_LAUNCH_ERROR : OUTCOME_INVALID;
    return 0;
}

/* Gives the variant its buffers, at `place`, and expected results, which other variants may have
 * taken. */
static int prepare(struct device_worker *worker, struct device_variant *variant, size_t place,
                   struct answer *answer, struct error *error)
{
    bool moved = false;
    bool make = !data_store_has(&worker->problem.store, &variant->parameters);
    int told = make ? tell(worker, "preparing", error) : 0;
    if (told != 0)
        return told;
    int status = device_variant_prepare(variant, &worker->problem, place, &moved, error);
    if (status == 0 && make)
        status = device_synchronise(&worker->device, error);
    if (moved && variant->batch != NULL) { /* its graphs have the old addresses */
        batch_free(&worker->sampling.batches, variant->batch);
        variant->batch = NULL;
    }
    if (make)
        told = tell(worker, "prepared", NULL);
    return told != 0 ? told : to_unprepared(worker, status, answer);
}

static int load_variant(struct device_worker *worker, struct device_variant *variant,
                        const char *path, struct answer *answer, struct error *error)
{
    struct loaded_code code = ahead_take(&worker->ahead);
    int status = code.module == NULL ? read_cubin(path, &code.compilation, error) : 0;
    if (status != 0)
        return status;
    status = device_variant_load(variant, &worker->problem, &code.compilation, code.module,
                                 &answer->outcome, error);
    status = to_outcome(worker, status, OUTCOME_LOAD_ERROR, answer);
    if (status == 0 && answer->outcome == OUTCOME_MEASURED)
        status = describe_variant(worker, variant, &answer->reply, error);
    if (status != ERROR_CONFIG)
        return status;
    answer->outcome = OUTCOME_INVALID; /* the template does not fit this variant */
    return 0;
}

static int do_load(struct device_worker *worker, const json_t *request, struct answer *answer,
                   struct error *error)
{
    const char *path = text_of(request, "cubin");
    int64_t id = json_integer_value(json_object_get(request, "id"));
    if (!worker->open || path == NULL || find_variant(worker, id) != NULL)
        return error_set(error, ERROR_WORKER,
                         "'load' needs an open problem, a 'cubin' and an 'id' not yet loaded");
    struct device_variant *variant = ARRAY_APPEND(worker->variants, worker->variant_count);
    variant->id = id;
    int status =
        bindings_from_json(&variant->parameters, json_object_get(request, "parameters"), error);
    if (status == 0)
        status = prepare(worker, variant, 0, answer, error);
    if (status == 0 && answer->outcome == OUTCOME_MEASURED)
        status = load_variant(worker, variant, path, answer, error);
    if ((status != 0 || answer->outcome != OUTCOME_MEASURED) && !answer->lost)
        unload_variant(worker, variant);
    return status;
}

static int need_variant(struct device_worker *worker, const json_t *request,
                        struct device_variant **variant, struct error *error)
{
    int64_t id = json_integer_value(json_object_get(request, "id"));
    *variant = find_variant(worker, id);
    if (*variant != NULL)
        return 0;
    return error_set(error, ERROR_WORKER, "variant %" PRId64 " is not loaded", id);
}

/* How a variant's results are checked. */
enum verification { VERIFY_RUN, VERIFY_TIMED_RUN, VERIFY_AGAIN };

static int verify_variant(struct device_worker *worker, struct device_variant *variant,
                          enum verification how, const struct meanwhile *meanwhile,
                          struct answer *answer, struct error *error)
{
    char reason[VERIFY_REASON_BYTES] = "";
    enum finding finding = FINDING_RIGHT;
    struct measure *measure = how == VERIFY_TIMED_RUN ? &worker->sampling.measure : NULL;
    int status =
        how == VERIFY_AGAIN
            ? verify_again(&worker->problem, variant, &finding, reason, error)
            : verify_run(&worker->problem, variant, measure, meanwhile, &finding, reason, error);
    status = to_outcome(worker, status, OUTCOME_LAUNCH_ERROR, answer);
    if (status == 0 && answer->outcome == OUTCOME_MEASURED && finding != FINDING_RIGHT) {
        answer->outcome = OUTCOME_WRONG_RESULT;
        worker->damaged = finding == FINDING_DAMAGE;
        (void)error_set(error, ERROR_OK, "%s", reason);
    }
    return status;
}

/* Lists the first elements that differ, as many as the request asks for. */
static int list_differences(struct device_worker *worker, const json_t *request,
                            const struct device_variant *variant, struct answer *answer,
                            struct error *error)
{
    enum { MOST = 100 };
    struct difference differences[MOST];
    struct error inner;
    size_t count = 0;
    json_int_t most = json_integer_value(json_object_get(request, "differences"));
    if (most <= 0 || answer->outcome != OUTCOME_WRONG_RESULT || worker->damaged)
        return 0;
    if (differences_list(&worker->problem, variant, differences, most < MOST ? (size_t)most : MOST,
                         &count, &inner) != 0) {
        *error = inner;
        return to_outcome(worker, ERROR_DEVICE, OUTCOME_LAUNCH_ERROR, answer);
    }
    answer->differences = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(
            answer->differences,
            json_pack("{s:s, s:I, s:s, s:s}", "buffer",
                      worker->problem.template.buffers[differences[i].buffer].name, "index",
                      (json_int_t)differences[i].index, "got", differences[i].got, "expected",
                      differences[i].expected));
    return 0;
}

static int do_verify(struct device_worker *worker, const json_t *request, struct answer *answer,
                     struct error *error)
{
    struct device_variant *variant;
    int64_t runs = json_integer_value(json_object_get(request, "runs"));
    int64_t start = clock_ns();
    int status = need_variant(worker, request, &variant, error);
    if (status == 0)
        status = prepare(worker, variant, 0, answer, error);
    for (int64_t i = 0; (i < runs || i == 0) && status == 0 && answer->outcome == OUTCOME_MEASURED;
         i++)
        status = verify_variant(worker, variant, VERIFY_RUN, NULL, answer, error);
    if (status == 0)
        status = list_differences(worker, request, variant, answer, error);
    if (status == 0 && answer->outcome == OUTCOME_MEASURED)
        answer->reply = json_pack("{s:s, s:I}", "event", "verified", "run_ns",
                                  (json_int_t)(clock_ns() - start));
    answer->lost = answer->lost || worker->damaged; /* other loaded variants use the same buffers */
    return status;
}

/* --- samples --- */

static json_t *samples_to_json(const struct device_worker *worker, const struct samples *samples)
{
    return json_pack("{s:o, s:i, s:f, s:f}", "samples_ns", numbers(samples->ns, samples->count),
                     "runs", samples->runs, "single_ns", samples->single_ns, "empty_batch_ns",
                     worker->sampling.empty_batch_ns);
}

/* Takes the samples that the request asks for. `*reply` becomes a new object to merge into the
 * answer. */
static int measure_variant(struct device_worker *worker, const json_t *request,
                           struct device_variant *variant, json_t **reply, struct answer *answer,
                           struct error *error)
{
    json_int_t count = json_integer_value(json_object_get(request, "samples"));
    if (count < 1 || count > SAMPLE_LIMIT)
        return error_set(error, ERROR_WORKER, "'samples' must be from 1 to 100000");
    struct samples samples = {.ns = alloc_zeroed((size_t)count, sizeof(double))};
    int64_t start = clock_ns();
    int status =
        sampling_take(&worker->sampling, &worker->problem, request, variant, &samples, error);
    gpu_monitor_read(&worker->monitor, start);
    status = to_outcome(worker, status, OUTCOME_LAUNCH_ERROR, answer);
    if (status == 0 && answer->outcome == OUTCOME_MEASURED)
        *reply = samples_to_json(worker, &samples);
    free(samples.ns);
    return status;
}

/* A batch with a cold cache has its own copies of the buffers, each in another place. With a warm
 * cache nothing moves: the copies would be in the cache, or other data not any more. */
static size_t place_of(const struct device_worker *worker, const json_t *request, size_t copy)
{
    bool batched = json_is_true(json_object_get(request, "batched")) ||
                   json_number_value(json_object_get(request, "short_ns")) > 0;
    return worker->problem.cold && !batched ? copy : 0;
}

/* Gives the variant its data in the place that the request names, and switches to that copy of its
 * code. */
static int prepare_copy(struct device_worker *worker, const json_t *request,
                        struct device_variant *variant, struct answer *answer, struct error *error)
{
    json_int_t number = json_integer_value(json_object_get(request, "copy"));
    if (number < 0)
        return error_set(error, ERROR_WORKER, "'copy' is negative");
    size_t copy = (size_t)number;
    int status = prepare(worker, variant, place_of(worker, request, copy), answer, error);
    if (status != 0 || answer->outcome != OUTCOME_MEASURED)
        return status;
    return to_outcome(worker, device_variant_choose_copy(variant, &worker->problem, copy, error),
                      OUTCOME_LOAD_ERROR, answer);
}

static int do_measure(struct device_worker *worker, const json_t *request, struct answer *answer,
                      struct error *error)
{
    struct device_variant *variant;
    int status = need_variant(worker, request, &variant, error);
    if (status == 0)
        status = prepare_copy(worker, request, variant, answer, error);
    if (status == 0 && answer->outcome == OUTCOME_MEASURED)
        status = measure_variant(worker, request, variant, &answer->reply, answer, error);
    if (answer->reply != NULL) {
        json_object_set_new(answer->reply, "event", json_string("measured"));
        json_object_set_new(answer->reply, "late_samples",
                            json_integer((json_int_t)worker->sampling.measure.late_samples));
        gpu_monitor_report(&worker->monitor, answer->reply);
    }
    return status;
}

static int do_unload(struct device_worker *worker, const json_t *request, struct answer *answer,
                     struct error *error)
{
    struct device_variant *variant;
    int status = need_variant(worker, request, &variant, error);
    if (status != 0)
        return status;
    unload_variant(worker, variant);
    answer->reply = json_pack("{s:s}", "event", "unloaded");
    return 0;
}

/* Variables that stand for buffers may be large: two variants' at once may not fit. */
static void look_ahead(void *user)
{
    struct device_worker *worker = user;
    const struct template *template = &worker->problem.template;
    for (size_t i = 0; i < template->buffer_count; i++)
        if (template->buffers[i].symbol != NULL)
            return;
    ahead_look(&worker->ahead, &worker->device, worker->channel);
}

/* Runs once and verifies. If that run took longer than the request's `hopeless_ns`, `*reply` becomes
 * a new object with its time, and no samples need to be taken. */
static int verify_first(struct device_worker *worker, const json_t *request,
                        struct device_variant *variant, json_t **reply, struct answer *answer,
                        struct error *error)
{
    double hopeless_ns = json_number_value(json_object_get(request, "hopeless_ns"));
    double ns;
    int64_t start = clock_ns();
    enum verification how = hopeless_ns > 0 ? VERIFY_TIMED_RUN : VERIFY_RUN;
    const struct meanwhile meanwhile = {look_ahead, worker};
    int status = verify_variant(worker, variant, how, &meanwhile, answer, error);
    if (status != 0 || answer->outcome != OUTCOME_MEASURED || how == VERIFY_RUN)
        return status;
    status =
        to_outcome(worker, measure_take_run(&worker->sampling.measure, &worker->device, &ns, error),
                   OUTCOME_LAUNCH_ERROR, answer);
    if (status != 0 || answer->outcome != OUTCOME_MEASURED || !(ns > hopeless_ns))
        return status;
    const struct samples samples = {.ns = &ns, .count = 1, .runs = 1, .single_ns = ns};
    gpu_monitor_read(&worker->monitor, start);
    *reply = samples_to_json(worker, &samples);
    return 0;
}

/* Verifies the result of a run, and unless that is enough of the variant, takes samples and verifies
 * the result of the last one. */
static int try_variant(struct device_worker *worker, const json_t *request,
                       struct device_variant *variant, struct answer *answer, struct error *error)
{
    json_t *samples = NULL;
    int64_t start = clock_ns();
    int status = verify_first(worker, request, variant, &samples, answer, error);
    bool enough = samples != NULL;
    int64_t run_end = clock_ns();
    if (status == 0 && answer->outcome == OUTCOME_MEASURED && !enough)
        status = measure_variant(worker, request, variant, &samples, answer, error);
    int64_t measure_end = clock_ns();
    if (status == 0 && answer->outcome == OUTCOME_MEASURED && !enough)
        status = verify_variant(worker, variant, VERIFY_AGAIN, NULL, answer, error);
    if (status == 0 && answer->outcome == OUTCOME_MEASURED) {
        json_t *reply = answer->reply;
        json_object_set_new(reply, "event", json_string("tried"));
        json_object_set_new(reply, "run_ns", json_integer(run_end - start));
        json_object_set_new(reply, "measure_ns", json_integer(measure_end - run_end));
        json_object_set_new(reply, "again_ns", json_integer(clock_ns() - measure_end));
        json_object_update(reply, samples);
        gpu_monitor_report(&worker->monitor, reply);
    }
    json_decref(samples);
    return status;
}

static int do_trial(struct device_worker *worker, const json_t *request, struct answer *answer,
                    struct error *error)
{
    struct device_variant variant = {0};
    const char *path = text_of(request, "cubin");
    if (!worker->open || path == NULL)
        return error_set(error, ERROR_WORKER, "'trial' needs an open problem and a 'cubin'");
    int status =
        bindings_from_json(&variant.parameters, json_object_get(request, "parameters"), error);
    if (status == 0)
        status = prepare(worker, &variant, 0, answer, error);
    int64_t start = clock_ns();
    if (status == 0 && answer->outcome == OUTCOME_MEASURED)
        status = load_variant(worker, &variant, path, answer, error);
    if (answer->reply != NULL)
        json_object_set_new(answer->reply, "load_ns", json_integer(clock_ns() - start));
    if (status == 0 && answer->outcome == OUTCOME_MEASURED)
        status = try_variant(worker, request, &variant, answer, error);
    if (!answer->lost) {
        batch_free(&worker->sampling.batches, variant.batch);
        device_variant_unload(&variant, &worker->problem);
    }
    return status;
}

static int do_close(struct device_worker *worker, const json_t *request, struct answer *answer,
                    struct error *error)
{
    (void)request;
    (void)error;
    close_problem(worker);
    answer->reply = json_pack("{s:s}", "event", "closed");
    return 0;
}

static int do_wait(struct device_worker *worker, const json_t *request, struct answer *answer,
                   struct error *error)
{
    (void)request;
    answer->reply = json_pack("{s:s}", "event", "waited");
    return device_synchronise(&worker->device, error);
}

/* To add a request: write a function above, add a line here and a row to FORMATS.md. */
static const struct {
    const char *name;
    int (*serve)(struct device_worker *worker, const json_t *request, struct answer *answer,
                 struct error *error);
} requests[] = {
    {"open", do_open},     {"load", do_load},   {"verify", do_verify}, {"measure", do_measure},
    {"unload", do_unload}, {"trial", do_trial}, {"close", do_close},   {"wait", do_wait},
};

static int serve(struct device_worker *worker, const json_t *request, struct answer *answer,
                 struct error *error)
{
    const char *name = text_of(request, "do");
    worker->device.wanted_bytes = 0;
    if (json_is_true(json_object_get(request, "recount")))
        gpu_monitor_recount(&worker->monitor);
    for (size_t i = 0; name != NULL && i < sizeof requests / sizeof *requests; i++)
        if (strcmp(requests[i].name, name) == 0)
            return requests[i].serve(worker, request, answer, error);
    return error_set(error, ERROR_WORKER, "unknown request '%s'", name != NULL ? name : "");
}

/* --- the worker --- */

/* Whether the variant failed for want of memory that the GPU has, but not now: other processes may
 * have taken it. */
static bool is_short(const struct device_worker *worker, const struct answer *answer)
{
    const struct device_context *device = &worker->device;
    uint64_t bytes;
    return (answer->outcome == OUTCOME_LAUNCH_ERROR || answer->outcome == OUTCOME_LOAD_ERROR) &&
           device->last == CUDA_ERROR_OUT_OF_MEMORY &&
           !__builtin_add_overflow(worker->problem.footprint.bytes, device->wanted_bytes, &bytes) &&
           bytes <= (uint64_t)device->gpu.memory_bytes;
}

static json_t *make_message(const struct device_worker *worker, const struct answer *answer,
                            int status, const struct error *error)
{
    char reason[ERROR_TEXT_BYTES];
    if (status == 0 && answer->outcome == OUTCOME_MEASURED)
        return answer->reply;
    json_decref(answer->reply); /* the part built before the failure */
    if (status != 0) {
        json_decref(answer->differences);
        return message_from_error(error);
    }
    bool gpu_failed = answer->lost && device_has_failed(worker->device.last);
    return json_pack("{s:s, s:s, s:s, s:b, s:b, s:b, s:b, s:o*}", "event", "failed", "outcome",
                     outcome_name(answer->outcome), "reason", error_text(error, reason), "lost",
                     (int)answer->lost, "gpu_failed", (int)gpu_failed, "repairs",
                     (int)(worker->damaged && !answer->lost), "short",
                     (int)is_short(worker, answer), "differences", answer->differences);
}

/* Repairs after the failure has been reported, because the repair takes a while. */
static int repair_and_tell(struct device_worker *worker, struct channel *channel,
                           struct error *error)
{
    struct error refusal = {0};
    int status = repair(worker, &refusal);
    return channel_send(channel,
                        status != 0 ? message_from_error(&refusal)
                                    : json_pack("{s:s}", "event", "repaired"),
                        error);
}

/* Serves requests until the channel closes or the context is lost. */
static int serve_all(struct device_worker *worker, struct channel *channel, struct error *error)
{
    json_t *request;
    int status = 0;
    while (status == 0 && (status = ahead_receive(&worker->ahead, &worker->device, channel,
                                                  &request, error)) == 1) {
        struct answer answer = {.outcome = OUTCOME_MEASURED};
        struct error refusal = {0};
        status = serve(worker, request, &answer, &refusal);
        json_decref(request);
        status = channel_send(channel, make_message(worker, &answer, status, &refusal), error);
        if (answer.lost)
            break;
        if (status == 0 && worker->damaged)
            status = repair_and_tell(worker, channel, error);
    }
    return status;
}

static int send_devices(struct device_worker *worker, struct channel *channel, struct error *error)
{
    int count = 0;
    json_t *list = json_array();
    int status = device_count(&worker->device, &count, error);
    for (int i = 0; i < count && status == 0; i++) {
        status = device_describe(&worker->device, i, error);
        if (status == 0)
            json_array_append_new(list, gpu_to_json(&worker->device.gpu));
    }
    json_t *message = json_pack("{s:s, s:o}", "event", "devices", "gpus", list);
    if (status == 0)
        return channel_send(channel, message, error);
    json_decref(message);
    return status;
}

/* Sends "ready" before it creates the context, so that the coordinator need not wait for that. */
static int greet_and_start(struct device_worker *worker, struct channel *channel, int ordinal,
                           struct error *error)
{
    int status = device_describe(&worker->device, ordinal, error);
    if (status == 0)
        status = channel_send(
            channel,
            json_pack("{s:s, s:o}", "event", "ready", "gpu", gpu_to_json(&worker->device.gpu)),
            error);
    if (status == 0)
        status = device_start(&worker->device, error);
    if (status == 0)
        gpu_monitor_start(&worker->monitor, worker->device.gpu.uuid);
    return status;
}

/* The worker uses one stream, so one queue of the GPU serves it. Creating a context with eight, the
 * driver's default, takes twice as long. */
static void limit_connections(void)
{
    (void)setenv("CUDA_DEVICE_MAX_CONNECTIONS", "1", 0);
}

int device_worker_run(struct channel *channel, int ordinal, struct error *error)
{
    struct device_worker worker = {.channel = channel};
    limit_connections();
    int status = driver_open(&worker.device.driver, error);
    if (status == 0)
        status = ordinal < 0 ? send_devices(&worker, channel, error)
                             : greet_and_start(&worker, channel, ordinal, error);
    if (status != 0)
        (void)channel_send(channel, message_from_error(error), NULL);
    else if (ordinal >= 0)
        status = serve_all(&worker, channel, error);
    gpu_monitor_stop(&worker.monitor);
    close_problem(&worker);
    ahead_release(&worker.ahead);
    json_decref(worker.open_request);
    free(worker.variants); /* the driver frees GPU memory when the process exits */
    return status;
}
