#include "tune/gpu_list.h"

#include "base/alloc.h"
#include "base/clock.h"

#include <stdbool.h>
#include <stdint.h>

enum { ANSWER_TIMEOUT_S = 60, TRIES = 3 /* of a worker that dies */ };

static int take_devices(const json_t *message, struct gpu **gpus, size_t *count,
                        struct error *error)
{
    size_t index;
    json_t *object;
    int status = message_error(message, error);
    json_t *list = json_object_get(message, "gpus");
    if (status == 0 && !json_is_array(list))
        status = error_set(error, ERROR_WORKER, "the device worker sent no list of GPUs");
    json_array_foreach(list, index, object)
    {
        if (status == 0)
            status = gpu_from_json(object, ARRAY_APPEND(*gpus, *count), error);
    }
    return status;
}

int gpu_list_begin(struct worker *worker, struct node *node, struct error *error)
{
    return worker_start(worker, node, "device", "-1", error);
}

int gpu_list_take(struct worker *worker, struct gpu **gpus, size_t *count, bool *died,
                  struct error *error)
{
    json_t *message;
    bool late;
    const double timeout_s = worker_timeout_s(ANSWER_TIMEOUT_S);
    int64_t until_ns = clock_ns() + (int64_t)(timeout_s * 1e9);
    *gpus = NULL;
    *count = 0;
    *died = false;
    int status = channel_receive_until(&worker->channel, until_ns, &late, &message, error);
    if (status == 0 && !late) {
        char reason[WORKER_REASON_BYTES];
        worker_reap(worker, reason);
        *died = true;
        return error_set(error, ERROR_WORKER, "the device worker %s", reason);
    }
    if (late) {
        worker_stop(worker);
        status = error_set(error, ERROR_DEVICE, "the driver did not answer within %g s", timeout_s);
    }
    if (status == 1) {
        status = take_devices(message, gpus, count, error);
        json_decref(message);
    }
    return status;
}

int gpu_list(struct gpu **gpus, size_t *count, struct error *error)
{
    struct worker worker = {0};
    bool died = true;
    int status = 0;
    *gpus = NULL;
    *count = 0;
    for (int i = 0; i < TRIES && died; i++) {
        status = gpu_list_begin(&worker, NULL, error);
        died = false;
        if (status == 0)
            status = gpu_list_take(&worker, gpus, count, &died, error);
        worker_end(&worker);
    }
    return status;
}
