#include "gpu/device_session.h"

#include "base/alloc.h"
#include "compile/cubin_cache.h"
#include "gpu/verify.h"

#include <stdlib.h>

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

static int load_support(struct device_session *session, const char *path, struct error *error)
{
    struct compilation support = {0};
    if (session->has_support)
        return 0;
    int status = cubin_cache_require(path, &support, error);
    if (status == 0)
        status = device_load_support(&session->device, support.cubin, error);
    if (status == 0)
        status = measure_init(&session->sampling.measure, &session->device, error);
    compilation_release(&support);
    session->has_support = status == 0;
    return status;
}

static int open_problem(struct device_session *session, const json_t *request,
                        const struct bindings *values, struct error *error)
{
    struct compilation helpers = {0};
    struct bindings largest = {0};
    const char *path = text_of(request, "reference");
    const json_t *parameters = json_object_get(request, "largest");
    int status = path != NULL ? cubin_cache_require(path, &helpers, error) : 0;
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
        status = device_problem_open(&session->problem, &session->device, &problem, error);
    compilation_release(&helpers);
    bindings_release(&largest);
    session->open = status == 0;
    session->damaged = false;
    if (status == 0)
        status = verify_prepare(&session->problem, error);
    return status;
}

int device_session_open(struct device_session *session, const json_t *request, struct error *error)
{
    struct bindings values = {0};
    if (text_of(request, "template") == NULL || text_of(request, "support") == NULL)
        return error_set(error, ERROR_WORKER, "'open' needs 'template' and 'support'");
    device_session_close(session);
    json_decref(session->open_request);
    session->open_request = json_deep_copy(request);
    int status = bindings_from_json(&values, json_object_get(request, "problem"), error);
    if (status == 0)
        status = load_support(session, text_of(request, "support"), error);
    if (status == 0)
        status = open_problem(session, request, &values, error);
    bindings_release(&values);
    return status;
}

int device_session_repair(struct device_session *session, struct error *error)
{
    struct bindings values = {0};
    device_session_close(session);
    ahead_unload(&session->ahead, &session->device);
    int status =
        bindings_from_json(&values, json_object_get(session->open_request, "problem"), error);
    if (status == 0)
        status = open_problem(session, session->open_request, &values, error);
    bindings_release(&values);
    return status;
}

void device_session_release(struct device_session *session)
{
    gpu_monitor_stop(&session->monitor);
    device_session_close(session);
    ahead_release(&session->ahead);
    json_decref(session->open_request);
    free(session->variants);
}
