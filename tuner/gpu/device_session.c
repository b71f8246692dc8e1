#include "gpu/device_session.h"

#include "base/alloc.h"
#include "compile/cubin_cache.h"
#include "gpu/verify.h"
#include "template/fill.h"
#include "template/template_load.h"

#include <stdlib.h>
#include <string.h>

static const char *text_of(const json_t *request, const char *key)
{
    return json_string_value(json_object_get(request, key));
}

struct device_variant *device_session_find(struct device_session *session, int64_t id)
{
    for (size_t i = 0; i < session->variant_count; i++)
        if (session->variants[i].id == id)
            return &session->variants[i];
    return NULL;
}

struct device_variant *device_session_add(struct device_session *session, int64_t id)
{
    struct device_variant *variant = ARRAY_APPEND(session->variants, session->variant_count);
    variant->id = id;
    return variant;
}

void device_session_remove(struct device_session *session, struct device_variant *variant)
{
    batch_free(&session->sampling.batches, variant->batch);
    device_variant_unload(variant, &session->problem);
    *variant = session->variants[--session->variant_count];
}

void device_session_close(struct device_session *session)
{
    while (session->variant_count > 0)
        device_session_remove(session, &session->variants[0]);
    batches_release(&session->sampling.batches);
    if (session->open)
        device_problem_close(&session->problem);
    session->open = false;
}

/* Takes an entry of the cubin cache that the coordinator has sent. */
static int take_entry(const struct device_session *session, const char *key,
                      struct compilation *compilation, struct error *error)
{
    const struct channel_kept *kept = channel_find(session->channel, key);
    bool whole = kept != NULL &&
                 cubin_cache_parse(key, kept->bytes, kept->count, true, compilation) &&
                 compilation->cubin != NULL;
    return whole ? 0
                 : error_set(error, ERROR_RECORD,
                             "cubin '%s' is missing or damaged; run again to recompile it", key);
}

static int load_support(struct device_session *session, const char *key, struct error *error)
{
    struct compilation support = {0};
    if (session->has_support)
        return 0;
    int status = take_entry(session, key, &support, error);
    if (status == 0)
        status = device_load_support(&session->device, support.cubin, error);
    if (status == 0)
        status = measure_init(&session->sampling.measure, &session->device, error);
    compilation_release(&support);
    session->has_support = status == 0;
    return status;
}

/* Reads the template from its texts, which the coordinator has sent: its INI and the units of its source. */
static int read_template(const struct device_session *session, struct template *template,
                         struct error *error)
{
    const json_t *texts = json_object_get(session->open_request, "texts");
    const char *path = text_of(session->open_request, "template");
    const char **sent = NULL;
    size_t count = 0;
    size_t index;
    json_t *hash;
    json_array_foreach(texts, index, hash)
    {
        const char *name = json_string_value(hash);
        const struct channel_kept *kept =
            name != NULL ? channel_find(session->channel, name) : NULL;
        if (kept != NULL)
            *ARRAY_APPEND(sent, count) = kept->bytes;
    }
    int status = count < 2 || count < json_array_size(texts)
                     ? error_set(error, ERROR_WORKER, "the text of '%s' has not been sent", path)
                     : template_load_sent(template, path, sent[0], sent + 1, count - 1, error);
    free(sent);
    if (status == 0)
        status = fill_expect_files(template, json_object_get(session->open_request, "data"), error);
    return status;
}

static int open_problem(struct device_session *session, struct error *error)
{
    const json_t *request = session->open_request;
    struct compilation helpers = {0};
    struct bindings values = {0};
    const char *key = text_of(request, "reference");
    int status = bindings_from_json(&values, json_object_get(request, "problem"), error);
    if (status == 0 && key != NULL)
        status = take_entry(session, key, &helpers, error);
    struct template template = {0};
    if (status == 0)
        status = read_template(session, &template, error);
    struct problem_request problem = {.template = &template,
                                      .problem = &values,
                                      .helpers = key != NULL ? &helpers : NULL,
                                      .cold = json_is_true(json_object_get(request, "cold"))};
    if (status == 0)
        status = device_problem_open(&session->problem, &session->device, &problem, error);
    template_release(&template);
    compilation_release(&helpers);
    bindings_release(&values);
    session->open = status == 0;
    session->damaged = false;
    if (status == 0)
        status = verify_prepare(&session->problem, error);
    return status;
}

