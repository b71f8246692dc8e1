#include "gpu/answer.h"

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
    if (status == 0 && answer->outcome == OUTCOME_MEASURED)
        return answer->reply;
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
