#include "gpu/device_worker.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "gpu/nvml.h"
#include "gpu/trial.h"
#include "gpu/verify.h"
#include "template/fill.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int do_open(struct device_session *session, const json_t *request, struct answer *answer,
                   struct error *error)
{
    double empty_ns[EMPTY_SAMPLES];
    int status = device_session_open(session, request, error);
    if (status == 0)
        status = measure_samples(&session->sampling.measure, &session->problem, NULL, EMPTY_SAMPLES,
                                 empty_ns, error);
    if (status == 0)
        answer->reply = json_pack("{s:s, s:o}", "event", "opened", "empty_ns",
                                  times_to_json(empty_ns, EMPTY_SAMPLES));
    return status;
}

static int do_load(struct device_session *session, const json_t *request, struct answer *answer,
                   struct error *error)
{
    const char *key = json_string_value(json_object_get(request, "cubin"));
    int64_t id = json_integer_value(json_object_get(request, "id"));
    if (!session->open || key == NULL || device_session_find(session, id) != NULL)
        return error_set(error, ERROR_WORKER,
                         "'load' needs an open problem, a 'cubin' and an 'id' not yet loaded");
    struct device_variant *variant = device_session_add(session, id);
    int status =
        bindings_from_json(&variant->parameters, json_object_get(request, "parameters"), error);
    if (status == 0)
        status = trial_prepare(session, variant, 0, false, answer, error);
    if (status == 0 && answer->outcome == OUTCOME_MEASURED)
        status = trial_load(session, variant, key, answer, error);
    if ((status != 0 || answer->outcome != OUTCOME_MEASURED) && !answer->lost)
        device_session_remove(session, variant);
    return status;
}

static int need_variant(struct device_session *session, const json_t *request,
                        struct device_variant **variant, struct error *error)
{
    int64_t id = json_integer_value(json_object_get(request, "id"));
    *variant = device_session_find(session, id);
    if (*variant != NULL)
        return 0;
    return error_set(error, ERROR_WORKER, "variant %" PRId64 " is not loaded", id);
}

/* Lists the first elements that differ, as many as the request asks for. */
static int list_differences(struct device_session *session, const json_t *request,
                            struct device_variant *variant, struct answer *answer,
                            struct error *error)
{
    enum { MOST = 100 };
    struct difference differences[MOST];
    struct error inner;
    size_t count = 0;
    json_int_t most = json_integer_value(json_object_get(request, "differences"));
    if (most <= 0 || answer->outcome != OUTCOME_WRONG_RESULT || session->damaged)
        return 0;
    if (verify_differences(&session->problem, variant, differences,
                           most < MOST ? (size_t)most : MOST, &count, &inner) != 0) {
        *error = inner;
        return answer_driver_error(answer, session, ERROR_DEVICE, OUTCOME_LAUNCH_ERROR);
    }
    answer->differences = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(
            answer->differences,
            json_pack("{s:s, s:I, s:s, s:s}", "buffer",
                      session->problem.template.buffers[differences[i].buffer].name, "index",
                      (json_int_t)differences[i].index, "got", differences[i].got, "expected",
                      differences[i].expected));
    return 0;
}

static int dump_buffer(struct device_session *session, const struct device_buffer *buffer,
                       const char *folder, const char *name, const char *kind, struct error *error)
{
    struct device_context *device = &session->device;
    struct npy npy = {.type = buffer->type, .count = buffer->length};
    if (buffer->base == 0)
        return 0;
    npy.data = alloc_zeroed(buffer->bytes > 0 ? buffer->bytes : 1, 1);
    char *path = alloc_format("%s/%s%s.npy", folder, name, kind);
    int status =
        buffer->bytes > 0 ? CUDA(device, cuMemcpyDtoH, npy.data, buffer->data, buffer->bytes) : 0;
    if (status == 0)
        status = npy_write(&npy, path, error);
    free(path);
    npy_release(&npy);
    return status;
}

/* Writes what the variant left in its buffers, what is expected there, and what was in read_write ones, to the folder
 * that the request names. */
