/* The requests that a device worker serves; FORMATS.md lists them. */
#ifndef AUTOTUNE_DEVICE_REQUESTS_H
#define AUTOTUNE_DEVICE_REQUESTS_H

#include "base/error.h"
#include "gpu/answer.h"
#include "gpu/device_session.h"

#include <jansson.h>

/*
 * Serves a request; the caller keeps it. Returns 0 with `answer` set, and with the reason of a
 * variant's failure in `error`; or an error, among them ERROR_WORKER for an unknown or incomplete
 * request. In either case answer_message() has what to send. After that: if answer->lost, end the
 * process; if session->damaged, call device_session_repair().
 */
int device_requests_serve(struct device_session *session, const json_t *request,
                          struct answer *answer, struct error *error);

#endif
