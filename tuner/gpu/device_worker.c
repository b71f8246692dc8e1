#include "gpu/device_worker.h"

#include "base/clock.h"
#include "gpu/device_requests.h"
#include "gpu/nvml.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Repairs after the failure has been reported, because the repair takes a while. */
static int repair_and_tell(struct device_session *session, struct error *error)
{
    struct error refusal = {0};
    int status = device_session_repair(session, &refusal);
    return channel_send(session->channel,
                        status != 0 ? message_from_error(&refusal)
                                    : json_pack("{s:s}", "event", "repaired"),
                        error);
}

/* Serves requests until the channel closes or the context is lost. */
static int serve_all(struct device_session *session, struct error *error)
{
    json_t *request;
    int status = 0;
    while (status == 0 && (status = ahead_receive(&session->ahead, &session->device,
                                                  session->channel, &request, error)) == 1) {
        struct answer answer = {.outcome = OUTCOME_MEASURED};
        struct error refusal = {0};
        status = device_requests_serve(session, request, &answer, &refusal);
        json_decref(request);
        status = channel_send(session->channel, answer_message(&answer, session, status, &refusal),
                              error);
        if (answer.lost)
            break;
        if (status == 0 && session->damaged)
            status = repair_and_tell(session, error);
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

static bool is_uuid(const char *which)
{
    return strncmp(which, "GPU-", 4) == 0;
}

/* Has the driver show nothing but this GPU. Only before it is opened. */
static void show_only(const char *uuid)
{
    (void)setenv("CUDA_VISIBLE_DEVICES", uuid, 1);
}

/* A part of a GPU, for example, may have a UUID by which the driver does not find it. */
static int check_uuid(const struct device_context *device, const char *uuid, struct error *error)
{
    return strcmp(device->gpu.uuid, uuid) == 0
               ? 0
               : error_set(error, ERROR_DEVICE, "the driver shows '%s' instead of '%s'",
                           device->gpu.uuid, uuid);
}

/* Sends "ready" before it creates the context, so that the coordinator need not wait for that. */
static int greet_and_start(struct device_session *session, const char *which, struct error *error)
{
    struct device_context *device = &session->device;
    bool only = is_uuid(which);
    int count = 0;
    int status = describe(device, only ? 0 : (int)strtol(which, NULL, 10), error);
    if (status == 0 && only)
        status = check_uuid(device, which, error);
    if (status == 0)
        status = device_count(device, &count, error);
    if (status == 0)
        status = channel_send(session->channel,
                              json_pack("{s:s, s:o, s:i}", "event", "ready", "gpu",
                                        gpu_to_json(&device->gpu), "visible", count),
                              error);
    if (status == 0)
        status = device_start(&session->device, error);
    if (status == 0)
        gpu_monitor_start(&session->monitor, session->device.gpu.uuid);
    return status;
}

/* The worker uses one stream, so one queue of the GPU serves it. Creating a context with eight, the
 * driver's default, takes twice as long. */
static void limit_connections(void)
{
    (void)setenv("CUDA_DEVICE_MAX_CONNECTIONS", "1", 0);
}

int device_worker_run(struct channel *channel, const char *which, struct error *error)
{
    struct device_session session = {.channel = channel, .random = (uint64_t)clock_ns() | 1};
    bool lists = strcmp(which, "-1") == 0;
    limit_connections();
    if (is_uuid(which))
        show_only(which);
    int status = driver_open(&session.device.driver, error);
    if (status == 0)
        status = lists ? send_devices(&session, error) : greet_and_start(&session, which, error);
    if (status != 0)
        (void)channel_send(channel, message_from_error(error), NULL);
    else if (!lists)
        status = serve_all(&session, error);
    device_session_release(&session);
    return status;
}