static int dump(struct device_session *session, const json_t *request,
                const struct device_variant *variant, const struct answer *answer,
                struct error *error)
{
    const char *folder = json_string_value(json_object_get(request, "dump"));
    const struct device_data *data = &variant->data;
    const struct template *template = data->template;
    struct error inner; /* `error` has the variant's reason */
    int status = 0;
    if (folder == NULL || answer->lost || data->buffers == NULL)
        return 0;
    for (size_t i = 0; i < template->buffer_count && status == 0; i++) {
        const char *name = template->buffers[i].name;
        status = dump_buffer(session, &data->buffers[i], folder, name, "", &inner);
        if (status == 0)
            status = dump_buffer(session, &data->pristine[i], folder, name, ".initial", &inner);
    }
    for (size_t i = 0; i < template->expectation_count && status == 0; i++)
        status = dump_buffer(session, &data->expected[i].buffer, folder,
                             template->buffers[template->expectations[i].buffer].name, ".expected",
                             &inner);
    if (status != 0)
        *error = inner;
    return status;
}

/* Whether variants do not share the blame: everything is found intact before this one runs, and is
 * checked after it. */
static bool is_careful(const json_t *request)
{
    return json_is_true(json_object_get(request, "careful"));
}

/* Several variants use the same buffers. Unless they are checked carefully, any may have done this. */
static void note_damage(const struct device_session *session, const json_t *request,
                        struct answer *answer)
{
    if (!session->damaged)
        return;
    answer->lost = true;
    answer->doubtful = !is_careful(request);
}

/* Switches to the random numbers that the request wants. */
static void draw_data(struct device_session *session, const json_t *request)
{
    const json_t *data_set = json_object_get(request, "data_set");
    if (data_set != NULL)
        data_store_draw(&session->problem.store, (uint64_t)json_integer_value(data_set));
}

/* Runs a variant as for samples, as fast as they can be queued. */
static int run_unchecked(struct device_session *session, struct device_variant *variant,
                         int64_t runs, struct answer *answer, struct error *error)
{
    int status = 0;
    for (int64_t i = 0; i < runs && status == 0; i++) {
        status = device_variant_reset(variant, &session->problem, error);
        if (status == 0)
            status = device_variant_run(variant, &session->problem, error);
    }
    if (status == 0 && runs > 0)
        status = device_synchronise(&session->device, error);
    return trial_ran(session, variant, status, answer);
}

/* Everything is checked after the last two runs, since an input that every run changes back and forth is
 * intact after every other one. */
static int do_verify(struct device_session *session, const json_t *request, struct answer *answer,
                     struct error *error)
{
    struct device_variant *variant;
    int64_t runs = json_integer_value(json_object_get(request, "runs"));
    const int64_t unchecked = json_integer_value(json_object_get(request, "unchecked_runs"));
    const bool last = json_is_true(json_object_get(request, "last")) && !is_careful(request);
    const enum others others = is_careful(request) || last ? OTHERS_STATE : OTHERS_DATA;
    int status = need_variant(session, request, &variant, error);
    if (status == 0)
        draw_data(session, request);
    if (status == 0)
        status = trial_prepare(session, variant, 0, is_careful(request), answer, error);
    if (answer->unfit) /* no such data can be made; the usual ones can */
        data_store_draw(&session->problem.store, FILL_USUAL_DATA);
    bool damaged; /* by another one: mended, so that this variant is not blamed */
    if (status == 0 && is_careful(request))
        status = trial_mend(session, variant, &damaged, error);
    if (status == 0 && last) /* by the rounds */
        status = trial_check_others(session, OTHERS_GUARDS, variant, answer, error);
    int64_t start = clock_ns();
    if (status == 0 && answer->outcome == OUTCOME_MEASURED)
        status = run_unchecked(session, variant, unchecked, answer, error);
    for (int64_t i = 0; (i < runs || i == 0) && status == 0 && answer->outcome == OUTCOME_MEASURED;
         i++)
        status = trial_verify(session, variant, i + 2 >= runs, answer, error);
    if (status == 0)
        status = trial_check_others(session, others, variant, answer, error);
    if (status == 0)
        status = list_differences(session, request, variant, answer, error);
    if (status == 0)
        status = dump(session, request, variant, answer, error);
    if (status == 0 && answer->outcome == OUTCOME_MEASURED)
        answer->reply = json_pack("{s:s, s:[I]}", "event", "verified", "took_ns",
                                  (json_int_t)(clock_ns() - start));
    note_damage(session, request, answer);
    return status;
}

