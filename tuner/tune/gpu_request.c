#include "tune/gpu_request.h"

#include "base/json_text.h"
#include "base/read_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Puts the entry of the cubin cache in place of its path. If it cannot be read, the worker says so. */
static void take_entry(struct gpu_request *request)
{
    const char *path = json_string_value(json_object_get(request->message, "cubin"));
    const char *slash = path != NULL ? strrchr(path, '/') : NULL;
    if (path == NULL)
        return;
    (void)read_file(path, &request->bytes, &request->byte_count, NULL);
    json_object_set_new(request->message, "cubin", json_string(slash != NULL ? slash + 1 : path));
}

struct gpu_request gpu_request_from(json_t *object)
{
    struct gpu_request request = {
        .has_id = json_object_get(object, "id") != NULL,
        .batched = json_is_true(json_object_get(object, "batched")),
        .samples = (size_t)json_integer_value(json_object_get(object, "samples"))};
    request.may_be_batched = request.batched;
    (void)snprintf(request.what, sizeof request.what, "%s", json_text_member(object, "do"));
    request.message = object;
    take_entry(&request);
    return request;
}

struct gpu_request gpu_request_trial(const char *cubin, const struct bindings *parameters,
                                     const struct gpu_client_trial *trial)
{
    struct gpu_request request = gpu_request_from(json_pack(
        "{s:s, s:s, s:o, s:I, s:f, s:f, s:f}", "do", "trial", "cubin", cubin, "parameters",
        bindings_to_json(parameters), "samples", (json_int_t)trial->samples, "hopeless_ns",
        trial->hopeless_ns, "enough_ns", trial->enough_ns, "short_ns", trial->short_ns));
    request.may_be_batched = trial->short_ns > 0;
    request.enough_ns = trial->enough_ns;
    return request;
}

void gpu_request_release(struct gpu_request *request)
{
    json_decref(request->message);
    free(request->bytes);
    *request = (struct gpu_request){0};
}
