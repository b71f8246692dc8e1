#include "gpu/device_requests.h"

#include "base/clock.h"
#include "gpu/differences.h"
#include "gpu/trial.h"
#include "template/fill.h"

#include <inttypes.h>
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
    const char *path = json_string_value(json_object_get(request, "cubin"));
    int64_t id = json_integer_value(json_object_get(request, "id"));
    if (!session->open || path == NULL || device_session_find(session, id) != NULL)
        return error_set(error, ERROR_WORKER,
                         "'load' needs an open problem, a 'cubin' and an 'id' not yet loaded");
    struct device_variant *variant = device_session_add(session, id);
    int status =
        bindings_from_json(&variant->parameters, json_object_get(request, "parameters"), error);
    if (status == 0)
        status = trial_prepare(session, variant, 0, false, answer, error);
    if (status == 0 && answer->outcome == OUTCOME_MEASURED)
        status = trial_load(session, variant, path, answer, error);
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
                            const struct device_variant *variant, struct answer *answer,
                            struct error *error)
{
    enum { MOST = 100 };
    struct difference differences[MOST];
    struct error inner;
    size_t count = 0;
    json_int_t most = json_integer_value(json_object_get(request, "differences"));
    if (most <= 0 || answer->outcome != OUTCOME_WRONG_RESULT || session->damaged)
        return 0;
    if (differences_list(&session->problem, variant, differences, most < MOST ? (size_t)most : MOST,
                         &count, &inner) != 0) {
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
    return answer_driver_error(answer, session, status, OUTCOME_LAUNCH_ERROR);
}

/* Everything is checked after the last two runs, since an input that every run changes back and forth is
 * intact after every other one. */
static int do_verify(struct device_session *session, const json_t *request, struct answer *answer,
                     struct error *error)
{
    struct device_variant *variant;
    int64_t runs = json_integer_value(json_object_get(request, "runs"));
    int status = need_variant(session, request, &variant, error);
    if (status == 0)
        draw_data(session, request);
    if (status == 0)
        status = trial_prepare(session, variant, 0, is_careful(request), answer, error);
    if (answer->unfit) /* no such data can be made; the usual ones can */
        data_store_draw(&session->problem.store, FILL_USUAL_DATA);
    int64_t start = clock_ns();
    if (status == 0 && answer->outcome == OUTCOME_MEASURED)
        status = run_unchecked(session, variant,
                               json_integer_value(json_object_get(request, "unchecked_runs")),
                               answer, error);
    for (int64_t i = 0; (i < runs || i == 0) && status == 0 && answer->outcome == OUTCOME_MEASURED;
         i++)
        status = trial_verify(session, variant, NULL, i + 2 >= runs, NULL, answer, error);
    if (status == 0)
        status = list_differences(session, request, variant, answer, error);
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
    bool batched;
    int status = need_variant(session, request, &variant, error);
    if (status == 0)
        draw_data(session, request);
    if (status == 0)
        status = prepare_copy(session, request, variant, answer, error);
    if (status == 0 && answer->outcome == OUTCOME_MEASURED)
        status = trial_measure(session, request, variant, &answer->reply, &batched, answer, error);
    if (status == 0 && answer->outcome == OUTCOME_MEASURED && is_careful(request))
        status = trial_check(session, variant, batched, true, answer, error);
    note_damage(session, request, answer);
    if (answer->reply != NULL) {
        json_object_set_new(answer->reply, "event", json_string("measured"));
        json_object_set_new(answer->reply, "late_samples",
                            json_integer((json_int_t)session->sampling.measure.late_samples));
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

int device_requests_serve(struct device_session *session, const json_t *request,
                          struct answer *answer, struct error *error)
{
    const char *name = json_string_value(json_object_get(request, "do"));
    session->device.wanted_bytes = 0;
    for (size_t i = 0; name != NULL && i < sizeof requests / sizeof *requests; i++)
        if (strcmp(requests[i].name, name) == 0)
            return requests[i].serve(session, request, answer, error);
    return error_set(error, ERROR_WORKER, "unknown request '%s'", name != NULL ? name : "");
}