/* A batch with a cold cache has its own copies of the buffers, each in another place. With a warm
 * cache nothing moves: the copies would be in the cache, or other data not any more. */
static size_t place_of(const struct device_session *session, const json_t *request, size_t copy)
{
    bool batched = json_is_true(json_object_get(request, "batched")) ||
                   json_number_value(json_object_get(request, "short_ns")) > 0;
    return session->problem.cold && !batched ? copy : 0;
}

/* Gives the variant its data in the place that the request names, and switches to that copy of its
 * code. */
static int prepare_copy(struct device_session *session, const json_t *request,
                        struct device_variant *variant, struct answer *answer, struct error *error)
{
    json_int_t number = json_integer_value(json_object_get(request, "copy"));
    if (number < 0)
        return error_set(error, ERROR_WORKER, "'copy' is negative");
    size_t copy = (size_t)number;
    int status = trial_prepare(session, variant, place_of(session, request, copy),
                               is_careful(request), answer, error);
    if (status != 0 || answer->outcome != OUTCOME_MEASURED)
        return status;
    return answer_driver_error(answer, session,
                               device_variant_choose_copy(variant, &session->problem, copy, error),
                               OUTCOME_LOAD_ERROR);
}

static int do_measure(struct device_session *session, const json_t *request, struct answer *answer,
                      struct error *error)
{
    struct device_variant *variant;
    int status = need_variant(session, request, &variant, error);
    if (status == 0)
        draw_data(session, request);
    if (status == 0)
        status = prepare_copy(session, request, variant, answer, error);
    bool damaged; /* as in do_verify() */
    if (status == 0 && is_careful(request))
        status = trial_mend(session, variant, &damaged, error);
    if (status == 0 && answer->outcome == OUTCOME_MEASURED)
        status = trial_measure(session, request, variant, is_careful(request), &answer->reply,
                               answer, error);
    if (status == 0 && is_careful(request))
        status = trial_check_others(session, OTHERS_STATE, variant, answer, error);
    note_damage(session, request, answer);
    if (answer->reply != NULL) {
        json_object_set_new(answer->reply, "event", json_string("measured"));
        gpu_monitor_report(&session->monitor, answer->reply);
    }
    return status;
}

static int do_unload(struct device_session *session, const json_t *request, struct answer *answer,
                     struct error *error)
{
    struct device_variant *variant;
    int status = need_variant(session, request, &variant, error);
    if (status != 0)
        return status;
    device_session_remove(session, variant);
    answer->reply = json_pack("{s:s}", "event", "unloaded");
    return 0;
}

/* To add a request: write a function above, add a line here and a row to FORMATS.md. */
static const struct {
    const char *name;
    int (*serve)(struct device_session *session, const json_t *request, struct answer *answer,
                 struct error *error);
} requests[] = {
    {"open", do_open},       {"load", do_load},     {"verify", do_verify},
    {"measure", do_measure}, {"unload", do_unload}, {"trial", trial_run},
};

/*
 * Returns 0 with `answer` set, and with the reason of a variant's failure in `error`; or an error, among
 * them ERROR_WORKER for an unknown or incomplete request. In either case answer_message() has what to send.
 * After that: if answer->lost, end the process; if session->damaged, call device_session_repair().
 */
static int serve(struct device_session *session, const json_t *request, struct answer *answer,
                 struct error *error)
{
    const char *name = json_string_value(json_object_get(request, "do"));
    session->device.wanted_bytes = 0;
    for (size_t i = 0; name != NULL && i < sizeof requests / sizeof *requests; i++)
        if (strcmp(requests[i].name, name) == 0)
            return requests[i].serve(session, request, answer, error);
    return error_set(error, ERROR_WORKER, "unknown request '%s'", name != NULL ? name : "");
}

/* --- the process --- */

