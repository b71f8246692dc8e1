#include "tune/gpu_request.h"

#include "base/alloc.h"
#include "base/channel.h"
#include "base/json_text.h"

#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct gpu_request gpu_request_from(json_t *object, bool recount)
{
    struct gpu_request request = {
        .has_id = json_object_get(object, "id") != NULL,
        .batched = json_is_true(json_object_get(object, "batched")),
        .samples = (size_t)json_integer_value(json_object_get(object, "samples"))};
    request.may_be_batched = request.batched;
    (void)snprintf(request.what, sizeof request.what, "%s", json_text_member(object, "do"));
    if (recount)
        json_object_set_new(object, "recount", json_true());
    request.line = channel_line(object);
    return request;
}

/* `,"name":ns`, or nothing for 0. Returns where the text ends. */
static char *add_limit(char *end, const char *name, int64_t ns)
{
    enum { LIMIT_BYTES = 64 };
    return ns > 0 ? end + snprintf(end, LIMIT_BYTES, ",\"%s\":%" PRId64, name, ns) : end;
}

/* Real numbers take long to write. */
static int64_t whole_ns(double ns)
{
    return (int64_t)fmin(ceil(ns), 1e18);
}

struct gpu_request gpu_request_trial(const char *cubin, const struct bindings *parameters,
                                     const struct gpu_client_trial *trial, bool recount)
{
    enum { LIMITS_BYTES = 256 };
    char limits[LIMITS_BYTES] = "";
    char *end = add_limit(limits, "hopeless_ns", whole_ns(trial->hopeless_ns));
    end = add_limit(end, "enough_ns", whole_ns(trial->enough_ns));
    (void)add_limit(end, "short_ns", whole_ns(trial->short_ns));
    char *path = json_text_quoted(cubin);
    char *values = bindings_json_text(parameters);
    char *line =
        alloc_format("{\"do\":\"trial\",\"cubin\":%s,\"parameters\":%s,\"samples\":%zu%s%s}\n",
                     path, values, trial->samples, limits, recount ? ",\"recount\":true" : "");
    free(path);
    free(values);
    return (struct gpu_request){.what = "trial",
                                .line = line,
                                .samples = trial->samples,
                                .may_be_batched = trial->short_ns > 0,
                                .enough_ns = (double)whole_ns(trial->enough_ns)};
}

void gpu_request_release(struct gpu_request *request)
{
    free(request->line);
    *request = (struct gpu_request){0};
}