int device_session_open(struct device_session *session, const json_t *request, struct error *error)
{
    if (text_of(request, "template") == NULL || text_of(request, "support") == NULL)
        return error_set(error, ERROR_WORKER, "'open' needs 'template' and 'support'");
    device_session_close(session);
    json_decref(session->open_request);
    session->open_request = json_deep_copy(request);
    int status = load_support(session, text_of(request, "support"), error);
    return status != 0 ? status : open_problem(session, error);
}

int device_session_repair(struct device_session *session, struct error *error)
{
    device_session_close(session);
    return open_problem(session, error);
}

void device_session_release(struct device_session *session)
{
    gpu_monitor_close(&session->monitor);
    device_session_close(session);
    json_decref(session->open_request);
    free(session->variants);
}

/* --- answers --- */

int answer_driver_error(struct answer *answer, const struct device_session *session, int status,
                        enum outcome otherwise)
{
    if (status != ERROR_DEVICE)
        return status;
    answer->lost = device_is_lost(session->device.last);
    answer->outcome = session->device.last == CUDA_ERROR_LAUNCH_TIMEOUT ? OUTCOME_TIMEOUT
                      : answer->lost                                    ? OUTCOME_FAULT
                                                                        : otherwise;
    return 0;
}

int answer_data_error(struct answer *answer, const struct device_session *session, int status)
{
    bool memory = session->device.last == CUDA_ERROR_OUT_OF_MEMORY;
    if (status != ERROR_CONFIG && status != ERROR_DEVICE)
        return status;
    answer->lost = answer->innocent =
        status == ERROR_DEVICE && device_is_lost(session->device.last);
    answer->unfit = status == ERROR_CONFIG;
    answer->outcome = status == ERROR_DEVICE && memory ? OUTCOME_LAUNCH_ERROR : OUTCOME_INVALID;
    return 0;
}

/* Whether the variant failed for want of memory that the GPU has, but not now: other processes may
 * have taken it. */
static bool is_short(const struct answer *answer, const struct device_session *session)
{
    const struct device_context *device = &session->device;
    uint64_t bytes;
    return (answer->outcome == OUTCOME_LAUNCH_ERROR || answer->outcome == OUTCOME_LOAD_ERROR) &&
           device->last == CUDA_ERROR_OUT_OF_MEMORY &&
           !__builtin_add_overflow(session->problem.footprint.bytes, device->wanted_bytes,
                                   &bytes) &&
           bytes <= (uint64_t)device->gpu.memory_bytes;
}

json_t *answer_message(const struct answer *answer, const struct device_session *session,
                       int status, const struct error *error)
{
    char reason[ERROR_TEXT_BYTES];
    if (status == 0 && answer->outcome == OUTCOME_MEASURED) {
        if (answer->note[0] != '\0')
            json_object_set_new(answer->reply, "reason", json_string(answer->note));
        return answer->reply;
    }
    json_decref(answer->reply); /* the part built before the failure */
    if (status != 0) {
        json_decref(answer->differences);
        return message_from_error(error);
    }
    bool gpu_failed = answer->lost && (answer->innocent || device_has_failed(session->device.last));
    return json_pack("{s:s, s:s, s:s, s:b, s:b, s:b, s:b, s:b, s:b, s:b, s:o*}", "event", "failed",
                     "outcome", outcome_name(answer->outcome), "reason", error_text(error, reason),
                     "lost", (int)answer->lost, "gpu_failed", (int)gpu_failed, "repairs",
                     (int)(session->damaged && !answer->lost), "short",
                     (int)is_short(answer, session), "doubtful", (int)answer->doubtful,
                     "unreadable", (int)answer->unreadable, "unfit", (int)answer->unfit,
                     "differences", answer->differences);
}