/* Serves requests until the channel closes or the context is lost. */
static int serve_all(struct device_session *session, struct error *error)
{
    json_t *request;
    int status = 0;
    while (status == 0 && (status = channel_receive(session->channel, &request, error)) == 1) {
        struct answer answer = {.outcome = OUTCOME_MEASURED};
        struct error refusal = {0};
        status = serve(session, request, &answer, &refusal);
        json_decref(request);
        status = channel_send(session->channel, answer_message(&answer, session, status, &refusal),
                              error);
        if (answer.lost)
            break;
        if (status == 0 &&
            session->damaged) { /* told after the failure, because it takes a while */
            int repaired = device_session_repair(session, &refusal);
            status = channel_send(session->channel,
                                  repaired != 0 ? message_from_error(&refusal)
                                                : json_pack("{s:s}", "event", "repaired"),
                                  error);
        }
    }
    return status;
}

/* The driver's CUDA version does not change with each of its releases: adds its own, "13.0 (580.95.05)". */
static int describe(struct device_context *device, int ordinal, struct error *error)
{
    char version[80]; /* as NVML wants it */
    struct gpu *gpu = &device->gpu;
    int status = device_describe(device, ordinal, error);
    if (status == 0 && (driver_file_version(&device->driver, version, sizeof version) ||
                        nvml_driver_version(version, sizeof version))) {
        size_t used = strlen(gpu->driver);
        (void)snprintf(gpu->driver + used, sizeof gpu->driver - used, " (%.20s)", version);
    }
    return status;
}

static int send_devices(struct device_session *session, struct error *error)
{
    int count = 0;
    json_t *list = json_array();
    int status = device_count(&session->device, &count, error);
    for (int i = 0; i < count && status == 0; i++) {
        status = describe(&session->device, i, error);
        if (status == 0)
            json_array_append_new(list, gpu_to_json(&session->device.gpu));
    }
    json_t *message = json_pack("{s:s, s:o}", "event", "devices", "gpus", list);
    if (status == 0)
        return channel_send(session->channel, message, error);
    json_decref(message);
    return status;
}

/*
 * Of the GPUs that the user shows, has the driver show only number `which`: it initialises all that it
 * shows. Only before it is opened. Returns the GPU's number from then on.
 */
static int show_only(const char *which)
{
    const char *shown = getenv("CUDA_VISIBLE_DEVICES");
    int number = (int)strtol(which, NULL, 10);
    if (shown == NULL) {
        (void)setenv("CUDA_VISIBLE_DEVICES", which, 1);
        return 0;
    }
    for (int i = 0; i < number && shown != NULL; i++)
        shown = strchr(shown, ',') != NULL ? strchr(shown, ',') + 1 : NULL;
    if (shown == NULL) /* there is none: the driver says how many there are */
        return number;
    char *only = alloc_format("%.*s", (int)strcspn(shown, ","), shown);
    (void)setenv("CUDA_VISIBLE_DEVICES", only, 1);
    free(only);
    return 0;
}

/* Sends "ready" before it creates the context, so that the coordinator need not wait for that. */
static int greet_and_start(struct device_session *session, int number, struct error *error)
{
    struct device_context *device = &session->device;
    int status = describe(device, number, error);
    if (status == 0)
        status = channel_send(
            session->channel,
            json_pack("{s:s, s:o}", "event", "ready", "gpu", gpu_to_json(&device->gpu)), error);
    if (status == 0)
        gpu_monitor_start(&session->monitor, device->gpu.uuid);
    return status != 0 ? status : device_start(&session->device, error);
}

int device_worker_run(struct channel *channel, const char *which, struct error *error)
{
    struct device_session session = {.channel = channel, .random = (uint64_t)clock_ns() | 1};
    bool lists = strcmp(which, "-1") == 0;
    /* One stream needs one queue of the GPU. A context with eight, the driver's default, takes twice as long. */
    (void)setenv("CUDA_DEVICE_MAX_CONNECTIONS", "1", 0);
    int number = lists ? 0 : show_only(which);
    int status = driver_open(&session.device.driver, error);
    if (status != 0 && strtol(which, NULL, 10) > 0) { /* perhaps there are not so many */
        struct error inner = *error;
        (void)error_set(error, status, "device %s not found: %.1400s", which, inner.message);
    }
    if (status == 0)
        status = lists ? send_devices(&session, error) : greet_and_start(&session, number, error);
    if (status != 0)
        (void)channel_send(channel, message_from_error(error), NULL);
    else if (!lists)
        status = serve_all(&session, error);
    device_session_release(&session);
    return status;
}
